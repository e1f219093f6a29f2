//! Bottleneck adapters (Houlsby et al. 2019), with the arithmetic of AdapterHub.
//!
//! An adapter stands at the end of a sublayer, behind its dropout and in front of the residual: `y + up(gelu(down(y)))`
//! with `down` from the hidden width to that of the bottleneck. Its matrices are initialised normally with a standard
//! deviation of 1e-2, truncated at two of them, and its biases with zeros, so that a new adapter changes almost nothing.
//! Their paths are that of the sublayer followed by `adapter.down` and `adapter.up`.

use std::fmt;
use std::ops::Range;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::fused::{AdapterWeights, Affine, Precision};
use crate::init::Draws;
use crate::layer::Linear;

/// Standard deviation of the initial matrices.
const INIT_SD: f64 = 1e-2;

/// Part of a transformer layer that ends in a residual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sublayer {
    /// Multi-head self-attention.
    Attention,
    /// The two products with an activation between.
    FeedForward,
}

impl fmt::Display for Sublayer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Attention => "attention",
            Self::FeedForward => "feed-forward",
        })
    }
}

/// Width of the adapters, and the sublayers that get one.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterSpec {
    /// Width of the bottleneck.
    pub width: usize,
    /// Sublayers of a layer that get an adapter.
    pub after: Vec<Sublayer>,
    /// Indices of the encoder's layers that get adapters.
    pub layers: Range<usize>,
}

/// The adapter of one sublayer.
#[derive(Module, Debug)]
pub struct Adapter {
    /// `[width, hidden]`.
    down: Linear,
    /// `[hidden, width]`.
    up: Linear,
}

/// Place of an adapter in an encoder.
#[derive(Debug)]
pub struct AdapterPlace<'a> {
    /// Index of the encoder's layer.
    pub layer: usize,
    /// Sublayer within it.
    pub sublayer: Sublayer,
    /// The adapter, if there is one.
    pub adapter: &'a mut Option<Adapter>,
}

impl<'a> AdapterPlace<'a> {
    /// The places in all layers of an encoder, given those of each, the attention's first.
    pub(crate) fn of_layers(
        layers: impl Iterator<Item = [&'a mut Option<Adapter>; 2]>,
    ) -> Vec<Self> {
        let sublayers = [Sublayer::Attention, Sublayer::FeedForward];
        let places = layers.enumerate().flat_map(|(layer, adapters)| {
            let places = sublayers.into_iter().zip(adapters);
            places.map(move |(sublayer, adapter)| Self {
                layer,
                sublayer,
                adapter,
            })
        });
        places.collect()
    }
}

impl Adapter {
    /// Creates the adapter at `path`, which has a random stream of its own.
    pub(crate) fn new(
        width: usize,
        hidden: usize,
        (seed, path): (u64, &str),
        device: &Device,
    ) -> Self {
        let linear = |name: &str, [input, output]: [usize; 2]| {
            let name = format!("{path}.adapter.{name}");
            let values = Draws::named(seed, &name).truncated_normals(input * output, INIT_SD);
            let weight = Tensor::from_data(TensorData::new(values, [output, input]), device);
            Linear {
                weight: Param::from_tensor(weight),
                bias: Some(Param::from_tensor(Tensor::zeros([output], device))),
                lora: None,
                precision: Precision::F32,
            }
        };
        Self {
            down: linear("down", [hidden, width]),
            up: linear("up", [width, hidden]),
        }
    }

    /// The weights, for operations that hold more than the adapter.
    pub(crate) fn weights(&self) -> AdapterWeights {
        let affine = |linear: &Linear| Affine {
            weight: linear.weight.val(),
            bias: linear.bias(),
            update: None,
        };
        AdapterWeights {
            down: affine(&self.down),
            up: affine(&self.up),
        }
    }
}
