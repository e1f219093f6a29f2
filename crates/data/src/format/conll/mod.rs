//! Column files: a word and its annotations per line, a blank line after each sentence, as in the CoNLL shared tasks.
//!
//! A line of `-DOCSTART-`, whatever follows it, starts a document; it is never a sentence.

use super::{FormatError, Sentence, Sentences, text};
use crate::columns::Columns;
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;
use totune_toml::{did_you_mean, quoted};

/// Beginning of a line that starts a document.
pub const DOCUMENT: &str = "-DOCSTART-";

/// Word-per-line columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conll {
    /// The names of the columns, in the order of the file.
    pub columns: Vec<String>,
    /// The separator between columns.
    #[serde(default)]
    pub separator: Separator,
    /// Prefix of lines that are skipped where a sentence could begin; inside a sentence such a line is a word.
    #[serde(default)]
    pub comment: Option<String>,
}

/// The separator between the columns of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Separator {
    /// Any run of spaces; those at the ends of a line mean nothing.
    #[default]
    Space,
    /// One tab; fields may hold spaces, and those that are not read may be empty.
    Tab,
    /// Any run of spaces and tabs; those at the ends of a line mean nothing.
    WhiteSpace,
}

impl Conll {
    pub(super) fn check(&self) -> Result<()> {
        let mut seen = HashSet::new();
        let twice = self.columns.iter().find(|name| !seen.insert(*name));
        if let Some(twice) = twice {
            anyhow::bail!("format.columns: `{twice}` is listed twice; expected once");
        }
        ensure!(
            self.comment
                .as_ref()
                .is_none_or(|comment| !comment.trim().is_empty()),
            "format.comment: blank; expected how a comment begins, such as `# `"
        );
        Ok(())
    }

    /// Refuses columns that this format does not have.
    pub(super) fn check_columns(&self, columns: &Columns) -> Result<()> {
        let known = || self.columns.iter().map(String::as_str);
        for (key, name) in [
            ("text", columns.text.first()),
            ("label", columns.label.first()),
        ] {
            let hint = did_you_mean(name, known());
            ensure!(
                known().any(|column| column == name),
                "columns.{key}: `{name}` is not one of the format's columns{hint}expected one of {}",
                quoted(known())
            );
        }
        ensure!(
            columns.id.is_none() && columns.group.is_none(),
            "columns: an `id` or a `group`; expected none, since sentences are numbered and documents start at {DOCUMENT}"
        );
        Ok(())
    }

    /// The sentences in `bytes`. Where `labelled` is false, the column of the tags is not read and may be absent.
    pub(super) fn read(
        &self,
        path: &Path,
        bytes: &[u8],
        columns: &Columns,
        labelled: bool,
    ) -> Result<Sentences, FormatError> {
        let mut reader = Reader {
            format: self,
            path,
            word: columns.text.first(),
            tag: columns.label.first(),
            labelled,
            names: self.columns.iter().map(String::as_str).collect(),
            started: false,
            open: Sentence::default(),
            document: 0,
            sentences: Vec::new(),
        };
        for (number, line) in text(path, bytes)?.lines().enumerate() {
            reader.line(number + 1, line)?;
        }
        Ok(Sentences::of_columns(path, reader.finish()))
    }
}

struct Reader<'a> {
    format: &'a Conll,
    path: &'a Path,
    word: &'a str,
    tag: &'a str,
    labelled: bool,
    /// The columns of this file: those of the format, without the tags where they are absent.
    names: Vec<&'a str>,
    /// True once a word has been read.
    started: bool,
    open: Sentence,
    document: usize,
    sentences: Vec<Sentence>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, number: usize, line: &'a str) -> Result<(), FormatError> {
        if line.trim().is_empty() {
            self.close();
            return Ok(());
        }
        let comment = self.format.comment.as_deref();
        if self.open.words.is_empty() && comment.is_some_and(|comment| line.starts_with(comment)) {
            return Ok(());
        }
        let fields: Vec<&str> = match self.format.separator {
            Separator::Space => pieces(line, &[' ']),
            Separator::WhiteSpace => pieces(line, &[' ', '\t']),
            Separator::Tab => line.split('\t').collect(),
        };
        // Copies differ in how many columns follow, and some put a space where the others have tabs.
        let first = line.split_whitespace().next();
        if first == Some(DOCUMENT) {
            self.close();
            self.document += 1;
            return Ok(());
        }
        if !self.started {
            self.started = true;
            let names = self.names.iter().copied();
            if !self.labelled && fields.len() + 1 == self.names.len() {
                self.names = names.filter(|name| *name != self.tag).collect();
            }
        }
        self.word(number, line, &fields)
    }

    fn word(&mut self, number: usize, line: &str, fields: &[&str]) -> Result<(), FormatError> {
        let error = |problem| FormatError::on_line(self.path, number, problem);
        let n = self.names.len();
        if fields.len() != n {
            let hint = match self.format.separator {
                Separator::Space if line.contains('\t') => {
                    "; the line has tabs, is `separator = \"tab\"` meant?"
                }
                Separator::Tab if !line.contains('\t') => {
                    "; the line has no tab, is `separator = \"space\"` meant?"
                }
                _ => "",
            };
            let names = quoted(self.names.iter().copied());
            return Err(error(format!(
                "{} columns; expected {n}: {names}{hint}",
                fields.len()
            )));
        }
        let field = |name: &str| {
            let column = self.names.iter().position(|column| *column == name);
            column.map(|column| fields[column].trim_matches(' '))
        };
        let Some(word) = field(self.word).filter(|word| !word.is_empty()) else {
            return Err(error(format!("`{}` is empty; expected a word", self.word)));
        };
        let tag = field(self.tag).filter(|_| self.labelled);
        if tag == Some("") {
            return Err(error(format!("`{}` is empty; expected a tag", self.tag)));
        }
        let open = &mut self.open;
        if open.words.is_empty() {
            open.line = number;
            open.document = Some(self.document.to_string());
            open.tags = self.labelled.then(Vec::new);
        }
        open.words.push(word.to_string());
        if let (Some(tags), Some(tag)) = (&mut open.tags, tag) {
            tags.push(tag.to_string());
        }
        Ok(())
    }

    fn close(&mut self) {
        if !self.open.words.is_empty() {
            self.sentences.push(std::mem::take(&mut self.open));
        }
    }

    fn finish(mut self) -> Vec<Sentence> {
        self.close();
        // Without a boundary between sentences nothing is known about documents.
        let mut documents = self.sentences.iter().map(|sentence| &sentence.document);
        let first = documents.next();
        if documents.next_back().or(first) == first {
            for sentence in &mut self.sentences {
                sentence.document = None;
            }
        }
        self.sentences
    }
}

/// The fields between runs of `blanks`.
fn pieces<'a>(line: &'a str, blanks: &[char]) -> Vec<&'a str> {
    let fields = line.split(|letter| blanks.contains(&letter));
    fields.filter(|field| !field.is_empty()).collect()
}

#[cfg(test)]
mod tests;
