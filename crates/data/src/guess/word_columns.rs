//! Guesses about column files: a word and its annotations per line.

use super::tags::span_type;
use super::{Findings, Hints, listed, shown, strings};
use crate::Task;
use crate::format::DOCUMENT;
use anyhow::{Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// One line that differs from so many others is a mistake, and not a sign of another layout.
const MANY: usize = 20;
/// The same, where words and tags are expected.
const ENOUGH: usize = 2;

/// Beginning of a line about the sentence below it.
const COMMENT: &str = "# ";

/// A column file.
pub(super) struct WordColumns {
    n: usize,
    separator: &'static str,
    /// Whether lines before sentences begin with `# ` and have no tag.
    has_comments: bool,
    /// The types of span in the last column.
    types: Vec<String>,
}

/// A file of sentences: blank lines in it, as many columns on each other line, tags in the last one.
///
/// # Errors
/// When that holds for all but a few lines; the message names the first of them. With `is_asked`, these may be more.
pub(super) fn word_columns(text: &str, is_asked: bool) -> Result<Option<WordColumns>> {
    let many = if is_asked { ENOUGH } else { MANY };
    let is_word = |line: &str| !line.trim().is_empty() && !line.starts_with(DOCUMENT);
    let has_tag = |line: &str| {
        let last = line.split_whitespace().last();
        last.is_some_and(|tag| span_type(tag).is_ok())
    };
    let is_comment = |(before, line): (&str, &str)| {
        let before = before.starts_with(COMMENT) || !is_word(before);
        before && line.starts_with(COMMENT) && !has_tag(line)
    };
    let all = || std::iter::once("").chain(text.lines()).zip(text.lines());
    let has_comments = all().any(is_comment);
    let lines = || {
        let kept = (1..).zip(all());
        let kept = kept.filter(|(_, both)| !is_comment(*both));
        let kept = kept.map(|(number, (_, line))| (number, line));
        kept.filter(|(_, line)| !line.starts_with(DOCUMENT))
    };
    let words = || lines().filter(|(_, line)| !line.trim().is_empty());
    let n_words = words().count();
    let has_blank = lines().count() > n_words;
    let without_tab = words().filter(|(_, line)| !line.contains('\t')).count();
    let mut widths = words().map(|(_, line)| line.split_whitespace().count());
    let first = widths.next();
    let is_even = widths.all(|width| Some(width) == first);
    let tabs = without_tab == 0 || without_tab * many <= n_words && !is_even;
    let split = |line: &str| -> Vec<String> {
        if tabs {
            line.split('\t').map(String::from).collect()
        } else {
            line.split_whitespace().map(String::from).collect()
        }
    };
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, line) in words() {
        *counts.entry(split(line).len()).or_default() += 1;
    }
    let most = counts.iter().max_by_key(|(_, lines)| **lines);
    let Some((&n, &as_many)) = most.filter(|(n, _)| **n >= 2 && has_blank) else {
        return Ok(None);
    };
    let mut types = BTreeSet::new();
    let (mut wrong, mut n_wrong) = (None, 0);
    for (number, line) in words() {
        let fields = split(line);
        let tag = fields.last().map_or("", String::as_str);
        let problem = match span_type(tag) {
            _ if fields.len() != n => format!(
                "found {}, expected {n} columns, as {as_many} of {n_words} lines with a word have",
                fields.len()
            ),
            Ok(of_type) => {
                types.extend(of_type.map(String::from));
                continue;
            }
            Err(()) => format!(
                "found the tag `{}`, expected `O`, or a letter of B, I, E, S, U and L with a type, such as `B-X`",
                shown(tag)
            ),
        };
        n_wrong += 1;
        wrong.get_or_insert((number, line, problem));
    }
    if types.is_empty() || n_wrong * many > n_words {
        return Ok(None);
    }
    if let Some((number, line, problem)) = wrong {
        bail!("line {number}: `{}`: {problem}", shown(line.trim()));
    }
    Ok(Some(WordColumns {
        n,
        separator: if tabs { "tab" } else { "white-space" },
        has_comments,
        types: types.into_iter().collect(),
    }))
}

impl WordColumns {
    pub(super) fn findings(self, hints: &Hints) -> Result<Findings> {
        let mut names: Vec<String> = (1..=self.n).map(|column| format!("c{column}")).collect();
        names[0] = "word".into();
        names[self.n - 1] = "tag".into();
        let find = |option: &str, wish: &Option<String>, otherwise: &str| -> Result<String> {
            let name = wish.as_deref().unwrap_or(otherwise);
            ensure!(
                names.iter().any(|known| known == name),
                "{option}: no column `{name}`; the columns are {}",
                listed(&names)
            );
            Ok(name.to_string())
        };
        let text = find("--text", &hints.text, "word")?;
        let label = find("--label", &hints.label, "tag")?;
        ensure!(
            hints.tags.is_none(),
            "--tags: given; expected none, since the last column has the tags themselves"
        );
        let reason = "the last column has tags such as B-X, and blank lines end sentences";
        Ok(Findings {
            scheme: hints.scheme,
            format: format!(
                "{{ kind = \"conll\", columns = {}, separator = \"{}\"{} }}",
                strings(&names),
                self.separator,
                if self.has_comments {
                    format!(", comment = \"{COMMENT}\"")
                } else {
                    String::new()
                }
            ),
            format_reason: format!("each line has {} columns", self.n),
            columns: format!("{{ text = \"{text}\", label = \"{label}\" }}"),
            columns_reason: "words come first and tags last".into(),
            ..Findings::new(Task::Tagging, reason.into(), self.types)
        })
    }
}
