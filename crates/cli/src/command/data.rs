//! `totune data`: which datasets and encoders there are, and whether their files are.

use std::path::Path;

use anyhow::Result;
use clap::{Args, Subcommand};
use totune_data::Catalogue;
use totune_model::EncoderCatalogue;

use crate::command::fetch;
use crate::context::Context;
use crate::exit;

/// Datasets and encoders: which there are, and where their files are found
#[derive(Debug, Subcommand)]
pub enum Data {
    List(List),
    Check(Check),
    Fetch(fetch::FetchDatasets),
}

/// List every card, and where its files are found
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  totune data list --data ~/data")]
pub struct List {}

/// Read datasets and verify them against their cards; say what is missing and where to get it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  totune data check\n  totune data check disaster-tweets")]
pub struct Check {
    /// Datasets to check; all when none is named
    pub names: Vec<String>,
}

impl Data {
    /// Lists or checks.
    pub fn run(self, context: &Context) -> Result<u8> {
        match self {
            Self::List(_) => list(context),
            Self::Check(check) => check.run(context),
            Self::Fetch(fetch) => fetch.run(context),
        }
    }
}

fn list(context: &Context) -> Result<u8> {
    println!("datasets below {}", context.roots.data.display());
    let datasets = Catalogue::read(&context.project.root.join("datasets"))?;
    for card in datasets.cards() {
        let place = card.locate(&context.roots.data, "train");
        let place = place.as_ref().map(|(_, path)| path.as_path());
        print_card(context, &card.name, &card.title, place);
    }
    println!("encoders below {}", context.roots.encoders.display());
    let encoders = EncoderCatalogue::read(&context.project.root.join("encoders"))?;
    for name in encoders.names() {
        let card = encoders.find(name)?;
        let place = card.locate(&[context.roots.of_encoder(&context.project, card.fixture)]);
        print_card(context, &card.name, &card.title, place.as_deref());
    }
    Ok(exit::OK)
}

fn print_card(context: &Context, name: &str, title: &str, place: Option<&Path>) {
    let place = place.map_or_else(|| "missing".to_string(), |place| context.shown(place));
    println!("  {name:<20} {title}\n  {:<20} {place}", "");
}

impl Check {
    fn run(self, context: &Context) -> Result<u8> {
        let datasets = Catalogue::read(&context.project.root.join("datasets"))?;
        let names = if self.names.is_empty() {
            datasets.names()
        } else {
            self.names.iter().map(String::as_str).collect()
        };
        let mut code = exit::OK;
        for name in names {
            let card = datasets.find(name)?;
            if let Some(missing) = card.missing(&context.roots.data, &["train"]) {
                println!("{missing}");
                code = exit::SOME_FAILED;
                continue;
            }
            let dataset = card.load(&context.roots.data)?;
            let counts: Vec<String> = dataset
                .labels
                .iter()
                .zip(dataset.counts())
                .map(|(label, count)| format!("{count} {label}"))
                .collect();
            println!(
                "dataset `{name}`: {} examples ({}), {} of them repeat an earlier text",
                dataset.examples.len(),
                counts.join(", "),
                dataset.repeats().rows
            );
        }
        Ok(code)
    }
}
