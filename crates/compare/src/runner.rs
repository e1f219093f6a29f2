//! Runs trials: from a strategy, a learning rate and a size to scores and predictions.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, Result};
use totune_adapt::{
    DataFacts, Dtype, EpochScores, Examples, Outcome, Recipe, StepEvent, Stop, Watch,
};
use totune_data::{Dataset, Files, Pairs, Split};
use totune_model::{AnyEncoder, EncoderCard};
use totune_sweep::{Environment, Inputs, Machine, RunSpec, TuneWork, Work};

use crate::model::{Model, SAMPLE};
use crate::predictions::Predictions;
use crate::scorer::Scorer;
use crate::strategies::{Entrant, SEPARATE, recipe};
use crate::trial::{FINAL, Trial, TrialResult};

/// Reason why a strategy has no score where the budget was too short for it.
pub(crate) const NO_TIME: &str = "no time for it within the budget";

/// An encoder, and what the usual settings of a run on it follow from.
pub(crate) struct EncoderOfData {
    pub card: EncoderCard,
    pub facts: DataFacts,
    /// Lengths of training inputs in tokens, or of a sample of them, the shortest one first.
    pub lengths: Vec<usize>,
    /// Note on tokens that its vocabulary lacks, if there are many.
    pub unknown: Option<String>,
}

impl EncoderOfData {
    /// Number of layers.
    pub fn n_layers(&self) -> usize {
        self.card.architecture.n_layers()
    }

    /// Most tokens of an input.
    pub fn max_length(&self) -> usize {
        self.facts.max_length(&self.card)
    }
}

/// Runs trials on data in memory.
pub(crate) struct Runner<'a> {
    pub inputs: Inputs,
    pub machine: &'a Machine,
    pub encoders: Vec<EncoderOfData>,
    pub scorer: Scorer,
    /// True if trials that predict test keep their models.
    pub keeps_models: bool,
    /// Dtype of the arithmetic, in every recipe.
    pub dtype: Dtype,
    /// Splits by the names of the dataset and of the split.
    splits: BTreeMap<(String, String), Dataset>,
}

impl<'a> Runner<'a> {
    /// A runner for these splits, each with its name, of one dataset or several. The first is the `train` that settings
    /// follow from.
    pub fn new(
        environment: Environment<'a>,
        encoders: &[String],
        splits: Vec<(String, Dataset)>,
        activations: &Path,
    ) -> Result<Self> {
        let cards = environment.project.encoders()?;
        let inputs = Inputs::of(environment, splits.clone(), encoders, activations)?;
        let (_, train) = splits.first().context("found no splits, expected some")?;
        let scorer = Scorer::of(train)?;
        let of_data = encoders.iter().map(|name| {
            let card = cards.find(name)?.clone();
            let facts = inputs.facts(&train.name, &card)?;
            let lengths = inputs.lengths(&train.name, &card)?;
            let unknown = inputs.unknown_note(&train.name, &card)?;
            Ok(EncoderOfData {
                card,
                facts,
                lengths,
                unknown,
            })
        });
        let encoders = of_data.collect::<Result<Vec<EncoderOfData>>>()?;
        let splits = splits.into_iter();
        let splits = splits.map(|(split, part)| ((part.name.clone(), split), part));
        Ok(Self {
            inputs,
            machine: environment.machine,
            encoders,
            scorer,
            keeps_models: false,
            dtype: Dtype::F32,
            splits: splits.collect(),
        })
    }

    /// The recipe of an entrant.
    pub fn recipe(&self, entrant: Entrant, lr: f64, epochs: usize) -> Recipe {
        Recipe {
            pairs: entrant.pairs,
            dtype: self.dtype,
            ..recipe(entrant.strategy, lr, epochs)
        }
    }

    /// The encoder of an entrant.
    pub fn encoder(&self, entrant: Entrant) -> &EncoderOfData {
        &self.encoders[entrant.encoder]
    }

    /// ` on <encoder>`, where there are several.
    pub fn on_encoder(&self, encoder: usize) -> String {
        match self.encoders.len() {
            1 => String::new(),
            _ => format!(" on {}", self.encoders[encoder].card.name),
        }
    }

    /// The end of an entrant's name, after that of its strategy: that it reads the texts of a pair separately, and the
    /// encoder where there are several.
    pub fn suffix(&self, entrant: Entrant) -> String {
        let of_pairs = match entrant.pairs {
            Pairs::Joint => "",
            Pairs::Separate => SEPARATE,
        };
        of_pairs.to_string() + &self.on_encoder(entrant.encoder)
    }

    /// The name of an entrant.
    pub fn name(&self, entrant: Entrant) -> String {
        format!("{}{}", entrant.strategy, self.suffix(entrant))
    }

    /// Returns whether the comparison was stopped from outside.
    pub fn is_stopped(&self) -> bool {
        self.machine.stop.load(Ordering::Relaxed)
    }

