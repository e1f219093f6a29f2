//! From rows to examples: what a card's columns and labels make of a file.

use crate::format::{FormatError, Row, Table};
use crate::layout::{Columns, Joined, Layout};
use crate::near::quoted;
use crate::{Card, Example, Input, Target, Task};
use std::collections::HashMap;
use std::path::Path;

impl Card {
    /// The examples in `bytes`, which came from `path`, the file of `split` in `layout`.
    pub(crate) fn examples(
        &self,
        layout: &Layout,
        split: &str,
        path: &Path,
        bytes: &[u8],
    ) -> Result<Vec<Example>, FormatError> {
        let columns = layout.columns_of(split);
        let table = layout.format.table(path, bytes)?;
        let find = |name: &Option<String>| {
            let name = name.as_ref();
            name.map(|name| table.column(name)).transpose()
        };
        let id = find(&columns.id)?;
        let group = find(&columns.group)?;
        let text = find_all(&table, &columns.text)?;
        let second = columns.second.as_ref();
        let second = second.map(|second| find_all(&table, second)).transpose()?;
        let answers = Answers::new(self, layout, split, columns, &table)?;
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(table.rows.len());
        let mut examples = Vec::with_capacity(table.rows.len());
        for (number, row) in table.rows.iter().enumerate() {
            let id = match id {
                Some(column) => row.fields[column].clone(),
                None => (number + 1).to_string(),
            };
            if let Some(earlier) = seen.insert(id.clone(), row.line) {
                return Err(table.error(
                    row.line,
                    format!("id `{id}` is already on line {earlier}; expected it once"),
                ));
            }
            let first = join(row, &text, &columns.join);
            let input = match &second {
                Some(second) => Input::Pair(first, join(row, second, &columns.join)),
                None => Input::Text(first),
            };
            let group = group.map(|column| row.fields[column].clone());
            examples.push(Example {
                id,
                input,
                target: answers.of(row)?,
                group: group.filter(|group| !group.is_empty()),
            });
        }
        Ok(examples)
    }
}

fn find_all(table: &Table, joined: &Joined) -> Result<Vec<usize>, FormatError> {
    joined
        .names()
        .iter()
        .map(|name| table.column(name))
        .collect()
}

fn join(row: &Row, columns: &[usize], between: &str) -> String {
    let fields = columns.iter().map(|&column| row.fields[column].as_str());
    match columns {
        [_] => fields.collect(),
        _ => fields
            .filter(|field| !field.is_empty())
            .collect::<Vec<_>>()
            .join(between),
    }
}

/// How the label column of a table is read.
struct Answers<'a> {
    table: &'a Table,
    name: &'a str,
    /// No column where the split has no answers.
    column: Option<usize>,
    unlabelled: Option<&'a str>,
    /// The class of each value; nothing for a regression.
    classes: HashMap<&'a str, usize>,
    values: Vec<&'a str>,
    range: [f64; 2],
}

impl<'a> Answers<'a> {
    fn new(
        card: &'a Card,
        layout: &'a Layout,
        split: &str,
        columns: &'a Columns,
        table: &'a Table,
    ) -> Result<Self, FormatError> {
        let labelled = card.splits.get(split).is_none_or(|facts| facts.labelled);
        let own = if layout.values.is_empty() {
            &card.labels
        } else {
            &layout.values
        };
        let values: Vec<&str> = own.iter().map(String::as_str).collect();
        let classes = values.iter().enumerate();
        Ok(Self {
            table,
            name: &columns.label,
            column: labelled.then(|| table.column(&columns.label)).transpose()?,
            unlabelled: layout.unlabelled.as_deref(),
            classes: classes.map(|(class, value)| (*value, class)).collect(),
            values,
            // Of a classification nothing is compared with it.
            range: match card.task {
                Task::Regression => card.range.unwrap_or([f64::MIN, f64::MAX]),
                Task::Classification | Task::Tagging => [f64::MIN, f64::MAX],
            },
        })
    }

    fn of(&self, row: &Row) -> Result<Target, FormatError> {
        let Some(column) = self.column else {
            return Ok(Target::Unknown);
        };
        let value = row.fields[column].as_str();
        if self.unlabelled == Some(value) {
            return Ok(Target::Unknown);
        }
        if !self.values.is_empty() {
            return match self.classes.get(value) {
                Some(class) => Ok(Target::Class(*class)),
                None => Err(self.wrong(row, value, &quoted(self.values.iter().copied()))),
            };
        }
        let [low, high] = self.range;
        match value.trim().parse::<f64>() {
            Ok(score) if score >= low && score <= high => Ok(Target::Value(score)),
            _ => Err(self.wrong(row, value, &format!("a number from {low} to {high}"))),
        }
    }

    fn wrong(&self, row: &Row, value: &str, expected: &str) -> FormatError {
        let name = self.name;
        let what = if self.values.is_empty() {
            format!("{name} `{value}`; expected {expected}")
        } else {
            format!("{name} `{value}` is not a label; expected one of {expected}")
        };
        self.table.error(row.line, what)
    }
}
