//! Lines for any runs: from a folder of parquet to a folder with a figure and its table.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use totune_record::Tables;
use totune_report::{CURVES_FILES, CurvesRequest, curves};

#[test]
fn a_task_gets_its_figure_table_and_numbers() {
    let project = project();
    let written = curves(&request(project.path())).unwrap();
    assert_eq!(
        written.folder,
        project
            .path()
            .join("reports/synthetic/fixture/curves/letters")
    );
    let names: Vec<String> = written
        .files
        .iter()
        .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, CURVES_FILES);
    assert!(written.files.iter().all(|file| file.exists()));
    let groups: Vec<&str> = written
        .summary
        .groups
        .iter()
        .map(|group| group.title.as_str())
        .collect();
    assert_eq!(groups, ["Last layer", "Last two layers", "All layers"]);
    assert!(written.text.contains("0.780"), "{}", written.text);
    assert!(
        written.notes[0].starts_with("Letters, best within the time: Last layer from 6.06 s"),
        "{:?}",
        written.notes
    );
    let svg = fs::read_to_string(&written.files[0]).unwrap();
    assert!(svg.contains("FIXTURE: synthetic data, not a result"));
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let (one, two) = (project(), project());
    let (first, second) = (
        curves(&request(one.path())).unwrap(),
        curves(&request(two.path())).unwrap(),
    );
    for (a, b) in first.files.iter().zip(&second.files) {
        assert!(
            fs::read(a).unwrap() == fs::read(b).unwrap(),
            "{}",
            a.display()
        );
    }
}

#[test]
fn runs_without_a_plan_are_drawn_by_their_dataset() {
    let project = project();
    fs::remove_dir_all(project.path().join("experiments")).unwrap();
    let mut request = request(project.path());
    request.task = "synthetic-epochs".into();
    let summary = curves(&request).unwrap().summary;
    assert_eq!(
        (summary.metric.as_str(), summary.title.as_str()),
        ("accuracy", "synthetic-epochs")
    );
    let names: Vec<&str> = summary
        .groups
        .iter()
        .map(|group| group.group.as_str())
        .collect();
    assert_eq!(names, ["full", "last-1", "last-2"]);
    request.groups = vec!["full".into()];
    request.conditions = vec![("seed".into(), "0,2".into())];
    let summary = curves(&request).unwrap().summary;
    assert_eq!((summary.groups.len(), summary.groups[0].runs), (1, 2));
}

#[test]
fn a_condition_narrows_what_groups_hold_and_never_widens_it() {
    let project = project();
    let mut request = request(project.path());
    let k = "work.training.adaptation.k".to_owned();
    request.conditions = vec![(k.clone(), "1,2".into())];
    let runs = |request: &CurvesRequest| -> Vec<usize> {
        let groups = curves(request).unwrap().summary.groups;
        groups.iter().map(|group| group.runs).collect()
    };
    assert_eq!(runs(&request), [3, 3, 0], "full tuning has no k");
    request.groups = vec!["last-2".into(), "last-layer".into()];
    assert_eq!(runs(&request), [3, 3]);
    request.conditions = vec![(k, "2".into())];
    assert_eq!(runs(&request), [3, 0]);
}

#[test]
fn groups_are_looked_for_in_the_experiment_that_is_asked_for() {
    let project = project();
    let mut request = request(project.path());
    request.groups = vec!["full".into()];
    let error = curves(&request).unwrap_err().to_string();
    assert!(error.contains("Unfrozen: none of its runs"), "{error}");
    request.conditions = vec![("experiment".into(), "epochs".into())];
    assert_eq!(curves(&request).unwrap().summary.groups[0].runs, 3);
}

#[test]
fn a_folder_of_ones_own_is_replaced_only_if_it_holds_curves_alone() {
    let project = project();
    let out = project.path().join("mine");
    let mut request = request(project.path());
    request.out = Some(out.clone());
    request.log_time = true;
    curves(&request).unwrap();
    curves(&request).unwrap();
    fs::write(out.join("thesis.tex"), "years of work").unwrap();
    let error = curves(&request).unwrap_err().to_string();
    assert!(
        error.contains("holds `thesis.tex`, expected a new folder"),
        "{error}"
    );
    assert!(out.join("thesis.tex").exists() && out.join("curves.svg").exists());
}

#[test]
fn what_is_unknown_is_named_with_the_near_one() {
    check_error(
        |request| request.task = "leters".into(),
        "unknown task `leters`, expected a task or a dataset: letters, synthetic-epochs, synthetic-letters; did you mean `letters`?",
    );
    check_error(
        |request| request.paper = "syntheticp".into(),
        "results: there is no `syntheticp`, found: synthetic; did you mean `synthetic`?",
    );
    check_error(
        |request| request.profile = "small".into(),
        "results/synthetic: there is no `small`, found: fixture",
    );
    check_error(
        |request| request.groups = vec!["all-layer".into()],
        "unknown group `all-layer`",
    );
    check_error(
        |request| request.metric = Some("acuracy".into()),
        "no run has the metric `acuracy` on `test`",
    );
    check_error(
        |request| request.split = Some("dev".into()),
        "no run has a final score on the split `dev`",
    );
    check_error(
        |request| request.conditions = vec![("work.training.adaptation.kin".into(), "full".into())],
        "did you mean `work.training.adaptation.kind`?",
    );
    check_error(
        |request| request.conditions = vec![("seed".into(), "7".into())],
        "nothing to draw: no run has seed = \"7\" or 7",
    );
}

#[test]
fn a_task_whose_runs_have_no_line_says_why() {
    check_error(
        |request| request.task = "synthetic-letters".into(),
        "task `synthetic-letters` has no line to draw: Last layer: none of its runs is among those asked for",
    );
    check_error(
        |request| {
            request.task = "synthetic-letters".into();
            request.groups = vec!["frozen".into()];
        },
        "has no line to draw: Frozen: 10 not scored after every epoch",
    );
}

#[test]
fn rows_of_a_run_that_skips_an_epoch_make_no_line() {
    let project = project();
    let results = project.path().join("results/synthetic/fixture");
    let mut tables = Tables::read(&results).unwrap();
    let one = tables
        .runs
        .iter()
        .find(|run| run.dataset == "synthetic-epochs")
        .unwrap();
    let one = one.run_id.clone();
    tables
        .evals
        .retain(|eval| eval.run_id != one || eval.epoch != 2);
    tables.write(&results).unwrap();
    let summary = curves(&request(project.path())).unwrap().summary;
    let lost: usize = summary
        .groups
        .iter()
        .filter_map(|group| group.lost.get("not scored after every epoch"))
        .sum();
    assert_eq!(lost, 1);
}

#[track_caller]
fn check_error(change: impl FnOnce(&mut CurvesRequest), expected: &str) {
    let project = project();
    let mut request = request(project.path());
    change(&mut request);
    let error = format!("{:#}", curves(&request).unwrap_err());
    assert!(error.contains(expected), "{error}");
    assert!(!project.path().join("reports").exists());
}

fn request(project: &Path) -> CurvesRequest {
    CurvesRequest {
        project_root: project.to_owned(),
        shipped: None,
        paper: "synthetic".into(),
        profile: "fixture".into(),
        task: "letters".into(),
        ..CurvesRequest::default()
    }
}

/// The synthetic paper in a folder of its own.
fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/record");
    for folder in ["experiments/synthetic", "results/synthetic/fixture"] {
        let (from, to) = (fixtures.join(folder), project.path().join(folder));
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    project
}