    /// The usual reason why a strategy has no score.
    pub fn no_time(&self) -> &'static str {
        if self.is_stopped() {
            "interrupted before it was trained"
        } else {
            NO_TIME
        }
    }

    /// Adds a split of some data, under a name that is new.
    pub fn insert(&mut self, split: &str, part: Dataset) {
        self.inputs.insert(split, part.clone());
        self.splits
            .insert((part.name.clone(), split.to_string()), part);
    }

    /// Adds the examples at `indices` of `whole`, which is the split `train` of some data, as a split of data called `name`.
    pub fn insert_part(
        &mut self,
        (name, split): (&str, &str),
        whole: &Dataset,
        indices: Vec<usize>,
    ) {
        let part = whole.part(&indices, name);
        let of_whole = (whole.name.as_str(), "train");
        let key = (name.to_string(), split.to_string());
        self.inputs
            .insert_part(split, part.clone(), of_whole, indices);
        self.splits.insert(key, part);
    }

    /// A split of the data of this name.
    pub fn split(&self, data: &str, split: &str) -> Option<&Dataset> {
        self.splits.get(&(data.to_string(), split.to_string()))
    }

    /// Examples of a split; 0 where the data has none of this name.
    pub fn n(&self, data: &str, split: &str) -> usize {
        self.split(data, split)
            .map_or(0, |part| part.examples.len())
    }

    /// The splits of the data of this name, with a stratified sample of `train` where a number is given.
    pub fn split_spec(&self, data: &str, train_limit: Option<usize>) -> Split {
        let dev = self.split(data, "dev").map(|_| "dev");
        Split::Files(Files {
            seed: 13,
            train_limit,
            ..Files::whole("test", dev)
        })
    }

    fn spec(&self, trial: &Trial) -> Result<RunSpec> {
        let Trial { size, data, .. } = *trial;
        let limit = (size.examples < self.n(data, "train")).then_some(size.examples);
        let encoder = self.encoder(trial.entrant);
        let facts = DataFacts {
            has_dev: self.split(data, "dev").is_some(),
            ..encoder.facts
        };
        let training = match trial.training {
            Some(training) => training.clone(),
            None => self
                .recipe(trial.entrant, trial.lr, size.epochs)
                .training(&encoder.card, &facts)?,
        };
        let work = Work::Tune(Box::new(TuneWork {
            encoder: encoder.card.name.clone(),
            training,
        }));
        let arm = trial.entrant.strategy.to_string();
        let split = self.split_spec(data, limit);
        Ok(RunSpec::unlisted(&arm, (data, split), trial.seed, work))
    }

    /// Trains and evaluates; `None` if there was no time to end it, or it was stopped from outside.
    pub fn run(&self, trial: Trial, step: &dyn Fn(&StepEvent)) -> Result<Option<TrialResult>> {
        if self.is_stopped() {
            return Ok(None); // before the activations of frozen layers are computed
        }
        let began = Instant::now();
        let spec = self.spec(&trial)?;
        let Some(mut prepared) = self.inputs.prepare(&spec)? else {
            return Ok(None);
        };
        // Test is predicted once by the final model: scoring it after each epoch would only take time.
        let test = std::mem::take(&mut prepared.task.test);
        prepared.task.test = test.part(&[0]);
        let sample: Vec<usize> = (0..SAMPLE.min(test.len())).collect();
        let sample = test.part(&sample);
        if trial.predicts_test {
            prepared.task.predict = vec![(FINAL.to_string(), test)];
        }
        let n_train = prepared.task.train.len();
        let n_dev = prepared.task.dev.as_ref().map_or(0, |dev| dev.len());
        let mut limit = Limit {
            until: trial.until,
            machine: self.machine,
            on_step: step,
        };
        let outcome = prepared.fit(&mut limit)?;
        if outcome.stop == Stop::Interrupted {
            return Ok(None);
        }
        let test = self.split(trial.data, "test");
        let predicted = [
            self.split(trial.data, "dev"),
            test.filter(|_| trial.predicts_test),
        ];
        let metric = &self.scorer.metric;
        let mut result = TrialResult::of(&outcome, metric, predicted, [n_train, n_dev], began)?;
        if self.keeps_models && trial.keeps_model && !result.diverged {
            let model = self.model((spec, outcome), sample, (&trial, &result))?;
            result.model = Some(Box::new(model));
        }
        Ok(Some(result))
    }

    /// The model of a trial.
    fn model(
        &self,
        (run, outcome): (RunSpec, Outcome<AnyEncoder>),
        sample: Examples,
        (trial, result): (&Trial, &TrialResult),
    ) -> Result<Model> {
        let loaded = self.inputs.loaded(&self.encoder(trial.entrant).card.name)?;
        let n_test = result.on_test.as_ref().map_or(0, Predictions::len);
        let n_dev = self.n(trial.data, "dev");
        let mut model = Model {
            run,
            outcome,
            sizes: [result.size.examples, n_dev, n_test],
            sample,
            dir: loaded.dir.clone(),
            checkpoint: loaded.checkpoint_hash.clone(),
        };
        model.outcome.predictions.clear();
        if let Some(on_test) = &result.on_test {
            let value = self.scorer.score(on_test);
            model.scored(("test", &self.scorer.metric), value, n_test);
        }
        Ok(model)
    }
}

/// Ends a run when its time is over or the comparison is stopped from outside.
struct Limit<'a> {
    until: Instant,
    machine: &'a Machine,
    on_step: &'a dyn Fn(&StepEvent),
}

impl Watch for Limit<'_> {
    fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
        (self.on_step)(event);
        if Instant::now() > self.until || self.machine.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn epoch(&mut self, _: &EpochScores) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
