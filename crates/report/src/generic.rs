//! The page of an experiment without a `report.toml`: every arm on every dataset.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;
use toml::Table;
use totune_record::{RunRow, Tables};

use crate::arms::titles;

/// Metrics by which a dataset is shown where its card names none, the first that its runs have.
const METRICS: [&str; 8] = [
    "span-f1",
    "quadratic-kappa",
    "accuracy",
    "pearson",
    "spearman",
    "f1-micro",
    "f1-macro",
    "mse",
];

/// A `report.toml` for the runs of a paper and profile: a group for each arm, a task for each dataset, and a table of both. The
/// first of the folders with cards is the project's root.
///
/// # Errors
/// When a spec is no JSON.
pub(crate) fn report_file(
    card_folders: &[&Path],
    (paper, profile): (&str, &str),
    rows: &Tables,
) -> Result<String> {
    let project_root = card_folders.first().copied().unwrap_or(Path::new(""));
    let arms = arms(&project_root.join("experiments").join(paper), rows)?;
    let datasets: BTreeSet<&str> = own(rows).map(|run| run.dataset.as_str()).collect();
    let groups = arms.iter().map(|arm| (arm.id(), arm.group().into()));
    let tasks = datasets.iter().map(|dataset| {
        let task = task(card_folders, dataset, rows);
        (dataset.to_string(), task.into())
    });
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
    let of_datasets = datasets.iter().map(|dataset| texts([("task", *dataset)]));
    table.insert("column".into(), of_datasets.collect::<Vec<_>>().into());
    let of_arms = arms.iter().map(|arm| texts([("group", &*arm.id())]));
    table.insert("row".into(), of_arms.collect::<Vec<_>>().into());
    let file = [
        ("paper", about.into()),
        ("profiles", meaning.into()),
        ("groups", Table::from_iter(groups).into()),
        ("tasks", Table::from_iter(tasks).into()),
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

/// The runs without the trials of searches.
fn own(rows: &Tables) -> impl Iterator<Item = &RunRow> {
    rows.runs.iter().filter(|run| !crate::is_trial(run))
}

/// An arm that has runs; in the order of the files, those that no file names last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arm {
    place: usize,
    experiment: String,
    name: String,
    title: String,
}

impl Arm {
    fn id(&self) -> String {
        let text = format!("{}-{}", self.experiment, self.name).to_lowercase();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let text: String = text.chars().map(plain).collect();
        text.trim_matches('-').to_string()
    }

    fn group(&self) -> Table {
        let mut group = texts([("title", &*self.title)]);
        let conditions = texts([("experiment", &*self.experiment), ("arm", &*self.name)]);
        group.insert("where".into(), conditions.into());
        group
    }
}

fn arms(experiments: &Path, rows: &Tables) -> Result<BTreeSet<Arm>> {
    let titles = titles(experiments);
    let arm = |run: &RunRow| {
        let spec: Value = serde_json::from_str(&run.spec)?;
        let name = spec["arm"].as_str().unwrap_or_default().to_string();
        let is_it =
            |[experiment, arm, _]: &[String; 3]| *experiment == run.experiment && *arm == name;
        let place = titles.iter().position(is_it);
        let title = match place {
            Some(at) => titles[at][2].clone(),
            None if name.is_empty() => run.experiment.clone(),
            None => name.clone(),
        };
        anyhow::Ok(Arm {
            place: place.unwrap_or(titles.len()),
            experiment: run.experiment.clone(),
            name,
            title,
        })
    };
    own(rows).map(arm).collect()
}

fn task(card_folders: &[&Path], dataset: &str, rows: &Tables) -> Table {
    let card = Card::read(card_folders, dataset);
    let metric = card.metric().unwrap_or_else(|| scored_by(rows, dataset));
    let mut task = texts([("title", dataset), ("unit", &metric), ("metric", &metric)]);
    task.insert("datasets".into(), vec![dataset].into());
    task
}

/// The part of a dataset's card that is needed here.
#[derive(Debug, Default, Deserialize)]
struct Card {
    #[serde(default)]
    metrics: Vec<String>,
}

impl Card {
    fn read(card_folders: &[&Path], dataset: &str) -> Self {
        let file = format!("datasets/{dataset}.toml");
        let mut texts = card_folders
            .iter()
            .filter_map(|folder| fs::read_to_string(folder.join(&file)).ok());
        let text = texts.next().unwrap_or_default();
        toml::from_str(&text).unwrap_or_default()
    }

    fn metric(&self) -> Option<String> {
        self.metrics.first().cloned()
    }
}

/// The first usual metric that runs on a dataset were scored by.
fn scored_by(rows: &Tables, dataset: &str) -> String {
    let runs = rows.runs.iter().filter(|run| run.dataset == dataset);
    let ids: BTreeSet<&str> = runs.map(|run| run.run_id.as_str()).collect();
    let scored = rows.evals.iter();
    let scored = scored.filter(|eval| ids.contains(eval.run_id.as_str()));
    let metrics: BTreeSet<&str> = scored.map(|eval| eval.metric.as_str()).collect();
    let usual = METRICS.into_iter().find(|metric| metrics.contains(metric));
    usual
        .or(metrics.first().copied())
        .unwrap_or("accuracy")
        .to_string()
}
