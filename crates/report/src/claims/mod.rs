//! `claims.toml`: what the paper says, in a form that runs or arithmetic can decide.

mod of_cells;
mod of_groups;
mod of_layers;
mod of_paper;
mod of_tasks;

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

pub(crate) use self::of_cells::{Cells, Lie, PrintedDifferences, matrix};
pub(crate) use self::of_groups::{Difference, Order, Pair, Side, Value};
pub(crate) use self::of_layers::{
    LateRise, LayerTrend, LayersAbove, LayersFlat, LayersNear, LayersZero, NoCorrelation,
};
pub(crate) use self::of_paper::{
    Arithmetic, F1Bound, MeanOf, PValue, Power, Reading, Second, ShareOf, Statement,
};
pub(crate) use self::of_tasks::{
    Budget, Deviation, Duration, Epochs, OverTasks, Per, Repeats, SameTime, Saving, Share,
    TaskContrast, Tasks, Which,
};
use crate::plan::{Plan, Where, check_id};
use crate::toml_file::did_you_mean;

/// All claims of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Claims {
    /// In the order of the page.
    #[serde(default, rename = "claim")]
    pub(crate) claims: Vec<Claim>,
}

/// One thing the paper says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Claim {
    pub(crate) id: String,
    /// The claim in a few words.
    pub(crate) title: String,
    /// The paper's own words.
    pub(crate) says: String,
    /// Where it says so.
    pub(crate) source: String,
    /// Who made the number.
    pub(crate) by: By,
    /// What a reader should know about how it is checked.
    #[serde(default)]
    pub(crate) note: String,
    /// Profiles whose runs can decide it; none means all. A value of BERT-base, say, is not for another encoder.
    #[serde(default)]
    pub(crate) profiles: Vec<String>,
    pub(crate) check: Check,
}

/// Whether the authors ran it or took it from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum By {
    Authors,
    Copied,
}

impl By {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Authors => "run by the authors",
            Self::Copied => "copied from other work",
        }
    }
}

/// How a claim is decided; to add a kind, add a variant here and its case in [`crate::measure`].
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Check {
    /// A group's mean is the paper's value.
    Value(Value),
    /// The means of groups come in an order.
    Order(Order),
    /// One group's mean is above another's by so much.
    Difference(Difference),
    /// Two groups' means do not differ.
    NoDifference(Pair),
    /// One group's mean is not above another's.
    NoGain(Pair),
    /// One group varies more than another.
    Spread(Pair),
    /// One group's mean score over tasks is above another's.
    TaskDifference(OverTasks),
    /// One group's mean score over tasks is a share lower than another's.
    TaskRelative(OverTasks),
    /// One group's score is above another's on each task by itself.
    EachTask(OverTasks),
    /// One group is further above another on some tasks than on others.
    TaskContrast(TaskContrast),
    /// The scores of a group's seeds have a standard deviation.
    Deviation(Deviation),
    /// Scores rise from layer to layer.
    LayerTrend(LayerTrend),
    /// One group is above another at every layer.
    LayersAbove(LayersAbove),
    /// Two groups score alike, in the mean over layers, on each task.
    LayersNear(LayersNear),
    /// Scores stay where they are after some layer.
    LayersFlat(LayersFlat),
    /// So much of a rise comes in the last layers.
    LateRise(LateRise),
    /// A number is next to nothing at every layer.
    LayersZero(LayersZero),
    /// Two rows of a matrix are uncorrelated over its columns.
    NoCorrelation(NoCorrelation),
    /// One group saves a share of another's time.
    Saving(Saving),
    /// One group takes longer than another on every task.
    Slower(Duration),
    /// Two groups take as long.
    AsLong(Duration),
    /// One group scores above another within the same time.
    SameTime(SameTime),
    /// One group scores above another with the epochs that fit a budget.
    Budget(Budget),
    /// Repeats of a setting lie together.
    Repeats(Repeats),
    /// So many of the parameters are trained.
    Share(Share),
    /// Printed cells of a matrix lie to each other in some way.
    Cells(Cells),
    /// Printed differences are those of the printed cells.
    PrintedDifferences(PrintedDifferences),
    /// Printed terms add up to a printed total.
    Arithmetic(Arithmetic),
    /// Printed terms have a printed mean.
    MeanOf(MeanOf),
    /// Printed parts are printed shares of a whole.
    ShareOf(ShareOf),
    /// A printed F1 is possible at the printed accuracy.
    F1Bound(F1Bound),
    /// A printed p-value follows from the printed t and degrees of freedom.
    PValue(PValue),
    /// A printed test could have seen the difference it reports on.
    Power(Power),
    /// Two quotations, read side by side.
    Statement(Statement),
}

