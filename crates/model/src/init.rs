//! Initialisation.

use std::collections::HashMap;

use anyhow::{Result, bail};
use burn::tensor::TensorData;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::Weights;

/// Distributions of initial weights.
///
/// The name of a tensor identifies its kind: that of an LSTM ends in `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`,
/// `bias_hh_l0` (or another layer, or `_reverse` behind it), those of a linear layer or a convolution in `weight` and
/// `bias`. A scale of a normalisation, a `weight` with one dimension, is one, and its `bias` zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// PyTorch's own (`reset_parameters`, Kaiming uniform with a = √5): uniform within ±1/√in for weights and biases,
    /// within ±1/√hidden for an LSTM.
    Pytorch,
    /// AllenNLP's for ESIM: weights uniform within ±√(6 / (in + out)) (Glorot and Bengio 2010, equation 16), those
    /// between the states of an LSTM orthogonal (Saxe et al. 2014), biases zero, but one for forget gates, in
    /// `bias_hh`.
    GlorotOrthogonal,
    /// Normal with standard deviation √(2 / in) (He et al. 2015, equation 10), biases zero.
    KaimingNormal,
}

/// Standard deviation of initial weights in the released BERT: its `initializer_range`.
pub(crate) const INIT_SD: f64 = 0.02;

/// Initial weights of a network, drawn from a seed.
#[derive(Debug)]
pub struct RandomWeights(Source);

#[derive(Debug)]
enum Source {
    InOrder { draws: Box<Draws>, sd: f64 },
    ByName(ByName),
}

impl RandomWeights {
    /// Initialises as the released BERT: matrices are normal with standard deviation `sd`, truncated at two of them;
    /// vectors are zero, but the scales of normalisation layers are one. Tensors are drawn from one stream, in the
    /// order they are taken.
    pub fn new(seed: u64, sd: f64) -> Self {
        let draws = Box::new(Draws::new(seed));
        Self(Source::InOrder { draws, sd })
    }

    /// Initialises by `init`. Each tensor has its own stream, by seed and name, so that a further layer changes no
    /// other.
    pub fn initialised(init: Init, seed: u64) -> Self {
        Self(Source::ByName(ByName {
            init,
            seed,
            fan_in: HashMap::new(),
        }))
    }
}

impl Weights for RandomWeights {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let n = shape.iter().product();
        let values = match &mut self.0 {
            Source::ByName(weights) => weights.values(name, shape)?,
            Source::InOrder { draws, sd } => match shape.len() {
                1 if name.ends_with(".weight") => vec![1.0; n],
                1 => vec![0.0; n],
                _ => draws.truncated_normals(n, *sd),
            },
        };
        Ok(TensorData::new(values, shape.to_vec()))
    }
}

/// Weights that depend on the seed, and on each tensor's name and shape.
#[derive(Debug)]
struct ByName {
    init: Init,
    seed: u64,
    /// Inputs of the layers whose weights were taken, by their name; 0 for a normalisation.
    fan_in: HashMap<String, usize>,
}

impl ByName {
    fn draws(&self, name: &str) -> Draws {
        Draws::named(self.seed, name)
    }

    fn lstm(&self, kind: Kind, shape: &[usize], draws: &mut Draws) -> Result<Vec<f32>> {
        let (gates, n) = (shape[0], shape.iter().product());
        let hidden = gates / 4;
        Ok(match (self.init, kind) {
            (Init::Pytorch, _) => draws.uniform(n, (hidden as f64).powf(-0.5)),
            (_, Kind::BiasIh) | (Init::KaimingNormal, Kind::BiasHh) => vec![0.0; n],
            (Init::GlorotOrthogonal, Kind::BiasHh) => (0..n)
                .map(|i| f32::from(i / hidden == 1)) // the second of the four gates forgets
                .collect(),
            (Init::GlorotOrthogonal, Kind::WeightIh) => draws.uniform(n, glorot(shape)),
            (Init::GlorotOrthogonal, Kind::WeightHh) => draws.orthogonal(gates, shape[1]),
            (Init::KaimingNormal, _) => draws.normals(n, (2.0 / shape[1] as f64).sqrt()),
        })
    }
}

/// A tensor of an LSTM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    WeightIh,
    WeightHh,
    BiasIh,
    BiasHh,
}

impl Kind {
    fn of(part: &str) -> Option<Self> {
        let kind = match part.rsplit_once("_l")?.0 {
            "weight_ih" => Self::WeightIh,
            "weight_hh" => Self::WeightHh,
            "bias_ih" => Self::BiasIh,
            "bias_hh" => Self::BiasHh,
            _ => return None,
        };
        Some(kind)
    }
}

