//! Every benchmark runs: our sides of tiny cases, and all sides where Python is there. No time is asserted.

use std::fs;
use std::path::Path;

use totune_bench::regret::{self, Regret};
use totune_bench::scale::{self, Scale, Step};
use totune_bench::{ALL, Measure, Results, markdown};

use crate::support::Checkout;

/// Runs tiny cases of a benchmark and returns its results.
#[track_caller]
fn measured(checkout: &Checkout, name: &str, more: &[&str]) -> Results {
    let out = checkout.path("bench-results");
    let folder = out.to_str().expect("UTF-8");
    let short = ["--tiny", "--rounds", "1", "--steps", "2"];
    let arguments = ["bench", name, "--threads", "2", "--out", folder];
    let said = checkout.succeed(&[&arguments[..], &short, more].concat());
    let page = out.join(format!("{name}.md"));
    assert_eq!(said.trim(), page.to_str().expect("UTF-8"));
    let results = Results::read(&out.join(format!("{name}.json"))).expect("results");
    let written = fs::read_to_string(&page).expect("a page");
    assert_eq!(written, markdown(&results), "{name}: a page of its results");
    results
}

#[test]
fn our_sides_of_every_benchmark_run_and_are_on_its_page() {
    let checkout = Checkout::new().in_processes();
    for benchmark in &ALL {
        let results = measured(&checkout, benchmark.name, &["--side", "totune"]);
        assert!(!results.outcomes.is_empty(), "{}", benchmark.name);
        for outcome in &results.outcomes {
            for timing in &outcome.sides {
                let (case, side) = (&outcome.case, &timing.side);
                assert!(side.starts_with("totune"), "{case}: {side}");
                let counted = results.measure == Measure::Operators;
                assert!(counted || timing.median() > 0.0, "{case}: {side}");
                assert!(timing.peak_memory > 1 << 20, "{case}: {side}");
            }
        }
    }
}

#[test]
fn burns_layers_compute_what_ours_do() {
    let checkout = Checkout::new().in_processes();
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
    let checkout = Checkout::new().in_processes();
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
    for file in [
        "fixtures/make/edge.py",
        "crates/model/src/fused/observer/observer.cpp",
        "crates/model/src/fused/shared.h",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(file);
        checkout.write(file, &fs::read_to_string(path).expect("a source"));
    }
    // `data` needs other packages than the rest, see setup/datasets.txt.
    for benchmark in ALL.iter().filter(|benchmark| benchmark.name != "data") {
        let results = measured(&checkout, benchmark.name, &["--python", &python]);
        for outcome in &results.outcomes {
            let ours = ["totune", "burn", "memcpy"];
            let is_ours = |side: &str| ours.iter().any(|name| side.starts_with(name));
            let theirs = outcome.sides.iter().any(|timing| !is_ours(&timing.side));
            let only_ours = outcome.case.contains("frozen") || outcome.case.contains("last-");
            assert!(theirs || only_ours, "{}: {}", benchmark.name, outcome.case);
        }
    }
}

