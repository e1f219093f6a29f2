//! Where weights come from: a safetensors file, or a seed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::TensorData;
use half::{bf16, f16};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};

/// A source of named tensors.
pub trait Weights {
    /// The tensor `name` as f32, which must have the given shape.
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData>;
}

/// New weights: matrices are normal with a given standard deviation, truncated at two of them as in the
/// released BERT; vectors are zero, but the scales of normalisation layers are one.
#[derive(Debug)]
pub struct RandomWeights {
    rng: ChaCha8Rng,
    sd: f64,
}

impl RandomWeights {
    /// Weights drawn from `seed`, in the order they are taken.
    pub fn new(seed: u64, sd: f64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            sd,
        }
    }

    /// A standard normal number by Box and Muller, drawn again until it is within two standard deviations.
    fn normal(&mut self) -> f64 {
        let mut uniform = || (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        loop {
            let (u, v) = (1.0 - uniform(), uniform());
            let z = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
            if z.abs() <= 2.0 {
                return z;
            }
        }
    }
}

impl Weights for RandomWeights {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let n = shape.iter().product();
        let values: Vec<f32> = match shape.len() {
            1 if name.ends_with("LayerNorm.weight") => vec![1.0; n],
            1 => vec![0.0; n],
            _ => (0..n).map(|_| (self.normal() * self.sd) as f32).collect(),
        };
        Ok(TensorData::new(values, shape.to_vec()))
    }
}

/// A safetensors file in memory, from which every tensor is taken once.
///
/// Tensors may be F32, F16 or BF16. A prefix that all published checkpoints of an architecture share or lack
/// (`bert.`) is found by looking.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    bytes: Vec<u8>,
    prefix: String,
    /// Names not taken yet, without the prefix; the value is the name in the file.
    left: BTreeMap<String, String>,
}

impl Checkpoint {
    /// Reads the file whole.
    ///
    /// # Errors
    /// When it cannot be read, is cut short, or its header does not describe its bytes.
    pub fn open(path: &Path, prefix: &str) -> Result<Self> {
        let bytes =
            fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let tensors = parse(path, &bytes)?;
        let prefixed = tensors.names().iter().any(|name| name.starts_with(prefix));
        let prefix = if prefixed { prefix } else { "" };
        let left = tensors
            .names()
            .into_iter()
            .map(|name| {
                (
                    published(name.strip_prefix(prefix).unwrap_or(name)),
                    name.to_string(),
                )
            })
            .collect();
        Ok(Self {
            path: path.to_owned(),
            prefix: prefix.to_string(),
            left,
            bytes,
        })
    }

    /// SHA-256 of the file, in hexadecimal.
    pub fn hash(&self) -> String {
        Sha256::digest(&self.bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Says that everything wanted has been taken.
    ///
    /// # Errors
    /// When tensors are left that `ignored` (exact names, or prefixes ending in a point) does not name.
    pub fn finish(self, ignored: &[String]) -> Result<()> {
        let is_ignored = |name: &str| {
            ignored.iter().any(|pattern| {
                name == pattern || pattern.ends_with('.') && name.starts_with(pattern.as_str())
            })
        };
        let unexpected: Vec<&str> = self
            .left
            .iter()
            .filter(|(short, _)| !is_ignored(short))
            .map(|(_, name)| name.as_str())
            .collect();
        ensure!(
            unexpected.is_empty(),
            "{}: unexpected tensors {}; list them under `ignore` in the encoder card if they are not part of the \
             encoder",
            self.path.display(),
            unexpected.join(", ")
        );
        Ok(())
    }
}

impl Weights for Checkpoint {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let path = self.path.display();
        let Some(stored) = self.left.remove(name) else {
            let wanted = format!("{}{name}", self.prefix);
            let near = nearest(name, self.left.keys());
            let near = near.map_or(String::new(), |near| format!("; the nearest is `{near}`"));
            bail!("{path}: checkpoint has no tensor `{wanted}`{near}");
        };
        let tensors = parse(&self.path, &self.bytes)?;
        let view = tensors
            .tensor(&stored)
            .with_context(|| format!("{path}: `{stored}` cannot be read"))?;
        ensure!(
            view.shape() == shape,
            "{path}: tensor `{stored}` has shape {:?}, expected {shape:?}",
            view.shape()
        );
        let values = to_f32(view.dtype(), view.data())
            .with_context(|| format!("{path}: tensor `{stored}`"))?;
        Ok(TensorData::new(values, shape.to_vec()))
    }
}

/// The name a tensor has in newer checkpoints: layer norms were once stored as `gamma` and `beta`.
fn published(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((layer, "gamma")) => format!("{layer}.weight"),
        Some((layer, "beta")) => format!("{layer}.bias"),
        _ => name.to_string(),
    }
}

fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<SafeTensors<'a>> {
    SafeTensors::deserialize(bytes).with_context(|| {
        format!(
            "{}: not a whole safetensors file ({} bytes)",
            path.display(),
            bytes.len()
        )
    })
}

fn to_f32(dtype: Dtype, data: &[u8]) -> Result<Vec<f32>> {
    let pairs = || data.chunks_exact(2).map(|b| [b[0], b[1]]);
    Ok(match dtype {
        Dtype::F32 => data
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect(),
        Dtype::F16 => pairs().map(|b| f16::from_le_bytes(b).to_f32()).collect(),
        Dtype::BF16 => pairs().map(|b| bf16::from_le_bytes(b).to_f32()).collect(),
        other => bail!("has type {other:?}, expected F32, F16 or BF16"),
    })
}

fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    names
        .map(|candidate| (strsim::levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= 8)
        .map(|(_, candidate)| candidate)
}
