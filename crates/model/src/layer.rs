//! Linear layers and layer normalisation, the two building blocks with weights.

use anyhow::Result;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};

use crate::Weights;
use crate::fused::{self, Affine, Dropout, NormWeights, Precision};
use crate::lora::LowRank;

/// `y = x Wᵀ + b`, with `W` stored `[out, in]` as PyTorch checkpoints have it.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Param<Tensor<2>>,
    /// `[out]`, where the network has one.
    pub bias: Option<Param<Tensor<1>>>,
    /// A low-rank update, if it has one.
    pub lora: Option<LowRank>,
    /// Precision of the operands of its products.
    #[module(skip)]
    pub precision: Precision,
}

impl Linear {
    /// Takes `<name>.weight` and `<name>.bias` from `weights`.
    pub fn load(
        weights: &mut dyn Weights,
        name: &str,
        [input, output]: [usize; 2],
        device: &Device,
    ) -> Result<Self> {
        Ok(Self {
            weight: parameter(weights, &format!("{name}.weight"), [output, input], device)?,
            bias: Some(parameter(
                weights,
                &format!("{name}.bias"),
                [output],
                device,
            )?),
            lora: None,
            precision: Precision::F32,
        })
    }

    /// Replaces the values: `[out, in]` and `[out]`.
    pub(crate) fn set(&mut self, weight: TensorData, bias: TensorData) {
        let device = self.weight.device();
        self.weight = Param::from_tensor(Tensor::from_data(weight, &device));
        self.bias = Some(Param::from_tensor(Tensor::from_data(bias, &device)));
    }

    /// Takes `<name>.weight` from `weights`, for a layer without a bias.
    pub(crate) fn load_unbiased(
        weights: &mut dyn Weights,
        name: &str,
        [input, output]: [usize; 2],
        device: &Device,
    ) -> Result<Self> {
        Ok(Self {
            weight: parameter(weights, &format!("{name}.weight"), [output, input], device)?,
            bias: None,
            lora: None,
            precision: Precision::F32,
        })
    }

    /// `[.., in]` to `[.., out]`; the dropout of a low-rank update is off.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        fused::linear(x, self.merged(), self.bias(), self.precision)
    }

    /// Weight and bias, for operations that hold more than this product.
    ///
    /// `drop` gives the rate and seed of the dropout of a low-rank update from the update's own rate. Only while it is
    /// on, the update is kept separate from the weight.
    pub(crate) fn affine(&self, drop: impl Fn(f64) -> Dropout) -> Affine {
        let update = self.lora.as_ref().and_then(|lora| {
            let drop = drop(lora.dropout);
            (drop.rate > 0.0).then(|| lora.beside(drop))
        });
        Affine {
            weight: match update {
                Some(_) => self.weight.val(),
                None => self.merged(),
            },
            bias: self.bias(),
            update,
        }
    }

    /// Bias, `[out]`: zeros where there is none.
    pub(crate) fn bias(&self) -> Tensor<1> {
        bias_or_zeros(self.bias.as_ref(), &self.weight)
    }

    /// Weight with its low-rank update merged, `[out, in]`.
    fn merged(&self) -> Tensor<2> {
        match &self.lora {
            Some(lora) => self.weight.val() + lora.delta(),
            None => self.weight.val(),
        }
    }
}

/// Layer normalisation over the last dimension, with a learned scale and shift.
#[derive(Module, Debug)]
pub struct Norm {
    /// Scale, `[hidden]`.
    pub weight: Param<Tensor<1>>,
    /// Shift, `[hidden]`, where the network has one.
    pub bias: Option<Param<Tensor<1>>>,
    /// Added to the variance; BERT uses 1e-12.
    pub epsilon: f64,
}

impl Norm {
    /// Takes `<name>.weight` and `<name>.bias` from `weights`.
    pub fn load(
        weights: &mut dyn Weights,
        name: &str,
        hidden: usize,
        epsilon: f64,
        device: &Device,
    ) -> Result<Self> {
        Ok(Self {
            weight: parameter(weights, &format!("{name}.weight"), [hidden], device)?,
            bias: Some(parameter(
                weights,
                &format!("{name}.bias"),
                [hidden],
                device,
            )?),
            epsilon,
        })
    }

    /// Takes `<name>.weight` from `weights`, for a normalisation without a shift.
    pub(crate) fn load_unbiased(
        weights: &mut dyn Weights,
        name: &str,
        hidden: usize,
        epsilon: f64,
        device: &Device,
    ) -> Result<Self> {
        Ok(Self {
            weight: parameter(weights, &format!("{name}.weight"), [hidden], device)?,
            bias: None,
            epsilon,
        })
    }

    /// Scale and shift, for operations that hold more than this.
    pub(crate) fn weights(&self) -> NormWeights {
        NormWeights {
            weight: self.weight.val(),
            bias: self.bias(),
            epsilon: self.epsilon,
        }
    }

    /// `[.., hidden]` to the same shape.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        fused::layer_norm(x, self.weight.val(), self.bias(), self.epsilon)
    }

    fn bias(&self) -> Tensor<1> {
        bias_or_zeros(self.bias.as_ref(), &self.weight)
    }
}

/// The bias of a layer with this weight, whose first extent is that of its output: zeros where there is none, since the
/// fused operations take one.
fn bias_or_zeros<const D: usize>(
    bias: Option<&Param<Tensor<1>>>,
    weight: &Param<Tensor<D>>,
) -> Tensor<1> {
    match bias {
        Some(bias) => bias.val(),
        None => {
            let weight = weight.val();
            Tensor::zeros([weight.dims()[0]], &weight.device())
        }
    }
}

/// The tensor `name` of `weights` as a parameter of the given shape.
pub(crate) fn parameter<const D: usize>(
    weights: &mut dyn Weights,
    name: &str,
    shape: [usize; D],
    device: &Device,
) -> Result<Param<Tensor<D>>> {
    let data = weights.take(name, &shape)?;
    Ok(Param::from_tensor(Tensor::from_data(data, device)))
}
