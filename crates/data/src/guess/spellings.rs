//! Notes on labels that are written in a way that may not be meant: like missing values, with white space around them, or
//! like each other.

use super::shown::shown;
use crate::format::{Table, Unit};
use crate::label_sets::names;
use std::collections::BTreeMap;

/// The words that programs write for a missing value, in lower case.
const MISSING: [&str; 12] = [
    "nan", "n/a", "#n/a", "na", "<na>", "nat", "null", "none", "nil", "missing", "?", "-",
];

/// Returns whether a value that is not empty looks like a missing one.
pub(super) fn is_missing(value: &str) -> bool {
    let plain = value.trim().to_lowercase();
    !value.is_empty() && (plain.is_empty() || MISSING.contains(&plain.as_str()))
}

/// `line 7`, or `row 7` of a file without lines.
pub(super) fn place(table: &Table, line: usize) -> String {
    let unit = match table.error(line, String::new()).unit {
        Unit::Line => "line",
        Unit::Row => "row",
    };
    format!("{unit} {line}")
}

/// Notes on labels that look like missing values, each with the place of the first. A field has several labels where
/// there is a `separator`.
pub(super) fn missing(
    table: &Table,
    column: usize,
    labels: &[String],
    separator: Option<&str>,
) -> Vec<String> {
    let name = shown(&table.columns()[column]);
    let note = |label: &String| {
        let has = |field: &str| {
            let parts = separator.and_then(|separator| names(field, Some(separator)).ok());
            field == label || parts.is_some_and(|parts| parts.contains(label))
        };
        let mut rows = table.rows().filter(|row| has(&row.fields[column]));
        let first = place(table, rows.next()?.line);
        let n = 1 + rows.count();
        let value = match label.trim() {
            "" => "only white space".to_string(),
            _ => format!("`{}`", shown(label)),
        };
        Some(format!(
            "`{name}` is {value} in {n} of {} rows, first on {first}, which is taken for a label; if it means that there is \
             none, leave the field empty",
            table.n_rows()
        ))
    };
    let missing = labels.iter().filter(|label| is_missing(label));
    missing.filter_map(note).collect()
}

/// The labels that differ only in case, in spaces or in how a number is written, in groups.
fn groups(labels: &[String]) -> BTreeMap<String, Vec<&str>> {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for label in labels {
        let words = label
            .split_whitespace()
            .map(|word| match word.parse::<f64>() {
                Ok(number) if number.is_finite() => number.to_string(),
                _ => word.to_lowercase(),
            });
        let words: Vec<String> = words.collect();
        groups.entry(words.join(" ")).or_default().push(label);
    }
    groups
}

/// Notes on labels that differ only in case, in spaces or in how a number is written, which a person may have meant as one.
pub(crate) fn alike(labels: &[String]) -> Vec<String> {
    let groups = groups(labels).into_values().filter(|group| group.len() > 1);
    let note = |group: Vec<&str>| {
        let labels: Vec<String> = group
            .iter()
            .map(|label| format!("`{}`", shown(label)))
            .collect();
        format!(
            "{} differ only in case, in spaces or in how a number is written, and are different labels; write them alike in the file if they are meant to be one",
            labels.join(", ")
        )
    };
    groups.map(note).collect()
}

/// A note on labels that begin or end with white space, with the place of the first. Those that [`alike`] names are left
/// out.
pub(super) fn spaced(table: &Table, column: usize, labels: &[String]) -> Option<String> {
    let groups = groups(labels);
    let alone = groups.values().filter(|group| group.len() == 1).flatten();
    let is_spaced = |label: &&&str| label.trim() != **label && !label.trim().is_empty();
    let spaced: Vec<&&str> = alone.filter(is_spaced).collect();
    let first = spaced.first()?;
    let row = table.rows().find(|row| row.fields[column] == ***first)?;
    Some(format!(
        "`{}` has white space around {} of {} labels, such as `{}` on {}, which is part of the label; take it away in the \
         file if it is not meant",
        shown(&table.columns()[column]),
        spaced.len(),
        labels.len(),
        shown(first),
        place(table, row.line)
    ))
}
