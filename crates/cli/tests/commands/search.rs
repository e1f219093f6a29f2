//! Searches for hyper-parameters in sweeps: trials first, then the runs that wait for them.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use totune_sweep::State;

use crate::support::{Checkout, CommandOutput, TUNE};

/// Two strategies, two seeds each, three trials each; the last learning rate is so high that training diverges.
fn searching(rates: &str) -> String {
    let split = "[[split]]\nkind = \"hold-out\"\ntest = 0.2\nseed = 13\n";
    assert!(TUNE.contains(split));
    let files = "[[split]]\nkind = \"files\"\ntest = \"dev\"\ndev = 0.3\nseed = 1\n";
    let search = format!(
        "[search]\nkind = \"grid\"\nseeds = [7]\nmetric = \"accuracy\"\nranges = {{ \"work.training.adaptation.lr\" = {rates} }}\n"
    );
    TUNE.replace(split, &(search + files))
        .replace("\"fixture-tweets\"", "\"fixture-acceptability\"")
}

fn runs(checkout: &Checkout, experiment: &str) -> Vec<Value> {
    let plan = checkout.plan(&[]);
    let runs = plan["runs"].as_array().expect("runs").iter();
    let of = runs.filter(|run| run["spec"]["experiment"] == experiment);
    of.cloned().collect()
}

fn lr(spec: &Value) -> f64 {
    spec["work"]["training"]["adaptation"]["lr"]
        .as_f64()
        .expect("a rate")
}

/// The learning rates of the trials of a strategy; for each, whether it learned, so that examples get different answers,
/// and its final score on dev. `None` where a run has no such score.
fn trials(checkout: &Checkout, strategy: &str) -> Vec<(f64, Option<(bool, f64)>)> {
    let trials = runs(checkout, "tune-search");
    let of = trials
        .iter()
        .filter(|run| run["spec"]["work"]["training"]["adaptation"]["kind"] == strategy);
    of.map(|run| {
        let tables = checkout.tables(run["id"].as_str().expect("an id"));
        let score = tables
            .evals
            .iter()
            .find(|row| row.is_final && row.split == "dev" && row.metric == "accuracy");
        let answers = tables.predictions.iter().filter(|row| row.split == "dev");
        let answers: BTreeSet<&String> = answers.map(|row| &row.predicted).collect();
        let rank = score.map(|row| (answers.len() > 1, row.value));
        (lr(&run["spec"]), rank)
    })
    .collect()
}

#[test]
fn the_best_trial_on_dev_gives_its_rate_to_the_runs_that_wait_for_it() {
    let checkout = Checkout::with(&[("tune", &searching("[1e-6, 1e-3, 1e-2, 1e30]"))]);
    assert_eq!(
        (
            checkout.count(State::Missing),
            checkout.count(State::Waiting)
        ),
        (8, 4)
    );
    for run in runs(&checkout, "tune") {
        assert_eq!(run["id"], "");
        assert_eq!(run["why"], "waits for its search: 0 of 4 trials done");
        assert!(!run["label"].as_str().expect("a label").contains(" lr "));
    }
    // One trial by itself decides nothing.
    let first = runs(&checkout, "tune-search")[0]["id"].clone();
    checkout.succeed(&[
        "sweep",
        "run",
        "trial",
        "fixture",
        "--only",
        first.as_str().expect("an id"),
    ]);
    assert_eq!(checkout.count(State::Waiting), 4);
    let why = &runs(&checkout, "tune")[0]["why"];
    assert_eq!(why, "waits for its search: 1 of 4 trials done");

    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    assert_eq!(checkout.count(State::Done), 12);
    for strategy in ["full", "last-k"] {
        let trials = trials(&checkout, strategy);
        assert_eq!(trials.len(), 4);
        assert_eq!(trials[3], (1e30, None), "diverged, which counts as worst");
        let best = trials
            .iter()
            .filter_map(|trial| trial.1)
            .fold((false, f64::MIN), |a, b| if b > a { b } else { a });
        let (chosen, _) = trials
            .iter()
            .find(|trial| trial.1 == Some(best))
            .expect("one");
        let own = runs(&checkout, "tune");
        let own: Vec<&Value> = own
            .iter()
            .map(|run| &run["spec"])
            .filter(|spec| spec["work"]["training"]["adaptation"]["kind"] == strategy)
            .collect();
        let found: Vec<_> = own
            .iter()
            .map(|spec| (spec["seed"].as_u64(), lr(spec)))
            .collect();
        assert_eq!(found, [(Some(1), *chosen), (Some(2), *chosen)]);
        assert!(
            own.iter()
                .all(|spec| spec["search"][0] == "work.training.adaptation.lr")
        );
    }
    // A run can be named next to trials that would be repeated, too.
    let id = runs(&checkout, "tune")[0]["id"].clone();
    let only = ["--only", id.as_str().expect("an id"), "--retry-failed"];
    checkout.succeed(&[&["sweep", "plan", "trial", "fixture"], &only[..]].concat());
    // Trials are part of the results.
    let collected = checkout.collected();
    let searched = collected
        .runs
        .iter()
        .filter(|run| run.experiment == "tune-search");
    assert_eq!((collected.runs.len(), searched.count()), (12, 8));
}

