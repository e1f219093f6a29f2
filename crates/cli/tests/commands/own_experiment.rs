//! A user's experiment: written, run, and shown on a page, without a settings file for any of it.

use crate::support::Checkout;

#[test]
fn a_new_experiment_runs_as_it_is_and_has_a_page() {
    let checkout = Checkout::new();
    let encoder = ["--encoder", "fixture-bert"];
    let new = ["experiment", "new", "fixture-tweets", "--name", "mine"];
    let text = checkout.succeed(&[&new[..], &encoder].concat());
    assert!(text.contains("datasets = [\"fixture-tweets\"]"), "{text}");

    let again = checkout.run(&[&new[..], &encoder].concat());
    assert_eq!(again.code, Some(2), "{}", again.err);
    assert!(again.err.contains("strategies.toml"), "{}", again.err);

    // The fixture's encoder has 64 positions, and one epoch is enough to be shown.
    let path = "experiments/mine/strategies.toml";
    let short = text.replace("seeds = [1, 2, 3]", "seeds = [1, 2]\nmax-length = 32");
    let short = short
        .replace(", epochs = 10", "")
        .replace("[profiles.own]", "[profiles.own]\nepochs = 1");
    checkout.write(path, &short);
    // Its only profile need not be named.
    let unfinished = checkout.run(&["report", "mine"]);
    assert_eq!(unfinished.code, Some(2), "{}", unfinished.err);
    let expected = "results/mine/own: no results there; `totune reproduce mine own` makes them";
    assert!(unfinished.err.contains(expected), "{}", unfinished.err);
    checkout.succeed(&["reproduce", "mine"]);
    let page = checkout.succeed(&["report", "mine"]);
    assert!(
        page.trim_end().ends_with("reports/mine/own/index.html"),
        "{page}"
    );
    checkout.write(
        path,
        &short.replace("[profiles.own]", "[profiles.paper]\n[profiles.own]"),
    );
    let unnamed = checkout.run(&["report", "mine"]);
    let expected = "results/mine/paper: no results there; there are some of `own`; `totune reproduce mine paper` makes them";
    assert!(unnamed.err.contains(expected), "{}", unnamed.err);
    checkout.write(path, &short);
    let table = std::fs::read_to_string(checkout.path("reports/mine/own/tables/scores.md"));
    let table = table.expect("a table");
    let places = ["Frozen encoder", "Last two layers", "All layers"].map(|title| table.find(title));
    assert!(places.is_sorted() && places[0].is_some(), "{table}");
    let page = std::fs::read_to_string(checkout.path("reports/mine/own/index.html"));
    let page = page.expect("a page");
    assert!(!page.contains("id=\"claims\"") && page.contains("id=\"tables\""));
}

/// A setting stated with its default value gives the same run.
#[test]
fn its_page_has_a_row_for_each_value_of_what_multiplies_its_runs() {
    let checkout = Checkout::new();
    let file = r#"paper = "several"
experiment = "counts"
kind = "sparse"
datasets = ["fixture-tweets"]
features = ["count", "tf-idf"]

[[split]]
kind = "hold-out"
test = 0.2
seed = 13

[[split]]
kind = "k-fold"
folds = 5
by = "shuffled"
seed = 0

[profiles.own]
"#;
    checkout.write("experiments/several/counts.toml", file);
    checkout.succeed(&["reproduce", "several", "own"]);
    let table = std::fs::read_to_string(checkout.path("reports/several/own/tables/scores.md"));
    let table = table.expect("a table");
    for (row, n) in [
        ("counts, hold-out, count", 1),
        ("counts, hold-out, tf-idf", 1),
        ("counts, k-fold, count", 5),
        ("counts, k-fold, tf-idf", 5),
    ] {
        let found = table
            .lines()
            .find(|line| line.contains(&format!("| {row} ")));
        let found = found.unwrap_or_else(|| panic!("{row} in\n{table}"));
        assert!(found.contains(&format!("n = {n} ")), "{found}");
    }
}

#[test]
fn a_default_that_is_stated_changes_no_run() {
    let checkout = Checkout::new();
    checkout.succeed(&["experiment", "new", "fixture-tweets", "--name", "mine"]);
    let ids = || {
        let plan = checkout.succeed(&["sweep", "plan", "mine", "own", "--json"]);
        let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
        let runs = plan["runs"].as_array().expect("runs").clone();
        runs.iter()
            .map(|run| run["id"].to_string())
            .collect::<Vec<_>>()
    };
    let before = ids();
    assert_eq!(before.len(), 9);
    let path = "experiments/mine/strategies.toml";
    let text = std::fs::read_to_string(checkout.path(path)).expect("a file");
    let stated = text.replace("seeds = [1, 2, 3]", "batch-size = 16\ndropout = 0.1");
    checkout.write(path, &stated);
    assert_eq!(ids(), before);
}
