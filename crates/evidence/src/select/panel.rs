//! Pairs of runs: two sides on the same tasks at the same seeds, for comparisons over tasks.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::plan::{Side, TEST, Task, Where};
use crate::select::runs::Run;
use crate::select::sample::{Key, Sample};
use crate::select::scope::Scope;
use crate::text::{counted, counts};

/// The default split of a setting.
pub fn test() -> String {
    TEST.to_owned()
}

/// Prefix of the adaptation settings; runs that agree in these, except for the learning rate, are of one kind.
const STRATEGY: &str = "work.training.adaptation.";
const RATE: &str = "work.training.adaptation.lr";

/// The runs of a side on one task.
#[derive(Debug, Clone, Default)]
pub struct TaskRuns<'a> {
    /// By fold and seed, then by kind. A side that pools several strategies has several kinds, as has one that pools
    /// several networks trained alike; runs of the same setting at the same seed, from two experiments, share a place.
    by_key: BTreeMap<Key, Kinds<'a>>,
    /// The number of the group that a place has its first run from.
    owners: BTreeMap<(Key, String), usize>,
    /// Runs without a final score, by status.
    pub lost: BTreeMap<String, usize>,
    /// The reason why there is no run at all, if there is none.
    pub note: Option<String>,
    /// Whether runs of it are still to be made.
    pub pending: bool,
    /// Labels of the runs.
    pub labels: BTreeSet<String>,
}

/// Two sides on one task.
#[derive(Debug)]
pub(crate) struct OnTask<'a> {
    pub(crate) task: &'a Task,
    /// In order of fold and seed.
    pub(crate) pairs: Vec<Pair<'a>>,
    pub(crate) a: TaskRuns<'a>,
    pub(crate) b: TaskRuns<'a>,
}

/// The runs of both sides at one fold and seed; at least one each.
#[derive(Debug)]
pub struct Pair<'a> {
    /// Runs of the first side.
    pub a: Vec<&'a Run>,
    /// Runs of the second side.
    pub b: Vec<&'a Run>,
}

impl<'a> TaskRuns<'a> {
    /// The runs of `side` on `task` that meet `conditions` too.
    pub fn of(side: &Side, task: &Task, conditions: &Where, scope: &Scope<'a>) -> Result<Self> {
        let mut result = Self::default();
        for (number, name) in side.names().iter().enumerate() {
            let group = scope.plan.group(name, &scope.from)?;
            let all = group.narrowed([conditions, &task.conditions()]);
            let from = format!("{}: group `{name}` on {}", scope.from, task.title);
            let selection = scope.runs.select(&all, &from)?;
            result.note = result.note.or(selection.note);
            result.pending |= selection.pending;
            for run in selection.runs {
                result.add(run, number, &from)?;
            }
        }
        Ok(result)
    }

    /// The same on each of `tasks`.
    pub fn of_tasks(side: &Side, tasks: &[&Task], scope: &Scope<'a>) -> Result<Vec<Self>> {
        let none = Where::new();
        let on = tasks.iter().map(|task| Self::of(side, task, &none, scope));
        on.collect()
    }

    /// Adds a run of group `number` of the side.
    fn add(&mut self, run: &'a Run, number: usize, from: &str) -> Result<()> {
        self.labels.extend(run.labels().iter().cloned());
        if run.row.status != "ok" {
            *self.lost.entry(run.row.status.clone()).or_default() += 1;
            return Ok(());
        }
        let key = run.key();
        let place = self.by_key.entry(key).or_default();
        let mut kind = kind(run);
        let of_another = |runs: &Vec<&Run>| {
            let owner = self.owners.get(&(key, kind.clone()));
            owner != Some(&number) && first_difference(runs[0], run).is_some()
        };
        // Another group's network, trained alike: the first groups of both sides are of one kind, then the second ones.
        if place.get(&kind).is_some_and(of_another) {
            kind = format!("{kind} #{number}");
        }
        self.owners.entry((key, kind.clone())).or_insert(number);
        let same = place.entry(kind).or_default();
        if let Some(path) = same.first().and_then(|other| first_difference(other, run)) {
            bail!(
                "{from}: at seed {} found two runs that differ in `{path}`, expected one; name it in the group's `where`",
                run.row.seed
            );
        }
        same.push(run);
        Ok(())
    }

