//! All cards of a folder.

use crate::Card;
use crate::near::{did_you_mean, quoted};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The dataset cards of a folder, in the order of their names.
#[derive(Clone, Debug)]
pub struct Catalogue {
    cards: Vec<Card>,
}

impl Catalogue {
    /// Reads every `.toml` file of `dir` as a card.
    pub fn read(dir: &Path) -> Result<Self> {
        let paths = card_files(dir, "dataset cards")?;
        let cards = paths
            .iter()
            .map(|path| Card::read(path))
            .collect::<Result<_>>()?;
        Ok(Self { cards })
    }

    /// The card called `name`; an unknown name is answered with the near one and with all that exist.
    pub fn find(&self, name: &str) -> Result<&Card> {
        match self.cards.iter().find(|card| card.name == name) {
            Some(card) => Ok(card),
            None => {
                let hint = did_you_mean(name, self.names());
                bail!(
                    "unknown dataset `{name}`{hint}known datasets: {}",
                    quoted(self.names())
                )
            }
        }
    }

    /// The names of all cards.
    pub fn names(&self) -> Vec<&str> {
        self.cards.iter().map(|card| card.name.as_str()).collect()
    }

    /// All cards.
    pub fn cards(&self) -> &[Card] {
        &self.cards
    }
}

/// The `.toml` files of `dir`, sorted; `of` says what they should be.
pub(crate) fn card_files(dir: &Path, of: &str) -> Result<Vec<PathBuf>> {
    let listing = || {
        format!(
            "{}: cannot be listed; expected a folder of {of}",
            dir.display()
        )
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(listing)? {
        let path = entry.with_context(listing)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
