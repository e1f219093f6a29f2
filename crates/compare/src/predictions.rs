//! The predictions of a model for the examples of a split.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use totune_adapt::Prediction;
use totune_data::{Dataset, Target, label_sets};
use totune_record::PredictionRow;

/// Predictions for the examples of a split, in its order, with the gold targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// The gold targets.
    pub gold: Vec<Target>,
    /// The predicted ones.
    pub predicted: Vec<Target>,
    /// For one label each, the probability of the predicted one; empty if unknown.
    pub probabilities: Vec<f32>,
    /// For several labels each, the probability of every label; empty if unknown.
    pub of_labels: Vec<Vec<f32>>,
}

impl Predictions {
    /// The predictions of a floor for `split`, which is `dataset`; `None` if it has none for it.
    ///
    /// # Errors
    /// When a predicted label is none of the dataset's.
    pub fn of_rows(dataset: &Dataset, split: &str, rows: &[PredictionRow]) -> Result<Option<Self>> {
        let mut of_example: BTreeMap<&str, Vec<&PredictionRow>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.split == split) {
            of_example.entry(&row.example_id).or_default().push(row);
        }
        let label = |name: &str| -> Result<usize> {
            let index = dataset.labels.iter().position(|label| label == name);
            index.with_context(|| format!("found the prediction `{name}`, expected a label"))
        };
        let mut predicted = Vec::with_capacity(dataset.examples.len());
        let mut of_labels = Vec::new();
        for example in &dataset.examples {
            let Some(found) = of_example.get(example.id.as_str()) else {
                return Ok(None);
            };
            predicted.push(match &example.target {
                Target::Class(_) => Target::Class(label(&found[0].predicted)?),
                Target::Labels(_) => {
                    let names = label_sets::names(&found[0].predicted, Some(label_sets::SEPARATOR));
                    let names = names.map_err(anyhow::Error::msg)?;
                    of_labels.push(found[0].scores.clone());
                    Target::Labels(
                        names
                            .iter()
                            .map(|name| label(name))
                            .collect::<Result<_>>()?,
                    )
                }
                Target::Value(_) => Target::Value(found[0].predicted.parse()?),
                Target::Tags(_) => {
                    let tags = found.iter().map(|row| label(&row.predicted));
                    Target::Tags(tags.collect::<Result<_>>()?)
                }
                Target::Unknown => Target::Unknown,
            });
        }
        Ok(Some(Self {
            gold: gold(dataset),
            predicted,
            probabilities: Vec::new(),
            of_labels,
        }))
    }

    /// The predictions of a trained model for `split`, which is `dataset`. The parts of a long sentence are joined.
    ///
    /// # Errors
    /// When an example has no prediction.
    pub fn of(dataset: &Dataset, split: &str, found: &[Prediction]) -> Result<Self> {
        let mut predicted: Vec<Target> = Vec::with_capacity(dataset.examples.len());
        let (mut probabilities, mut of_labels) = (Vec::new(), Vec::new());
        let mut found = found.iter().filter(|one| one.split == split).peekable();
        for example in &dataset.examples {
            let Some(first) = found.next_if(|one| one.example_id == example.id) else {
                bail!("example `{}` of {split} has no prediction", example.id);
            };
            let mut whole = first.predicted.clone();
            if let (Target::Tags(tags), Target::Tags(gold)) = (&mut whole, &example.target) {
                while tags.len() < gold.len()
                    && let Some(next) = found.next_if(|one| one.example_id == example.id)
                    && let Target::Tags(more) = &next.predicted
                {
                    tags.extend(more);
                }
            }
            if let Target::Class(class) = whole {
                probabilities.extend(first.scores.get(class));
            }
            if let Target::Labels(_) = whole {
                of_labels.push(first.scores.clone());
            }
            predicted.push(whole);
        }
        Ok(Self {
            gold: gold(dataset),
            predicted,
            probabilities,
            of_labels,
        })
    }

    /// The predictions for the examples at these indices.
    pub(crate) fn part(&self, indices: &[usize]) -> Self {
        fn some<T: Clone>(all: &[T], indices: &[usize]) -> Vec<T> {
            if all.is_empty() {
                return Vec::new();
            }
            indices.iter().map(|&at| all[at].clone()).collect()
        }
        Self {
            gold: some(&self.gold, indices),
            predicted: some(&self.predicted, indices),
            probabilities: some(&self.probabilities, indices),
            of_labels: some(&self.of_labels, indices),
        }
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.gold.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.gold.is_empty()
    }
}

fn gold(dataset: &Dataset) -> Vec<Target> {
    let examples = dataset.examples.iter();
    examples.map(|example| example.target.clone()).collect()
}
