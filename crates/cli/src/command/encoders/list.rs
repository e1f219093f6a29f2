//! `totune encoders list`.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use totune_checkpoint::Format;
use totune_model::EncoderCatalogue;
use totune_stats::number;

use super::roots;
use crate::context::Context;
use crate::exit;
use crate::print;

/// List every encoder card: where its files are found, in which format, and how large it is
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  totune encoders list\n  totune encoders list --encoders ~/models --json"
)]
pub struct List {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// One encoder in the list.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    name: &'a str,
    title: &'a str,
    architecture: String,
    parameters: u64,
    fixture: bool,
    /// Format of the weights; `None` where none are found.
    format: Option<Format>,
    file: Option<String>,
}

impl List {
    pub(super) fn run(self, context: &Context, catalogue: &EncoderCatalogue) -> Result<u8> {
        let mut rows = Vec::new();
        for name in catalogue.names() {
            let card = catalogue.find(name)?;
            let found = card.find(&roots(context, card))?;
            rows.push(Listed {
                name: &card.name,
                title: &card.title,
                architecture: card.architecture.to_string(),
                parameters: card.parameters,
                fixture: card.fixture,
                format: found.as_ref().map(|(_, format, _)| *format),
                file: found.map(|(_, _, file)| context.shown(&file)),
            });
        }
        if self.json {
            print::json(&rows)?;
            return Ok(exit::broken_cards(catalogue.broken()));
        }
        println!("encoders below {}", context.roots.encoders.display());
        let widths = rows.iter().map(|row| row.name.chars().count());
        let width = widths.max().unwrap_or(0);
        for row in rows {
            let format = row
                .format
                .map_or("missing".to_string(), |format| format.to_string());
            let parameters = number::count(row.parameters);
            let file = row.file.as_deref().unwrap_or(row.title);
            println!(
                "  {:<width$}  {:<10}  {parameters:>11}  {format:<11}  {file}",
                row.name, row.architecture
            );
        }
        Ok(exit::broken_cards(catalogue.broken()))
    }
}
