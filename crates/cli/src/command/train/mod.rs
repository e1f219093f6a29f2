//! `totune train`: one model on a dataset of the user's own.

pub(super) mod fit;
mod learned;
pub(super) mod options;
mod rerun;
pub(super) mod summary;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use totune_adapt::{Dtype, HeadChoice, Recipe, Strategy, Switch};
use totune_data::{Card, Files, Pairs, Split, Task};
use totune_disk::quoted_for_shell;
use totune_model::Pooling;
use totune_sweep::{Inputs, RunSpec, TuneWork, Work};

use self::fit::{Job, Origin, Output};
use self::options::{OPTIONS, as_options};
use crate::command::data::{self, hints::HintArgs};
use crate::context::Context;
use crate::progress::Curves;

/// Train one model on a dataset and keep it
///
/// Where the dataset has labelled files for dev and test, those are used; else 15 % of train (at most
/// 1,000 examples) are held out as dev, and 20 % (at most 2,000) as test, as in `totune compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune train reviews.csv --strategy full --save my-model
  totune train fixture-tweets --encoder fixture-bert --strategy last-2 --save my-model
  totune train reviews.toml --strategy frozen --pooling mean --lr 5e-3 --epochs 20
  totune train reviews.toml --strategy lora --save my-model --adapter
  totune train fixture-similarity --pairs separate --save my-model
  totune train --run 5f2c9a1be07d4433 --save my-model

A file gets a card, `reviews.toml`, as with `totune data new`. transformers loads the
folder that --save writes, unless the head is one that it lacks (the model card in it says so);
`totune predict` and `totune evaluate` use either.")]
pub struct Train {
    /// File with labelled rows, card, or name of a dataset
    #[arg(required_unless_present = "run")]
    dataset: Option<String>,
    /// Pretrained encoder, as `totune encoders list` names it
    #[arg(long, value_name = "NAME", default_value = ENCODER)]
    encoder: String,
    /// Strategy: frozen, full, last-<k>, two-phase, lp-ft, lora, gradual, bitfit, adapters, prefix-tuning or auto-freeze
    #[arg(long, value_name = "STRATEGY", default_value_t = Strategy::Full)]
    strategy: Strategy,
    /// The head: one linear layer, or a hidden layer on the first token (a BiLSTM where words are tagged)
    #[arg(long, value_name = "HEAD", default_value = "simple")]
    head: HeadName,
    /// Peak learning rate [default: one that suits the strategy and the size of the encoder]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    lr: Option<f64>,
    /// Peak learning rate of the head, where it is another; with two-phase that of the first phase
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    head_lr: Option<f64>,
    /// Passes over the training examples, of all phases [default: 3; two-phase and auto-freeze 4; gradual the layers
    /// and 3; frozen, lora, bitfit, adapters and prefix-tuning 10; and so many that 2,000 examples are seen]
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Examples per step [default: 16; 32 from 5,000 training examples on]
    #[arg(long, value_name = "N")]
    batch_size: Option<usize>,
    /// Maximum number of tokens of an input; longer ones are truncated [default: that of 99 % of inputs, at most 256
    /// and what the encoder reads, 128 with the default one]
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Pooling into the vector that labels are computed from [default: that of transformers]
    #[arg(long, value_name = "POOLING")]
    pooling: Option<PoolingName>,
    /// Encoding of the two texts of a pair [default: joint]
    #[arg(long, value_name = "ENCODING")]
    pairs: Option<PairsName>,
    /// Dtype of the arithmetic
    #[arg(long, value_name = "DTYPE", default_value = "f32")]
    dtype: DtypeName,
    /// Begin again with another seed, at most so many times, where training diverges or is no better on dev than the
    /// most frequent label or the mean
    #[arg(long, value_name = "N", default_value_t = 0)]
    restarts: usize,
    /// Compute inner results of layers a second time instead of keeping them: less memory for long texts, the same model
    #[arg(long)]
    gradient_checkpointing: bool,
    /// Seed of everything random
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    seed: u64,
    /// New folder for the model
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
    /// Also write the updates of `--strategy lora` in PEFT's format, into the folder `adapter` in FOLDER
    #[arg(long, requires = "save")]
    adapter: bool,
    /// Print the scores and the saved model as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    curves: Curves,
    /// Train this run of an experiment again, as its spec says, instead of a dataset
    #[arg(long, value_name = "ID", conflicts_with_all = OF_A_DATASET, requires = "save")]
    run: Option<String>,
    #[command(flatten)]
    hints: HintArgs,
}

/// Options whose place the spec of a run takes.
const OF_A_DATASET: [&str; 16] = [
    "dataset",
    "HintArgs",
    "encoder",
    "strategy",
    "head",
    "lr",
    "head_lr",
    "epochs",
    "batch_size",
    "max_length",
    "pooling",
    "pairs",
    "dtype",
    "restarts",
    "gradient_checkpointing",
    "seed",
];

/// Default encoder of commands: the one that comes with the repository.
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
    /// The output of the pretrained pooler for the first token
    Pooler,
    /// The first token
    First,
    /// The mean over all tokens
    Mean,
    /// The largest value over all tokens
    Max,
}

/// Encoding of the two texts of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PairsName {
    /// Both texts as one input, so that every layer relates them
    Joint,
    /// Each text by itself; the head compares their vectors. Only totune loads the model
    Separate,
}

/// Dtype of the arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DtypeName {
    /// 32-bit floats throughout
    F32,
    /// The encoder's matrix products in bfloat16, everything else in f32: faster on some processors and on GPUs
    Bf16Mixed,
}

