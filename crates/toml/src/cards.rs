//! Folders of cards: TOML files that describe one thing each, under its name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::near::{did_you_mean, quoted};

/// The most names that the error about an unknown one lists.
const NEAREST: usize = 5;

/// A thing that a TOML file describes.
pub trait CardFile: Sized {
    /// Kind of thing, such as `dataset`, for errors.
    const KIND: &'static str;
    /// Command that lists all of them.
    const LIST: &'static str;

    /// Reads and checks one card.
    ///
    /// # Errors
    /// When the file cannot be read or is no such card, with its path, line and key.
    fn read(path: &Path) -> Result<Self>;

    /// Name of the thing.
    fn name(&self) -> &str;
}

/// Cards of one kind, in the order of their names.
#[derive(Clone, Debug)]
pub struct Cards<C> {
    cards: Vec<C>,
    broken: BTreeMap<String, String>,
}

impl<C: CardFile> Cards<C> {
    /// Reads every `.toml` file of `dir` as a card.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn read(dir: &Path) -> Result<Self> {
        Self::read_all(&[dir.to_path_buf()])
    }

    /// Reads every `.toml` file of these folders as a card. Of two files with the same name, the one in the folder that is
    /// listed first counts; folders that do not exist are left out, as long as one does.
    ///
    /// A file that is no card hides no other: it is among [`Cards::broken`].
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn read_all(dirs: &[PathBuf]) -> Result<Self> {
        let (mut cards, mut broken) = (Vec::new(), BTreeMap::new());
        for path in files(dirs, C::KIND)? {
            match C::read(&path) {
                Ok(card) => cards.push(card),
                Err(error) => {
                    let name = path.file_stem().unwrap_or_default().to_string_lossy();
                    broken.insert(name.into_owned(), format!("{error:#}"));
                }
            }
        }
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
    /// When there is none (the error names the nearest ones), or its file is no valid card.
    pub fn find(&self, name: &str) -> Result<&C> {
        if let Some(error) = self.broken.get(name) {
            bail!("{error}");
        }
        if let Some(card) = self.cards.iter().find(|card| card.name() == name) {
            return Ok(card);
        }
        let (mut names, kind) = (self.names(), C::KIND);
        let hint = did_you_mean(name, names.iter().copied());
        if names.len() <= NEAREST {
            bail!(
                "unknown {kind} `{name}`{hint}known {kind}s: {}",
                quoted(names)
            );
        }
        let distance = |other: &str| strsim::levenshtein(name, other);
        names.sort_by_key(|other| (!other.contains(name), distance(other)));
        bail!(
            "unknown {kind} `{name}`{hint}the nearest of {} are {} (`{}` shows all)",
            names.len(),
            quoted(names[..NEAREST].iter().copied()),
            C::LIST
        )
    }

    /// The names of all cards.
    pub fn names(&self) -> Vec<&str> {
        self.cards.iter().map(CardFile::name).collect()
    }

    /// All cards.
    pub fn cards(&self) -> &[C] {
        &self.cards
    }
}

/// The `.toml` files of `dirs`, sorted by name; of files with the same name in several folders the first counts.
fn files(dirs: &[PathBuf], kind: &str) -> Result<Vec<PathBuf>> {
    let mut files = BTreeMap::new();
    let is_there = |dir: &&PathBuf| dir.is_dir();
    // Where none is there, the error names the first.
    let none = !dirs.iter().any(|dir| dir.is_dir());
    let listed = dirs.iter().filter(is_there);
    for dir in listed.chain(dirs.first().filter(|_| none)) {
        let listing = || {
            format!(
                "{}: cannot be listed; expected a folder of {kind} cards",
                dir.display()
            )
        };
        for entry in fs::read_dir(dir).with_context(listing)? {
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
