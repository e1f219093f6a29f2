//! Tables of means: rows of groups, columns of scores or of numbers that every run has.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use serde::Deserialize;
use totune_evidence::claims::Judged;
use totune_evidence::plan::{Group, Measure, Plan, Where};
use totune_evidence::select::label::labelled;
use totune_evidence::select::sample::Sample;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::{fixed, joined, readable};
use totune_evidence::toml_file::did_you_mean;

use super::{Cell, Column, Csv, RenderedTable, RowGroup, TableKind};
use crate::item::Heading;

/// `kind = "means"`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Means {
    /// Heading over the names of the rows.
    stub: String,
    #[serde(rename = "column")]
    columns: Vec<MeansColumn>,
    #[serde(rename = "row")]
    rows: Vec<MeansRow>,
    /// Repeats all rows once per part, each part with further conditions; none is one part without.
    #[serde(default, rename = "part")]
    parts: Vec<MeansPart>,
    /// Further conditions on every cell.
    #[serde(default, rename = "where")]
    conditions: Where,
}

/// One column.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MeansColumn {
    /// Key of the paper's values in the rows.
    id: String,
    title: String,
    /// A final score, with the split it is of.
    metric: Option<String>,
    split: Option<String>,
    /// Instead: a number that every run has, such as `train_seconds`.
    field: Option<String>,
    /// Digits after the point.
    #[serde(default = "three")]
    decimals: usize,
    /// Further conditions on the cells of this column.
    #[serde(default, rename = "where")]
    conditions: Where,
}

/// One row: a group, and the paper's values for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MeansRow {
    group: String,
    /// The paper's values by column; one that could not be recovered is left out.
    #[serde(default)]
    paper: BTreeMap<String, f64>,
}

/// A repetition of all rows under further conditions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MeansPart {
    title: String,
    #[serde(rename = "where")]
    conditions: Where,
}

/// Folds share training data.
pub(super) const FOLDS_NOTE: &str = "Intervals over folds treat the folds as independent; they share training examples, so the true intervals are wider";

fn three() -> usize {
    3
}

impl TableKind for Means {
    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        for column in &self.columns {
            if column.measure().is_none() {
                bail!(
                    "{from}: column `{}`: expected `metric` and `split`, or `field` alone",
                    column.id
                );
            }
        }
        for row in &self.rows {
            plan.group(&row.group, from)?;
            let known = || self.columns.iter().map(|column| column.id.as_str());
            if let Some(key) = row.paper.keys().find(|key| known().all(|id| id != *key)) {
                let near = did_you_mean(key, known());
                bail!(
                    "{from}: row `{}`: the paper's value `{key}` has no column{near}",
                    row.group
                );
            }
        }
        Ok(())
    }

    fn render(&self, heading: &Heading, scope: &Scope, _: &[Judged]) -> Result<RenderedTable> {
        let columns = self.columns.iter().flat_map(|column| {
            let paper = self
                .has_paper(column)
                .then(|| Column::of("paper").class("paper"));
            let ours = Column::of("ours")
                .class("ours")
                .with_interval("95 % interval");
            let all = paper
                .into_iter()
                .chain([ours, Column::of("sd").class("sd")]);
            all.map(|part| part.under(&column.title))
        });
        let mut table = RenderedTable {
            columns: [Column::stub(&self.stub)]
                .into_iter()
                .chain(columns)
                .chain([Column::of("Runs").class("runs")])
                .collect(),
            csv: Csv::new(
                "table,part,row,column,measure,paper,mean,low,high,sd,n,unlearned,runs,lost",
            ),
            ..RenderedTable::default()
        };
        let (whole, mut folds) = ([MeansPart::default()], false);
        let parts = match self.parts.as_slice() {
            [] => &whole[..],
            parts => parts,
        };
        let mut filled = Vec::new();
        for part in parts {
            let rows = self.rows.iter().map(|row| self.fill(row, part, scope));
            filled.push((part, rows.collect::<Result<Vec<Filled>>>()?));
        }
        // Columns with a number in any row; where none has one, each of them is to be run.
        let rows = || filled.iter().flat_map(|(_, rows)| rows);
        let nothing = rows().all(Filled::is_empty);
        let has_number = |at: usize| nothing || rows().any(|row| row.samples[at].n() > 0);
        let in_use: Vec<bool> = (0..self.columns.len()).map(has_number).collect();
        for (part, rows) in filled {
            for row in &rows {
                folds |= row.samples.iter().any(Sample::is_folds);
                table.notes.extend(row.notes(self, part, &in_use));
                row.csv((&heading.id, &part.title), self, &mut table.csv);
            }
            table.parts.push(RowGroup {
                title: part.title.clone(),
                rows: rows.iter().map(|row| row.cells(self)).collect(),
            });
        }
        table.notes.dedup();
        if folds {
            table.notes.insert(0, FOLDS_NOTE.to_owned());
        }
        Ok(table)
    }
}

