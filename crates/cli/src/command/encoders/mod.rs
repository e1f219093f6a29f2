//! `totune encoders`: the pretrained encoders, cards of new ones, checks of their files, and conversion to safetensors.

mod new;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use totune_checkpoint::{Checkpoint, Conversion, Dtype, Format};
use totune_model::{CardCheck, Described, EncoderCard, EncoderCatalogue};

use crate::command::fetch;
use crate::context::Context;
use crate::exit;

/// Pretrained encoders: list, fetch, check and convert them, and write cards for your own
#[derive(Debug, Subcommand)]
pub enum Encoders {
    List(List),
    Fetch(fetch::FetchEncoders),
    New(new::New),
    Check(Check),
    Convert(Convert),
}

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

/// Write any checkpoint as safetensors, with its configuration and tokenizer
///
/// Reads safetensors, PyTorch, TensorFlow and HDF5 files, whole or in shards. The new folder appears whole or not at all.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  totune encoders convert ~/models/uncased_L-12_H-768_A-12 --to ~/models/bert\n  totune encoders convert elmo-original --to elmo-original-f16 --dtype f16"
)]
pub struct Convert {
    /// An encoder, a folder with a checkpoint, or its file
    #[arg(value_name = "NAME|PATH")]
    from: String,

    /// New folder
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,

    /// Data type of the file; f16 and bf16 halve it, and f16 refuses numbers out of its range
    #[arg(long, value_enum, default_value_t = Precision::F32)]
    dtype: Precision,
}

/// Data type of stored numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Precision {
    F32,
    F16,
    Bf16,
}

impl Encoders {
    /// Lists, fetches, drafts, checks or converts.
    pub fn run(self, context: &Context) -> Result<u8> {
        let catalogue = context.project.encoders()?;
        match self {
            Self::List(list) => list.run(context, &catalogue),
            Self::Fetch(fetch) => fetch.run(context),
            Self::New(new) => new.run(context),
            Self::Check(check) => check.run(context, &catalogue),
            Self::Convert(convert) => convert.run(context, &catalogue),
        }
    }
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
    fn run(self, context: &Context, catalogue: &EncoderCatalogue) -> Result<u8> {
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
            println!("{}", serde_json::to_string_pretty(&rows)?);
            return Ok(exit::broken_cards(catalogue.broken()));
        }
        println!("encoders below {}", context.roots.encoders.display());
        let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        for row in rows {
            let format = row
                .format
                .map_or("missing".to_string(), |format| format.to_string());
            let parameters = grouped(row.parameters);
            let file = row.file.as_deref().unwrap_or(row.title);
            println!(
                "  {:<width$}  {:<10}  {parameters:>11}  {format:<11}  {file}",
                row.name, row.architecture
            );
        }
        Ok(exit::broken_cards(catalogue.broken()))
    }
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
    fn run(self, context: &Context, catalogue: &EncoderCatalogue) -> Result<u8> {
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
            println!("{}", serde_json::to_string_pretty(&checked)?);
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
                grouped(parameters)
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

impl Convert {
    fn run(self, context: &Context, catalogue: &EncoderCatalogue) -> Result<u8> {
        let file = match catalogue.find(&self.from) {
            Ok(card) => match card.find(&roots(context, card))? {
                Some((_, _, file)) => file,
                None => anyhow::bail!(card.missing(&roots(context, card)).unwrap_or_default()),
            },
            Err(error) => {
                let path = Path::new(&self.from);
                let is_path = path.exists() || path.components().count() > 1;
                if !is_path {
                    return Err(error);
                }
                path.to_owned()
            }
        };
        let from = Checkpoint::open(&file)?;
        let conversion = Conversion {
            from: &from,
            to: &self.to,
            dtype: match self.dtype {
                Precision::F32 => Dtype::F32,
                Precision::F16 => Dtype::F16,
                Precision::Bf16 => Dtype::BF16,
            },
        };
        let written = conversion.write()?;
        println!(
            "{}: {} tensors, {} bytes from {} bytes of {}\n  sha-256  {}",
            written.weights.display(),
            written.n_tensors,
            grouped(written.bytes),
            grouped(from.bytes()),
            from.format(),
            written.hash
        );
        if !written.companions.is_empty() {
            println!("  with     {}", written.companions.join(", "));
        }
        Ok(exit::OK)
    }
}

fn roots(context: &Context, card: &EncoderCard) -> Vec<PathBuf> {
    context.roots.of_encoder(&context.project, card.fixture)
}

/// The file with the weights at a path, which may be a folder.
fn weights_at(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let found = totune_checkpoint::find(path, &Format::ALL)?;
    let (_, file) =
        found.with_context(|| format!("{}: no weights in this folder", path.display()))?;
    Ok(file)
}

/// A number in groups of three digits.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_from_the_right() {
        let found = [0, 999, 1000, 22_713_216].map(grouped);
        assert_eq!(found, ["0", "999", "1,000", "22,713,216"]);
    }
}
