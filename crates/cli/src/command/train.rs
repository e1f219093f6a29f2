//! `totune train`: one model on a dataset of one's own.

mod rerun;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use totune_adapt::{
    DataFacts, EpochScores, HeadChoice, Outcome, Recipe, StepEvent, Stop, Strategy, Watch,
};
use totune_data::Task;
use totune_keep::{Done, Job, Saved, SavedAs, fit_job, usual_split};
use totune_model::{AnyEncoder, EncoderCatalogue, Pooling};
use totune_sweep::Machine;

use crate::command::data;
use crate::context::Context;
use crate::exit;
use crate::progress::{redraws, style};

/// Train one model on a dataset and keep it
///
/// Where the dataset has files for dev and test with answers, those are used; else a tenth of train is
/// held out as dev, and a fifth as test.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune train reviews.toml --strategy full --save my-model
  totune train fixture-tweets --encoder fixture-bert --strategy last-2 --save my-model
  totune train reviews.toml --strategy frozen --pooling mean --lr 5e-3 --epochs 20
  totune train --run 5f2c9a1be07d4433 --save my-model

`totune data new reviews.csv` writes the card `reviews.toml` of a file. transformers loads the
folder that --save writes, unless the head is one that it lacks (the model card in it says so);
`totune predict` and `totune evaluate` use either.")]
pub struct Train {
    /// Name of a dataset, or its card
    #[arg(required_unless_present = "run")]
    dataset: Option<String>,
    /// Pretrained encoder, as `totune encoders list` names it
    #[arg(long, value_name = "NAME", default_value = ENCODER)]
    encoder: String,
    /// What is trained: frozen, full, last-<k>, two-phase, lora, gradual or bitfit
    #[arg(long, value_name = "STRATEGY", default_value_t = Strategy::Full)]
    strategy: Strategy,
    /// The head: one linear layer, or a hidden layer on the first token (a BiLSTM where words are tagged)
    #[arg(long, value_name = "HEAD", default_value = "simple")]
    head: HeadName,
    /// Peak learning rate [default: one that suits the strategy and the size of the encoder]
    #[arg(long, value_name = "RATE")]
    lr: Option<f64>,
    /// Peak learning rate of the head, where it is another; with two-phase that of the first phase
    #[arg(long, value_name = "RATE")]
    head_lr: Option<f64>,
    /// Passes over the training examples, of all phases [default: 3; 10 where few parameters are trained]
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Examples per step [default: 16]
    #[arg(long, value_name = "N")]
    batch_size: Option<usize>,
    /// Most tokens of an input; longer ones are cut [default: 128]
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Which vector a label is computed from [default: as transformers has it]
    #[arg(long, value_name = "POOLING")]
    pooling: Option<PoolingName>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// New folder for the model
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
    /// Train this run of an experiment again, as its spec says, instead of a dataset
    #[arg(long, value_name = "ID", conflicts_with = "dataset", requires = "save")]
    run: Option<String>,
}

