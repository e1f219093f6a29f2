//! `totune encoders check`: checkpoints compared with their cards or configurations.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use totune_checkpoint::Format;
use totune_model::{CardCheck, Described, EncoderCard, EncoderCatalogue};
use totune_stats::number;

use super::{roots, weights_at};
use crate::context::Context;
use crate::exit;
use crate::print;

/// Compare checkpoints with their cards: hash, names, shapes and counts, and every difference
///
/// A folder or file of your own is compared with the `config.json` or `options.json` next to its weights; tensors that are not
/// part of the network (the head of a task) are listed. The exit code is 1 if anything differs.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  totune encoders check\n  totune encoders check bert-base-uncased\n  totune encoders check ~/models/mine"
)]
pub struct Check {
    /// Encoders, folders or files [default: all encoders whose files are found]
    #[arg(value_name = "NAME|PATH")]
    names: Vec<String>,

    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// A checkpoint that was checked.
#[derive(Debug, Serialize)]
struct Checked {
    name: String,
    file: Option<String>,
    format: Option<Format>,
    sha256: Option<String>,
    parameters: Option<u64>,
    /// Differences, one per line; empty if there are none.
    differences: Vec<String>,
}

impl Check {
    pub(super) fn run(self, context: &Context, catalogue: &EncoderCatalogue) -> Result<u8> {
        let (mut checked, mut code) = (Vec::new(), exit::OK);
        if self.names.is_empty() {
            code = exit::broken_cards(catalogue.broken());
            for name in catalogue.names() {
                let card = catalogue.find(name)?;
                if let Some((_, _, file)) = card.find(&roots(context, card))? {
                    checked.push(check_card(context, card, &file));
                }
            }
        }
        for name in &self.names {
            checked.push(match catalogue.find(name) {
                Ok(card) => match card.find(&roots(context, card))? {
                    Some((_, _, file)) => check_card(context, card, &file),
                    None => Checked::failed(
                        name,
                        card.missing(&roots(context, card)).unwrap_or_default(),
                    ),
                },
                Err(_) if Path::new(name).exists() => check_own(context, name),
                Err(error) => return Err(error),
            });
        }
        let well = checked.iter().all(|checked| checked.differences.is_empty());
        if self.json {
            print::json(&checked)?;
        } else if checked.is_empty() {
            println!(
                "no encoder is found below {}; `totune encoders list` shows which there are",
                context.roots.encoders.display()
            );
        } else {
            checked.iter().for_each(Checked::print);
        }
        Ok(if well { code } else { exit::SOME_FAILED })
    }
}

fn check_card(context: &Context, card: &EncoderCard, file: &Path) -> Checked {
    match card.check(file) {
        Ok(check) => Checked::new(&card.name, &context.shown(file), check),
        Err(error) => Checked::failed(&card.name, format!("{error:#}")),
    }
}

/// A checkpoint without a card, compared with the configuration next to it.
fn check_own(context: &Context, name: &str) -> Checked {
    let check = || -> Result<Checked> {
        let path = weights_at(Path::new(name))?;
        let described = Described::beside(&path)?;
        let check = described.check(&path)?;
        Ok(Checked::new(name, &context.shown(&path), check))
    };
    check().unwrap_or_else(|error| Checked::failed(name, format!("{error:#}")))
}

impl Checked {
    fn new(name: &str, file: &str, check: CardCheck) -> Self {
        Self {
            name: name.to_string(),
            file: Some(file.to_string()),
            format: Some(check.format),
            parameters: Some(check.parameters),
            differences: check.lines(),
            sha256: Some(check.hash),
        }
    }

    fn failed(name: &str, why: String) -> Self {
        Self {
            name: name.to_string(),
            file: None,
            format: None,
            sha256: None,
            parameters: None,
            differences: vec![why],
        }
    }

    fn print(&self) {
        /// Maximum number of printed differences; more than a screen only shows that it is another checkpoint.
        const MOST: usize = 40;
        let verdict = match self.differences.len() {
            0 => "agrees".to_string(),
            1 => "1 difference".to_string(),
            n => format!("{n} differences"),
        };
        println!("{}: {verdict}", self.name);
        if let (Some(file), Some(format)) = (&self.file, self.format) {
            println!("  file        {file} ({format})");
        }
        if let (Some(hash), Some(parameters)) = (&self.sha256, self.parameters) {
            println!(
                "  sha-256     {hash}\n  parameters  {}",
                number::count(parameters)
            );
        }
        if self.differences.is_empty() {
            return;
        }
        println!("  differs:");
        for line in self.differences.iter().take(MOST) {
            println!("    {line}");
        }
        if self.differences.len() > MOST {
            println!("    and {} more", self.differences.len() - MOST);
        }
    }
}
