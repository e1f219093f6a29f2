//! `report.toml`: which runs form a group, which tables and figures a page shows.

mod item;
mod measure;
mod side;
mod task;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

pub(crate) use self::item::{Heading, Item};
pub(crate) use self::measure::Measure;
pub(crate) use self::side::Side;
pub(crate) use self::task::{Task, Tasks};
use crate::figures::Kind as FigureKind;
use crate::select::ensemble::EnsemblePlan;
use crate::select::label::LabelPlan;
use crate::tables::Kind as TableKind;
use crate::tables::matrix::Matrix;
use crate::tables::takeaway::TakeawayPlan;
use crate::toml_file::{self, did_you_mean};

/// Conditions on runs: dotted paths into the spec or the row, each with the value or values it must have.
pub(crate) type Where = BTreeMap<String, toml::Value>;

/// Everything a page shows, as its author wrote it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Plan {
    /// The paper and its question.
    pub(crate) paper: Paper,
    /// What each profile means for this paper, by name.
    pub(crate) profiles: BTreeMap<String, String>,
    /// Named selections of runs, used by rows, figures and claims.
    pub(crate) groups: BTreeMap<String, Group>,
    /// Groups whose runs answer together.
    #[serde(default, rename = "ensemble")]
    pub(crate) ensembles: Vec<EnsemblePlan>,
    /// Named tasks, for what is shown or claimed of each of several.
    #[serde(default)]
    pub(crate) tasks: BTreeMap<String, Task>,
    /// What some runs must not be taken for.
    #[serde(default, rename = "label")]
    pub(crate) labels: Vec<LabelPlan>,
    /// What the page says first.
    pub(crate) takeaway: Option<TakeawayPlan>,
    /// Tables, in the order of the page.
    #[serde(default, rename = "table")]
    pub(crate) tables: Vec<Item<TableKind>>,
    /// Figures, in the order of the page.
    #[serde(default, rename = "figure")]
    pub(crate) figures: Vec<Item<FigureKind>>,
}

/// What the page says about the paper itself.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Paper {
    pub(crate) title: String,
    pub(crate) authors: String,
    /// What the paper asks and answers, in the page's words.
    pub(crate) question: String,
}

/// A named selection of runs: one model, one strategy, one setting.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Group {
    pub(crate) title: String,
    #[serde(rename = "where")]
    pub(crate) conditions: Where,
    /// Groups whose values in the paper this one stands for, as their mean; for a selection that cuts across
    /// the paper's rows.
    #[serde(default)]
    pub(crate) paper_of: Vec<String>,
}

impl Group {
    /// What selects its runs under further conditions, of which a later one takes the place of an earlier one.
    pub(crate) fn narrowed<'a>(&self, further: impl IntoIterator<Item = &'a Where>) -> Where {
        let mut all = self.conditions.clone();
        all.extend(
            further
                .into_iter()
                .flatten()
                .map(|(path, value)| (path.clone(), value.clone())),
        );
        all
    }
}

impl Plan {
    /// Reads and checks a file; `shown` is how errors name it.
    pub(crate) fn read(path: &Path, shown: &str) -> Result<Self> {
        let mut plan: Self = toml_file::read(path, shown)?;
        plan.add_ensembles(shown)?;
        plan.check(shown)?;
        Ok(plan)
    }

    /// The group called `name`; `from` says who asks.
    pub(crate) fn group(&self, name: &str, from: &str) -> Result<&Group> {
        if let Some(group) = self.groups.get(name) {
            return Ok(group);
        }
        let names: Vec<&str> = self.groups.keys().map(String::as_str).collect();
        let near = did_you_mean(name, names.iter().copied());
        bail!(
            "{from}: unknown group `{name}`, expected one of: {}{near}",
            names.join(", ")
        )
    }

