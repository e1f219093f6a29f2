//! `totune data list`.

use anyhow::Result;
use clap::Args;
use totune_data::Catalogue;
use totune_data::survey::{listed, places_table};

use super::print_json;
use crate::context::Context;
use crate::exit;

/// List every split of every dataset, and in which layout it was found
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune data list
  totune data list mnli sick --data ~/data
  totune data list --json")]
pub struct List {
    /// Datasets to list; all when none is named
    names: Vec<String>,
    /// For programs: every place a split may lie in
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        let root = &context.roots.data;
        let cards = if self.names.is_empty() {
            let datasets = Catalogue::read(&context.project.root.join("datasets"))?;
            datasets.cards().to_vec()
        } else {
            let names = self.names.iter();
            names
                .map(|name| super::card(context, name))
                .collect::<Result<_>>()?
        };
        let all: Vec<_> = cards.iter().map(|card| listed(card, root)).collect();
        if self.json {
            print_json(&all)?;
            return Ok(exit::OK);
        }
        let shown = |path: &std::path::Path| match path.strip_prefix(root) {
            Ok(below) => below.display().to_string(),
            Err(_) => context.shown(path),
        };
        print!("{}", places_table(&all, &shown));
        let splits = || all.iter().flat_map(|dataset| &dataset.splits);
        let found = splits().filter(|split| split.places.iter().any(|place| place.found));
        println!(
            "\n{} of {} splits found; files without a folder of the project lie below {}",
            found.count(),
            splits().count(),
            root.display()
        );
        Ok(exit::OK)
    }
}
