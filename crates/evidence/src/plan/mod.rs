//! Groups of runs and tasks: the part of `report.toml` that selections need.

mod choice;
mod ensemble;
mod grid;
mod measure;
mod side;
mod task;
mod unit;

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

pub use self::choice::ChoicePlan;
pub use self::ensemble::EnsemblePlan;
pub use self::ensemble::{ENSEMBLE, RULE, Rule};
pub use self::grid::{Grid, GridColumn, GridRow, Origin};
pub use self::measure::{DEV, Measure, TEST};
pub use self::side::Side;
pub use self::task::{Task, Tasks};
pub use self::unit::Unit;
use crate::toml_file::{did_you_mean, unknown};

/// Conditions on runs: dotted paths into the spec or the row, each with the value or values it must have.
pub type Where = BTreeMap<String, toml::Value>;

/// Groups of runs, tasks, and facts about both.
#[derive(Debug, Default)]
pub struct Plan {
    /// Description of each profile for this paper, by name.
    pub profiles: BTreeMap<String, String>,
    /// Named selections of runs, used by rows, figures and claims.
    pub groups: BTreeMap<String, Group>,
    /// Choices between groups by their dev scores.
    pub choices: Vec<ChoicePlan>,
    /// Ensembles declared in `report.toml`.
    pub ensembles: Vec<EnsemblePlan>,
    /// Named tasks, for items and claims about several tasks.
    pub tasks: BTreeMap<String, Task>,
    /// Labels of runs.
    pub labels: Vec<LabelPlan>,
    /// The paper's values in the tables, in their order: group, measure, value.
    pub cells: Vec<(String, Measure, f64)>,
    /// Rows by tasks, by the id of their table.
    pub grids: BTreeMap<String, Grid>,
}

/// Words that every run which meets the conditions carries, into each table, figure and claim.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LabelPlan {
    /// Such as `format check, not a result`.
    pub(crate) text: String,
    #[serde(rename = "where")]
    pub(crate) conditions: Where,
}

/// A named selection of runs: one model, one strategy, one setting.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Group {
    /// Title on the page.
    pub title: String,
    #[serde(rename = "where")]
    /// Conditions on its runs.
    pub conditions: Where,
    /// Groups whose mean value in the paper is the paper's value of this one; for a selection that cuts across the
    /// paper's rows.
    #[serde(default)]
    pub(crate) paper_of: Vec<String>,
}

impl Group {
    /// Its conditions with further ones. Of two conditions on one path both hold, but for the experiment: a further one
    /// replaces it, since arms have the same names in several.
    pub fn narrowed<'a>(&self, further: impl IntoIterator<Item = &'a Where>) -> Where {
        let mut all = self.conditions.clone();
        for further in further {
            let mut further = further.clone();
            if let Some(experiment) = further.remove("experiment") {
                all.insert("experiment".to_owned(), experiment);
            }
            narrow(&mut all, further);
        }
        all
    }
}

/// Adds conditions; of two on one path both hold.
pub fn narrow(all: &mut Where, further: impl IntoIterator<Item = (String, toml::Value)>) {
    for (path, value) in further {
        let value = match all.get(&path) {
            Some(own) => common(own, &value),
            None => value,
        };
        all.insert(path, value);
    }
}

/// The values that both conditions accept.
fn common(first: &toml::Value, second: &toml::Value) -> toml::Value {
    let values = |condition: &toml::Value| match condition {
        toml::Value::Array(values) => values.clone(),
        value => vec![value.clone()],
    };
    let first = values(first);
    let both = values(second)
        .into_iter()
        .filter(|value| first.contains(value));
    toml::Value::Array(both.collect())
}

impl Plan {
    /// The group called `name`; `from` prefixes errors.
    pub fn group(&self, name: &str, from: &str) -> Result<&Group> {
        let known = self.groups.keys().map(String::as_str);
        let group = self.groups.get(name);
        group.ok_or_else(|| unknown([from, "group", name], known))
    }

    /// Makes a group `<experiment>/<arm>` of each arm, given with its title.
    pub fn add_arms(&mut self, arms: impl IntoIterator<Item = [String; 3]>) {
        for [experiment, arm, title] in arms {
            let name = format!("{experiment}/{arm}");
            let conditions = [("experiment", experiment), ("arm", arm)];
            let conditions = conditions.map(|(path, value)| (path.to_owned(), value.into()));
            let group = Group {
                title,
                conditions: conditions.into(),
                paper_of: vec![],
            };
            self.groups.insert(name, group);
        }
    }

