//! Guesses of the roles of a table's columns.

use super::answers::{self, FEW};
use super::label_sets::{self, LabelSets};
use super::names::{IDS, LABELS, PAIRS, TEXTS, all_differ, plain};
use super::{Findings, Hints, listed};
use crate::Task;
use crate::format::Table;
use anyhow::{Result, anyhow, bail, ensure};
use std::collections::HashSet;
use totune_toml::near;

/// Guesses the roles of the columns of `table`. Errors name the columns that could not be read: the one in question may be
/// among them.
pub(super) fn findings(table: &Table, hints: &Hints) -> Result<Findings> {
    let unread = table.unread();
    of_readable(table, hints).map_err(|error| match unread.as_str() {
        "" => error,
        unread => anyhow!("{error:#}{unread}"),
    })
}

fn of_readable(table: &Table, hints: &Hints) -> Result<Findings> {
    let names = table.columns();
    ensure!(table.n_rows() > 0, "no rows; expected at least one");
    let mut reasons: Vec<String> = Vec::new();
    refuse_same(hints)?;
    let mut second = asked(names, "--second", &hints.second)?;
    let id = asked(names, "--id", &hints.id)?;
    let known = |name: &String| names.iter().position(|column| column == name);
    let of_label = hints.label.as_ref().and_then(known);
    let text = match asked(names, "--text", &hints.text)? {
        Some(text) => text,
        None => {
            let (text, pair, why) = guess_text(table, &[second, of_label, id])?;
            second = second.or(pair);
            reasons.push(why);
            text
        }
    };
    if let Some(sets) = label_sets::guess(table, &[Some(text), second, id], hints)? {
        reasons.push(sets.reason.clone());
        let id = id.or_else(|| id_by_name(table, &[Some(text), second]));
        let columns = [("id", id), ("text", Some(text)), ("second", second)];
        return Ok(of_sets(table, columns, sets, reasons));
    }
    let label = asked(names, "--label", &hints.label)?;
    let mut notes = Vec::new();
    let label = match label {
        Some(label) => label,
        None => {
            let taken = [Some(text), second, id];
            let (label, why) = guess_label(table, &taken)?;
            reasons.push(why);
            notes.extend(rivals(names, &taken, label));
            label
        }
    };
    if hints.task.is_none()
        && let Some(sets) = label_sets::in_column(table, label, hints)?
    {
        reasons.push(sets.reason.clone());
        let id = id.or_else(|| id_by_name(table, &[Some(text), second]));
        let columns = [("id", id), ("text", Some(text)), ("second", second)];
        return Ok(of_sets(table, columns, sets, reasons));
    }
    let id = id.or_else(|| id_by_name(table, &[Some(text), second, Some(label)]));
    let columns = [
        ("id", id),
        ("text", Some(text)),
        ("second", second),
        ("label", Some(label)),
    ];
    let parts = columns
        .iter()
        .filter_map(|(key, column)| role(key, *column, names));
    let parts: Vec<String> = parts.collect();
    if reasons.is_empty() {
        reasons.push("as the options say".into());
    }
    let mut findings = answers::answers(table, label, hints)?;
    findings.columns = format!("{{ {} }}", parts.join(", "));
    findings.columns_reason = reasons.join(", ");
    findings.notes.extend(notes);
    Ok(findings)
}

/// Refuses two options that name one column.
fn refuse_same(hints: &Hints) -> Result<()> {
    let given: Vec<(&str, &String)> = hints.columns().collect();
    for (at, (option, name)) in given.iter().enumerate() {
        let earlier = given[..at].iter().find(|(_, other)| other == name);
        if let Some((other, _)) = earlier {
            bail!("{other} and {option}: both name the column `{name}`; expected two columns");
        }
    }
    Ok(())
}

/// A note on other columns with the name of a label.
fn rivals(names: &[String], taken: &[Option<usize>], label: usize) -> Option<String> {
    let is_named = |column: &usize| LABELS.contains(&plain(&names[*column]).as_str());
    let others =
        (0..names.len()).filter(|&column| column != label && !taken.contains(&Some(column)));
    let others: Vec<String> = others
        .filter(is_named)
        .map(|column| names[column].clone())
        .collect();
    (!others.is_empty() && is_named(&label)).then(|| {
        format!(
            "`{}` is taken for the label, although {} may be it by name, too; --label names another one",
            names[label],
            listed(&others)
        )
    })
}

/// The column that an option names.
pub(super) fn asked(
    names: &[String],
    option: &str,
    wish: &Option<String>,
) -> Result<Option<usize>> {
    let Some(name) = wish else { return Ok(None) };
    if let Some(place) = names.iter().position(|column| column == name) {
        return Ok(Some(place));
    }
    let hint = near(name, names.iter().map(String::as_str))
        .map_or(String::new(), |near| format!(" did you mean `{near}`?"));
    bail!(
        "{option}: no column `{name}`;{hint} the columns are {}",
        listed(names)
    )
}

