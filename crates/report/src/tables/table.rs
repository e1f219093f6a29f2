//! Tables: cells from runs, then Markdown, LaTeX and CSV of the same cells.

use std::collections::BTreeSet;

use anyhow::Result;
use serde::Serialize;

use crate::plan::{Measure, RowPlan, TablePlan, Where};
use crate::select::label::labelled;
use crate::select::sample::Sample;
use crate::select::scope::Scope;
use crate::tables::frame::{Frame, latex_heading, latex_line};
use crate::text::{csv_line, fixed, latex, readable};

/// A table with its numbers.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) text: String,
    pub(crate) stub: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) parts: Vec<Part>,
    /// What a reader must know about cells that are empty or lack runs.
    pub(crate) notes: Vec<String>,
    /// Whether some row is made of folds.
    pub(crate) folds: bool,
}

/// A column heading.
#[derive(Debug, Serialize)]
pub(crate) struct Column {
    pub(crate) id: String,
    pub(crate) title: String,
    /// `accuracy (test)`, for the long form.
    pub(crate) measure: String,
    /// Whether the paper reports anything in this column.
    pub(crate) has_paper: bool,
}

/// Rows under one heading; a table without parts has one with an empty title.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
}

/// One group of runs.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) title: String,
    pub(crate) cells: Vec<Cell>,
    /// `10 seeds`.
    pub(crate) unit: String,
    /// `1 diverged`; empty when every run counts.
    pub(crate) lost: String,
}

/// The numbers of one group in one column, as text; what does not exist is empty.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Cell {
    pub(crate) paper: String,
    pub(crate) mean: String,
    pub(crate) low: String,
    pub(crate) high: String,
    pub(crate) sd: String,
    pub(crate) n: usize,
}

impl Table {
    /// Fills the cells of `plan`.
    pub(crate) fn build(table: &TablePlan, scope: &Scope) -> Result<Self> {
        let scope = &scope.at(format_args!("table `{}`", table.id));
        let columns = table.columns.iter().map(|column| Column {
            id: column.id.clone(),
            title: column.title.clone(),
            measure: measure_text(&column.measure),
            has_paper: table
                .rows
                .iter()
                .any(|row| row.paper.contains_key(&column.id)),
        });
        let mut result = Self {
            id: table.id.clone(),
            title: table.title.clone(),
            source: table.source.clone(),
            text: table.text.clone(),
            stub: table.stub.clone(),
            columns: columns.collect(),
            parts: vec![],
            notes: vec![],
            folds: false,
        };
        let whole = [(String::new(), Where::new())];
        let parts: Vec<(String, Where)> = table
            .parts
            .iter()
            .map(|part| (part.title.clone(), part.conditions.clone()))
            .collect();
        for (title, conditions) in if parts.is_empty() {
            &whole[..]
        } else {
            &parts[..]
        } {
            let rows = table
                .rows
                .iter()
                .map(|row| result.row(table, row, (title, conditions), scope));
            let filled = rows.collect::<Result<Vec<Filled>>>()?;
            let mut part = Part {
                title: title.clone(),
                rows: vec![],
            };
            for Filled { row, notes, folds } in filled {
                result.notes.extend(notes);
                result.folds |= folds;
                part.rows.push(row);
            }
            result.parts.push(part);
        }
        result.notes.dedup();
        Ok(result)
    }

