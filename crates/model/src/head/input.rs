//! Inputs that a head reads from an encoder's states.

use anyhow::{Result, ensure};
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::{Encoder, HiddenStates, TokenBatch};

/// Pooling: the vector that represents an example, or a segment of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The pretrained pooler's output, `tanh(W h + b)` of the first token, as in the released BERT classifier.
    Pooler,
    /// A layer's first token.
    First,
    /// The mean of a layer over real tokens.
    Mean,
    /// Max pooling: the largest value of each dimension of a layer over real tokens.
    Max,
    /// A layer's first and last real token, concatenated.
    FirstLast,
    /// The first token of the four top layers, concatenated (Devlin et al. 2019, section 5.3).
    #[serde(rename = "concat-4")]
    Concat4,
}

impl Pooling {
    /// Returns true if pooling each layer and mixing equals mixing and then pooling, so that the mix may come after it.
    /// The mix of max-pooled layers is not the max pooling of a mix.
    pub fn commutes_with_a_mix(self) -> bool {
        matches!(self, Self::First | Self::Mean)
    }
}

/// Layers of that vector.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum Layers {
    /// The top one, or those that the pooling names.
    #[default]
    Top,
    /// All layers, mixed by learned weights: [`crate::ScalarMix`].
    #[serde(rename = "scalar-mix")]
    Mix {
        /// Includes the embeddings: 13 layers of BERT-base with, 12 without.
        embeddings: bool,
        /// Normalises each layer before the mix: [`crate::ScalarMix::of_tokens`].
        #[serde(default)]
        layer_norm: bool,
    },
}

impl Layers {
    /// A mix without normalisation.
    pub fn mix(embeddings: bool) -> Self {
        Self::Mix {
            embeddings,
            layer_norm: false,
        }
    }

    /// Returns true if layers are normalised before they are mixed.
    pub fn normalised(&self) -> bool {
        matches!(
            self,
            Self::Mix {
                layer_norm: true,
                ..
            }
        )
    }

    /// Returns true for the top layer.
    pub fn is_top(&self) -> bool {
        *self == Self::Top
    }

    /// Number of these layers, for an encoder with `n_layers`.
    pub fn count(&self, n_layers: usize) -> usize {
        match self {
            Self::Top => 1,
            Self::Mix { embeddings, .. } => n_layers + usize::from(*embeddings),
        }
    }

    /// The states of each token in these layers, one layer after the other from the bottom up:
    /// `[batch, seq, layers * hidden]`.
    ///
    /// # Panics
    /// When a mix is wanted of states that do not begin with the embeddings.
    pub fn of(&self, states: &HiddenStates) -> Tensor<3> {
        match self {
            Self::Top => states.top(),
            Self::Mix { embeddings, .. } => {
                let lowest = usize::from(!embeddings);
                Tensor::cat(states.hidden[lowest..].to_vec(), 2)
            }
        }
    }
}

/// Pooled inputs of a head, before any trained layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PooledInput {
    /// Vector that represents an example.
    pub pooling: Pooling,
    /// Layers of that vector.
    pub layers: Layers,
}

impl PooledInput {
    /// Checks that `encoder` has the required layers and pooler; errors name the key.
    pub fn check<E: Encoder>(&self, encoder: &E) -> Result<()> {
        ensure!(
            self.pooling != Pooling::Concat4 || encoder.n_layers() >= 4,
            "pooling = \"concat-4\" needs an encoder of at least 4 layers, this one has {}",
            encoder.n_layers()
        );
        ensure!(
            self.pooling != Pooling::Pooler || encoder.has_pooler(),
            "pooling = \"pooler\" needs an encoder with a pooler, this one has none"
        );
        Ok(())
    }

    /// Number of layers mixed, for an encoder with `n_layers`; none without a mix.
    pub fn mixed(&self, n_layers: usize) -> Option<usize> {
        match self.layers {
            Layers::Top => None,
            Layers::Mix { embeddings, .. } => Some(n_layers + usize::from(embeddings)),
        }
    }

