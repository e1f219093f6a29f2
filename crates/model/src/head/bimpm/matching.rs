//! The matching layer: how much each token of a side is like the other side, under many perspectives at once.
//!
//! Under a perspective `w` the cosine of `u` and `v` is that of `w * u` and `w * v`. Neither is ever made for all
//! perspectives: the products and the squared lengths are `sum(w² * u * v)` and `sum(w² * u²)`, so that one matrix of
//! squares gives those of all tokens and perspectives in one product. With 20 perspectives, 32 pairs of 2 x 64 tokens
//! and a context of 100, a step forward and backward holds about 0.5 GiB, in AllenNLP's reading, which makes a vector
//! for each pair of tokens, 1.1 GiB.

use anyhow::Result;
use burn::module::{Module, Param};
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};

use super::{BimpmSpec, MatchReading};
use crate::layer::parameter;
use crate::{Segment, Weights};

/// State that represents a whole segment in full matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

/// Width of the matches of a token in one direction.
pub(super) fn width(spec: &BimpmSpec) -> usize {
    let n = spec.perspectives;
    match spec.reading {
        MatchReading::Paper => 4 * n,
        MatchReading::Allennlp => 5 * n + 5,
        MatchReading::Official => 5 * n + 2,
    }
}

/// The matching of one direction's states.
#[derive(Module, Debug)]
pub(super) struct Matching {
    /// Perspectives of the first segment, and of the second if they are not shared.
    sides: Vec<Ways>,
    #[module(skip)]
    reading: MatchReading,
    #[module(skip)]
    end: End,
}

/// Perspectives of the four ways, and the learned attention where there is one.
#[derive(Module, Debug)]
struct Ways {
    full: Perspectives,
    pool: Perspectives,
    attentive: Perspectives,
    max_attentive: Perspectives,
    attention: Option<Attention>,
}

impl Matching {
    pub(super) fn load(
        spec: &BimpmSpec,
        width: usize,
        end: End,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        let n_sides = match spec.reading {
            MatchReading::Paper | MatchReading::Allennlp => 1,
            MatchReading::Official => 2,
        };
        let mut sides = Vec::new();
        for side in 0..n_sides {
            let mut perspectives = |way: &str| {
                let name = format!("{side}.{way}.weight");
                let weight = parameter(weights, &name, [spec.perspectives, width], device)?;
                anyhow::Ok(Perspectives { weight })
            };
            sides.push(Ways {
                full: perspectives("full")?,
                pool: perspectives("pool")?,
                attentive: perspectives("attentive")?,
                max_attentive: perspectives("max_attentive")?,
                attention: match spec.reading {
                    MatchReading::Official => Some(Attention::load(
                        weights,
                        &format!("{side}.attention"),
                        [width, spec.attention],
                        device,
                    )?),
                    MatchReading::Paper | MatchReading::Allennlp => None,
                },
            });
        }
        Ok(Self {
            sides,
            reading: spec.reading,
            end,
        })
    }

    /// Matches of each token of both segments, `[batch, seq, ..]` in parts.
    pub(super) fn both(&self, a: &Segment, b: &Segment) -> [Vec<Tensor<3>>; 2] {
        let cosines = unit(&a.states).matmul(unit(&b.states).swap_dims(1, 2)); // [batch, seq_a, seq_b]
        let back = cosines.clone().swap_dims(1, 2);
        let (first, second) = (&self.sides[0], self.sides.last().expect("at least one"));
        let pairs = first.pool.cosines(&a.states, &b.states); // [batch, perspectives, seq_a, seq_b]
        let pairs_back = match self.sides.len() {
            1 => pairs.clone().swap_dims(2, 3),
            _ => second.pool.cosines(&b.states, &a.states),
        };
        [
            self.one(first, a, b, cosines, pairs),
            self.one(second, b, a, back, pairs_back),
        ]
    }

