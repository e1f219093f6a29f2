//! What a page shows of an experiment that nobody wrote a `report.toml` for: every arm on every dataset.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;
use toml::Table;
use totune_record::Tables;

/// Metrics by which a dataset is shown where its card names none, the first that its runs have.
const METRICS: [&str; 6] = [
    "span-f1", "accuracy", "pearson", "spearman", "f1-macro", "mse",
];

/// A `report.toml` for the runs of a paper and profile: a group for each arm, a task for each dataset, and a table and a
/// figure of both.
///
/// # Errors
/// When a spec is no JSON.
pub(crate) fn report_file(
    project_root: &Path,
    (paper, profile): (&str, &str),
    rows: &Tables,
) -> Result<String> {
    let titles = titles(&project_root.join("experiments").join(paper));
    let own = rows.runs.iter();
    let own = own.filter(|run| !run.experiment.ends_with("-search"));
    let mut arms: BTreeMap<(usize, String, String), String> = BTreeMap::new();
    let mut datasets: BTreeSet<&str> = BTreeSet::new();
    for run in own {
        let spec: Value = serde_json::from_str(&run.spec)?;
        let arm = spec["arm"].as_str().unwrap_or_default().to_string();
        let place = titles
            .iter()
            .position(|(experiment, name, _)| *experiment == run.experiment && *name == arm);
        let title = match place {
            Some(at) => &titles[at].2,
            None if arm.is_empty() => &run.experiment,
            None => &arm,
        };
        let title = title.clone();
        let key = (place.unwrap_or(titles.len()), run.experiment.clone(), arm);
        arms.insert(key, title);
        datasets.insert(&run.dataset);
    }
    let mut groups = Table::new();
    for ((_, experiment, arm), title) in &arms {
        let mut group = Table::new();
        group.insert("title".into(), title.clone().into());
        let mut conditions = Table::new();
        conditions.insert("experiment".into(), experiment.clone().into());
        conditions.insert("arm".into(), arm.clone().into());
        group.insert("where".into(), conditions.into());
        groups.insert(id(experiment, arm), group.into());
    }
    let mut tasks = Table::new();
    for dataset in &datasets {
        let card = Card::read(project_root, dataset);
        let metric = card.metric().unwrap_or_else(|| scored_by(rows, dataset));
        let mut task = Table::new();
        task.insert("title".into(), (*dataset).into());
        task.insert("datasets".into(), vec![*dataset].into());
        task.insert("unit".into(), metric.clone().into());
        task.insert("metric".into(), metric.into());
        tasks.insert((*dataset).into(), task.into());
    }
    let named = |key: &str, names: Vec<String>| -> Vec<Table> {
        let one = |name: String| Table::from_iter([(key.to_string(), name.into())]);
        names.into_iter().map(one).collect()
    };
    let ids = arms.keys().map(|(_, experiment, arm)| id(experiment, arm));
    let rows = named("group", ids.collect());
    let columns = named("task", tasks.keys().cloned().collect());
    let mut table = Table::new();
    for (key, text) in [
        ("kind", "matrix"),
        ("id", "scores"),
        ("title", "Scores on test"),
        ("stub", "Strategy"),
    ] {
        table.insert(key.into(), text.into());
    }
    table.insert("column".into(), columns.into());
    table.insert("row".into(), rows.into());
    let mut file = Table::new();
    let about = [
        ("title", paper.to_string()),
        ("authors", format!("experiments/{paper}")),
        (
            "question",
            "Every arm of these experiments on every dataset; a `report.toml` next to them would say what else to show."
                .to_string(),
        ),
    ];
    let about = about.map(|(key, text)| (key.to_string(), text.into()));
    file.insert("paper".into(), Table::from_iter(about).into());
    let meaning = (
        profile.to_string(),
        format!("as in experiments/{paper}").into(),
    );
    file.insert("profiles".into(), Table::from_iter([meaning]).into());
    file.insert("groups".into(), groups.into());
    file.insert("tasks".into(), tasks.into());
    file.insert("table".into(), vec![table].into());
    Ok(toml::to_string(&file)?)
}

fn id(experiment: &str, arm: &str) -> String {
    let text = format!("{experiment}-{arm}").to_lowercase();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    text.chars()
        .map(plain)
        .collect::<String>()
        .trim_matches('-')
        .to_string()
}

/// The experiment, name and title of the arms of a paper's experiments, in the order of the files; those of a pattern are not
/// there.
fn titles(experiments: &Path) -> Vec<(String, String, String)> {
    #[derive(Deserialize)]
    struct File {
        experiment: String,
        #[serde(default)]
        arm: Vec<Arm>,
    }
    #[derive(Deserialize)]
    struct Arm {
        name: String,
        title: Option<String>,
    }
    let files = fs::read_dir(experiments).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.sort();
    let texts = files
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    let files = texts.filter_map(|text| toml::from_str::<File>(&text).ok());
    let of_file = |file: File| {
        let titled = file.arm.into_iter();
        let titled = titled.filter_map(|arm| Some((arm.name, arm.title?)));
        titled.map(move |(name, title)| (file.experiment.clone(), name, title))
    };
    files.flat_map(of_file).collect()
}

/// What of a dataset's card is needed here.
#[derive(Debug, Default, Deserialize)]
struct Card {
    #[serde(default)]
    metrics: Vec<String>,
}

impl Card {
    fn read(project_root: &Path, dataset: &str) -> Self {
        let path = project_root
            .join("datasets")
            .join(format!("{dataset}.toml"));
        let text = fs::read_to_string(path).unwrap_or_default();
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
