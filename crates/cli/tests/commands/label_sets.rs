//! Texts with several labels, and with labels in an order, from a user's CSV file to scores and predictions.

use std::fs;

use serde_json::Value;

use crate::support::{Checkout, SPARSE, TUNE};

/// The path of a file of the checkout.
fn path(checkout: &Checkout, part: &str) -> String {
    checkout.path(part).to_str().expect("UTF-8").to_string()
}

/// A copy of a fixture in a folder of the user, with its card; the path of the card.
fn described(checkout: &Checkout, fixture: &str, options: &[&str]) -> String {
    let folder = checkout.path("own");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("letters.csv");
    fs::copy(checkout.path(fixture), &file).expect("a copy");
    let file = file.to_str().expect("UTF-8");
    checkout.succeed(&[&["data", "new", file], options].concat());
    file.replace(".csv", ".toml")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Output of a training of one epoch whose model is saved.
fn trained(checkout: &Checkout, card: &str, model: &str) -> String {
    let train = ["train", card, "--encoder", "fixture-bert", "--save", model];
    let settings = ["--strategy", "full", "--lr", "5e-3", "--epochs", "1"];
    checkout.succeed(&[&train[..], &settings].concat())
}

#[test]
fn letters_with_several_topics_are_described_trained_saved_and_scored() {
    let checkout = Checkout::with(&[]);
    let card = described(&checkout, "fixtures/data/tickets/columns.train.csv", &[]);
    let text = fs::read_to_string(&card).expect("a card");
    assert!(text.contains(
        "task = \"multi-label\"  # `billing`, `delivery`, `damage`, `ask`: columns of only 0 and 1"
    ));
    let (model, out) = (path(&checkout, "m"), path(&checkout, "p.csv"));
    let said = trained(&checkout, &card, &model);
    assert!(
        said.contains("transformers loads it as BertForSequenceClassification"),
        "{said}"
    );
    let config = fs::read_to_string(checkout.path("m/config.json")).expect("a config");
    assert_eq!(json(&config)["problem_type"], "multi_label_classification");

    let test = path(&checkout, "fixtures/data/tickets/columns.test.csv");
    let scored = json(&checkout.succeed(&["evaluate", &model, &test, "--json"]));
    for metric in ["f1-micro", "f1-macro", "exact-match", "map", "lrap"] {
        assert!(scored["scores"][metric].is_f64(), "{scored}");
    }
    assert_eq!(scored["labels"][3]["label"], "ask");
    assert_eq!(scored["labels"][3]["n"], 4);
    checkout.succeed(&["predict", &model, &test, "--out", &out]);
    let written = fs::read_to_string(&out).expect("predictions");
    let head = "id,text,billing,delivery,damage,ask,predicted,p_billing,p_delivery,p_damage,p_ask";
    assert_eq!(written.lines().next(), Some(head));
    // The predictions as gold labels of the same model, in the layout that predictions have.
    let own = checkout.succeed(&["evaluate", &model, &out, "--label", "predicted", "--json"]);
    assert_eq!(json(&own)["scores"]["exact-match"], 1.0);
    let table = checkout.succeed(&["evaluate", &model, &test]);
    assert!(
        table.contains("precision") && table.contains("delivery"),
        "{table}"
    );
}

#[test]
fn strategies_are_compared_on_several_labels_and_on_labels_in_an_order() {
    for (file, options, metric, floors) in [
        (
            "fixtures/data/tickets/train.csv",
            &[][..],
            "f1-micro",
            ["majority", "words", "vectors"],
        ),
        (
            "fixtures/data/grades/train.csv",
            &[
                "--task",
                "ordinal",
                "--order",
                "awful,poor,fair,good,superb",
            ],
            "quadratic-kappa",
            ["majority", "words", "vectors"],
        ),
    ] {
        let checkout = Checkout::with(&[]);
        let card = described(&checkout, file, options);
        let out = path(&checkout, "out");
        let compare = [
            "compare",
            &card,
            "--encoder",
            "fixture-bert",
            "--out",
            &out,
            "--json",
        ];
        let budget = ["--budget", "8s", "--strategies", "full"];
        let found = json(&checkout.succeed(&[&compare[..], &budget].concat()));
        assert_eq!(found["metric"], metric);
        let rows = found["rows"].as_array().expect("rows");
        let score = |name: &str| {
            let row = rows.iter().find(|row| row["name"] == name);
            row.and_then(|row| row["test"]["value"].as_f64())
                .expect(name)
        };
        let [majority, words, vectors] = floors.map(score);
        assert!(
            words > majority + 0.2 && vectors.is_finite(),
            "{majority} {words} {vectors}"
        );
        let page = fs::read_to_string(checkout.path("out/index.html")).expect("a page");
        assert!(page.contains("Test scores by label"), "{metric}");
        assert_eq!(
            page.contains("Confusion matrix"),
            metric == "quadratic-kappa"
        );
        // They have no order where all errors are of one step.
        assert!(page.contains("worst errors") || page.contains("<h2>Errors, the first"));
    }
}

#[test]
fn places_with_a_grade_are_trained_saved_and_scored() {
    let checkout = Checkout::with(&[]);
    let model = path(&checkout, "m");
    let said = trained(&checkout, "fixture-grades", &model);
    assert!(
        said.contains("transformers has no ordinal classification"),
        "{said}"
    );
    let test = path(&checkout, "fixtures/data/grades/test.csv");
    let scored = json(&checkout.succeed(&["evaluate", &model, &test, "--json"]));
    for metric in ["quadratic-kappa", "mae", "accuracy", "brier"] {
        assert!(scored["scores"][metric].is_f64(), "{scored}");
    }
    let grades = ["train", "fixture-grades", "--encoder", "fixture-bert"];
    let adapter = ["--save", &path(&checkout, "new"), "--strategy", "lora"];
    let said = checkout.run(&[&grades[..], &adapter, &["--adapter"]].concat());
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains(
            "--adapter: PEFT needs a class of transformers, but transformers has no ordinal"
        ),
        "{}",
        said.err
    );
}