    /// Matches of each token of `x` with `other`: `cosines` is `[batch, seq, seq_other]`, `pairs` those under
    /// max-pooling's perspectives.
    fn one(
        &self,
        ways: &Ways,
        x: &Segment,
        other: &Segment,
        cosines: Tensor<3>,
        pairs: Tensor<4>,
    ) -> Vec<Tensor<3>> {
        let bias = other.bias().swap_dims(1, 2); // [batch, 1, seq_other]
        let real = other.weights().swap_dims(1, 2); // [batch, 1, seq_other]
        let count = other.lengths().unsqueeze_dim::<3>(2); // [batch, 1, 1]
        let mut parts = Vec::new();
        if self.reading != MatchReading::Paper {
            parts.push((cosines.clone() + bias.clone()).max_dim(2));
            parts.push((cosines.clone() * real.clone()).sum_dim(2) / count.clone());
        }
        let end = match self.end {
            End::First => other.first(),
            End::Last => other.last(),
        };
        self.compare(&ways.full, x, end.unsqueeze_dim(1), &mut parts);

        let best = pairs.clone() + bias.clone().unsqueeze_dim::<4>(1);
        parts.push(columns(best.max_dim(3)));
        if self.reading != MatchReading::Paper {
            let sum = (pairs * real.clone().unsqueeze_dim::<4>(1)).sum_dim(3);
            parts.push(columns(sum) / count);
        }
        let attended = self.attended(ways, x, other, &cosines, real);
        self.compare(&ways.attentive, x, attended, &mut parts);
        let chosen = self.chosen(other, cosines, bias);
        self.compare(&ways.max_attentive, x, chosen, &mut parts);
        parts
    }

    /// Compares each token with a vector of its own, or with the same one, `[batch, seq or 1, width]`.
    fn compare(
        &self,
        perspectives: &Perspectives,
        x: &Segment,
        vectors: Tensor<3>,
        parts: &mut Vec<Tensor<3>>,
    ) {
        match self.reading {
            MatchReading::Paper => parts.push(perspectives.cosine(&x.states, vectors)),
            MatchReading::Allennlp => {
                parts.push((unit(&x.states) * unit(&vectors)).sum_dim(2)); // [batch, seq, 1]
                parts.push(perspectives.cosine(&x.states, vectors));
            }
            MatchReading::Official => {
                let weight = perspectives.weight.val().transpose(); // [width, perspectives]
                parts.push(times(x.states.clone() * vectors, weight).tanh());
            }
        }
    }

    /// The attentive vector for each token, `[batch, seq, width]`.
    fn attended(
        &self,
        ways: &Ways,
        x: &Segment,
        other: &Segment,
        cosines: &Tensor<3>,
        real: Tensor<3>,
    ) -> Tensor<3> {
        if let Some(attention) = &ways.attention {
            return attention.forward(x, other);
        }
        let shares = cosines.clone() * real; // [batch, seq, seq_other]
        let sum = shares.clone().matmul(other.states.clone()); // [batch, seq, width]
        match self.reading {
            MatchReading::Allennlp => softmax(sum, 2),
            // The mean is this divided by the sum of the shares. A cosine depends only on the sign of a divisor, so the
            // division by a sum that may be nearly 0 is avoided.
            _ => sum * shares.sum_dim(2).sign().detach(),
        }
    }

    /// The max-attentive vector for each token, `[batch, seq, width]`.
    fn chosen(&self, other: &Segment, cosines: Tensor<3>, bias: Tensor<3>) -> Tensor<3> {
        let [batch, seq, _] = cosines.dims();
        let [_, _, width] = other.states.dims();
        if self.reading == MatchReading::Allennlp {
            let states = other.states.clone().unsqueeze_dim::<4>(1); // [batch, 1, seq_other, width]
            let scaled = cosines.unsqueeze_dim::<4>(3) * states; // [batch, seq, seq_other, width]
            let scaled = scaled + bias.swap_dims(1, 2).unsqueeze_dim::<4>(1);
            return scaled.max_dim(2).squeeze_dim(2);
        }
        let places = (cosines.detach() + bias).argmax(2); // [batch, seq, 1]
        let places = places.expand([batch, seq, width]);
        other.states.clone().gather(1, places)
    }
}

/// Weightings of the dimensions of two vectors.
#[derive(Module, Debug)]
struct Perspectives {
    /// `[perspectives, width]`.
    weight: Param<Tensor<2>>,
}

impl Perspectives {
    /// `[width, perspectives]`.
    fn squares(&self) -> Tensor<2> {
        self.weight.val().square().transpose()
    }

