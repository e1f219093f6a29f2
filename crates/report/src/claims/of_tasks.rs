//! Checks over tasks and time: a number for each task and seed, averaged within the task, then over tasks.

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use super::Side;
use crate::plan::{Plan, Task};

/// `a` and `b` on the same tasks at the same seeds, with what the paper says of the difference.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct OverTasks {
    /// Names of tasks in `report.toml`.
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    /// Instead: the name of a set of them. Neither means all tasks.
    pub(crate) among: Option<String>,
    pub(crate) a: Side,
    pub(crate) b: Side,
    #[serde(default)]
    pub(crate) score: Which,
    /// What the paper gives, as a fraction with its sign; left out where it gives the direction alone, `a` above.
    pub(crate) paper: Option<f64>,
    /// How far off still counts as the same size.
    pub(crate) tolerance: Option<f64>,
}

/// Which score of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Which {
    /// The one at the stop.
    #[default]
    Final,
    /// The highest of all epochs, which chooses the epoch by the test scores.
    Best,
}

/// How `a - b` differs between two sets of tasks: larger on the first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TaskContrast {
    pub(crate) a: Side,
    pub(crate) b: Side,
    /// Tasks where the paper finds the larger difference.
    pub(crate) tasks: Vec<String>,
    /// Tasks where it finds the smaller one.
    pub(crate) than: Vec<String>,
}

/// How far the seeds of each of some groups lie apart, as a standard deviation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Deviation {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) groups: Vec<String>,
    /// As printed, in units of the score.
    pub(crate) paper: f64,
    /// How far off still counts as the same.
    pub(crate) tolerance: f64,
}

/// The share of `b`'s time that `a` saves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Saving {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) a: Side,
    pub(crate) b: Side,
    #[serde(default)]
    pub(crate) per: Per,
    /// As a fraction of `b`'s time.
    pub(crate) paper: f64,
    pub(crate) tolerance: f64,
}

/// Which time of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Per {
    /// All seconds of training, to the stop.
    #[default]
    Run,
    /// Seconds of training by epochs finished.
    Epoch,
}

/// Two sides whose times are compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Duration {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) a: Side,
    pub(crate) b: Side,
}

/// `a` against `b` by the best score reached within given times.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SameTime {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) a: Side,
    pub(crate) b: Side,
    /// Times in epochs of one side at the same seed, since seconds do not transfer between machines.
    pub(crate) at: Vec<f64>,
    /// Which side's epochs.
    #[serde(default)]
    pub(crate) epochs_of: Epochs,
    /// What the paper gives at each time; left out where it gives the direction alone, `a` above at all of them.
    #[serde(default)]
    pub(crate) paper: Vec<f64>,
    pub(crate) tolerance: Option<f64>,
}

/// Whose epochs are the unit of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Epochs {
    A,
    #[default]
    B,
}

/// `a` against `b` by the epochs finished within a budget.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Budget {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) a: Side,
    pub(crate) b: Side,
    pub(crate) epochs_of_b: f64,
    /// As in [`OverTasks`].
    pub(crate) paper: Option<f64>,
    pub(crate) tolerance: Option<f64>,
}

/// How far repeats of one setting lie apart, over all tasks and settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Repeats {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) groups: Vec<String>,
    #[serde(default)]
    pub(crate) score: Which,
    /// The largest range that the paper grants.
    pub(crate) limit: f64,
}

/// From the smallest to the largest share of trained parameters among groups.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Share {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) groups: Vec<String>,
    /// Smallest and largest, as printed.
    pub(crate) printed: [f64; 2],
    pub(crate) tolerance: f64,
}

/// Which tasks a check is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tasks<'a> {
    pub(crate) names: &'a [String],
    pub(crate) among: Option<&'a String>,
}

impl<'a> Tasks<'a> {
    /// Those of `plan`, in the order given, or in the plan's; `from` says who asks.
    pub(crate) fn of<'p>(self, plan: &'p Plan, from: &str) -> Result<Vec<&'p Task>> {
        match (self.names, self.among) {
            ([], Some(set)) => {
                let found: Vec<&Task> = plan
                    .tasks
                    .values()
                    .filter(|task| task.among.contains(set))
                    .collect();
                if found.is_empty() {
                    let sets = plan.tasks.values().flat_map(|task| &task.among);
                    let near = crate::toml_file::did_you_mean(set, sets.map(String::as_str));
                    bail!("{from}: no task of report.toml is among `{set}`{near}");
                }
                Ok(found)
            }
            (names, None) => plan.tasks_named(names, from),
            (_, Some(set)) => bail!(
                "{from}: found `tasks` and `among = \"{set}\"`, expected one of them or neither"
            ),
        }
    }
}

