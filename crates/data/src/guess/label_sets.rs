//! Guesses of the labels of a multi-label dataset.

use super::names::{IDS, LABELS, all_differ, plain};
use super::{Hints, listed, shown, spellings, string, strings};
use crate::Task;
use crate::format::Table;
use crate::label_sets::{applies, list, names};
use anyhow::{Result, bail, ensure};
use std::collections::BTreeSet;

/// The labels of a multi-label dataset, and the columns that have them.
pub(super) struct LabelSets {
    /// The `label` of a card's columns, and what goes with it.
    pub key: String,
    pub labels: Vec<String>,
    pub reason: String,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Separators that are looked for: the first ones stand in few labels for anything else.
const SEPARATORS: [&str; 3] = ["|", ";", ","];
const TELLING: usize = 2;

/// The labels of `table`, if each row has several or they are asked for; `taken` are the columns of the texts.
pub(super) fn guess(
    table: &Table,
    taken: &[Option<usize>],
    hints: &Hints,
) -> Result<Option<LabelSets>> {
    let asked = hints.task == Some(Task::MultiLabel) || hints.label_separator.is_some();
    if hints.task.is_some_and(|task| task != Task::MultiLabel) {
        ensure!(
            hints.label_separator.is_none(),
            "--label-separator: given; expected none, since --task is not multi-label"
        );
        return Ok(None);
    }
    let names = table.columns();
    let place = |name: &str| names.iter().position(|column| column == name);
    if let Some(wish) = hints.label.as_deref().filter(|wish| place(wish).is_none()) {
        let several: Option<Vec<usize>> = wish.split(',').map(|name| place(name.trim())).collect();
        return several
            .filter(|several| asked && several.len() > 1)
            .map(|several| indicators(table, several, "as --label says".into()))
            .transpose();
    }
    let is_id = |column: usize| {
        let name = plain(&names[column]);
        IDS.contains(&name.as_str()) && all_differ(table, column)
    };
    let free: Vec<usize> = (0..names.len())
        .filter(|column| !taken.contains(&Some(*column)) && !is_id(*column))
        .collect();
    let by_name = |name: &&str| free.iter().copied().find(|&at| plain(&names[at]) == **name);
    let wished = hints.label.as_deref().and_then(place);
    if let Some(column) = wished.or_else(|| LABELS.iter().find_map(by_name)) {
        return several_in_one(table, column, asked, hints);
    }
    let of_labels: Vec<usize> = free
        .iter()
        .copied()
        .filter(|&column| table.column(column).all(|field| applies(field).is_some()))
        .collect();
    let is_clear = asked || of_labels.len() == free.len();
    if of_labels.len() < 2 || !is_clear || hints.label_separator.is_some() {
        if !asked {
            return Ok(None);
        }
        if let [only] = free[..] {
            return several_in_one(table, only, asked, hints);
        }
        let sets = free.iter().map(|&column| in_column(table, column, hints));
        let mut sets: Vec<LabelSets> = sets.filter_map(|found| found.ok().flatten()).collect();
        return match (sets.pop(), sets.is_empty()) {
            (Some(only), true) => Ok(Some(only)),
            _ => bail!(
                "which columns have the labels is not clear; give --label: the column that has those of a row, or a column \
                 of 0 and 1 for each label with commas between their names; the columns are {}",
                listed(names)
            ),
        };
    }
    let reason = "columns of only 0 and 1";
    indicators(table, of_labels, reason.into()).map(Some)
}

/// The labels of columns of 0 and 1.
fn indicators(table: &Table, columns: Vec<usize>, reason: String) -> Result<LabelSets> {
    let names = table.columns();
    let labels: Vec<String> = columns.iter().map(|&at| names[at].clone()).collect();
    for &column in &columns {
        if let Some(field) = table.column(column).find(|field| applies(field).is_none()) {
            bail!(
                "`{}` has `{}`; expected only 0 and 1",
                names[column],
                shown(field)
            );
        }
    }
    Ok(LabelSets {
        key: format!("label = {}", strings(&labels)),
        reason: format!("{}: {reason}", listed(&labels)),
        labels,
        notes: Vec::new(),
    })
}

/// The labels of the column with the labels, if its fields have several.
pub(super) fn in_column(table: &Table, column: usize, hints: &Hints) -> Result<Option<LabelSets>> {
    several_in_one(table, column, false, hints)
}

/// Refuses lists of 0 and 1 as long as each other, which have a place for each label and not its name.
fn refuse_flags(name: &str, fields: &BTreeSet<&str>) -> Result<()> {
    let lists: Vec<Vec<String>> = fields.iter().filter_map(|field| list(field)).collect();
    let n = lists.first().map_or(0, Vec::len);
    let is_flag = |value: &String| applies(value).is_some();
    let are_flags = |list: &Vec<String>| list.len() == n && list.iter().all(is_flag);
    ensure!(
        n < 2 || !lists.iter().all(are_flags),
        "`{name}` has lists of {n} numbers that are 0 or 1, which do not say what the labels are called; expected the names of \
         those that apply, or a column of 0 and 1 for each label"
    );
    Ok(())
}

/// A note on rows without a label, if there are any.
fn empty(table: &Table, column: usize) -> Option<String> {
    let n_empty = table
        .column(column)
        .filter(|field| field.trim().is_empty())
        .count();
    (n_empty > 0).then(|| {
        format!(
            "`{}` is empty in {n_empty} of {} rows, to which none of the labels applies then; if they were not labelled, write \
             `unlabelled = \"\"` into the layout",
            table.columns()[column],
            table.n_rows()
        )
    })
}

/// The labels of one column whose fields have several.
fn several_in_one(
    table: &Table,
    column: usize,
    asked: bool,
    hints: &Hints,
) -> Result<Option<LabelSets>> {
    let name = &table.columns()[column];
    let fields = || {
        let fields = table.column(column).map(str::trim);
        fields.filter(|field| !field.is_empty())
    };
    let distinct: BTreeSet<&str> = fields().collect();
    let parts = |separator: &str| -> BTreeSet<String> {
        let of_field = |field: &&str| names(field, Some(separator)).unwrap_or_default();
        distinct.iter().flat_map(of_field).collect()
    };
    // Labels come in several combinations, of which there are more than labels.
    let divides = |separator: &&str| {
        distinct.iter().any(|field| field.contains(*separator))
            && (asked || parts(separator).len() < distinct.len())
    };
    let are_lists = !distinct.is_empty()
        && distinct
            .iter()
            .all(|field| field.starts_with('[') && list(field).is_some());
    if are_lists {
        refuse_flags(name, &distinct)?;
    }
    let (separator, how) = if let Some(separator) = &hints.label_separator {
        (
            Some(separator.clone()),
            "as --label-separator says".to_string(),
        )
    } else if are_lists {
        (None, "its fields are lists".to_string())
    } else {
        let looked_for = if asked { SEPARATORS.len() } else { TELLING };
        let found: Vec<&str> = SEPARATORS[..looked_for]
            .iter()
            .copied()
            .filter(divides)
            .collect();
        match found[..] {
            [separator] => (
                Some(separator.to_string()),
                format!("`{separator}` stands between the labels of a row"),
            ),
            [] if !asked => return Ok(None),
            [] => bail!(
                "`{name}` has no list and none of `|`, `;` and `,` in any field; give --label-separator"
            ),
            _ => bail!("{found:?} all divide fields of `{name}`; give --label-separator"),
        }
    };
    let mut labels: Vec<String> = match &separator {
        Some(separator) => parts(separator).into_iter().collect(),
        None => {
            let of_lists = distinct
                .iter()
                .flat_map(|field| list(field).unwrap_or_default());
            of_lists.collect::<BTreeSet<String>>().into_iter().collect()
        }
    };
    if labels.iter().all(|label| label.parse::<i64>().is_ok()) {
        labels.sort_by_key(|label| label.parse::<i64>().unwrap_or(0));
    }
    let mut notes = spellings::missing(table, column, &labels, separator.as_deref());
    notes.extend(empty(table, column));
    let between = separator.map_or(String::new(), |separator| {
        format!(", label-separator = {}", string(&separator))
    });
    Ok(Some(LabelSets {
        key: format!("label = {}{between}", string(name)),
        reason: format!("`{name}` has {} labels: {how}", labels.len()),
        labels,
        notes,
    }))
}
