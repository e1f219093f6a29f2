//! A few steps of a kind of run, on a network of random weights and made-up examples.

use anyhow::{Context, Result};
use totune_adapt::{
    Activations, Adaptation, Cache, Constant, Examples, Full, Keep, KeptExamples, Places, Question,
    Schedule, StopRule, TaskData, Training, fit,
};
use totune_data::tags::{Scheme, TagSet};
use totune_data::{Card, Encoded, Target, Task, WordContext, characters};
use totune_model::{AnyEncoder, Architecture, Elmo, Encoder, RandomWeights};

use crate::Machine;

/// Tokens of a text: about what a sentence of the papers' datasets has. A document as context fills what there is.
const TOKENS: usize = 30;

/// One kind of run.
#[derive(Debug)]
pub(super) struct Timed {
    pub label: String,
    pub encoder: String,
    training: Training,
    question: Question,
    pair: bool,
    length: usize,
}

/// What was measured, in seconds.
#[derive(Debug)]
pub(super) struct Cost {
    pub step: f64,
    /// Of an example that is scored.
    pub scored: f64,
    /// Of an example whose states are computed to be kept; 0 where none are.
    pub kept: f64,
}

impl Timed {
    pub fn new(encoder: &str, training: &Training, card: &Card) -> Self {
        let question = match card.task {
            Task::Regression => Question::Score {},
            Task::Tagging => Question::Tags {
                labels: TagSet::new(Scheme::Bio, &card.labels).labels().to_vec(),
            },
            Task::Classification => Question::Class {
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
                match question {
                    Question::Score {} => "a score".to_string(),
                    _ => format!("{} labels", question.n_outputs()),
                },
                training.batch_size,
            ),
            encoder: encoder.to_string(),
            training,
            question,
            pair,
            length,
        }
    }

    /// Times three epochs of one step; the first one warms up.
    pub fn measure(&self, architecture: &Architecture, machine: &Machine) -> Result<Cost> {
        let weights = &mut RandomWeights::new(1, 0.02);
        let device = &machine.device;
        let encoder = match architecture {
            Architecture::Bert(config) => AnyEncoder::Bert(config.load(weights, device)?),
            Architecture::Distilbert(config) => {
                AnyEncoder::Bert(config.bert().load(weights, device)?)
            }
            Architecture::Elmo(options) => AnyEncoder::Elmo(Elmo::load(options, weights, device)?),
        };
        let characters = matches!(encoder, AnyEncoder::Elmo(_));
        let mut train = self.examples(self.training.batch_size, characters);
        let test = self.examples(self.training.evaluation_batch_size, characters);
        let mut kept = 0.0;
        if let Cache::On { dtype } = self.training.cache {
            for start in self.training.starts(encoder.n_layers())? {
                let size = self.training.evaluation_batch_size;
                let found =
                    Activations::compute(&encoder, &train.rows, start, dtype, size, device)?;
                kept += found.seconds() / train.len() as f64;
                train.kept.push(KeptExamples {
                    places: (0..train.len()).collect(),
                    activations: found.into(),
                });
            }
        }
        let test = if train.kept.is_empty() {
            test
        } else {
            train.clone()
        };
        let scored = test.len() as f64;
        let task = TaskData {
            question: self.question.clone(),
            metrics: Vec::new(),
            train,
            dev: None,
            test,
            predict: Vec::new(),
        };
        let outcome = fit(encoder, &task, &self.training, 1, device, &mut ())?;
        let after = |epoch: usize| {
            let mut scores = outcome.scores.iter();
            let found = scores.find(|score| score.split == "train" && score.epoch == epoch);
            found.map(|score| score.train_seconds)
        };
        let (first, last) = after(1)
            .zip(after(EPOCHS))
            .with_context(|| format!("{}: diverged while it was timed", self.label))?;
        Ok(Cost {
            step: (last - first) / (EPOCHS - 1) as f64,
            scored: outcome.eval_seconds / (EPOCHS as f64 * scored),
            kept,
        })
    }

    fn examples(&self, n: usize, characters: bool) -> Examples {
        let row = || {
            let n = self.length;
            let first = if self.pair { n / 2 } else { n };
            Encoded {
                ids: vec![if characters { 0 } else { 1 }; n],
                type_ids: (0..n).map(|at| u8::from(at >= first)).collect(),
                apart: self.pair && !self.training.pairs.is_joint(),
                characters: match characters {
                    true => vec![characters::spell("measure"); n],
                    false => Vec::new(),
                },
            }
        };
        // Between the special tokens.
        let words: Vec<u32> = (1..self.length as u32 - 1).take(TOKENS).collect();
        let target = match &self.question {
            Question::Class { .. } => Target::Class(0),
            Question::Score {} => Target::Value(1.0),
            Question::Tags { .. } => Target::Tags(vec![0; words.len()]),
        };
        let places = match &self.question {
            Question::Tags { .. } => vec![
                Places {
                    starts: words.clone(),
                    ends: words,
                };
                n
            ],
            _ => Vec::new(),
        };
        Examples {
            ids: (0..n).map(|i| i.to_string()).collect(),
            rows: (0..n).map(|_| row()).collect(),
            targets: vec![target; n],
            places,
            kept: Vec::new(),
        }
    }
}

const EPOCHS: usize = 3;

/// The same training, with all of it in one phase that needs no scores on dev. What opens layer by layer or begins with
/// the head is timed with everything open: at most that is what it takes.
fn simplified(training: &Training) -> Training {
    let adaptation = match &training.adaptation {
        adaptation @ (Adaptation::Frozen(_) | Adaptation::Full(_) | Adaptation::LastK(_)) => {
            adaptation.clone()
        }
        Adaptation::GradualUnfreezing(_) | Adaptation::StackAndFinetune(_) => {
            Adaptation::Full(Full::new(1e-5))
        }
    };
    Training {
        adaptation,
        schedule: Schedule::Constant(Constant { warmup: 0.0 }),
        epochs: EPOCHS,
        stop: StopRule::Epochs {},
        keep: Keep::Last,
        ..training.clone()
    }
}
