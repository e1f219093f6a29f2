//! The objective of a task: one of several labels, a number, or a tag for each word.

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use totune_data::{Dataset, Target, Task};
use totune_model::fused::cross_entropy;
use totune_model::{Constraints, Output, Tags};
use totune_stats::SpanEvaluation;

use crate::examples::Examples;

mod tags;
mod weighting;

pub(crate) use weighting::Weighting;

use tags::{names, padded, sentences, tagged, tags, tags_of};

/// Prediction target of a model, with its loss and its metrics.
#[derive(Debug, Clone, PartialEq)]
pub enum Objective {
    /// Label; learned by cross-entropy.
    Class {
        /// Labels in the dataset's order; scores and predictions refer to them by index.
        labels: Vec<String>,
        /// The label that precision, recall and F1 are about, if the task has one.
        positive: Option<usize>,
    },
    /// Number; learned by the mean squared error of the bare score.
    Score {},
    /// Tag for each word; learned by cross-entropy, the mean over words, or if the head has a CRF by the negative
    /// log-likelihood of paths, the mean over sentences (AllenNLP sums over the batch).
    Tags {
        /// Tags in the scheme BIO: `O`, `B-PER`, `I-PER`, …
        labels: Vec<String>,
    },
}

/// Prediction of a model for one example.
#[derive(Debug, Clone)]
pub(crate) struct Predicted {
    /// Loss; 0 if the target is unknown.
    pub loss: f64,
    pub predicted: Target,
    /// Probability of each label, or only the score; empty for tags of words.
    pub scores: Vec<f32>,
}

impl Objective {
    /// Objective of a dataset: its tags, its labels, or a score if it has neither.
    pub fn of(dataset: &Dataset) -> Self {
        let labels = dataset.labels.clone();
        match dataset.task() {
            Task::Tagging => Self::Tags { labels },
            Task::Regression => Self::Score {},
            Task::Classification => Self::Class {
                labels,
                positive: dataset.positive,
            },
        }
    }

    /// Number of outputs of a head for it.
    pub fn n_outputs(&self) -> usize {
        match self {
            Self::Class { labels, .. } | Self::Tags { labels } => labels.len(),
            Self::Score {} => 1,
        }
    }

    /// Returns true if it predicts tags of words.
    pub fn is_about_words(&self) -> bool {
        matches!(self, Self::Tags { .. })
    }

    /// Refuses examples whose targets are of another kind.
    pub(crate) fn check(&self, split: &str, examples: &Examples) -> Result<()> {
        ensure!(
            !self.is_about_words() || examples.rows.iter().all(|row| row.words.is_some()),
            "the {split} split has examples without the places of their words, expected these for all"
        );
        for row in &examples.rows {
            let id = &row.id;
            match (self, &row.target) {
                (Self::Class { labels, .. }, Target::Class(class)) => ensure!(
                    *class < labels.len(),
                    "example `{id}` of the {split} split has the label {class}, expected less than {}, the number of labels",
                    labels.len()
                ),
                (Self::Score {}, Target::Value(value)) => ensure!(
                    value.is_finite(),
                    "example `{id}` of the {split} split has the score {value}, expected a finite number"
                ),
                (Self::Tags { labels }, Target::Tags(tags)) => {
                    let words = row.words.as_ref().map_or(0, |words| words.starts.len());
                    ensure!(
                        tags.len() == words && tags.iter().all(|&tag| tag < labels.len()),
                        "example `{id}` of the {split} split has {words} words and the tags {tags:?}, expected one below {} for each",
                        labels.len()
                    );
                }
                (Self::Class { .. }, _) => {
                    bail!("example `{id}` of the {split} split has no label, expected one")
                }
                (Self::Score {}, _) => {
                    bail!("example `{id}` of the {split} split has no score, expected one")
                }
                (Self::Tags { .. }, _) => {
                    bail!("example `{id}` of the {split} split has no tags, expected one per word")
                }
            }
        }
        Ok(())
    }

