//! The page of an experiment without a `report.toml`: every arm on every dataset.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;
use toml::Table;
use totune_evidence::select::runs::{Run, Runs};
use totune_record::{RunRow, StoredTables, Tables};
use totune_toml::read_extended;

use crate::arms::titles;

/// Metrics by which a dataset is shown where nothing names one, the first that its runs have.
pub(crate) const USUAL_METRICS: [&str; 8] = [
    "span-f1",
    "quadratic-kappa",
    "accuracy",
    "pearson",
    "spearman",
    "f1-micro",
    "f1-macro",
    "mse",
];

/// Path of the encoder in a spec.
const ENCODER: &str = "work.encoder";

/// A `report.toml` for the runs of a paper and profile: a group for each arm (for each encoder
/// and other setting that an arm has several of), a task for each dataset, and a table of both. The
/// first of the folders with cards is the project's root.
///
/// # Errors
/// When a spec is no JSON.
pub(crate) fn report_file(
    card_folders: &[&Path],
    (paper, profile): (&str, &str),
    rows: &StoredTables,
) -> Result<String> {
    let project_root = card_folders.first().copied().unwrap_or(Path::new(""));
    let arms = arms(&project_root.join("experiments").join(paper), rows)?;
    let datasets: BTreeSet<&str> = own(rows).map(|run| run.dataset.as_str()).collect();
    let arm_ids = ids(arms.iter().map(Arm::text));
    let group =
        |(arm, id): (&Arm, &String)| anyhow::Ok((id.clone(), toml::Value::Table(arm.group()?)));
    let groups = arms.iter().zip(&arm_ids).map(group);
    let groups = groups.collect::<Result<Table>>()?;
    let task_ids = ids(datasets.iter().map(ToString::to_string));
    let task = |(dataset, id): (&&str, &String)| {
        let task = task(card_folders, dataset, rows)?;
        anyhow::Ok((id.clone(), toml::Value::Table(task)))
    };
    let tasks = datasets.iter().zip(&task_ids).map(task);
    let tasks = tasks.collect::<Result<Table>>()?;
    let question = "Every arm of these experiments on every dataset; a `report.toml` next to them would say what else to show.";
    let about = texts([
        ("title", paper),
        ("authors", &format!("experiments/{paper}")),
        ("question", question),
    ]);
    let meaning = texts([(profile, &*format!("as in experiments/{paper}"))]);
    let mut table = texts([
        ("kind", "matrix"),
        ("id", "scores"),
        ("title", "Scores on test"),
        ("stub", "Strategy"),
    ]);
    let of_datasets = task_ids.iter().map(|id| texts([("task", &**id)]));
    table.insert("column".into(), of_datasets.collect::<Vec<_>>().into());
    let of_arms = arm_ids.iter().map(|id| texts([("group", &**id)]));
    table.insert("row".into(), of_arms.collect::<Vec<_>>().into());
    let file = [
        ("paper", about.into()),
        ("profiles", meaning.into()),
        ("groups", groups.into()),
        ("tasks", tasks.into()),
        ("table", vec![table].into()),
    ];
    let file = file.map(|(key, value): (&str, toml::Value)| (key.to_string(), value));
    Ok(toml::to_string(&Table::from_iter(file))?)
}

fn texts<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Table {
    let pairs = pairs.into_iter();
    pairs
        .map(|(key, text)| (key.to_string(), text.into()))
        .collect()
}

/// An id for each text, of lower-case letters, digits and hyphens; one that is there already gets a number.
fn ids(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for text in texts {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let text: String = text.to_lowercase().chars().map(plain).collect();
        let id = match text.trim_matches('-') {
            "" => "unnamed",
            id => id,
        };
        let numbered = (2..).map(|number| format!("{id}-{number}"));
        let mut candidates = std::iter::once(id.to_owned()).chain(numbered);
        ids.extend(candidates.find(|id| !ids.contains(id)));
    }
    ids
}

/// The runs without the trials of searches.
fn own(rows: &StoredTables) -> impl Iterator<Item = &RunRow> {
    rows.runs.iter().filter(|run| !run.is_trial())
}

/// Runs of an arm that are alike but for dataset, fold and seed; in the order of the files, arms that no file names last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arm {
    place: usize,
    experiment: String,
    name: String,
    title: String,
    /// Settings in which they differ from other runs of the arm, by path.
    settings: Vec<(String, Setting)>,
}

/// The value of a setting, ordered by its JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting(Value);

impl Ord for Setting {
    fn cmp(&self, other: &Self) -> Ordering {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
        let by_number = number(&self.0).total_cmp(&number(&other.0));
        by_number.then_with(|| self.0.to_string().cmp(&other.0.to_string()))
    }
}

impl PartialOrd for Setting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Arm {
    /// Text that tells it from the others.
    fn text(&self) -> String {
        let mut text = format!("{}-{}", self.experiment, self.name);
        for (path, Setting(value)) in &self.settings {
            text += &format!("-{path}-{value}");
        }
        text
    }

    fn group(&self) -> Result<Table> {
        let mut title = self.title.clone();
        let mut conditions = texts([("experiment", &*self.experiment), ("arm", &*self.name)]);
        for (path, Setting(value)) in &self.settings {
            let name = path.rsplit('.').next().unwrap_or(path);
            title += &match value {
                Value::String(text) => format!(", {text}"),
                value => format!(", {name} {value}"),
            };
            conditions.insert(path.clone(), toml::Value::try_from(value)?);
        }
        let mut group = texts([("title", &*title)]);
        group.insert("where".into(), conditions.into());
        Ok(group)
    }
}

