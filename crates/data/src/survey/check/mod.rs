//! Checks of files against their card, with the differences.

use super::measured::{Measured, shown};
use crate::columns::Joined;
use crate::hash::sha256_hex;
use crate::label_sets::names;
use crate::{Card, Example, Layout, SplitFacts, Target, Task, TextTable};
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The result of comparing a file with its card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It agrees with the card.
    Agrees,
    /// It can be read, and some fact differs from the card.
    Differs,
    /// It cannot be read with the card's settings.
    Unreadable,
}

impl Verdict {
    /// The word for it in a line about a file.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "DIFFERS",
            Verdict::Unreadable => "UNREADABLE",
        }
    }
}

/// One file of one layout, read and compared.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The card's name.
    pub dataset: String,
    /// The split's name.
    pub split: String,
    /// The layout's name.
    pub layout: String,
    /// The file.
    pub path: PathBuf,
    /// The result of the comparison.
    pub verdict: Verdict,
    /// SHA-256 of the file.
    pub sha256: String,
    /// The counts, if the file can be read.
    pub measured: Option<Measured>,
    /// The facts that differ from the card.
    pub differences: Vec<Difference>,
    /// The reason why the file cannot be read.
    pub problem: Option<String>,
    /// The values of the label column, if one of them is no label: each with its count and whether the card lists it,
    /// the most frequent first.
    pub values: Vec<FoundValue>,
    /// Facts that were measured and the card does not state, as lines of a card; empty if it states all.
    pub unstated: String,
}

/// A fact that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The name of the fact: `rows`, `counts.<label>`, `sha256`.
    pub fact: String,
    /// The card's value.
    pub expected: String,
    /// The file's value.
    pub found: String,
}

/// A value of the column of labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundValue {
    /// The value.
    pub value: String,
    /// Rows that have it.
    pub rows: usize,
    /// True if the card lists it.
    pub listed: bool,
}

/// Reads every file of `card` that lies below `root` and compares it; splits in the order they are listed.
pub fn check(card: &Card, root: &Path) -> Vec<Checked> {
    let listed = super::listed(card, root);
    let mut all = Vec::new();
    for split in listed.splits.iter().map(|split| split.split.as_str()) {
        let mut first: Option<(&Layout, Vec<Example>)> = None;
        for (layout, path) in card.found(root, split) {
            let (mut checked, examples) = check_file(card, root, (layout, split), &path);
            match (&first, examples) {
                (None, examples) => first = examples.map(|it| (layout, it)),
                (Some((other, expected)), Some(found)) => {
                    checked.compare_layouts((other, expected), (layout, &found));
                }
                (Some(_), None) => {}
            }
            all.push(checked);
        }
    }
    all
}

/// Reads and compares one file; the second value is its examples, where it can be read.
fn check_file(
    card: &Card,
    root: &Path,
    (layout, split): (&Layout, &str),
    path: &Path,
) -> (Checked, Option<Vec<Example>>) {
    let mut checked = Checked {
        dataset: card.name.clone(),
        split: split.to_string(),
        layout: layout.name.clone(),
        path: path.to_path_buf(),
        verdict: Verdict::Unreadable,
        sha256: String::new(),
        measured: None,
        differences: Vec::new(),
        problem: None,
        values: Vec::new(),
        unstated: String::new(),
    };
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            checked.problem = Some(format!("{}: cannot be read: {error}", path.display()));
            return (checked, None);
        }
    };
    checked.sha256 = sha256_hex(&bytes);
    let file = layout.files.get(split);
    let stated = file.and_then(|file| file.sha256.as_ref());
    if let Some(stated) = stated.filter(|stated| **stated != checked.sha256) {
        checked.differ("sha256", stated.clone(), checked.sha256.clone());
    }
    match card.read_as(root, layout, split, path, &bytes) {
        Ok((examples, tagging)) => {
            let ill_formed = file.and_then(|file| file.ill_formed);
            if let (Some(tagging), Some(expected)) = (&tagging, ill_formed) {
                let found = tagging.ill_formed;
                if found != expected {
                    checked.differ("ill-formed", expected.to_string(), found.to_string());
                }
            }
            let dataset = card.dataset(examples, tagging);
            let measured = Measured::of(&dataset);
            if let Some(facts) = card.splits.get(split) {
                checked.compare(facts, &measured);
            }
            checked.unstated = unstated(card, layout, split, &measured, &checked.sha256);
            checked.measured = Some(measured);
            checked.verdict = if checked.differences.is_empty() {
                Verdict::Agrees
            } else {
                Verdict::Differs
            };
            (checked, Some(dataset.examples))
        }
        Err(error) => {
            checked.problem = Some(format!("{error:#}"));
            checked.values = values(card, layout, split, path, &bytes);
            (checked, None)
        }
    }
}