impl Claims {
    /// Checks what the types cannot: names that refer to groups, ids that name anchors, numbers in range.
    pub(crate) fn check(&self, plan: &Plan, shown: &str) -> Result<()> {
        let mut ids = HashSet::new();
        for claim in &self.claims {
            let from = format!("{shown}: claim `{}`", claim.id);
            check_id(&claim.id, &from, &mut ids)?;
            for name in claim.check.groups() {
                plan.group(name, &from)?;
            }
            if let Some(profile) = claim
                .profiles
                .iter()
                .find(|profile| !plan.profiles.contains_key(*profile))
            {
                let near = did_you_mean(profile, plan.profiles.keys().map(String::as_str));
                bail!("{from}: unknown profile `{profile}`{near}");
            }
            claim.check.check(plan, &from)?;
        }
        Ok(())
    }
}

impl Check {
    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        if let Some(tasks) = self.tasks() {
            tasks.of(plan, from)?;
        }
        match self {
            Self::Order(check) => check.check(from),
            Self::Difference(check) => check.check(from),
            Self::TaskDifference(check) | Self::TaskRelative(check) => check.check(from),
            Self::EachTask(check) => {
                ensure!(
                    check.paper.is_none(),
                    "{from}: found `paper`, expected a direction alone, `a` above `b`"
                );
                check.check(from)
            }
            Self::TaskContrast(check) => check.check(plan, from),
            Self::Deviation(check) => check.check(from),
            Self::LayersNear(check) => check.check(from),
            Self::LayersFlat(check) => check.check(from),
            Self::LateRise(check) => check.check(from),
            Self::LayersZero(check) => check.check(from),
            Self::NoCorrelation(check) => {
                let table = matrix(plan, &check.table, from)?;
                table.row(&check.x, from)?;
                table.row(&check.y, from).map(|_| ())
            }
            Self::Cells(check) => check.check(plan, from),
            Self::PrintedDifferences(check) => check.check(plan, from),
            Self::Saving(check) => check.check(from),
            Self::SameTime(check) => check.check(from),
            Self::Budget(check) => check.check(from),
            Self::Repeats(check) => check.check(from),
            Self::Share(check) => check.check(from),
            Self::Arithmetic(check) => check.check(from),
            Self::MeanOf(check) => check.check(from),
            Self::ShareOf(check) => check.check(from),
            Self::F1Bound(check) => check.check(from),
            Self::PValue(check) => check.check(from),
            Self::Power(check) => check.check(from),
            Self::Value(_)
            | Self::NoDifference(_)
            | Self::NoGain(_)
            | Self::Spread(_)
            | Self::Slower(_)
            | Self::AsLong(_)
            | Self::LayerTrend(_)
            | Self::LayersAbove(_)
            | Self::Statement(_) => Ok(()),
        }
    }

    /// Groups that it names.
    fn groups(&self) -> Vec<&String> {
        match self {
            Self::Value(check) => vec![&check.group],
            Self::Order(check) => check.groups.iter().flat_map(Side::names).collect(),
            Self::Difference(check) => sides(&check.a, &check.b),
            Self::NoDifference(check) | Self::NoGain(check) | Self::Spread(check) => {
                sides(&check.a, &check.b)
            }
            Self::TaskDifference(check) | Self::TaskRelative(check) | Self::EachTask(check) => {
                sides(&check.a, &check.b)
            }
            Self::TaskContrast(check) => sides(&check.a, &check.b),
            Self::Deviation(check) => check.groups.iter().collect(),
            Self::LayerTrend(check) => vec![&check.group],
            Self::LayersAbove(check) => vec![&check.a, &check.b],
            Self::LayersNear(check) => vec![&check.a, &check.b],
            Self::LayersFlat(check) => vec![&check.group],
            Self::LateRise(check) => vec![&check.group],
            Self::LayersZero(check) => check.groups.iter().collect(),
            Self::Saving(check) => sides(&check.a, &check.b),
            Self::Slower(check) | Self::AsLong(check) => sides(&check.a, &check.b),
            Self::SameTime(check) => sides(&check.a, &check.b),
            Self::Budget(check) => sides(&check.a, &check.b),
            Self::Repeats(check) => check.groups.iter().collect(),
            Self::Share(check) => check.groups.iter().collect(),
            Self::F1Bound(check) => vec![&check.group],
            Self::Power(check) => vec![&check.a, &check.b],
            Self::NoCorrelation(_)
            | Self::Cells(_)
            | Self::PrintedDifferences(_)
            | Self::Arithmetic(_)
            | Self::MeanOf(_)
            | Self::ShareOf(_)
            | Self::PValue(_)
            | Self::Statement(_) => vec![],
        }
    }

    /// Tasks that it is about, if it is about tasks.
    fn tasks(&self) -> Option<Tasks<'_>> {
        match self {
            Self::TaskDifference(check) | Self::TaskRelative(check) | Self::EachTask(check) => {
                Some(check.tasks())
            }
            Self::Deviation(check) => Some(check.tasks()),
            Self::LayerTrend(check) => Some(check.tasks()),
            Self::LayersAbove(check) => Some(check.tasks()),
            Self::LayersNear(check) => Some(check.tasks()),
            Self::LayersFlat(check) => Some(check.tasks()),
            Self::LateRise(check) => Some(check.tasks()),
            Self::LayersZero(check) => Some(check.tasks()),
            Self::Saving(check) => Some(check.tasks()),
            Self::Slower(check) | Self::AsLong(check) => Some(check.tasks()),
            Self::SameTime(check) => Some(check.tasks()),
            Self::Budget(check) => Some(check.tasks()),
            Self::Repeats(check) => Some(check.tasks()),
            Self::Share(check) => Some(check.tasks()),
            _ => None,
        }
    }
}

