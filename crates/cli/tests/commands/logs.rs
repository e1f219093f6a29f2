//! Output during runs: a log for each, JSON for programs, event files for TensorBoard.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Checkout, CommandOutput, TUNE};

const RUN: [&str; 4] = ["sweep", "run", "trial", "fixture"];

/// The events on standard error, all of which are JSON.
fn events(said: &CommandOutput) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    said.err.lines().map(parse).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path))
        } else {
            found.push(path)
        }
    }
    found
}

#[test]
fn a_comparison_tells_its_stages_where_no_terminal_is() {
    let checkout = Checkout::with(&[]);
    let out = checkout.path("out");
    let out = out.to_str().expect("UTF-8");
    let compare = |more: &[&str]| {
        let arguments = ["compare", "fixture-tweets", "--encoder", "fixture-bert"];
        let short = ["--budget", "6s", "--strategies", "frozen", "--out", out];
        checkout.run(&[&arguments[..], &short, more].concat())
    };
    let said = compare(&[]);
    for stage in [
        "left, loading encoders",
        "left, measuring frozen",
        "left, floors",
    ] {
        assert!(said.err.contains(stage), "{}", said.err);
    }
    assert_eq!(compare(&["--quiet"]).err, "");
    let said = compare(&["--log-format", "json"]);
    let stages: Vec<Value> = events(&said);
    let is_stage = |event: &&Value| event["event"] == "stage";
    let floors = stages
        .iter()
        .filter(is_stage)
        .find(|one| one["message"] == "floors");
    let left = floors.and_then(|event| event["seconds-left"].as_f64());
    assert!(left.is_some_and(|left| left < 6.0), "{}", said.err);
}

#[test]
fn a_sweep_tells_programs_and_tensorboard_and_keeps_a_log_of_every_run() {
    let checkout = Checkout::with(&[("tune", TUNE)]);
    let curves = checkout.path("curves");
    let folder = curves.to_str().expect("UTF-8");
    let more = ["--log-format", "json", "--tensorboard", folder];
    let said = checkout.run(&[&RUN[..], &more].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);

    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for event in events(&said) {
        assert!(
            event["time"]
                .as_str()
                .is_some_and(|time| time.ends_with('Z'))
        );
        assert_eq!(event["level"], "info", "{event}");
        let name = event["event"].as_str().expect("a name").to_string();
        if name == "epoch" || name.starts_with("run-") {
            assert!(
                event["run"].as_str().is_some_and(|id| id.len() == 16),
                "{event}"
            );
        }
        *counts.entry(name).or_default() += 1;
    }
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    let found = ["run-started", "epoch", "run-ended", "sweep-ended"].map(count);
    assert_eq!(found, [4, 8, 4, 1], "{}", said.err);

    assert_eq!(files(&curves).len(), 4);
    for id in checkout.ids() {
        let log = fs::read_to_string(checkout.run_folder(&id).join("run.log"));
        let log = log.expect("a log");
        let parts = [
            &format!(" run {id}: tune · "),
            " settings: {",
            " epoch 1/2, step ",
            " epoch 2/2, ",
            " ended after ",
        ];
        let places = parts.map(|part| log.find(part).unwrap_or_else(|| panic!("{part}: {log}")));
        assert!(places.is_sorted(), "{log}");
    }

    let again = checkout.run(&RUN);
    assert_eq!(again.err, "nothing to run: 4 done\n");
    for wrong in [
        &["sweep", "run", "nothing", "--log-format", "json"][..],
        &["sweep", "walk", "--log-format=json"],
        &["train", "--log-format", "json"],
    ] {
        let said = checkout.run(wrong);
        let error = &events(&said)[0];
        assert_eq!(
            (said.code, &error["level"]),
            (Some(2), &"error".into()),
            "{error}"
        );
    }
}

