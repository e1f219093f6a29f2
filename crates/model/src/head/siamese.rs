//! One vector per side of a pair, compared: what stands on sides that were encoded separately.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{check_rates, drop};
use crate::layer::Linear;
use crate::{Pass, RandomWeights, Side, Weights};

/// How a [`Siamese`] looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SiameseSpec {
    /// Which vector stands for a side.
    pub pooling: SidePooling,
    /// Dropout on what is made of the two.
    pub dropout: f64,
}

/// Which vector stands for a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SidePooling {
    /// Its first token, `[CLS]` in BERT.
    First,
    /// The mean over its real tokens.
    Mean,
    /// The largest value of each dimension.
    Max,
}

impl SiameseSpec {
    /// Refuses rates outside `[0, 1)`, naming the key below `head`.
    pub fn validate(&self) -> Result<()> {
        check_rates(&[("dropout", self.dropout)])
    }
}

/// `[u; v; |u - v|; u * v]` of the vectors of two sides (Conneau et al. 2017, section 3.1) and one linear layer.
///
/// Peters et al. 2019, Table 4, has BERT "with separate encoding" and does not say how the sides meet.
#[derive(Module, Debug)]
pub struct Siamese {
    output: Linear,
    #[module(skip)]
    pooling: SidePooling,
    dropout: f64,
}

/// Standard deviation of new weights, as in the released BERT classifier.
const INIT_SD: f64 = 0.02;

impl Siamese {
    /// A new network on states of `width`; `outputs` is the number of labels, or one for a regression.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(
        spec: &SiameseSpec,
        width: usize,
        outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = RandomWeights::new(seed, INIT_SD);
        Self::load(spec, width, outputs, &mut weights, device)
    }

    /// Takes `output` from `weights`.
    ///
    /// # Errors
    /// When a setting is out of its range, or those of `weights`.
    pub fn load(
        spec: &SiameseSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        spec.validate()?;
        Ok(Self {
            output: Linear::load(weights, "output", [4 * width, outputs], device)?,
            pooling: spec.pooling,
            dropout: spec.dropout,
        })
    }

    /// Scores of each label, or one number, `[batch, outputs]`.
    pub fn forward(&self, a: Side, b: Side, pass: &Pass) -> Tensor<2> {
        let [u, v] = [a, b].map(|side| match self.pooling {
            SidePooling::First => side.first(),
            SidePooling::Mean => side.mean(),
            SidePooling::Max => side.max(),
        });
        let (distance, product) = ((u.clone() - v.clone()).abs(), u.clone() * v.clone());
        let joined = Tensor::cat(vec![u, v, distance, product], 1); // [batch, 4 width]
        self.output.forward(drop(joined, self.dropout, pass))
    }
}
