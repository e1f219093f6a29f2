//! Floors: scores that the data gives without training an encoder.

use anyhow::{Context, Result};
use totune_adapt::{Regression, Switch};
use totune_data::{Pairs, Task};
use totune_model::SentenceVector;
use totune_sweep::{Floor, FloorWork, ProbeInput, RunSpec, Work};

use crate::predictions::Predictions;
use crate::runner::{EncoderOfData, Runner};

/// The name of the floor that predicts the most frequent label, or the mean.
pub(crate) const MAJORITY: &str = "majority";

/// A floor and its predictions.
#[derive(Debug)]
pub(crate) struct FloorResult {
    /// Its name in results.
    pub name: String,
    /// Its description as a method, as the end of "the best was to …".
    pub title: String,
    /// Its name as the subject of a sentence.
    pub noun: String,
    /// The name of its encoder, if it has one.
    pub encoder: Option<String>,
    /// Seconds of fitting.
    pub seconds: f64,
    /// Training examples, at most.
    pub examples: usize,
    pub on_dev: Option<Predictions>,
    pub on_test: Option<Predictions>,
}

/// A floor to fit: its name, its title and its noun, and its encoder's place in the runner, if it has one.
type ToFit = ([String; 3], Option<usize>, Floor);

/// The floors of some data, the cheapest first.
fn floors(runner: &Runner, data: &str) -> Vec<ToFit> {
    let regression = || Regression {
        c: vec![0.01, 0.1, 1.0, 10.0, 100.0],
        alpha: vec![0.1, 1.0, 10.0, 100.0, 1000.0],
        folds: 5,
        max_iter: 1000,
        tol: 1e-4,
    };
    let task = runner.encoders[0].facts.task;
    let (title, noun) = match task {
        Task::Classification => ("predict the majority class", "the majority class"),
        Task::MultiLabel => (
            "predict the labels of most examples",
            "the labels of most examples",
        ),
        Task::Ordinal => ("predict the most frequent label", "the most frequent label"),
        Task::Regression => ("predict the mean", "the mean"),
        Task::Tagging => ("predict the most frequent tag", "the most frequent tag"),
    };
    let train = runner.split(data, "train");
    let has_similarities =
        task == Task::Regression && train.is_some_and(|train| train.is_of_pairs());
    let mut floors = Vec::new();
    let mut add = |names: [&str; 3], encoder: Option<usize>, floor: Floor| {
        let on = encoder.map_or(String::new(), |encoder| runner.on_encoder(encoder));
        floors.push((names.map(|name| format!("{name}{on}")), encoder, floor));
    };
    add([MAJORITY, title, noun], None, Floor::Majority {});
    add(
        [
            "words",
            "fit a regression on word counts",
            "a regression on word counts",
        ],
        None,
        Floor::WordCounts {
            regression: regression(),
        },
    );
    for (encoder, of_data) in runner.encoders.iter().enumerate() {
        let pooling = match of_data.card.sentence_vector {
            Some(SentenceVector::First) => ProbeInput::First,
            Some(SentenceVector::Mean) | None => ProbeInput::Mean,
        };
        if has_similarities {
            // An encoder of sentences was trained for it.
            add(
                [
                    "cosine",
                    "take the cosine of both frozen vectors",
                    "the cosine of both frozen vectors",
                ],
                Some(encoder),
                Floor::Cosine {
                    pooling,
                    layer: None,
                    scaled: Switch::On,
                },
            );
        }
        if task != Task::Tagging {
            add(
                [
                    "vectors",
                    "fit a regression on frozen vectors",
                    "a regression on frozen vectors",
                ],
                Some(encoder),
                Floor::Vectors {
                    pooling,
                    layer: None,
                    pairs: Pairs::Separate,
                    standardise: Switch::On,
                    regression: regression(),
                },
            );
        }
    }
    floors
}

/// Training examples that a floor without an encoder may always have: a regression on the words of so many takes seconds.
const CHEAP: usize = 20_000;

/// All floors on some data: those on vectors of an encoder are fitted to at most `limit` training examples, the others to
/// as many or [`CHEAP`]. A note says which were fitted to fewer than there are.
pub(crate) fn all(
    runner: &Runner,
    data: &str,
    limit: Option<usize>,
    notes: &mut Vec<String>,
) -> Result<Vec<FloorResult>> {
    let n = runner
        .split(data, "train")
        .map_or(0, |train| train.examples.len());
    let mut results = Vec::new();
    for floor in floors(runner, data) {
        if runner.is_stopped() {
            break;
        }
        let ([_, title, _], encoder, _) = &floor;
        let limit = limit.map(|most| {
            if encoder.is_some() {
                most
            } else {
                most.max(CHEAP)
            }
        });
        let limit = limit.filter(|most| *most < n);
        if let Some(most) = limit {
            notes.push(format!(
                "{title}: fitted to {most} of {n} training examples, for time"
            ));
        }
        match fit(runner, (data, limit), floor)? {
            Some(result) => results.push(result),
            None => break, // stopped from outside
        }
    }
    Ok(results)
}

/// The floor of a name on all of some data; `None` if it was stopped from outside.
///
/// # Errors
/// When the task has no such floor.
pub(crate) fn named(runner: &Runner, data: &str, name: &str) -> Result<Option<FloorResult>> {
    let mut floors = floors(runner, data).into_iter();
    let floor = floors.find(|([known, ..], ..)| known == name);
    let floor = floor.with_context(|| format!("{data}: found no floor `{name}`"))?;
    fit(runner, (data, None), floor)
}

fn fit(
    runner: &Runner,
    (data, limit): (&str, Option<usize>),
    ([name, title, noun], encoder, floor): ToFit,
) -> Result<Option<FloorResult>> {
    let encoder = encoder.map(|at| &runner.encoders[at]);
    let encoder_name = encoder.map(|encoder| encoder.card.name.clone());
    let work = FloorWork {
        encoder: encoder_name.clone(),
        max_length: encoder.map(EncoderOfData::max_length),
        evaluation_batch_size: encoder.map(|_| 64),
        floor,
    };
    let split = runner.split_spec(data, limit);
    let spec = RunSpec::unlisted(&name, (data, split), 1, Work::Floor(Box::new(work)));
    let Some(tables) = runner.inputs.perform(&spec, runner.machine)? else {
        return Ok(None);
    };
    let on = |split: &str| match runner.split(data, split) {
        Some(part) => Predictions::of_rows(part, split, &tables.predictions),
        None => Ok(None),
    };
    Ok(Some(FloorResult {
        name,
        title,
        noun,
        encoder: encoder_name,
        seconds: tables.runs[0].train_seconds,
        examples: limit.unwrap_or(runner.n(data, "train")),
        on_dev: on("dev")?,
        on_test: on("test")?,
    }))
}