macro_rules! tasks_of {
    ($($check:ty),*) => {
        $(impl $check {
            pub(crate) fn tasks(&self) -> Tasks<'_> {
                Tasks { names: &self.tasks, among: self.among.as_ref() }
            }
        })*
    };
}

tasks_of!(
    OverTasks, Deviation, Saving, Duration, SameTime, Budget, Repeats, Share
);

impl OverTasks {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        sized(self.paper.as_slice(), self.tolerance, from)
    }
}

impl TaskContrast {
    pub(super) fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        for tasks in [&self.tasks, &self.than] {
            ensure!(
                !tasks.is_empty(),
                "{from}: found no `tasks` or nothing in `than`, expected tasks on both sides"
            );
            plan.tasks_named(tasks, from)?;
        }
        Ok(())
    }

    /// All tasks, with what each counts: the mean over the first set less that over the second.
    pub(crate) fn weights(&self) -> Vec<(&String, f64)> {
        let of = |names: &[String], sign: f64| sign / names.len() as f64;
        let first = of(&self.tasks, 1.0);
        let second = of(&self.than, -1.0);
        let names = self.tasks.iter().map(|name| (name, first));
        names
            .chain(self.than.iter().map(|name| (name, second)))
            .collect()
    }
}

impl Deviation {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            !self.groups.is_empty(),
            "{from}: found no groups, expected those whose seeds are compared"
        );
        ensure!(
            self.paper > 0.0 && self.tolerance > 0.0,
            "{from}: found paper = {}, tolerance = {}, expected both above 0",
            self.paper,
            self.tolerance
        );
        Ok(())
    }
}

impl Saving {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            self.paper != 0.0 && self.paper < 1.0,
            "{from}: found paper = {}, expected a share of the time of `b` below 1 and not 0; use `as-long`",
            self.paper
        );
        Ok(())
    }
}

impl SameTime {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            !self.at.is_empty() && self.at.iter().all(|&at| at > 0.0 && at.is_finite()),
            "{from}: found at = {:?}, expected times above 0, in epochs",
            self.at
        );
        ensure!(
            self.paper.is_empty() || self.paper.len() == self.at.len(),
            "{from}: found {} values of the paper, expected one for each of {} times, or none",
            self.paper.len(),
            self.at.len()
        );
        sized(&self.paper, self.tolerance, from)
    }
}

impl Budget {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            self.epochs_of_b > 0.0 && self.epochs_of_b.is_finite(),
            "{from}: found epochs-of-b = {}, expected more than 0",
            self.epochs_of_b
        );
        sized(self.paper.as_slice(), self.tolerance, from)
    }
}

impl Repeats {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            !self.groups.is_empty(),
            "{from}: found no groups, expected those whose repeats are compared"
        );
        ensure!(
            self.limit > 0.0,
            "{from}: found limit = {}, expected more than 0",
            self.limit
        );
        Ok(())
    }
}

impl Share {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        let [low, high] = self.printed;
        ensure!(
            !self.groups.is_empty(),
            "{from}: found no groups, expected those whose parameters are counted"
        );
        ensure!(
            0.0 < low && low <= high && high <= 1.0,
            "{from}: found printed = [{low}, {high}], expected two shares above 0, the smaller one first"
        );
        Ok(())
    }
}

/// A size comes with its tolerance; without either the direction alone is claimed.
fn sized(papers: &[f64], tolerance: Option<f64>, from: &str) -> Result<()> {
    match (papers.is_empty(), tolerance) {
        (false, None) => bail!("{from}: found `paper` without `tolerance`, expected both"),
        (true, Some(_)) => bail!("{from}: found `tolerance` without `paper`, expected both"),
        _ => {}
    }
    ensure!(
        !papers.contains(&0.0),
        "{from}: found paper = 0, expected a difference, or no `paper` for a direction alone"
    );
    Ok(())
}