impl Check {
    /// Conditions of every selection of runs that it looks at, for those that name groups.
    pub(crate) fn selections(&self, plan: &Plan, from: &str) -> Result<Vec<Where>> {
        let further = match self {
            Self::Value(check) => check.conditions.clone(),
            Self::Order(check) => check.conditions.clone(),
            Self::Difference(check) => check.conditions.clone(),
            Self::NoDifference(check) | Self::NoGain(check) | Self::Spread(check) => {
                check.conditions.clone()
            }
            _ => Where::new(),
        };
        let tasks = match (self, self.tasks()) {
            (Self::TaskContrast(check), _) => {
                let names = check.tasks.iter().chain(&check.than);
                names
                    .map(|name| Ok(plan.task(name, from)?.conditions()))
                    .collect::<Result<Vec<_>>>()?
            }
            (_, Some(tasks)) => {
                let tasks = tasks.of(plan, from)?;
                tasks.iter().map(|task| task.conditions()).collect()
            }
            (_, None) => vec![Where::new()],
        };
        let mut selections = Vec::new();
        for name in self.groups() {
            for task in &tasks {
                let mut all = plan.group(name, from)?.conditions.clone();
                all.extend(further.clone());
                all.extend(task.clone());
                selections.push(all);
            }
        }
        Ok(selections)
    }
}

