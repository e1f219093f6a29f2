//! One vector per segment of a pair, compared: a head on segments that were encoded separately.

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{check_rates, drop};
use super::{HeadInput, HeadKind, Layers, Output, Pooling, Representation};
use crate::init::INIT_SD;
use crate::layer::Linear;
use crate::{Pass, RandomWeights, Segment, Weights};

/// Settings of a [`Siamese`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SiameseSpec {
    /// Encoder layers that it reads.
    #[serde(default)]
    pub layers: Layers,
    /// Vector that represents a segment: `first`, `mean` or `max`.
    pub pooling: Pooling,
    /// Dropout on the combination of the two vectors.
    pub dropout: f64,
}

/// `[u; v; |u - v|; u * v]` of the vectors of two segments (Conneau et al. 2017, section 3.1) and one linear layer.
///
/// Peters et al. 2019, Table 4, has BERT "with separate encoding" and does not say how the two are compared.
#[derive(Module, Debug)]
pub struct Siamese {
    output: Linear,
    #[module(skip)]
    pooling: Pooling,
    dropout: f64,
}

impl HeadKind for Siamese {
    type Spec = SiameseSpec;

    const LABEL: &'static str = "siamese";
    const COMPARES_PAIRS: bool = true;
    const IS_LINEAR: bool = true;

    fn reads(spec: &SiameseSpec) -> HeadInput {
        HeadInput::Tokens(spec.layers)
    }

    fn validate(spec: &SiameseSpec) -> Result<()> {
        ensure!(
            matches!(spec.pooling, Pooling::First | Pooling::Mean | Pooling::Max),
            "head.pooling: found {}, expected \"first\", \"mean\" or \"max\" of each segment",
            serde_json::to_value(spec.pooling)?
        );
        check_rates(&[("dropout", spec.dropout)])
    }

    fn initial(_: &SiameseSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::new(seed, INIT_SD))
    }

    /// Takes `output` from `weights`.
    fn load(
        spec: &SiameseSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Self::validate(spec)?;
        Ok(Self {
            output: Linear::load(weights, "output", [4 * width, outputs], device)?,
            pooling: spec.pooling,
            dropout: spec.dropout,
        })
    }

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        let [a, b] = read.pair_from_first();
        Output::Labels(self.forward(a, b, pass))
    }

    fn features(&self, read: Representation) -> Option<Tensor<2>> {
        let [a, b] = read.pair_from_first();
        Some(self.joined(a, b))
    }

    fn linear(&mut self) -> Option<&mut Linear> {
        Some(&mut self.output)
    }
}

impl Siamese {
    /// Scores of each label, or one number, `[batch, outputs]`.
    pub fn forward(&self, a: Segment, b: Segment, pass: &Pass) -> Tensor<2> {
        self.output
            .forward(drop(self.joined(a, b), self.dropout, pass))
    }

    /// `[u; v; |u - v|; u * v]`, `[batch, 4 width]`.
    fn joined(&self, a: Segment, b: Segment) -> Tensor<2> {
        let [u, v] = [a, b].map(|segment| match self.pooling {
            Pooling::First => segment.first(),
            Pooling::Mean => segment.mean(),
            Pooling::Max => segment.max(),
            other => unreachable!("{other:?} was refused"),
        });
        let (distance, product) = ((u.clone() - v.clone()).abs(), u.clone() * v.clone());
        Tensor::cat(vec![u, v, distance, product], 1)
    }
}