impl Means {
    /// The paper's values: group, measure, value.
    pub(crate) fn paper_values(&self) -> impl Iterator<Item = (String, Measure, f64)> {
        self.columns.iter().flat_map(|column| {
            self.rows.iter().filter_map(|row| {
                let value = row.paper.get(&column.id)?;
                Some((row.group.clone(), column.measure()?, *value))
            })
        })
    }

    /// Whether the paper reports anything in a column.
    fn has_paper(&self, column: &MeansColumn) -> bool {
        self.rows
            .iter()
            .any(|row| row.paper.contains_key(&column.id))
    }

    fn fill<'a>(
        &'a self,
        row: &'a MeansRow,
        part: &MeansPart,
        scope: &Scope<'a>,
    ) -> Result<Filled<'a>> {
        let group = scope.plan.group(&row.group, &scope.from)?;
        let samples = self.columns.iter().map(|column| {
            let all = group.narrowed([&self.conditions, &part.conditions, &column.conditions]);
            let measure = column.measure().expect("columns were checked");
            let from = format!("{}: row `{}`", scope.from, row.group);
            scope.runs.sample(&all, &measure, &from)
        });
        let samples = samples.collect::<Result<Vec<Sample>>>()?;
        let labels: BTreeSet<&String> = samples.iter().flat_map(|sample| &sample.labels).collect();
        Ok(Filled {
            title: labelled(&group.title, labels),
            row,
            group,
            samples,
        })
    }
}

impl MeansColumn {
    fn measure(&self) -> Option<Measure> {
        match (&self.metric, &self.split, &self.field) {
            (Some(metric), Some(split), None) => Some(Measure::score(metric, split)),
            (None, None, Some(field)) => Some(Measure::Field {
                field: field.clone(),
            }),
            _ => None,
        }
    }

    /// The paper's value, then mean, ends of the interval and standard deviation of ours; missing values are empty.
    fn texts(&self, row: &MeansRow, sample: &Sample) -> [String; 5] {
        let interval = sample.interval();
        [
            row.paper.get(&self.id).copied(),
            sample.mean(),
            interval.map(|interval| interval.low),
            interval.map(|interval| interval.high),
            sample.sd(),
        ]
        .map(|value| value.map_or(String::new(), |value| fixed(value, self.decimals)))
    }
}

/// A row with the numbers of each column.
struct Filled<'a> {
    row: &'a MeansRow,
    group: &'a Group,
    /// Title of the group with the labels of its runs.
    title: String,
    samples: Vec<Sample>,
}

