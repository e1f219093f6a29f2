//! Cards of texts: the facts about a collection of plain text, as TOML.

use super::{Documents, Gutenberg, Lines, WikiText};
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use totune_toml::{CardFile, Cards, read_toml};

/// The contents of `datasets/texts/<name>.toml`: the description of a collection of plain text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextCard {
    /// The name used in experiment files; also the name of the card's file.
    pub name: String,
    /// Display name.
    pub title: String,
    /// True for committed fixtures, whose files are in `fixtures/data`.
    #[serde(default)]
    pub fixture: bool,
    /// The format of the files.
    pub format: TextFormat,
    /// The files in order.
    pub files: Vec<TextFile>,
    /// Licence or terms of use.
    pub licence: String,
    /// Citation.
    pub citation: String,
    /// Homepage: the address of a description.
    pub homepage: String,
    /// Instructions for getting the files by hand and where to put them.
    pub instructions: String,
    /// The public repositories a text was gathered from, if its files are not published as such.
    #[serde(default)]
    pub sources: Vec<TextSource>,
    /// Note for readers of results.
    #[serde(default)]
    pub note: Option<String>,
    /// The card's own file.
    #[serde(skip)]
    pub file: PathBuf,
}

/// One file of a collection, with the facts expected of it. Facts that are not stated are not checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextFile {
    /// Path below the data root; a file whose name ends in `.zst` is decompressed.
    pub path: PathBuf,
    /// The use of the file: training or held out.
    #[serde(default)]
    pub part: TextPart,
    /// SHA-256 of the file on disk, which may be compressed.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The expected number of documents.
    #[serde(default)]
    pub documents: Option<usize>,
    /// The expected number of paragraphs.
    #[serde(default)]
    pub paragraphs: Option<usize>,
    /// The expected number of words, as divided by white space.
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

/// The use of a file of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextPart {
    /// To train on.
    #[default]
    Train,
    /// To evaluate on, never to train on.
    HeldOut,
}

/// The format of a file of plain text, and with it the definition of a document.
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

/// Cards of texts of a folder, or of several.
pub type TextCatalogue = Cards<TextCard>;

impl CardFile for TextCard {
    const KIND: &'static str = "text";
    const LIST: &'static str = "totune data list";

    fn read(path: &Path) -> Result<Self> {
        Self::read(path)
    }

    fn name(&self) -> &str {
        &self.name
    }
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

    /// Returns whether the card at `path` is of a text: it lists `[[files]]` and has no `[[layouts]]`.
    pub fn is_at(path: &Path) -> Result<bool> {
        let card: toml::Table = read_toml(path)?;
        Ok(card.contains_key("files") && !card.contains_key("layouts"))
    }

    /// The files of one part, in the order of the card.
    pub fn files_of(&self, part: TextPart) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(move |file| file.part == part)
    }

    /// The path of `file`.
    pub fn path_of(&self, file: &TextFile, root: &Path) -> PathBuf {
        self.root(root).join(&file.path)
    }

    /// A message that lists the missing files, with how to get them and where to put them; none if all are there.
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