    /// All runs that ended well, in order of fold, seed and kind.
    pub fn all(&self) -> impl Iterator<Item = &'a Run> {
        self.by_key
            .values()
            .flat_map(BTreeMap::values)
            .flatten()
            .copied()
    }

    /// The runs of each kind, over all seeds.
    pub(crate) fn by_kind(&self) -> BTreeMap<&String, Vec<&'a Run>> {
        let mut result: BTreeMap<&String, Vec<&'a Run>> = BTreeMap::new();
        for (kind, runs) in self.by_key.values().flatten() {
            // Repeats of one seed are one repeat.
            result.entry(kind).or_default().extend(runs.first());
        }
        result
    }

    /// A number of each run, as a sample to compare with another.
    pub(crate) fn sample(&self, number: impl Fn(&Run) -> Option<f64>) -> Sample {
        let mut sample = Sample::default();
        sample.lost = self.lost.clone();
        sample.note = self.note.clone();
        sample.pending = self.pending;
        sample.labels = self.labels.clone();
        sample.seedless = self.all().all(Run::is_seedless);
        for run in self.all() {
            sample.add(number(run), run.key(), run.facts_under("split"));
        }
        sample
    }

    /// The mean of a number over the runs of each seed, in order of seed.
    pub fn per_seed(&self, number: impl Fn(&Run) -> Option<f64>) -> Vec<f64> {
        let seeds = self.by_key.values().filter_map(|kinds| {
            let runs: Vec<&Run> = kinds.values().flatten().copied().collect();
            average(&runs, &number)
        });
        seeds.collect()
    }

    /// The runs at its only seed, where there is no randomness.
    pub(crate) fn fixed(&self) -> Option<&Kinds<'a>> {
        let only = self
            .by_key
            .values()
            .next()
            .filter(|_| self.by_key.len() == 1)?;
        self.all().all(Run::is_seedless).then_some(only)
    }

    /// Whether its runs are folds of one cross-validation.
    pub(crate) fn is_folds(&self) -> bool {
        let mut folds = self.by_key.keys().map(|key| key.fold);
        let first = folds.next();
        folds.any(|fold| Some(fold) != first)
    }

    /// Whether there is no run, as opposed to none that ended well.
    pub(crate) fn is_missing(&self) -> bool {
        self.by_key.is_empty() && self.lost.is_empty()
    }

    /// `3 diverged`; empty when none was lost.
    pub fn lost_text(&self) -> String {
        counts(&self.lost)
    }

    /// The reason why there is no score, where there is none.
    pub fn why_unscored(&self) -> String {
        match &self.note {
            Some(note) => note.clone(),
            None if self.all().next().is_none() => "every run diverged or failed".to_owned(),
            None => {
                "its runs have no such score; predicting the mean has no correlation".to_owned()
            }
        }
    }
}

impl<'a> OnTask<'a> {
    /// Pairs what both sides have at a seed. Where both pool several strategies, such as one to four layers at either
    /// rate, each is paired with itself, so that a lost run takes its counterpart with it. A side without randomness, such
    /// as word counts, is paired with every seed of the other.
    pub(crate) fn new(task: &'a Task, a: TaskRuns<'a>, b: TaskRuns<'a>) -> Self {
        let pairs = match (a.fixed(), b.fixed()) {
            (None, Some(fixed)) => pairs(a.by_key.values().map(|left| (left, fixed))),
            (Some(fixed), None) => pairs(b.by_key.values().map(|right| (fixed, right))),
            _ => pairs(
                a.by_key
                    .iter()
                    .filter_map(|(key, left)| Some((left, b.by_key.get(key)?))),
            ),
        };
        Self { task, pairs, a, b }
    }

    /// Seeds of one side that the other lacks.
    pub(crate) fn unpaired(&self) -> usize {
        let more = self.a.by_key.len().max(self.b.by_key.len()) - self.pairs.len();
        match (self.a.fixed(), self.b.fixed()) {
            (None, None) => self.a.by_key.len() + self.b.by_key.len() - 2 * self.pairs.len(),
            _ => more,
        }
    }
}

/// The runs of one seed, by kind.
pub(crate) type Kinds<'a> = BTreeMap<String, Vec<&'a Run>>;

