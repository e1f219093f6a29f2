//! All cards of a folder, or of several.

use crate::Card;
use crate::near::{did_you_mean, quoted};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most names that the error about an unknown one lists.
const NEAREST: usize = 5;

/// Dataset cards, in the order of their names.
#[derive(Clone, Debug)]
pub struct Catalogue {
    cards: Vec<Card>,
    broken: BTreeMap<String, String>,
}

impl Catalogue {
    /// Reads every `.toml` file of `dir` as a card.
    pub fn read(dir: &Path) -> Result<Self> {
        Self::read_all(&[dir.to_path_buf()])
    }

    /// Reads every `.toml` file of these folders as a card. Of two cards with the same name, the one in the folder that is
    /// listed first counts; folders that do not exist are left out, as long as one does.
    ///
    /// A file that is no card hides no other: it is among [`Catalogue::broken`].
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn read_all(dirs: &[PathBuf]) -> Result<Self> {
        let paths = card_files(dirs, "dataset cards")?;
        let (cards, broken) = read_cards(&paths, Card::read);
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
    /// When there is none; the error names the nearest ones.
    pub fn find(&self, name: &str) -> Result<&Card> {
        if let Some(error) = self.broken.get(name) {
            bail!("{error}");
        }
        match self.cards.iter().find(|card| card.name == name) {
            Some(card) => Ok(card),
            None => {
                let mut names = self.names();
                let hint = did_you_mean(name, names.iter().copied());
                if names.len() <= NEAREST {
                    bail!(
                        "unknown dataset `{name}`{hint}known datasets: {}",
                        quoted(names)
                    )
                }
                let distance = |other: &str| strsim::levenshtein(name, other);
                names.sort_by_key(|other| (!other.contains(name), distance(other)));
                bail!(
                    "unknown dataset `{name}`{hint}the nearest of {} are {} (`totune data list` shows all)",
                    names.len(),
                    quoted(names[..NEAREST].iter().copied())
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

/// The cards in these files, and the errors of the others, by their names.
pub(crate) fn read_cards<C>(
    paths: &[PathBuf],
    read: impl Fn(&Path) -> Result<C>,
) -> (Vec<C>, BTreeMap<String, String>) {
    let (mut cards, mut broken) = (Vec::new(), BTreeMap::new());
    for path in paths {
        match read(path) {
            Ok(card) => cards.push(card),
            Err(error) => {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                broken.insert(name.into_owned(), format!("{error:#}"));
            }
        }
    }
    (cards, broken)
}

/// The `.toml` files of `dirs`, sorted by name; of files with the same name in several folders the first counts. `of`
/// is the kind of card, for errors.
pub(crate) fn card_files(dirs: &[PathBuf], of: &str) -> Result<Vec<PathBuf>> {
    let mut files = BTreeMap::new();
    let is_there = |dir: &&PathBuf| dir.is_dir();
    // Where none is there, the error names the first.
    let none = !dirs.iter().any(|dir| dir.is_dir());
    let listed = dirs.iter().filter(is_there);
    for dir in listed.chain(dirs.first().filter(|_| none)) {
        let listing = || {
            format!(
                "{}: cannot be listed; expected a folder of {of}",
                dir.display()
            )
        };
        for entry in std::fs::read_dir(dir).with_context(listing)? {
            let path = entry.with_context(listing)?.path();
            let name = path.file_name().map(ToOwned::to_owned);
            if let Some(name) = name
                && path.extension().is_some_and(|ending| ending == "toml")
            {
                files.entry(name).or_insert(path);
            }
        }
    }
    Ok(files.into_values().collect())
}
