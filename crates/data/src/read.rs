//! Conversion of rows to examples, by a card's columns and labels.

use crate::columns::{Columns, Joined};
use crate::filter::{self, Filter, Lists};
use crate::format::{FormatError, Row, Table};
use crate::layout::{Empty, Layout, LayoutFile};
use crate::near::quoted;
use crate::{Card, Example, Input, Target, Task};
use std::collections::HashMap;
use std::path::Path;

impl Card {
    /// The examples in `bytes`, which came from `path`, the file of `split` in `layout`; `lists` are those the file
    /// names.
    pub(crate) fn examples(
        &self,
        layout: &Layout,
        split: &str,
        lists: &Lists,
        path: &Path,
        bytes: &[u8],
    ) -> Result<Vec<Example>, FormatError> {
        let columns = layout.columns_of(split);
        let file = layout.files.get(split);
        let labelled = self.splits.get(split).is_none_or(|facts| facts.labelled);
        let wanted = wanted(columns, file, labelled);
        let table = layout.format_of(split).table(path, bytes, Some(&wanted))?;
        let find = |name: &String| table.index(name);
        let find_all =
            |joined: &Joined| -> Vec<usize> { joined.names().iter().map(find).collect() };
        let id = columns.id.as_ref().map(find);
        let group = columns.group.as_ref().map(find);
        let text = find_all(&columns.text);
        let second = columns.second.as_ref().map(find_all);
        let answers = LabelReader::new(self, layout, columns, labelled, &table);
        let filter = Filter::new(file, lists, &table);
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut examples = Vec::with_capacity(table.n_rows());
        let rows = table.rows().filter(|row| filter.keeps(row));
        for (number, row) in (columns.number_from..).zip(rows) {
            let id = match id {
                Some(column) => {
                    let id = row.fields[column].as_ref();
                    if let Some(earlier) = seen.insert(id, row.line) {
                        let problem =
                            format!("id `{id}` is already on line {earlier}; expected it once");
                        return Err(table.error(row.line, problem));
                    }
                    id.to_string()
                }
                None => number.to_string(),
            };
            let joined = |parts: &Vec<usize>| {
                let mut text = join(&row, parts, &columns.join);
                if layout.trim_end {
                    text.truncate(text.trim_end().len());
                }
                text
            };
            let first = joined(&text);
            let second = second.as_ref().map(joined);
            let empty = first.is_empty() || second.as_ref().is_some_and(String::is_empty);
            match layout.empty {
                Empty::Refuse if empty => {
                    let problem = "an empty text; expected some, or in the layout `empty = \"drop\"` to leave such rows out or \
                                   `empty = \"keep\"` to keep them; --empty writes that into a new card";
                    return Err(table.error(row.line, problem.into()));
                }
                Empty::Drop if empty => continue,
                Empty::Refuse | Empty::Drop | Empty::Keep => {}
            }
            let group = group.map(|column| row.fields[column].as_ref());
            examples.push(Example {
                id,
                input: match second {
                    Some(second) => Input::Pair(first, second),
                    None => Input::Text(first),
                },
                target: answers.of(&row)?,
                group: group.filter(|group| !group.is_empty()).map(String::from),
            });
        }
        Ok(examples)
    }
}

/// The names of all columns that are looked at, each once.
fn wanted<'a>(columns: &'a Columns, file: Option<&'a LayoutFile>, labelled: bool) -> Vec<&'a str> {
    let second = columns.second.iter().flat_map(Joined::names);
    let filters = file.into_iter().flat_map(filter::columns);
    let names = (columns.id.iter())
        .chain(columns.text.names())
        .chain(second)
        .chain(labelled.then_some(&columns.label))
        .chain(&columns.group)
        .chain(filters);
    let mut wanted: Vec<&str> = Vec::new();
    for name in names {
        if !wanted.contains(&name.as_str()) {
            wanted.push(name);
        }
    }
    wanted
}

fn join(row: &Row, columns: &[usize], between: &str) -> String {
    if let [column] = columns {
        return row.fields[*column].to_string();
    }
    let fields = columns.iter().map(|&column| row.fields[column].as_ref());
    let fields: Vec<&str> = fields.filter(|field| !field.is_empty()).collect();
    fields.join(between)
}

/// Reader of a table's label column.
struct LabelReader<'a> {
    table: &'a Table<'a>,
    name: &'a str,
    /// The label column; none if the split has no labels.
    column: Option<usize>,
    unlabelled: Option<&'a str>,
    /// The class of each value; nothing for a regression.
    classes: HashMap<&'a str, usize>,
    values: Vec<&'a str>,
    range: [f64; 2],
}

impl<'a> LabelReader<'a> {
    fn new(
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
        Self {
            table,
            name: &columns.label,
            column: labelled.then(|| table.index(&columns.label)),
            unlabelled: layout.unlabelled.as_deref(),
            classes: classes.map(|(class, value)| (*value, class)).collect(),
            values,
            // Of a classification nothing is compared with it.
            range: match card.task {
                Task::Regression => card.range.unwrap_or([f64::MIN, f64::MAX]),
                Task::Classification | Task::Tagging => [f64::MIN, f64::MAX],
            },
        }
    }

    fn of(&self, row: &Row) -> Result<Target, FormatError> {
        let Some(column) = self.column else {
            return Ok(Target::Unknown);
        };
        let value = row.fields[column].as_ref();
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
