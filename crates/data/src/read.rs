//! Conversion of rows to examples, by a card's columns and labels.

use crate::columns::{Columns, Joined};
use crate::filter::{self, Filter, Lists};
use crate::format::{FormatError, Row};
use crate::layout::{Empty, Layout, LayoutFile};
use crate::target_reader::TargetReader;
use crate::{Card, Example, Input};
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
        let is_list = |name: &str| columns.is_list(self.task, name);
        let format = layout.format_of(split);
        let table = format.table_with_lists(path, bytes, Some(&wanted), &is_list)?;
        let find = |name: &String| table.index(name);
        let find_all =
            |joined: &Joined| -> Vec<usize> { joined.names().iter().map(find).collect() };
        let id = columns.id.as_ref().map(find);
        let group = columns.group.as_ref().map(find);
        let text = find_all(&columns.text);
        let second = columns.second.as_ref().map(find_all);
        let answers = TargetReader::new(self, layout, columns, labelled, &table);
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
            let is_blank = |text: &String| text.trim().is_empty();
            let empty = is_blank(&first) || second.as_ref().is_some_and(is_blank);
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
        .chain(
            labelled
                .then_some(&columns.label)
                .into_iter()
                .flat_map(Joined::names),
        )
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
