//! From the numbers of the cells to a table of short texts.

use anyhow::Result;
use totune_evidence::compare::grid::{Entry, FilledRow, Place};
use totune_evidence::plan::{GridRow, Origin};
use totune_evidence::select::scope::Scope;
use totune_evidence::text::{decimals, fixed, joined, signed};
use totune_stats::Interval;

use super::correlate;
use super::{Matrix, Notable};
use crate::item::Heading;
use crate::tables::means::FOLDS_NOTE;
use crate::tables::rendered::{add, number};
use crate::tables::{Cell, Csv, RenderedTable, RowGroup};

/// Format of a row's numbers.
#[derive(Clone, Copy)]
struct Digits {
    /// 100 for scores in points.
    scale: f64,
    decimals: usize,
    signed: bool,
}

impl Matrix {
    /// Fills the table.
    pub(super) fn build(&self, heading: &Heading, scope: &Scope) -> Result<RenderedTable> {
        let filled = self.grid.fill(scope)?;
        let (places, rows) = (&filled.places, &filled.rows);
        let part = |rows| RowGroup {
            title: String::new(),
            rows,
        };
        let titles = places.iter().map(|place| place.task.title.clone());
        let sentences = self.correlate.iter();
        let sentences = sentences.map(|asked| correlate::sentence(asked, &filled));
        let lines = rows.iter().flat_map(|row| self.lines(row)).collect();
        Ok(RenderedTable {
            columns: RenderedTable::columns_of(
                &self.stub,
                [String::new()].into_iter().chain(titles),
            ),
            parts: vec![part(self.about(rows, places)), part(lines)],
            notes: self
                .notes(rows, places, &heading.source)
                .into_iter()
                .chain(sentences)
                .collect(),
            csv: csv(&heading.id, rows, places),
            ..RenderedTable::default()
        })
    }

    /// One row of the table in two lines: the paper's numbers and ours.
    fn lines(&self, row: &FilledRow) -> Vec<Vec<Cell>> {
        let digits = Digits::of(row.plan);
        let line = |title: &str, who: &str, cell: &dyn Fn(&Entry) -> Cell| {
            [Cell::of(title), Cell::of(who).class("who")]
                .into_iter()
                .chain(row.cells.iter().map(cell))
                .collect::<Vec<Cell>>()
        };
        let difference = row.plan.difference.is_some();
        let paper = line(&row.title, "paper", &|cell| {
            let (main, detail) = match &cell.paper {
                None => (String::new(), "not recovered".to_owned()),
                Some((None, _)) => ("\u{2013}".to_owned(), String::new()),
                Some((Some(value), origin)) => {
                    let copied = origin.strip_prefix("copied from ");
                    (
                        digits.paper(*value),
                        copied.map_or(String::new(), |from| format!("from {from}")),
                    )
                }
            };
            let value = cell.paper.as_ref().and_then(|(value, _)| *value);
            self.mark(main, detail, value.filter(|_| difference), "paper")
        });
        let ours = line(&row.title, self.ours(), &|cell| match cell.mean {
            None => Cell {
                detail: cell.sample.absent().to_owned(),
                ..Cell::default()
            },
            Some(mean) => self.mark(
                format!("{}{}", digits.text(mean), cell.sample.mark()),
                digits.detail(cell),
                Some(mean).filter(|_| difference),
                "ours",
            ),
        });
        let has_paper = row.plan.origin == Origin::Paper && self.has_paper();
        match (row.plan.group.is_some() || difference, has_paper) {
            (true, true) => {
                let mut ours = ours;
                ours[0] = Cell::of(&row.title).class("same");
                vec![paper, ours]
            }
            (true, false) => vec![ours],
            (false, _) => vec![paper],
        }
    }

    /// A cell, with the paper's colour and the word for it where it is a difference that stands out.
    fn mark(&self, main: String, detail: String, value: Option<f64>, class: &str) -> Cell {
        let word = value.and_then(|value| self.notable.as_ref()?.word(value));
        let Some((word, side)) = word else {
            return Cell {
                detail,
                ..Cell::of(main).class(class)
            };
        };
        let words = [word.to_owned(), detail].into_iter();
        let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
        Cell {
            detail: words.join(" "),
            ..Cell::of(main).class(&format!("{class} {side}"))
        }
    }

    /// Lines above the numbers: the metrics, and the splits they were scored on.
    fn about(&self, rows: &[FilledRow], places: &[Place]) -> Vec<Vec<Cell>> {
        let line = |title: &str, who: &str, cell: &dyn Fn(usize, &Place) -> Cell| {
            let cells = places.iter().enumerate().map(|(at, place)| cell(at, place));
            [Cell::of(title), Cell::of(who).class("who")]
                .into_iter()
                .chain(cells)
                .collect::<Vec<Cell>>()
        };
        let scored = |at: usize, place: &Place| {
            let mut found: Vec<&str> = rows
                .iter()
                .flat_map(|row| row.cells[at].scored.iter().map(String::as_str))
                .collect();
            found.sort_unstable();
            found.dedup();
            // A reason is for scoring another part than the paper.
            let same = found.iter().all(|part| *part == place.column.paper_split);
            let reason = if same {
                String::new()
            } else {
                place.column.reason.clone()
            };
            Cell {
                detail: reason,
                ..Cell::of(joined(&found)).class("about")
            }
        };
        let mut lines = vec![line("Metric", "", &|_, place| {
            Cell::of(&place.task.unit).class("about")
        })];
        if places
            .iter()
            .any(|place| !place.column.paper_split.is_empty())
        {
            lines.push(line("Scored on", "paper", &|_, place| {
                Cell::of(&place.column.paper_split).class("about")
            }));
        }
        lines.push(line("Scored on", self.ours(), &scored));
        lines
    }