#[test]
fn the_regret_of_a_choice_is_measured_part_by_part() {
    let checkout = Checkout::new().in_processes();
    let out = checkout.path("out");
    let fixture = ["--datasets", "fixture-tweets", "--encoder", "fixture-bert"];
    let short = ["--rows", "120,all", "--strategies", "frozen,last-1"];
    let mut arguments = [&["bench", "regret"][..], &fixture, &short].concat();
    arguments.extend(["--budget", "5s", "--out", out.to_str().expect("UTF-8")]);
    let said = checkout.succeed(&arguments);
    let page = out.join("compare.md");
    assert_eq!(said.trim(), page.to_str().expect("UTF-8"));
    let written = fs::read_to_string(&page).expect("a page");
    let results = Regret::read(&out.join("compare.json")).expect("results");
    assert_eq!(written, regret::markdown(&results));
    let rows: Vec<usize> = results.cases.iter().map(|case| case.rows).collect();
    let n_test = results.cases[0].n_test;
    assert_eq!(rows[1] + n_test, 240);
    assert!(rows[0].abs_diff(120) < 5, "{rows:?}");
    for case in &results.cases {
        // A comparison, vectors, the example script, and two strategies at two learning rates.
        assert_eq!((case.parts.len(), case.missing), (7, 0), "{}", case.rows);
        assert!(case.parts[1..].iter().all(|part| part.test.is_some()));
    }
    assert!(written.contains("| fixture-tweets | "), "{written}");
    assert!(written.contains("| `compare` | 2 | "), "{written}");
    assert!(written.contains("their scores mean nothing"), "{written}");

    // Only what is missing is done again.
    let case = checkout.path("runs/bench-regret/fixture-bert/fixture-tweets-120");
    fs::remove_file(case.join("vectors.json")).expect("a part");
    checkout.succeed(&arguments);
    let again = Regret::read(&out.join("compare.json")).expect("results");
    let seconds = |results: &Regret, at: usize| results.cases[0].parts[at].seconds;
    assert_ne!(seconds(&again, 1), seconds(&results, 1));
    for at in [0, 2, 3, 4, 5, 6] {
        assert_eq!(seconds(&again, at), seconds(&results, at), "part {at}");
    }

    // Without the folder the parts are those of the results, and other cases stay.
    fs::remove_dir_all(checkout.path("runs/bench-regret")).expect("parts");
    let short: Vec<&str> = arguments
        .iter()
        .map(|argument| match *argument {
            "120,all" => "120",
            other => other,
        })
        .collect();
    checkout.succeed(&short);
    let restored = Regret::read(&out.join("compare.json")).expect("results");
    assert_eq!(restored, again);
    for (arguments, expected) in [
        (vec!["crf", "--seeds", "2"], "expected only with `regret`"),
        (vec!["regret", "--rounds", "2"], "--rounds: `regret` has no"),
        (vec!["regret", "--rows", "few"], "expected a number of rows"),
        (
            vec!["regret", "--datasets", "fixture-tweets", "--rows", "5000"],
            "expected fewer than the 192 rows",
        ),
    ] {
        let said = checkout.run(&[&["bench"], &arguments[..]].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}");
        assert!(said.err.contains(expected), "{}", said.err);
    }
}

#[test]
fn commands_are_timed_by_the_number_of_runs() {
    let checkout = Checkout::new().in_processes();
    let out = checkout.path("out");
    let mut arguments = vec!["bench", "scale", "--workers", "3"];
    arguments.extend(["--out", out.to_str().expect("UTF-8")]);
    for runs in ["8", "6"] {
        let said = checkout.succeed(&[&arguments[..], &["--runs", runs]].concat());
        let page = out.join("scale.md");
        assert_eq!(said.trim(), page.to_str().expect("UTF-8"));
    }
    let results = Scale::read(&out.join("scale.json")).expect("results");
    let written = fs::read_to_string(out.join("scale.md")).expect("a page");
    assert_eq!(written, scale::markdown(&results));
    let runs: Vec<usize> = results.sizes.iter().map(|size| size.runs).collect();
    assert_eq!(runs, [6, 8], "those of an earlier command stay");
    for size in &results.sizes {
        let cost = |step| size.costs.get(step).is_some_and(|cost| cost.seconds > 0.0);
        assert!(Step::ALL.iter().all(cost), "{:?}", size.costs);
        assert!((1..=size.runs + 10).contains(&size.most_entries));
    }

    // What is not of this benchmark is left alone.
    let other = checkout.path("other/5");
    fs::create_dir_all(&other).expect("a folder");
    let work = checkout.path("other");
    let work = ["--runs", "5", "--work", work.to_str().expect("UTF-8")];
    let said = checkout.run(&[&arguments[..], &work].concat());
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("found something else"), "{}", said.err);
    let said = checkout.run(&["bench", "crf", "--runs", "5"]);
    assert!(
        said.err.contains("expected only with `scale`"),
        "{}",
        said.err
    );
}

#[test]
fn benchmarks_are_listed_and_an_unknown_one_is_answered_with_them() {
    let checkout = Checkout::new().in_processes();
    let list = checkout.succeed(&["bench"]);
    for benchmark in &ALL {
        assert!(list.contains(benchmark.about), "{}", benchmark.name);
    }
    assert!(list.contains(regret::LISTED[1]), "{list}");
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
