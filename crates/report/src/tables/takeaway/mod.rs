//! The takeaway of a page for practitioners: cost and gain of each group, compared with one of them.

mod baseline;
mod headline;
mod phrases;
mod row;
mod sentences;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::compare::paired::{ComparedSide, Numbers, PairedComparison};
use totune_evidence::plan::{Group, Measure, Plan, Side, TEST, Task, Where};
use totune_evidence::select::panel::{Pair, TaskRuns};
use totune_evidence::select::per_run::{TimePer, final_score, scores_of_both, seconds_of_both};
use totune_evidence::select::scope::Scope;
use totune_evidence::text::in_sentence;
use totune_plot::Panel;
use totune_plot::intervals::IntervalPanel;
use totune_stats::mean;

use self::baseline::BaselineComparison;
pub(crate) use self::headline::Headline;
use self::headline::headline;
use self::row::{Row, columns};
use self::sentences::{provenance, sentences};
use super::{Csv, RenderedTable};
use crate::item::Heading;
use crate::notes::merged;
use crate::tasks::{Missing, left_out, with_runs};

/// `[[takeaway]]` in `report.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TakeawayPlan {
    title: String,
    /// Group that the others are compared with.
    baseline: String,
    /// Rows, in order; the baseline comes first unless it is among them.
    groups: Vec<String>,
    /// Names of tasks; none means all.
    #[serde(default)]
    tasks: Vec<String>,
    /// Group that trains no encoder, which shares of a gain are counted from; without it, or where it has no run, guessing is the
    /// floor where that is known (see [`Run::guess`]).
    #[serde(default)]
    floor: Option<String>,
    /// A paragraph below the sentences.
    #[serde(default)]
    text: String,
}

/// Names of [`Row::fields`].
const FIELDS: &str = "row,baseline,score,difference_points,interval_points,time_percent,epoch_percent,cpu_seconds,memory_percent,trained_percent,runs,lost";

/// The legend of a table whose gains are counted from `floor`.
fn legend(floor: &str, with_memory: bool) -> String {
    let costs = if with_memory {
        "times and memory (the most bytes of tensors alive at once)"
    } else {
        "times"
    };
    format!(
        "Scores are each task's own. Differences are means over tasks at equal seeds, with the 95 % interval of Welch's test; a gain is counted from {floor}; {costs} are shares of the baseline's, as their geometric mean over tasks; CPU seconds are the processor time of a run's training steps on all threads, without the pass that fills a cache, as a mean over the tasks on which every row was timed; trained is the share of all parameters. A task counts as significantly different where Welch's test has p < 0.05 after Holm's correction over the tasks; “not behind by a point” means that the 90 % interval of the difference lies above −1 point. The sentences above name one or two of the groups, so their “not behind by a point” and “scores higher” hold for all groups together (Bonferroni); intervals in the table are of one group."
    )
}

