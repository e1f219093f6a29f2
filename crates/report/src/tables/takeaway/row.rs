//! A row of the table and of the figure next to it.

use std::collections::BTreeSet;

use totune_evidence::compare::paired::PairedComparison;
use totune_evidence::plan::{Group, Task};
use totune_evidence::select::label::labelled;
use totune_evidence::select::panel::{TaskRuns, average};
use totune_evidence::select::per_run::{TimePer, cpu_seconds, mean_score, trained_share};
use totune_evidence::select::runs::Run;
use totune_evidence::text::{Scale, fixed};
use totune_plot::intervals::IntervalRow;
use totune_stats::mean;

use super::baseline::BaselineComparison;
use super::time_ratio;
use crate::tables::rendered::{Cell, Column};

/// The columns, with that of memory where it was counted.
pub(super) fn columns(with_memory: bool) -> Vec<Column> {
    let mut columns = vec![
        Column::stub("Strategy"),
        Column::of("Mean score").class("ours"),
        Column::of("Difference (points)").with_interval("95 % interval"),
        Column::of("Training time (%)").class("ours"),
        Column::of("An epoch (%)"),
        Column::of("CPU seconds"),
        Column::of("Memory (%)"),
        Column::of("Trained (%)"),
        Column::of("Runs").class("runs"),
    ];
    if !with_memory {
        columns.remove(MEMORY);
    }
    columns
}

/// Place of the column of memory.
const MEMORY: usize = 6;

/// Cost and gain of a group, as text; missing values are empty.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) title: String,
    pub(super) baseline: bool,
    pub(super) score: String,
    /// Difference in points, with its interval.
    pub(super) difference: [String; 2],
    /// Time to the stop and of an epoch, in percent of the baseline's.
    pub(super) times: [String; 2],
    /// Mean processor seconds of a run by task, where they count.
    pub(super) cpu_of_tasks: Vec<Option<f64>>,
    /// Their mean over the tasks that have them in every row.
    cpu: String,
    /// Tensors at the peak, in percent of the baseline's.
    memory: String,
    /// Trained parameters in percent of all.
    pub(super) trained: String,
    pub(super) runs: usize,
    pub(super) lost: String,
}

impl Row {
    /// The columns of a group by itself. A mean over other tasks than those requested would not be comparable, so there
    /// is none where a task has no score.
    pub(super) fn of(group: &Group, tasks: &[&Task], on: &[TaskRuns]) -> Self {
        let scores = tasks.iter().zip(on);
        let scores = scores.map(|(task, task_runs)| mean_score(task_runs, task));
        let scores: Option<Vec<f64>> = scores.collect();
        let all: Vec<&Run> = on.iter().flat_map(TaskRuns::all).collect();
        let trained = average(&all, trained_share);
        let cpu = |on: &TaskRuns| average(&on.all().collect::<Vec<_>>(), cpu_seconds);
        let lost: usize = on
            .iter()
            .flat_map(|task_runs| task_runs.lost.values())
            .sum();
        let labels: BTreeSet<&String> = on.iter().flat_map(|on| &on.labels).collect();
        Self {
            title: labelled(&group.title, labels),
            score: scores.map_or(String::new(), |scores| fixed(mean(&scores), 3)),
            trained: trained.map_or(String::new(), |share| Scale::Percent.number(share)),
            cpu_of_tasks: on.iter().map(cpu).collect(),
            runs: all.len(),
            lost: match lost {
                0 => String::new(),
                n => format!("{n} lost"),
            },
            ..Self::default()
        }
    }

    pub(super) fn compare(&mut self, detail: &BaselineComparison, paired: &PairedComparison) {
        let scale = Scale::Points;
        // Without a second pair there is a difference all the same.
        self.difference[0] = scale.signed(detail.difference);
        if let Ok(comparison) = &detail.overall {
            self.difference = [
                scale.signed(comparison.difference),
                scale.interval(comparison.interval),
            ];
        }
        let epoch = time_ratio(paired, TimePer::Epoch).map(|time| time.ratio);
        let percent =
            |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| fixed(ratio * 100.0, 0));
        self.times = [detail.time, epoch].map(percent);
        self.memory = percent(detail.memory.map(|memory| memory.ratio));
    }

    /// Fills the costs of the baseline, memory where that of any group is known.
    pub(super) fn fill_baseline(rows: &mut [Self], with_memory: bool) {
        for row in rows.iter_mut().filter(|row| row.baseline) {
            row.times = ["100", "100"].map(str::to_owned);
            row.memory = if with_memory { "100" } else { "" }.to_owned();
        }
    }

    /// Fills the processor seconds of all rows from the tasks on which each row with a run has them.
    pub(super) fn fill_cpu(rows: &mut [Self]) {
        let with_runs = || rows.iter().filter(|row| row.runs > 0);
        let n_tasks = rows.first().map_or(0, |row| row.cpu_of_tasks.len());
        let timed: Vec<usize> = (0..n_tasks)
            .filter(|&task| with_runs().all(|row| row.cpu_of_tasks[task].is_some()))
            .collect();
        for row in rows {
            let seconds: Option<Vec<f64>> =
                timed.iter().map(|&task| row.cpu_of_tasks[task]).collect();
            if let Some(seconds) = seconds.filter(|seconds| !seconds.is_empty()) {
                let seconds = mean(&seconds);
                row.cpu = fixed(seconds, if seconds < 10.0 { 1 } else { 0 });
            }
        }
    }

    /// The same as a row of the figure.
    pub(super) fn drawn(&self, detail: &BaselineComparison) -> IntervalRow {
        let points = |score: f64| 100.0 * score;
        let interval = detail
            .overall
            .as_ref()
            .ok()
            .map(|comparison| comparison.interval);
        IntervalRow {
            title: self.title.clone(),
            note: match self.times[0].as_str() {
                "" => String::new(),
                percent => format!("{percent} % of the time"),
            },
            value: points(detail.difference),
            interval: interval.map(|ends| (points(ends.low), points(ends.high))),
        }
    }

    pub(super) fn fields(&self) -> [String; 12] {
        let [difference, interval] = self.difference.clone();
        let [time, epoch] = self.times.clone();
        [
            self.title.clone(),
            self.baseline.to_string(),
            self.score.clone(),
            difference,
            interval,
            time,
            epoch,
            self.cpu.clone(),
            self.memory.clone(),
            self.trained.clone(),
            self.runs.to_string(),
            self.lost.clone(),
        ]
    }

    pub(super) fn cells(&self, with_memory: bool) -> Vec<Cell> {
        let [
            title,
            _,
            score,
            difference,
            interval,
            time,
            epoch,
            cpu,
            memory,
            trained,
            runs,
            lost,
        ] = self.fields();
        let difference = Cell::of(difference).detail(interval);
        let cells = [
            Cell::of(title),
            Cell::of(score).or("incomplete"),
            difference.or(if self.baseline { "baseline" } else { "" }),
            Cell::of(time),
            Cell::of(epoch),
            Cell::of(cpu),
            Cell::of(memory),
            Cell::of(trained),
            Cell::of(runs).detail(lost),
        ];
        let class = if self.baseline { "baseline" } else { "" };
        let mut cells = Vec::from(cells.map(|cell| cell.class(class)));
        if !with_memory {
            cells.remove(MEMORY);
        }
        cells
    }
}
