//! What the data gives without training an encoder: the ground that a strategy has to rise above.

use anyhow::Result;
use totune_adapt::Switch;
use totune_data::{Pairs, Task};
use totune_sweep::{Floor, FloorWork, ProbeInput, Regression, RunSpec, Work};

use crate::answers::Answers;
use crate::desk::Desk;

/// A floor and what it answered.
#[derive(Debug)]
pub(crate) struct Ground {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// What one does, as the end of "the best was to …".
    pub title: &'static str,
    /// Its name as the subject of a sentence.
    pub noun: &'static str,
    /// Seconds of fitting.
    pub seconds: f64,
    /// Examples it learned from, at most.
    pub examples: usize,
    pub on_dev: Option<Answers>,
    pub on_test: Option<Answers>,
}

/// The floors of a task, the cheapest first: the name of each, its title and its noun.
fn floors(desk: &Desk) -> Vec<([&'static str; 3], Floor)> {
    let regression = || Regression {
        c: vec![0.01, 0.1, 1.0, 10.0, 100.0],
        alpha: vec![0.1, 1.0, 10.0, 100.0, 1000.0],
        folds: 5,
        max_iter: 1000,
        tol: 1e-4,
    };
    let mut floors = vec![
        (
            [
                "majority",
                "predict the majority class",
                "the majority class",
            ],
            Floor::Majority {},
        ),
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
    if desk.facts.task != Task::Tagging {
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

/// All floors on some data, each with at most `examples` to learn from.
pub(crate) fn all(desk: &Desk, data: &str, examples: Option<usize>) -> Result<Vec<Ground>> {
    let n = desk
        .part(data, "train")
        .map_or(0, |part| part.examples.len());
    let mut found = Vec::new();
    for ([name, title, noun], floor) in floors(desk) {
        let with_encoder = floor.needs_encoder();
        let work = FloorWork {
            encoder: with_encoder.then(|| desk.encoder.name.clone()),
            max_length: with_encoder.then_some(desk.max_length()),
            evaluation_batch_size: with_encoder.then_some(64),
            floor,
        };
        let split = desk.split(data, examples);
        let spec = RunSpec::unlisted(name, (data, split), 1, Work::Floor(Box::new(work)));
        let Some(tables) = desk.inputs.perform(&spec, desk.machine)? else {
            break; // stopped from outside
        };
        let on = |split: &str| match desk.part(data, split) {
            Some(part) => Answers::of_rows(part, split, &tables.predictions),
            None => Ok(None),
        };
        found.push(Ground {
            name,
            title,
            noun,
            seconds: tables.runs[0].train_seconds,
            examples: examples.unwrap_or(n),
            on_dev: on("dev")?,
            on_test: on("test")?,
        });
    }
    Ok(found)
}
