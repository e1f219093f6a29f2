//! Gold targets of the examples of a part.

use anyhow::{Result, ensure};
use totune_adapt::{Found, Objective};
use totune_data::{Dataset, Target, Task};

use super::splits::Subset;

/// Gold targets of the examples of a part, in their order.
#[derive(Debug)]
pub(super) enum GoldTargets {
    /// The index of each label.
    Classes(Vec<usize>),
    /// The indices of the labels of each example.
    Labels(Vec<Vec<usize>>),
    Scores(Vec<f64>),
    /// The indices of the tags of each sentence.
    Tags(Vec<Vec<usize>>),
}

impl GoldTargets {
    /// # Errors
    /// When the target of an example is not known.
    pub fn of(part: &Subset) -> Result<Self> {
        let (dataset, split, chosen) = (part.dataset, part.split, &part.indices);
        let targets = || chosen.iter().map(|&index| &dataset.examples[index].target);
        let (what, answers) = match dataset.task {
            Task::Classification | Task::Ordinal => {
                let classes = targets().filter_map(Target::class);
                ("label", Self::Classes(classes.collect()))
            }
            Task::MultiLabel => {
                let labels = targets().filter_map(|target| Some(target.labels()?.to_vec()));
                ("list of labels", Self::Labels(labels.collect()))
            }
            Task::Regression => {
                let scores = targets().filter_map(Target::value);
                ("score", Self::Scores(scores.collect()))
            }
            Task::Tagging => {
                let tags = targets().filter_map(|target| Some(target.tags()?.to_vec()));
                ("list of tags", Self::Tags(tags.collect()))
            }
        };
        let known = answers.len();
        ensure!(
            known == chosen.len(),
            "{known} of {} examples of the {split} split have a {what}; expected all",
            chosen.len()
        );
        Ok(answers)
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.len(),
            Self::Labels(labels) => labels.len(),
            Self::Scores(scores) => scores.len(),
            Self::Tags(tags) => tags.len(),
        }
    }

    /// Every metric of predictions that needs no probabilities, by the names of result rows.
    pub fn metrics(&self, dataset: &Dataset, predicted: &[Target]) -> Vec<(String, f64)> {
        let gold: Vec<Target> = match self {
            Self::Classes(classes) => classes.iter().copied().map(Target::Class).collect(),
            Self::Labels(labels) => labels.iter().cloned().map(Target::Labels).collect(),
            Self::Scores(scores) => scores.iter().copied().map(Target::Value).collect(),
            Self::Tags(tags) => tags.iter().cloned().map(Target::Tags).collect(),
        };
        let found = Found {
            predicted,
            scores: &[],
        };
        let gold: Vec<&Target> = gold.iter().collect();
        Objective::of(dataset).metrics(&gold, found, &dataset.metrics)
    }

    /// Refuses labels that are all the same, since no regression can be fitted to them.
    pub fn check_different(&self) -> Result<()> {
        if let Self::Classes(classes) = self {
            ensure!(
                classes.iter().any(|class| *class != classes[0]),
                "the training part has one label alone; expected two or more to tell apart"
            );
        }
        Ok(())
    }
}
