//! The objective of a task: one of several labels, several of them, a step of a scale, a number, or a tag for each
//! word.

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Tensor;
use burn::tensor::activation::log_softmax;
use totune_data::{Dataset, Target, Task};
use totune_model::{Constraints, Output, Tags};
use totune_stats::SpanEvaluation;

use crate::examples::Examples;

mod binary;
mod tags;
mod wanted;
mod weighting;

pub(crate) use weighting::Weighting;

use tags::{names, padded, sentences, tagged, tags};

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
    /// Any number of labels; each learned by binary cross-entropy of its own output, the mean over labels, as in
    /// transformers' `problem_type = "multi_label_classification"`.
    Labels {
        /// Labels in the dataset's order.
        labels: Vec<String>,
    },
    /// One of several labels in an order; learned by the binary cross-entropy of conditional steps (CORN).
    Ordinal {
        /// Labels from the lowest to the highest.
        labels: Vec<String>,
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

/// Predictions for several examples, with their probabilities where these are known.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The predictions.
    pub predicted: &'a [Target],
    /// Probability of each label for each example; empty where they are not known.
    pub scores: &'a [Vec<f32>],
}

impl Objective {
    /// Objective of a dataset: its tags, its labels, or a score if it has neither.
    pub fn of(dataset: &Dataset) -> Self {
        let labels = dataset.labels.clone();
        match dataset.task {
            Task::MultiLabel => Self::Labels { labels },
            Task::Ordinal => Self::Ordinal { labels },
            Task::Tagging => Self::Tags { labels },
            Task::Regression => Self::Score {},
            Task::Classification => Self::Class {
                labels,
                positive: dataset.positive,
            },
        }
    }

    /// Kind of the task.
    pub fn task(&self) -> Task {
        match self {
            Self::Class { .. } => Task::Classification,
            Self::Labels { .. } => Task::MultiLabel,
            Self::Ordinal { .. } => Task::Ordinal,
            Self::Score {} => Task::Regression,
            Self::Tags { .. } => Task::Tagging,
        }
    }

    /// Number of outputs of a head for it.
    pub fn n_outputs(&self) -> usize {
        match self {
            Self::Class { labels, .. } | Self::Labels { labels } | Self::Tags { labels } => {
                labels.len()
            }
            // A step between two neighbours.
            Self::Ordinal { labels } => labels.len().saturating_sub(1),
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
                (Self::Class { labels, .. } | Self::Ordinal { labels }, Target::Class(class)) => {
                    ensure!(
                        *class < labels.len(),
                        "example `{id}` of the {split} split has the label {class}, expected less than {}, the number of labels",
                        labels.len()
                    )
                }
                (Self::Labels { labels }, Target::Labels(several)) => ensure!(
                    several.iter().all(|&label| label < labels.len()),
                    "example `{id}` of the {split} split has the labels {several:?}, expected them less than {}, the number of labels",
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
                (Self::Class { .. } | Self::Labels { .. } | Self::Ordinal { .. }, _) => {
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

    /// Predictions from a model's output for a batch with these targets.
    pub(crate) fn predictions(
        &self,
        output: Output,
        targets: &[&Target],
    ) -> Result<Vec<Predicted>> {
        let n = targets.len();
        let targets = targets.iter().copied();
        match self {
            Self::Class { .. } | Self::Labels { .. } | Self::Ordinal { .. } | Self::Score {} => {
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
                let lengths = mask.sum_dim(1).into_data();
                let lengths = lengths.iter::<f32>().map(|n| n as usize);
                let answer =
                    |(row, about): (&[f32], (usize, &Target))| tagged(row, labels.len(), about);
                Ok(rows.zip(lengths.zip(targets)).map(answer).collect())
            }
        }
    }

    /// Form of `outputs` `[batch, n_outputs]` for [`Objective::prediction`]: log-probabilities of the classes, or the
    /// outputs as they are.
    fn report(&self, outputs: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Labels { .. } | Self::Ordinal { .. } | Self::Score {} => outputs,
            Self::Class { .. } | Self::Tags { .. } => log_softmax(outputs, 1),
        }
    }

    /// The prediction of one example from its row of [`Objective::report`].
    fn prediction(&self, row: &[f32], target: &Target) -> Predicted {
        let known = *target != Target::Unknown;
        let loss = |loss: &dyn Fn() -> f64| if known { loss() } else { 0.0 };
        match self {
            Self::Labels { .. } => binary::labels(row, target),
            Self::Ordinal { .. } => binary::step(row, target),
            Self::Score {} => {
                let found = f64::from(row[0]);
                Predicted {
                    loss: loss(&|| (found - value(target)).powi(2)),
                    predicted: Target::Value(found),
                    scores: row.to_vec(),
                }
            }
            Self::Class { .. } | Self::Tags { .. } => Predicted {
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
        found: Found,
        asked: &[String],
    ) -> Vec<(String, f64)> {
        let gold = || examples.rows.iter().map(|row| &row.target);
        match self {
            Self::Tags { labels } => totune_stats::tagging_scores(
                &sentences(&examples.rows, gold(), labels),
                &sentences(&examples.rows, found.predicted.iter(), labels),
                SpanEvaluation::Conlleval,
            ),
            Self::Class { .. } | Self::Labels { .. } | Self::Ordinal { .. } | Self::Score {} => {
                self.metrics(&gold().collect::<Vec<_>>(), found, asked)
            }
        }
    }

    /// Computes every metric of what was `found` against `gold`, one target for each example, by the names of result
    /// rows; some only if they are in `asked`. Of tags, a target is that of a whole sentence.
    ///
    /// # Panics
    /// When a target is of another kind, or the two differ in number.
    pub fn metrics(&self, gold: &[&Target], found: Found, asked: &[String]) -> Vec<(String, f64)> {
        let gold = gold.iter().copied();
        let predicted = found.predicted;
        let asked = asked.iter().map(String::as_str);
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
                asked,
            )),
            Self::Labels { labels } => {
                let rows = found.scores.iter();
                let rows = rows.map(|row| row.iter().map(|&p| f64::from(p)).collect());
                let scores: Vec<Vec<f64>> = rows.collect();
                totune_stats::multi_label_scores(
                    &gold.map(labels_of).collect::<Vec<_>>(),
                    &predicted.iter().map(labels_of).collect::<Vec<_>>(),
                    (!scores.is_empty()).then_some(&scores[..]),
                    labels,
                    asked,
                )
            }
            Self::Ordinal { labels } => owned(totune_stats::ordinal_scores(
                &gold.map(class).collect::<Vec<_>>(),
                &predicted.iter().map(class).collect::<Vec<_>>(),
                labels.len(),
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

/// The labels of a target that [`Objective::check`] has seen.
fn labels_of(target: &Target) -> &[usize] {
    target.labels().expect("checked to be labels")
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