    /// Fails where one of these groups does not exist; `from` says who asks.
    pub(crate) fn check_groups<'a>(
        &self,
        names: impl IntoIterator<Item = &'a String>,
        from: &str,
    ) -> Result<()> {
        let mut names = names.into_iter();
        names.try_for_each(|name| self.group(name, from).map(|_| ()))
    }

    /// The tasks called `names`, or all where there are none; `from` says who asks.
    pub(crate) fn tasks_named(&self, names: &[String], from: &str) -> Result<Vec<&Task>> {
        if names.is_empty() {
            ensure!(
                !self.tasks.is_empty(),
                "{from}: report.toml has no tasks, expected `[tasks.<name>]`"
            );
            return Ok(self.tasks.values().collect());
        }
        names.iter().map(|name| self.task(name, from)).collect()
    }

    /// The task called `name`; `from` says who asks.
    pub(crate) fn task(&self, name: &str, from: &str) -> Result<&Task> {
        if let Some(task) = self.tasks.get(name) {
            return Ok(task);
        }
        let names: Vec<&str> = self.tasks.keys().map(String::as_str).collect();
        ensure!(
            !names.is_empty(),
            "{from}: unknown task `{name}`, expected a `[tasks.{name}]`; there is no task at all"
        );
        let near = did_you_mean(name, names.iter().copied());
        bail!(
            "{from}: unknown task `{name}`, expected one of: {}{near}",
            names.join(", ")
        )
    }

    /// The matrix called `id`; `from` says who asks.
    pub(crate) fn matrix(&self, id: &str, from: &str) -> Result<&Matrix> {
        let matrices = || {
            self.tables.iter().filter_map(|table| match &table.kind {
                TableKind::Matrix(matrix) => Some((table.heading.id.as_str(), matrix)),
                _ => None,
            })
        };
        if let Some((_, matrix)) = matrices().find(|(known, _)| *known == id) {
            return Ok(matrix);
        }
        let near = did_you_mean(id, matrices().map(|(known, _)| known));
        bail!("{from}: there is no matrix `{id}`{near}")
    }

    /// What the tables give as the paper's value of a measure for a group.
    ///
    /// Several tables may repeat a value under other conditions of ours; the paper's number is one.
    pub(crate) fn paper_value(&self, group: &str, measure: &Measure) -> Option<f64> {
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
        self.tables.iter().find_map(|table| match &table.kind {
            TableKind::Means(means) => means.paper_value(group, measure),
            _ => None,
        })
    }

    /// Checks what the types cannot: names that refer to each other, ids that name files.
    pub(crate) fn check(&self, shown: &str) -> Result<()> {
        let mut ids = HashSet::from(["claims".to_owned()]);
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
        if let Some(takeaway) = &self.takeaway {
            takeaway.check(self, &format!("{shown}: takeaway"))?;
            ids.insert("takeaway".to_owned());
        }
        for table in &self.tables {
            let from = format!("{shown}: {}", table.place());
            check_id(&table.heading.id, &from, &mut ids)?;
            table.kind.get().check(self, &from)?;
        }
        for figure in &self.figures {
            let (from, kind) = (format!("{shown}: {}", figure.place()), figure.kind.get());
            let id = &figure.heading.id;
            check_id(id, &from, &mut ids)?;
            if let Some(suffix) = kind.table_suffix() {
                check_id(&format!("{id}{suffix}"), &from, &mut ids)?;
            }
            kind.check(self, &from)?;
        }
        Ok(())
    }
}

/// Ids become file names and anchors, so they are unique and plain.
pub(crate) fn check_id(id: &str, from: &str, seen: &mut HashSet<String>) -> Result<()> {
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
    use crate::toml_file::parse;

    const PLAN: &str = r#"
        [paper]
        title = "T"
        authors = "A"
        question = "Q"
        [profiles]
        fixture = "tiny"
        [groups.frozen]
        title = "Frozen"
        where = { experiment = "table-2" }
        [[table]]
        kind = "means"
        id = "table-2"
        title = "Table 2"
        stub = "Model"
        column = [{ id = "accuracy", title = "Accuracy", metric = "accuracy", split = "test" }]
        row = [{ group = "frozen", paper = { accuracy = 0.824 } }]
    "#;

    #[test]
    fn the_papers_value_is_found_by_group_and_measure() {
        let plan: Plan = parse(PLAN, "report.toml").unwrap();
        plan.check("report.toml").unwrap();
        assert_eq!(
            plan.paper_value("frozen", &Measure::score("accuracy", "test")),
            Some(0.824)
        );
        assert_eq!(
            plan.paper_value("frozen", &Measure::score("f1-macro", "test")),
            None
        );
    }

    #[test]
    fn a_group_that_does_not_exist_is_named_with_the_near_one() {
        check(
            &PLAN.replace("group = \"frozen\"", "group = \"forzen\""),
            "unknown group `forzen`, expected one of: frozen; did you mean `frozen`?",
        );
    }

    #[test]
    fn a_paper_value_without_a_column_is_named() {
        check(
            &PLAN.replace("paper = { accuracy", "paper = { acuracy"),
            "the paper's value `acuracy` has no column; did you mean `accuracy`?",
        );
    }

    #[test]
    fn a_task_is_found_by_its_name_and_selects_its_datasets() {
        let tasks = "[tasks.qqp]\ntitle = 'QQP'\ndatasets = ['qqp', 'qqp-subset']\nmetric = 'f1-positive'\nunit = 'F1'\n";
        let plan: Plan = parse(&format!("{PLAN}{tasks}"), "report.toml").unwrap();
        plan.check("report.toml").unwrap();
        let conditions = plan.task("qqp", "here").unwrap().conditions();
        assert_eq!(
            conditions["dataset"].to_string(),
            r#"["qqp", "qqp-subset"]"#
        );
        assert_eq!(
            plan.task("qpq", "here").unwrap_err().to_string(),
            "here: unknown task `qpq`, expected one of: qqp; did you mean `qqp`?"
        );
        let none: Plan = parse(PLAN, "report.toml").unwrap();
        let error = none.task("qqp", "here").unwrap_err().to_string();
        assert!(error.ends_with("there is no task at all"), "{error}");
    }

    #[test]
    fn an_id_that_would_leave_the_folder_is_refused() {
        check(
            &PLAN.replace("id = \"table-2\"", "id = \"../x\""),
            "found id `../x`, expected lower-case letters",
        );
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let plan: Plan = parse(text, "report.toml").unwrap();
        let error = plan.check("report.toml").unwrap_err().to_string();
        assert!(
            error.starts_with("report.toml: ") && error.contains(expected),
            "{error}"
        );
    }
}
