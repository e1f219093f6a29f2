//! `totune curves`: from a user's runs to a figure and a table.

use std::fs;

use crate::support::{Checkout, TUNE};

/// The small paper's runs, evaluated on a part of the dev file, cached where their strategy allows.
fn mine() -> Checkout {
    let tune = TUNE
        .replace("fixture-tweets", "fixture-phrases")
        .replace(
            "kind = \"hold-out\"\ntest = 0.2\nseed = 13",
            "kind = \"files\"\ntest = \"dev\"\ndev = 0.2\nseed = 13\ntrain-limit = 30\ntest-limit = 4",
        )
        .replace(
            "frozen-dropout = \"on\"",
            "frozen-dropout = \"off\"\ncache = { kind = \"on\", dtype = \"f32\" }",
        );
    assert!(
        tune.contains("test-limit") && tune.contains("cache"),
        "replaced"
    );
    let checkout = Checkout::with(&[("tune", tune.as_str())]);
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    checkout.succeed(&["collect", "trial", "fixture"]);
    checkout
}

#[test]
fn runs_of_ones_own_become_a_line_per_strategy() {
    let checkout = mine();
    let said = checkout.succeed(&["curves", "trial", "fixture-phrases"]);
    assert!(said.starts_with("FIXTURE"), "{said}");
    for strategy in ["full", "last-1"] {
        assert!(said.contains(strategy), "{said}");
    }
    let folder = checkout.path("reports/trial/fixture/curves/fixture-phrases");
    for file in ["curves.svg", "curves.png", "curves.md", "curves.csv"] {
        let size = fs::metadata(folder.join(file)).expect(file).len();
        assert!(size > 100, "{file}: {size} bytes");
    }
    let json = checkout.succeed(&["curves", "trial", "fixture-phrases", "--json"]);
    serde_json::from_str::<serde_json::Value>(&json).expect("JSON and nothing else");
}

#[test]
fn a_limit_is_what_a_run_learns_from_and_is_judged_on() {
    let checkout = mine();
    for id in checkout.ids() {
        let tables = checkout.tables(&id);
        let n = |split: &str| {
            let of = tables.evals.iter().find(|row| row.split == split);
            of.expect("a score").n
        };
        assert_eq!((n("train"), n("dev"), n("test")), (24, 6, 4));
    }
    let states = fs::read_dir(checkout.path("runs/activations")).expect("the folder of states");
    let kept = states.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().ends_with(".states")
    });
    assert_eq!(
        kept.count(),
        2,
        "what is used of train, and of dev, for both seeds"
    );
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let checkout = mine();
    for (arguments, expected) in [
        (["curves", "trial", "fixture-phrase"], "fixture-phrases"),
        (
            ["curves", "nobody", "mnli"],
            "results: there is no `nobody`, found: trial",
        ),
        (["curves", "trail", "mnli"], "did you mean `trial`?"),
    ] {
        let said = checkout.run(&arguments);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(expected), "{}", said.err);
    }
    let said = checkout.run(&["curves", "trial", "fixture-phrases", "--where", "batch"]);
    assert!(said.err.contains("expected KEY=VALUE"), "{}", said.err);
}