    /// Mean loss of a model's output against the targets of the batch, of a classification with `weighting`; `[1]`.
    pub(crate) fn loss(
        &self,
        output: Output,
        targets: &[&Target],
        weighting: Option<&Weighting>,
        device: &Device,
    ) -> Tensor<1> {
        let n = targets.len();
        let of = |classes: Vec<i64>| {
            let n = classes.len();
            Tensor::<1, Int>::from_data(TensorData::new(classes, [n]), device)
        };
        match self {
            Self::Class { .. } => {
                let classes = targets.iter().map(|target| class(target) as i64);
                let classes = of(classes.collect());
                match weighting {
                    Some(weighting) => weighting.cross_entropy(output.labels(), classes),
                    None => cross_entropy(output.labels(), classes),
                }
            }
            Self::Score {} => {
                let values: Vec<f32> = targets.iter().map(|target| value(target) as f32).collect();
                let values = Tensor::<2>::from_data(TensorData::new(values, [n, 1]), device);
                (output.labels() - values).square().mean()
            }
            Self::Tags { .. } => {
                let Tags {
                    emissions,
                    mask,
                    crf,
                } = tags(output);
                let [batch, words, n_tags] = emissions.dims();
                let rows = targets.iter().map(|target| tags_of(target));
                if let Some(crf) = crf {
                    let gold = padded(rows, [batch, words], device);
                    return -crf.log_likelihood(emissions, gold, mask).mean();
                }
                let classes = rows.clone().flatten().map(|&tag| tag as i64);
                let places = rows.enumerate().flat_map(|(row, tags)| {
                    (0..tags.len()).map(move |word| (row * words + word) as i64)
                });
                let (classes, places) = (of(classes.collect()), of(places.collect()));
                let flat: Tensor<2> = emissions.reshape([batch * words, n_tags]);
                cross_entropy(flat.select(0, places), classes)
            }
        }
    }

    /// Predictions from a model's output for a batch with these targets.
    pub(crate) fn predictions(
        &self,
        output: Output,
        targets: &[&Target],
    ) -> Result<Vec<Predicted>> {
        let n = targets.len();
        let targets = targets.iter().copied();
        match self {
            Self::Class { .. } | Self::Score {} => {
                let rows = self.report(output.labels()).into_data();
                let rows: Vec<f32> = rows.try_to_vec().ok().context(NO_FLOATS)?;
                let rows = rows.chunks(self.n_outputs());
                Ok(rows
                    .zip(targets)
                    .map(|(row, target)| self.prediction(row, target))
                    .collect())
            }
            Self::Tags { labels } => {
                let Tags {
                    emissions,
                    mask,
                    crf,
                } = tags(output);
                let [_, words, n_tags] = emissions.dims();
                if let Some(crf) = crf {
                    let allowed = Constraints::of_tags(labels)?;
                    let rows = targets
                        .clone()
                        .map(|target| target.tags().unwrap_or_default());
                    let shape = [n, words];
                    let gold = padded(rows, shape, &emissions.device());
                    let paths = crf.decode(emissions.clone(), mask.clone(), &allowed);
                    let of_gold = crf.log_likelihood(emissions, gold, mask).into_data();
                    let of_gold: Vec<f32> = of_gold.try_to_vec().ok().context(NO_FLOATS)?;
                    let answer =
                        |((path, log_p), target): ((Vec<usize>, f32), &Target)| Predicted {
                            loss: if *target == Target::Unknown {
                                0.0
                            } else {
                                -f64::from(log_p)
                            },
                            predicted: Target::Tags(path),
                            scores: Vec::new(),
                        };
                    let answers = paths.into_iter().zip(of_gold).zip(targets);
                    return Ok(answers.map(answer).collect());
                }
                let scores = log_softmax(emissions, 2).into_data();
                let scores: Vec<f32> = scores.try_to_vec().ok().context(NO_FLOATS)?;
                let rows = scores.chunks((words * n_tags).max(1));
                let answer = |(row, target): (&[f32], &Target)| tagged(row, labels.len(), target);
                Ok(rows.zip(targets).map(answer).collect())
            }
        }
    }

