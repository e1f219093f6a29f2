//! Where single runs are made: from a strategy, a rate and a size to a trained model's answers.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::Result;
use totune_adapt::{DataFacts, EpochScores, StepEvent, Strategy, Watch};
use totune_data::{Dataset, Files, Split};
use totune_model::{EncoderCard, EncoderCatalogue};
use totune_sweep::{Environment, Inputs, Machine, RunSpec, TuneWork, Work};

use crate::answers::{Answers, Scorer};
use crate::strategies::recipe;

/// Name under which a run answers the part that is reported on, once, when it has ended.
const REPORTED: &str = "reported";

/// What a run is asked to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    pub strategy: Strategy,
    pub lr: f64,
    pub seed: u64,
    pub size: Size,
    /// Name of the data, whose parts are `train`, `test` and perhaps `dev`.
    pub data: &'a str,
    /// Whether the part that is reported on is answered.
    pub answers_test: bool,
    /// When it has to be over.
    pub until: Instant,
}

/// How much a run learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Examples, at most.
    pub examples: usize,
    /// Passes over them.
    pub epochs: usize,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Trained {
    /// Score on dev of the chosen epoch.
    pub dev: Option<f64>,
    pub on_dev: Option<Answers>,
    pub on_test: Option<Answers>,
    /// Seconds of training and score on dev, after each epoch.
    pub course: Vec<(f64, f64)>,
    /// Examples learned from, and how often.
    pub size: Size,
    pub train_seconds: f64,
    pub cache_seconds: f64,
    pub eval_seconds: f64,
    /// Of the steps of the last epoch.
    pub epoch_seconds: f64,
    /// From beginning to end, all included.
    pub wall: f64,
    /// Examples scored per pass over dev and test while training.
    pub scored: usize,
    pub params_trained: usize,
    pub params_total: usize,
    pub diverged: bool,
}

/// Runs single trainings.
pub(crate) struct Desk<'a> {
    pub inputs: Inputs,
    pub machine: &'a Machine,
    pub encoder: EncoderCard,
    pub facts: DataFacts,
    pub scorer: Scorer,
    /// The parts of each data, by data and split.
    pub parts: BTreeMap<(String, String), Dataset>,
}

impl<'a> Desk<'a> {
    /// One for the parts of some data, each under its name and split.
    pub fn new(
        environment: Environment<'a>,
        encoder: &str,
        parts: Vec<(String, Dataset)>,
        states: &std::path::Path,
    ) -> Result<Self> {
        let cards = EncoderCatalogue::read(&environment.project.root.join("encoders"))?;
        let card = cards.find(encoder)?.clone();
        let encoders = [encoder.to_string()];
        let inputs = Inputs::of(environment, parts.clone(), &encoders, states)?;
        let (_, any) = parts.first().expect("some data");
        let (facts, scorer) = (inputs.facts(&any.name, &card)?, Scorer::of(any)?);
        let parts = parts.into_iter();
        let parts = parts.map(|(split, part)| ((part.name.clone(), split), part));
        Ok(Self {
            inputs,
            machine: environment.machine,
            encoder: card,
            facts,
            scorer,
            parts: parts.collect(),
        })
    }

    /// Layers of the encoder.
    pub fn n_layers(&self) -> usize {
        self.encoder.architecture.n_layers()
    }

    /// Most tokens of an input.
    pub fn max_length(&self) -> usize {
        self.facts.max_length(&self.encoder)
    }

    /// Adds a part of some data, under a name and split that are new.
    pub fn insert(&mut self, split: &str, part: Dataset) {
        self.inputs.insert(split, part.clone());
        self.parts
            .insert((part.name.clone(), split.to_string()), part);
    }

    /// A part of some data.
    pub fn part(&self, data: &str, split: &str) -> Option<&Dataset> {
        self.parts.get(&(data.to_string(), split.to_string()))
    }

