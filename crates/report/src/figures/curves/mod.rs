//! Time against score: the runs of a task as one line per group, for a figure and its table.
//!
//! A line goes through the means over all runs of its group after each epoch, where a run that stopped stays with its
//! last score and time ([`Stopped::Stays`]): it says what training for at most so many epochs costs and gives. A run is
//! scored by the checkpoint it would hand out then, so that its last score is its final one: no epoch is chosen by a
//! score on test. Everything derived from lines (scores, areas, times, the frontier) is derived from these.

pub(crate) mod auto;
mod figure;
mod summary;
mod table;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::Result;
use serde_json::Value;
use totune_stats::Curve;
use totune_stats::curve::{Epoch, Reign, Stopped, epochs, frontier};

use crate::tables::rendered::{Csv, add};

pub use summary::{CurvesSummary, EpochSummary, GroupSummary, LeadSummary, TimeTo};

pub(crate) use figure::{Curves, drawn};
use totune_evidence::plan::{Group, Measure, Plan, Where};
use totune_evidence::select::label::labelled;
use totune_evidence::select::runs::{Run, Selection};
use totune_evidence::select::scope::Scope;
use totune_evidence::text::counts;

/// Path of the checkpoint selection of a run.
const SELECT: &str = "work.training.select";
/// Path of the metric that early stopping watched.
pub(crate) const STOP_METRIC: &str = "work.training.stop.metric";

/// The content of a line: a name and the runs it is made of.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) conditions: Where,
}

impl Chosen {
    /// The groups of `plan` with these names, under further conditions.
    pub(crate) fn of_plan(
        plan: &Plan,
        names: &[String],
        conditions: &Where,
        from: &str,
    ) -> Result<Vec<Self>> {
        let chosen = names.iter().map(|name| {
            let group = plan.group(name, from)?;
            Ok(Self::of_group(name, group, conditions))
        });
        chosen.collect()
    }

    pub(crate) fn of_group(name: &str, group: &Group, conditions: &Where) -> Self {
        Self {
            name: name.to_owned(),
            title: group.title.clone(),
            conditions: group.narrowed([conditions]),
        }
    }
}

/// The lines of one task.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Name of the task in files.
    pub(crate) task: String,
    pub(crate) title: String,
    /// Name of the metric on an axis.
    pub(crate) unit: String,
    pub(crate) metric: String,
    pub(crate) split: String,
    pub(crate) lines: Vec<Line>,
    /// Scores of runs that train no encoder, by the titles of their groups.
    pub(crate) floors: Vec<(String, f64)>,
    /// The first of these scores; `None` without such runs.
    pub(crate) lowest: Option<f64>,
}

/// One group of runs.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) title: String,
    /// Runs that ended well and were scored after every epoch.
    pub(crate) runs: Vec<RunLine>,
    /// Means over these after each epoch.
    pub(crate) epochs: Vec<Epoch>,
    /// The curve through these means; `None` without runs.
    pub(crate) mean: Option<Curve>,
    /// Number of runs by stop reason.
    pub(crate) stops: BTreeMap<String, usize>,
    /// Number of runs that are not among them, by status.
    pub(crate) lost: BTreeMap<String, usize>,
    /// The reason why there is no run at all, if so.
    pub(crate) note: Option<String>,
}

/// One run of a group.
#[derive(Debug)]
pub(crate) struct RunLine {
    pub(crate) run_id: String,
    /// Scores after each epoch.
    pub(crate) scored: Curve,
    /// Scores of the checkpoint that one would have after each epoch; the last is the run's final score.
    pub(crate) in_hand: Curve,
    /// Whether that checkpoint is the best epoch so far on dev, and not the last.
    pub(crate) selects: bool,
    /// Score of guessing.
    guess: Option<f64>,
    /// Seconds after which a further phase began.
    pub(crate) switches: Vec<f64>,
}

