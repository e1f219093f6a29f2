//! Bilateral multi-perspective matching of pairs (Wang, Hamza and Florian 2017), and its variant in Wang et al. 2019.

mod aggregation;
mod matching;

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{check_rates, check_sizes, drop};
use super::{
    FullyConnected, FullyConnectedSpec, HeadInput, HeadKind, Layers, Output, Representation,
};
use crate::weights::Below;
use crate::{BiLstm, Init, Pass, RandomWeights, Segment, Weights};
use aggregation::Aggregator;
use matching::{End, Matching};

/// Settings of a [`Bimpm`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct BimpmSpec {
    /// Encoder layers that it reads.
    pub layers: Layers,
    /// Context layer that computes the matched states.
    pub context: Context,
    /// Width of each direction of that; read where it is a BiLSTM.
    pub context_hidden: usize,
    /// Weightings of the dimensions under which two vectors are compared.
    pub perspectives: usize,
    /// Implementation of the matching layer.
    pub reading: MatchReading,
    /// Width of the learned attention of the official code; only read with `official`.
    pub attention: usize,
    /// Aggregation of the matches of a segment into one vector.
    pub aggregation: Aggregation,
    /// Width between the two layers that score.
    pub mlp_hidden: usize,
    /// Dropout on the input of each layer.
    pub dropout: f64,
}

/// Context layer that computes the matched states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Context {
    /// A BiLSTM over each side, whose directions are matched separately.
    BiLstm,
    /// No layer: the encoder's states are matched as they are (Wang et al. 2019: "removing the first bi-LSTM").
    ///
    /// There is one direction then, and no last state that has read all of a side: full matching is with the first
    /// token.
    None,
}

/// Implementation of the matching layer. All of them match each token of a segment with the other segment in four ways:
/// with its last state (full), with the best of its tokens (max-pooling), with their mean weighted by cosines
/// (attentive), and with the one whose cosine is largest (max-attentive).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchReading {
    /// The paper's equations: each match is a cosine under every perspective.
    Paper,
    /// AllenNLP's `BiMpmMatching`: also the largest and the mean cosine to all tokens, the mean of max-pooling's
    /// cosines, and the cosine without a perspective in the three other ways; the attentive vector is a softmax over
    /// its dimensions, the max-attentive one the largest value of each dimension among cosine times state.
    ///
    /// Its matching of words and of a second BiLSTM's states is not implemented.
    Allennlp,
    /// The authors' code of 2018: also the largest and the mean cosine to all tokens and the mean of max-pooling's
    /// cosines; the others are `tanh(sum(w * u * v))`; attention is learned, `tanh(A u) . (d * tanh(A v))` and a
    /// softmax; weights are not shared by the segments.
    ///
    /// There padding takes part in means and in the softmax, and here it does not; its matching of words is not
    /// implemented.
    Official,
}

/// Aggregation of the matches of a segment into one vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Aggregation {
    /// The last states of both directions of a BiLSTM.
    BiLstm {
        /// Width of each direction.
        hidden: usize,
    },
    /// The mean state of a transformer (Wang et al. 2019: "Sim-Transformer", of which no size is stated): a linear
    /// layer to its width, then layers as in BERT, without positions of its own.
    Transformer {
        /// Width of its states.
        width: usize,
        /// Number of layers.
        layers: usize,
        /// Attention heads; divides `width`.
        heads: usize,
    },
}

impl Default for BimpmSpec {
    fn default() -> Self {
        Self {
            layers: Layers::Top,
            context: Context::BiLstm,
            context_hidden: 100,
            perspectives: 20,
            reading: MatchReading::Paper,
            attention: 50,
            aggregation: Aggregation::BiLstm { hidden: 100 },
            mlp_hidden: 200,
            dropout: 0.1,
        }
    }
}

/// Both segments read by one BiLSTM, each token matched with the other segment, the matches aggregated and scored.
#[derive(Module, Debug)]
pub struct Bimpm {
    context: Option<BiLstm>,
    /// Matching of the forward and the backward states, or of the encoder's states.
    matching: Vec<Matching>,
    aggregator: Aggregator,
    output: FullyConnected,
    dropout: f64,
}

