//! A few steps of a kind of run, on a network of random weights and synthetic examples.

use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;
use totune_adapt::{
    Cache, CachedActivations, ClassLoss, Examples, FrozenPass, Objective, Places, Row, Schedule,
    Select, StopRule, TaskData, TestScores, Training, fit, schedule,
};
use totune_data::tags::{Scheme, TagSet};
use totune_data::{Card, Encoded, Target, Task, WordContext, characters};
use totune_model::{AnyEncoder, Architecture, RandomWeights};

use crate::Machine;
use crate::timing::without_rates;

/// Tokens of a text: about as many as a sentence of the papers' datasets has. A document as context fills the available
/// length.
const TOKENS: usize = 30;

/// One kind of run.
#[derive(Debug)]
pub(super) struct Timed {
    pub label: String,
    pub encoder: String,
    training: Training,
    objective: Objective,
    pair: bool,
    length: usize,
}

/// Measured times, in seconds.
#[derive(Debug)]
pub(super) struct Cost {
    /// Time of a step of the whole batch.
    pub step: f64,
    /// Time of scoring one example.
    pub scored: f64,
    /// Time of computing the cached activations of one example; 0 where none are cached.
    pub kept: f64,
    pub timed: Size,
}

/// Number and size of the timed steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Size {
    /// Steps, without the warm-up step.
    pub steps: usize,
    /// Examples of each step; fewer than a batch for kinds with slow steps.
    pub examples: usize,
}

/// Seconds of one timing, for the examples it had.
#[derive(Debug, Clone, Copy)]
struct Sample {
    step: f64,
    scored: f64,
    kept: f64,
    size: Size,
}

impl Timed {
    pub fn new(encoder: &str, training: &Training, card: &Card) -> Self {
        let objective = match card.task {
            Task::MultiLabel => Objective::Labels {
                labels: card.labels.clone(),
            },
            Task::Ordinal => Objective::Ordinal {
                labels: card.labels.clone(),
            },
            Task::Regression => Objective::Score {},
            Task::Tagging => Objective::Tags {
                labels: TagSet::new(Scheme::Bio, &card.labels).labels().to_vec(),
            },
            Task::Classification => Objective::Class {
                labels: card.labels.clone(),
                positive: None,
            },
        };
        let pair = card.is_of_pairs();
        let texts = if pair { 2 } else { 1 };
        let length = match (card.task, training.context) {
            (Task::Tagging, WordContext::Document) => training.max_length,
            _ => training.max_length.min(texts * TOKENS),
        };
        let training = simplified(training);
        Self {
            label: format!(
                "{encoder} · {} · {}{} · {} · batches of {} x {length}",
                training.adaptation.label(),
                training.head.label(),
                if training.pairs.is_joint() {
                    ""
                } else {
                    ", apart"
                },
                match objective {
                    Objective::Score {} => "a score".to_string(),
                    _ => format!("{} labels", objective.n_outputs()),
                },
                training.batch_size,
            ),
            encoder: encoder.to_string(),
            training,
            objective,
            pair,
            length,
        }
    }

    /// Everything that the time of a step depends on, with the label first.
    pub fn key(&self) -> String {
        let mut training = json!(self.training);
        without_rates(&mut training["adaptation"]);
        format!("{} {} {training}", self.label, self.pair)
    }

    /// Examples in a batch.
    pub fn batch_size(&self) -> usize {
        self.training.batch_size
    }

    /// Times steps of this kind for about `seconds`: one of a single example, then steps of more and more examples
    /// while there is time left, at most of a batch. The time of a whole batch lies on the line through the first and
    /// the last.
    ///
    /// At least the single example is timed, however long it takes.
    pub fn measure(
        &self,
        architecture: &Architecture,
        machine: &Machine,
        seconds: f64,
    ) -> Result<Cost> {
        let weights = &mut RandomWeights::new(1, 0.02);
        let device = &machine.device;
        let encoder = architecture.load(weights, device)?;
        let clock = Instant::now();
        let one = self.sample(&encoder, 1, 1)?;
        let mut last = one;
        while let Some(n) = self.next(&last, seconds - clock.elapsed().as_secs_f64()) {
            if machine.stop.load(Ordering::Relaxed) {
                break;
            }
            last = self.sample(&encoder, n, STEPS)?;
        }
        Ok(self.extended(one, last))
    }