    fn row(
        &self,
        table: &TablePlan,
        row: &RowPlan,
        (part, conditions): (&str, &Where),
        scope: &Scope,
    ) -> Result<Filled> {
        let group = scope.plan.group(&row.group, &scope.from)?;
        let name = if part.is_empty() {
            group.title.clone()
        } else {
            format!("{}, {part}", group.title)
        };
        let mut cells = Vec::new();
        let mut samples: Vec<Sample> = Vec::new();
        for column in &table.columns {
            let mut all = table.conditions.clone();
            all.extend(group.conditions.clone());
            all.extend(conditions.clone());
            all.extend(column.conditions.clone());
            let sample = scope.runs.sample(
                &all,
                &column.measure,
                &format!("{}: row `{}`", scope.from, row.group),
            )?;
            cells.push(Cell::of(
                &sample,
                row.paper.get(&column.id).copied(),
                column.decimals,
            ));
            samples.push(sample);
        }
        let mut notes = Vec::new();
        let mut units: Vec<String> = samples.iter().map(Sample::unit).collect();
        units.dedup();
        let mut lost: Vec<String> = samples
            .iter()
            .map(Sample::lost_text)
            .filter(|lost| !lost.is_empty())
            .collect();
        lost.dedup();
        if let Some(note) = samples.iter().find_map(|sample| sample.note.as_ref()) {
            notes.push(format!("{name}: empty, since {note}"));
        }
        if !lost.is_empty() {
            notes.push(format!("{name}: not in the means: {}", lost.join("; ")));
        }
        let folds = samples.iter().any(Sample::is_folds);
        let labels: BTreeSet<String> = samples
            .iter()
            .flat_map(|sample| sample.labels.iter().cloned())
            .collect();
        let row = Row {
            title: labelled(&group.title, &labels),
            cells,
            unit: units.join(" / "),
            lost: lost.join("; "),
        };
        Ok(Filled { row, notes, folds })
    }

    /// A pipe table under its title.
    pub(crate) fn markdown(&self) -> String {
        self.frame().markdown(&self.flat_head(), &self.flat_rows())
    }

    /// A `booktabs` table.
    pub(crate) fn latex(&self) -> String {
        let widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        let all = widths.iter().sum::<usize>();
        let body = self.parts.iter().enumerate().map(|(number, part)| {
            let heading = latex_heading(&part.title, 2 + all, number == 0);
            let rows = part.rows.iter();
            let rows: String = rows.map(|row| latex_line(&self.row_cells(row))).collect();
            format!("{heading}{rows}")
        });
        let columns = format!("l{}r", "r".repeat(all));
        let body: String = body.collect();
        self.frame()
            .latex(&columns, &self.latex_head(&widths), &body)
    }

    /// Headings over their columns, then what each column is.
    fn latex_head(&self, widths: &[usize]) -> String {
        let titles = self.columns.iter().zip(widths);
        let titles = titles.map(|(column, width)| {
            format!(
                " & \\multicolumn{{{width}}}{{c}}{{{}}}",
                latex(&column.title)
            )
        });
        let mut at = 2;
        let rules = widths.iter().map(|width| {
            at += width;
            format!("\\cmidrule(lr){{{}-{}}}\n", at - width, at - 1)
        });
        let rules: String = rules.collect();
        let parts = self.columns.iter().flat_map(Column::parts);
        let parts = parts.map(|part| format!(" & {}", latex(part)));
        format!(
            "{} & \\\\\n{rules}{}{} & Runs \\\\\n",
            titles.collect::<String>(),
            latex(&self.stub),
            parts.collect::<String>()
        )
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            id: &self.id,
            title: &self.title,
            source: &self.source,
            notes: self.all_notes(),
            ..Frame::default()
        }
    }

    /// One line per cell, for programs.
    pub(crate) fn csv(&self) -> String {
        let mut text =
            String::from("table,part,row,column,measure,paper,mean,low,high,sd,n,runs,lost\n");
        for part in &self.parts {
            for row in &part.rows {
                for (column, cell) in self.columns.iter().zip(&row.cells) {
                    let n = cell.n.to_string();
                    let fields = [
                        &self.id,
                        &part.title,
                        &row.title,
                        &column.id,
                        &column.measure,
                        &cell.paper,
                        &cell.mean,
                        &cell.low,
                        &cell.high,
                        &cell.sd,
                        &n,
                        &row.unit,
                        &row.lost,
                    ];
                    text.push_str(&csv_line(fields));
                }
            }
        }
        text
    }

    fn flat_head(&self) -> Vec<String> {
        let cells = self.columns.iter().flat_map(|column| {
            column
                .parts()
                .into_iter()
                .map(move |part| format!("{}: {part}", column.title))
        });
        [self.stub.clone()]
            .into_iter()
            .chain(cells)
            .chain(["Runs".to_owned()])
            .collect()
    }

    fn flat_rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for part in &self.parts {
            if !part.title.is_empty() {
                rows.push(vec![format!("**{}**", part.title)]);
            }
            rows.extend(part.rows.iter().map(|row| self.row_cells(row)));
        }
        rows
    }

    fn row_cells(&self, row: &Row) -> Vec<String> {
        let cells = self
            .columns
            .iter()
            .zip(&row.cells)
            .flat_map(|(column, cell)| {
                let paper = column.has_paper.then(|| readable(&cell.paper));
                paper
                    .into_iter()
                    .chain([readable(&cell.mean), cell.interval(), readable(&cell.sd)])
            });
        [row.title.clone()]
            .into_iter()
            .chain(cells)
            .chain([row.unit.clone()])
            .collect()
    }

    /// Notes, with what holds for the whole table first.
    pub(crate) fn all_notes(&self) -> Vec<String> {
        let folds = self.folds.then(|| FOLDS_NOTE.to_owned());
        folds.into_iter().chain(self.notes.clone()).collect()
    }
}