/// The encoder of commands that are told none: the one that comes with the repository.
pub(super) const ENCODER: &str = "totune-bert-mini";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HeadName {
    /// One linear layer, for which transformers has a class
    Simple,
    /// A hidden layer on the first token, or a BiLSTM where words are tagged; only totune loads it
    TaskSpecific,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PoolingName {
    /// What the pretrained pooler makes of the first token
    Pooler,
    /// The first token
    First,
    /// The mean over all tokens
    Mean,
    /// The largest value over all tokens
    Max,
}

impl Train {
    /// Trains, prints the scores and saves the model.
    pub fn run(self, context: &Context) -> Result<u8> {
        if let Some(folder) = &self.save {
            // Before the minutes that training takes.
            totune_keep::check_free(folder)?;
        }
        if let (Some(id), Some(folder)) = (&self.run, &self.save) {
            return rerun::rerun(context, id, folder);
        }
        let dataset = self.dataset.context("clap asks for a dataset or a run")?;
        let path = Path::new(&dataset);
        ensure!(
            !path.is_file() || path.extension().is_some_and(|end| end == "toml"),
            "{dataset}: is a file with rows, expected its card; `totune data new {dataset}` writes one"
        );
        let card = data::card(context, &dataset)?;
        ensure!(
            self.pooling.is_none() || card.task != Task::Tagging,
            "--pooling: words are tagged in `{}`, so there is no vector for a whole text",
            card.name
        );
        let encoders = EncoderCatalogue::read(&context.project.root.join("encoders"))?;
        let encoder = encoders.find(&self.encoder)?;
        let roots = context.roots.of_encoder(&context.project, encoder.fixture);
        let split = usual_split(&card, 13);
        let recipe = Recipe {
            strategy: self.strategy,
            head: match self.head {
                HeadName::Simple => HeadChoice::Simple,
                HeadName::TaskSpecific => HeadChoice::TaskSpecific,
            },
            lr: self.lr,
            head_lr: self.head_lr,
            epochs: self.epochs,
            batch_size: self.batch_size,
            max_length: self.max_length,
            pooling: self.pooling.map(|pooling| match pooling {
                PoolingName::Pooler => Pooling::Pooler,
                PoolingName::First => Pooling::First,
                PoolingName::Mean => Pooling::Mean,
                PoolingName::Max => Pooling::Max,
            }),
        };
        let facts = DataFacts {
            task: card.task,
            n_train: 0,
            has_dev: split.has_dev(),
            length: 128,
        };
        let job = Job {
            training: recipe.training(encoder, &facts)?,
            card: &card,
            data: &context.roots.data,
            split,
            encoder,
            encoders: &roots,
            seed: self.seed,
            cache_budget: context.global.cache_budget << 20,
        };
        let machine = context.machine()?;
        let mut bar = Bar::new(&machine, context.global.quiet);
        let done = fit_job(&job, &machine.device, machine.threads, &mut bar)?;
        bar.bar.finish_and_clear();
        match &done.outcome.stop {
            Stop::Interrupted => {
                eprintln!("interrupted; nothing was saved");
                return Ok(exit::STOPPED);
            }
            Stop::Diverged(divergence) => {
                eprintln!("diverged: {divergence}; nothing was saved. A lower --lr may help");
                return Ok(exit::SOME_FAILED);
            }
            Stop::Epochs | Stop::EarlyStopping | Stop::GeneralisationGap => {}
        }
        print_scores(&done);
        if let Some(folder) = &self.save {
            print_saved(&done.save(&job, folder, &machine.device)?);
        }
        Ok(exit::OK)
    }
}

/// The command that trains what `recipe` says on a dataset, the name of one or the path of its card.
pub(super) fn command(dataset: &str, encoder: &str, recipe: &Recipe) -> String {
    let mut words = vec![
        "totune train".to_string(),
        quoted(dataset),
        format!("--encoder {encoder} --strategy {}", recipe.strategy),
    ];
    if recipe.head == HeadChoice::TaskSpecific {
        words.push("--head task-specific".to_string());
    }
    words.extend(recipe.lr.map(|lr| format!("--lr {lr:e}")));
    words.extend(recipe.epochs.map(|epochs| format!("--epochs {epochs}")));
    words.push("--save my-model".to_string());
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./@+:,".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The scores of the selected epoch.
fn print_scores(done: &Done) {
    let [train, dev, test] = done.sizes;
    println!("train {train}, dev {dev}, test {test} examples");
    print_finals(&done.outcome);
}

/// The scores of the selected epoch, without the sizes of the parts.
fn print_finals(outcome: &Outcome<AnyEncoder>) {
    let scores = outcome.scores.iter();
    for score in scores.filter(|score| score.is_final && score.split != "train") {
        println!("{:<5} {:<20} {:.4}", score.split, score.metric, score.value);
    }
}

/// Where a model was saved, and who loads it.
fn print_saved(saved: &Saved) {
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

/// What is seen of a training: a bar on a terminal, a line for each epoch elsewhere.
struct Bar<'a> {
    machine: &'a Machine,
    bar: ProgressBar,
    quiet: bool,
}

impl<'a> Bar<'a> {
    fn new(machine: &'a Machine, quiet: bool) -> Self {
        let bar = match redraws() && !quiet {
            true => ProgressBar::new(0),
            false => ProgressBar::hidden(),
        };
        bar.set_style(style("{eta} left {bar:20} {pos}/{len} steps {msg}"));
        Self {
            machine,
            bar,
            quiet,
        }
    }
}

impl Watch for Bar<'_> {
    fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
        self.bar.set_length(event.steps as u64);
        self.bar.set_position(event.step as u64);
        self.bar.set_message(format!("loss {:.4}", event.loss));
        match self.machine.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn epoch(&mut self, event: &EpochScores) -> ControlFlow<()> {
        let main = event
            .scores
            .iter()
            .find(|score| matches!(score.split, "dev" | "test") && score.metric != "loss");
        if let (Some(score), false) = (main, self.quiet) {
            let line = format!(
                "epoch {}/{}: {} {} {:.4}",
                event.epoch, event.epochs, score.split, score.metric, score.value
            );
            match redraws() {
                true => self.bar.println(line),
                false => eprintln!("{line}"),
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_is_a_command() {
        let recipe = Recipe {
            lr: Some(2e-4),
            epochs: Some(8),
            ..Recipe::new(Strategy::LastK(2))
        };
        assert_eq!(
            command("reviews.toml", ENCODER, &recipe),
            "totune train reviews.toml --encoder totune-bert-mini --strategy last-2 --lr 2e-4 --epochs 8 --save my-model"
        );
        let recipe = Recipe {
            head: HeadChoice::TaskSpecific,
            ..Recipe::new(Strategy::Frozen)
        };
        assert_eq!(
            command("my data/it's.toml", "minilm", &recipe),
            r"totune train 'my data/it'\''s.toml' --encoder minilm --strategy frozen --head task-specific --save my-model"
        );
    }
}