/// A column in its role, as a card has it.
pub(super) fn role(key: &str, column: Option<usize>, names: &[String]) -> Option<String> {
    Some(format!("{key} = {}", super::string(&names[column?])))
}

/// The column with the name of an id and a different value in each row, if there is one.
pub(super) fn id_by_name(table: &Table, taken: &[Option<usize>]) -> Option<usize> {
    let names = table.columns();
    let by_name = |&column: &usize| IDS.contains(&plain(&names[column]).as_str());
    let mut free = (0..names.len()).filter(|column| !taken.contains(&Some(*column)));
    free.find(by_name)
        .filter(|&column| all_differ(table, column))
}

/// The text column, its pair if there is one, and the reason.
fn guess_text(table: &Table, taken: &[Option<usize>]) -> Result<(usize, Option<usize>, String)> {
    let names = table.columns();
    let free = |column: &usize| !taken.contains(&Some(*column));
    let called = |name: &str| {
        (0..names.len())
            .filter(free)
            .find(|&column| plain(&names[column]) == name)
    };
    for (first, second) in PAIRS {
        if let (Some(one), Some(other)) = (called(first), called(second)) {
            return Ok((
                one,
                Some(other),
                format!("`{}` and `{}` by their names", names[one], names[other]),
            ));
        }
    }
    let words = |column: usize| -> f64 {
        let words: usize = table.column(column).map(n_words).sum();
        words as f64 / table.n_rows() as f64
    };
    let mut long: Vec<(usize, f64)> = (0..names.len())
        .filter(free)
        .map(|column| (column, words(column)))
        .filter(|(_, words)| *words >= 2.0)
        .collect();
    long.sort_by(|a, b| b.1.total_cmp(&a.1));
    // A column called `document` may have the numbers of documents, next to one with their words.
    let has_words = |column: &usize| {
        let is_long = || long.is_empty() || long.iter().any(|(of, _)| of == column);
        plain(&names[*column]) != "document" || is_long()
    };
    let mut named = TEXTS.iter().filter_map(|name| called(name));
    if let Some(text) = named.find(has_words) {
        return Ok((text, None, format!("`{}` by its name", names[text])));
    }
    match long[..] {
        [(text, _)] => Ok((
            text,
            None,
            format!("`{}` since only it has several words", names[text]),
        )),
        [] => bail!(
            "no column looks like a text; give --text with one of {}",
            listed(names)
        ),
        _ => {
            let columns: Vec<String> = long
                .iter()
                .map(|(column, _)| names[*column].clone())
                .collect();
            bail!(
                "{} may all be the text; give --text, and --second for a pair",
                listed(&columns)
            )
        }
    }
}

/// The number of words of a value. Where no spaces divide words, as in Chinese, four letters count as one, so that short
/// labels are not taken for texts.
fn n_words(value: &str) -> usize {
    let is_dense =
        |letter: &char| matches!(*letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
    let dense = value.chars().filter(is_dense).count();
    value.split_whitespace().count().max(dense / 4)
}

fn guess_label(table: &Table, taken: &[Option<usize>]) -> Result<(usize, String)> {
    let names = table.columns();
    let free = || (0..names.len()).filter(|column| !taken.contains(&Some(*column)));
    let by_name = LABELS
        .iter()
        .find_map(|name| free().find(|&column| plain(&names[column]) == *name));
    if let Some(label) = by_name {
        return Ok((label, format!("`{}` by its name", names[label])));
    }
    let few: Vec<usize> = free()
        .filter(|&column| {
            let values: HashSet<&str> = table.column(column).collect();
            values.len() >= 2
                && values.len() <= FEW
                && (values.len() < table.n_rows() || table.n_rows() <= 2)
        })
        .collect();
    match few[..] {
        [label] => Ok((
            label,
            format!("`{}` since only it has few values", names[label]),
        )),
        _ => {
            let columns: Vec<String> = free().map(|column| names[column].clone()).collect();
            ensure!(
                !columns.is_empty(),
                "no column is left for the label; the columns are {}",
                listed(names)
            );
            bail!(
                "which column is the label is not clear; give --label with one of {}",
                listed(&columns)
            )
        }
    }
}

/// The findings about a multi-label dataset.
fn of_sets(
    table: &Table,
    columns: [(&str, Option<usize>); 3],
    sets: LabelSets,
    reasons: Vec<String>,
) -> Findings {
    let names = table.columns();
    let parts = columns
        .iter()
        .filter_map(|(key, column)| role(key, *column, names));
    let parts: Vec<String> = parts.chain([sets.key]).collect();
    Findings {
        columns: format!("{{ {} }}", parts.join(", ")),
        columns_reason: reasons.join(", "),
        notes: sets.notes,
        ..Findings::new(Task::MultiLabel, sets.reason, sets.labels)
    }
}