impl Lines {
    /// The scores by `metric` on `split` of the runs of each of `groups` that also meet `conditions`.
    pub(crate) fn gather(
        scope: &Scope,
        groups: &[Chosen],
        conditions: &Where,
        (metric, split): (&str, &str),
    ) -> Result<Vec<Line>> {
        let Scope { runs, from, .. } = scope;
        let all = *runs;
        let among = all.find(conditions, from)?;
        let ids: HashSet<&str> = among
            .runs
            .iter()
            .map(|run| run.row.run_id.as_str())
            .collect();
        let line = |group: &Chosen| {
            let from = format!("{from}: group `{}`", group.name);
            let Selection { mut runs, note, .. } = all.find(&group.conditions, &from)?;
            // Both must hold, whereas extending one map by the other would lose the first value of a path.
            runs.retain(|run| ids.contains(run.row.run_id.as_str()));
            // Trials are drawn only where their experiment is requested by name, and never pooled with other runs.
            if ![conditions, &group.conditions]
                .iter()
                .any(|of| of.contains_key("experiment"))
            {
                runs.retain(|run| !run.row.is_trial());
            }
            all.show(&runs);
            let other = || "none of its runs is among those asked for".to_owned();
            let note = among.note.clone().or(note);
            let note = note.or_else(|| runs.is_empty().then(other));
            Ok((runs, note))
        };
        let found = groups.iter().map(line).collect::<Result<Vec<_>>>()?;
        // Without runs no metric is known.
        if found.iter().any(|(runs, _)| !runs.is_empty()) {
            runs.check_measure(&Measure::score(metric, split), from)?;
        }
        let device = most_frequent_device(found.iter().flat_map(|(runs, _)| runs));
        let lines = groups.iter().zip(&found);
        Ok(lines
            .map(|(group, (runs, note))| {
                Line::of(
                    group,
                    runs,
                    (metric, split),
                    device.as_deref(),
                    note.clone(),
                )
            })
            .collect())
    }

    /// The longest mean time a group took: the budget that areas are taken over.
    pub(crate) fn budget(&self) -> Option<f64> {
        self.means()
            .map(|(_, mean)| mean.end())
            .max_by(f64::total_cmp)
    }

    /// The score without training: of the first floor, or of guessing where that is known.
    pub(crate) fn floor(&self) -> Option<f64> {
        let runs = || self.lines.iter().flat_map(|line| &line.runs);
        self.lowest.or_else(|| runs().find_map(|run| run.guess))
    }

    /// The best mean final score of a group.
    pub(crate) fn best(&self) -> Option<f64> {
        self.means()
            .map(|(_, mean)| mean.best())
            .max_by(f64::total_cmp)
    }

    /// The lines that are best within any time, by their places; empty where there are fewer than two to choose from.
    pub(crate) fn frontier(&self) -> Vec<Reign> {
        let (places, curves): (Vec<usize>, Vec<Curve>) = self
            .means()
            .map(|(place, mean)| (place, mean.clone()))
            .unzip();
        if curves.len() < 2 {
            return vec![];
        }
        let mut reigns = frontier(&curves);
        for reign in &mut reigns {
            reign.curve = places[reign.curve];
        }
        reigns
    }

    fn means(&self) -> impl Iterator<Item = (usize, &Curve)> {
        let lines = self.lines.iter().enumerate();
        lines.filter_map(|(place, line)| Some((place, line.mean.as_ref()?)))
    }

    /// Notes on what is missing.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = missing(&self.lines, "no line");
        notes
            .into_iter()
            .map(|note| format!("{}, {note}", self.title))
            .collect()
    }

    /// One line for each score of each run.
    pub(crate) fn csv(&self, csv: &mut Csv) {
        for line in &self.lines {
            for run in &line.runs {
                let points = run.scored.points().iter().zip(run.in_hand.points());
                for (at, ((seconds, score), (_, in_hand))) in (1..).zip(points) {
                    let numbers = [f64::from(at), *seconds, *score, *in_hand];
                    let numbers = numbers.map(|number| number.to_string());
                    let names = [&self.task, &line.name, &run.run_id];
                    csv.line(names.into_iter().chain(&numbers));
                }
            }
        }
    }
}

/// The heading over [`Lines::csv`].
pub(crate) const CSV_HEAD: &str = "task,group,run,epoch,seconds,score,score_in_hand";