    /// Number of examples in the next timed step after `last`, if that fits into the seconds `left`. Part of a step is
    /// a fixed cost, so that it takes less time than `last` suggests, and a few times as many examples can be tried.
    fn next(&self, last: &Sample, left: f64) -> Option<usize> {
        let n = last.size.examples;
        let each = (STEPS + 1) as f64 * (last.step / n as f64 + last.scored) + last.kept;
        let affordable = (left.max(0.0) / each.max(1e-9)) as usize;
        let next = affordable.min(4 * n).min(self.training.batch_size);
        (next > n).then_some(next)
    }

    /// Extrapolates from the first and the last timed step to the whole batch.
    fn extended(&self, one: Sample, last: Sample) -> Cost {
        let (n, batch) = (last.size.examples as f64, self.training.batch_size as f64);
        let share = last.step / n;
        let each = if n > 1.0 {
            // An example more costs no less than nothing, and no more than its share of a step.
            ((last.step - one.step) / (n - 1.0)).clamp(0.0, share)
        } else {
            share
        };
        Cost {
            step: last.step + each * (batch - n),
            scored: last.scored,
            kept: last.kept,
            timed: last.size,
        }
    }

    /// Times `steps` steps of `n` examples, after a warm-up step.
    fn sample(&self, encoder: &AnyEncoder, n: usize, steps: usize) -> Result<Sample> {
        let characters = matches!(encoder, AnyEncoder::Elmo(_));
        let scored = if n < self.training.batch_size {
            n
        } else {
            self.training.evaluation_batch_size
        };
        let epochs = steps + 1; // of one step
        let training = Training {
            epochs,
            ..self.training.clone()
        };
        let mut train = self.examples(n, characters);
        let mut test = self.examples(scored, characters);
        let mut kept = 0.0;
        if let Cache::On { dtype } = training.cache {
            for start in training.entry_layers(encoder)? {
                let rows: Vec<Encoded> = train.rows.iter().map(|row| row.encoded.clone()).collect();
                let found = FrozenPass::new(encoder, &rows, start, dtype, n).compute()?;
                kept += found.seconds() / n as f64;
                train.cached.push(CachedActivations {
                    places: (0..n).collect(),
                    activations: found.into(),
                });
            }
        }
        if !train.cached.is_empty() {
            test = train.clone();
        }
        let scored = test.len() as f64;
        let task = TaskData {
            objective: self.objective.clone(),
            metrics: Vec::new(),
            train,
            dev: None,
            test,
            predict: Vec::new(),
        };
        let outcome = fit(encoder.clone(), &task, &training, 1, &mut ())?;
        let after = |epoch: usize| {
            let mut scores = outcome.scores.iter();
            let found = scores.find(|score| score.split == "train" && score.epoch == epoch);
            found.map(|score| score.train_seconds)
        };
        let (first, last) = after(1)
            .zip(after(epochs))
            .with_context(|| format!("{}: diverged while it was timed", self.label))?;
        Ok(Sample {
            step: (last - first) / steps as f64,
            scored: outcome.eval_seconds / (epochs as f64 * scored),
            kept,
            size: Size { steps, examples: n },
        })
    }

