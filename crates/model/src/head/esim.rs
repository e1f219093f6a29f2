//! The enhanced sequential inference model for pairs (Chen et al. 2017), in the shape that AllenNLP gives it.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{check_rates, check_sizes, drop, drop_variational};
use super::side::{align, enhance};
use crate::layer::Linear;
use crate::{BiLstm, Init, NewWeights, Pass, Side, Weights};

/// Sizes and dropout of an [`Esim`]; those of AllenNLP 0.8.3 where a key is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct EsimSpec {
    /// Width of each direction of both LSTMs.
    pub hidden: usize,
    /// Width of what the second one reads.
    pub projection: usize,
    /// Width below the scores.
    pub output: usize,
    /// Dropout on what each LSTM reads, one mask for all tokens, on the pooled vector and below the scores.
    pub dropout: f64,
}

impl Default for EsimSpec {
    fn default() -> Self {
        Self {
            hidden: 300,
            projection: 300,
            output: 300,
            dropout: 0.5,
        }
    }
}

impl EsimSpec {
    /// Refuses sizes of zero and rates outside `[0, 1)`, naming the key below `head`.
    pub fn validate(&self) -> Result<()> {
        check_sizes(&[
            ("hidden", self.hidden),
            ("projection", self.projection),
            ("output", self.output),
        ])?;
        check_rates(&[("dropout", self.dropout)])
    }
}

/// Two sides encoded by one BiLSTM, aligned softly, composed by a second one, pooled and compared.
#[derive(Module, Debug)]
pub struct Esim {
    encoder: BiLstm,
    projection: Linear,
    composition: BiLstm,
    hidden: Linear,
    output: Linear,
    dropout: f64,
}

impl Esim {
    /// A new network on states of `width`; `outputs` is the number of labels, or one for a regression.
    ///
    /// It begins as AllenNLP's: [`Init::Esim`].
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(
        spec: &EsimSpec,
        width: usize,
        outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = NewWeights::new(Init::Esim, seed);
        Self::load(spec, width, outputs, &mut weights, device)
    }

    /// Takes `encoder`, `projection`, `composition`, `hidden` and `output` from `weights`.
    ///
    /// # Errors
    /// When a setting is out of its range, or those of `weights`.
    pub fn load(
        spec: &EsimSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        spec.validate()?;
        let (hidden, projection) = (spec.hidden, spec.projection);
        let enhanced = 4 * 2 * hidden; // as wide as four vectors, two directions of each
        let below = [projection, hidden];
        Ok(Self {
            encoder: BiLstm::load(weights, "encoder", [width, hidden], 1, device)?,
            projection: Linear::load(weights, "projection", [enhanced, projection], device)?,
            composition: BiLstm::load(weights, "composition", below, 1, device)?,
            hidden: Linear::load(weights, "hidden", [enhanced, spec.output], device)?,
            output: Linear::load(weights, "output", [spec.output, outputs], device)?,
            dropout: spec.dropout,
        })
    }

    /// Scores of each label, or one number, `[batch, outputs]`.
    pub fn forward(&self, a: Side, b: Side, pass: &Pass) -> Tensor<2> {
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

    /// The second LSTM over each token beside what it is aligned to.
    fn compose(&self, side: &Side, attended: Tensor<3>, pass: &Pass) -> Side {
        let enhanced = enhance(side.states.clone(), attended); // [batch, seq, 8 hidden]
        let projected = relu(self.projection.forward(enhanced)); // [batch, seq, projection]
        let projected = drop_variational(projected, self.dropout, pass);
        side.with(self.composition.forward(projected, Some(&side.mask)))
    }
}
