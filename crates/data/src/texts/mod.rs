//! Plain text for term distributions: what surrounds it and what stands for it is taken away as the card declares.
//!
//! ```no_run
//! use std::path::Path;
//! use totune_data::TextCard;
//!
//! let card = TextCard::read(Path::new("datasets/texts/wikitext-2.toml"))?;
//! let paragraphs: Vec<String> = card.paragraphs(Path::new("data"))?;
//! # anyhow::Ok(())
//! ```

mod gutenberg;
mod wikitext;

pub use gutenberg::Gutenberg;
pub use wikitext::{Switch, WikiText};

use crate::hash::sha256_hex;
use crate::toml_file::read_toml;
use anyhow::{Context, Result, anyhow, ensure};
use serde::Deserialize;
use std::path::{Component, Path, PathBuf};

/// What `datasets/texts/<name>.toml` says about a collection of plain text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextCard {
    /// The name used in experiment files; also the name of the card's file.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// Whether the files are committed fixtures, found in `fixtures/data`.
    #[serde(default)]
    pub fixture: bool,
    /// What the files are like.
    pub format: TextFormat,
    /// The files, read one after the other.
    pub files: Vec<TextFile>,
    /// Licence or terms of use.
    pub licence: String,
    /// How to cite it.
    pub citation: String,
    /// Where it is described.
    pub homepage: String,
    /// How to get the files by hand and where to put them.
    pub instructions: String,
    /// What a reader of results should know.
    #[serde(default)]
    pub note: Option<String>,
    /// The card's own file.
    #[serde(skip)]
    pub file: PathBuf,
}

/// One file of a collection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextFile {
    /// Path below the data root.
    pub path: PathBuf,
    /// SHA-256 of the file.
    #[serde(default)]
    pub sha256: Option<String>,
    /// How many paragraphs it has.
    #[serde(default)]
    pub paragraphs: Option<usize>,
}

/// What a file of plain text is like.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TextFormat {
    /// A paragraph on each line.
    Lines(Lines),
    /// WikiText: tokens with spaces between them, a paragraph or a heading on each line.
    Wikitext(WikiText),
    /// A book of Project Gutenberg: wrapped lines, blank lines between paragraphs, a header and a footer.
    Gutenberg(Gutenberg),
}

/// A paragraph on each line; nothing to choose.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {}

impl TextCard {
    /// Reads and checks the card at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let mut card: TextCard = read_toml(path)?;
        card.file = path.to_path_buf();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let place = path.display();
        ensure!(
            stem == Some(&card.name),
            "{place}: name: `{}`; expected `{}`, the name of the file",
            card.name,
            stem.unwrap_or_default()
        );
        ensure!(
            !card.files.is_empty(),
            "{place}: files: none listed; expected at least one `[[files]]`"
        );
        for file in &card.files {
            let mut parts = file.path.components();
            ensure!(
                parts.all(|part| matches!(part, Component::Normal(_))),
                "{place}: files: path: `{}`; expected a path below the data root without `..`",
                file.path.display()
            );
        }
        Ok(card)
    }

    /// One message saying which files are missing, how to get them and where to put them; nothing if all are there.
    pub fn missing(&self, root: &Path) -> Option<String> {
        let root = self.root(root);
        let paths = self.files.iter().map(|file| root.join(&file.path));
        let absent = paths.filter(|path| !path.is_file());
        let absent: Vec<String> = absent.map(|path| format!("`{}`", path.display())).collect();
        let (files, how) = (absent.join(", "), self.instructions.trim());
        (!absent.is_empty()).then(|| format!("text `{}`: missing {files}\n{how}", self.name))
    }

    /// The paragraphs of all files, in order; none is empty and none has a line break.
    pub fn paragraphs(&self, root: &Path) -> Result<Vec<String>> {
        if let Some(missing) = self.missing(root) {
            return Err(anyhow!(missing));
        }
        let root = self.root(root);
        let mut all = Vec::new();
        for file in &self.files {
            let path = root.join(&file.path);
            let paragraphs = self.of_file(file, &path)?;
            if let Some(expected) = file.paragraphs {
                ensure!(
                    paragraphs.len() == expected,
                    "{}: {} paragraphs; expected {expected}",
                    path.display(),
                    paragraphs.len()
                );
            }
            all.extend(paragraphs);
        }
        Ok(all)
    }

    fn of_file(&self, file: &TextFile, path: &Path) -> Result<Vec<String>> {
        let bytes =
            std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        if let Some(expected) = &file.sha256 {
            let found = sha256_hex(&bytes);
            let (path, card) = (path.display(), self.file.display());
            ensure!(
                found == *expected,
                "{path}: sha256 {found}; expected {expected} ({card})"
            );
        }
        let text = crate::format::text(path, &bytes)?;
        match &self.format {
            TextFormat::Lines(_) => {
                let lines = text.lines().map(str::trim);
                Ok(lines
                    .filter(|line| !line.is_empty())
                    .map(String::from)
                    .collect())
            }
            TextFormat::Wikitext(settings) => Ok(settings.paragraphs(text)),
            TextFormat::Gutenberg(settings) => Ok(settings.paragraphs(path, text)?),
        }
    }

    fn root(&self, root: &Path) -> PathBuf {
        if !self.fixture {
            return root.to_path_buf();
        }
        let project = self.file.ancestors().nth(3).unwrap_or(Path::new(""));
        project.join("fixtures").join("data")
    }
}