/// Returns whether two layouts give the same input and target. Ids and groups may be missing in one, and scores may be rounded
/// to 32 bits.
fn same(a: &Example, b: &Example) -> bool {
    let targets = match (&a.target, &b.target) {
        (Target::Value(a), Target::Value(b)) => (a - b).abs() <= 1e-6 * a.abs().max(1.0),
        (a, b) => a == b,
    };
    targets && a.input == b.input
}

impl Checked {
    fn differ(&mut self, fact: &str, expected: String, found: String) {
        self.differences.push(Difference {
            fact: fact.to_string(),
            expected,
            found,
        });
    }

    /// Every layout of a split has to give the examples of the first one.
    fn compare_layouts(
        &mut self,
        (other, expected): (&Layout, &[Example]),
        (layout, found): (&Layout, &[Example]),
    ) {
        let ids = [other, layout].map(|layout| layout.columns.id.is_some());
        let is_same = |a: &Example, b: &Example| (ids[0] != ids[1] || a.id == b.id) && same(a, b);
        let pairs = || expected.iter().zip(found).filter(|(a, b)| !is_same(a, b));
        let differ = pairs().count() + expected.len().abs_diff(found.len());
        if differ == 0 {
            return;
        }
        let first = pairs()
            .next()
            .map(|(_, b)| format!(", first the one of id `{}`", b.id));
        self.differ(
            "examples",
            format!("those of the layout `{}`", other.name),
            format!("{differ} others{}", first.unwrap_or_default()),
        );
        self.verdict = Verdict::Differs;
    }

    fn compare(&mut self, facts: &SplitFacts, measured: &Measured) {
        let mut compare = |fact: &str, expected: Option<usize>, found: usize| {
            if let Some(expected) = expected.filter(|expected| *expected != found) {
                self.differ(fact, expected.to_string(), found.to_string());
            }
        };
        compare("rows", Some(facts.rows), measured.rows);
        if let Some(counts) = &facts.counts {
            for ((label, found), expected) in measured.counts.iter().zip(counts) {
                compare(&format!("counts.{label}"), Some(*expected), *found);
            }
        }
        compare("repeats", facts.repeats, measured.repeats);
        compare("words", facts.words, measured.words.unwrap_or(0));
    }

    /// The text for the user: one line if the file agrees, else its differences as a table; `path` is the path as
    /// shown.
    pub fn text(&self, path: &str) -> String {
        let mark = self.verdict.mark();
        let counted = self
            .measured
            .as_ref()
            .map(|measured| shown(measured) + "  ");
        let mut text = format!(
            "{} {} ({})  {mark}  {}{path}\n",
            self.dataset,
            self.split,
            self.layout,
            counted.unwrap_or_default()
        );
        text += &found(&self.differences, self.problem.as_deref());
        if !self.values.is_empty() {
            let mut table = TextTable::new(["value", "#rows", "in the card"]);
            for FoundValue {
                value,
                rows,
                listed,
            } in self.values.iter().take(SHOWN_VALUES)
            {
                let listed = if *listed { "yes" } else { "no" };
                table.row([format!("`{value}`"), rows.to_string(), listed.into()]);
            }
            if let Some(more) = self.values.len().checked_sub(SHOWN_VALUES + 1) {
                table.row([format!("and {} more", more + 1)]);
            }
            text += &indented(&table.to_string());
        }
        text += &left_out(&self.unstated);
        text
    }
}

/// Values shown of a column that has some that are no labels; a column of texts has thousands.
const SHOWN_VALUES: usize = 20;

