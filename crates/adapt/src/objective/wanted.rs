//! The outputs that a batch should have, on the device before the model is asked.

use burn::tensor::{Device, Int, Tensor, TensorData};
use totune_data::Target;
use totune_model::fused::{cross_entropy, upload, upload_ids};
use totune_model::{Output, Tags};

use super::binary::{Terms, Wanted as Binary};
use super::tags::{padded, tags, tags_of};
use super::weighting::{Balance, Weighting};
use super::{Objective, class, labels_of, value};

/// The targets of a batch as tensors, with the loss of an output against them.
///
/// A GPU is waited for when a number is copied to it, so all are copied before the forward pass, while it is idle.
pub(crate) enum Wanted {
    /// A label for each example, `[batch]`.
    Classes(Tensor<1, Int>, Option<Balance>),
    /// Outputs that are positive or not.
    Terms(Terms),
    /// Scores, `[batch, 1]`.
    Scores(Tensor<2>),
    /// Tags of words.
    Tags {
        /// `[batch, words]`, zeros after the shorter sentences.
        gold: Tensor<2, Int>,
        /// Places of the words, counted through the rows of `gold`.
        places: Tensor<1, Int>,
    },
}

impl Objective {
    /// The targets of a batch on `device`, of labels with `weighting`.
    pub(crate) fn wanted(
        &self,
        targets: &[&Target],
        weighting: Option<&Weighting>,
        device: &Device,
    ) -> Wanted {
        let n = targets.len();
        match self {
            Self::Class { .. } => {
                let classes = targets.iter().map(|target| class(target) as i64);
                let classes = integers(classes.collect(), device);
                Wanted::Classes(classes, weighting.map(|weighting| weighting.on(device)))
            }
            Self::Labels { labels } => {
                let targets = targets.iter().map(|target| labels_of(target));
                let weights = weighting.map(Weighting::weights);
                Wanted::Terms(Binary::labels(targets, labels.len(), weights).on(device))
            }
            Self::Ordinal { labels } => {
                let targets = targets.iter().map(|target| class(target));
                Wanted::Terms(Binary::steps(targets, labels.len().saturating_sub(1)).on(device))
            }
            Self::Score {} => {
                let values: Vec<f32> = targets.iter().map(|target| value(target) as f32).collect();
                Wanted::Scores(upload(TensorData::new(values, [n, 1]), device))
            }
            Self::Tags { .. } => {
                let rows = targets.iter().map(|target| tags_of(target));
                let words = rows.clone().map(<[usize]>::len).max().unwrap_or(0);
                let places = rows.clone().enumerate().flat_map(|(row, tags)| {
                    (0..tags.len()).map(move |word| (row * words + word) as i64)
                });
                Wanted::Tags {
                    places: integers(places.collect(), device),
                    gold: padded(rows, [n, words], device),
                }
            }
        }
    }
}

impl Wanted {
    /// Mean loss of a model's output for the batch; `[1]`.
    pub(crate) fn loss(self, output: Output) -> Tensor<1> {
        match self {
            Self::Classes(classes, None) => cross_entropy(output.labels(), classes),
            Self::Classes(classes, Some(balance)) => {
                balance.cross_entropy(output.labels(), classes)
            }
            Self::Terms(terms) => terms.cross_entropy(output.labels()),
            Self::Scores(scores) => (output.labels() - scores).square().mean(),
            Self::Tags { gold, places } => {
                let Tags {
                    emissions,
                    mask,
                    crf,
                } = tags(output);
                if let Some(crf) = crf {
                    return -crf.log_likelihood(emissions, gold, mask).mean();
                }
                let [batch, words, n_tags] = emissions.dims();
                let flat: Tensor<2> = emissions.reshape([batch * words, n_tags]);
                let gold: Tensor<1, Int> = gold.reshape([batch * words]);
                cross_entropy(flat.select(0, places.clone()), gold.select(0, places))
            }
        }
    }
}

fn integers(values: Vec<i64>, device: &Device) -> Tensor<1, Int> {
    let n = values.len();
    upload_ids(TensorData::new(values, [n]), device)
}