impl From<DtypeName> for Dtype {
    fn from(name: DtypeName) -> Self {
        match name {
            DtypeName::F32 => Self::F32,
            DtypeName::Bf16Mixed => Self::Bf16Mixed,
        }
    }
}

/// The encoding of pairs of an option.
///
/// # Errors
/// When the dataset has single texts.
pub(super) fn pairs(name: Option<PairsName>, card: &Card) -> Result<Option<Pairs>> {
    ensure!(
        name.is_none() || card.is_of_pairs(),
        "--pairs: `{}` has single texts, expected pairs of texts",
        card.name
    );
    Ok(name.map(|name| match name {
        PairsName::Separate => Pairs::Separate,
        PairsName::Joint => Pairs::Joint,
    }))
}

impl Train {
    /// Trains, prints the scores and saves the model.
    pub fn run(self, context: &Context) -> Result<u8> {
        let output = Output {
            curves: &self.curves,
            adapter: switch(self.adapter),
            json: self.json,
        };
        if let Some(folder) = &self.save {
            // Checked before the minutes that training takes.
            totune_keep::check_free(folder)?;
        } else {
            context.note(["without --save the model is not kept, only scored".to_string()]);
        }
        if let (Some(id), Some(folder)) = (&self.run, &self.save) {
            return rerun::rerun(context, id, folder, output);
        }
        let dataset = self
            .dataset
            .as_ref()
            .context("clap asks for a dataset or a run")?;
        // Before the card of a file is written.
        let encoders = context.project.encoders()?;
        let encoder = encoders.find(&self.encoder)?;
        let card = data::card_of(context, dataset, &self.hints.hints())?;
        ensure!(
            self.pooling.is_none() || card.task != Task::Tagging,
            "--pooling: words are tagged in `{}`, so there is no vector for a whole text",
            card.name
        );
        let pairs = pairs(self.pairs, &card)?.unwrap_or_default();
        let machine = context.machine()?;
        let (asked, most) = (self.max_length, encoder.architecture.max_length());
        if let Some(asked) = asked.filter(|asked| *asked > most && !context.global.quiet) {
            eprintln!(
                "--max-length {asked}: `{}` reads {most} tokens at most",
                encoder.name
            );
        }
        let files = card.labelled_files(&context.roots.data)?;
        context.note(files.notes().into_iter().chain(files.repeats_note()));
        let (train, splits) = (files.train.clone(), files.splits()?);
        let activations = tempfile::tempdir().context("cannot make a temporary folder")?;
        let inputs = Inputs::of(
            context.environment(&machine),
            [
                ("train".to_string(), splits.train),
                ("dev".to_string(), splits.dev),
                ("test".to_string(), splits.test),
            ],
            std::slice::from_ref(&encoder.name),
            activations.path(),
        )?;
        context.note(inputs.unknown_note(&card.name, encoder)?);
        let training = self
            .recipe(pairs)
            .training(encoder, &inputs.facts(&card.name, encoder)?)
            .map_err(|error| as_options(error, &OPTIONS))?;
        if output.adapter.is_on() {
            totune_keep::check_adapter(&encoder.architecture, &training, card.task)?;
        }
        let work = Work::Tune(Box::new(TuneWork {
            encoder: encoder.name.clone(),
            training,
        }));
        let split = Split::Files(Files::whole("test", Some("dev")));
        let arm = self.strategy.to_string();
        let origin = Origin {
            spec: &RunSpec::unlisted(&arm, (&card.name, split), self.seed, work),
            is_listed: false,
            card: &card,
            train: &train,
            hash: &train.hash,
            encoder,
        };
        let job = Job {
            inputs: &inputs,
            origin,
            output,
        };
        job.run(context, &machine, self.save.as_deref())
    }

    /// The recipe of these options.
    fn recipe(&self, pairs: Pairs) -> Recipe {
        Recipe {
            pairs,
            dtype: self.dtype.into(),
            restarts: self.restarts,
            gradient_checkpointing: switch(self.gradient_checkpointing),
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
        }
    }
}

/// The switch of a setting that a flag turns on.
fn switch(is_on: bool) -> Switch {
    if is_on { Switch::On } else { Switch::Off }
}

/// The command that trains with `recipe` on a dataset, given by its name or the path of its card.
pub(super) fn command(dataset: &str, encoder: &str, recipe: &Recipe) -> String {
    let mut words = vec![
        "totune train".to_string(),
        quoted_for_shell(dataset),
        format!("--encoder {encoder} --strategy {}", recipe.strategy),
    ];
    if recipe.head == HeadChoice::TaskSpecific {
        words.push("--head task-specific".to_string());
    }
    if !recipe.pairs.is_joint() {
        words.push("--pairs separate".to_string());
    }
    if recipe.dtype != Dtype::F32 {
        words.push(format!("--dtype {}", recipe.dtype.label()));
    }
    words.extend(recipe.lr.map(|lr| format!("--lr {lr:e}")));
    words.extend(recipe.epochs.map(|epochs| format!("--epochs {epochs}")));
    words.push("--save my-model".to_string());
    words.join(" ")
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
            pairs: Pairs::Separate,
            dtype: Dtype::Bf16Mixed,
            ..Recipe::new(Strategy::Frozen)
        };
        assert_eq!(
            command("my data/it's.toml", "minilm", &recipe),
            r"totune train 'my data/it'\''s.toml' --encoder minilm --strategy frozen --head task-specific --pairs separate --dtype bf16-mixed --save my-model"
        );
    }
}
