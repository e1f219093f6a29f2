//! `totune data overlap`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use totune_data::ngrams::{Overlap, WORDS, overlap_markdown, overlap_table};
use totune_data::survey::listed;
use totune_data::{Card, Dataset, TextCard};
use totune_model::EncoderCard;

use super::texts;
use crate::context::Context;
use crate::exit;
use crate::print;

/// Count the rows of evaluation data that share an n-gram of words with a text, or with an encoder's training data
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune data overlap pretraining-wiki
  totune data overlap pretraining-wiki pretraining-news mrpc rte
  totune data overlap --pretraining --out overlap.md     all texts to pre-train on, all datasets
  totune data overlap all-minilm-l6-v2 mrpc rte          the training data of an encoder
  totune data overlap fixture-prose fixture-tweets --n 3

A word is a lower-cased run of letters or digits; an n-gram is n words in a row of one text. Every
split that is there is read; a row counts if one of its n-grams is in a paragraph of the text's
training files. Of datasets that are not named, splits whose files are not what the card says are
left out with a note.

Of an encoder the texts and the training splits of the datasets that its card lists under
`trained-on` are read, as far as they are there; what is not is named.")]
pub struct OverlapOf {
    /// Texts, encoders and datasets [default for datasets: all that are found]
    #[arg(required_unless_present = "pretraining")]
    names: Vec<String>,
    /// All pre-training texts: those whose names start with `pretraining-`
    #[arg(long)]
    pretraining: bool,
    /// Words of an n-gram; several numbers give several tables
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [WORDS as u16], value_parser = clap::value_parser!(u16).range(1..))]
    n: Vec<u16>,
    /// Write the tables into this Markdown file as well
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON, for programs: every split by itself
    #[arg(long)]
    json: bool,
}

/// Texts and datasets that are compared.
struct Cards {
    texts: Vec<TextCard>,
    datasets: Vec<Card>,
    /// Training splits that encoders were trained on, by name.
    trained_on: Vec<(String, Dataset)>,
}

/// Training data from the cards of encoders, as far as it is on this machine.
#[derive(Default)]
struct TrainingData {
    texts: Vec<TextCard>,
    /// Training splits of datasets.
    rows: Vec<(String, Dataset)>,
    /// All that each encoder's card lists.
    listed_by: Vec<(String, Vec<String>)>,
}

impl TrainingData {
    /// Adds the training data of an encoder, and reports the missing parts.
    fn read(&mut self, context: &Context, encoder: &EncoderCard) -> Result<()> {
        let root = &context.roots.data;
        let known = texts(context)?;
        let datasets = context.project.datasets()?;
        ensure!(
            !encoder.trained_on.is_empty(),
            "encoder `{}`: its card lists no training data (`trained-on`)",
            encoder.name
        );
        let mut absent = Vec::new();
        for name in &encoder.trained_on {
            if known.names().contains(&name.as_str()) {
                let card = known.find(name)?;
                match card.missing(root) {
                    None => self.texts.push(card.clone()),
                    Some(_) => absent.push(name.as_str()),
                }
            } else if datasets.names().contains(&name.as_str()) {
                let card = datasets.find(name)?;
                let there = card.split_names().contains("train")
                    && card.missing(root, &["train"]).is_none();
                match there.then(|| card.load_split(root, "train")) {
                    Some(Ok(rows)) => self.rows.push((format!("{name} train"), rows)),
                    // For example a part of it under the name of the whole.
                    Some(Err(error)) => eprintln!("left out {name} train: {error:#}"),
                    None => absent.push(name.as_str()),
                }
            } else {
                absent.push(name.as_str());
            }
        }
        if !absent.is_empty() {
            eprintln!(
                "{} was also trained on what is not at hand: {}",
                encoder.name,
                absent.join(", ")
            );
        }
        self.listed_by
            .push((encoder.name.clone(), encoder.trained_on.clone()));
        Ok(())
    }
}

