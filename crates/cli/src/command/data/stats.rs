//! `totune data stats`.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};
use clap::Args;
use totune_data::survey::{
    Count, LIMITS, Statistics, TargetCounts, TextStatistics, overlaps, statistics_text,
    text_statistics_text,
};
use totune_data::{Card, TextCard, TextPart};
use totune_report::dataset_figure::{self, DatasetFigure, SplitFigure};

use super::{AnyCard, Wordpieces, columns};
use crate::context::Context;
use crate::exit;
use crate::print;

/// Count rows, labels, lengths, duplicates and train-test overlap; for a text, words and vocabulary
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune data stats fixture-tweets --encoder fixture-bert
  totune data stats mnli --encoder all-minilm-l6-v2 --figure mnli.png
  totune data stats reviews.toml --vocabulary ~/bert --json
  totune data stats pretraining-wiki

Of a text, words are counted and not wordpieces, and its splits are `train` and `held-out`.")]
pub struct Stats {
    /// Dataset or text, or path of a card
    name: String,
    #[command(flatten)]
    wordpieces: Wordpieces,
    /// Only this split [default: all that are found, and their overlap]
    #[arg(long)]
    split: Option<String>,
    /// Draw lengths and labels into this .svg or .png
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// Print JSON, for programs: everything that was counted
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        match AnyCard::find(context, &self.name)? {
            AnyCard::Dataset(card) => self.of_dataset(context, &card),
            AnyCard::Text(card) => self.of_text(context, &card),
        }
    }

    fn of_text(self, context: &Context, card: &TextCard) -> Result<u8> {
        ensure!(
            self.figure.is_none(),
            "--figure: `{}` is a text; expected a dataset, since only those are drawn",
            card.name
        );
        ensure!(
            !self.wordpieces.is_asked_for(),
            "--encoder, --vocabulary: `{}` is a text; expected a dataset, since only those are encoded",
            card.name
        );
        let root = &context.roots.data;
        if let Some(missing) = card.missing(root) {
            return Err(anyhow!(missing));
        }
        let parts = match self.split.as_deref() {
            None => vec![TextPart::Train, TextPart::HeldOut],
            Some("train") => vec![TextPart::Train],
            Some("held-out") => vec![TextPart::HeldOut],
            Some(split) => {
                bail!("--split: `{split}`; expected `train` or `held-out`, the splits of a text")
            }
        };
        let mut statistics: Vec<TextStatistics> = Vec::new();
        for part in parts {
            if self.split.is_none() && card.files_of(part).next().is_none() {
                continue;
            }
            let documents = match part {
                TextPart::Train => card.documents(root)?,
                TextPart::HeldOut => card.held_out(root)?,
            };
            let mut counted = TextStatistics::of(&card.name, part, &documents);
            if let Some(train) = statistics.first() {
                counted.against(train);
            }
            statistics.push(counted);
        }
        if self.json {
            print::json(&serde_json::json!({ "parts": statistics }))?;
        } else {
            print!("{}", text_statistics_text(&statistics));
        }
        Ok(exit::OK)
    }

    fn of_dataset(self, context: &Context, card: &Card) -> Result<u8> {
        let folder = self.figure.as_deref().and_then(Path::parent);
        if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            // Before the counts, which take a while.
            ensure!(
                folder.is_dir(),
                "--figure: found no folder `{}`, expected a file name in one that exists",
                folder.display()
            );
        }
        let tokenizer = self.wordpieces.open(context)?;
        let names = super::splits(context, card, self.split.as_deref())?;
        let mut datasets = Vec::new();
        for split in names {
            let dataset = card.load_split(&context.roots.data, &split)?;
            datasets.push((split, dataset));
        }
        let statistics = datasets
            .iter()
            .map(|(split, dataset)| {
                Statistics::of(dataset, split, tokenizer.as_ref(), context.threads())
            })
            .collect::<Result<Vec<_>>>()?;
        let shared = overlaps(&datasets);
        if let Some(path) = &self.figure {
            picture(&card.name, card.fixture, &statistics).write(path)?;
        }
        if self.json {
            print::json(&serde_json::json!({ "splits": statistics, "overlaps": shared }))?;
        } else {
            print!("{}", statistics_text(&statistics, &shared, columns()));
        }
        if let Some(path) = &self.figure {
            eprintln!("{}", path.display());
        }
        Ok(exit::OK)
    }
}

fn pairs(counts: &[Count]) -> Vec<(String, usize)> {
    let counts = counts.iter();
    counts
        .map(|count| (count.label.clone(), count.count))
        .collect()
}

fn picture(name: &str, fixture: bool, statistics: &[Statistics]) -> DatasetFigure {
    let pieces = statistics.iter().all(|split| split.pieces.is_some());
    let split = |split: &Statistics| {
        let spread = split
            .pieces
            .as_ref()
            .map_or(&split.words, |pieces| &pieces.spread);
        SplitFigure {
            split: split.split.clone(),
            lengths: spread.histogram.clone(),
            answers: match &split.answers {
                TargetCounts::Labels(counts) => dataset_figure::Targets::Labels {
                    counts: pairs(counts),
                    rows: split.rows - split.unlabelled,
                },
                TargetCounts::Spans(counts) => dataset_figure::Targets::Spans(pairs(counts)),
                TargetCounts::Scores { values, .. } => {
                    dataset_figure::Targets::Scores(values.clone())
                }
            },
        }
    };
    DatasetFigure {
        name: name.to_string(),
        unit: if pieces { "wordpieces" } else { "words" }.to_string(),
        limits: if pieces { LIMITS.to_vec() } else { vec![] },
        splits: statistics.iter().map(split).collect(),
        stamp: fixture.then(|| "FIXTURE: synthetic data".to_string()),
    }
}
