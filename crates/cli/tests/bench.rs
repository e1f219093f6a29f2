//! Every benchmark runs: our sides of tiny cases, and all sides where Python is there. No time is asserted.

mod support;

use std::fs;
use std::path::Path;

use support::Checkout;
use totune_bench::{ALL, Results, markdown};

/// Runs tiny cases of a benchmark and returns its results.
#[track_caller]
fn measured(checkout: &Checkout, name: &str, more: &[&str]) -> Results {
    let out = checkout.path("bench-results");
    let folder = out.to_str().expect("UTF-8");
    let arguments = ["bench", name, "--tiny", "--threads", "2", "--out", folder];
    let said = checkout.succeed(&[&arguments, more].concat());
    let page = out.join(format!("{name}.md"));
    assert_eq!(said.trim(), page.to_str().expect("UTF-8"));
    let results = Results::read(&out.join(format!("{name}.json"))).expect("results");
    let written = fs::read_to_string(&page).expect("a page");
    assert_eq!(written, markdown(&results), "{name}: a page of its results");
    results
}

#[test]
fn our_sides_of_every_benchmark_run_and_are_on_its_page() {
    let checkout = Checkout::new();
    for benchmark in &ALL {
        let results = measured(&checkout, benchmark.name, &["--side", "totune"]);
        assert!(!results.outcomes.is_empty(), "{}", benchmark.name);
        for outcome in &results.outcomes {
            for timing in &outcome.sides {
                let (case, side) = (&outcome.case, &timing.side);
                assert!(side.starts_with("totune"), "{case}: {side}");
                assert!(timing.median() > 0.0, "{case}: {side}");
                assert!(timing.peak_memory > 1 << 20, "{case}: {side}");
            }
        }
    }
}

#[test]
fn burns_layers_compute_what_ours_do() {
    let checkout = Checkout::new();
    let sides = ["--side", "totune", "--side", "burn", "--only", "BiLSTM"];
    let results = measured(&checkout, "lstm", &sides);
    let with_burn = results
        .outcomes
        .iter()
        .filter(|one| one.side("burn").is_some());
    assert_eq!(with_burn.count(), 2, "training and inference of full rows");
}

#[test]
#[ignore = "needs TOTUNE_PYTHON with torch, transformers and scikit-learn; compares results with theirs"]
fn all_sides_of_every_benchmark_run() {
    let python = std::env::var("TOTUNE_PYTHON").expect("TOTUNE_PYTHON is set");
    let checkout = Checkout::new();
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
    for script in fs::read_dir(bench).expect("bench/") {
        let path = script.expect("an entry").path();
        if path.is_file() {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let text = fs::read_to_string(&path).expect("a script");
            checkout.write(&format!("bench/{name}"), &text);
        }
    }
    let edge = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/make/edge.py");
    let edge = fs::read_to_string(edge).expect("a script");
    checkout.write("fixtures/make/edge.py", &edge);
    // `data` needs other packages than the rest, see setup/datasets.txt.
    for benchmark in ALL.iter().filter(|benchmark| benchmark.name != "data") {
        let results = measured(&checkout, benchmark.name, &["--python", &python]);
        for outcome in &results.outcomes {
            let python = |side: &str| side.starts_with("py");
            let theirs = outcome.sides.iter().any(|timing| python(&timing.side));
            let only_ours = outcome.case.contains("frozen") || outcome.case.contains("last-");
            assert!(theirs || only_ours, "{}: {}", benchmark.name, outcome.case);
        }
    }
}

#[test]
fn benchmarks_are_listed_and_an_unknown_one_is_answered_with_them() {
    let checkout = Checkout::new();
    let list = checkout.succeed(&["bench"]);
    for benchmark in &ALL {
        assert!(list.contains(benchmark.about), "{}", benchmark.name);
    }
    let said = checkout.run(&["bench", "pretain"]);
    assert_eq!(said.code, Some(2));
    for part in [
        "unknown benchmark `pretain`",
        "did you mean `pretrain`?",
        "lstm",
    ] {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
    let out = checkout.path("out");
    let out = out.to_str().expect("UTF-8");
    for (option, wrong) in [("--only", "no such case"), ("--side", "no such side")] {
        let said = checkout.run(&["bench", "crf", "--tiny", "--out", out, option, wrong]);
        assert_eq!(said.code, Some(2), "{option}");
        assert!(said.err.contains(option), "{}", said.err);
    }
}