fn pairs<'a: 'b, 'b>(sides: impl Iterator<Item = (&'b Kinds<'a>, &'b Kinds<'a>)>) -> Vec<Pair<'a>> {
    sides
        .map(|(left, right)| {
            let common: BTreeSet<&String> = left
                .keys()
                .filter(|kind| right.contains_key(*kind))
                .collect();
            let pooled = left.len() > 1 && right.len() > 1 && !common.is_empty();
            let take = |kinds: &Kinds<'a>| -> Vec<&'a Run> {
                kinds
                    .iter()
                    .filter(|(kind, _)| !pooled || common.contains(kind))
                    .flat_map(|(_, runs)| runs.iter().copied())
                    .collect()
            };
            Pair {
                a: take(left),
                b: take(right),
            }
        })
        .collect()
}

/// The mean of a number over runs; `None` where one of them does not have it.
pub fn average(runs: &[&Run], number: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let numbers = runs
        .iter()
        .map(|run| number(run))
        .collect::<Option<Vec<_>>>()?;
    (!numbers.is_empty()).then(|| totune_stats::mean(&numbers))
}

/// `12 pairs of seeds`.
pub(crate) fn pairs_text(n: usize) -> String {
    format!("{} of seeds", counted(n, "pair"))
}

/// The adaptation settings of a run, without the learning rate.
fn kind(run: &Run) -> String {
    let parts: Vec<String> = run
        .setting()
        .filter(|(path, _)| path.starts_with(STRATEGY) && *path != RATE)
        .map(|(path, value)| format!("{path}={value}"))
        .collect();
    parts.join(" ")
}

/// The first path in which the settings of two runs differ.
pub(crate) fn first_difference(one: &Run, other: &Run) -> Option<String> {
    let settings: [BTreeMap<&str, &Value>; 2] = [one, other].map(|run| run.setting().collect());
    let [left, right] = &settings;
    let paths: BTreeSet<&&str> = left.keys().chain(right.keys()).collect();
    paths
        .into_iter()
        .find(|path| left.get(**path) != right.get(**path))
        .map(|path| (*path).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::plan::Plan;
    use crate::select::runs::Runs;

    #[test]
    fn networks_that_are_trained_alike_can_be_pooled_and_are_paired_in_order() {
        let (plan, runs) = networks();
        let task = Task {
            title: "Letters".into(),
            datasets: vec!["synthetic-letters".into()],
            metric: "accuracy".into(),
            unit: "accuracy".into(),
            among: vec![],
        };
        let task_runs = |names: &[&str]| {
            let side = Side::Pooled(names.iter().map(|name| name.to_string()).collect());
            TaskRuns::of(
                &side,
                &task,
                &Where::new(),
                &Scope::new(&plan, &runs, "here"),
            )
        };
        let on = OnTask::new(
            &task,
            task_runs(&["a", "b"]).unwrap(),
            task_runs(&["c", "d"]).unwrap(),
        );
        let heads = |runs: &[&Run]| -> Vec<String> {
            let head = |run: &&Run| run.fact("work.head").unwrap().to_string();
            runs.iter().map(head).collect()
        };
        let found: Vec<_> = on
            .pairs
            .iter()
            .map(|pair| (heads(&pair.a), heads(&pair.b)))
            .collect();
        let two = |x: &str, y: &str| vec![format!("\"{x}\""), format!("\"{y}\"")];
        assert_eq!(found, [(two("a", "b"), two("c", "d"))]);
        // A group that has both by itself does not say which it means.
        let error = task_runs(&["a-or-b"]).unwrap_err().to_string();
        assert!(
            error.contains("two runs that differ in `work.head`"),
            "{error}"
        );
    }

    /// Runs of four heads at one seed, all tuned whole.
    fn networks() -> (Plan, Runs) {
        let mut tables = totune_synthetic::tables();
        let mut row = tables
            .runs
            .iter()
            .find(|row| row.experiment == "table-2")
            .unwrap()
            .clone();
        let mut groups = String::new();
        tables.runs.clear();
        for head in ["a", "b", "c", "d"] {
            row.run_id = head.into();
            row.spec = serde_json::json!({ "work": { "head": head, "training": { "adaptation": { "kind": "full" } } } }).to_string();
            tables.runs.push(row.clone());
            groups.push_str(&format!(
                "[groups.{head}]\ntitle = '{head}'\nwhere = {{ 'work.head' = '{head}' }}\n"
            ));
        }
        groups.push_str("[groups.a-or-b]\ntitle = ''\nwhere = { 'work.head' = ['a', 'b'] }\n");
        tables.evals.clear();
        let plan = fixture::plan(&groups).unwrap();
        (plan, Runs::new(tables).unwrap())
    }
}
