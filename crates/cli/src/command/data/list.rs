//! `totune data list`.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use totune_data::survey::{Listed, ListedText, listed, listed_text, places_table, texts_table};

use super::AnyCard;
use crate::context::Context;
use crate::print;

/// List every split of every dataset and every text, and whether they were found
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune data list
  totune data list mnli pretraining-wiki --data ~/data
  totune data list --json")]
pub struct List {
    /// Datasets and texts to list [default: all]
    names: Vec<String>,
    /// Print JSON, for programs: every place where a split may be
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        let root = &context.roots.data;
        let (mut all, mut texts) = (Vec::new(), Vec::new());
        for card in AnyCard::all(context, &self.names)? {
            match card {
                AnyCard::Dataset(card) => all.push(listed(&card, root)),
                AnyCard::Text(card) => texts.push(listed_text(&card, root)),
            }
        }
        if self.json {
            let datasets = all.into_iter().map(Entry::Dataset);
            let entries: Vec<Entry> = datasets.chain(texts.into_iter().map(Entry::Text)).collect();
            print::json(&entries)?;
            return AnyCard::broken(context, &self.names);
        }
        let shown = |path: &std::path::Path| match path.strip_prefix(root) {
            Ok(below) => below.display().to_string(),
            Err(_) => context.shown(path),
        };
        let mut found = Vec::new();
        if !all.is_empty() {
            print!("{}", places_table(&all, &shown));
            let splits = || all.iter().flat_map(|dataset| &dataset.splits);
            let there = splits().filter(|split| split.places.iter().any(|place| place.found));
            found.push(format!("{} of {} splits", there.count(), splits().count()));
        }
        if !texts.is_empty() {
            let gap = if all.is_empty() { "" } else { "\n" };
            print!("{gap}Texts for language models\n{}", texts_table(&texts));
            let complete =
                |text: &&ListedText| text.parts.iter().all(|part| part.found == part.files);
            let there = texts.iter().filter(complete);
            found.push(format!("{} of {} texts", there.count(), texts.len()));
        }
        println!(
            "\n{} found; files without a folder of the project lie below {}",
            found.join(" and "),
            root.display()
        );
        AnyCard::broken(context, &self.names)
    }
}

/// JSON entry, in which `kind` distinguishes datasets from texts.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Entry {
    Dataset(Listed),
    Text(ListedText),
}
