//! The runs of one group: as a line, as a row of the table of how phase 1 ended, as lines of CSV.

use std::collections::BTreeMap;

use totune_evidence::plan::Task;
use totune_evidence::select::runs::Run;
use totune_evidence::text::counted;
use totune_plot::series::{Series, Stroke};
use totune_stats::curve::Spread;

use crate::figures::spread_cell;
use crate::tables::rendered::{Cell, Csv};

/// Metric and split of the generalisation gap (train minus dev), for phases that end by it.
pub(super) const GAP: (&str, &str) = ("gap", "train");
/// Paths of the largest gap allowed; the second is that of schema 3 and before.
const LIMITS: [&str; 2] = [
    "work.training.adaptation.head-stop.max-gap",
    "work.training.adaptation.head-stop.gap",
];
/// The split that is shown where none is named, and the one whose scores the table has.
pub(super) const DEV: &str = "dev";

/// The runs of one group.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) title: String,
    /// Place among the groups of the figure.
    pub(super) colour: usize,
    pub(super) runs: Vec<&'a Run>,
    pub(super) note: Option<String>,
}

impl<'a> Line<'a> {
    pub(super) fn ended_well(&self) -> impl Iterator<Item = &'a Run> {
        self.runs
            .iter()
            .copied()
            .filter(|run| run.row.status == "ok")
    }

    /// Each run by a thin line, with a tick where its next phase begins, and the mean over the epochs that all have.
    pub(super) fn series(&self, (metric, split): (&str, &str)) -> Series {
        let runs: Vec<&Run> = self.ended_well().collect();
        let traces: Vec<Vec<(u32, f64)>> = runs
            .iter()
            .map(|run| {
                let scores = run.epochs(metric, split).iter();
                scores.map(|score| (score.epoch, score.score)).collect()
            })
            .filter(|trace: &Vec<(u32, f64)>| !trace.is_empty())
            .collect();
        let mut by_epoch: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (epoch, score) in traces.iter().flatten() {
            by_epoch.entry(*epoch).or_default().push(*score);
        }
        let mean = |(epoch, scores): (u32, Vec<f64>)| {
            let mean = totune_stats::mean(&scores);
            (scores.len() == traces.len()).then(|| Some((epoch, Spread::of(&[mean])?)))?
        };
        let points = by_epoch.into_iter().filter_map(mean).collect();
        let ticks = runs.iter().flat_map(|run| {
            let tick = |(epoch, _): (u32, f64)| {
                let ends = [epoch, epoch + 1].map(|epoch| run.score_at(metric, split, epoch));
                let [Some(before), Some(after)] = ends else {
                    return None;
                };
                Some((f64::from(epoch) + 0.5, 0.5 * (before + after)))
            };
            run.switches()
                .into_iter()
                .filter_map(tick)
                .collect::<Vec<_>>()
        });
        Series {
            title: self.title.clone(),
            points,
            colour: self.colour,
            stroke: Stroke::Solid,
            ticks: ticks.collect(),
            traces,
        }
    }

    /// Runs that are not drawn.
    pub(super) fn missing(&self, task: &Task, (metric, split): (&str, &str)) -> Option<String> {
        let place = format!("{}, {}", task.title, self.title);
        if let Some(note) = &self.note {
            return Some(format!("{place}: no line, because {note}"));
        }
        let lost = self.runs.len() - self.ended_well().count();
        let unscored = self
            .ended_well()
            .filter(|run| run.epochs(metric, split).is_empty());
        let parts = [
            (lost, "diverged or failed"),
            (unscored.count(), "without this score"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, why)| format!("{} {why}", counted(n, "run")))
            .collect();
        (!parts.is_empty()).then(|| format!("{place}: {}", parts.join(", ")))
    }

    /// Cells on the end of phase 1; `None` where no run has a second one.
    pub(super) fn cells(&self, task: &Task) -> Option<Vec<Cell>> {
        let ends: Vec<(&Run, u32)> = self
            .ended_well()
            .filter_map(|run| Some((run, run.switches().first()?.0)))
            .collect();
        if ends.is_empty() {
            return None;
        }
        let mut lengths: BTreeMap<u32, usize> = BTreeMap::new();
        for (_, epoch) in &ends {
            *lengths.entry(*epoch).or_default() += 1;
        }
        let lengths: Vec<String> = lengths
            .iter()
            .map(|(epochs, n)| match lengths.len() {
                1 => epochs.to_string(),
                _ => format!("{epochs} ({})", counted(*n, "run")),
            })
            .collect();
        let at_end = |metric: &str, split: &str| -> Vec<f64> {
            let at = |(run, epoch): &(&Run, u32)| run.score_at(metric, split, *epoch);
            ends.iter().filter_map(at).collect()
        };
        let gaps = at_end(GAP.0, GAP.1);
        let above = ends.iter().filter(|(run, epoch)| {
            let gap = run.score_at(GAP.0, GAP.1, *epoch);
            gap.zip(limit(run)).is_some_and(|(gap, limit)| gap > limit)
        });
        let last = |(run, _): &(&Run, u32)| Some(run.epochs(&task.metric, DEV).last()?.score);
        Some(vec![
            Cell::of(&self.title),
            Cell::of(ends.len().to_string()),
            Cell::of(lengths.join(", ")),
            spread(&gaps),
            Cell::of(counted(above.count(), "run")),
            spread(&at_end(&task.metric, DEV)),
            spread(&ends.iter().filter_map(last).collect::<Vec<_>>()),
        ])
    }

    pub(super) fn csv(&self, names: [&str; 2], (metric, split): (&str, &str), csv: &mut Csv) {
        for run in self.ended_well() {
            for score in run.epochs(metric, split) {
                let [seed, epoch, phase] =
                    [run.row.seed, score.epoch.into(), score.phase.into()].map(|n| n.to_string());
                let numbers = [score.seconds, score.score].map(|number| number.to_string());
                let of_run = [
                    self.name,
                    &run.row.run_id,
                    &seed,
                    &epoch,
                    &phase,
                    split,
                    metric,
                ];
                csv.line(
                    names
                        .into_iter()
                        .chain(of_run)
                        .chain(numbers.iter().map(String::as_str)),
                );
            }
        }
    }
}

pub(super) fn limit(run: &Run) -> Option<f64> {
    let limits = LIMITS.iter();
    limits.filter_map(|path| run.fact(path)?.as_f64()).next()
}

fn spread(values: &[f64]) -> Cell {
    Spread::of(values)
        .as_ref()
        .map_or_else(Cell::default, spread_cell)
}
