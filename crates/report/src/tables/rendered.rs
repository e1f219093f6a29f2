//! A table as every renderer gets it.

use serde::Serialize;
use totune_stats::curve::Spread;
use totune_stats::sd;

use crate::item::Heading;
use crate::markup::csv_line;

/// A table with its numbers as text.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RenderedTable {
    #[serde(flatten)]
    pub(crate) heading: Heading,
    /// Sentences above the cells; not in LaTeX, where the caption is.
    pub(crate) lead: Vec<String>,
    /// From left to right; the first one names the rows.
    pub(crate) columns: Vec<Column>,
    pub(crate) parts: Vec<RowGroup>,
    /// Conclusions from the cells, below them.
    pub(crate) conclusion: Vec<String>,
    /// Explanation of the cells.
    pub(crate) legend: String,
    /// Notes to the reader, without a full stop.
    pub(crate) notes: Vec<String>,
    /// One line per number, for programs.
    #[serde(skip)]
    pub(crate) csv: Csv,
}

/// A column.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Column {
    /// Heading over this column and its neighbours of the same group; empty for none.
    pub(crate) group: String,
    pub(crate) title: String,
    /// Heading of the column that intervals have in Markdown and LaTeX; a page shows them below their values. Without
    /// it, the text next to a value follows after a slash.
    pub(crate) interval: Option<&'static str>,
    /// Class of its cells for the style sheet of a page; `stub` for names, `runs` for counts of runs.
    pub(crate) class: &'static str,
    /// Its form in LaTeX, such as `r`; empty to leave it out there.
    #[serde(skip)]
    pub(crate) latex: Option<&'static str>,
}

/// Rows under one heading; an empty title is none.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RowGroup {
    pub(crate) title: String,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Cell {
    /// The main text.
    pub(crate) main: String,
    /// Its interval, or another text next to it in smaller print.
    pub(crate) detail: String,
    /// Whether it is the best of its row or column.
    pub(crate) best: bool,
    /// Its class in the style sheet of a page, after that of the column.
    pub(crate) class: String,
    /// Text on a page where there is no value.
    pub(crate) empty: &'static str,
}

/// Numbers for programs: lines of comma-separated values under a heading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Csv(String);

/// Markup with which a renderer writes the text of a cell.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    pub(super) escaped: fn(&str) -> String,
    /// Marks escaped text as the best value.
    pub(super) strong: fn(&str) -> String,
}

impl Cell {
    pub(crate) fn of(main: impl Into<String>) -> Self {
        Self {
            main: main.into(),
            ..Self::default()
        }
    }

    /// The same with a class for the style sheet.
    pub(crate) fn class(self, class: &str) -> Self {
        Self {
            class: class.to_owned(),
            ..self
        }
    }

    /// The same with a text next to it.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
            ..self
        }
    }

    /// The same with a text for a missing value.
    pub(crate) fn or(self, empty: &'static str) -> Self {
        Self { empty, ..self }
    }
}

impl Column {
    /// A column of names and short texts.
    pub(crate) fn stub(title: impl Into<String>) -> Self {
        Self::of(title).class("stub")
    }

    /// Numbers.
    pub(crate) fn of(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    pub(crate) fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    /// The same under a common heading.
    pub(crate) fn under(self, group: &str) -> Self {
        let group = group.to_owned();
        Self { group, ..self }
    }

    /// The same with intervals.
    pub(crate) fn with_interval(self, heading: &'static str) -> Self {
        Self {
            interval: Some(heading),
            ..self
        }
    }

    /// Headings, one for each number: of the values, and of the intervals where they have a column of their own.
    pub(super) fn titles(&self) -> Vec<&str> {
        [Some(self.title.as_str()), self.interval]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl RenderedTable {
    /// The first column and those with these titles.
    pub(crate) fn columns_of(stub: &str, titles: impl IntoIterator<Item = String>) -> Vec<Column> {
        let others = titles.into_iter().map(Column::of);
        [Column::stub(stub)].into_iter().chain(others).collect()
    }

    /// A table without parts.
    pub(crate) fn single_part(rows: Vec<Vec<Cell>>) -> Vec<RowGroup> {
        vec![RowGroup {
            title: String::new(),
            rows,
        }]
    }

    /// Headings in one line: `Accuracy: ours`.
    pub(super) fn flat_head(&self) -> Vec<String> {
        let titles = self.columns.iter().flat_map(|column| {
            let titles = column.titles().into_iter();
            titles.map(|title| match column.group.as_str() {
                "" => title.to_owned(),
                group => format!("{group}: {title}"),
            })
        });
        titles.collect()
    }

    /// The texts of a row, one for each of [`Column::titles`].
    pub(super) fn texts(&self, row: &[Cell], marks: Marks) -> Vec<Vec<String>> {
        let texts = self.columns.iter().zip(row).map(|(column, cell)| {
            let [mut main, detail] = [&cell.main, &cell.detail].map(|text| (marks.escaped)(text));
            if cell.best && !main.is_empty() {
                main = (marks.strong)(&main);
            }
            match (column.interval, column.class) {
                (Some(_), _) => vec![main, detail],
                (None, "runs") if !detail.is_empty() => vec![format!("{main} ({detail})")],
                _ if main.is_empty() || detail.is_empty() => vec![main + &detail],
                _ => vec![format!("{main} / {detail}")],
            }
        });
        texts.collect()
    }
}

impl Csv {
    /// Nothing but the heading.
    pub(crate) fn new(head: &str) -> Self {
        Self(format!("{head}\n"))
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, fields: impl IntoIterator<Item = impl AsRef<str>>) {
        self.0.push_str(&csv_line(fields));
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// Adds `what` to the group of the same reason.
pub(crate) fn add<T>(found: &mut Vec<(String, Vec<T>)>, reason: String, what: T) {
    match found.iter_mut().find(|(other, _)| *other == reason) {
        Some((_, all)) => all.push(what),
        None => found.push((reason, vec![what])),
    }
}

/// A number with all its digits; empty for none.
pub(crate) fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// The number of a setting, with powers of ten for learning rates: `2e-5`, `0.1`, `32`.
pub(crate) fn setting_number(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.1 {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Fields of a spread in a line of CSV: mean, lowest, highest and standard deviation of `values`.
pub(crate) fn spread_fields(spread: &Spread, values: &[f64]) -> [String; 4] {
    let sd = (values.len() > 1).then(|| sd(values));
    [Some(spread.mean), Some(spread.low), Some(spread.high), sd].map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_cells_in_every_format() {
        let best = Cell {
            best: true,
            ..Cell::of("0.9 & up").detail("4.2")
        };
        let with_interval = Cell::of("0.9").detail("[0.8, 1.0]");
        let columns = [
            Column::stub("Model"),
            Column::of("Score / seconds"),
            Column::of("ours")
                .under("F1")
                .with_interval("95 % interval"),
            Column::of("sd").under("F1"),
            Column::of("Runs").class("runs"),
        ];
        let runs = Cell::of("3").detail("1 lost");
        let table = RenderedTable {
            heading: Heading {
                id: "table".into(),
                title: "A table".into(),
                ..Heading::default()
            },
            columns: columns.into(),
            parts: vec![RowGroup {
                title: "One part of it, with a long heading".into(),
                rows: vec![
                    vec![Cell::of("a_b"), best, with_interval, Cell::of("0.1"), runs],
                    ["c", "never", "0.7", "", "1"].map(Cell::of).into(),
                ],
            }],
            notes: vec!["A note".into()],
            ..RenderedTable::default()
        };
        insta::assert_snapshot!(table.in_every_format());
    }
}