    /// Label of our lines, empty where no line is the paper's.
    fn ours(&self) -> &'static str {
        if self.has_paper() { "ours" } else { "" }
    }

    /// Whether any row has numbers of the paper.
    fn has_paper(&self) -> bool {
        self.grid.rows.iter().any(|row| !row.paper.is_empty())
    }

    fn notes(&self, rows: &[FilledRow], places: &[Place], source: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if !source.is_empty() && !self.has_paper() {
            notes.push("the paper's cells: none could be recovered".to_owned());
        }
        let mut cells = rows.iter().flat_map(|row| &row.cells);
        let folds = cells.any(|cell| cell.sample.is_folds());
        let of = if folds { "runs" } else { "seeds" };
        notes.push(format!(
            "ours: mean over {of} in hundredths, with its 95 % interval where there are two or more; \
             n is the number of {of}"
        ));
        if folds {
            notes.push(FOLDS_NOTE.to_owned());
        }
        if let Some(Notable {
            limit,
            above,
            below,
        }) = &self.notable
        {
            let points = fixed(limit * 100.0, decimals(*limit).saturating_sub(2).max(1));
            notes.push(format!(
                "coloured as in the paper: a difference above {points} favours {above}, one below -{points} favours {below}"
            ));
        }
        notes.extend(missing(rows, places));
        notes
    }
}

/// Notes on missing cells of ours, grouped by reason.
fn missing(rows: &[FilledRow], places: &[Place]) -> Vec<String> {
    let mut missing: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        // Reasons of the row, each with the columns it is for.
        let mut of_row: Vec<(String, Vec<&str>)> = Vec::new();
        for (cell, place) in row.cells.iter().zip(places) {
            let lost = || format!("not in the mean: {}", cell.sample.lost_text());
            let lost = || (!cell.sample.lost.is_empty()).then(lost);
            // A difference says nothing that its two sides do not say.
            let unlearned = (cell.n > 0 && row.plan.difference.is_none())
                .then(|| cell.sample.unlearned_text())
                .filter(|text| !text.is_empty());
            let reasons = cell.note.clone().or_else(lost).into_iter().chain(unlearned);
            for reason in reasons {
                add(&mut of_row, reason, &place.task.title);
            }
        }
        for (reason, titles) in of_row {
            let at = if titles.len() == places.len() {
                row.title.clone()
            } else {
                format!("{} on {}", row.title, joined(&titles))
            };
            add(&mut missing, reason, at);
        }
    }
    let note = |(reason, rows): (String, Vec<String>)| format!("{}: {reason}", rows.join("; "));
    missing.into_iter().map(note).collect()
}

fn csv(id: &str, rows: &[FilledRow], places: &[Place]) -> Csv {
    let mut csv = Csv::new(
        "table,row,task,metric,paper,paper_origin,paper_split,mean,low,high,sd,n,unlearned,scored_on,labels",
    );
    for row in rows {
        for (cell, place) in row.cells.iter().zip(places) {
            let metric = row.plan.metric.as_ref().unwrap_or(&place.task.metric);
            let (paper, origin) = match &cell.paper {
                None => (None, "not recovered"),
                Some((value, origin)) => (*value, origin.as_str()),
            };
            let labels: Vec<&str> = cell.sample.labels.iter().map(String::as_str).collect();
            let names = [id, row.plan.name(), &place.column.task, metric].map(str::to_owned);
            let of_paper = [
                number(paper),
                origin.to_owned(),
                place.column.paper_split.clone(),
            ];
            let low = cell.interval.map(|interval| interval.low);
            let high = cell.interval.map(|interval| interval.high);
            let ours = [cell.mean, low, high, cell.sd].map(number);
            let runs = [
                cell.n.to_string(),
                cell.sample.unlearned.to_string(),
                cell.scored.join(" "),
                labels.join("; "),
            ];
            csv.line(names.into_iter().chain(of_paper).chain(ours).chain(runs));
        }
    }
    csv
}

impl Notable {
    /// Word for a difference, and its side; `None` within the limit.
    fn word(&self, value: f64) -> Option<(&str, &'static str)> {
        // The limit itself does not stand out, and 0.86 - 0.85 is a hair more than 0.01.
        let beyond = self.limit + 1e-9;
        match value {
            value if value > beyond => Some((&self.above, "above")),
            value if value < -beyond => Some((&self.below, "below")),
            _ => None,
        }
    }
}

impl Digits {
    fn of(row: &GridRow) -> Self {
        let signed = row.difference.is_some();
        match row.metric {
            None => Self {
                scale: 100.0,
                decimals: 1,
                signed,
            },
            Some(_) => Self {
                scale: 1.0,
                decimals: row.decimals,
                signed,
            },
        }
    }

    fn text(self, value: f64) -> String {
        let write = if self.signed { signed } else { fixed };
        write(value * self.scale, self.decimals)
    }

    /// With as many digits as were printed.
    fn paper(self, value: f64) -> String {
        let printed = decimals(value).saturating_sub(if self.scale > 1.0 { 2 } else { 0 });
        let digits = Self {
            decimals: printed.max(self.decimals),
            ..self
        };
        digits.text(value)
    }

    /// The interval and the number of seeds.
    fn detail(self, cell: &Entry) -> String {
        let n = format!("n = {}", cell.n);
        match cell.interval {
            None => n,
            Some(Interval { low, high }) => {
                let end = |value: f64| fixed(value * self.scale, self.decimals);
                format!("[{}, {}] {n}", end(low), end(high))
            }
        }
    }
}
