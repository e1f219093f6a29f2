//! Guesses of the roles of a table's columns.

use super::label_sets::{self, LabelSets};
use super::names::{IDS, LABELS, PAIRS, TEXTS, all_differ, plain};
use super::{Findings, Hints, listed};
use crate::Task;
use crate::format::Table;
use crate::near::near;
use anyhow::{Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The most distinct values of a column that is taken for a label without such a name.
const FEW: usize = 50;

/// Guesses the roles of the columns of `table`.
pub(super) fn findings(table: &Table, hints: &Hints) -> Result<Findings> {
    let names = table.columns();
    ensure!(table.n_rows() > 0, "no rows; expected at least one");
    let mut reasons: Vec<String> = Vec::new();
    let asked = |option: &str, wish: &Option<String>| -> Result<Option<usize>> {
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
    };
    let mut second = asked("--second", &hints.second)?;
    let id = asked("--id", &hints.id)?;
    let known = |name: &String| names.iter().position(|column| column == name);
    let of_label = hints.label.as_ref().and_then(known);
    let text = match asked("--text", &hints.text)? {
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
    let label = asked("--label", &hints.label)?;
    let label = match label {
        Some(label) => label,
        None => {
            let (label, why) = guess_label(table, &[Some(text), second, id])?;
            reasons.push(why);
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
    let mut parts = Vec::new();
    let mut part = |key: &str, column: Option<usize>| {
        parts.extend(column.map(|column| format!("{key} = {}", super::string(&names[column]))));
    };
    part("id", id);
    part("text", Some(text));
    part("second", second);
    part("label", Some(label));
    if reasons.is_empty() {
        reasons.push("as the options say".into());
    }
    let mut findings = answers(table, label, hints)?;
    findings.columns = format!("{{ {} }}", parts.join(", "));
    findings.columns_reason = reasons.join(", ");
    Ok(findings)
}

/// The column with the name of an id and a different value in each row, if there is one.
fn id_by_name(table: &Table, taken: &[Option<usize>]) -> Option<usize> {
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
    if let Some(text) = TEXTS.iter().find_map(|name| called(name)) {
        return Ok((text, None, format!("`{}` by its name", names[text])));
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
    let parts = columns.iter().filter_map(|(key, column)| {
        let name = super::string(&names[(*column)?]);
        Some(format!("{key} = {name}"))
    });
    let parts: Vec<String> = parts.chain([sets.key]).collect();
    Findings {
        columns: format!("{{ {} }}", parts.join(", ")),
        columns_reason: reasons.join(", "),
        ..Findings::new(Task::MultiLabel, sets.reason, sets.labels)
    }
}

/// The most distinct integers that are taken for classes without a hint.
const FEW_NUMBERS: usize = 20;

/// At most one of so many rows lacks a label where -1 says so.
const FEW_UNLABELLED: usize = 10;

/// The labels of an ordinal dataset in their order: by value where they are numbers, and otherwise as `--order` says.
fn ordered(name: &str, mut found: Vec<String>, hints: &Hints) -> Result<Vec<String>> {
    if let Some(order) = &hints.order {
        if let Some(label) = found.iter().find(|label| !order.contains(label)) {
            let hint = near(label, order.iter().map(String::as_str))
                .map_or(String::new(), |near| format!(" did you mean `{near}`?"));
            bail!(
                "--order: `{name}` has `{label}`, which is not in it;{hint} found {}",
                listed(order)
            );
        }
        return Ok(order.clone());
    }
    let number = |label: &String| label.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    ensure!(
        found.iter().all(|label| number(label).is_some()),
        "`{name}` has labels that are no numbers, so their order is not known: {}; give --order with them from the lowest \
         to the highest, with commas between them",
        listed(&found)
    );
    found.sort_by(|a, b| {
        number(a)
            .partial_cmp(&number(b))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(found)
}

/// The value that means "no label", if there is one: an empty field, or the -1 that the Hub writes for the few rows
/// without a class next to classes counted from 0. Among other numbers -1 is one of them.
fn unlabelled(counts: &BTreeMap<&str, usize>, hints: &Hints) -> Option<&'static str> {
    if counts.len() > 1 && counts.contains_key("") {
        return Some("");
    }
    let none = counts.get("-1")?;
    let others = counts.keys().filter(|value| **value != "-1");
    let classes: BTreeSet<usize> = others
        .map(|value| value.parse().ok())
        .collect::<Option<_>>()?;
    let are_counted = classes.len() > 1 && classes.iter().copied().eq(0..classes.len());
    let are_few = *none * FEW_UNLABELLED <= counts.values().sum();
    let is_class = matches!(hints.task, None | Some(Task::Classification));
    (are_counted && are_few && is_class && classes.len() <= FEW_NUMBERS).then_some("-1")
}

/// A note on rows without a label.
fn unlabelled_note(name: &str, value: &str, rows: usize, all: usize) -> String {
    if value.is_empty() {
        return format!("`{name}` is empty in {rows} of {all} rows, which have no label then");
    }
    format!(
        "`{name}` is {value} in {rows} of {all} rows, which is taken for no label; if it is one, add it to `labels` in the \
         card and remove `unlabelled`"
    )
}

fn answers(table: &Table, label: usize, hints: &Hints) -> Result<Findings> {
    let name = &table.columns()[label];
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in table.column(label) {
        *counts.entry(value).or_default() += 1;
    }
    let whole = |value: &&str| value.parse::<i64>().is_ok();
    let unlabelled = unlabelled(&counts, hints);
    let mut values: Vec<&str> = counts
        .keys()
        .copied()
        .filter(|value| Some(*value) != unlabelled)
        .collect();
    let n = values.len();
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|value| value.trim().parse().ok())
        .collect();
    let numbers = numbers.filter(|numbers| numbers.iter().all(|number| number.is_finite()));
    let with_comma =
        |value: &&str| value.contains(',') && value.replace(',', ".").trim().parse::<f64>().is_ok();
    if let (None, None | Some(Task::Regression), Some(value)) = (
        &numbers,
        hints.task,
        values.iter().find(|value| with_comma(value)),
    ) && values
        .iter()
        .all(|value| with_comma(value) || value.trim().parse::<f64>().is_ok())
    {
        bail!(
            "`{name}` has numbers with decimal commas, such as `{value}`; expected a point before decimals"
        );
    }
    let classes = values.iter().all(whole) && n <= FEW_NUMBERS;
    let (task, task_reason) = match (hints.task, &numbers) {
        (Some(task), _) => (task, "as --task says".to_string()),
        (None, Some(_)) if !classes => (
            Task::Regression,
            format!("`{name}` has numbers, {n} different ones"),
        ),
        _ => (
            Task::Classification,
            format!("`{name}` has {n} different values"),
        ),
    };
    let without =
        unlabelled.map(|value| unlabelled_note(name, value, counts[value], table.n_rows()));
    let mut findings = Findings {
        unlabelled: unlabelled.map(String::from),
        notes: without.into_iter().collect(),
        ..Findings::new(task, task_reason, Vec::new())
    };
    if task == Task::Regression {
        let Some(numbers) = numbers.filter(|numbers| numbers.len() > 1) else {
            let number = |value: &&str| value.trim().parse::<f64>().is_ok_and(f64::is_finite);
            match table
                .column(label)
                .zip(1..)
                .find(|(value, _)| Some(*value) != unlabelled && !number(value))
            {
                Some((value, row)) => bail!(
                    "--task regression: `{name}` has `{value}` in row {row}; expected numbers, with a point before decimals"
                ),
                None => bail!(
                    "--task regression: `{name}` has one value only; expected different numbers"
                ),
            }
        };
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        findings.range = Some([low, high]);
        return Ok(findings);
    }
    ensure!(
        n >= 2,
        "`{name}` has one value only; expected at least 2 labels; give --label"
    );
    ensure!(
        hints.label.is_some() || n <= FEW || 20 * n <= table.n_rows(),
        "`{name}` has {n} different values in {} rows; if they are labels, give --label {name}, and if a field has several \
         labels, give --task multi-label",
        table.n_rows()
    );
    if classes {
        values.sort_by_key(|value| value.parse::<i64>().unwrap_or(0));
    }
    let order: Vec<String> = values.into_iter().map(String::from).collect();
    if task == Task::Ordinal {
        findings.labels = ordered(name, order, hints)?;
        return Ok(findings);
    }
    ensure!(
        hints.order.is_none(),
        "--order: given; expected none, since the task is {}",
        task.word()
    );
    if classes && n > 2 && hints.task.is_none() {
        findings.notes.push(format!(
            "`{name}` has whole numbers, which are taken for labels without an order; if they are steps of a scale, give \
             --task ordinal"
        ));
    }
    findings.labels = order;
    Ok(findings)
}
