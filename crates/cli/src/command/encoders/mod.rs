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
#[command(after_help = "\
Examples:
  totune encoders list
  totune encoders fetch all-minilm-l6-v2
  totune encoders new ~/models/my-bert   a card for a folder that transformers wrote")]
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
