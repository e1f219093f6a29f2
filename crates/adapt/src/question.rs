//! What is asked of a model: one of several labels, or a number.

use anyhow::{Result, ensure};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use totune_data::Target;
use totune_model::fused::cross_entropy;

/// What is asked of a model about each example.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// Which label; learned by cross-entropy.
    Class {
        /// Labels in the dataset's order; scores and predictions refer to them by index.
        labels: Vec<String>,
        /// The label that precision, recall and F1 are about, if the task has one.
        positive: Option<usize>,
    },
    /// Which number; learned by the mean squared error of the bare score.
    Score {},
}

impl Question {
    /// Outputs of a head that answers it.
    pub fn n_outputs(&self) -> usize {
        match self {
            Self::Class { labels, .. } => labels.len(),
            Self::Score {} => 1,
        }
    }

    /// Refuses targets that are no answers to it.
    pub(crate) fn check(&self, split: &str, ids: &[String], targets: &[Target]) -> Result<()> {
        for (id, target) in ids.iter().zip(targets) {
            match (self, target) {
                (Self::Class { labels, .. }, Target::Class(class)) => ensure!(
                    *class < labels.len(),
                    "example `{id}` of the {split} split has the label {class}, expected less than {}, the number of labels",
                    labels.len()
                ),
                (Self::Score {}, Target::Value(value)) => ensure!(
                    value.is_finite(),
                    "example `{id}` of the {split} split has the score {value}, expected a finite number"
                ),
                (Self::Class { .. }, _) => {
                    anyhow::bail!("example `{id}` of the {split} split has no label, expected one")
                }
                (Self::Score {}, _) => {
                    anyhow::bail!("example `{id}` of the {split} split has no score, expected one")
                }
            }
        }
        Ok(())
    }

    /// The mean loss of `outputs` `[batch, n_outputs]` against the targets at `indices`; `[1]`.
    pub(crate) fn loss(
        &self,
        outputs: Tensor<2>,
        targets: &[Target],
        indices: &[usize],
        device: &Device,
    ) -> Tensor<1> {
        let n = indices.len();
        match self {
            Self::Class { .. } => {
                let classes: Vec<i64> =
                    indices.iter().map(|&i| class(&targets[i]) as i64).collect();
                let classes = Tensor::<1, Int>::from_data(TensorData::new(classes, [n]), device);
                cross_entropy(outputs, classes)
            }
            Self::Score {} => {
                let values: Vec<f32> = indices.iter().map(|&i| value(&targets[i]) as f32).collect();
                let values = Tensor::<2>::from_data(TensorData::new(values, [n, 1]), device);
                (outputs - values).square().mean()
            }
        }
    }

    /// What is kept of `outputs` `[batch, n_outputs]`: log-probabilities of the labels, or the scores as they are.
    pub(crate) fn report(&self, outputs: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Class { .. } => log_softmax(outputs, 1),
            Self::Score {} => outputs,
        }
    }

    /// The loss, the answer and the scores to store of one example, from its row of [`Question::report`]. There is no
    /// loss where nobody knows what is right.
    pub(crate) fn answer(&self, row: &[f32], target: &Target) -> (f64, Target, Vec<f32>) {
        let known = *target != Target::Unknown;
        match self {
            Self::Class { .. } => {
                let loss = if known {
                    -f64::from(row[class(target)])
                } else {
                    0.0
                };
                let probabilities = row.iter().map(|log_p| log_p.exp()).collect();
                (loss, Target::Class(largest(row)), probabilities)
            }
            Self::Score {} => {
                let found = f64::from(row[0]);
                let loss = if known {
                    (found - value(target)).powi(2)
                } else {
                    0.0
                };
                (loss, Target::Value(found), row.to_vec())
            }
        }
    }

    /// Every metric of the answers, by the names of result rows; some are there only if `asked` for.
    pub(crate) fn scores(
        &self,
        gold: &[Target],
        predicted: &[Target],
        asked: &[String],
    ) -> Vec<(&'static str, f64)> {
        match self {
            Self::Class { labels, positive } => totune_stats::classification_scores_with(
                &gold.iter().map(class).collect::<Vec<_>>(),
                &predicted.iter().map(class).collect::<Vec<_>>(),
                labels.len(),
                *positive,
                asked.iter().map(String::as_str),
            ),
            Self::Score {} => totune_stats::regression_scores(
                &gold.iter().map(value).collect::<Vec<_>>(),
                &predicted.iter().map(value).collect::<Vec<_>>(),
            ),
        }
    }
}

/// The label of a target that [`Question::check`] has seen.
fn class(target: &Target) -> usize {
    target.class().expect("checked to be a label")
}

/// The score of a target that [`Question::check`] has seen.
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
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_scores_is_predicted() {
        assert_eq!(largest(&[0.1, 0.7, 0.2]), 1);
        assert_eq!(largest(&[0.5, 0.5]), 0);
    }

    #[test]
    fn a_score_is_learned_by_its_squared_error() {
        let device = Device::flex();
        let outputs = Tensor::<2>::from_data([[1.0], [4.0], [9.0]], &device);
        let targets = [Target::Value(2.0), Target::Value(0.0), Target::Value(2.0)];
        let question = Question::Score {};
        let loss = question.loss(outputs.clone().narrow(0, 0, 2), &targets, &[2, 0], &device);
        assert_eq!(loss.into_scalar::<f32>(), 2.5); // ((1 - 2)² + (4 - 2)²) / 2
        let (loss, answer, scores) = question.answer(&[9.0], &targets[1]);
        assert_eq!(
            (loss, answer, scores),
            (81.0, Target::Value(9.0), vec![9.0])
        );
    }

    #[test]
    fn a_target_of_another_kind_names_the_example() {
        let classes = Question::Class {
            labels: vec!["no".into(), "yes".into()],
            positive: None,
        };
        let ids = ["a".to_string()];
        for (question, target, expected) in [
            (
                &classes,
                Target::Value(1.0),
                "example `a` of the dev split has no label, expected one",
            ),
            (
                &classes,
                Target::Unknown,
                "example `a` of the dev split has no label, expected one",
            ),
            (
                &classes,
                Target::Class(2),
                "example `a` of the dev split has the label 2, expected less than 2, the number of labels",
            ),
            (
                &Question::Score {},
                Target::Class(0),
                "example `a` of the dev split has no score, expected one",
            ),
            (
                &Question::Score {},
                Target::Value(f64::NAN),
                "example `a` of the dev split has the score NaN, expected a finite number",
            ),
        ] {
            let error = question.check("dev", &ids, &[target]).expect_err(expected);
            assert_eq!(error.to_string(), expected);
        }
    }
}
