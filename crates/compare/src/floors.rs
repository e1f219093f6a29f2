//! Floors: scores that the data gives without training an encoder.

use anyhow::Result;
use totune_adapt::Switch;
use totune_data::{Pairs, Task};
use totune_sweep::{Floor, FloorWork, ProbeInput, Regression, RunSpec, Work};

use crate::predictions::Predictions;
use crate::runner::Runner;

/// The name of the most frequent answer, or of the mean.
pub(crate) const MAJORITY: &str = "majority";

/// A floor and its predictions.
#[derive(Debug)]
pub(crate) struct FloorResult {
    /// Its name in results.
    pub name: &'static str,
    /// What one does, as the end of "the best was to …".
    pub title: &'static str,
    /// Its name as the subject of a sentence.
    pub noun: &'static str,
    /// Seconds of fitting.
    pub seconds: f64,
    /// Training examples, at most.
    pub examples: usize,
    pub on_dev: Option<Predictions>,
    pub on_test: Option<Predictions>,
}

/// The floors of a task, the cheapest first: the name of each, its title and its noun.
fn floors(runner: &Runner) -> Vec<([&'static str; 3], Floor)> {
    let regression = || Regression {
        c: vec![0.01, 0.1, 1.0, 10.0, 100.0],
        alpha: vec![0.1, 1.0, 10.0, 100.0, 1000.0],
        folds: 5,
        max_iter: 1000,
        tol: 1e-4,
    };
    let [title, noun] = match runner.facts.task {
        Task::Classification => ["predict the majority class", "the majority class"],
        Task::Regression => ["predict the mean", "the mean"],
        Task::Tagging => ["predict the most frequent tag", "the most frequent tag"],
    };
    let mut floors = vec![
        ([MAJORITY, title, noun], Floor::Majority {}),
        (
            [
                "words",
                "fit a regression on word counts",
                "a regression on word counts",
            ],
            Floor::WordCounts {
                regression: regression(),
            },
        ),
    ];
    if runner.facts.task != Task::Tagging {
        floors.push((
            [
                "vectors",
                "fit a regression on frozen vectors",
                "a regression on frozen vectors",
            ],
            Floor::Vectors {
                pooling: ProbeInput::Mean,
                layer: None,
                pairs: Pairs::Separate,
                standardise: Switch::On,
                regression: regression(),
            },
        ));
    }
    floors
}

/// All floors on some data, each fitted on at most `limit` training examples.
pub(crate) fn all(runner: &Runner, data: &str, limit: Option<usize>) -> Result<Vec<FloorResult>> {
    let mut results = Vec::new();
    for ([name, title, noun], floor) in floors(runner) {
        let with_encoder = floor.needs_encoder();
        let work = FloorWork {
            encoder: with_encoder.then(|| runner.encoder.name.clone()),
            max_length: with_encoder.then_some(runner.max_length()),
            evaluation_batch_size: with_encoder.then_some(64),
            floor,
        };
        let split = runner.split_spec(data, limit);
        let spec = RunSpec::unlisted(name, (data, split), 1, Work::Floor(Box::new(work)));
        let Some(tables) = runner.inputs.perform(&spec, runner.machine)? else {
            break; // stopped from outside
        };
        let on = |split: &str| match runner.split(data, split) {
            Some(part) => Predictions::of_rows(part, split, &tables.predictions),
            None => Ok(None),
        };
        results.push(FloorResult {
            name,
            title,
            noun,
            seconds: tables.runs[0].train_seconds,
            examples: limit.unwrap_or(runner.n(data, "train")),
            on_dev: on("dev")?,
            on_test: on("test")?,
        });
    }
    Ok(results)
}
