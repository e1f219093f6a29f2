//! `totune encoders`: the pretrained encoders, a file for each command.

mod check;
mod convert;
mod list;
mod new;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Subcommand;
use totune_checkpoint::Format;
use totune_model::EncoderCard;

use self::check::Check;
use self::convert::Convert;
use self::list::List;
use crate::command::fetch;
use crate::context::Context;

/// Pretrained encoders: list, fetch, check and convert them, and write cards for your own
#[derive(Debug, Subcommand)]
pub enum Encoders {
    List(List),
    Fetch(fetch::FetchEncoders),
    New(new::New),
    Check(Check),
    Convert(Convert),
}

impl Encoders {
    /// Executes the command.
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

/// Folders with the files of `card`.
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