    fn examples(&self, n: usize, characters: bool) -> Examples {
        let encoded = || {
            let n = self.length;
            let first = if self.pair { n / 2 } else { n };
            Encoded {
                ids: vec![if characters { 0 } else { 1 }; n],
                type_ids: (0..n).map(|at| u8::from(at >= first)).collect(),
                apart: self.pair && !self.training.pairs.is_joint(),
                second_opened: !self.training.pairs.is_joint(),
                characters: if characters {
                    vec![characters::spell("measure"); n]
                } else {
                    Vec::new()
                },
            }
        };
        // Between the special tokens.
        let words: Vec<u32> = (1..self.length as u32 - 1).take(TOKENS).collect();
        let target = match &self.objective {
            Objective::Class { .. } | Objective::Ordinal { .. } => Target::Class(0),
            Objective::Labels { .. } => Target::Labels(vec![0]),
            Objective::Score {} => Target::Value(1.0),
            Objective::Tags { .. } => Target::Tags(vec![0; words.len()]),
        };
        let places = self.objective.is_about_words().then(|| Places {
            starts: words.clone(),
            ends: words.clone(),
        });
        let row = |i: usize| Row {
            id: i.to_string(),
            encoded: encoded(),
            target: target.clone(),
            words: places.clone(),
        };
        Examples {
            rows: (0..n).map(row).collect(),
            cached: Vec::new(),
        }
    }
}

/// Steps timed for each number of examples.
const STEPS: usize = 2;

/// The same training, with all of it in one phase that needs no scores on dev. A schedule that unfreezes layer by layer
/// or begins with the head is timed with everything unfrozen, which is an upper bound of its time.
fn simplified(training: &Training) -> Training {
    Training {
        adaptation: training.adaptation.in_one_phase(),
        schedule: Schedule::Constant(schedule::Constant { warmup: 0.0 }),
        epochs: 1,
        loss: ClassLoss::default(),
        l2_sp: 0.0,
        standardise_scores: totune_adapt::Switch::Off,
        restarts: 0,
        stop: StopRule::Epochs {},
        select: Select::Last,
        test_scores: TestScores::EachEpoch,
        ..training.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind() -> Timed {
        let json = r#"{"head": {"pooling": "mean", "dropout": 0.1},
            "adaptation": {"kind": "frozen", "lr": 1e-3, "pooler": "frozen"},
            "optimizer": {"kind": "adam-w", "betas": [0.9, 0.999], "epsilon": 1e-8, "weight-decay": 0.0, "no-decay": []},
            "schedule": {"kind": "constant", "warmup": 0.0}, "clip": {"kind": "none"},
            "batch-size": 32, "evaluation-batch-size": 64, "epochs": 3, "stop": {"kind": "epochs"}, "max-length": 64,
            "dropout": 0.0, "frozen-dropout": "off", "bucketing": "off", "dtype": "f32"}"#;
        Timed {
            label: "x".to_string(),
            encoder: "x".to_string(),
            training: serde_json::from_str(json).expect("settings"),
            objective: Objective::Score {},
            pair: false,
            length: 30,
        }
    }

    fn sample(examples: usize, step: f64) -> Sample {
        Sample {
            step,
            scored: 0.5,
            kept: 0.25,
            size: Size { steps: 1, examples },
        }
    }

    #[test]
    fn more_examples_are_timed_while_there_is_time() {
        // Three steps (one warms up) of 1 s with scoring of 0.5 s, and 0.25 s to keep: 4.75 s an example.
        let next = |left| kind().next(&sample(1, 1.0), left);
        assert_eq!([-1.0, 0.0, 9.0].map(next), [None; 3]);
        assert_eq!([9.6, 15.0, 1e9].map(next), [Some(2), Some(3), Some(4)]);
        let next = |examples| kind().next(&sample(examples, 1.0), 1e9);
        assert_eq!([4, 16, 32].map(next), [Some(16), Some(32), None]);
    }

    #[test]
    fn a_batch_lies_on_the_line_through_what_was_timed() {
        let step = |last| kind().extended(sample(1, 1.0), last).step;
        assert_eq!(
            step(sample(1, 1.0)),
            32.0,
            "a single one: its time for each"
        );
        // 1 s for one and 2.5 s for four: 0.5 s each plus 0.5 s per step.
        assert_eq!(step(sample(4, 2.5)), 0.5 + 32.0 * 0.5);
        assert_eq!(step(sample(32, 9.0)), 9.0, "a whole batch: as timed");
        // Noise: neither less for more examples, nor more than their share.
        assert_eq!(step(sample(4, 0.8)), 0.8);
        assert_eq!(step(sample(4, 40.0)), 320.0);
    }
}