fn arms(experiments: &Path, rows: &StoredTables) -> Result<BTreeSet<Arm>> {
    let titles = titles(experiments);
    let runs = Runs::new(Tables {
        runs: own(rows).cloned().collect(),
        ..Tables::default()
    })?;
    let mut by_name: BTreeMap<(String, String), Vec<&Run>> = BTreeMap::new();
    for run in runs.all() {
        let spec: Value = serde_json::from_str(&run.row.spec)?;
        let name = spec["arm"].as_str().unwrap_or_default().to_string();
        let of_arm = by_name.entry((run.row.experiment.clone(), name));
        of_arm.or_default().push(run);
    }
    let mut arms = BTreeSet::new();
    for ((experiment, name), runs) in by_name {
        let is_it = |[file, arm, _]: &[String; 3]| *file == experiment && *arm == name;
        let place = titles.iter().position(is_it);
        let title = match place {
            Some(at) => titles[at][2].clone(),
            None if name.is_empty() => experiment.clone(),
            None => name.clone(),
        };
        let mut divided = Vec::new();
        divide(runs, &mut Vec::new(), &mut divided);
        arms.extend(divided.into_iter().map(|settings| Arm {
            place: place.unwrap_or(titles.len()),
            experiment: experiment.clone(),
            name: name.clone(),
            title: title.clone(),
            settings,
        }));
    }
    Ok(arms)
}

/// Divides runs by a setting after the other, until no two of a dataset, fold and seed differ; adds the `settings` of
/// each part to `divided`.
fn divide(
    runs: Vec<&Run>,
    settings: &mut Vec<(String, Setting)>,
    divided: &mut Vec<Vec<(String, Setting)>>,
) {
    let Some(path) = dividing(&runs) else {
        divided.push(settings.clone());
        return;
    };
    let mut by_value: BTreeMap<Setting, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        let value = run.setting().find(|(name, _)| *name == path);
        if let Some((_, value)) = value {
            by_value
                .entry(Setting(value.clone()))
                .or_default()
                .push(run);
        }
    }
    for (value, runs) in by_value {
        settings.push((path.clone(), value));
        divide(runs, settings, divided);
        settings.pop();
    }
}

/// A setting that all runs have and in which two of the same dataset, fold and seed differ, the encoder before others.
fn dividing(runs: &[&Run]) -> Option<String> {
    let settings = |run: &Run| -> BTreeMap<String, Value> {
        let settings = run.setting();
        settings
            .map(|(path, value)| (path.to_string(), value.clone()))
            .collect()
    };
    let mut everywhere = settings(runs.first()?);
    let mut firsts = BTreeMap::new();
    let mut differ = BTreeSet::new();
    for run in runs {
        let found = settings(run);
        everywhere.retain(|path, _| found.contains_key(path));
        let first: &BTreeMap<_, _> = firsts
            .entry((&run.row.dataset, run.key()))
            .or_insert_with(|| found.clone());
        let other = found
            .iter()
            .filter(|(path, value)| first.get(*path) != Some(*value));
        differ.extend(other.map(|(path, _)| path.clone()));
    }
    differ.retain(|path| everywhere.contains_key(path));
    if differ.contains(ENCODER) {
        return Some(ENCODER.to_string());
    }
    differ.into_iter().next()
}

fn task(card_folders: &[&Path], dataset: &str, rows: &StoredTables) -> Result<Table> {
    let metric = metric_of_card(card_folders, dataset)?;
    let metric = metric.unwrap_or_else(|| scored_by(rows, dataset));
    let mut task = texts([("title", dataset), ("unit", &metric), ("metric", &metric)]);
    task.insert("datasets".into(), vec![dataset].into());
    Ok(task)
}

/// The part of a dataset's card that is needed here.
#[derive(Debug, Deserialize)]
struct Card {
    #[serde(default)]
    metrics: Vec<String>,
}

/// The first metric of a dataset's card; `None` where no folder has the card.
fn metric_of_card(card_folders: &[&Path], dataset: &str) -> Result<Option<String>> {
    let file = |folder: &&Path| folder.join("datasets").join(format!("{dataset}.toml"));
    let path = card_folders.iter().map(file).find(|path| path.is_file());
    let card = path.map(|path| read_extended::<Card>(&path)).transpose()?;
    Ok(card.and_then(|card| card.metrics.into_iter().next()))
}

/// The first usual metric that runs on a dataset were scored by.
fn scored_by(rows: &StoredTables, dataset: &str) -> String {
    let runs = rows.runs.iter().filter(|run| run.dataset == dataset);
    let ids: BTreeSet<&str> = runs.map(|run| run.run_id.as_str()).collect();
    let scored = rows.evals.iter();
    let scored = scored.filter(|eval| ids.contains(eval.run_id.as_str()));
    let metrics: BTreeSet<&str> = scored.map(|eval| eval.metric.as_str()).collect();
    let usual = USUAL_METRICS
        .into_iter()
        .find(|metric| metrics.contains(metric));
    usual
        .or(metrics.first().copied())
        .unwrap_or("accuracy")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_an_id_of_its_own() {
        let texts = ["My_data", "my-data", "a-b.c", "ä", "§"];
        let found = ids(texts.into_iter().map(str::to_owned));
        assert_eq!(
            found,
            ["my-data", "my-data-2", "a-b-c", "unnamed", "unnamed-2"]
        );
    }
}