    /// Number of layers below the top that it reads, for an encoder with `n_layers`.
    pub fn depth(&self, n_layers: usize) -> usize {
        match (self.layers, self.pooling) {
            (Layers::Mix { .. }, _) => n_layers,
            (Layers::Top, Pooling::Concat4) => 3,
            (Layers::Top, _) => 0,
        }
    }

    /// Width of the pooled input of an example.
    pub fn width(&self, hidden: usize, n_layers: usize) -> usize {
        hidden * self.mixed(n_layers).unwrap_or(self.vectors())
    }

    /// Number of concatenated vectors of the encoder's width, once layers are mixed.
    fn vectors(&self) -> usize {
        match self.pooling {
            Pooling::Concat4 => 4,
            Pooling::FirstLast => 2,
            Pooling::Pooler | Pooling::First | Pooling::Mean | Pooling::Max => 1,
        }
    }

    /// Returns the pooled input of each example, `[batch, width]`; of a mix, one layer after the other from the bottom
    /// up.
    ///
    /// # Panics
    /// When a mix is wanted of states that do not begin with the embeddings.
    pub fn of(&self, states: &HiddenStates, batch: &TokenBatch) -> Tensor<2> {
        let segment = |layer: &Tensor<3>| batch.whole(layer.clone());
        let of_layer = |layer: &Tensor<3>| match self.pooling {
            Pooling::Mean => segment(layer).mean(),
            Pooling::Max => segment(layer).max(),
            Pooling::FirstLast => Tensor::cat(vec![first(layer), segment(layer).last()], 1),
            _ => first(layer),
        };
        match (self.layers, self.pooling) {
            (Layers::Mix { embeddings, .. }, _) => {
                let lowest = usize::from(!embeddings);
                Tensor::cat(states.hidden[lowest..].iter().map(of_layer).collect(), 1)
            }
            (Layers::Top, Pooling::Pooler) => states
                .pooled
                .clone()
                .expect("pooling = \"pooler\" needs an encoder with a pooler"),
            (Layers::Top, Pooling::Concat4) => {
                let top = &states.hidden[states.hidden.len() - 4..];
                Tensor::cat(top.iter().rev().map(first).collect(), 1)
            }
            (Layers::Top, _) => of_layer(&states.top()),
        }
    }
}

/// Kind of input that a head reads from an encoder's states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadInput {
    /// One vector per example.
    Vector(PooledInput),
    /// The states of every token, of one layer or of all.
    Tokens(Layers),
}

impl HeadInput {
    /// Layers that it reads.
    pub fn layers(&self) -> Layers {
        match self {
            Self::Vector(pooled) => pooled.layers,
            Self::Tokens(layers) => *layers,
        }
    }

    /// Number of layers below the top that it reads, for an encoder with `n_layers`.
    pub fn depth(&self, n_layers: usize) -> usize {
        match self {
            Self::Vector(pooled) => pooled.depth(n_layers),
            Self::Tokens(Layers::Top) => 0,
            Self::Tokens(Layers::Mix { .. }) => n_layers,
        }
    }

    /// Checks that `encoder` has the required layers and pooler; errors name the key.
    pub(super) fn check<E: Encoder>(&self, encoder: &E) -> Result<()> {
        match self {
            Self::Vector(pooled) => pooled.check(encoder),
            Self::Tokens(_) => Ok(()),
        }
    }

    /// Width of a vector or of a token's state once layers are mixed, of an encoder whose states have `hidden` numbers.
    pub(super) fn width(&self, hidden: usize) -> usize {
        match self {
            Self::Vector(pooled) => hidden * pooled.vectors(),
            Self::Tokens(_) => hidden,
        }
    }
}