impl TakeawayPlan {
    /// Checks the names; `from` prefixes errors.
    pub(crate) fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        plan.group(&self.baseline, from)?;
        plan.check_groups(&self.groups, from)?;
        if let Some(floor) = &self.floor {
            plan.group(floor, from)?;
        }
        ensure!(
            self.groups.iter().any(|group| *group != self.baseline),
            "{from}: found no group but the baseline, expected at least one"
        );
        plan.tasks_named(&self.tasks, from).map(|_| ())
    }

    /// The number of tasks that the baseline has a score on.
    pub(crate) fn tasks_scored(&self, scope: &Scope) -> usize {
        let tasks = scope.plan.tasks_named(&self.tasks, &scope.from);
        let scored = tasks.and_then(|tasks| self.by_score(tasks, scope));
        scored.map_or(0, |(scored, _)| scored.len())
    }

    /// The tasks that the baseline has a score on, and the others.
    fn by_score<'a>(
        &self,
        tasks: Vec<&'a Task>,
        scope: &Scope,
    ) -> Result<(Vec<&'a Task>, Vec<&'a Task>)> {
        let side = Side::One(self.baseline.clone());
        let on = TaskRuns::of_tasks(&side, &tasks, scope)?;
        let with_runs = tasks.into_iter().zip(&on);
        let (scored, others): (Vec<_>, Vec<_>) = with_runs.partition(|(task, on)| {
            let mut runs = on.all();
            runs.any(|run| final_score(run, task).is_some())
        });
        let tasks = |pairs: Vec<(&'a Task, _)>| pairs.into_iter().map(|(task, _)| task).collect();
        Ok((tasks(scored), tasks(others)))
    }

    fn heading(&self) -> Heading {
        Heading {
            id: "takeaway".to_owned(),
            title: self.title.clone(),
            text: self.text.clone(),
            ..Heading::default()
        }
    }

    /// The tasks to compare on, and notes on those that are left out.
    fn compared_on<'a>(&self, scope: &Scope<'a>) -> Result<(Vec<&'a Task>, Vec<String>)> {
        let tasks = scope.plan.tasks_named(&self.tasks, &scope.from)?;
        let groups = self.groups.iter().chain([&self.baseline]);
        let (tasks, not_run) = with_runs(groups, tasks, &Where::new(), scope)?;
        // A task that was begun, and lacks a score of the baseline, would leave every row without a comparison.
        let (scored, begun) = self.by_score(tasks.clone(), scope)?;
        let (tasks, begun) = if scored.is_empty() {
            (tasks, Vec::new())
        } else {
            (scored, begun)
        };
        let baseline = scope.plan.group(&self.baseline, &scope.from)?;
        let score = format!("a score of {}", in_sentence(&baseline.title));
        let notes = [left_out("a run", &not_run), left_out(&score, &begun)];
        Ok((tasks, notes.into_iter().flatten().collect()))
    }

    /// Fills the table, and writes and draws its conclusions.
    pub(crate) fn render(&self, scope: &Scope) -> Result<Takeaway> {
        let scope = &scope.at("takeaway");
        let (plan, from) = (scope.plan, &scope.from);
        let (tasks, mut notes) = self.compared_on(scope)?;
        let baseline = (self.baseline.as_str(), plan.group(&self.baseline, from)?);
        let first = (!self.groups.contains(&self.baseline)).then_some(&self.baseline);
        let mut csv = Csv::new(FIELDS);
        let (mut rows, mut found) = (Vec::new(), Vec::new());
        let (mut encoders, mut seeds, mut n_runs) = (BTreeSet::new(), BTreeSet::new(), 0);
        for name in first.into_iter().chain(&self.groups) {
            let group = plan.group(name, from)?;
            let side = Side::One(name.clone());
            let on = TaskRuns::of_tasks(&side, &tasks, scope)?;
            let runs = || on.iter().flat_map(TaskRuns::all);
            encoders.extend(runs().map(|run| run.row.encoder.as_str()));
            n_runs += runs().count();
            let mut row = Row::of(group, &tasks, &on);
            row.baseline = *name == self.baseline;
            let of_task =
                |(task, on): (&&Task, &TaskRuns)| on.per_seed(|run| final_score(run, task)).len();
            seeds.extend(tasks.iter().zip(&on).map(of_task));
            notes.extend(missing(group, &tasks, &on));
            found.push(if row.baseline {
                None
            } else {
                let compared = self.compared((group, &side), baseline, &tasks, scope)?;
                compared.map(|compared| (is_complete(&on), compared))
            });
            rows.push(row);
        }
        Row::fill_cpu(&mut rows);
        let (mut compared, mut drawn) = (Vec::new(), Vec::new());
        for (row, found) in rows.iter_mut().zip(comparable(found)) {
            if let Some((detail, paired)) = found {
                row.compare(&detail, &paired);
                drawn.push(row.drawn(&detail));
                compared.push(detail);
            }
        }
        let with_memory = compared.iter().any(|each| each.memory.is_some());
        Row::fill_baseline(&mut rows, with_memory);
        rows.iter().for_each(|row| csv.line(row.fields()));
        notes.extend(compared.iter().find_map(BaselineComparison::timed_note));
        notes.extend(compared.iter().find_map(BaselineComparison::memory_note));
        let groups = compared.len();
        compared.iter_mut().for_each(|each| each.groups = groups);
        let measure = format!("difference in points, {}", over(&tasks, &compared));
        let floor = self.floor_in_words(plan);
        let mut lead = sentences(&compared, &baseline.1.title);
        lead.extend((n_runs > 0).then(|| provenance(&encoders, tasks.len(), n_runs, &seeds)));
        let panel = IntervalPanel {
            title: format!("Compared with {}", in_sentence(&baseline.1.title)),
            measure,
            rows: drawn,
            decimals: 2,
        };
        let table = RenderedTable {
            heading: self.heading(),
            lead,
            columns: columns(with_memory),
            parts: RenderedTable::single_part(
                rows.iter().map(|row| row.cells(with_memory)).collect(),
            ),
            legend: legend(&floor, with_memory),
            notes: merged(notes),
            csv,
            ..RenderedTable::default()
        };
        Ok(Takeaway {
            table,
            headline: headline(&compared, &baseline.1.title, &floor),
            figure: (groups > 0).then(|| vec![Panel::Intervals(panel)]),
        })
    }

    /// A group compared with the baseline; `None` where the two have no scores on a task.
    fn compared<'a>(
        &self,
        group: (&Group, &Side),
        baseline: (&str, &Group),
        tasks: &[&'a Task],
        scope: &Scope<'a>,
    ) -> Result<Option<(BaselineComparison, PairedComparison<'a>)>> {
        let paired = paired(group, baseline, tasks, scope)?;
        let detail = BaselineComparison::of(&paired, |task| self.floor(task, scope));
        Ok(detail.map(|detail| (detail, paired)))
    }

    /// `the floor (majority)`, or `guessing`.
    fn floor_in_words(&self, plan: &Plan) -> String {
        let group = self.floor.as_ref().and_then(|name| plan.groups.get(name));
        group.map_or_else(
            || "guessing".to_owned(),
            |group| {
                let title = group.title.trim_start_matches("Floor: ");
                format!("the floor ({})", in_sentence(title))
            },
        )
    }

    /// The score without training on a task: of the runs of the floor, or else of guessing, from the runs of the
    /// baseline.
    fn floor(&self, task: &Task, scope: &Scope) -> Option<f64> {
        let measure = Measure::score(&task.metric, TEST);
        let group = self
            .floor
            .as_ref()
            .and_then(|name| scope.plan.groups.get(name));
        let of_group = group.and_then(|group| {
            let conditions = group.narrowed([&task.conditions()]);
            let sample = scope.runs.sample(&conditions, &measure, &scope.from);
            sample.ok()?.mean()
        });
        let of_baseline = || {
            let side = Side::One(self.baseline.clone());
            let runs = TaskRuns::of(&side, task, &Where::new(), scope).ok()?;
            runs.all().find_map(|run| run.guess(&measure))
        };
        of_group.or_else(of_baseline)
    }
}

