//! Bidirectional language model for the pre-training of ELMo (Peters et al. 2018, section 3.1).
//!
//! A forward LSTM predicts each word from those before it, a backward one from those behind it. Both read the same
//! character encoder and share one softmax over the vocabulary (Jozefowicz et al. 2016).
//!
//! | here | checkpoint |
//! |---|---|
//! | `encoder` | as [`Elmo`] |
//! | `softmax.{weight, bias}` | the same, `[vocab, projection]` and `[vocab]` |
//!
//! Differences from the released training code: each segment starts from a zero state, where that code carries over the
//! state of the batch before; and a step draws its negative samples once for both directions, not for each.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use totune_checkpoint::ElmoOptions;

use crate::encoder::elmo::Steps;
use crate::fused::{self, Candidates, Precision, Softmax};
use crate::layer::Linear;
use crate::lm::{Samples, Segments};
use crate::{Elmo, Encoder, Pass, Weights};

/// The shape of a bidirectional language model.
#[derive(Debug, Clone, PartialEq)]
pub struct BilmConfig {
    /// The encoder.
    pub encoder: ElmoOptions,
    /// Words of the vocabulary, boundary tokens and the unknown word among them.
    pub vocab: usize,
}

/// An ELMo encoder with the softmax that predicts words from its states.
#[derive(Module, Debug)]
pub struct Bilm {
    /// The encoder, which is the result of pre-training.
    pub encoder: Elmo,
    softmax: Linear,
    dropout: f64,
}

/// Negative log-likelihoods of held-out words by the full softmax, summed, in nats.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BilmLikelihood {
    /// Likelihood of the forward language model.
    pub forward: f64,
    /// Likelihood of the backward language model.
    pub backward: f64,
    /// Predictions in each direction.
    pub n: u64,
}

impl BilmConfig {
    /// Takes all weights from `weights`, under the names of [`BilmConfig::tensors`], and puts them on `device`.
    ///
    /// # Errors
    /// When a tensor is missing or has another shape, or the options are invalid.
    pub fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<Bilm> {
        let width = self.encoder.lstm.projection_dim;
        Ok(Bilm {
            encoder: Elmo::load(&self.encoder, weights, device)?,
            softmax: Linear::load(weights, "softmax", [width, self.vocab], device)?,
            dropout: 0.0,
        })
    }

    /// Published name and shape of every tensor that [`BilmConfig::load`] takes. Those of the encoder come first, in
    /// the order of [`ElmoOptions::tensors`]; with `options.json` next to them they are an encoder of their own.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let mut tensors = self.encoder.tensors();
        let width = self.encoder.lstm.projection_dim;
        tensors.push(("softmax.weight".to_string(), vec![self.vocab, width]));
        tensors.push(("softmax.bias".to_string(), vec![self.vocab]));
        tensors
    }
}

impl Bilm {
    /// The published name of the parameter at `path` of this module, such as `forward.0.bias`.
    pub fn published(path: &str) -> String {
        match path.strip_prefix("encoder.") {
            Some(path) => Elmo::published(path),
            None => path.to_string(),
        }
    }

    /// The same model with this share of each LSTM's input and of the states dropped out in training; 0.1 in the
    /// released training code.
    pub fn with_dropout(mut self, rate: f64) -> Self {
        self.dropout = rate;
        self
    }

    /// The same model with the products of the LSTMs, those within a sequence included, and of the softmax in training
    /// at another precision. Likelihoods are computed from states of this precision by an f32 softmax.
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.encoder = self
            .encoder
            .with_precision(precision)
            .with_recurrent_precision(precision);
        self.softmax.precision = precision;
        self
    }

    /// The mean cross-entropy over all predictions of both directions, in nats: `[1]`.
    ///
    /// With `negatives` it is that of the sampled softmax, whose gradient approximates that of the full one; its value
    /// is not a likelihood. Samples that are the word to be predicted are left out for that word.
    ///
    /// # Panics
    /// When the batch has no words.
    pub fn loss(&self, batch: &Segments, negatives: Option<&Samples>, pass: &Pass) -> Tensor<1> {
        let (states, targets) = self.predictions(batch, pass);
        let device = states.device();
        let candidates = negatives.map(|samples| {
            let ids: Vec<i64> = samples.ids().iter().map(|&id| id.into()).collect();
            let log_expected = |ids: &[i64]| -> Tensor<1> {
                let of = |&id: &i64| samples.expected_count(id as u32).ln() as f32;
                let values: Vec<f32> = ids.iter().map(of).collect();
                let n = values.len();
                Tensor::from_data(TensorData::new(values, [n]), &device.clone().inner())
            };
            Candidates {
                log_expected: log_expected(&ids),
                target_log_expected: log_expected(&targets),
                ids: integers(ids, &device),
            }
        });
        fused::softmax_loss(
            states,
            self.softmax(),
            integers(targets, &device),
            candidates,
        )
    }

    /// Returns the negative log-likelihood of the words of `batch` under the full softmax, without dropout.
    ///
    /// # Panics
    /// When the batch has no words.
    pub fn likelihood(&self, batch: &Segments) -> BilmLikelihood {
        let model = self.valid();
        let (states, targets) = model.predictions(batch, &Pass::evaluation());
        let targets = integers(targets, &states.device());
        let losses = fused::softmax_losses(states, model.softmax(), targets).into_data();
        let losses: Vec<f32> = losses.try_to_vec().expect("losses are f32");
        let sum = |losses: &[f32]| losses.iter().map(|&loss| f64::from(loss)).sum();
        let (forward, backward) = losses.split_at(losses.len() / 2);
        BilmLikelihood {
            forward: sum(forward),
            backward: sum(backward),
            n: forward.len() as u64,
        }
    }

    fn softmax(&self) -> Softmax {
        Softmax {
            weight: self.softmax.weight.val(),
            bias: self.softmax.bias(),
            precision: self.softmax.precision,
        }
    }

    /// States `[2 predictions, width]`, those of the forward direction first, and the id that each predicts.
    fn predictions(&self, batch: &Segments, pass: &Pass) -> (Tensor<2>, Vec<i64>) {
        assert!(batch.n_words() > 0, "a batch without words");
        let steps = Steps::new(batch.lengths());
        let device = self.softmax.weight.device();
        let characters = batch.characters(&device);
        let states =
            self.encoder
                .language_states(characters, batch.places(), &steps, self.dropout, pass);
        let targets = [0, 1].into_iter().flat_map(|direction| {
            let next = steps.next(direction);
            next.into_iter().map(|row| batch.id(row))
        });
        (states, targets.collect())
    }
}

impl BilmLikelihood {
    /// `exp` of the mean over both directions, as the released training code reports it.
    pub fn perplexity(&self) -> f64 {
        ((self.forward + self.backward) / (2 * self.n) as f64).exp()
    }

    /// Adds the likelihoods and counts of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            forward: self.forward + other.forward,
            backward: self.backward + other.backward,
            n: self.n + other.n,
        }
    }
}

fn integers(values: Vec<i64>, device: &Device) -> Tensor<1, Int> {
    let n = values.len();
    Tensor::from_data(TensorData::new(values, [n]), device)
}
