//! The takeaway of a page for practitioners: cost and gain of each group, compared with one of them.

mod baseline;
mod headline;
mod phrases;
mod row;
mod sentences;

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

    /// The number of tasks that the baseline has runs on.
    pub(crate) fn tasks_run(&self, scope: &Scope) -> usize {
        let tasks = scope.plan.tasks_named(&self.tasks, &scope.from);
        let side = Side::One(self.baseline.clone());
        let on = tasks.and_then(|tasks| TaskRuns::of_tasks(&side, &tasks, scope));
        on.map_or(0, |on| {
            on.iter().filter(|on| on.all().next().is_some()).count()
        })
    }

    /// Fills the table, and writes and draws its conclusions.
    pub(crate) fn render(&self, scope: &Scope) -> Result<Takeaway> {
        let scope = &scope.at("takeaway");
        let (plan, from) = (scope.plan, &scope.from);
        let tasks = plan.tasks_named(&self.tasks, from)?;
        let groups = self.groups.iter().chain([&self.baseline]);
        let (tasks, not_run) = with_runs(groups, tasks, &Where::new(), scope)?;
        let baseline = (self.baseline.as_str(), plan.group(&self.baseline, from)?);
        let first = (!self.groups.contains(&self.baseline)).then_some(&self.baseline);
        let mut csv = Csv::new(FIELDS);
        let (mut rows, mut notes, mut found) = (Vec::new(), Vec::new(), Vec::new());
        notes.extend(left_out(&not_run));
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
            heading: Heading {
                id: "takeaway".to_owned(),
                title: self.title.clone(),
                text: self.text.clone(),
                ..Heading::default()
            },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use serde_json::Value;
    use totune_evidence::select::runs::Runs;
    use totune_evidence::toml_file::parse;
    use totune_record::TimingRow;

    #[test]
    fn a_takeaway_in_markdown_and_csv() {
        let few = built("groups = ['last-2', 'last-1']");
        insta::assert_snapshot!("a_takeaway_in_markdown", few.markdown());
        let hot = built("groups = ['last-2', 'full-hot', 'full']");
        insta::assert_snapshot!("a_takeaway_in_csv", hot.csv.text());
    }

    #[test]
    fn a_group_without_runs_is_a_row_without_numbers() {
        let table = built("groups = ['last-3']\ntasks = ['letters']");
        assert_eq!(
            table.lead[0],
            "No group can be compared with all layers yet."
        );
        let row = &table.parts[0].rows[1];
        assert_eq!([1, 3, 7].map(|at| row[at].main.as_str()), ["", "", "0"]);
        let why = "Last three layers has no score on Letters: no run has";
        assert!(table.notes[0].starts_with(why), "{:?}", table.notes);
    }

    #[test]
    fn a_task_without_a_run_is_left_out() {
        let two = built("groups = ['last-2']\ntasks = ['letters', 'sounds']");
        let plan = fixture::task_plan();
        let text = "title = 'What to take'\nbaseline = 'full'\ngroups = ['last-2']\ntasks = ['letters', 'sounds']\n";
        let asked: TakeawayPlan = parse(text, "report.toml").unwrap();
        let mut tables = totune_synthetic::task_tables();
        let sounds = plan.tasks["sounds"].datasets.clone();
        tables.runs.retain(|run| !sounds.contains(&run.dataset));
        let runs = Runs::new(tables).unwrap();
        let scope = Scope::new(&plan, &runs, "report.toml");
        let one = asked.render(&scope).unwrap().table;
        assert_eq!(one.notes, ["Without a run yet, and left out here: Sounds"]);
        let score = |table: &RenderedTable| table.parts[0].rows[0][1].main.clone();
        assert_ne!(score(&one), "");
        assert_ne!(score(&one), score(&two));
    }

    #[test]
    fn tasks_that_a_group_has_no_run_on_are_one_note() {
        let text = "title = 'What to take'\nbaseline = 'full'\ngroups = ['last-2']\n";
        let (asked, plan): (TakeawayPlan, _) =
            (parse(text, "report.toml").unwrap(), fixture::task_plan());
        let mut tables = totune_synthetic::task_tables();
        let datasets = ["letters", "sounds"]
            .map(|task| plan.tasks[task].datasets.clone())
            .concat();
        tables
            .runs
            .retain(|run| !(run.spec.contains("last-2") && datasets.contains(&run.dataset)));
        let runs = Runs::new(tables).unwrap();
        let scope = Scope::new(&plan, &runs, "report.toml");
        let notes = asked.render(&scope).unwrap().table.notes;
        let without: Vec<_> = notes
            .iter()
            .filter(|note| note.contains("no run on"))
            .collect();
        assert_eq!(
            without,
            ["Last two layers has no run on Letters and Sounds"]
        );
    }

    #[test]
    fn a_group_that_lacks_runs_is_compared_only_where_all_do() {
        for (complete, expected) in [
            ([true, false, true], [Some('a'), None, Some('c')]),
            ([true; 3], ['a', 'b', 'c'].map(Some)),
            ([false; 3], ['a', 'b', 'c'].map(Some)),
        ] {
            let found = complete.into_iter().zip(['a', 'b', 'c']).map(Some);
            let found = [None].into_iter().chain(found);
            let left: Vec<_> = comparable(found.collect()).collect();
            assert_eq!(left, [&[None], &expected[..]].concat());
        }
    }

    #[test]
    fn a_row_counts_what_was_lost_and_compares_what_is_left() {
        let table = built("groups = ['full-hot']");
        let runs = table.parts[0].rows[1].last().unwrap();
        assert_eq!((runs.main.as_str(), runs.detail.as_str()), ("11", "1 lost"));
        let lost = "All layers, high rate on Sounds: 1 diverged".to_owned();
        assert!(table.notes.contains(&lost));
        assert!(table.lead.last().unwrap().contains("2 to 3 seeds"));
    }

    #[test]
    fn memory_is_a_column_where_it_was_counted() {
        let mut tables = totune_synthetic::task_tables();
        for run in &mut tables.runs {
            run.spec = run.spec.replace(r#""tune""#, r#""fine-tune""#);
        }
        // Not of sounds, and half as much of two layers.
        let counted = tables
            .runs
            .iter()
            .filter(|run| run.dataset != "synthetic-sounds");
        let timing = counted.map(|run| TimingRow {
            experiment: run.experiment.clone(),
            arm: serde_json::from_str::<Value>(&run.spec).unwrap()["arm"]
                .as_str()
                .unwrap()
                .to_owned(),
            dataset: run.dataset.clone(),
            encoder: run.encoder.clone(),
            tensor_memory: Some(if run.spec.contains("last-k") { 5 } else { 10 }),
            ..TimingRow::default()
        });
        let folder = tempfile::tempdir().unwrap();
        totune_record::write_timing(folder.path(), &timing.collect::<Vec<_>>()).unwrap();
        let runs = Runs::read(&[], folder.path(), tables.into()).unwrap();
        let table = of_runs("groups = ['last-2', 'full']", &runs);
        let titles: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.title.as_str())
            .collect();
        let at = titles
            .iter()
            .position(|title| *title == "Memory (%)")
            .unwrap();
        let cells: Vec<&str> = table.parts[0]
            .rows
            .iter()
            .map(|row| row[at].main.as_str())
            .collect();
        assert_eq!(cells, ["50", "100"]);
        assert!(
            table
                .notes
                .contains(&"memory was counted on 3 of 4 tasks only".to_owned())
        );
        assert!(table.legend.contains("times and memory"));
        let without = built("groups = ['last-2', 'full']");
        assert!(!without.markdown().contains("emory"));
    }

    fn built(rest: &str) -> RenderedTable {
        of_runs(rest, &Runs::new(totune_synthetic::task_tables()).unwrap())
    }

    fn of_runs(rest: &str, runs: &Runs) -> RenderedTable {
        let text = format!("title = 'What to take'\nbaseline = 'full'\n{rest}\n");
        let asked: TakeawayPlan = parse(&text, "report.toml").unwrap();
        let plan = fixture::task_plan();
        asked.check(&plan, "report.toml: takeaway").unwrap();
        let scope = Scope::new(&plan, runs, "report.toml");
        asked.render(&scope).unwrap().table
    }
}
