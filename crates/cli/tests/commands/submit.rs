//! `totune submit`: from a hidden test set to the file that a benchmark takes.

use std::fs;

use crate::support::{Checkout, TUNE};

/// The small paper's runs on a fixture with an unlabelled test set.
fn hidden() -> Checkout {
    let tune = TUNE
        .replace("fixture-tweets", "fixture-acceptability")
        .replace(
            "kind = \"hold-out\"\ntest = 0.2\nseed = 13",
            "kind = \"files\"\ntest = \"dev\"\ndev = 0.25\nseed = 13\npredict = [\"test\"]",
        );
    assert!(tune.contains("predict"), "the split was replaced");
    Checkout::with(&[("tune", tune.as_str())])
}

#[test]
fn the_answers_to_a_hidden_test_set_become_a_submission() {
    let checkout = hidden();
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    let id = checkout.ids().remove(0);
    let to = checkout.path("out");
    let to = to.to_str().expect("a path");
    let said = checkout.succeed(&["submit", &id, "--to", to]);
    assert!(said.trim_end().ends_with("out/CoLA.tsv"), "{said}");
    let text = fs::read_to_string(checkout.path("out/CoLA.tsv")).expect("the file");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), ("index\tprediction", 7));
    let tables = checkout.tables(&id);
    let hidden = tables
        .predictions
        .iter()
        .filter(|row| row.split == "hidden-test" && row.gold.is_empty());
    assert_eq!(hidden.count(), 6);
    let dev = tables.predictions.iter().filter(|row| row.split == "dev");
    assert_eq!(dev.count(), 4, "a quarter of 16 training examples decides");
}

#[test]
fn a_run_that_answered_nothing_hidden_has_nothing_to_send() {
    let checkout = Checkout::new();
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    let id = checkout.ids().remove(0);
    let said = checkout.run(&["submit", &id]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err
            .contains("found predictions of no unlabelled split"),
        "{}",
        said.err
    );
}
