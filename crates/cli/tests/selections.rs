//! Every group, task and claim of the papers' pages is about runs that are planned, in each profile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use totune_record::RunRow;
use totune_sweep::{Experiment, Project};

/// Groups whose arms a profile leaves out.
const LEFT_OUT: [(&str, &str, &[&str]); 4] = [
    // Five times its 85 million steps would be too many.
    (
        "wang2023",
        "paper",
        &[
            "full-tuned-lr",
            "last-4-tuned-lr",
            "last-3-tuned-lr",
            "last-2-tuned-lr",
            "last-1-tuned-lr",
        ],
    ),
    // Probes of fine-tuned states take long.
    (
        "peters2019",
        "small",
        &["input-max-tuned", "input-first-tuned"],
    ),
    (
        "peters2019",
        "mini",
        &["input-max-tuned", "input-first-tuned"],
    ),
    // Two of the five rates of phase 1 show that the table works.
    (
        "wang2019",
        "fixture",
        &[
            "rate-2e-3",
            "rate-5e-4",
            "rate-1e-4",
            "phase-1-2e-3",
            "phase-1-5e-4",
            "phase-1-1e-4",
        ],
    ),
];

/// Runs by group and task, see [`totune_report::selected`].
type Selected = BTreeMap<String, BTreeMap<String, usize>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The runs of a profile's plan as rows, before any of them ran.
fn planned(experiments: &[Experiment], profile: &str) -> Vec<RunRow> {
    let of_profile = experiments
        .iter()
        .filter(|experiment| experiment.profiles().contains(&profile));
    let runs = of_profile.flat_map(|experiment| experiment.expand(profile).expect("expands"));
    let row = |run: totune_sweep::RunSpec| RunRow {
        run_id: run.id(),
        paper: run.paper.clone(),
        experiment: run.experiment.clone(),
        profile: run.profile.clone(),
        spec: run.canonical_json(),
        dataset: run.dataset.clone(),
        encoder: run.encoder().unwrap_or_default().to_string(),
        seed: run.seed,
        threads: 1,
        status: "ok".to_string(),
        ..RunRow::default()
    };
    runs.map(row).collect()
}

/// The names among `known` that stand anywhere below a value, but for texts that people read.
fn named(value: &Value, known: &BTreeSet<&str>, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if known.contains(text.as_str()) => {
            found.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| named(item, known, found)),
        Value::Table(table) => {
            let read = ["says", "title", "text", "note", "source", "reason"];
            let items = table
                .iter()
                .filter(|(key, _)| !read.contains(&key.as_str()));
            items.for_each(|(_, item)| named(item, known, found));
        }
        _ => {}
    }
}

/// What of a paper's page has no run in a profile's plan.
fn empty(paper: &str, selected: &Selected, allowed: &[&str]) -> Vec<String> {
    let mut empty = Vec::new();
    for (group, by_task) in selected {
        if (by_task[""] == 0) != allowed.contains(&group.as_str()) {
            empty.push(format!("group {group}: {} runs", by_task[""]));
        }
    }
    let tasks = selected.values().next().expect("a group").keys();
    let tasks: BTreeSet<&str> = tasks
        .map(String::as_str)
        .filter(|task| !task.is_empty())
        .collect();
    for task in &tasks {
        if selected.values().all(|by_task| by_task[*task] == 0) {
            empty.push(format!("task {task}"));
        }
    }
    let claims = root().join("experiments").join(paper).join("claims.toml");
    let claims = std::fs::read_to_string(claims).expect("claims");
    let claims: Table = toml::from_str(&claims).expect("TOML");
    let groups: BTreeSet<&str> = selected.keys().map(String::as_str).collect();
    for claim in claims["claim"].as_array().expect("claims") {
        let (mut of_groups, mut of_tasks) = (BTreeSet::new(), BTreeSet::new());
        named(claim, &groups, &mut of_groups);
        named(claim, &tasks, &mut of_tasks);
        for group in of_groups
            .iter()
            .filter(|group| !allowed.contains(&group.as_str()))
        {
            let runs = of_tasks
                .iter()
                .map(|task| selected[group][task])
                .sum::<usize>();
            if runs == 0 && !of_tasks.is_empty() {
                empty.push(format!("claim {}: group {group} on its tasks", claim["id"]));
            }
        }
    }
    empty
}

#[test]
fn every_group_task_and_claim_selects_planned_runs_in_every_profile() {
    let project = Project::open(&root()).expect("the repository");
    for paper in project.papers().expect("papers") {
        let experiments = project.experiments(&paper).expect("experiments");
        let of_paper = experiments[0].profiles();
        let checked = ["fixture", "mini", "small", "paper"];
        for profile in checked.into_iter().filter(|name| of_paper.contains(name)) {
            let rows = planned(&experiments, profile);
            let selected = totune_report::selected(&root(), &paper, rows).expect("selects");
            let of_profile = |(of, in_profile, _): &&(&str, &str, &[&str])| {
                *of == paper && *in_profile == profile
            };
            let allowed = LEFT_OUT
                .iter()
                .find(of_profile)
                .map_or(&[][..], |(.., groups)| groups);
            let empty = empty(&paper, &selected, allowed);
            assert!(empty.is_empty(), "{paper}, {profile}: {empty:#?}");
        }
    }
}
