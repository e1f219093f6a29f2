//! The list of texts, with their sizes and the files found.

use super::word;
use crate::TextTable;
use crate::survey::terminal::thousands;
use crate::{TextCard, TextFile, TextFormat, TextPart};
use serde::Serialize;
use std::path::Path;

/// A text and its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedText {
    /// The card's name.
    pub name: String,
    /// Display name.
    pub title: String,
    /// The format's name.
    pub format: &'static str,
    /// True for a committed fixture.
    pub fixture: bool,
    /// The training files, then the held-out files.
    pub parts: Vec<ListedPart>,
}

/// The files of a text that are trained on, or those that are held out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedPart {
    /// The use of the files: training or held out.
    pub part: TextPart,
    /// The number of files.
    pub files: usize,
    /// The number of files found.
    pub found: usize,
    /// Documents, where the card states them for every file.
    pub documents: Option<usize>,
    /// Paragraphs, where the card states them for every file.
    pub paragraphs: Option<usize>,
    /// Words, where the card states them for every file.
    pub words: Option<usize>,
}

/// The parts of the text `card`, whose files may lie below `root`. No file is read.
pub fn listed_text(card: &TextCard, root: &Path) -> ListedText {
    let parts = [TextPart::Train, TextPart::HeldOut].map(|part| {
        let files: Vec<&TextFile> = card.files_of(part).collect();
        let sum = |fact: fn(&TextFile) -> Option<usize>| files.iter().map(|file| fact(file)).sum();
        let found = files
            .iter()
            .filter(|file| card.path_of(file, root).is_file());
        ListedPart {
            part,
            files: files.len(),
            found: found.count(),
            documents: sum(|file| file.documents),
            paragraphs: sum(|file| file.paragraphs),
            words: sum(|file| file.words),
        }
    });
    ListedText {
        name: card.name.clone(),
        title: card.title.clone(),
        format: match &card.format {
            TextFormat::Documents(_) => "documents",
            TextFormat::Lines(_) => "lines",
            TextFormat::Wikitext(_) => "wikitext",
            TextFormat::Gutenberg(_) => "gutenberg",
        },
        fixture: card.fixture,
        parts: parts.into_iter().filter(|part| part.files > 0).collect(),
    }
}

/// A line for each part of each text.
pub fn texts_table(texts: &[ListedText]) -> String {
    let mut table = TextTable::new([
        "text",
        "format",
        "part",
        "#documents",
        "#paragraphs",
        "#words",
        "#files",
        "found",
    ]);
    let count = |count: Option<usize>| count.map_or_else(|| "?".into(), thousands);
    for text in texts {
        for (line, part) in text.parts.iter().enumerate() {
            let first = |name: &str| {
                if line == 0 {
                    name.to_string()
                } else {
                    String::new()
                }
            };
            table.row([
                first(&text.name),
                first(text.format),
                word(part.part).to_string(),
                count(part.documents),
                count(part.paragraphs),
                count(part.words),
                part.files.to_string(),
                match part.found {
                    0 => "missing".into(),
                    found if found == part.files => "all".into(),
                    found => found.to_string(),
                },
            ]);
        }
    }
    table.to_string()
}