/// A table with its conclusions.
#[derive(Debug)]
pub(crate) struct Takeaway {
    pub(crate) table: RenderedTable,
    /// `None` where no group can be compared with the baseline.
    pub(crate) headline: Option<Headline>,
    /// The differences with their intervals; `None` where there is none.
    pub(crate) figure: Option<Vec<Panel>>,
}

/// `mean of 8 tasks`, `mean of 2 to 3 tasks` where some have runs of one side only, `accuracy`.
fn over(tasks: &[&Task], compared: &[BaselineComparison]) -> String {
    let numbers = || compared.iter().map(|row| row.tasks);
    match (tasks, numbers().min(), numbers().max()) {
        ([task], ..) => task.unit.clone(),
        (_, Some(1), Some(1)) => "on one task".to_owned(),
        (_, Some(fewest), Some(most)) if fewest < most => {
            format!("mean of {fewest} to {most} tasks")
        }
        (tasks, _, most) => format!("mean of {} tasks", most.unwrap_or(tasks.len())),
    }
}

/// Whether no task of these lacks a run that is still to be made.
fn is_complete(on: &[TaskRuns]) -> bool {
    !on.iter()
        .any(|task_runs| task_runs.pending && task_runs.all().next().is_none())
}

/// Leaves the comparisons of groups that are complete, if any is. The mean of a group over fewer tasks, until the others
/// have been run, is not to be compared with theirs.
fn comparable<T>(found: Vec<Option<(bool, T)>>) -> impl Iterator<Item = Option<T>> {
    let any = found.iter().flatten().any(|(is_complete, _)| *is_complete);
    let each = move |(is_complete, one)| (is_complete || !any).then_some(one);
    found.into_iter().map(move |found| found.and_then(each))
}

