//! Cards of texts: the facts about a collection of plain text, as TOML.

use super::{Documents, Gutenberg, Lines, WikiText};
use crate::toml_file::read_toml;
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// What `datasets/texts/<name>.toml` says about a collection of plain text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextCard {
    /// The name used in experiment files; also the name of the card's file.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Whether the files are committed fixtures, found in `fixtures/data`.
    #[serde(default)]
    pub fixture: bool,
    /// What the files are like.
    pub format: TextFormat,
    /// The files in order.
    pub files: Vec<TextFile>,
    /// Licence or terms of use.
    pub licence: String,
    /// How to cite it.
    pub citation: String,
    /// Where it is described.
    pub homepage: String,
    /// How to get the files by hand and where to put them.
    pub instructions: String,
    /// The public repositories a text was gathered from, where its files are not published as such.
    #[serde(default)]
    pub sources: Vec<TextSource>,
    /// What a reader of results should know.
    #[serde(default)]
    pub note: Option<String>,
    /// The card's own file.
    #[serde(skip)]
    pub file: PathBuf,
}

/// One file of a collection, and what must be true of it. What is not stated is not checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextFile {
    /// Path below the data root; a file whose name ends in `.zst` is decompressed.
    pub path: PathBuf,
    /// What the file is for.
    #[serde(default)]
    pub part: TextPart,
    /// SHA-256 of the file as it lies there, compressed where it is.
    #[serde(default)]
    pub sha256: Option<String>,
    /// How many documents it has.
    #[serde(default)]
    pub documents: Option<usize>,
    /// How many paragraphs it has.
    #[serde(default)]
    pub paragraphs: Option<usize>,
    /// How many words it has, as divided by white space.
    #[serde(default)]
    pub words: Option<usize>,
}

/// A public repository that a text was gathered from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextSource {
    /// A short name.
    pub name: String,
    /// `owner/name` on GitHub.
    pub repository: String,
    /// The commit that was read, as 40 hexadecimal digits.
    pub commit: String,
    /// The files that were read.
    pub paths: String,
    /// The licence, as the repository states it.
    pub licence: String,
    /// Words that were kept of it after cleaning, in all files of the text.
    pub words: usize,
}

/// What a file of a collection is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextPart {
    /// To train on.
    #[default]
    Train,
    /// To evaluate on, never to train on.
    HeldOut,
}

/// What a file of plain text is like, and with it what a document is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TextFormat {
    /// A paragraph on each line and a blank line between documents.
    Documents(Documents),
    /// A paragraph on each line; a file is a document.
    Lines(Lines),
    /// WikiText: tokens with spaces between them, a paragraph or a heading on each line; an article is a document.
    Wikitext(WikiText),
    /// A book of Project Gutenberg: wrapped lines, blank lines between paragraphs, a header and a footer; a book is
    /// a document.
    Gutenberg(Gutenberg),
}

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
        for (index, file) in card.files.iter().enumerate() {
            let mut parts = file.path.components();
            let shown = file.path.display();
            ensure!(
                parts.all(|part| matches!(part, Component::Normal(_))),
                "{place}: files: path: `{shown}`; expected a path below the data root without `..`",
            );
            ensure!(
                card.files[..index]
                    .iter()
                    .all(|other| other.path != file.path),
                "{place}: files: path: `{shown}` is listed twice; expected once",
            );
        }
        for source in &card.sources {
            let commit = &source.commit;
            ensure!(
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{place}: sources: `{}`: commit: `{commit}`; expected 40 hexadecimal digits",
                source.name
            );
        }
        Ok(card)
    }

    /// Whether the card at `path` is of a text: it lists `[[files]]` and has no `[[layouts]]`.
    pub fn is_at(path: &Path) -> Result<bool> {
        let card: toml::Table = read_toml(path)?;
        Ok(card.contains_key("files") && !card.contains_key("layouts"))
    }

    /// The files of one part, in the order of the card.
    pub fn files_of(&self, part: TextPart) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(move |file| file.part == part)
    }

    /// Where `file` lies.
    pub fn path_of(&self, file: &TextFile, root: &Path) -> PathBuf {
        self.root(root).join(&file.path)
    }

    /// One message saying which files are missing, how to get them and where to put them; nothing if all are there.
    pub fn missing(&self, root: &Path) -> Option<String> {
        let paths = self.files.iter().map(|file| self.path_of(file, root));
        let absent = paths.filter(|path| !path.is_file());
        let absent: Vec<String> = absent.map(|path| format!("`{}`", path.display())).collect();
        let (files, how) = (absent.join(", "), self.instructions.trim());
        (!absent.is_empty()).then(|| format!("text `{}`: missing {files}\n{how}", self.name))
    }

    /// The folder the paths of this card are below.
    fn root(&self, root: &Path) -> PathBuf {
        if !self.fixture {
            return root.to_path_buf();
        }
        let project = self.file.ancestors().nth(3).unwrap_or(Path::new(""));
        project.join("fixtures").join("data")
    }
}