    /// How data of this name is divided: by the parts it has.
    pub fn split(&self, data: &str, examples: Option<usize>) -> Split {
        let dev = self.part(data, "dev").map(|_| "dev");
        Split::Files(Files {
            seed: 13,
            train_limit: examples,
            ..Files::whole("test", dev)
        })
    }

    fn spec(&self, order: &Order) -> Result<RunSpec> {
        let Order { size, data, .. } = *order;
        let n = self
            .part(data, "train")
            .map_or(0, |part| part.examples.len());
        let limit = (size.examples < n).then_some(size.examples);
        let facts = DataFacts {
            has_dev: self.part(data, "dev").is_some(),
            ..self.facts
        };
        let recipe = recipe(order.strategy, order.lr, size.epochs);
        let work = Work::Tune(Box::new(TuneWork {
            encoder: self.encoder.name.clone(),
            training: recipe.training(&self.encoder, &facts)?,
        }));
        let arm = order.strategy.to_string();
        let split = self.split(data, limit);
        Ok(RunSpec::unlisted(&arm, (data, split), order.seed, work))
    }

    /// Trains; `None` when there was no time to end it, or it was stopped from outside.
    pub fn train(&self, order: Order, listen: &dyn Fn(&StepEvent)) -> Result<Option<Trained>> {
        let began = Instant::now();
        let spec = self.spec(&order)?;
        let mut prepared = self.inputs.prepare(&spec)?;
        // What is reported on is answered once at the end and never scored on the way: time, and nobody looks.
        let test = std::mem::take(&mut prepared.task.test);
        prepared.task.test = test.part(&[0]);
        if order.answers_test {
            prepared.task.predict = vec![(REPORTED.to_string(), test)];
        }
        let learned = prepared.task.train.len();
        let n_dev = prepared.task.dev.as_ref().map_or(0, |dev| dev.len());
        let mut watch = Limit {
            until: order.until,
            machine: self.machine,
            listen,
        };
        let outcome = prepared.fit(&mut watch)?;
        if !outcome.stop.is_an_end() && outcome.stop.label() != "diverged" {
            return Ok(None);
        }
        let diverged = !outcome.stop.is_an_end();
        let last = outcome.phases.last().and_then(|phase| phase.epochs.last());
        let is_dev = |score: &&totune_adapt::Score| {
            score.split == "dev" && score.metric == self.scorer.metric
        };
        let dev = outcome.scores.iter().filter(is_dev);
        let course = dev.clone().map(|score| (score.train_seconds, score.value));
        let part = |split| self.part(order.data, split);
        let answers = |dataset: Option<&Dataset>, split: &str| -> Result<Option<Answers>> {
            let dataset = dataset.filter(|_| !diverged);
            dataset
                .map(|dataset| Answers::of(dataset, split, &outcome.predictions))
                .transpose()
        };
        Ok(Some(Trained {
            dev: dev
                .clone()
                .find(|score| score.is_final)
                .map(|score| score.value),
            on_dev: answers(part("dev"), "dev")?,
            on_test: answers(part("test").filter(|_| order.answers_test), REPORTED)?,
            course: course.collect(),
            size: Size {
                examples: learned,
                epochs: outcome.epochs,
            },
            train_seconds: outcome.train_seconds,
            cache_seconds: outcome.cache_seconds,
            eval_seconds: outcome.eval_seconds,
            epoch_seconds: last.map_or(0.0, |epoch| epoch.seconds),
            wall: began.elapsed().as_secs_f64(),
            scored: n_dev,
            params_trained: outcome.params_trainable,
            params_total: outcome.params_total,
            diverged,
        }))
    }
}

/// Ends a run when its time is over or somebody asks for it.
struct Limit<'a> {
    until: Instant,
    machine: &'a Machine,
    listen: &'a dyn Fn(&StepEvent),
}

impl Watch for Limit<'_> {
    fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
        (self.listen)(event);
        let over = Instant::now() > self.until || self.machine.stop.load(Ordering::Relaxed);
        if over {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn epoch(&mut self, _: &EpochScores) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
