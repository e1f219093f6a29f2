//! Low-rank updates of linear layers (LoRA, Hu et al. 2021), with PEFT's arithmetic.
//!
//! A layer with an update gives `y = x Wᵀ + b + s · dropout(x) Aᵀ Bᵀ`, where `A` is `[rank, in]`, `B` is `[out, rank]`
//! and `s = alpha / rank`. `A` is initialised uniformly within ±1/√in (Kaiming uniform with a = √5) and `B` with zeros,
//! so that a new update changes nothing. Their paths are that of the layer followed by `lora.a` and `lora.b`.
//!
//! While the update's dropout is off, `y = x (W + s B A)ᵀ + b`: the sum is taken anew in each pass and goes through the
//! same fused operation as any other weight. With it on, the update is added to the layer's output.

use std::ops::Range;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};

use crate::fused::{self, Dropout};
use crate::init::Draws;

/// Shape of the low-rank updates, and the linear layers that get one.
#[derive(Debug, Clone, PartialEq)]
pub struct LowRankSpec {
    /// Rows of `A` and columns of `B`.
    pub rank: usize,
    /// The update is multiplied by `alpha / rank`.
    pub alpha: f64,
    /// Dropout on the input of `A`.
    pub dropout: f64,
    /// Paths of linear layers within a layer of the encoder, or ends of such paths: `attention.query`, `query`.
    pub targets: Vec<String>,
    /// Indices of the encoder's layers that get updates.
    pub layers: Range<usize>,
}

/// The low-rank update of one linear layer.
#[derive(Module, Debug)]
pub struct LowRank {
    /// `[rank, in]`.
    a: Param<Tensor<2>>,
    /// `[out, rank]`.
    b: Param<Tensor<2>>,
    /// Factor of the product, `alpha / rank`.
    scale: f64,
    /// Dropout on the input of `a`.
    pub(crate) dropout: f64,
}

/// An update that is added to the output of its layer, since its input has dropout.
#[derive(Debug, Clone)]
pub struct Update {
    a: Tensor<2>,
    b: Tensor<2>,
    scale: f64,
    drop: Dropout,
}

impl LowRank {
    /// Creates an update of a layer from `input` to `output` numbers; the layer's `name` has a random stream of its
    /// own.
    pub(crate) fn new(
        spec: &LowRankSpec,
        [output, input]: [usize; 2],
        (seed, name): (u64, &str),
        device: &Device,
    ) -> Self {
        let rank = spec.rank;
        let bound = (input as f64).powf(-0.5);
        let a = Draws::named(seed, &format!("{name}.lora.a")).uniform(rank * input, bound);
        let a = Tensor::from_data(TensorData::new(a, [rank, input]), device);
        Self {
            a: Param::from_tensor(a),
            b: Param::from_tensor(Tensor::zeros([output, rank], device)),
            scale: spec.alpha / rank as f64,
            dropout: spec.dropout,
        }
    }

    /// Change of the layer's weight without dropout: `s · B A`, `[out, in]`.
    pub(crate) fn delta(&self) -> Tensor<2> {
        self.b.val().matmul(self.a.val()) * self.scale
    }

    /// Returns the update for a pass with dropout on its input.
    pub(crate) fn beside(&self, drop: Dropout) -> Update {
        Update {
            a: self.a.val(),
            b: self.b.val(),
            scale: self.scale,
            drop,
        }
    }
}

impl Update {
    /// Change of the layer's output: `x` `[.., in]` to `[.., out]`.
    pub(crate) fn of<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let mut shape = x.dims();
        let [output, _] = self.b.dims();
        let [_, input] = self.a.dims();
        let rows = shape.iter().product::<usize>() / input;
        let x = fused::dropout(x, self.drop.rate, self.drop.seed);
        let inner = x.reshape([rows, input]).matmul(self.a.clone().transpose()); // [rows, rank]
        let y = inner.matmul(self.b.clone().transpose()) * self.scale; // [rows, out]
        shape[D - 1] = output;
        y.reshape(shape)
    }
}