/// Folds share training data.
const FOLDS_NOTE: &str = "Intervals over folds treat the folds as independent; they share training examples, so the true ones are wider";

struct Filled {
    row: Row,
    notes: Vec<String>,
    folds: bool,
}

impl Column {
    fn parts(&self) -> Vec<&'static str> {
        let paper = self.has_paper.then_some("paper");
        paper
            .into_iter()
            .chain(["ours", "95 % interval", "sd"])
            .collect()
    }

    fn width(&self) -> usize {
        self.parts().len()
    }
}

impl Cell {
    fn of(sample: &Sample, paper: Option<f64>, decimals: usize) -> Self {
        let shown =
            |value: Option<f64>| value.map_or(String::new(), |value| fixed(value, decimals));
        // Where all runs agree, an interval without width would only look like certainty.
        let interval = sample
            .interval()
            .filter(|interval| interval.high > interval.low);
        Self {
            paper: shown(paper),
            mean: shown(sample.mean()),
            low: shown(interval.as_ref().map(|interval| interval.low)),
            high: shown(interval.as_ref().map(|interval| interval.high)),
            sd: shown(sample.sd()),
            n: sample.n(),
        }
    }

    fn interval(&self) -> String {
        if self.low.is_empty() {
            String::new()
        } else {
            format!("[{}, {}]", readable(&self.low), readable(&self.high))
        }
    }
}

fn measure_text(measure: &Measure) -> String {
    match measure {
        Measure::Score { metric, split } => format!("{metric} ({split})"),
        Measure::Field { field } => field.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::select::runs::Runs;

    #[test]
    fn a_table_in_markdown() {
        insta::assert_snapshot!(table("table-2").markdown());
    }

    #[test]
    fn a_table_in_latex() {
        insta::assert_snapshot!(table("table-2").latex());
    }

    #[test]
    fn a_table_in_csv() {
        insta::assert_snapshot!(table("table-2").csv());
    }

    #[test]
    fn a_row_without_runs_is_empty_and_says_why() {
        let table = table("table-2");
        let row = table.parts[0]
            .rows
            .iter()
            .find(|row| row.title == "Absent")
            .unwrap();
        assert_eq!(
            (row.cells[0].mean.as_str(), row.unit.as_str()),
            ("", "no run")
        );
        assert!(
            table
                .notes
                .iter()
                .any(|note| note.starts_with("Absent: empty, since no run has")),
            "{:?}",
            table.notes
        );
    }

    #[test]
    fn parts_repeat_the_rows_and_folds_carry_their_warning() {
        let table = table("table-1");
        assert_eq!(table.parts.len(), 2);
        assert_eq!(table.parts[0].rows.len(), table.parts[1].rows.len());
        assert_eq!(table.parts[0].rows[0].unit, "10 folds");
        assert_eq!(table.all_notes()[0], FOLDS_NOTE);
    }

    fn table(id: &str) -> Table {
        let plan = fixture::plan();
        let runs = Runs::new(&fixture::tables()).unwrap();
        let table = plan.tables.iter().find(|table| table.id == id).unwrap();
        Table::build(table, &Scope::new(&plan, &runs, "report.toml")).unwrap()
    }
}