    /// The length of each vector of `x` `[batch, seq, width]` under each perspective, `[batch, seq, perspectives]`.
    fn lengths(&self, x: &Tensor<3>) -> Tensor<3> {
        length(times(x.clone().square(), self.squares()))
    }

    /// The cosine of each vector of `x` and the one of `y` in its place, `[batch, seq, perspectives]`.
    fn cosine(&self, x: &Tensor<3>, y: Tensor<3>) -> Tensor<3> {
        let lengths = self.lengths(x) * self.lengths(&y);
        times(x.clone() * y, self.squares()) / lengths
    }

    /// The cosine of each vector of `x` and each of `y`, `[batch, perspectives, seq_x, seq_y]`.
    fn cosines(&self, x: &Tensor<3>, y: &Tensor<3>) -> Tensor<4> {
        let [batch, seq_x, width] = x.dims();
        let [_, seq_y, _] = y.dims();
        let [n, _] = self.weight.dims();
        let per_row = |lengths: Tensor<3>| lengths.swap_dims(1, 2); // [batch, perspectives, seq]
        let lengths_x: Tensor<4> = per_row(self.lengths(x)).unsqueeze_dim(3);
        let lengths_y: Tensor<4> = per_row(self.lengths(y)).unsqueeze_dim(2);
        let squares: Tensor<4> = self.weight.val().square().reshape([1, n, 1, width]);
        // Only this side is weighted, by squares.
        let weighted = x.clone().unsqueeze_dim::<4>(1) * squares; // [batch, perspectives, seq_x, width]
        let rows: Tensor<3> = weighted.reshape([batch, n * seq_x, width]);
        let products = rows.matmul(y.clone().swap_dims(1, 2)); // [batch, perspectives * seq_x, seq_y]
        products.reshape([batch, n, seq_x, seq_y]) / (lengths_x * lengths_y)
    }
}

/// The learned attention of the official code, `symmetric`.
#[derive(Module, Debug)]
struct Attention {
    /// `[width, inner]`, as `[inner, width]`.
    project: Perspectives,
    /// `[1, inner]`.
    diagonal: Perspectives,
}

impl Attention {
    fn load(
        weights: &mut dyn Weights,
        name: &str,
        [width, inner]: [usize; 2],
        device: &Device,
    ) -> Result<Self> {
        let mut matrix = |part: &str, shape: [usize; 2]| {
            let weight = parameter(weights, &format!("{name}.{part}.weight"), shape, device)?;
            anyhow::Ok(Perspectives { weight })
        };
        Ok(Self {
            project: matrix("project", [inner, width])?,
            diagonal: matrix("diagonal", [1, inner])?,
        })
    }

    /// Mean of the states of `other` for each token of `x`, `[batch, seq, width]`.
    fn forward(&self, x: &Segment, other: &Segment) -> Tensor<3> {
        let project = |side: &Segment| {
            let weight = self.project.weight.val().transpose();
            times(side.states.clone(), weight).tanh() // [batch, seq, inner]
        };
        let left = project(x) * self.diagonal.weight.val().unsqueeze::<3>();
        let scores = left.matmul(project(other).swap_dims(1, 2)); // [batch, seq, seq_other]
        softmax(scores + other.bias().swap_dims(1, 2), 2).matmul(other.states.clone())
    }
}

/// `[batch, perspectives, seq, 1]` to `[batch, seq, perspectives]`.
fn columns(x: Tensor<4>) -> Tensor<3> {
    x.squeeze_dim::<3>(3).swap_dims(1, 2)
}

/// Multiplies each vector of `x` `[batch, seq, width]` by `matrix` `[width, n]`: `[batch, seq, n]`.
fn times(x: Tensor<3>, matrix: Tensor<2>) -> Tensor<3> {
    let [batch, seq, width] = x.dims();
    let [_, n] = matrix.dims();
    let rows: Tensor<2> = x.reshape([batch * seq, width]);
    rows.matmul(matrix).reshape([batch, seq, n])
}

/// The root, of almost nothing at least: padding may be a vector of zeros, where a root has no gradient.
fn length(squares: Tensor<3>) -> Tensor<3> {
    squares.clamp_min(1e-12).sqrt()
}

/// Divides each vector of `x` by its length.
fn unit(x: &Tensor<3>) -> Tensor<3> {
    x.clone() / length(x.clone().square().sum_dim(2))
}