impl Line {
    /// Runs whose seconds are of another device than `device`, if there is one, are left out.
    fn of(
        group: &Chosen,
        selected: &[&Run],
        (metric, split): (&str, &str),
        device: Option<&str>,
        note: Option<String>,
    ) -> Self {
        let mut line = Self {
            name: group.name.clone(),
            title: labelled(
                &group.title,
                &selected
                    .iter()
                    .flat_map(|run| run.labels().iter().cloned())
                    .collect::<BTreeSet<String>>(),
            ),
            runs: vec![],
            epochs: vec![],
            mean: None,
            stops: BTreeMap::new(),
            lost: BTreeMap::new(),
            note,
        };
        for run in selected {
            let row = &run.row;
            if row.status != "ok" {
                *line.lost.entry(row.status.clone()).or_default() += 1;
            } else if run
                .device_of_seconds()
                .is_some_and(|own| Some(own.as_str()) != device)
            {
                let lost = device.map_or("not timed", |_| "on another device");
                *line.lost.entry(lost.to_owned()).or_default() += 1;
            } else if let Some(of_run) = RunLine::of(run, metric, split) {
                *line.stops.entry(row.stop_reason.clone()).or_default() += 1;
                line.runs.push(of_run);
            } else {
                let lost = "not scored after every epoch".to_owned();
                *line.lost.entry(lost).or_default() += 1;
            }
        }
        line.epochs = epochs(&line.curves(), Stopped::Stays);
        let means = line
            .epochs
            .iter()
            .map(|epoch| (epoch.seconds.mean, epoch.score.mean));
        line.mean = Curve::in_hand(means.collect());
        line
    }

    /// The curves in hand of its runs.
    fn curves(&self) -> Vec<Curve> {
        self.runs.iter().map(|run| run.in_hand.clone()).collect()
    }

    /// Mean over the runs of the seconds an epoch took.
    pub(crate) fn seconds_per_epoch(&self) -> Option<f64> {
        let each = |run: &RunLine| run.scored.end() / run.scored.points().len() as f64;
        let each: Vec<f64> = self.runs.iter().map(each).collect();
        (!each.is_empty()).then(|| totune_stats::mean(&each))
    }
}

impl RunLine {
    /// `None` where the run was not scored after every epoch.
    fn of(run: &Run, metric: &str, split: &str) -> Option<Self> {
        let measure = Measure::score(metric, split);
        let scored = run.curve(metric, split)?;
        let mut points = scored.points().to_vec();
        let selects = run.fact(SELECT).is_some_and(|select| select == "best-dev");
        if selects {
            let watched = run
                .fact(STOP_METRIC)
                .and_then(Value::as_str)
                .unwrap_or(metric);
            let dev = run.epochs(watched, "dev").iter().map(|epoch| epoch.score);
            for (at, best) in best_so_far(dev).into_iter().enumerate().take(points.len()) {
                points[at].1 = scored.points()[best].1;
            }
        }
        // Whatever the rule was, this is the run's final score.
        if let (Some(last), Some(score)) = (points.last_mut(), run.number(&measure)) {
            last.1 = score;
        }
        Some(Self {
            run_id: run.row.run_id.clone(),
            in_hand: Curve::in_hand(points)?,
            scored,
            selects,
            guess: run.guess(&measure),
            switches: run.switches().iter().map(|(_, seconds)| *seconds).collect(),
        })
    }
}

/// The kind of device that most seconds are of, among those that count in no comparison; none where those of other runs count.
/// So an axis of time has seconds of a timing pass, or those of one device as they were measured, and never both.
fn most_frequent_device<'a>(runs: impl Iterator<Item = &'a &'a Run> + Clone) -> Option<String> {
    let counts = |run: &&Run| run.device_of_seconds().is_none() && run.row.epochs > 0;
    if runs.clone().any(counts) {
        return None;
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for device in runs.filter_map(|run| run.device_of_seconds()) {
        *counts.entry(device).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, n)| *n);
    most.map(|(device, _)| device)
}

/// For each score the place of the highest up to it, the first of equals.
fn best_so_far(scores: impl Iterator<Item = f64>) -> Vec<usize> {
    let mut best: Option<(usize, f64)> = None;
    let places = scores.enumerate().map(|(at, score)| {
        if best.is_none_or(|(_, highest)| score > highest) {
            best = Some((at, score));
        }
        best.map_or(at, |(place, _)| place)
    });
    places.collect()
}

/// Notes on runs that are missing from `lines`, one for all lines that lack runs for the same reason; `empty` describes
/// a line without any.
pub(crate) fn missing(lines: &[Line], empty: &str) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for line in lines {
        let note = line
            .note
            .as_ref()
            .map(|note| format!("{empty}, because {note}"));
        let lost =
            (!line.lost.is_empty()).then(|| format!("not in the means: {}", counts(&line.lost)));
        for reason in note.into_iter().chain(lost) {
            add(&mut reasons, reason, &line.title);
        }
    }
    let note = |(reason, titles): (String, Vec<&str>)| format!("{}: {reason}", titles.join(", "));
    reasons.into_iter().map(note).collect()
}