#[test]
fn the_log_of_a_failed_run_has_the_error_and_the_next_attempt_is_added() {
    // No plan knows how many examples there will be.
    let probe = "{ c = [1.0], alpha = [1.0], folds = 9999, max-iter = 9, tol = 1e-4 }";
    let lp_ft = format!(
        r#"{{ kind = "lp-ft", lr = 1e-3, probe = {probe}, pooler = "trainable", embeddings = "trainable" }}"#
    );
    let full = r#"{ kind = "full", lr = 1e-3, pooler = "trainable", embeddings = "trainable" }"#;
    let checkout = Checkout::with(&[("tune", &TUNE.replace(full, &lp_ft))]);
    let said = checkout.run(&[&RUN[..], &["--log-format", "json"]].concat());
    assert_eq!(said.code, Some(1), "{}", said.err);
    let events = events(&said);
    let failed = events.iter().find(|event| event["status"] == "failed");
    let failed = failed.expect("a failure");
    assert_eq!(failed["level"], "error");
    assert!(
        failed["message"]
            .as_str()
            .is_some_and(|text| text.contains("folds"))
    );
    let id = failed["run"].as_str().expect("an id");
    let attempts = || {
        let log = fs::read_to_string(checkout.run_folder(id).join("run.log")).expect("a log");
        assert!(log.contains("adaptation.probe.folds: found 9999"), "{log}");
        log.matches(" settings: ").count()
    };
    assert_eq!(attempts(), 1);
    checkout.run(&[&RUN[..], &["--retry-failed"]].concat());
    assert_eq!(attempts(), 2);
}

/// A user who watches a search sees no score on test before its settings are chosen.
#[test]
fn trials_of_a_search_show_scores_on_dev_only() {
    let search = r#"
[search]
kind = "grid"
seeds = [1]
metric = "accuracy"
ranges = { "work.training.adaptation.lr" = [1e-3, 2e-3] }

[[split]]
"#;
    let text = TUNE
        .replace("[[split]]", search)
        .replace("test = 0.2", "test = 0.2\ndev = 0.2");
    let checkout = Checkout::with(&[("tune", &text)]);
    let said = checkout.run(&[&RUN[..], &["--log-format", "json"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let mut of_run: BTreeMap<String, bool> = BTreeMap::new();
    for event in events(&said) {
        let id = event["run"].as_str().unwrap_or_default().to_string();
        match event["event"].as_str() {
            Some("run-started") => {
                let experiment = event["experiment"].as_str().expect("a name");
                of_run.insert(id, experiment.ends_with("-search"));
            }
            Some("epoch") => {
                let has_test = event["scores"].get("test").is_some();
                assert_eq!(has_test, !of_run[&id], "{event}");
            }
            Some("run-ended") => {
                let split = if of_run[&id] { "dev" } else { "test" };
                assert_eq!(event["split"], split, "{event}");
            }
            _ => {}
        }
    }
    assert!(of_run.values().any(|is_trial| *is_trial) && of_run.values().any(|is_trial| !is_trial));
}

#[test]
fn the_phases_of_runs_are_added_up_and_a_run_without_them_is_counted() {
    let checkout = Checkout::with(&[("tune", TUNE)]);
    let profile = ["sweep", "profile", "trial", "fixture"];
    let said = checkout.run(&profile);
    assert!(said.out.contains("no finished run"), "{}", said.out);

    let said = checkout.run(&RUN);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let without = checkout.run_folder(&checkout.ids()[0]);
    fs::remove_file(without.join("phases.json")).expect("a file");

    let said = checkout.run(&[&profile[..], &["--json"]].concat());
    let found: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(
        (&found["unknown"], &found["all"]["runs"]),
        (&1.into(), &3.into())
    );
    let seconds = found["all"]["seconds"].as_object().expect("phases");
    assert_eq!(seconds.len(), 6);
    for name in ["training", "scoring", "publishing"] {
        assert!(
            seconds[name].as_f64().is_some_and(|spent| spent > 0.0),
            "{name}: {found}"
        );
    }
    assert_eq!(found["experiments"]["tune"], found["all"]);

    let said = checkout.run(&profile);
    assert!(
        said.out.contains("3 of 4 finished runs have phases"),
        "{}",
        said.out
    );
    let widest = said.out.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 100), "{}", said.out);
}
