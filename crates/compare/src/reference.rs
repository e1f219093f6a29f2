//! Trainings outside of a race: settings on the same rows, each with a whole schedule, however long that takes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tempfile::TempDir;
use totune_adapt::{
    Adaptation, Cache, DataFacts, Dtype, Full, Optimizer, Recipe, Schedule, Select, Strategy,
    Switch, Training, schedule,
};
use totune_data::{Dataset, LabelledFiles, Pairs};
use totune_sweep::Environment;

use crate::floors;
use crate::runner::Runner;
use crate::strategies::{Entrant, epochs};
use crate::trial::{Size, Trial};

/// Training examples over all epochs, at least, where the most epochs of a strategy allow it. The usual number of epochs
/// is too small where rows are few; a race has time for more then, too.
const SEEN: usize = 20_000;
/// Training examples over all epochs, at most, where that leaves [`FEWEST_OF_MANY`] epochs: ten of LoRA over 67,000 rows
/// would take hours, and nobody trains it for as long.
const MOST_SEEN: usize = 200_000;
/// Epochs that a strategy has even where rows are many.
const FEWEST_OF_MANY: usize = 3;
/// Longer than any training.
const ENDLESS: Duration = Duration::from_secs(365 * 86_400);

/// Settings to train with, or a floor to fit.
#[derive(Debug, Clone, Copy)]
pub enum Setting<'a> {
    /// A strategy with an encoding of pairs and a peak learning rate, for its usual number of epochs, more where rows are few and fewer where they
    /// are many. 15 % of the rows are held out as dev, on which the epoch is selected.
    AtLength(Strategy, Pairs, f64),
    /// A recipe on all rows.
    Recipe(&'a Recipe),
    /// Full fine-tuning on all rows with the defaults of transformers' `run_glue.py` and `run_ner.py`.
    ExampleScript,
    /// A floor of a comparison by its name, on all rows.
    Floor(&'a str),
}

/// Scores and cost of a model.
#[derive(Debug, Clone, Copy)]
pub struct Scores {
    /// Dev score of the selected epoch, where dev examples were held out.
    pub dev: Option<f64>,
    /// Test score; none if training diverged.
    pub test: Option<f64>,
    /// Seconds of training and of all predictions.
    pub seconds: f64,
}

/// Rows to train on, and an encoder.
pub struct Reference<'a> {
    runner: Runner<'a>,
    /// Name of the rows with dev examples held out.
    held_out: String,
    /// Name of all rows, without dev examples.
    whole: String,
    _activations: TempDir,
}

impl<'a> Reference<'a> {
    /// Loads the encoder for `rows`, which models are trained on, and `test`, which has the same name. Strategies are
    /// trained at length with `dtype`.
    ///
    /// # Errors
    /// When the encoder is missing, or there are too few rows to hold some out.
    pub fn new(
        environment: Environment<'a>,
        encoder: &str,
        (rows, test): (&Dataset, &Dataset),
        dtype: Dtype,
    ) -> Result<Self> {
        let activations = tempfile::tempdir().context("cannot make a temporary folder")?;
        let files = LabelledFiles::new(rows.clone(), None, Some(test.clone()));
        let parts = files.splits()?;
        let (held_out, whole) = (rows.name.clone(), format!("{}-whole", rows.name));
        let renamed = |part: &Dataset| Dataset {
            name: whole.clone(),
            ..part.clone()
        };
        let splits = [
            ("train", parts.train),
            ("dev", parts.dev),
            ("test", parts.test),
            ("train", renamed(rows)),
            ("test", renamed(test)),
        ];
        let splits = splits.map(|(split, part)| (split.to_string(), part));
        let encoders = [encoder.to_string()];
        let mut runner = Runner::new(environment, &encoders, splits.to_vec(), activations.path())?;
        runner.dtype = dtype;
        Ok(Self {
            runner,
            held_out,
            whole,
            _activations: activations,
        })
    }

