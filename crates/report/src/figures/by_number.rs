//! Figures of scores by a whole number, such as the layer or the number of training examples: one panel per task, one line
//! per selection of runs, and a table of the same numbers.

use std::collections::{BTreeMap, BTreeSet};

use totune_evidence::text::{count, fixed};
use totune_plot::Panel;
use totune_plot::series::{Scale, Series, SeriesPanel, Stroke};
use totune_stats::curve::Spread;

use super::{DIGITS, RenderedFigure, spread_cell};
use crate::item::Heading;
use crate::tables::rendered::{Cell, Csv, RenderedTable, RowGroup, spread_fields};

/// The kind of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Layer,
    Examples,
}

/// A task with its lines.
pub(super) struct TaskLines<'f> {
    /// Its name in the CSV.
    pub(super) task: &'f str,
    pub(super) title: &'f str,
    /// Name of the scores on the axis.
    pub(super) unit: &'f str,
    pub(super) lines: Vec<Line>,
}

/// One line with its scores.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) title: String,
    pub(super) metric: String,
    pub(super) colour: usize,
    pub(super) stroke: Stroke,
    /// At least one of each number.
    pub(super) scores: BTreeMap<u32, Vec<f64>>,
    /// Number of runs behind the scores.
    pub(super) runs: usize,
    pub(super) labels: Vec<String>,
    /// The reason why runs are missing from it, if any are.
    pub(super) note: Option<String>,
}

/// The figure of these lines with its table; `split` is the split of the scores.
pub(super) fn draw(
    number: Number,
    (heading, split): (&Heading, &str),
    tasks: &[TaskLines],
) -> RenderedFigure {
    let (name, across, stub, note) = match number {
        Number::Layer => (
            "layer",
            "Layer (0: embeddings)",
            "Representation",
            "with the lowest and the highest where runs differ; bold: the best layer of a row",
        ),
        Number::Examples => (
            "examples",
            "Training examples",
            "Strategy",
            "with the lowest and the highest; bold: the best strategy at that size",
        ),
    };
    let lines = tasks.iter().flat_map(|task| &task.lines);
    let numbers: BTreeSet<u32> = lines.flat_map(|line| line.scores.keys().copied()).collect();
    let titles = numbers.iter().map(|at| match number {
        Number::Layer => format!("Layer {at}"),
        Number::Examples => format!("{} examples", count((*at).into())),
    });
    let head = format!("figure,task,line,metric,split,{name},mean,low,high,sd,runs,labels");
    let mut table = RenderedTable {
        heading: heading.of_part("-numbers", "the numbers"),
        columns: RenderedTable::columns_of(stub, titles.chain(["Runs".to_owned()])),
        notes: vec![format!("means over runs, {note}")],
        csv: Csv::new(&head),
        ..RenderedTable::default()
    };
    let mut drawing = RenderedFigure::default();
    // A task without runs has rows that say so; an empty panel would only look like one of zeros.
    let has_scores = |lines: &[Line]| lines.iter().any(|line| !line.scores.is_empty());
    for TaskLines {
        task,
        title,
        unit,
        lines,
    } in tasks
    {
        for line in lines {
            let note = line.note.iter();
            let note = note.map(|note| format!("{title}, {}: {note}", line.title));
            drawing.notes.extend(note);
            line.csv([&heading.id, task, split], &mut table.csv);
        }
        let rows = lines.iter().map(|line| {
            let cells = numbers.iter().map(|at| line.cell(*at, number, lines));
            let title = [Cell::of(&line.title)].into_iter();
            title.chain(cells).chain([line.n_runs()]).collect()
        });
        table.parts.push(RowGroup {
            title: format!("{title} ({unit})"),
            rows: rows.collect(),
        });
        if !has_scores(lines) && !numbers.is_empty() {
            continue;
        }
        drawing.panels.push(Panel::Series(SeriesPanel {
            title: (*title).to_owned(),
            measure: (*unit).to_owned(),
            across: across.to_owned(),
            scale: match number {
                Number::Layer => Scale::Even,
                Number::Examples => Scale::Logarithmic,
            },
            lines: lines.iter().map(Line::series).collect(),
            ..SeriesPanel::default()
        }));
    }
    drawing.table = Some(table);
    drawing
}

impl Line {
    fn at(&self, number: u32) -> Option<Spread> {
        Spread::of(self.scores.get(&number)?)
    }

    fn points(&self) -> Vec<(u32, Spread)> {
        let point = |(number, scores): (&u32, &Vec<f64>)| Some((*number, Spread::of(scores)?));
        self.scores.iter().filter_map(point).collect()
    }

    /// In bold: the highest layer of its line, unless all are alike; the highest line of a size, as it is printed.
    fn cell(&self, at: u32, number: Number, of_task: &[Self]) -> Cell {
        let Some(spread) = self.at(at) else {
            return Cell::default();
        };
        let mean = spread.mean;
        let best = match number {
            Number::Layer => {
                let means = || self.points().into_iter().map(|(_, spread)| spread.mean);
                means().all(|other| other <= mean) && means().any(|other| other < mean)
            }
            Number::Examples => {
                let means = of_task.iter().filter_map(|line| Some(line.at(at)?.mean));
                let best = means.fold(mean, f64::max);
                fixed(best, DIGITS) == fixed(mean, DIGITS)
            }
        };
        Cell {
            best,
            ..spread_cell(&spread)
        }
    }

    fn n_runs(&self) -> Cell {
        Cell::of(match self.runs {
            0 => "no run".to_owned(),
            runs => runs.to_string(),
        })
    }

    fn series(&self) -> Series {
        Series {
            title: self.title.clone(),
            points: self.points(),
            colour: self.colour,
            stroke: self.stroke,
            ..Series::default()
        }
    }

    fn csv(&self, [figure, task, split]: [&str; 3], csv: &mut Csv) {
        for ((number, spread), scores) in self.points().iter().zip(self.scores.values()) {
            let number = number.to_string();
            let names = [figure, task, &self.title, &self.metric, split, &number];
            let names = names.map(str::to_owned).into_iter();
            let runs = [scores.len().to_string(), self.labels.join("; ")];
            csv.line(names.chain(spread_fields(spread, scores)).chain(runs));
        }
    }
}
