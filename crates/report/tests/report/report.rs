//! The whole way from a folder of parquet to a folder of pages, on rows that were never run.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use totune_record::Tables;
use totune_report::{Request, report};

#[test]
fn a_report_is_one_page_with_its_tables_and_figures() {
    let project = project();
    let written = report(&request(project.path())).unwrap();
    assert_eq!(
        written.index,
        project.path().join("reports/synthetic/fixture/index.html")
    );
    let names: Vec<String> = written
        .files
        .iter()
        .map(|file| relative(file, project.path()))
        .collect();
    for name in [
        "index.html",
        "tables/table-2.md",
        "tables/table-2.tex",
        "tables/table-2.csv",
        "tables/claims.csv",
        "figures/figure-1.svg",
        "figures/figure-1.png",
        "figures/figure-2.csv",
        "tables/figure-2-times.md",
        "tables/epochs-letters.tex",
    ] {
        assert!(
            names.contains(&format!("reports/synthetic/fixture/{name}")),
            "no {name} in {names:?}"
        );
    }
    assert!(written.files.iter().all(|file| file.exists()));
}

#[test]
fn the_page_needs_nothing_from_outside_and_names_its_profile_first() {
    let project = project();
    let page = fs::read_to_string(report(&request(project.path())).unwrap().index).unwrap();
    for outside in ["src=\"http", "<script", "<link", "@import", "url(http"] {
        assert!(!page.contains(outside), "found {outside}");
    }
    let body = page.split("<body>").nth(1).unwrap();
    let first = body.trim_start().lines().nth(1).unwrap();
    assert!(
        first.contains("synthetic")
            && first.contains("fixture")
            && first.contains("rows that were never run"),
        "{first}"
    );
    assert!(page.contains("<strong>FIXTURE.</strong>"));
    assert_eq!(
        page.matches("FIXTURE: synthetic data, not a result")
            .count(),
        3,
        "one stamp per panel"
    );
    assert!(
        page.contains("<strong>Everything</strong>: see <code>crates/synthetic/src/lib.rs</code>")
    );
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let (one, two) = (project(), project());
    let first = report(&request(one.path())).unwrap();
    report(&request(two.path())).unwrap();
    let second = report(&request(two.path())).unwrap();
    assert_eq!(first.files.len(), second.files.len());
    for (a, b) in first.files.iter().zip(&second.files) {
        assert_eq!(relative(a, one.path()), relative(b, two.path()));
        assert!(
            fs::read(a).unwrap() == fs::read(b).unwrap(),
            "{} differs",
            a.display()
        );
    }
}

#[test]
fn rows_in_another_order_and_another_clock_change_no_number() {
    let project = project();
    let before = fs::read_to_string(report(&request(project.path())).unwrap().index).unwrap();
    let results = project.path().join("results/synthetic/fixture");
    let mut tables = Tables::read(&results).unwrap();
    tables.runs.reverse();
    tables.evals.reverse();
    tables.runs.iter_mut().for_each(|run| run.started += 86_400);
    tables.write(&results).unwrap();
    let after = fs::read_to_string(report(&request(project.path())).unwrap().index).unwrap();
    assert!(before == after);
}

#[test]
fn a_diverged_run_is_counted_on_the_page() {
    let project = project();
    let results = project.path().join("results/synthetic/fixture");
    let mut tables = Tables::read(&results).unwrap();
    let run = tables
        .runs
        .iter_mut()
        .find(|run| run.spec.contains("frozen"))
        .unwrap();
    run.status = "diverged".into();
    run.error = "loss is not a number at step 7".into();
    tables.write(&results).unwrap();
    let page = fs::read_to_string(report(&request(project.path())).unwrap().index).unwrap();
    for expected in [
        "2 diverged, 101 ok",
        "9 seeds<span class=\"lost\">1 diverged</span>",
        "loss is not a number at step 7",
        "Frozen: 1 diverged left out",
    ] {
        assert!(page.contains(expected), "no {expected}");
    }
}

#[test]
fn an_error_leaves_the_old_report_as_it_was() {
    let project = project();
    let written = report(&request(project.path())).unwrap();
    let before = fs::read(&written.index).unwrap();
    let plan = project.path().join("experiments/synthetic/report.toml");
    let text = fs::read_to_string(&plan).unwrap().replace(
        "\"work.features\" = \"count\"",
        "\"work.featurs\" = \"count\"",
    );
    fs::write(&plan, text).unwrap();
    let error = format!("{:#}", report(&request(project.path())).unwrap_err());
    assert!(
        error.contains("experiments/synthetic/claims.toml: claim `count-above-tf-idf`: where"),
        "{error}"
    );
    assert!(error.contains("did you mean `work.features`?"), "{error}");
    assert_eq!(fs::read(&written.index).unwrap(), before);
    check_no_leftovers(project.path());
}

#[test]
fn what_is_missing_is_named() {
    check_error(
        |request| request.profile = "smal".into(),
        "unknown profile `smal`, expected one of: fixture, small; did you mean `small`?",
    );
    check_error(
        |request| request.profile = "small".into(),
        "results/synthetic/small/runs.parquet: does not exist",
    );
    check_error(
        |request| request.paper = "made-down".into(),
        "results/made-down/fixture/runs.parquet: does not exist",
    );
    check_error(
        |request| request.paper = "../synthetic".into(),
        "paper: found `../synthetic`",
    );
}

#[test]
fn a_parquet_cut_short_leaves_no_report() {
    let project = project();
    let path = project
        .path()
        .join("results/synthetic/fixture/evals.parquet");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let error = format!("{:#}", report(&request(project.path())).unwrap_err());
    assert!(
        error.contains("evals.parquet") && error.contains("cut short"),
        "{error}"
    );
    assert!(!project.path().join("reports/synthetic").exists());
}

#[track_caller]
fn check_error(change: impl FnOnce(&mut Request), expected: &str) {
    let project = project();
    let mut request = request(project.path());
    change(&mut request);
    let error = format!("{:#}", report(&request).unwrap_err());
    assert!(error.contains(expected), "{error}");
    assert!(!project.path().join("reports").exists());
}

#[track_caller]
fn check_no_leftovers(project: &Path) {
    let names: Vec<_> = fs::read_dir(project.join("reports/synthetic"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["fixture"]);
}

fn request(project: &Path) -> Request {
    Request {
        project_root: project.to_owned(),
        shipped: None,
        paper: "synthetic".into(),
        profile: "fixture".into(),
    }
}

/// A copy of the synthetic project that a test may change.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/record"
    ));
    copy(&fixtures, folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target)
        } else {
            fs::copy(entry.path(), target).map(drop).unwrap()
        }
    }
}

fn relative(file: &Path, root: &Path) -> String {
    file.strip_prefix(root)
        .unwrap()
        .to_string_lossy()
        .into_owned()
}