    /// Trains and scores; `None` if it was stopped from outside.
    ///
    /// # Errors
    /// When a setting does not fit the encoder or the data, or the device fails.
    pub fn run(&self, setting: Setting, seed: u64) -> Result<Option<Scores>> {
        match setting {
            Setting::AtLength(strategy, pairs, lr) => {
                let n = self.runner.n(&self.held_out, "train");
                let n_layers = self.runner.encoders[0].n_layers();
                let epochs = epochs_at_length(strategy, n_layers, n);
                let entrant = Entrant {
                    encoder: 0,
                    strategy,
                    pairs,
                };
                let recipe = self.runner.recipe(entrant, lr, epochs);
                let training = self.training(&recipe, &self.held_out)?;
                self.train(&self.held_out, (strategy, &training), seed)
            }
            Setting::Recipe(recipe) => {
                let training = self.training(recipe, &self.whole)?;
                self.train(&self.whole, (recipe.strategy, &training), seed)
            }
            Setting::ExampleScript => {
                let defaults = Recipe {
                    batch_size: Some(8),
                    max_length: Some(128),
                    epochs: Some(3),
                    ..Recipe::new(Strategy::Full)
                };
                let training = example_script(self.training(&defaults, &self.whole)?);
                self.train(&self.whole, (Strategy::Full, &training), seed)
            }
            Setting::Floor(name) => self.floor(name),
        }
    }

    fn training(&self, recipe: &Recipe, data: &str) -> Result<Training> {
        let encoder = &self.runner.encoders[0];
        let facts = DataFacts {
            n_train: self.runner.n(data, "train"),
            has_dev: self.runner.n(data, "dev") > 0,
            ..encoder.facts
        };
        recipe.training(&encoder.card, &facts)
    }

    fn train(
        &self,
        data: &str,
        (strategy, training): (Strategy, &Training),
        seed: u64,
    ) -> Result<Option<Scores>> {
        let trial = Trial {
            entrant: Entrant {
                encoder: 0,
                strategy,
                pairs: training.pairs,
            },
            lr: training.adaptation.lr(),
            seed,
            size: Size {
                examples: usize::MAX,
                epochs: training.epochs,
            },
            data,
            training: Some(training),
            predicts_test: true,
            keeps_model: false,
            until: Instant::now() + ENDLESS,
        };
        let result = self.runner.run(trial, &|_| {})?;
        Ok(result.map(|result| Scores {
            dev: result.dev.filter(|_| !result.diverged),
            test: result
                .on_test
                .as_ref()
                .map(|on_test| self.runner.scorer.score(on_test)),
            seconds: result.seconds,
        }))
    }

    fn floor(&self, name: &str) -> Result<Option<Scores>> {
        let began = Instant::now();
        let result = floors::named(&self.runner, &self.whole, name)?;
        Ok(result.map(|result| Scores {
            dev: None,
            test: result
                .on_test
                .as_ref()
                .map(|on_test| self.runner.scorer.score(on_test)),
            seconds: began.elapsed().as_secs_f64(),
        }))
    }
}

/// The usual number of epochs; more where `n` training examples are so few that fewer than [`SEEN`] would be seen, and
/// fewer where more than [`MOST_SEEN`] would be.
fn epochs_at_length(strategy: Strategy, n_layers: usize, n: usize) -> usize {
    let range = epochs(strategy, n_layers);
    let of_many = (MOST_SEEN / n.max(1)).max(FEWEST_OF_MANY);
    let usual = strategy.epochs(n_layers).min(of_many).max(*range.start());
    SEEN.div_ceil(n.max(1))
        .clamp(usual, usual.max(*range.end()))
}

/// The defaults of transformers' example scripts and of its `TrainingArguments`: AdamW at 5e-5 for all layers, linear decay
/// without warm-up, no weight decay, and the last epoch. The batch and the epochs are those of `training`.
fn example_script(mut training: Training) -> Training {
    training.adaptation = Adaptation::Full(Full::new(5e-5));
    training.schedule = Schedule::Linear(schedule::Linear { warmup: 0.0 });
    if let Optimizer::AdamW(adam) = &mut training.optimizer {
        adam.weight_decay = 0.0;
    }
    training.bucketing = Switch::Off;
    training.cache = Cache::Off;
    training.select = Select::Last;
    training
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_the_usual_ones_longer_where_rows_are_few_and_shorter_where_they_are_many() {
        for (strategy, n, expected) in [
            (Strategy::Full, 60_000, 3),
            (Strategy::Full, 4000, 5),
            (Strategy::Full, 425, 8),
            (Strategy::Frozen, 425, 30),
            (Strategy::Gradual, 20_000, 9),
            (Strategy::Gradual, 60_000, 7),
            (Strategy::Lora, 20_000, 10),
            (Strategy::Lora, 60_000, 3),
            (Strategy::Gradual, 425, 11),
        ] {
            assert_eq!(epochs_at_length(strategy, 6, n), expected, "{strategy} {n}");
        }
    }
}