impl ByName {
    /// The numbers of the tensor `name`.
    fn values(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let n: usize = shape.iter().product();
        let (layer, part) = name.rsplit_once('.').unwrap_or(("", name));
        let mut draws = self.draws(name);
        let values = match (part, shape) {
            (_, [gates, ..]) if Kind::of(part).is_some() => {
                let kind = Kind::of(part).expect("it was looked at");
                if gates % 4 != 0 {
                    bail!("{name}: found {gates} rows, expected four gates of one size");
                }
                self.lstm(kind, shape, &mut draws)?
            }
            ("weight", [_]) => {
                self.fan_in.insert(layer.to_string(), 0);
                vec![1.0; n]
            }
            ("weight", [_, rest @ ..]) => {
                let fan_in: usize = rest.iter().product();
                self.fan_in.insert(layer.to_string(), fan_in);
                match self.init {
                    Init::Pytorch => draws.uniform(n, (fan_in as f64).powf(-0.5)),
                    Init::GlorotOrthogonal => draws.uniform(n, glorot(shape)),
                    Init::KaimingNormal => draws.normals(n, (2.0 / fan_in as f64).sqrt()),
                }
            }
            ("bias", [_]) => match (self.init, self.fan_in.get(layer)) {
                (_, None) => bail!("{name}: asked for before {layer}.weight, whose size it needs"),
                (Init::Pytorch, Some(&fan_in @ 1..)) => {
                    draws.uniform(n, (fan_in as f64).powf(-0.5))
                }
                _ => vec![0.0; n],
            },
            _ => bail!("{name}: no rule for a new tensor of this name and shape {shape:?}"),
        };
        Ok(values)
    }
}

/// √(6 / (in + out)); each place of a convolution's window counts as an input, and as an output.
fn glorot(shape: &[usize]) -> f64 {
    let window: usize = shape[2..].iter().product();
    (6.0 / ((shape[0] + shape[1]) * window) as f64).sqrt()
}

/// Random numbers of one tensor, or of several in a row.
#[derive(Debug)]
pub(crate) struct Draws(ChaCha8Rng);

impl Draws {
    /// Returns the random numbers of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Returns the random numbers of the tensor `name` of a network initialised from `seed`.
    pub(crate) fn named(seed: u64, name: &str) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(fnv1a(name));
        Self(rng)
    }

    /// Draws a uniform number from 0 to 1, without 1.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws uniform numbers within ±`bound`.
    pub(crate) fn uniform(&mut self, n: usize, bound: f64) -> Vec<f32> {
        (0..n)
            .map(|_| ((2.0 * self.unit() - 1.0) * bound) as f32)
            .collect()
    }

    /// Draws normal numbers with standard deviation `sd`.
    pub(crate) fn normals(&mut self, n: usize, sd: f64) -> Vec<f32> {
        (0..n).map(|_| (self.normal() * sd) as f32).collect()
    }

    /// Draws normal numbers, each redrawn until it is within two standard deviations.
    pub(crate) fn truncated_normals(&mut self, n: usize, sd: f64) -> Vec<f32> {
        let mut truncated = || {
            loop {
                let z = self.normal();
                if z.abs() <= 2.0 {
                    return z;
                }
            }
        };
        (0..n).map(|_| (truncated() * sd) as f32).collect()
    }

    /// Draws a standard normal number by the Box-Muller transform.
    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// A matrix whose columns (or rows, where there are fewer) have length one and right angles, all such matrices
    /// being equally likely: normal vectors made orthogonal one after the other.
    fn orthogonal(&mut self, rows: usize, columns: usize) -> Vec<f32> {
        let (n, length) = (rows.min(columns), rows.max(columns));
        let mut vectors: Vec<Vec<f64>> = Vec::with_capacity(n);
        for _ in 0..n {
            let mut vector: Vec<f64> = (0..length).map(|_| self.normal()).collect();
            for other in &vectors {
                let share = dot(&vector, other);
                for (a, b) in vector.iter_mut().zip(other) {
                    *a -= share * b;
                }
            }
            let norm = dot(&vector, &vector).sqrt();
            vector.iter_mut().for_each(|a| *a /= norm);
            vectors.push(vector);
        }
        let value = |row: usize, column: usize| {
            if rows < columns {
                vectors[row][column] as f32
            } else {
                vectors[column][row] as f32
            }
        };
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        places.map(|(row, column)| value(row, column)).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Hashes a name: 64-bit FNV-1a.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
