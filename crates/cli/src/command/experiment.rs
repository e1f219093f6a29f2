//! `totune experiment new`: a first experiment on a dataset.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use totune_data::{Card, ClassWeights, Task};

use crate::context::Context;
use crate::exit;

/// Experiments of your own
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Example:
  totune experiment new reviews.toml   experiments/reviews/strategies.toml, with three strategies")]
pub enum Experiment {
    New(New),
}

/// Write an experiment that compares strategies on a dataset
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune experiment new disaster-tweets
  totune experiment new reviews --name reviews-strategies --encoder all-minilm-l6-v2
  totune experiment new ../downloads/reviews.toml

Writes experiments/<name>/strategies.toml, in which every key can be changed. Missing keys have the
defaults of [defaults.fine-tune] in experiments/presets.toml. `totune reproduce <name> own` runs it
and writes its page. For an answer without a grid there is `totune compare`.")]
pub struct New {
    /// Name of a dataset, or its card, which is then made known as datasets/<name>.toml
    dataset: String,
    /// Name of the experiments' folder [default: of the dataset]
    #[arg(long)]
    name: Option<String>,
    /// Encoder to compare strategies on
    #[arg(long, value_name = "NAME", default_value = "totune-bert-mini")]
    encoder: String,
}

impl Experiment {
    /// Runs the subcommand.
    pub fn run(self, context: &Context) -> Result<u8> {
        match self {
            Self::New(new) => new.run(context),
        }
    }
}

impl New {
    fn run(self, context: &Context) -> Result<u8> {
        let root = &context.project.root;
        context.project.check()?;
        let card = super::data::card(context, &self.dataset)?;
        context.project.encoders()?.find(&self.encoder)?;
        let name = self.name.unwrap_or_else(|| card.name.clone());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            bail!("--name: found `{name}`, expected lower-case letters, digits and hyphens");
        }
        let folder = root.join("experiments").join(&name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("{}: cannot be made", context.shown(&folder)))?;
        make_known(context, &card)?;
        let path = folder.join("strategies.toml");
        let shown = context.shown(&path);
        let text = text(&card, &name, &self.encoder);
        super::data::write_new(&path, &text)?;
        print!("{text}");
        let project = match &context.global.project {
            Some(project) => format!(" --project {}", project.display()),
            None => String::new(),
        };
        eprintln!("{shown} is written; run it: totune reproduce {name} own{project}");
        Ok(exit::OK)
    }
}

/// Adds a card from elsewhere to `datasets/` of the project, where experiments find it by its name.
fn make_known(context: &Context, card: &Card) -> Result<()> {
    let project = &context.project;
    let file = fs::canonicalize(&card.file)
        .with_context(|| format!("{}: cannot be read", card.file.display()))?;
    let known = project.datasets()?;
    if let Ok(known) = known.find(&card.name)
        && fs::canonicalize(&known.file).is_ok_and(|known| known == file)
    {
        return Ok(());
    }
    let path = project
        .root
        .join("datasets")
        .join(format!("{}.toml", card.name));
    let shown = context.shown(&path);
    // Relative paths stay valid when the whole project is moved.
    let root = fs::canonicalize(&project.root).unwrap_or_else(|_| project.root.clone());
    let target = match file.strip_prefix(&root) {
        Ok(inside) => std::path::Path::new("..").join(inside),
        Err(_) => file,
    };
    let target = target.with_extension("").display().to_string();
    let target = toml::Value::from(target.as_str());
    let text = format!("# What is not here is in this card.\nextends = {target}\n");
    if fs::read_to_string(&path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    super::data::write_new(&path, &text)?;
    eprintln!("{shown} is written; it leads to {}", card.file.display());
    Ok(())
}

/// The content of the experiment file.
fn text(card: &Card, name: &str, encoder: &str) -> String {
    let head = match card.task {
        Task::Tagging => "head = { kind = \"tagger\" }                  # a label for each word\n",
        Task::Classification | Task::MultiLabel | Task::Ordinal | Task::Regression => "",
    };
    let balanced = card.loss.class_weights == ClassWeights::Balanced;
    let weights = if balanced { "balanced" } else { "equal" };
    let smoothing = card.loss.label_smoothing;
    let loss = if card.loss.is_plain() {
        String::new()
    } else {
        format!(
            "loss = {{ class-weights = \"{weights}\", label-smoothing = {smoothing:?} }}  # as in the card\n"
        )
    };
    format!(
        "# Which strategy for {title}? What is not here is in [defaults.fine-tune] of experiments/presets.toml.\n\
         paper = \"{name}\"\n\
         experiment = \"strategies\"\n\
         kind = \"fine-tune\"\n\n\
         datasets = [\"{dataset}\"]\n\
         encoders = [\"{encoder}\"]        # `totune encoders list` names others\n\
         seeds = [1, 2, 3]\n\
         {split}\n\
         {head}{loss}\n\
         arm = [\n    \
         {{ name = \"frozen\", title = \"Frozen encoder\", adaptation = {{ preset = \"frozen\", lr = 1e-3 }}, epochs = 10 }},\n    \
         {{ name = \"last-2\", title = \"Last two layers\", adaptation = {{ preset = \"last-k\", k = 2, lr = 3e-4 }} }},\n    \
         {{ name = \"full\", title = \"All layers\", adaptation = {{ preset = \"full\", lr = 1e-4 }} }},\n\
         ]\n\n\
         [profiles.own]\n",
        title = card.title,
        dataset = card.name,
        split = split(card),
    )
}

/// The split of a dataset into its labelled files; missing ones are held out from `train`.
fn split(card: &Card) -> &'static str {
    let labelled = |split: &&str| card.splits.get(*split).is_none_or(|facts| facts.labelled);
    let there: BTreeSet<&str> = card.split_names().into_iter().filter(labelled).collect();
    match (there.contains("test"), there.contains("dev")) {
        (true, true) => {
            r#"split = { kind = "files", test = "test", dev = 0.0, dev-split = "dev", seed = 13 }"#
        }
        (true, false) => r#"split = { kind = "files", test = "test", dev = 0.1, seed = 13 }"#,
        (false, true) => r#"split = { kind = "files", test = "dev", dev = 0.1, seed = 13 }"#,
        (false, false) => {
            r#"split = { kind = "hold-out", test = 0.2, dev = 0.1, seed = 13, duplicates = "group" }"#
        }
    }
}
