//! The enhanced sequential inference model for pairs (Chen et al. 2017), in AllenNLP's variant.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::segment::{align, enhance};
use super::settings::{check_rates, check_sizes, drop, drop_variational};
use super::{HeadInput, HeadKind, Layers, Output, Representation};
use crate::layer::Linear;
use crate::{BiLstm, Init, Pass, RandomWeights, Segment, Weights};

/// Sizes and dropout of an [`Esim`]; those of AllenNLP 0.8.3 where a key is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct EsimSpec {
    /// Encoder layers that it reads.
    pub layers: Layers,
    /// Width of each direction of both LSTMs.
    pub hidden: usize,
    /// Width of the second LSTM's input.
    pub projection: usize,
    /// Width between the two layers that score.
    pub mlp_hidden: usize,
    /// Dropout on the input of each LSTM, one mask for all tokens, on the pooled vector and below the scores.
    pub dropout: f64,
}

impl Default for EsimSpec {
    fn default() -> Self {
        Self {
            layers: Layers::Top,
            hidden: 300,
            projection: 300,
            mlp_hidden: 300,
            dropout: 0.5,
        }
    }
}

/// Two segments encoded by one BiLSTM, aligned softly, composed by a second one, pooled and compared.
#[derive(Module, Debug)]
pub struct Esim {
    encoder: BiLstm,
    projection: Linear,
    composition: BiLstm,
    hidden: Linear,
    output: Linear,
    dropout: f64,
}

impl HeadKind for Esim {
    type Spec = EsimSpec;

    const LABEL: &'static str = "esim";
    const COMPARES_PAIRS: bool = true;

    fn reads(spec: &EsimSpec) -> HeadInput {
        HeadInput::Tokens(spec.layers)
    }

    fn validate(spec: &EsimSpec) -> Result<()> {
        check_sizes(&[
            ("hidden", spec.hidden),
            ("projection", spec.projection),
            ("mlp-hidden", spec.mlp_hidden),
        ])?;
        check_rates(&[("dropout", spec.dropout)])
    }

    fn initial(_: &EsimSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::initialised(Init::GlorotOrthogonal, seed))
    }

    /// Takes `encoder`, `projection`, `composition`, `hidden` and `output` from `weights`.
    fn load(
        spec: &EsimSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Self::validate(spec)?;
        let (hidden, projection) = (spec.hidden, spec.projection);
        let enhanced = 4 * 2 * hidden; // as wide as four vectors, two directions of each
        let below = [projection, hidden];
        Ok(Self {
            encoder: BiLstm::load(weights, "encoder", [width, hidden], 1, device)?,
            projection: Linear::load(weights, "projection", [enhanced, projection], device)?,
            composition: BiLstm::load(weights, "composition", below, 1, device)?,
            hidden: Linear::load(weights, "hidden", [enhanced, spec.mlp_hidden], device)?,
            output: Linear::load(weights, "output", [spec.mlp_hidden, outputs], device)?,
            dropout: spec.dropout,
        })
    }

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        let [a, b] = read.pair();
        Output::Labels(self.forward(a, b, pass))
    }
}

impl Esim {
    /// Scores of each label, or one number, `[batch, outputs]`.
    pub fn forward(&self, a: Segment, b: Segment, pass: &Pass) -> Tensor<2> {
        let [a, b] = [a, b].map(|side| {
            let states = drop_variational(side.states.clone(), self.dropout, pass);
            side.with(self.encoder.forward(states, Some(&side.mask))) // [batch, seq, 2 hidden]
        });
        let attended = align(&a, &b);
        let pooled = [a, b].into_iter().zip(attended).flat_map(|(side, other)| {
            let composed = self.compose(&side, other, pass);
            [composed.mean(), composed.max()]
        });
        let pooled = Tensor::cat(pooled.collect(), 1); // [batch, 8 hidden]
        let hidden = relu(self.hidden.forward(drop(pooled, self.dropout, pass)));
        self.output.forward(drop(hidden, self.dropout, pass))
    }

    /// The second LSTM over each token's state and the aligned state.
    fn compose(&self, side: &Segment, attended: Tensor<3>, pass: &Pass) -> Segment {
        let enhanced = enhance(side.states.clone(), attended); // [batch, seq, 8 hidden]
        let projected = relu(self.projection.forward(enhanced)); // [batch, seq, projection]
        let projected = drop_variational(projected, self.dropout, pass);
        side.with(self.composition.forward(projected, Some(&side.mask)))
    }
}