impl Filled<'_> {
    /// `10 seeds`, and `1 diverged` or nothing, by the columns that have a number.
    fn runs(&self) -> [String; 2] {
        let empty = self.is_empty();
        let distinct = |text: fn(&Sample) -> String| {
            let samples = self.samples.iter().filter(|sample| empty || sample.n() > 0);
            let mut texts: Vec<String> = samples.map(text).collect();
            texts.retain(|text| !text.is_empty());
            texts.dedup();
            texts
        };
        [
            distinct(Sample::unit).join(" / "),
            distinct(Sample::lost_text).join("; "),
        ]
    }

    fn is_empty(&self) -> bool {
        self.samples.iter().all(|sample| sample.n() == 0)
    }

    fn cells(&self, table: &Means) -> Vec<Cell> {
        let mut cells = vec![Cell::of(&self.title)];
        for (column, sample) in table.columns.iter().zip(&self.samples) {
            let [paper, mean, low, high, sd] =
                column.texts(self.row, sample).map(|text| readable(&text));
            let interval = match low.as_str() {
                "" => String::new(),
                _ => format!("[{low}, {high}]"),
            };
            if table.has_paper(column) {
                cells.push(Cell::of(paper));
            }
            let mean = format!("{mean}{}", sample.mark());
            cells.extend([
                Cell::of(mean).detail(interval).or(sample.absent()),
                Cell::of(sd),
            ]);
        }
        let [unit, lost] = self.runs();
        cells.push(Cell::of(unit).detail(lost));
        cells
    }

    /// Notes on the row, and on those of its cells that are empty in a column that is not.
    fn notes(&self, table: &Means, part: &MeansPart, in_use: &[bool]) -> Vec<String> {
        let name = match part.title.as_str() {
            "" => self.group.title.clone(),
            part => format!("{}, {part}", self.group.title),
        };
        let cells = table.columns.iter().zip(&self.samples).zip(in_use);
        let unrun = cells
            .filter(|(_, used)| **used)
            .find_map(|((column, sample), _)| {
                let note = sample.note.as_ref()?;
                Some((&column.title, note))
            });
        let empty = unrun.map(|(column, note)| {
            if self.is_empty() {
                format!("{name}: empty, because {note}")
            } else {
                format!("{name}, {column}: empty, because {note}")
            }
        });
        let [_, lost] = self.runs();
        let lost = (!lost.is_empty()).then(|| format!("{name}: not in the means: {lost}"));
        let unlearned = self.unlearned(table).into_iter().map(|(text, columns)| {
            let cells = table.columns.iter().zip(&self.samples);
            let scored = cells.filter(|(column, cell)| column.metric.is_some() && cell.n() > 0);
            if columns.len() == scored.count() {
                format!("{name}: {text}")
            } else {
                format!("{name}, {}: {text}", joined(&columns))
            }
        });
        empty.into_iter().chain(lost).chain(unlearned).collect()
    }

    /// Texts on runs that did not learn, each with the columns that it holds for.
    fn unlearned<'a>(&self, table: &'a Means) -> Vec<(String, Vec<&'a str>)> {
        let mut found: Vec<(String, Vec<&str>)> = Vec::new();
        for (column, sample) in table.columns.iter().zip(&self.samples) {
            let text = sample.unlearned_text();
            match found.iter_mut().find(|(other, _)| *other == text) {
                _ if text.is_empty() => {}
                Some((_, columns)) => columns.push(&column.title),
                None => found.push((text, vec![&column.title])),
            }
        }
        found
    }

    fn csv(&self, (id, part): (&str, &str), table: &Means, csv: &mut Csv) {
        let [unit, lost] = self.runs();
        for (column, sample) in table.columns.iter().zip(&self.samples) {
            let measure = match column.measure() {
                Some(Measure::Score { metric, split }) => format!("{metric} ({split})"),
                Some(Measure::Field { field }) => field,
                None => String::new(),
            };
            let names = [id, part, &self.title, &column.id, &measure].map(str::to_owned);
            let numbers = column.texts(self.row, sample);
            let runs = [
                sample.n().to_string(),
                sample.unlearned.to_string(),
                unit.clone(),
                lost.clone(),
            ];
            csv.line(names.iter().chain(&numbers).chain(&runs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_table_in_markdown_latex_and_csv() {
        let table = fixture::table("table-2");
        insta::assert_snapshot!("a_table_in_markdown", table.markdown());
        insta::assert_snapshot!("a_table_in_latex", table.latex());
        insta::assert_snapshot!("a_table_in_csv", table.csv.text());
    }

    #[test]
    fn a_row_without_runs_is_empty_and_says_why() {
        let table = fixture::table("table-2");
        let rows = &table.parts[0].rows;
        let row = rows.iter().find(|row| row[0].main == "Absent").unwrap();
        assert_eq!((row[2].main.as_str(), row[2].empty), ("", "\u{2013}"));
        let says = |note: &String| note.starts_with("Absent: empty, because no run has");
        assert!(table.notes.iter().any(says), "{:?}", table.notes);
    }

    #[test]
    fn parts_repeat_the_rows_and_folds_carry_their_warning() {
        let table = fixture::table("table-1");
        assert_eq!(table.parts.len(), 2);
        assert_eq!(table.parts[0].rows.len(), table.parts[1].rows.len());
        let runs = table.parts[0].rows[0].last().unwrap();
        assert_eq!(runs.main, "10 folds");
        assert_eq!(table.notes[0], FOLDS_NOTE);
    }
}