    /// Recorded form of `outputs` `[batch, n_outputs]`: log-probabilities of the labels, or the scores as they are.
    fn report(&self, outputs: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Score {} => outputs,
            _ => log_softmax(outputs, 1),
        }
    }

    /// The prediction of one example from its row of [`Objective::report`].
    fn prediction(&self, row: &[f32], target: &Target) -> Predicted {
        let known = *target != Target::Unknown;
        let loss = |loss: &dyn Fn() -> f64| if known { loss() } else { 0.0 };
        match self {
            Self::Score {} => {
                let found = f64::from(row[0]);
                Predicted {
                    loss: loss(&|| (found - value(target)).powi(2)),
                    predicted: Target::Value(found),
                    scores: row.to_vec(),
                }
            }
            _ => Predicted {
                loss: loss(&|| -f64::from(row[class(target)])),
                predicted: Target::Class(largest(row)),
                scores: row.iter().map(|log_p| log_p.exp()).collect(),
            },
        }
    }

    /// Computes every metric of the predictions, by the names of result rows; some only if they are in `asked`.
    pub(crate) fn scores(
        &self,
        examples: &Examples,
        predicted: &[Target],
        asked: &[String],
    ) -> Vec<(String, f64)> {
        let gold = || examples.rows.iter().map(|row| &row.target);
        match self {
            Self::Tags { labels } => totune_stats::tagging_scores(
                &sentences(&examples.rows, gold(), labels),
                &sentences(&examples.rows, predicted.iter(), labels),
                SpanEvaluation::Conlleval,
            ),
            Self::Class { .. } | Self::Score {} => {
                self.metrics(&gold().collect::<Vec<_>>(), predicted, asked)
            }
        }
    }

    /// Computes every metric of `predicted` against `gold`, one target for each example, by the names of result rows;
    /// some only if they are in `asked`. Of tags, a target is that of a whole sentence.
    ///
    /// # Panics
    /// When a target is of another kind, or the two differ in number.
    pub fn metrics(
        &self,
        gold: &[&Target],
        predicted: &[Target],
        asked: &[String],
    ) -> Vec<(String, f64)> {
        let gold = gold.iter().copied();
        let owned = |scores: Vec<(&str, f64)>| {
            let scores = scores.into_iter();
            scores
                .map(|(name, value)| (name.to_string(), value))
                .collect()
        };
        match self {
            Self::Class { labels, positive } => owned(totune_stats::classification_scores_with(
                &gold.map(class).collect::<Vec<_>>(),
                &predicted.iter().map(class).collect::<Vec<_>>(),
                labels.len(),
                *positive,
                asked.iter().map(String::as_str),
            )),
            Self::Score {} => owned(totune_stats::regression_scores(
                &gold.map(value).collect::<Vec<_>>(),
                &predicted.iter().map(value).collect::<Vec<_>>(),
            )),
            Self::Tags { labels } => {
                let gold: Vec<_> = gold.map(|target| names(target, labels)).collect();
                let predicted = predicted.iter().map(|target| names(target, labels));
                let predicted: Vec<_> = predicted.collect();
                totune_stats::tagging_scores(&gold, &predicted, SpanEvaluation::Conlleval)
            }
        }
    }
}

const NO_FLOATS: &str = "the scores of a batch are not 32-bit floats";

/// The label of a target that [`Objective::check`] has seen.
fn class(target: &Target) -> usize {
    target.class().expect("checked to be a label")
}

/// The score of a target that [`Objective::check`] has seen.
fn value(target: &Target) -> f64 {
    match target {
        Target::Value(value) => *value,
        other => unreachable!("checked to be a score, found {other:?}"),
    }
}

/// Index of the first largest value.
fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}

#[cfg(test)]
mod tests;
