//! All cards of texts of a folder.

use super::TextCard;
use crate::catalogue::{card_files, read_cards};
use crate::near::{did_you_mean, quoted};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Cards of texts, in the order of their names.
#[derive(Clone, Debug)]
pub struct TextCatalogue {
    cards: Vec<TextCard>,
    broken: BTreeMap<String, String>,
}

impl TextCatalogue {
    /// Reads every `.toml` file of `dir` as a card.
    pub fn read(dir: &Path) -> Result<Self> {
        Self::read_all(&[dir.to_path_buf()])
    }

    /// Reads the cards of several folders, as [`crate::Catalogue::read_all`] does.
    pub fn read_all(dirs: &[PathBuf]) -> Result<Self> {
        let paths = card_files(dirs, "cards of texts")?;
        let (cards, broken) = read_cards(&paths, TextCard::read);
        Ok(Self { cards, broken })
    }

    /// The name of each file that is not a valid card, with its error: path, line and key.
    pub fn broken(&self) -> impl Iterator<Item = (&str, &str)> {
        let broken = self.broken.iter();
        broken.map(|(name, error)| (name.as_str(), error.as_str()))
    }

    /// The card called `name`.
    ///
    /// # Errors
    /// When there is none; the error names the nearest one and all that exist.
    pub fn find(&self, name: &str) -> Result<&TextCard> {
        if let Some(error) = self.broken.get(name) {
            bail!("{error}");
        }
        match self.cards.iter().find(|card| card.name == name) {
            Some(card) => Ok(card),
            None => {
                let hint = did_you_mean(name, self.names());
                bail!(
                    "unknown text `{name}`{hint}known texts: {}",
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
    pub fn cards(&self) -> &[TextCard] {
        &self.cards
    }
}