impl HeadKind for Bimpm {
    type Spec = BimpmSpec;

    const LABEL: &'static str = "bimpm";
    const COMPARES_PAIRS: bool = true;

    fn reads(spec: &BimpmSpec) -> HeadInput {
        HeadInput::Tokens(spec.layers)
    }

    fn validate(spec: &BimpmSpec) -> Result<()> {
        check_sizes(&[
            ("context-hidden", spec.context_hidden),
            ("perspectives", spec.perspectives),
            ("attention", spec.attention),
            ("mlp-hidden", spec.mlp_hidden),
        ])?;
        match spec.aggregation {
            Aggregation::BiLstm { hidden } => check_sizes(&[("aggregation.hidden", hidden)])?,
            Aggregation::Transformer {
                width,
                layers,
                heads,
            } => {
                check_sizes(&[
                    ("aggregation.width", width),
                    ("aggregation.layers", layers),
                    ("aggregation.heads", heads),
                ])?;
                ensure!(
                    width.is_multiple_of(heads),
                    "head.aggregation.heads: found {heads}, expected a divisor of width = {width}"
                );
            }
        }
        check_rates(&[("dropout", spec.dropout)])
    }

    fn initial(_: &BimpmSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::initialised(Init::KaimingNormal, seed))
    }

    /// Takes `context`, `matching.<direction>.<side>.{full, pool, attentive, max_attentive}.weight` and those of the
    /// learned attention, `aggregation`, `hidden` and `output` from `weights`. Where sides share weights they are those
    /// of side 0.
    fn load(
        spec: &BimpmSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Self::validate(spec)?;
        let hidden = spec.context_hidden;
        let (context, matched, ends) = match spec.context {
            Context::BiLstm => {
                let context = BiLstm::load(weights, "context", [width, hidden], 1, device)?;
                (Some(context), hidden, vec![End::Last, End::First])
            }
            Context::None => (None, width, vec![End::First]),
        };
        let mut matching = Vec::new();
        for (i, end) in ends.into_iter().enumerate() {
            let mut below = Below::new(format!("matching.{i}."), weights);
            matching.push(Matching::load(spec, matched, end, &mut below, device)?);
        }
        let matches = matching.len() * matching::width(spec);
        let aggregator =
            Aggregator::load(&spec.aggregation, matches, spec.dropout, weights, device)?;
        let above = FullyConnectedSpec {
            mlp_hidden: spec.mlp_hidden,
            dropout: spec.dropout,
            ..FullyConnectedSpec::default()
        };
        let read = 2 * spec.aggregation.width();
        Ok(Self {
            context,
            matching,
            aggregator,
            output: FullyConnected::load(&above, read, outputs, weights, device)?,
            dropout: spec.dropout,
        })
    }

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        let [a, b] = read.pair();
        Output::Labels(self.forward(a, b, pass))
    }
}

impl Bimpm {
    /// Scores of each label, or one number, `[batch, outputs]`.
    pub fn forward(&self, a: Segment, b: Segment, pass: &Pass) -> Tensor<2> {
        let [a, b] = [a, b].map(|side| {
            let states = drop(side.states.clone(), self.dropout, pass);
            let states = match &self.context {
                Some(context) => drop(
                    context.forward(states, Some(&side.mask)),
                    self.dropout,
                    pass,
                ),
                None => states,
            };
            side.with(states)
        });
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        let n = self.matching.len();
        for (i, matching) in self.matching.iter().enumerate() {
            let direction = |side: &Segment| {
                let [_, _, width] = side.states.dims();
                side.with(side.states.clone().narrow(2, i * width / n, width / n))
            };
            let [matches_a, matches_b] = matching.both(&direction(&a), &direction(&b));
            of_a.extend(matches_a);
            of_b.extend(matches_b);
        }
        let vectors = [(a, of_a), (b, of_b)].map(|(side, matches)| {
            let matches = drop(Tensor::cat(matches, 2), self.dropout, pass); // [batch, seq, matches]
            self.aggregator.forward(&side.with(matches), pass)
        });
        self.output.forward(Tensor::cat(vectors.to_vec(), 1), pass)
    }
}
