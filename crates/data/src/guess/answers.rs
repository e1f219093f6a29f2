//! Guesses of the task and of the labels, from the values of the label column.

use super::odd::{Odd, is_number, odd};
use super::{Findings, Hints, listed, shown, spellings};
use crate::Task;
use crate::format::Table;
use anyhow::{Context as _, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};
use totune_toml::near;

/// The most distinct values of a column that is taken for a label without such a name.
pub(super) const FEW: usize = 50;

/// The most distinct integers that are taken for classes without a hint.
const FEW_NUMBERS: usize = 20;

/// At most one of so many rows lacks a label where -1 says so.
const FEW_UNLABELLED: usize = 10;

/// The labels of an ordinal dataset in their order: by value where they are numbers, and otherwise as `--order` says.
fn ordered(
    name: &str,
    mut found: Vec<String>,
    odd: Option<Odd>,
    hints: &Hints,
) -> Result<Vec<String>> {
    if let Some(order) = &hints.order {
        // People write spaces after commas.
        let meant = |label: &String| {
            found
                .iter()
                .find(|found| *found == label)
                .map_or(label.trim(), |found| found)
                .to_string()
        };
        let order: Vec<String> = order.iter().map(meant).collect();
        if let Some(label) = found.iter().find(|label| !order.contains(label)) {
            let hint = near(label, order.iter().map(String::as_str))
                .map_or(String::new(), |near| format!(" did you mean `{near}`?"));
            bail!(
                "--order: `{name}` has `{}`, which is not in it;{hint} found {}",
                shown(label),
                listed(&order)
            );
        }
        return Ok(order);
    }
    if let Some(odd) = odd {
        bail!(
            "--task ordinal: `{name}`: {}; {IN_EACH}; or give --order",
            odd.finding
        );
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

/// Refuses numbers with commas before decimals or between thousands, which would be taken for labels.
fn refuse_commas(name: &str, values: &[&str]) -> Result<()> {
    let is_number = |value: &str| value.trim().parse::<f64>().is_ok();
    let has_comma = |value: &str| {
        value.contains(',') && (is_number(&value.replace(',', ".")) || has_thousands(value))
    };
    let with_comma = values.iter().find(|value| has_comma(value));
    let are_numbers = values
        .iter()
        .all(|value| is_number(value) || has_comma(value));
    match with_comma.filter(|_| are_numbers) {
        Some(value) => bail!(
            "`{name}` has numbers with commas, such as `{}`; expected a point before decimals, and nothing between thousands; if the \
             commas divide labels, give --task multi-label --label {name}",
            shown(value)
        ),
        None => Ok(()),
    }
}

/// Whether a number has commas between its thousands: `1,234,567.5`.
fn has_thousands(value: &str) -> bool {
    let whole = value.trim().trim_start_matches(['+', '-']);
    let whole = whole.split_once('.').map_or(whole, |(whole, _)| whole);
    let mut groups = whole.split(',').map(str::len);
    groups
        .next()
        .is_some_and(|digits| (1..=3).contains(&digits))
        && groups.all(|digits| digits == 3)
        && value.replace(',', "").trim().parse::<f64>().is_ok()
}

/// The error about a column that has no scores: its first value that is no number, if there is one.
fn no_scores(table: &Table, label: usize, unlabelled: Option<&str>, odd: Option<Odd>) -> String {
    let name = &table.columns()[label];
    let mut rows = table.rows();
    let other = rows.find(|row| {
        let value = row.fields[label].as_ref();
        Some(value) != unlabelled && !is_number(value)
    });
    let found = match (odd, other) {
        (Some(odd), _) => format!("`{name}`: {}; {IN_EACH}", odd.finding),
        (None, Some(row)) => format!(
            "`{name}` has `{}` on {}; expected numbers",
            shown(&row.fields[label]),
            spellings::place(table, row.line)
        ),
        (None, None) => format!("`{name}` has one value only; expected different numbers"),
    };
    format!("--task regression: {found}")
}

/// The expectation of scores.
const IN_EACH: &str = "expected a number in each row, or an empty field where there is none";

/// The task, and the labels or the range of the scores in the column `label`.
pub(super) fn answers(table: &Table, label: usize, hints: &Hints) -> Result<Findings> {
    let name = &table.columns()[label];
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in table.column(label) {
        *counts.entry(value).or_default() += 1;
    }
    let unlabelled = unlabelled(&counts, hints);
    let values: Vec<&str> = counts
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
    if numbers.is_none() && matches!(hints.task, None | Some(Task::Regression)) {
        refuse_commas(name, &values)?;
    }
    let odd = odd(table, label, unlabelled, FEW_NUMBERS);
    if let (None, Some(odd)) = (hints.task, odd.as_ref().filter(|odd| odd.among_scores)) {
        bail!(
            "`{name}`: {}; {IN_EACH}; if they are labels, give --task classification",
            odd.finding
        );
    }
    let classes = are_classes(&values);
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
        let numbers = numbers.filter(|numbers| numbers.len() > 1);
        let numbers = numbers.with_context(|| no_scores(table, label, unlabelled, odd))?;
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        findings.range = Some([low, high]);
        return Ok(findings);
    }
    findings.labels = labels(table, label, values, hints)?;
    let noted = spellings::missing(table, label, &findings.labels, None);
    findings.notes.extend(noted);
    let noted = spellings::spaced(table, label, &findings.labels);
    findings.notes.extend(noted);
    if task == Task::Ordinal {
        findings.labels = ordered(name, findings.labels, odd, hints)?;
        return Ok(findings);
    }
    ensure!(
        hints.order.is_none(),
        "--order: given; expected none, since the task is {}",
        task.word()
    );
    if hints.task.is_none() {
        let noted = other_tasks(name, &findings.labels, classes);
        findings.notes.extend(noted);
    }
    Ok(findings)
}

/// Returns whether values that are whole numbers are so few that they are taken for classes.
fn are_classes(values: &[&str]) -> bool {
    values.iter().all(|value| whole(value).is_some()) && values.len() <= FEW_NUMBERS
}

/// The whole number that a value is, which pandas writes as `1.0` in a column with empty fields.
fn whole(value: &str) -> Option<i64> {
    value.strip_suffix(".0").unwrap_or(value).parse().ok()
}

/// The labels that the column `label` has.
fn labels(
    table: &Table,
    label: usize,
    mut values: Vec<&str>,
    hints: &Hints,
) -> Result<Vec<String>> {
    let (name, n) = (&table.columns()[label], values.len());
    ensure!(
        n >= 2,
        "`{name}` has one value only; expected at least 2 labels{}",
        if hints.label.is_some() {
            ""
        } else {
            "; give --label"
        }
    );
    ensure!(
        hints.label.is_some() || n <= FEW || 20 * n <= table.n_rows(),
        "`{name}` has {n} different values in {} rows; if they are labels, give --label {name}, and if a field has several \
         labels, also --task multi-label",
        table.n_rows()
    );
    if are_classes(&values) {
        values.sort_by_key(|value| whole(value).unwrap_or(0));
    }
    Ok(values.into_iter().map(String::from).collect())
}

/// Notes on labels that another task may suit better.
fn other_tasks(name: &str, labels: &[String], are_whole_numbers: bool) -> Vec<String> {
    let is_scale = are_whole_numbers && labels.len() > 2;
    let scale = is_scale.then(|| {
        format!(
            "`{name}` has whole numbers, which are taken for labels without an order; if they are steps of a scale, give \
             --task ordinal"
        )
    });
    scale.into_iter().chain(comma_note(name, labels)).collect()
}

/// A note on labels with commas that may be several labels each: divided there, fewer names remain.
fn comma_note(name: &str, labels: &[String]) -> Option<String> {
    let with_comma: Vec<&String> = labels.iter().filter(|label| label.contains(',')).collect();
    let parts = labels.iter().flat_map(|label| label.split(','));
    let parts: BTreeSet<&str> = parts.map(str::trim).collect();
    let example = with_comma.first().filter(|_| parts.len() < labels.len())?;
    Some(format!(
        "`{name}` has commas in {} of {} labels, such as `{}`, which is taken for one label; if commas stand between \
         several, give --label {name} --task multi-label",
        with_comma.len(),
        labels.len(),
        shown(example)
    ))
}
