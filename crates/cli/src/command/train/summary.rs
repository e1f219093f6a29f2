//! Result of a training, as text for people and as JSON for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use totune_adapt::{Outcome, Score};
use totune_keep::{Saved, SavedAs};
use totune_model::AnyEncoder;
use totune_sweep::RunSpec;

/// Result of a training as `--json` prints it.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
    dataset: &'a str,
    encoder: &'a str,
    /// The strategy, or the arm of a run of an experiment.
    strategy: &'a str,
    seed: u64,
    examples: Examples,
    /// Scores of the selected epoch by split and metric.
    scores: BTreeMap<&'a str, BTreeMap<&'a str, f64>>,
    /// False where one answer for every example of dev would have been as good.
    learned: bool,
    /// Attempts before this one that learned nothing.
    restarts: usize,
    /// The saved model, if one was asked for.
    model: Option<Model<'a>>,
}

#[derive(Serialize)]
struct Examples {
    train: usize,
    dev: usize,
    test: usize,
}

/// A saved model.
#[derive(Serialize)]
struct Model<'a> {
    folder: String,
    /// Examples on which the model that was read back computes the same.
    compared: usize,
    /// The largest difference on them.
    difference: f32,
    /// Class of transformers that loads it, if one does.
    transformers: Option<&'a str>,
}

impl<'a> Summary<'a> {
    /// The result of a run of `spec`: its `outcome`, which has `learned` or not, and its model, if that is `saved`.
    pub fn of(
        (outcome, learned): (&'a Outcome<AnyEncoder>, bool),
        (spec, encoder): (&'a RunSpec, &'a str),
        [train, dev, test]: [usize; 3],
        saved: Option<&'a Saved>,
    ) -> Self {
        let mut scores: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        for score in selected(outcome) {
            let of_split = scores.entry(score.split).or_default();
            of_split.insert(&score.metric, score.value);
        }
        Self {
            dataset: &spec.dataset,
            encoder,
            strategy: &spec.arm,
            seed: spec.seed,
            examples: Examples { train, dev, test },
            scores,
            learned,
            restarts: outcome.restarts,
            model: saved.map(|saved| Model {
                folder: saved.dir.display().to_string(),
                compared: saved.compared,
                difference: saved.difference,
                transformers: match &saved.saved_as {
                    SavedAs::Transformers { class } => Some(class),
                    SavedAs::Totune { .. } => None,
                },
            }),
        }
    }
}

/// The scores of the selected epoch on dev and test.
fn selected(outcome: &Outcome<AnyEncoder>) -> impl Iterator<Item = &Score> {
    let scores = outcome.scores.iter();
    scores.filter(|score| score.is_final && score.split != "train")
}

/// Prints the scores of the selected epoch.
pub(super) fn print_scores(outcome: &Outcome<AnyEncoder>, [train, dev, test]: [usize; 3]) {
    println!("train {train}, dev {dev}, test {test} examples");
    for score in selected(outcome) {
        println!("{:<5} {:<20} {:.4}", score.split, score.metric, score.value);
    }
}

/// Prints the folder of a saved model, and the programs that load it.
pub(crate) fn print_saved(saved: &Saved) {
    println!(
        "saved {} (read back: {} examples, largest difference {:.1e})",
        saved.dir.display(),
        saved.compared,
        saved.difference
    );
    match &saved.saved_as {
        SavedAs::Transformers { class } => println!("transformers loads it as {class}"),
        SavedAs::Totune { reason } => {
            println!("only totune loads the whole of it, since {reason}");
        }
    }
}