#[test]
fn what_such_labels_cannot_have_is_refused_before_anything_runs() {
    let experiment = |dataset: &str, key: &str| {
        let tune = TUNE.replace("fixture-tweets", dataset);
        tune.replace("dtype = \"f32\"", &format!("dtype = \"f32\"\n{key}"))
    };
    for (dataset, key, expected) in [
        (
            "fixture-tickets",
            "loss = { label-smoothing = 0.1 }",
            "experiments/trial/tune.toml: loss.label-smoothing: found 0.1, which is for classification; expected 0, since the \
             task is multi-label (of `fixture-tickets`)",
        ),
        (
            "fixture-grades",
            "loss = { class-weights = \"balanced\" }",
            "loss.class-weights: found \"balanced\", which is for classification and multi-label tasks; expected \"equal\", since \
             the task is ordinal",
        ),
        (
            "fixture-grades",
            "micro-batch-size = 8",
            "micro-batch-size: found 8, expected 0: the loss of a batch is divided by the number of steps that its examples reach \
             (dataset `fixture-grades`)",
        ),
    ] {
        let checkout = Checkout::with(&[("tune", &experiment(dataset, key))]);
        let said = checkout.run(&["sweep", "run", "trial", "fixture"]);
        assert_eq!(said.code, Some(2), "{key}: {}", said.err);
        assert!(said.err.contains(expected), "{}", said.err);
    }
    let sparse = SPARSE.replace("fixture-tweets", "fixture-tickets");
    let checkout = Checkout::with(&[("sparse", &sparse)]);
    let said = checkout.run(&["sweep", "run", "trial", "fixture"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err.contains("`fixture-tickets` is multi-label"),
        "{}",
        said.err
    );
}

#[test]
fn runs_of_an_experiment_have_rows_with_all_labels() {
    let tune = TUNE.replace("fixture-tweets", "fixture-tickets");
    let checkout = Checkout::with(&[("tune", &tune)]);
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    let tables = checkout.collected();
    let finals = tables
        .evals
        .iter()
        .filter(|eval| eval.is_final && eval.split == "test");
    let names: Vec<&str> = finals.map(|eval| eval.metric.as_str()).collect();
    for name in ["f1-micro", "f1-macro", "exact-match", "map", "lrap", "loss"] {
        assert_eq!(
            names.iter().filter(|found| **found == name).count(),
            4,
            "{name}"
        );
    }
    let several = tables.predictions.iter().find(|row| row.gold.contains('|'));
    let several = several.expect("a ticket with two topics");
    assert_eq!(several.scores.len(), 4);
}
