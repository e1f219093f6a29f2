//! The targets of rows, by a card's label columns.

use crate::columns::{Columns, Joined};
use crate::format::{FormatError, Row, Table};
use crate::label_sets::{applies, names};
use crate::layout::Layout;
use crate::{Card, Target, Task};
use std::collections::HashMap;
use totune_toml::{did_you_mean, quoted};

/// Reader of a table's label column, or of those of a multi-label dataset.
pub(crate) struct TargetReader<'a> {
    table: &'a Table<'a>,
    task: Task,
    label: &'a Joined,
    /// The columns; none if the split has no labels.
    columns: Vec<usize>,
    separator: Option<&'a str>,
    unlabelled: Option<&'a str>,
    /// The class of each value; nothing for a regression.
    classes: HashMap<&'a str, usize>,
    values: Vec<&'a str>,
    range: [f64; 2],
}

impl<'a> TargetReader<'a> {
    pub(crate) fn new(
        card: &'a Card,
        layout: &'a Layout,
        columns: &'a Columns,
        labelled: bool,
        table: &'a Table<'a>,
    ) -> Self {
        let own = if layout.values.is_empty() {
            &card.labels
        } else {
            &layout.values
        };
        let values: Vec<&str> = own.iter().map(String::as_str).collect();
        let classes = values.iter().enumerate();
        let label = if labelled { columns.label.names() } else { &[] };
        Self {
            table,
            task: card.task,
            label: &columns.label,
            columns: label.iter().map(|name| table.index(name)).collect(),
            separator: columns.label_separator.as_deref(),
            unlabelled: layout.unlabelled.as_deref(),
            classes: classes.map(|(class, value)| (*value, class)).collect(),
            values,
            range: card.range.unwrap_or([f64::MIN, f64::MAX]),
        }
    }

    /// The target of a row.
    ///
    /// # Errors
    /// When a field is no label, no number in the card's range, or neither 0 nor 1.
    pub(crate) fn of(&self, row: &Row) -> Result<Target, FormatError> {
        let Some(&column) = self.columns.first() else {
            return Ok(Target::Unknown);
        };
        let field = |column: usize| row.fields[column].as_ref();
        let is_unlabelled = |column: &usize| self.unlabelled == Some(field(*column));
        if self.columns.iter().any(is_unlabelled) {
            return Ok(Target::Unknown);
        }
        let value = field(column);
        match (self.task, self.label) {
            (Task::Classification | Task::Ordinal | Task::Tagging, _) => {
                Ok(Target::Class(self.class(row, value)?))
            }
            (Task::Regression, _) => self.score(row, value),
            (Task::MultiLabel, Joined::One(_)) => {
                let names = names(value, self.separator);
                let names = names.map_err(|problem| self.error(row, 0, &problem))?;
                let labels = names.iter().map(|name| self.class(row, name));
                let mut labels: Vec<usize> = labels.collect::<Result<_, _>>()?;
                labels.sort_unstable();
                labels.dedup();
                Ok(Target::Labels(labels))
            }
            (Task::MultiLabel, Joined::Several(_)) => {
                let mut labels = Vec::new();
                for (label, &column) in self.columns.iter().enumerate() {
                    let value = field(column);
                    let problem = || format!("`{value}`; expected 0 or 1");
                    match applies(value) {
                        Some(true) => labels.push(label),
                        Some(false) => {}
                        None => return Err(self.error(row, label, &problem())),
                    }
                }
                Ok(Target::Labels(labels))
            }
        }
    }

    fn class(&self, row: &Row, value: &str) -> Result<usize, FormatError> {
        self.classes.get(value).copied().ok_or_else(|| {
            let known = || self.values.iter().copied();
            // Among several labels of a row, a misspelt one is hard to see.
            let hint = match self.task {
                Task::MultiLabel => did_you_mean(value, known()),
                _ => "; ".to_string(),
            };
            let expected = quoted(known());
            self.error(
                row,
                0,
                &format!("`{value}` is not a label{hint}expected one of {expected}"),
            )
        })
    }

    fn score(&self, row: &Row, value: &str) -> Result<Target, FormatError> {
        let [low, high] = self.range;
        match value.trim().parse::<f64>() {
            Ok(score) if score >= low && score <= high => Ok(Target::Value(score)),
            _ => {
                let expected = format!("`{value}`; expected a number from {low} to {high}");
                Err(self.error(row, 0, &expected))
            }
        }
    }

    /// An error about the field of the label column number `place`.
    fn error(&self, row: &Row, place: usize, problem: &str) -> FormatError {
        let name = &self.label.names()[place];
        self.table.error(row.line, format!("{name} {problem}"))
    }
}
