//! Guesses of the roles of a table's columns.

use super::{Findings, Hints, listed};
use crate::Task;
use crate::format::Table;
use crate::near::near;
use anyhow::{Result, bail, ensure};
use std::collections::{BTreeMap, HashSet};

/// Names of columns, in lower case and only their letters and digits, the likelier ones first.
const PAIRS: [(&str, &str); 8] = [
    ("sentence1", "sentence2"),
    ("sentencea", "sentenceb"),
    ("question1", "question2"),
    ("text1", "text2"),
    ("texta", "textb"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("1string", "2string"),
];
const TEXTS: [&str; 10] = [
    "text",
    "sentence",
    "review",
    "tweet",
    "comment",
    "utterance",
    "document",
    "content",
    "body",
    "message",
];
const LABELS: [&str; 16] = [
    "label",
    "labels",
    "target",
    "class",
    "goldlabel",
    "gold",
    "category",
    "sentiment",
    "intent",
    "score",
    "similarity",
    "rating",
    "stars",
    "isduplicate",
    "entailmentjudgment",
    "relatednessscore",
];
const IDS: [&str; 8] = [
    "id",
    "idx",
    "index",
    "guid",
    "uid",
    "pairid",
    "sentenceid",
    "rowid",
];

/// The most distinct values of a column that is taken for a label without such a name.
const FEW: usize = 50;

fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns whether a field is the name of a column rather than a value.
pub(super) fn is_telling(field: &str) -> bool {
    let name = plain(field);
    let pair = PAIRS
        .iter()
        .any(|(first, second)| name == *first || name == *second);
    pair || TEXTS.contains(&name.as_str())
        || LABELS.contains(&name.as_str())
        || IDS.contains(&name.as_str())
}

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
    let label = asked("--label", &hints.label)?;
    let id = asked("--id", &hints.id)?;
    let text = match asked("--text", &hints.text)? {
        Some(text) => text,
        None => {
            let (text, pair, why) = guess_text(table, &[second, label, id])?;
            second = second.or(pair);
            reasons.push(why);
            text
        }
    };
    let label = match label {
        Some(label) => label,
        None => {
            let (label, why) = guess_label(table, &[Some(text), second, id])?;
            reasons.push(why);
            label
        }
    };
    let taken = [Some(text), second, Some(label)];
    let id = id.or_else(|| {
        let by_name = |&column: &usize| IDS.contains(&plain(&names[column]).as_str());
        let mut free = (0..names.len()).filter(|column| !taken.contains(&Some(*column)));
        free.find(by_name)
            .filter(|&column| all_differ(table, column))
    });
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

fn all_differ(table: &Table, column: usize) -> bool {
    let mut seen = HashSet::new();
    table.column(column).all(|value| seen.insert(value))
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
        let words: usize = table
            .column(column)
            .map(|value| value.split_whitespace().count())
            .sum();
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

/// The most distinct integers that are taken for classes without a hint.
const FEW_NUMBERS: usize = 20;

fn answers(table: &Table, label: usize, hints: &Hints) -> Result<Findings> {
    let name = &table.columns()[label];
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in table.column(label) {
        *counts.entry(value).or_default() += 1;
    }
    let whole = |value: &&str| value.parse::<i64>().is_ok();
    // The Hub writes -1, others leave the field empty.
    let mut unlabelled = None;
    if counts.len() > 1 && counts.contains_key("") {
        unlabelled = Some("");
    } else if counts.contains_key("-1") && counts.keys().all(whole) {
        unlabelled = Some("-1");
    }
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
    let mut findings = Findings {
        task,
        task_reason,
        labels: Vec::new(),
        range: None,
        unlabelled: unlabelled.map(String::from),
        format: String::new(),
        format_reason: String::new(),
        columns: String::new(),
        columns_reason: String::new(),
        empty: None,
        encoding: None,
    };
    if task == Task::Regression {
        let Some(numbers) = numbers.filter(|numbers| numbers.len() > 1) else {
            bail!("--task regression: `{name}` has other values than numbers, or only one");
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
        "`{name}` has {n} different values in {} rows; if they are labels, give --label {name}",
        table.n_rows()
    );
    if classes {
        values.sort_by_key(|value| value.parse::<i64>().unwrap_or(0));
    }
    findings.labels = values.into_iter().map(String::from).collect();
    Ok(findings)
}