    /// Fails where one of these groups does not exist; `from` prefixes errors.
    pub fn check_groups<'a>(
        &self,
        names: impl IntoIterator<Item = &'a String>,
        from: &str,
    ) -> Result<()> {
        let mut names = names.into_iter();
        names.try_for_each(|name| self.group(name, from).map(|_| ()))
    }

    /// The tasks called `names`, or all where there are none; `from` prefixes errors.
    pub fn tasks_named(&self, names: &[String], from: &str) -> Result<Vec<&Task>> {
        if names.is_empty() {
            ensure!(
                !self.tasks.is_empty(),
                "{from}: report.toml has no tasks, expected `[tasks.<name>]`"
            );
            return Ok(self.tasks.values().collect());
        }
        names.iter().map(|name| self.task(name, from)).collect()
    }

    /// The task called `name`; `from` prefixes errors.
    pub fn task(&self, name: &str, from: &str) -> Result<&Task> {
        ensure!(
            !self.tasks.is_empty(),
            "{from}: unknown task `{name}`, expected a `[tasks.{name}]`; there is no task at all"
        );
        let known = self.tasks.keys().map(String::as_str);
        let task = self.tasks.get(name);
        task.ok_or_else(|| unknown([from, "task", name], known))
    }

    /// The grid of the table called `id`; `from` prefixes errors.
    pub(crate) fn grid(&self, id: &str, from: &str) -> Result<&Grid> {
        let near = || did_you_mean(id, self.grids.keys().map(String::as_str));
        let grid = self.grids.get(id);
        grid.with_context(|| format!("{from}: there is no matrix `{id}`{}", near()))
    }

    /// The paper's value of a measure for a group, from the tables.
    ///
    /// Several tables may repeat a value under other conditions of ours; the paper's number is one.
    pub fn paper_value(&self, group: &str, measure: &Measure) -> Option<f64> {
        match self.groups.get(group) {
            Some(Group { paper_of, .. }) if !paper_of.is_empty() => {
                let values = paper_of
                    .iter()
                    .map(|name| self.cell(name, measure))
                    .collect::<Option<Vec<_>>>()?;
                Some(totune_stats::mean(&values))
            }
            _ => self.cell(group, measure),
        }
    }

    fn cell(&self, group: &str, measure: &Measure) -> Option<f64> {
        let mut cells = self.cells.iter();
        let cell = cells.find(|(of, what, _)| of == group && what == measure);
        cell.map(|(_, _, value)| *value)
    }

    /// Checks what the types cannot: names that refer to each other, ids that name files.
    pub fn check(&self, shown: &str) -> Result<()> {
        for (name, group) in &self.groups {
            for other in &group.paper_of {
                self.group(other, &format!("{shown}: group `{name}`"))?;
            }
        }
        for (name, task) in &self.tasks {
            let from = format!("{shown}: task `{name}`");
            check_id(name, &from, &mut HashSet::new())?;
            ensure!(
                !task.datasets.is_empty(),
                "{from}: found no dataset, expected at least one"
            );
        }
        Ok(())
    }
}

/// Ids become file names and anchors, so they are unique and plain.
pub fn check_id(id: &str, from: &str, seen: &mut HashSet<String>) -> Result<()> {
    let plain = !id.is_empty()
        && id
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    ensure!(
        plain,
        "{from}: found id `{id}`, expected lower-case letters, digits and hyphens"
    );
    ensure!(
        seen.insert(id.to_owned()),
        "{from}: found id `{id}` twice, expected it once on the page"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_conditions_narrow_a_group_and_replace_its_experiment() {
        let group: Group =
            toml::from_str("title = 'x'\nwhere = { experiment = 'a', arm = ['p', 'q'] }").unwrap();
        let further = |text: &str| toml::from_str::<Where>(text).unwrap();
        let [arms, experiment, none] =
            ["arm = ['q', 'r']", "experiment = 'b'", "arm = 'r'"].map(further);
        let narrowed = group.narrowed([&arms, &experiment]);
        assert_eq!(narrowed, further("experiment = 'b'\narm = ['q']"));
        assert_eq!(
            group.narrowed([&none]),
            further("experiment = 'a'\narm = []")
        );
    }
}