/// A group compared with the baseline on the same tasks.
fn paired<'a>(
    (group, side): (&Group, &Side),
    (name, baseline): (&str, &Group),
    tasks: &[&'a Task],
    scope: &Scope<'a>,
) -> Result<PairedComparison<'a>> {
    let (other, none) = (Side::One(name.to_owned()), Where::new());
    let side_of = |title, side| ComparedSide {
        title,
        side,
        conditions: &none,
    };
    let sides = [
        side_of(&group.title, side),
        side_of(&baseline.title, &other),
    ];
    PairedComparison::new(sides, tasks, scope)
}

/// Runs of a group that were lost, and why it has no score on a task; tasks of several without a run are one note.
fn missing(group: &Group, tasks: &[&Task], on: &[TaskRuns]) -> Vec<String> {
    let group = &group.title;
    let (mut notes, mut without) = (Vec::new(), Missing::default());
    for (task, task_runs) in tasks.iter().zip(on) {
        if tasks.len() > 1 && task_runs.all().next().is_none() {
            without.add(task, task_runs.pending);
            continue;
        }
        let lost = task_runs.lost_text();
        if !lost.is_empty() {
            notes.push(format!("{group} on {}: {lost}", task.title));
        }
        if task_runs.per_seed(|run| final_score(run, task)).is_empty() {
            let why = task_runs.why_unscored();
            notes.push(format!("{group} has no score on {}: {why}", task.title));
        }
    }
    notes.extend(without.notes(group));
    notes
}

/// Final scores of both sides of a paired comparison, of the tasks that have any.
fn scores<'a>(paired: &PairedComparison<'a>) -> Result<Numbers<'a>, String> {
    paired.numbers_so_far(scores_of_both)
}

/// The ratio of mean seconds.
fn time_ratio(paired: &PairedComparison, per: TimePer) -> Option<CostRatio> {
    cost_ratio(paired, seconds_of_both(per))
}

/// The geometric mean over tasks of the ratios of mean costs: twice as much on one task and half as much on another
/// cancel out.
fn cost_ratio(
    paired: &PairedComparison,
    of_both: impl Fn(&Task, &Pair) -> Option<(f64, f64)>,
) -> Option<CostRatio> {
    let numbers = paired.numbers_so_far(of_both).ok()?;
    let logs = numbers
        .tasks
        .iter()
        .map(|on| (mean(&on.a) / mean(&on.b)).ln());
    Some(CostRatio {
        ratio: mean(&logs.collect::<Vec<f64>>()).exp(),
        tasks: numbers.tasks.len(),
    })
}

/// Seconds or bytes of a group as a share of the baseline's.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CostRatio {
    ratio: f64,
    /// Tasks with costs that can be compared.
    tasks: usize,
}