impl OverlapOf {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        let root = &context.roots.data;
        let Cards {
            texts,
            datasets,
            trained_on,
        } = self.cards(context)?;
        let missing = texts.iter().find_map(|card| card.missing(root));
        if let Some(missing) = missing {
            bail!(missing);
        }
        let datasets = self.load(context, &datasets)?;
        let mut reports = Vec::new();
        for &n in &self.n {
            let mut overlap = Overlap::new(usize::from(n));
            datasets
                .iter()
                .for_each(|(split, dataset)| overlap.add(split, dataset));
            reports.push(overlap.report_with(&texts, &trained_on, root)?);
        }
        if self.json {
            print::json(&reports)?;
        } else {
            let tables: Vec<String> = reports.iter().map(overlap_table).collect();
            print!("{}", tables.join("\n"));
        }
        if let Some(out) = &self.out {
            let page = overlap_markdown(&reports, &self.command());
            if let Some(folder) = out.parent() {
                fs::create_dir_all(folder)
                    .with_context(|| format!("{}: cannot be made", folder.display()))?;
            }
            fs::write(out, page)
                .with_context(|| format!("{}: cannot be written", out.display()))?;
            eprintln!("{}", context.shown(out));
        }
        Ok(exit::OK)
    }

    /// Every existing split, with its name. One that differs from its card is an error if its dataset was named, and is
    /// left out with a note if not.
    fn load(&self, context: &Context, cards: &[Card]) -> Result<Vec<(String, Dataset)>> {
        let root = &context.roots.data;
        let mut loaded = Vec::new();
        for card in cards {
            for split in listed(card, root).splits {
                if !split.places.iter().any(|place| place.found) {
                    continue;
                }
                match card.load_split(root, &split.split) {
                    Ok(dataset) => loaded.push((split.split, dataset)),
                    Err(error) if self.names.contains(&card.name) => return Err(error),
                    Err(error) => eprintln!("left out {} {}: {error:#}", card.name, split.split),
                }
            }
        }
        Ok(loaded)
    }

    /// The texts, the datasets of which a split exists, and the training data of encoders.
    fn cards(&self, context: &Context) -> Result<Cards> {
        let encoders = context.project.encoders()?;
        let mut training = TrainingData::default();
        let known = texts(context)?;
        let mut found: Vec<TextCard> = Vec::new();
        if self.pretraining {
            let all = known.cards().iter().cloned();
            found.extend(all.filter(|card| card.name.starts_with("pretraining-")));
        }
        let (mut datasets, mut named) = (Vec::new(), Vec::new());
        for name in &self.names {
            if encoders.names().contains(&name.as_str()) {
                named.push(encoders.find(name)?);
                continue;
            }
            match super::AnyCard::find(context, name)? {
                super::AnyCard::Text(card) => found.push(*card),
                super::AnyCard::Dataset(card) => datasets.push(*card),
            }
        }
        // Reading takes a while and reports missing files, so all names are checked first.
        for encoder in named {
            training.read(context, encoder)?;
        }
        let TrainingData {
            texts,
            rows: trained_on,
            listed_by,
        } = training;
        found.extend(texts);
        ensure!(
            !found.is_empty() || !trained_on.is_empty() || listed_by.is_empty(),
            "nothing of the training data of {} is at hand",
            self.names.join(", ")
        );
        ensure!(
            !found.is_empty() || !trained_on.is_empty(),
            "no text or encoder is named; expected one of {}, or --pretraining",
            known.names().join(", ")
        );
        let there = |card: &Card| {
            let splits = listed(card, &context.roots.data).splits;
            let mut places = splits.iter().flat_map(|split| &split.places);
            places.any(|place| place.found)
        };
        if datasets.is_empty() {
            let all = context.project.datasets()?;
            exit::broken_cards(all.broken());
            let wanted = |card: &&Card| !card.fixture && there(card);
            datasets.extend(all.cards().iter().filter(wanted).cloned());
            ensure!(
                !datasets.is_empty(),
                "no dataset was found below {}; `totune data list` says where each would lie",
                context.roots.data.display()
            );
        } else if let Some(card) = datasets.iter().find(|card| !there(card)) {
            let splits: Vec<&str> = card.split_names().into_iter().collect();
            let missing = card.missing(&context.roots.data, &splits);
            bail!(missing.context("a dataset without files")?);
        }
        for (encoder, card) in &listed_by {
            for dataset in datasets
                .iter()
                .filter(|dataset| card.contains(&dataset.name))
            {
                eprintln!(
                    "{} is in the training data of {encoder}, by its card",
                    dataset.name
                );
            }
        }
        Ok(Cards {
            texts: found,
            datasets,
            trained_on,
        })
    }

    /// The command that recreates the page.
    fn command(&self) -> String {
        let mut words = vec!["totune data overlap".to_string()];
        words.extend(self.names.iter().cloned());
        if self.pretraining {
            words.push("--pretraining".into());
        }
        if self.n != [WORDS as u16] {
            let n: Vec<String> = self.n.iter().map(u16::to_string).collect();
            words.push(format!("--n {}", n.join(",")));
        }
        if let Some(out) = &self.out {
            words.push(format!("--out {}", out.display()));
        }
        words.join(" ")
    }
}
