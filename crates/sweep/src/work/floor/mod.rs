//! Floors under the scores of a task: predictions without training an encoder, one file each.
//!
//! A floor is fitted to the training part and gives a [`Predictor`] for dev and test. Everything after that, the scores
//! and rows, is the same for all of them and for a trained run.

use std::cell::Cell;
use std::rc::Rc;

use anyhow::{Context, Result};
use totune_data::{Dataset, Input};
use totune_record::{EvalRow, RunRow};

use super::gold::GoldTargets;
use super::splits::{self, Splits};
use super::{Outcome, Stopwatch};
use crate::spec::Floor;
use crate::{FloorWork, Inputs, RunSpec};

mod cosine;
mod majority;
mod regression;
mod rows;
mod texts;
mod vectors;
mod words;

/// Examples that a floor is fitted to or predicts.
struct FloorSplit<'a> {
    /// Name in rows: `train`, `dev` or `test`.
    name: &'static str,
    /// Its examples, as indices into a split.
    of: &'a splits::Subset<'a>,
    answers: GoldTargets,
}

impl<'a> FloorSplit<'a> {
    fn new(name: &'static str, of: &'a splits::Subset<'a>) -> Result<Self> {
        let answers = GoldTargets::of(of)?;
        Ok(Self { name, of, answers })
    }

    fn dataset(&self) -> &'a Dataset {
        self.of.dataset
    }

    fn inputs(&self) -> impl Iterator<Item = &'a Input> {
        self.of.inputs()
    }
}

/// Predictions of a floor for the examples of a part, in their order.
#[derive(Debug)]
enum Predicted {
    Classes {
        classes: Vec<usize>,
        /// Probabilities of each label: `[examples, labels]`; empty where there are none.
        probabilities: Vec<f64>,
    },
    Labels {
        /// The labels of each example.
        labels: Vec<Vec<usize>>,
        /// Probability of each label: `[examples, labels]`.
        probabilities: Vec<f64>,
    },
    Scores(Vec<f64>),
    /// Numbers that rank like scores but are on another scale.
    Similarities(Vec<f64>),
    Tags {
        /// The tag of each word of each sentence.
        tags: Vec<Vec<usize>>,
        /// Probability of each tag, the same for every word; empty where there are none.
        probabilities: Vec<f64>,
    },
}

impl Predicted {
    /// The labels whose probability is above one half, from those of all: `[examples, labels]`.
    fn of_labels(probabilities: Vec<f64>, n_labels: usize) -> Self {
        let likely = |row: &[f64]| (0..n_labels).filter(|&label| row[label] > 0.5).collect();
        Self::Labels {
            labels: probabilities.chunks(n_labels.max(1)).map(likely).collect(),
            probabilities,
        }
    }
}

/// A fitted floor.
struct Predictor<'a> {
    predict: Predict<'a>,
    /// Number of fitted parameters.
    trained: u64,
    /// Parameters of the encoder, if one is used.
    encoder: u64,
    steps: u64,
    /// Stop reason of the fitting: `computed`, `converged` or `max-iter`.
    stop: &'static str,
    /// Setting that was chosen while fitting, if any.
    chosen: Option<Choice>,
    /// Seconds of computations whose results were cached, since they were last taken.
    saved: Rc<Cell<f64>>,
}

type Predict<'a> = Box<dyn Fn(&FloorSplit) -> Result<Predicted> + 'a>;

/// A setting that was chosen on some examples.
struct Choice {
    /// Part of these examples.
    on: &'static str,
    /// Name in rows: `chosen-c`, `chosen-alpha` or `threshold`.
    name: &'static str,
    value: f64,
}

impl<'a> Predictor<'a> {
    /// A floor that is computed directly and has no encoder.
    fn computed(trained: usize, predict: impl Fn(&FloorSplit) -> Result<Predicted> + 'a) -> Self {
        Self {
            predict: Box::new(predict),
            trained: trained as u64,
            encoder: 0,
            steps: 0,
            stop: "computed",
            chosen: None,
            saved: Rc::default(),
        }
    }
}

pub(super) fn perform(
    spec: &RunSpec,
    work: &FloorWork,
    mut run: RunRow,
    inputs: &Inputs,
) -> Result<Outcome> {
    let splits = Splits::of(spec, inputs)?;
    let train = FloorSplit::new("train", &splits.train)?;
    let dev = splits.dev.as_ref();
    let dev = dev.map(|of| FloorSplit::new("dev", of)).transpose()?;
    let test = FloorSplit::new("test", &splits.test)?;

    let fitting = Stopwatch::start();
    let encoder = || texts::Texts::of(spec, work, inputs);
    let predictor = match &work.floor {
        Floor::Majority {} => majority::fit(&train),
        Floor::WordCounts { regression } => words::fit(&train, regression)?,
        Floor::Vectors { .. } => vectors::fit(&train, encoder()?, &work.floor)?,
        Floor::Cosine { scaled, .. } => {
            cosine::fit(dev.as_ref().unwrap_or(&train), encoder()?, scaled.is_on())?
        }
    };
    run.train_seconds = fitting.seconds() + predictor.saved.take();
    run.cpu_seconds = fitting.cpu_seconds();
    run.params_total = predictor.encoder + predictor.trained;
    run.params_trainable = predictor.trained;
    run.steps = predictor.steps;
    run.stop_reason = predictor.stop.to_string();
    run.dtype = "f32".to_string();
    if !work.floor.needs_encoder() {
        run.dtype = "f64".to_string();
        run.device = "cpu".to_string();
    }

    let predicting = Stopwatch::start();
    let mut found = Vec::new();
    for part in dev.iter().chain([&test]) {
        let predicted = (predictor.predict)(part);
        let predicted = predicted.with_context(|| format!("the {} part", part.name))?;
        found.push((part, predicted));
    }
    run.eval_seconds = predicting.seconds() + predictor.saved.take();

    let mut evals: Vec<EvalRow> = predictor
        .chosen
        .iter()
        .map(|choice| rows::chosen(&run, choice))
        .collect();
    let mut predictions = Vec::new();
    for (part, predicted) in found {
        evals.extend(rows::evals(&run, part, &predicted)?);
        predictions.extend(rows::predictions(&run.run_id, part, predicted)?);
    }
    Ok(Outcome {
        run,
        evals,
        predictions,
    })
}