#[test]
fn where_every_trial_diverges_there_is_nothing_to_run_and_that_is_said() {
    let checkout = Checkout::with(&[("tune", &searching("[1e30, 2e30]"))]);
    let said = checkout.run(&["sweep", "run", "trial", "fixture"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert_eq!(
        (
            checkout.count(State::Done),
            checkout.count(State::Unresolvable)
        ),
        (4, 4)
    );
    let why = runs(&checkout, "tune")[0]["why"].clone();
    let why = why.as_str().expect("a reason");
    let expected =
        "not possible: none of the 2 trials of its search has a score; the first diverged: ";
    assert!(why.starts_with(expected), "{why}");
    // An unresolvable run is no gap in the tables.
    let collected = checkout.run(&["collect", "trial", "fixture"]);
    assert_eq!(collected.code, Some(0), "{}", collected.err);
    assert!(
        collected.err.contains("4 runs, 4 unresolvable"),
        "{}",
        collected.err
    );
}

#[test]
fn two_sweeps_on_one_store_both_get_to_the_end_of_a_search() {
    let text = searching("[1e-4, 1e-3, 1e-2]");
    let alone = Checkout::with(&[("tune", &text)]);
    alone.succeed(&["sweep", "run", "trial", "fixture"]);
    let shared = Checkout::with(&[("tune", &text)]);
    let sweep = || {
        let mut command = shared.command(&["sweep", "run", "trial", "fixture"]);
        command.spawn().expect("starts")
    };
    for child in [sweep(), sweep()] {
        let said = CommandOutput::from(child.wait_with_output().expect("ended"));
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    assert_eq!(shared.count(State::Done), 10);
    assert_eq!(shared.collected(), alone.collected());
}

#[test]
fn a_sweep_waits_for_a_trial_of_another_process_and_takes_over_what_that_leaves() {
    let text = searching("[1e-3]").replace("epochs = 2", "epochs = 4000");
    let checkout = Checkout::with(&[("tune", &text)]);
    let ids: Vec<String> = runs(&checkout, "tune-search")
        .iter()
        .map(|run| run["id"].as_str().expect("an id").to_string())
        .collect();
    let spawn = |arguments: &[&str]| {
        let arguments = [&["sweep", "run", "trial", "fixture"], arguments].concat();
        checkout.command(&arguments).spawn().expect("starts")
    };
    let mut workers = [spawn(&["--only", &ids[0]]), spawn(&["--only", &ids[1]])];
    let begun = Instant::now();
    while checkout.count(State::Running) < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no run begins");
        sleep(Duration::from_millis(50));
    }
    let mut waiting = spawn(&[]);
    sleep(Duration::from_secs(2));
    assert!(waiting.try_wait().expect("a child").is_none(), "it waits");
    for worker in &mut workers {
        worker.kill().expect("SIGKILL");
        worker.wait().expect("ended");
    }
    // An interrupted run is executed by the waiting sweep.
    let begun = Instant::now();
    while checkout.count(State::Running) == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it does not go on"
        );
        sleep(Duration::from_millis(50));
    }
    waiting.kill().expect("SIGKILL");
    waiting.wait().expect("ended");
}
