//! Checks of a text's files against their card.

use super::{TextCounts, word};
use crate::hash::sha256_hex;
use crate::survey::check::{Difference, Verdict, found, left_out};
use crate::survey::terminal::thousands;
use crate::{TextCard, TextFile, TextPart};
use rayon::prelude::*;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One file of a text, read and compared.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedText {
    /// The card's name.
    pub text: String,
    /// The use of the file: training or held out.
    pub part: TextPart,
    /// The file.
    pub path: PathBuf,
    /// The result of the comparison.
    pub verdict: Verdict,
    /// SHA-256 of the file.
    pub sha256: String,
    /// The counts, if the file can be read.
    pub counts: Option<TextCounts>,
    /// Each fact that is not as the card says.
    pub differences: Vec<Difference>,
    /// The reason why the file cannot be read.
    pub problem: Option<String>,
    /// Facts that were measured and the card does not state, as lines of the file's `[[files]]`; empty if it states
    /// all.
    pub unstated: String,
}

/// Reads every file of `card` that lies below `root` and compares it, in parallel; in the order of the card.
pub fn check_text(card: &TextCard, root: &Path) -> Vec<CheckedText> {
    let files: Vec<(&TextFile, PathBuf)> = card
        .files
        .iter()
        .map(|file| (file, card.path_of(file, root)))
        .filter(|(_, path)| path.is_file())
        .collect();
    let checked = files
        .into_par_iter()
        .map(|(file, path)| check_file(card, file, path));
    checked.collect()
}

fn check_file(card: &TextCard, file: &TextFile, path: PathBuf) -> CheckedText {
    let mut checked = CheckedText {
        text: card.name.clone(),
        part: file.part,
        path,
        verdict: Verdict::Unreadable,
        sha256: String::new(),
        counts: None,
        differences: Vec::new(),
        problem: None,
        unstated: String::new(),
    };
    let bytes = match std::fs::read(&checked.path) {
        Ok(bytes) => bytes,
        Err(error) => {
            checked.problem = Some(format!(
                "{}: cannot be read: {error}",
                checked.path.display()
            ));
            return checked;
        }
    };
    checked.sha256 = sha256_hex(&bytes);
    let documents = card.parse(&checked.path, &bytes);
    let counts = documents.map(|documents| TextCounts::of(&documents));
    let counts = counts.map_err(|error| format!("{error:#}"));
    let number = |fact: fn(&TextCounts) -> usize| {
        counts.as_ref().ok().map(|counts| fact(counts).to_string())
    };
    let stated = |fact: Option<usize>| fact.map(|fact| fact.to_string());
    let facts = [
        ("sha256", file.sha256.clone(), Some(checked.sha256.clone())),
        (
            "documents",
            stated(file.documents),
            number(|counts| counts.documents),
        ),
        (
            "paragraphs",
            stated(file.paragraphs),
            number(|counts| counts.paragraphs),
        ),
        ("words", stated(file.words), number(|counts| counts.words)),
    ];
    for (fact, expected, found) in facts {
        match (expected, found) {
            (Some(expected), Some(found)) if expected != found => {
                let fact = fact.to_string();
                checked.differences.push(Difference {
                    fact,
                    expected,
                    found,
                });
            }
            (None, Some(found)) if fact == "sha256" => {
                checked.unstated += &format!("sha256 = \"{found}\"\n");
            }
            (None, Some(found)) => checked.unstated += &format!("{fact} = {found}\n"),
            (Some(_), Some(_)) | (_, None) => {}
        }
    }
    match counts {
        Ok(counts) => {
            checked.counts = Some(counts);
            checked.verdict = if checked.differences.is_empty() {
                Verdict::Agrees
            } else {
                Verdict::Differs
            };
        }
        Err(problem) => checked.problem = Some(problem),
    }
    checked
}

impl CheckedText {
    /// The text for the user: one line if the file agrees, else its differences as a table; `path` is the path as
    /// shown.
    pub fn text(&self, path: &str) -> String {
        let mark = self.verdict.mark();
        let counts = self.counts.map(|counts| {
            format!(
                "{} documents, {} paragraphs, {} words  ",
                thousands(counts.documents),
                thousands(counts.paragraphs),
                thousands(counts.words)
            )
        });
        let counts = counts.unwrap_or_default();
        let mut text = format!(
            "{} {}  {mark}  {counts}{path}\n",
            self.text,
            word(self.part)
        );
        text += &found(&self.differences, self.problem.as_deref());
        text += &left_out(&self.unstated);
        text
    }
}
