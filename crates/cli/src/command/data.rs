//! `totune data`: which datasets there are, whether their files are what their cards say, and what is in them.

mod check;
mod list;
mod new;
mod show;
mod stats;

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Subcommand;
use totune_data::{Card, Catalogue, Tokenizer};
use totune_model::EncoderCatalogue;

use crate::command::fetch;
use crate::context::Context;

/// Datasets: which there are, whether their files match their cards, and what is in them
#[derive(Debug, Subcommand)]
pub enum Data {
    List(list::List),
    Check(check::Check),
    Stats(stats::Stats),
    Show(show::Show),
    New(new::New),
    Fetch(fetch::FetchDatasets),
}

impl Data {
    /// Does what was asked.
    pub fn run(self, context: &Context) -> Result<u8> {
        match self {
            Self::List(list) => list.run(context),
            Self::Check(check) => check.run(context),
            Self::Stats(stats) => stats.run(context),
            Self::Show(show) => show.run(context),
            Self::New(new) => new.run(context),
            Self::Fetch(fetch) => fetch.run(context),
        }
    }
}

/// The card called `name`, or the card at that path.
fn card(context: &Context, name: &str) -> Result<Card> {
    let path = Path::new(name);
    if path.extension().is_some_and(|end| end == "toml") || path.components().count() > 1 {
        return Card::read(path);
    }
    let datasets = Catalogue::read(&context.project.root.join("datasets"))?;
    datasets.find(name).cloned()
}

/// Which tokenizer to cut texts with.
#[derive(Debug, clap::Args)]
struct Wordpieces {
    /// Encoder whose tokenizer cuts the texts
    #[arg(long, value_name = "NAME")]
    encoder: Option<String>,
    /// Folder with a `tokenizer.json` or a `vocab.txt`, instead of an encoder
    #[arg(long, value_name = "FOLDER", conflicts_with = "encoder")]
    vocabulary: Option<std::path::PathBuf>,
    /// With a bare `vocab.txt`: keep upper case and accents
    #[arg(long, requires = "vocabulary")]
    cased: bool,
}

impl Wordpieces {
    fn open(&self, context: &Context) -> Result<Option<Tokenizer>> {
        if let Some(folder) = &self.vocabulary {
            return Tokenizer::open(folder, !self.cased).map(Some);
        }
        let Some(name) = &self.encoder else {
            return Ok(None);
        };
        let encoders = EncoderCatalogue::read(&context.project.root.join("encoders"))?;
        let card = encoders.find(name)?;
        let roots = [context.roots.of_encoder(&context.project, card.fixture)];
        let Some(folder) = card.locate(&roots) else {
            let missing = card.missing(&roots);
            bail!(missing.unwrap_or_else(|| format!("encoder `{name}` is gone")));
        };
        Tokenizer::open(&folder, card.vocabulary.lowercase).map(Some)
    }
}

/// The splits of `card` that are there, or the one that was asked for.
fn splits<'a>(context: &Context, card: &'a Card, wanted: Option<&'a str>) -> Result<Vec<String>> {
    let root = &context.roots.data;
    if let Some(split) = wanted {
        return Ok(vec![split.to_string()]);
    }
    let listed = totune_data::survey::listed(card, root);
    let there = listed
        .splits
        .into_iter()
        .filter(|split| split.places.iter().any(|place| place.found));
    let names: Vec<String> = there.map(|split| split.split).collect();
    if names.is_empty() {
        let all: Vec<&str> = card.split_names().into_iter().collect();
        bail!(card.missing(root, &all).context("a card without files")?);
    }
    Ok(names)
}

/// Columns of a line on this terminal, or 100 where the text goes elsewhere.
fn columns() -> usize {
    let asked = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked.or_else(terminal).unwrap_or(100).clamp(40, 240)
}

/// Prints `value` as JSON.
fn print_json(value: &impl serde::Serialize) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

fn at_least_one(n: usize, option: &str) -> Result<()> {
    ensure!(n > 0, "{option}: 0; expected at least 1");
    Ok(())
}
