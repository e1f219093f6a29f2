//! A tag for each word of a text, from the states of its subwords.

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{Switch, check_rates, check_sizes, drop};
use super::{HeadInput, HeadKind, Layers, Output, Representation, Tags};
use crate::layer::Linear;
use crate::pass::mix;
use crate::{BiLstm, Crf, Init, Pass, RandomWeights, Segment, Weights, WordPlaces};

/// Settings of a [`Tagger`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct TaggerSpec {
    /// Encoder layers that it reads.
    pub layers: Layers,
    /// BiLSTM layers, 0 to 2.
    pub recurrent_layers: usize,
    /// Sequence that the BiLSTM layers read.
    pub recurrent_over: RecurrentOver,
    /// Width of each direction of the BiLSTM layers; only read if there are any.
    pub hidden: usize,
    /// Subwords that represent a word.
    pub subwords: SubwordPooling,
    /// Width of a layer with a ReLU between the representation of a word and its scores; 0 for none. Wang et al. 2019
    /// have "two fully connected layers" on BERT.
    pub mlp_hidden: usize,
    /// Initialisation of the weights.
    pub init: Init,
    /// Output layer: independent tags or a CRF.
    pub output: TagOutput,
    /// Scores of a CRF for the first and the last tag of a sentence.
    pub boundaries: Switch,
    /// Dropout on the encoder's states, between recurrent layers, and above them.
    pub dropout: f64,
}

/// Sequence that the BiLSTM layers of a tagger read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecurrentOver {
    /// All subwords of the text and the boundary tokens; a word is represented by the LSTM's states of its subwords
    /// (Peters et al. 2019, A.1: "beneficial").
    #[default]
    Subwords,
    /// The words that are tagged, each represented by the encoder's states of its subwords.
    Words,
}

/// Subwords that represent a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubwordPooling {
    /// First subword (Devlin et al. 2019, section 5.3; Peters et al. 2019, A.1).
    First,
    /// Last subword.
    Last,
    /// The mean over all of them.
    Mean,
}

/// Output layer of a tagger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TagOutput {
    /// Softmax over the tags of each word, independently.
    Softmax,
    /// A CRF over the words of a sentence.
    Crf,
}

/// BERT's tagger: the states at first subwords, each word for itself. AllenNLP 0.8.3 has two layers of 200 below a CRF
/// without boundaries, and a dropout of 0.5 (`ner_elmo.jsonnet`).
impl Default for TaggerSpec {
    fn default() -> Self {
        Self {
            layers: Layers::Top,
            recurrent_layers: 0,
            recurrent_over: RecurrentOver::Subwords,
            hidden: 200,
            subwords: SubwordPooling::First,
            mlp_hidden: 0,
            init: Init::Pytorch,
            output: TagOutput::Softmax,
            boundaries: Switch::Off,
            dropout: 0.1,
        }
    }
}

/// BiLSTM layers over the subwords of a text or over its words, and one or two linear layers on the representation of
/// each word.
#[derive(Module, Debug)]
pub struct Tagger {
    recurrent: Vec<BiLstm>,
    projection: Option<Linear>,
    output: Linear,
    /// CRF over the tags; none if each word is tagged independently.
    pub crf: Option<Crf>,
    #[module(skip)]
    recurrent_over: RecurrentOver,
    #[module(skip)]
    subwords: SubwordPooling,
    dropout: f64,
}

impl HeadKind for Tagger {
    type Spec = TaggerSpec;

    const LABEL: &'static str = "tagger";
    const TAGS_WORDS: bool = true;

    fn reads(spec: &TaggerSpec) -> HeadInput {
        HeadInput::Tokens(spec.layers)
    }

    fn validate(spec: &TaggerSpec) -> Result<()> {
        ensure!(
            spec.recurrent_layers <= 2,
            "head.recurrent-layers: found {}, expected 0, 1 or 2",
            spec.recurrent_layers
        );
        check_sizes(&[("hidden", spec.hidden)])?;
        check_rates(&[("dropout", spec.dropout)])
    }

    fn initial(spec: &TaggerSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::initialised(spec.init, seed))
    }

    /// Takes `recurrent.<i>`, `projection` and `output` from `weights`, without a CRF.
    fn load(
        spec: &TaggerSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Self::validate(spec)?;
        let mut recurrent = Vec::new();
        let mut below = width;
        for i in 0..spec.recurrent_layers {
            let name = format!("recurrent.{i}");
            let shape = [below, spec.hidden];
            recurrent.push(BiLstm::load(weights, &name, shape, 1, device)?);
            below = 2 * spec.hidden;
        }
        let mut projection = None;
        if spec.mlp_hidden > 0 {
            let shape = [below, spec.mlp_hidden];
            projection = Some(Linear::load(weights, "projection", shape, device)?);
            below = spec.mlp_hidden;
        }
        Ok(Self {
            recurrent,
            projection,
            output: Linear::load(weights, "output", [below, outputs], device)?,
            crf: None,
            recurrent_over: spec.recurrent_over,
            subwords: spec.subwords,
            dropout: spec.dropout,
        })
    }

    fn new(
        spec: &TaggerSpec,
        width: usize,
        outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = Self::initial(spec, seed);
        let mut tagger = Self::load(spec, width, outputs, &mut *weights, device)?;
        if spec.output == TagOutput::Crf {
            let boundaries = spec.boundaries.is_on();
            tagger.crf = Some(Crf::new(outputs, boundaries, mix(seed), device));
        }
        Ok(tagger)
    }

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        let (_, batch) = read.tokens();
        let places = batch.word_places();
        let places = places.expect("a tagger is asked about words");
        Output::Tags(Tags {
            emissions: self.emissions(read.whole(), &places, pass),
            mask: places.mask,
            crf: self.crf.clone(),
        })
    }
}