/// The first token, `[batch, hidden]`.
fn first(layer: &Tensor<3>) -> Tensor<2> {
    layer.clone().narrow(1, 0, 1).squeeze_dim(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeadSpec, LinearSpec, ScalarMix};
    use burn::tensor::Device;

    /// One layer of two texts, of three tokens and of two.
    #[test]
    fn a_pooling_reads_real_tokens_alone() {
        let device = Device::flex();
        let layer = [
            [[1.0, -4.0], [3.0, -1.0], [2.0, -2.0]],
            [[-5.0, 1.0], [-3.0, 2.0], [9.0, 9.0]],
        ];
        let batch = TokenBatch::new(
            vec![1; 6],
            vec![0; 6],
            &[true, true, true, true, true, false],
            [2, 3],
            &device,
        );
        let states = HiddenStates {
            hidden: vec![Tensor::<3>::from_data(layer, &device)],
            pooled: None,
        };
        for (pooling, expected) in [
            (Pooling::First, vec![1.0, -4.0, -5.0, 1.0]),
            (Pooling::Mean, vec![2.0, -7.0 / 3.0, -4.0, 1.5]),
            (Pooling::Max, vec![3.0, -1.0, -3.0, 2.0]),
            (
                Pooling::FirstLast,
                vec![1.0, -4.0, 2.0, -2.0, -5.0, 1.0, -3.0, 2.0],
            ),
        ] {
            let pooled = PooledInput {
                pooling,
                layers: Layers::Top,
            };
            let read = pooled.of(&states, &batch);
            assert_eq!(read.dims(), [2, pooled.width(2, 0)], "{pooling:?}");
            let read: Vec<f32> = read.into_data().try_to_vec().expect("f32");
            assert_eq!(read, expected, "{pooling:?}");
        }
    }

    /// Two layers of one text of two tokens, whose largest values are of different tokens.
    #[test]
    fn a_mix_may_come_after_some_poolings_and_not_after_others() {
        let device = Device::flex();
        let layers = [[[[4.0, 1.0], [0.0, 3.0]]], [[[0.0, 2.0], [2.0, 0.0]]]];
        let batch = TokenBatch::new(vec![1; 2], vec![0; 2], &[true; 2], [1, 2], &device);
        let states = HiddenStates {
            hidden: layers
                .map(|layer| Tensor::<3>::from_data(layer, &device))
                .to_vec(),
            pooled: None,
        };
        let mix = ScalarMix::new(2, &device); // halves
        let mixed = HiddenStates {
            hidden: vec![mix.of_tokens(Layers::mix(true).of(&states), None)],
            pooled: None,
        };
        let read = |layers, states: &HiddenStates, pooling| {
            PooledInput { pooling, layers }.of(states, &batch)
        };
        for pooling in [Pooling::First, Pooling::Mean, Pooling::Max] {
            let after = mix.forward(read(Layers::mix(true), &states, pooling));
            let before = read(Layers::Top, &mixed, pooling);
            let [after, before]: [Vec<f32>; 2] =
                [after, before].map(|x| x.into_data().try_to_vec().expect("f32"));
            assert_eq!(
                after == before,
                pooling.commutes_with_a_mix(),
                "{pooling:?}"
            );
            let spec = HeadSpec::Linear(LinearSpec {
                pooling,
                layers: Layers::mix(true),
                dropout: 0.0,
            });
            assert_eq!(spec.validate().is_ok(), pooling.commutes_with_a_mix());
        }
    }

    #[test]
    fn a_mix_of_what_cannot_be_mixed_afterwards_is_refused() {
        for (pooling, shown) in [(Pooling::Max, "max"), (Pooling::Concat4, "concat-4")] {
            let spec = HeadSpec::Linear(LinearSpec {
                pooling,
                layers: Layers::mix(false),
                dropout: 0.0,
            });
            let error = spec.validate().expect_err("refused").to_string();
            assert_eq!(
                error,
                format!(
                    "head.layers: found a mix of layers with pooling = \"{shown}\", expected \"mean\" or \"first\": of these \
                     alone the mix can be taken afterwards"
                )
            );
        }
    }
}