fn sides<'a>(a: &'a Side, b: &'a Side) -> Vec<&'a String> {
    a.names().iter().chain(b.names()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::toml_file::parse;

    #[test]
    fn what_is_misspelt_is_named_with_the_near_word() {
        check("kind = \"ordr\"", "did you mean `order`?");
        check(
            "kind = \"value\"\nmetrik = \"accuracy\"",
            "did you mean `metric`?",
        );
        check(&order("[\"ful\", \"frozen\"]"), "unknown group `ful`");
        check(&order("[\"full\", \"frozn\"]"), "did you mean `frozen`?");
    }

    #[test]
    fn what_cannot_be_decided_is_refused() {
        check(
            &order("[\"full\"]"),
            "found 1 groups, expected at least two",
        );
        let difference = "kind = \"difference\"\nmetric = \"accuracy\"\nsplit = \"test\"\na = \"full\"\nb = \"frozen\"\ntolerance = 0.01";
        check(&format!("{difference}\npaper = 0.0"), "use `no-difference`");
        check(
            "kind = \"p-value\"\nt = 1.0\ndf = 0\np = 0.5",
            "found df = 0",
        );
        check(
            "kind = \"arithmetic\"\nterms = [1, 2]\ntotal = 3\nshares = [0.5]",
            "found 1 shares",
        );
    }

    #[test]
    fn checks_over_tasks_name_tasks_that_exist_and_sizes_with_tolerances() {
        let tasks =
            |rest: &str| format!("kind = 'task-difference'\na = 'full'\nb = 'last-1'\n{rest}");
        for (text, expected) in [
            (tasks("tasks = ['leters']"), "did you mean `letters`?"),
            (tasks("among = 'fev'"), "no task of report.toml is among `fev`; did you mean `few`?"),
            (tasks("among = 'few'\ntasks = ['letters']"), "expected one of them or neither"),
            (tasks("paper = 0.1"), "found `paper` without `tolerance`"),
            (tasks("tolerance = 0.1"), "found `tolerance` without `paper`"),
            (tasks("paper = 0.0\ntolerance = 0.1"), "found paper = 0"),
            (tasks("score = 'last'"), "unknown variant `last`"),
            (
                "kind = 'saving'\na = 'full'\nb = 'last-1'\npaper = 0.0\ntolerance = 0.1".to_owned(),
                "use `as-long`",
            ),
            (
                "kind = 'same-time'\na = 'full'\nb = 'last-1'\nat = [1, 2]\npaper = [0.1]\ntolerance = 0.1".to_owned(),
                "found 1 values of the paper, expected one for each of 2 times",
            ),
            (
                "kind = 'same-time'\na = 'full'\nb = 'last-1'\nat = [0]".to_owned(),
                "expected times above 0",
            ),
            (
                "kind = 'budget'\na = 'full'\nb = 'last-1'\nepochs-of-b = 0".to_owned(),
                "found epochs-of-b = 0",
            ),
            ("kind = 'repeats'\ngroups = []\nlimit = 0.01".to_owned(), "found no groups"),
            (
                "kind = 'share'\ngroups = ['full']\nprinted = [0.3, 0.2]\ntolerance = 0.01".to_owned(),
                "the smaller one first",
            ),
            (
                "kind = 'share-of'\nparts = [1, 2]\nwhole = 3\nprinted = [0.3]".to_owned(),
                "found 1 printed shares",
            ),
            ("kind = 'mean-of'\nterms = []\nmean = 3".to_owned(), "found no terms"),
        ] {
            check_in(&fixture::task_plan(), &text, expected);
        }
    }

    fn order(groups: &str) -> String {
        format!("kind = \"order\"\nmetric = \"accuracy\"\nsplit = \"test\"\ngroups = {groups}")
    }

    #[track_caller]
    fn check(check: &str, expected: &str) {
        check_in(&fixture::plan(), check, expected);
    }

    #[track_caller]
    fn check_in(plan: &Plan, check: &str, expected: &str) {
        let text = format!(
            "[[claim]]\nid = \"x\"\ntitle = \"\"\nsays = \"\"\nsource = \"\"\nby = \"authors\"\n[claim.check]\n{check}\n"
        );
        let read = parse::<Claims>(&text, "claims.toml");
        let error = read
            .and_then(|claims| claims.check(plan, "claims.toml"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("claims.toml: ") && error.contains(expected),
            "{error}"
        );
    }
}