impl Tagger {
    /// Scores of each tag for each word, `[batch, words, tags]`.
    ///
    /// In rows with fewer words, the padding of `places` may be any valid position.
    pub fn emissions(&self, x: Segment, places: &WordPlaces, pass: &Pass) -> Tensor<3> {
        let states = drop(x.states.clone(), self.dropout, pass);
        let mut words = match self.recurrent_over {
            RecurrentOver::Subwords => self.words(self.recur(states, &x.mask, pass), places),
            RecurrentOver::Words => self.recur(self.words(states, places), &places.mask, pass),
        };
        if let Some(projection) = &self.projection {
            words = drop(relu(projection.forward(words)), self.dropout, pass);
        }
        self.output.forward(words)
    }

    /// The recurrent layers, `[batch, n, width]` to `[batch, n, 2 hidden]`.
    fn recur(&self, states: Tensor<3>, mask: &Tensor<2>, pass: &Pass) -> Tensor<3> {
        self.recurrent.iter().fold(states, |states, layer| {
            drop(layer.forward(states, Some(mask)), self.dropout, pass)
        })
    }

    /// The representation of each word, `[batch, words, width]`.
    fn words(&self, states: Tensor<3>, places: &WordPlaces) -> Tensor<3> {
        let (starts, ends) = (places.starts.clone(), places.ends.clone());
        match self.subwords {
            SubwordPooling::First => at(states, starts),
            SubwordPooling::Last => at(states, ends),
            SubwordPooling::Mean => spans(states, starts, ends),
        }
    }
}

/// The states `[batch, seq, width]` at `places` `[batch, words]`: `[batch, words, width]`.
fn at(states: Tensor<3>, places: Tensor<2, Int>) -> Tensor<3> {
    let ([batch, seq, width], [_, words]) = (states.dims(), places.dims());
    let device = states.device();
    let rows = Tensor::<1, Int>::arange(0..batch as i64, &device) * seq as i64;
    let flat = places + rows.unsqueeze_dim::<2>(1);
    let states: Tensor<2> = states.reshape([batch * seq, width]);
    states
        .select(0, flat.reshape([batch * words]))
        .reshape([batch, words, width])
}

/// Means of the states from each of `starts` to the one of `ends`: `[batch, words, width]`.
fn spans(states: Tensor<3>, starts: Tensor<2, Int>, ends: Tensor<2, Int>) -> Tensor<3> {
    let [_, seq, _] = states.dims();
    let [starts, ends] = [starts, ends].map(|places| places.float().unsqueeze_dim::<3>(2)); // [batch, words, 1]
    let places: Tensor<3> = Tensor::<1, Int>::arange(0..seq as i64, &states.device())
        .float()
        .reshape([1, 1, seq]);
    let after_start = places.clone().greater_equal(starts.clone()).float(); // [batch, words, seq]
    let inside = after_start * places.lower_equal(ends.clone()).float();
    let shares = inside / (ends - starts + 1.0);
    shares.matmul(states)
}

#[cfg(test)]
mod tests {
    use super::RecurrentOver as Over;
    use super::RecurrentOver::Words;
    use super::*;
    use burn::tensor::TensorData;

    /// Scores of a text of four places whose words lie at `spans`, by a tagger with BiLSTM layers.
    fn emissions(over: Over, places: [[f32; 2]; 4], spans: &[[i64; 2]]) -> Vec<f32> {
        let device = Device::flex();
        let spec = TaggerSpec {
            recurrent_layers: 2,
            recurrent_over: over,
            hidden: 3,
            dropout: 0.0,
            ..TaggerSpec::default()
        };
        let tagger = Tagger::new(&spec, 2, 2, 5, &device).expect("in range");
        let of_words = |end: usize| {
            let places: Vec<i64> = spans.iter().map(|span| span[end]).collect();
            Tensor::<2, Int>::from_data(TensorData::new(places, [1, spans.len()]), &device)
        };
        let words = WordPlaces {
            starts: of_words(0),
            ends: of_words(1),
            mask: Tensor::ones([1, spans.len()], &device),
        };
        let length = spans.iter().map(|span| span[1] + 1).max().unwrap_or(0);
        let mask = [0, 1, 2, 3].map(|place| if place < length { 1.0 } else { 0.0 });
        let segment = Segment {
            states: Tensor::from_data([places], &device),
            mask: Tensor::from_data([mask], &device),
        };
        let found = tagger.emissions(segment, &words, &Pass::evaluation());
        found.into_data().try_to_vec().expect("f32")
    }

    const PLACES: [[f32; 2]; 4] = [[1.0, 0.5], [-1.0, 2.0], [0.5, 0.1], [3.0, -2.0]];

    #[test]
    fn over_words_only_the_subwords_that_represent_them_count() {
        let spans = [[0, 1], [2, 3]];
        let mut others = PLACES;
        (others[1], others[3]) = ([7.0, -7.0], [-5.0, 5.0]);
        let of = |over, places| emissions(over, places, &spans);
        assert_eq!(of(Words, PLACES), of(Words, others));
        assert_ne!(of(Over::Subwords, PLACES), of(Over::Subwords, others));
    }

    #[test]
    fn words_of_one_subword_are_read_alike_over_subwords_and_over_words() {
        let of = |over| emissions(over, PLACES, &[[0, 0], [1, 1], [2, 2]]);
        assert_eq!(of(Over::Subwords), of(Words));
    }
}
