//! A user's model: trained, saved, used on files, from the command line.

use std::fs;
use std::process::Stdio;

use crate::support::{Checkout, TUNE};

/// Trains on a fixture for an epoch and saves the model as `m` in the checkout; returns the output.
fn train(checkout: &Checkout, dataset: &str, more: &[&str]) -> String {
    let to = checkout.path("m");
    let to = to.to_str().expect("UTF-8");
    let encoder = ["train", dataset, "--encoder", "fixture-bert", "--save", to];
    checkout.succeed(&[&encoder[..], more].concat())
}

/// Error message of a command that has to fail.
fn fail(checkout: &Checkout, arguments: &[&str]) -> String {
    let said = checkout.run(arguments);
    assert_eq!(
        said.code,
        Some(2),
        "{arguments:?}: {} {}",
        said.out,
        said.err
    );
    said.err
}

/// Checks what `predict` writes where `out` has the predictions of `tweets` already.
fn files_of_predictions(checkout: &Checkout, [model, tweets, out]: [&str; 3]) {
    checkout.succeed(&["predict", model, tweets, "--out", out, "--replace"]);
    let path = |part: &str| checkout.path(part).to_str().expect("UTF-8").to_string();
    let [again, json, excel] = ["again.csv", "new.csv", "new.xlsx"].map(path);
    let refusals: [(&[&str], &str); 5] = [
        (
            &[out, "--out", &again],
            "has a column `predicted`; expected none",
        ),
        (&[tweets, "--out", tweets], "is the file that is read"),
        (
            &[tweets, "--out", out],
            "is already there; expected another one, or --replace",
        ),
        (
            &[tweets, "--out", &json, "--json"],
            "expected a name that ends in .jsonl",
        ),
        (&[tweets, "--out", &excel], "which names no format"),
    ];
    for (arguments, expected) in refusals {
        let said = fail(checkout, &[&["predict", model], arguments].concat());
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_model_is_trained_saved_and_used() {
    let checkout = Checkout::with(&[("tune", TUNE)]);
    let said = train(
        &checkout,
        "fixture-tweets",
        &["--strategy", "last-2", "--lr", "1e-3", "--epochs", "1"],
    );
    assert!(
        said.contains("transformers loads it as BertForSequenceClassification"),
        "{said}"
    );
    let path = |part: &str| checkout.path(part).to_str().expect("UTF-8").to_string();
    let (model, tweets) = (path("m"), path("fixtures/data/tweets.csv"));
    let out = path("predictions.csv");
    checkout.succeed(&["predict", &model, &tweets, "--out", &out]);
    let written = fs::read_to_string(&out).expect("predictions");
    assert!(
        written.starts_with("id,keyword,location,text,target,predicted,p_no-disaster,p_disaster\n"),
        "{}",
        &written[..120]
    );
    let over = |arguments: &[&str]| fail(&checkout, &[&["predict", &model], arguments].concat());
    files_of_predictions(&checkout, [&model, &tweets, &out]);
    checkout.write(
        "long.txt",
        &format!("short\n{}\n", "a long text ".repeat(500)),
    );
    let long = checkout.run(&["predict", &model, &path("long.txt")]);
    assert!(
        long.err
            .contains("tokens that the model reads: 1, the first on line 2"),
        "{}",
        long.err
    );
    checkout.write(
        "ragged.csv",
        "id;review\n1;bad film\n2;good film; I mean it\n",
    );
    let said = over(&[&path("ragged.csv")]);
    assert!(
        said.contains("one column, `id;review`; if a character in it divides"),
        "{said}"
    );
    #[cfg(unix)]
    {
        let mut child = checkout.command(&["predict", &model, &tweets]);
        let mut child = child
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("ends");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && !said.contains("error"), "{said}");
    }
    let json = checkout.succeed(&["evaluate", &model, &tweets, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["rows"], 240);
    // The predictions that were written are those that are scored.
    let mut reader = csv::Reader::from_reader(written.as_bytes());
    let rows = reader.records().map(|row| row.expect("a row"));
    let right = rows.filter(|row| (&row[4] == "1") == (&row[5] == "disaster"));
    let right = right.count();
    let accuracy = json["scores"]["accuracy"].as_f64().expect("a number");
    assert!(
        (accuracy - right as f64 / 240.0).abs() < 1e-9,
        "{accuracy} {right}"
    );
    let table = checkout.succeed(&["evaluate", &model, &tweets]);
    assert!(table.contains("f1-positive"), "{table}");

    wrong_use_is_refused(&checkout, &model, &tweets);
}

/// Checks the error cases of a model and its training file.
fn wrong_use_is_refused(checkout: &Checkout, model: &str, tweets: &str) {
    let path = |part: &str| checkout.path(part).to_str().expect("UTF-8").to_string();
    let (nowhere, zipped, other) = (path("no/where.csv"), path("p.csv.gz"), path("datasets"));
    let train = ["train", "fixture-tweets", "--encoder", "fixture-bert"];
    let again = [&train[..], &["--save", model]].concat();
    let new = path("new");
    let adapter = [&train[..], &["--save", &new, "--adapter"]].concat();
    let mean = ["--strategy", "lora", "--pooling", "mean"];
    let headless = [&adapter[..], &mean].concat();
    let separate = [&train[..], &["--pairs", "separate"]].concat();
    let deep = [&train[..], &["--strategy", "last-9"]].concat();
    let none = [&train[..], &["--epochs", "0"]].concat();
    let uphill = [&train[..], &["--lr", "-1"]].concat();
    let cases: [(&[&str], &str); 14] = [
        (&uphill, "--lr: found -1, expected more than 0"),
        (&deep, "--strategy: found 9, expected from 1 to"),
        (&none, "--epochs: found 0, expected at least 1"),
        (&separate, "--pairs: `fixture-tweets` has single texts"),
        (&again, "already there and not empty"),
        (&adapter, "--adapter: found the strategy `full"),
        (&headless, "--adapter: PEFT needs a class of transformers"),
        (
            &["predict", model, tweets, "--text", "txt"],
            "no column `txt`; did you mean `text`?",
        ),
        (
            &["predict", model, tweets, "--out", &nowhere],
            "where.csv: cannot be written",
        ),
        (
            &["predict", model, tweets, "--out", &zipped],
            "predictions are not compressed",
        ),
        (
            &["evaluate", model, tweets, "--encoding", "latin-99"],
            "found `latin-99`, expected an encoding",
        ),
        (&["predict", &other, tweets], "found no `totune.json`"),
        (
            &[
                "train",
                "fixture-tweets",
                "--text",
                "text",
                "--encoder",
                "fixture-bert",
            ],
            "its card says what the columns are",
        ),
        (
            &["evaluate", model, tweets, "--label", "keyword"],
            "is no label of the model",
        ),
    ];
    for (arguments, expected) in cases {
        let error = fail(checkout, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn a_training_that_learned_nothing_says_so() {
    let checkout = Checkout::new();
    let train = ["train", "fixture-tweets", "--encoder", "fixture-bert"];
    let said = |options: &str| {
        let options: Vec<&str> = options.split(' ').collect();
        let run = checkout.run(&[&train[..], &options].concat());
        assert_eq!(run.code, Some(0), "{options:?}: {}", run.err);
        run.err.contains("the model has learned nothing")
    };
    // At this rate all texts get the same answer.
    assert!(said("--lr 0.1 --epochs 1"));
    assert!(!said("--strategy frozen --pooling mean --lr 1e-2"));
}

#[test]
fn programs_get_the_scores_and_the_saved_model_as_json() {
    let checkout = Checkout::new();
    let said = train(
        &checkout,
        "fixture-tweets",
        &["--lr", "0.1", "--epochs", "1", "--json"],
    );
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(
        (&said["strategy"], &said["learned"], &said["restarts"]),
        (&"full".into(), &false.into(), &0.into()),
        "{said}"
    );
    let model = &said["model"];
    assert_eq!(
        model["transformers"], "BertForSequenceClassification",
        "{said}"
    );
    assert!(
        model["folder"]
            .as_str()
            .is_some_and(|folder| folder.ends_with("/m")),
        "{said}"
    );
    assert!(model["compared"].as_u64() > Some(0), "{said}");
    let test = said["scores"]["test"]["accuracy"].as_f64();
    assert!(
        test.is_some_and(|score| (0.0..=1.0).contains(&score)),
        "{said}"
    );
    assert!(said["examples"]["test"].as_u64() > Some(0), "{said}");
}

#[test]
fn scores_pairs_and_tags_are_kept_too() {
    for (dataset, arguments, said_of_form, file) in [
        (
            "fixture-similarity",
            "--strategy lora --epochs 1",
            "BertForSequenceClassification",
            "fixtures/data/similarity/glue/dev.tsv",
        ),
        (
            "fixture-similarity",
            "--strategy full --epochs 1 --pairs separate",
            "only totune loads",
            "fixtures/data/similarity/glue/dev.tsv",
        ),
        (
            "fixture-stars",
            "--strategy frozen --epochs 1",
            "BertForSequenceClassification",
            "fixtures/data/own/reviews.jsonl",
        ),
        (
            "fixture-ner",
            "--strategy two-phase --epochs 2",
            "BertForTokenClassification",
            "fixtures/data/ner/test.jsonl",
        ),
    ] {
        let checkout = Checkout::with(&[("tune", TUNE)]);
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let said = train(&checkout, dataset, &arguments);
        assert!(said.contains(said_of_form), "{said}");
        let path = |part: &str| checkout.path(part).to_str().expect("UTF-8").to_string();
        let (model, file) = (path("m"), path(file));
        // The layout used in training has other names for its columns.
        let columns: &[&str] = match dataset {
            "fixture-ner" => &["--text", "words"],
            _ => &[],
        };
        let arguments = [&["predict", &model, &file, "--json"], columns].concat();
        let out = checkout.succeed(&arguments);
        assert!(
            out.lines().all(|line| line.contains("\"predicted\"")),
            "{out}"
        );
    }
}

#[test]
fn the_model_of_a_run_is_kept_by_training_it_again() {
    let checkout = Checkout::with(&[("tune", TUNE)]);
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    let (id, to) = (checkout.ids().swap_remove(0), checkout.path("m"));
    let to = to.to_str().expect("UTF-8");
    let said = checkout.succeed(&["train", "--run", &id, "--save", to]);
    let tables = checkout.tables(&id);
    let is_score = |row: &&totune_record::EvalRow| {
        row.is_final && row.split == "test" && row.metric == "f1-macro"
    };
    let score = tables.evals.iter().find(is_score).expect("a score").value;
    assert!(
        said.contains(&format!("test  f1-macro             {score:.4}")),
        "{said} {score}"
    );
    let manifest = fs::read_to_string(checkout.path("m/totune.json")).expect("a manifest");
    assert!(manifest.contains("\"experiment\": \"tune\""), "{manifest}");
    for option in [["--lr", "1e-3"], ["--text", "body"]] {
        let arguments = [&["train", "--run", &id, "--save", to], &option[..]].concat();
        let said = checkout.run(&arguments);
        assert_eq!(said.code, Some(2));
        let (expected, name) = ("'--run <ID>' cannot be used with", option[0]);
        assert!(
            said.err.contains(expected) && said.err.contains(name),
            "{}",
            said.err
        );
    }
}