/// A table of the differences, then the reason why the file cannot be read.
pub(super) fn found(differences: &[Difference], problem: Option<&str>) -> String {
    let mut text = String::new();
    if !differences.is_empty() {
        let mut table = TextTable::new(["fact", "expected", "found"]);
        for difference in differences {
            let Difference {
                fact,
                expected,
                found,
            } = difference.clone();
            table.row([fact, expected, found]);
        }
        text += &indented(&table.to_string());
    }
    text + &problem.map_or_else(String::new, indented)
}

/// Measured facts that can be pasted into the card.
pub(super) fn left_out(unstated: &str) -> String {
    if unstated.is_empty() {
        return String::new();
    }
    indented("the card leaves out what was measured:") + &indented(&indented(unstated))
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| {
            if line.is_empty() {
                "\n".into()
            } else {
                format!("  {line}\n")
            }
        })
        .collect()
}

/// The values of the label column, if one of them is no label, which may be the reason of the problem; empty if the
/// file is no table or all values are labels.
fn values(card: &Card, layout: &Layout, split: &str, path: &Path, bytes: &[u8]) -> Vec<FoundValue> {
    let known = if layout.values.is_empty() {
        &card.labels
    } else {
        &layout.values
    };
    let columns = layout.columns_of(split);
    let Joined::One(label) = &columns.label else {
        return Vec::new(); // a column of 0 and 1 for each label
    };
    let Ok(bytes) = layout.contents(path, bytes) else {
        return Vec::new();
    };
    let is_list = |name: &str| columns.is_list(card.task, name);
    let format = layout.format_of(split);
    let table = format.table_with_lists(path, &bytes, Some(&[label.as_str()]), &is_list);
    let (Ok(table), false) = (table, known.is_empty()) else {
        return Vec::new();
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    for value in table.column(0) {
        let several = (card.task == Task::MultiLabel)
            .then(|| names(value, columns.label_separator.as_deref()).ok())
            .flatten();
        for name in several.unwrap_or_else(|| vec![value.to_string()]) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let is_listed = |value: &str| {
        let names = known.iter().chain(&layout.unlabelled);
        names.into_iter().any(|name| name == value)
    };
    if counts.keys().all(|value| is_listed(value)) {
        return Vec::new();
    }
    let mut values: Vec<FoundValue> = counts
        .into_iter()
        .map(|(value, rows)| FoundValue {
            listed: is_listed(&value),
            value,
            rows,
        })
        .collect();
    values.sort_by(|a, b| b.rows.cmp(&a.rows).then_with(|| a.value.cmp(&b.value)));
    values
}

/// The measured facts that the card does not state, as it would state them.
fn unstated(
    card: &Card,
    layout: &Layout,
    split: &str,
    measured: &Measured,
    sha256: &str,
) -> String {
    let facts = card.splits.get(split);
    let mut lines = Vec::new();
    if facts.is_none() {
        lines.push(format!("rows = {}", measured.rows));
    }
    let labelled = facts.is_none_or(|facts| facts.labelled);
    if labelled && !measured.counts.is_empty() && facts.is_none_or(|facts| facts.counts.is_none()) {
        let counts: Vec<String> = measured.counts.iter().map(|(_, n)| n.to_string()).collect();
        lines.push(format!("counts = [{}]", counts.join(", ")));
    }
    if let (Some(words), true) = (
        measured.words,
        facts.is_none_or(|facts| facts.words.is_none()),
    ) {
        lines.push(format!("words = {words}"));
    }
    if facts.is_none_or(|facts| facts.repeats.is_none()) {
        lines.push(format!("repeats = {}", measured.repeats));
    }
    let mut text = String::new();
    if !lines.is_empty() {
        text += &format!("[splits.{split}]\n{}\n", lines.join("\n"));
    }
    let file = layout.files.get(split);
    if file.is_some_and(|file| file.sha256.is_none()) {
        let blank = if text.is_empty() { "" } else { "\n" };
        let name = &layout.name;
        text += &format!(
            "{blank}[layouts.files.{split}]  # of layout `{name}`\nsha256 = \"{sha256}\"\n"
        );
    }
    text
}

#[cfg(test)]
mod tests;
