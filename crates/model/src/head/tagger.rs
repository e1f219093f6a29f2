//! A tag for each word of a text, from the states of its pieces.

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{Switch, check_rates, check_sizes, drop};
use crate::layer::Linear;
use crate::pass::mix;
use crate::{BiLstm, Crf, Init, NewWeights, Pass, Side, Weights, WordPlaces};

/// How a [`Tagger`] looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct TaggerSpec {
    /// BiLSTM layers, 0 to 2.
    pub recurrent_layers: usize,
    /// What these go over.
    pub recurrent_over: RecurrentOver,
    /// Width of each direction of these; read where there are some.
    pub hidden: usize,
    /// Which pieces stand for a word.
    pub pieces: Pieces,
    /// Width of a layer with a rectifier between what stands for a word and its scores; 0 for none. Wang et al. 2019 have
    /// "two fully connected layers" on BERT.
    pub projection: usize,
    /// How weights begin.
    pub init: Init,
    /// What makes tags of the scores.
    pub output: TagOutput,
    /// Whether a field has scores for the first and the last tag of a sentence.
    pub boundaries: Switch,
    /// Dropout on the states that come in, between recurrent layers, and above them.
    pub dropout: f64,
}

/// What the BiLSTM layers of a tagger go over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecurrentOver {
    /// All pieces of the text, special ones included; what stands for a word is taken of what they give (Peters et al.
    /// 2019, A.1: "beneficial").
    #[default]
    Pieces,
    /// The words that are tagged: what stands for a word is taken of the encoder's states.
    Words,
}

/// Which pieces stand for a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pieces {
    /// Its first one (Devlin et al. 2019, section 5.3; Peters et al. 2019, A.1).
    First,
    /// Its last one.
    Last,
    /// The mean over all of them.
    Mean,
}

/// What makes tags of the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TagOutput {
    /// Each word for itself.
    Softmax,
    /// A conditional random field over the words of a sentence.
    Crf,
}

/// BERT's tagger: the states at first pieces, each word for itself. AllenNLP 0.8.3 has two layers of 200 below a field
/// without boundaries, and a dropout of 0.5 (`ner_elmo.jsonnet`).
impl Default for TaggerSpec {
    fn default() -> Self {
        Self {
            recurrent_layers: 0,
            recurrent_over: RecurrentOver::Pieces,
            hidden: 200,
            pieces: Pieces::First,
            projection: 0,
            init: Init::Pytorch,
            output: TagOutput::Softmax,
            boundaries: Switch::Off,
            dropout: 0.1,
        }
    }
}

impl TaggerSpec {
    /// Refuses what is out of range, naming the key below `head`.
    pub fn validate(&self) -> Result<()> {
        ensure!(
            self.recurrent_layers <= 2,
            "head.recurrent-layers: found {}, expected 0, 1 or 2",
            self.recurrent_layers
        );
        check_sizes(&[("hidden", self.hidden)])?;
        check_rates(&[("dropout", self.dropout)])
    }
}

/// BiLSTM layers over the pieces of a text or over its words, and one or two linear layers on what stands for each word.
#[derive(Module, Debug)]
pub struct Tagger {
    recurrent: Vec<BiLstm>,
    projection: Option<Linear>,
    output: Linear,
    /// What makes paths of the scores; none where each word is tagged for itself.
    pub crf: Option<Crf>,
    #[module(skip)]
    recurrent_over: RecurrentOver,
    #[module(skip)]
    pieces: Pieces,
    dropout: f64,
}

impl Tagger {
    /// A new tagger on states of `width`, with `tags` tags.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(
        spec: &TaggerSpec,
        width: usize,
        tags: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = NewWeights::new(spec.init, seed);
        let mut tagger = Self::load(spec, width, tags, &mut weights, device)?;
        if spec.output == TagOutput::Crf {
            let boundaries = spec.boundaries.is_on();
            tagger.crf = Some(Crf::new(tags, boundaries, mix(seed), device));
        }
        Ok(tagger)
    }

    /// Takes `recurrent.<i>`, `projection` and `output` from `weights`, without a field.
    ///
    /// # Errors
    /// When a setting is out of its range, or those of `weights`.
    pub fn load(
        spec: &TaggerSpec,
        width: usize,
        tags: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        spec.validate()?;
        let mut recurrent = Vec::new();
        let mut below = width;
        for i in 0..spec.recurrent_layers {
            let name = format!("recurrent.{i}");
            let shape = [below, spec.hidden];
            recurrent.push(BiLstm::load(weights, &name, shape, 1, device)?);
            below = 2 * spec.hidden;
        }
        let mut projection = None;
        if spec.projection > 0 {
            let shape = [below, spec.projection];
            projection = Some(Linear::load(weights, "projection", shape, device)?);
            below = spec.projection;
        }
        Ok(Self {
            recurrent,
            projection,
            output: Linear::load(weights, "output", [below, tags], device)?,
            crf: None,
            recurrent_over: spec.recurrent_over,
            pieces: spec.pieces,
            dropout: spec.dropout,
        })
    }

    /// Scores of each tag for each word, `[batch, words, tags]`.
    ///
    /// What `places` says where a row has fewer words is of no importance, as long as it is a place.
    pub fn emissions(&self, x: Side, places: &WordPlaces, pass: &Pass) -> Tensor<3> {
        let states = drop(x.states.clone(), self.dropout, pass);
        let mut words = match self.recurrent_over {
            RecurrentOver::Pieces => self.words(self.recur(states, &x.mask, pass), places),
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

    /// What stands for each word, `[batch, words, width]`.
    fn words(&self, states: Tensor<3>, places: &WordPlaces) -> Tensor<3> {
        let (starts, ends) = (places.starts.clone(), places.ends.clone());
        match self.pieces {
            Pieces::First => at(states, starts),
            Pieces::Last => at(states, ends),
            Pieces::Mean => spans(states, starts, ends),
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
        let side = Side {
            states: Tensor::from_data([places], &device),
            mask: Tensor::from_data([mask], &device),
        };
        let found = tagger.emissions(side, &words, &Pass::evaluation());
        found.into_data().try_to_vec().expect("f32")
    }

    const PLACES: [[f32; 2]; 4] = [[1.0, 0.5], [-1.0, 2.0], [0.5, 0.1], [3.0, -2.0]];

    #[test]
    fn over_words_only_the_pieces_that_stand_for_them_count() {
        let spans = [[0, 1], [2, 3]];
        let mut others = PLACES;
        (others[1], others[3]) = ([7.0, -7.0], [-5.0, 5.0]);
        let of = |over, places| emissions(over, places, &spans);
        assert_eq!(of(Words, PLACES), of(Words, others));
        assert_ne!(of(Over::Pieces, PLACES), of(Over::Pieces, others));
    }

    #[test]
    fn words_of_one_piece_are_read_alike_over_pieces_and_over_words() {
        let of = |over| emissions(over, PLACES, &[[0, 0], [1, 1], [2, 2]]);
        assert_eq!(of(Over::Pieces), of(Words));
    }
}
