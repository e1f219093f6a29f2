//! `report.toml`: groups of runs and tasks ([`Plan`]), and the tables and figures of a page.

use std::collections::{BTreeMap, HashSet};
use std::ops::Deref;
use std::path::Path;

use anyhow::Result;
use serde::Deserialize;
use totune_evidence::plan::{ChoicePlan, EnsemblePlan, Group, LabelPlan, Plan, Task, check_id};
use totune_evidence::toml_file;

use crate::arms::titles;
use crate::figures;
use crate::item::Item;
use crate::tables::takeaway::TakeawayPlan;
use crate::tables::{self, Kind};

/// Everything a page shows, as its author wrote it.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Written")]
pub(crate) struct ReportFile {
    /// The paper and its question.
    pub(crate) paper: Paper,
    pub(crate) plan: Plan,
    /// Takeaways for the top of the page; the first with runs of its baseline is shown.
    pub(crate) takeaways: Vec<TakeawayPlan>,
    /// Tables, in the order of the page.
    pub(crate) tables: Vec<Item<tables::Kind>>,
    /// Figures, in the order of the page.
    pub(crate) figures: Vec<Item<figures::Kind>>,
}

/// The paper's description on the page.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Paper {
    pub(crate) title: String,
    pub(crate) authors: String,
    /// The paper's question and answer, in the page's words.
    pub(crate) question: String,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    paper: Paper,
    profiles: BTreeMap<String, String>,
    groups: BTreeMap<String, Group>,
    #[serde(default, rename = "choice")]
    choices: Vec<ChoicePlan>,
    #[serde(default, rename = "ensemble")]
    ensembles: Vec<EnsemblePlan>,
    #[serde(default)]
    tasks: BTreeMap<String, Task>,
    #[serde(default, rename = "label")]
    labels: Vec<LabelPlan>,
    #[serde(default, rename = "takeaway")]
    takeaways: Vec<TakeawayPlan>,
    #[serde(default, rename = "table")]
    tables: Vec<Item<tables::Kind>>,
    #[serde(default, rename = "figure")]
    figures: Vec<Item<figures::Kind>>,
}

impl From<Written> for ReportFile {
    fn from(written: Written) -> Self {
        let (mut cells, mut grids) = (Vec::new(), BTreeMap::new());
        for table in &written.tables {
            match &table.kind {
                Kind::Means(means) => cells.extend(means.paper_values()),
                Kind::Matrix(matrix) => {
                    grids.insert(table.heading.id.clone(), matrix.grid.clone());
                }
                _ => {}
            }
        }
        Self {
            paper: written.paper,
            plan: Plan {
                cells,
                grids,
                profiles: written.profiles,
                groups: written.groups,
                choices: written.choices,
                ensembles: written.ensembles,
                tasks: written.tasks,
                labels: written.labels,
            },
            takeaways: written.takeaways,
            tables: written.tables,
            figures: written.figures,
        }
    }
}

/// Code that needs groups and tasks need not know of tables.
impl Deref for ReportFile {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl ReportFile {
    /// Reads and checks a file, where the arms of the experiments next to it are groups too; `shown` is how errors name it.
    pub(crate) fn read(path: &Path, shown: &str) -> Result<Self> {
        let mut file: Self = toml_file::read(path, shown)?;
        file.plan.add_arms(titles(path.parent().unwrap_or(path)));
        Self::complete(file, shown)
    }

    /// Parses and checks a text; `shown` is how errors name it.
    pub(crate) fn parse(text: &str, shown: &str) -> Result<Self> {
        Self::complete(toml_file::parse(text, shown)?, shown)
    }

    fn complete(mut file: Self, shown: &str) -> Result<Self> {
        file.plan.add_choices(shown)?;
        file.plan.add_ensembles(shown)?;
        file.check(shown)?;
        Ok(file)
    }

    /// Checks what the types cannot: names that refer to each other, ids that name files.
    pub(crate) fn check(&self, shown: &str) -> Result<()> {
        self.plan.check(shown)?;
        let mut ids = HashSet::from(["claims".to_owned()]);
        for takeaway in &self.takeaways {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use totune_evidence::plan::Measure;
    use totune_evidence::toml_file::parse;

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
        let plan: ReportFile = parse(PLAN, "report.toml").unwrap();
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
        let plan: ReportFile = parse(&format!("{PLAN}{tasks}"), "report.toml").unwrap();
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
        let none: ReportFile = parse(PLAN, "report.toml").unwrap();
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
        let plan: ReportFile = parse(text, "report.toml").unwrap();
        let error = plan.check("report.toml").unwrap_err().to_string();
        assert!(
            error.starts_with("report.toml: ") && error.contains(expected),
            "{error}"
        );
    }

    #[test]
    fn an_arm_of_an_experiment_next_to_the_file_is_a_group() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put(
            "table-2.toml",
            "experiment = 'table-2'\n[[arm]]\nname = 'frozen'\ntitle = 'Frozen'\n[[arm]]\nname = '{k}'",
        );
        let read = |group: &str| {
            let figure = format!(
                "[[figure]]\nkind = 'box'\nid = 'box'\ntitle = ''\npanel = [{{ title = '', metric = 'accuracy', split = 'test' }}]\ngroups = ['{group}']"
            );
            let text = format!(
                "profiles = {{}}\ngroups = {{}}\n{figure}\n[paper]\ntitle = ''\nauthors = ''\nquestion = ''"
            );
            put("report.toml", &text);
            ReportFile::read(&folder.path().join("report.toml"), "report.toml")
        };
        let file = read("table-2/frozen").unwrap();
        let group = file.group("table-2/frozen", "here").unwrap();
        assert_eq!(group.title, "Frozen");
        assert_eq!(group.conditions["arm"].as_str(), Some("frozen"));
        let error = format!("{:#}", read("table-2/frosen").unwrap_err());
        assert!(error.contains("did you mean `table-2/frozen`?"), "{error}");
    }
}
