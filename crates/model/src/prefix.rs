//! Trained keys and values in front of those of an attention layer (prefix tuning, Li and Liang 2021; P-tuning v2, Liu et
//! al. 2022), with PEFT's arithmetic without a projection.
//!
//! Every token sees all positions of the prefix, and these have no position of their own: the tokens keep theirs. Keys and
//! values are initialised with standard normal numbers, as PEFT's embedding of them is, so that a new prefix changes the
//! states much. Their paths are that of the attention sublayer followed by `prefix.key` and `prefix.value`.

use std::ops::Range;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};

use crate::fused::PrefixWeights;
use crate::init::Draws;

/// Length of the prefixes, and the layers that get one.
#[derive(Debug, Clone, PartialEq)]
pub struct PrefixSpec {
    /// Positions of a prefix.
    pub length: usize,
    /// Indices of the encoder's layers that get prefixes.
    pub layers: Range<usize>,
}

/// The prefix of one attention layer.
#[derive(Module, Debug)]
pub struct Prefix {
    /// Of all heads: `[length, hidden]`.
    key: Param<Tensor<2>>,
    /// The same shape.
    value: Param<Tensor<2>>,
}

/// Place of a prefix in an encoder.
#[derive(Debug)]
pub struct PrefixPlace<'a> {
    /// Index of the encoder's layer.
    pub layer: usize,
    /// The prefix, if there is one.
    pub prefix: &'a mut Option<Prefix>,
}

impl<'a> PrefixPlace<'a> {
    /// The places in all layers of an encoder.
    pub(crate) fn of_layers(layers: impl Iterator<Item = &'a mut Option<Prefix>>) -> Vec<Self> {
        let places = layers.enumerate();
        places
            .map(|(layer, prefix)| Self { layer, prefix })
            .collect()
    }
}

impl Prefix {
    /// Creates the prefix of the attention at `path`, which has a random stream of its own.
    pub(crate) fn new(
        length: usize,
        hidden: usize,
        (seed, path): (u64, &str),
        device: &Device,
    ) -> Self {
        let table = |name: &str| {
            let name = format!("{path}.prefix.{name}");
            let values = Draws::named(seed, &name).normals(length * hidden, 1.0);
            let values = TensorData::new(values, [length, hidden]);
            Param::from_tensor(Tensor::from_data(values, device))
        };
        Self {
            key: table("key"),
            value: table("value"),
        }
    }

    /// The keys and values, for operations that hold more than the prefix.
    pub(crate) fn weights(&self) -> PrefixWeights {
        PrefixWeights {
            key: self.key.val(),
            value: self.value.val(),
        }
    }
}
