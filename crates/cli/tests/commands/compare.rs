//! `totune compare` on fixtures and on a user's file.

use std::fs;

use serde_json::Value;

use crate::support::{Checkout, CommandOutput};

/// The result of a successful comparison, whose output is in `out`.
fn comparison(checkout: &Checkout, arguments: &[&str]) -> Value {
    let out = checkout.path("out");
    let out = out.to_str().expect("UTF-8");
    let common = ["--encoder", "fixture-bert", "--out", out, "--json"];
    let said = checkout.run(&[&["compare"], arguments, &common].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    serde_json::from_str(&said.out).expect("JSON")
}

fn row<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let rows = comparison["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn small_data_is_compared_by_folds_and_the_page_says_that_it_is_a_fixture() {
    let checkout = Checkout::new();
    let arguments = ["fixture-tweets", "--budget", "6s", "--strategies", "frozen"];
    let comparison = comparison(&checkout, &arguments);
    // The word lists of the fixture determine its labels.
    let (words, majority) = (row(&comparison, "words"), row(&comparison, "majority"));
    let score = |row: &Value| row["test"]["value"].as_f64().expect("a score");
    assert!(score(words) > score(majority) + 0.1, "{words} {majority}");
    let test = &words["test"];
    assert!(test["low"].as_f64() < test["value"].as_f64());
    assert!(comparison["chosen"].is_string());
    let notes = comparison["notes"].to_string();
    assert!(notes.contains("5-fold cross-validation"), "{notes}");
    assert!(notes.contains("corrected for the choice"), "{notes}");
    // The sentence has the corrected score, and the table what it was before.
    let of_choice = row(
        &comparison,
        comparison["chosen"].as_str().expect("a choice"),
    );
    let corrected = comparison["score"]["value"].as_f64().expect("a score");
    let sentence = comparison["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.contains(&format!("accuracy {corrected:.3}")),
        "{sentence}"
    );
    assert!(
        notes.contains(&format!(
            "the one in the table, {:.3}, is not",
            score(of_choice)
        )),
        "{notes}"
    );
    assert!(
        corrected <= score(of_choice) + 0.02,
        "{corrected} {of_choice}"
    );
    if of_choice["name"] == "words" {
        let apart = score(majority) - score(words);
        let difference = majority["difference"]["value"]
            .as_f64()
            .expect("a difference");
        // Lowered by what the choice gained by being chosen.
        let gained = difference - apart;
        assert!(
            (0.0..0.1).contains(&(gained + 1e-9)),
            "{difference} {apart}"
        );
    }
    let page = fs::read_to_string(checkout.path("out/index.html")).expect("a page");
    assert!(page.contains("committed fixtures with random weights"));
    assert!(page.contains("<h2>Errors, the first") || page.contains("worst errors"));
    let written = fs::read_to_string(checkout.path("out/comparison.json")).expect("numbers");
    assert_eq!(
        serde_json::from_str::<Value>(&written).expect("JSON"),
        comparison
    );
}

#[test]
fn what_has_no_time_is_named_and_options_that_have_no_effect_are_refused() {
    let checkout = Checkout::new();
    let arguments = [
        "fixture-tweets",
        "--budget",
        "1s",
        "--strategies",
        "full,lora",
    ];
    let comparison = comparison(&checkout, &arguments);
    for name in ["full", "lora"] {
        let row = row(&comparison, name);
        assert!(row["test"].is_object() || row["note"].is_string(), "{row}");
    }
    let said = checkout.run(&["compare", "fixture-tweets", "--label", "target"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("its card says what the columns are"),
        "{}",
        said.err
    );
}

#[test]
fn strategies_are_tried_on_each_of_several_encoders() {
    let checkout = Checkout::new();
    let arguments = [
        "fixture-tweets",
        "--budget",
        "12s",
        "--strategies",
        "frozen",
    ];
    let another = ["--encoder", "fixture-bert@random"];
    let comparison = comparison(&checkout, &[&arguments[..], &another].concat());
    assert_eq!(
        comparison["encoders"],
        serde_json::json!(["fixture-bert@random", "fixture-bert"])
    );
    for encoder in ["fixture-bert", "fixture-bert@random"] {
        for name in ["vectors", "frozen"] {
            let row = row(&comparison, &format!("{name} on {encoder}"));
            assert_eq!(row["encoder"], encoder);
        }
    }
    assert!(row(&comparison, "words")["encoder"].is_null());
    let page = fs::read_to_string(checkout.path("out/index.html")).expect("a page");
    assert!(page.contains("Encoders fixture-bert@random, fixture-bert"));
}

#[test]
fn a_file_of_ones_own_is_split_and_its_card_written_next_to_it() {
    let checkout = Checkout::new();
    let line = |at: usize| {
        let (word, label) = if at.is_multiple_of(3) {
            ("bad", "negative")
        } else {
            ("good", "positive")
        };
        format!("\"this one is {word}, number {at}\",{label}\n")
    };
    let lines: String = (0..1200).map(line).collect();
    checkout.write("mine/reviews.csv", &format!("text,label\n{lines}"));
    let file = checkout.path("mine/reviews.csv");
    let file = file.to_str().expect("UTF-8");
    let arguments = [file, "--budget", "8s", "--strategies", "frozen,full"];
    let comparison = comparison(&checkout, &arguments);
    assert_eq!(
        row(&comparison, "words")["test"]["value"],
        1.0,
        "{comparison}"
    );
    assert_eq!(comparison["dataset"], "reviews");
    let notes = comparison["notes"].to_string();
    assert!(notes.contains("Of 1200 examples 780 are train"), "{notes}");
    assert!(checkout.path("mine/reviews.toml").is_file());
    assert!(
        comparison["sentence"]
            .as_str()
            .expect("a sentence")
            .contains("accuracy 1.000")
    );
}

#[test]
fn numbers_pairs_and_tags_are_compared_too() {
    let checkout = Checkout::new();
    let pair = |at: usize| {
        let shared = if at.is_multiple_of(2) {
            "apples"
        } else {
            "pears"
        };
        let near = if at.is_multiple_of(2) { 4.5 } else { 0.5 };
        format!("apples number {at},{shared} again,{near}\n")
    };
    let pairs: String = (0..80).map(pair).collect();
    checkout.write("mine/pairs.csv", &format!("first,second,score\n{pairs}"));
    let sentence = |at: usize| format!("Anna B-PER\nsees O\nthing{at} O\n\n");
    let sentences: String = (0..80).map(sentence).collect();
    checkout.write("mine/names.conll", &sentences);
    let pairs = ["--text", "first", "--second", "second", "--label", "score"];
    for (file, columns, metric, least) in [
        ("pairs.csv", &pairs[..], "pearson", 0.9),
        ("names.conll", &[][..], "span-f1", 0.9),
    ] {
        let file = checkout.path(&format!("mine/{file}"));
        let arguments = [
            file.to_str().expect("UTF-8"),
            "--budget",
            "5s",
            "--strategies",
            "frozen",
            "--replace",
        ];
        let comparison = comparison(&checkout, &[&arguments, columns].concat());
        assert_eq!(comparison["metric"], metric, "{comparison}");
        let words = row(&comparison, "words")["test"]["value"].as_f64();
        assert!(words.is_some_and(|score| score > least), "{comparison}");
        let rows = comparison["rows"].as_array().expect("rows");
        let cosine = rows.iter().find(|row| row["name"] == "cosine");
        assert_eq!(cosine.is_some(), metric == "pearson", "{comparison}");
        assert!(cosine.is_none_or(|row| row["test"]["value"].is_number()));
    }
}

#[test]
fn texts_longer_than_the_encoder_reads_are_cut() {
    let checkout = Checkout::new();
    let text = |at: usize| {
        let word = if at.is_multiple_of(2) { "kite" } else { "mill" };
        // `fixture-bert` has 64 positions.
        format!("number {at} {}", format!("{word} ").repeat(150))
    };
    let line = |at: usize| {
        format!(
            "{},{}\n",
            text(at),
            if at.is_multiple_of(2) { "a" } else { "b" }
        )
    };
    let lines: String = (0..60).map(line).collect();
    checkout.write("mine/long.csv", &format!("text,label\n{lines}"));
    let file = checkout.path("mine/long.csv");
    let file = file.to_str().expect("UTF-8");
    let arguments = [
        file,
        "--budget",
        "30s",
        "--strategies",
        "last-1",
        "--seeds",
        "1",
    ];
    let comparison = comparison(&checkout, &arguments);
    let score = row(&comparison, "last-1")["test"]["value"].as_f64();
    assert!(score.is_some(), "{comparison}");
    let note = "fill the 64 tokens that `fixture-bert` reads of each: 60 of 60;";
    assert!(
        comparison["notes"].to_string().contains(note),
        "{comparison}"
    );
    let card = file.replace(".csv", ".toml");
    let train = ["train", &card, "--encoder", "fixture-bert"];
    let said = checkout.run(&[&train[..], &["--strategy", "frozen", "--epochs", "1"]].concat());
    let note = "note: texts that fill the 64 tokens that the model reads: 60 of 60;";
    assert_eq!(said.err.matches(note).count(), 1, "{}", said.err);
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let checkout = Checkout::new();
    checkout.write("few.csv", "text,label\na,x\nb,y\nc,x\nd,y\n");
    let few = checkout.path("few.csv");
    for (arguments, expected) in [
        (
            vec!["compare", "fixture-tweet"],
            "unknown dataset `fixture-tweet`; did you mean `fixture-tweets`?",
        ),
        (vec!["compare", "nothing.csv"], "nothing.csv: no such file"),
        (
            vec!["compare", few.to_str().expect("UTF-8")],
            "found 4 training examples, expected at least 50",
        ),
        (
            vec!["compare", "fixture-tweets", "--strategies", "ful"],
            "--strategies: unknown strategy `ful`: did you mean `full`? expected one of frozen, ",
        ),
        (
            vec!["compare", "fixture-tweets", "--budget", "10"],
            "found `10`, expected a time such as 90s, 10m, 1h or 5m30s",
        ),
        (
            vec!["compare", "fixture-tweets", "--encoder", "fixture-brt"],
            "unknown encoder `fixture-brt`",
        ),
    ] {
        let CommandOutput { code, err, .. } = checkout.run(&arguments);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains(expected), "{err}");
        assert!(!checkout.path("compare").exists());
    }
    std::fs::write(checkout.path("own.csv"), "text,label\na,1\nb,0\n").expect("a file");
    let said = checkout.run(&["compare", "own.csv", "--encoder", "fixture-brt"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(!checkout.path("own.toml").exists(), "nothing is half done");
}

#[test]
fn the_result_of_other_data_is_not_replaced_unless_asked() {
    let checkout = Checkout::new();
    let rows = |word: &str| -> String {
        let line = |at: usize| format!("{word} {at},{}\n", ["no", "yes"][at % 2]);
        (0..60).map(line).collect()
    };
    for (folder, word) in [("a", "kite"), ("b", "mill"), ("c", "kite")] {
        let file = format!("{folder}/reviews.csv");
        checkout.write(&file, &format!("text,label\n{}", rows(word)));
    }
    let out = checkout.path("out");
    let out = out.to_str().expect("UTF-8");
    let compare = |folder: &str, more: &[&str]| {
        let file = checkout.path(&format!("{folder}/reviews.csv"));
        let file = file.to_str().expect("UTF-8");
        let arguments = ["compare", file, "--encoder", "fixture-bert", "--out", out];
        let short = ["--budget", "2s", "--strategies", "frozen"];
        checkout.run(&[&arguments[..], &short, more].concat())
    };
    let page = || fs::read_to_string(checkout.path("out/index.html")).expect("a page");
    assert_ne!(compare("a", &[]).code, Some(2));
    let first = page();
    let refused = compare("b", &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for expected in [
        "found the result of other data, `reviews`",
        "--out",
        "--replace",
    ] {
        assert!(refused.err.contains(expected), "{}", refused.err);
    }
    assert_eq!(page(), first);
    // The same rows in another file are the same data.
    assert_ne!(compare("c", &[]).code, Some(2));
    assert_ne!(compare("b", &["--replace"]).code, Some(2));
    assert_ne!(page(), first);
    // A page of something else.
    fs::remove_file(checkout.path("out/comparison.json")).expect("a file");
    assert_eq!(compare("b", &[]).code, Some(2));
}

#[test]
fn options_that_differ_from_the_card_of_the_file_are_refused() {
    let checkout = Checkout::new();
    checkout.write(
        "mine/reviews.csv",
        "text,label,stars\ngood,yes,2\nbad,no,1\nfine,yes,2\n",
    );
    let file = checkout.path("mine/reviews.csv");
    let file = file.to_str().expect("UTF-8");
    let said = checkout.run(&["data", "new", file, "--label", "stars"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let card = said.out;
    let said = checkout.run(&["compare", file, "--label", "label"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    for expected in [
        "error: --label: ",
        "reviews.toml is already there and says something else",
        "--replace",
    ] {
        assert!(said.err.contains(expected), "{}", said.err);
    }
    // The same options once more are no contradiction; three examples are too few for a comparison.
    let said = checkout.run(&["compare", file, "--label", "stars", "--text", "text"]);
    assert!(!said.err.contains("--label"), "{}", said.err);
    let kept = fs::read_to_string(checkout.path("mine/reviews.toml"));
    assert_eq!(kept.expect("a card"), card);
}

/// With folds a model is trained on all examples, with a dev split one of the trials is saved; also where a floor is
/// better.
#[test]
fn the_model_of_the_best_strategy_is_saved() {
    let line = |at: usize| {
        let (word, label) = if at.is_multiple_of(3) {
            ("bad", "negative")
        } else {
            ("good", "positive")
        };
        format!("it is {word} number {at},{label}\n")
    };
    for (rows, scored) in [(60, "cross-validation"), (1100, "test")] {
        let checkout = Checkout::new();
        let lines: String = (0..rows).map(line).collect();
        checkout.write("mine/reviews.csv", &format!("text,label\n{lines}"));
        let path = |part: &str| checkout.path(part).to_str().expect("UTF-8").to_string();
        let (file, model, out) = (path("mine/reviews.csv"), path("m"), path("out"));
        let arguments = ["compare", &file, "--encoder", "fixture-bert", "--out", &out];
        let short = ["--budget", "30s", "--strategies", "frozen", "--seeds", "2"];
        let said = checkout.run(&[&arguments[..], &short, &["--save", &model]].concat());
        if said.err.contains("no model was saved") {
            // A machine too busy to train at all.
            assert_eq!(said.code, Some(1), "{}", said.err);
            continue;
        }
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(said.out.contains("read back: 32 examples"), "{}", said.out);
        assert!(!said.out.contains("To train and keep this model"));
        let card = fs::read_to_string(checkout.path("m/README.md")).expect("a model card");
        let n = if rows < 1000 { 60 } else { 220 };
        let row = card
            .lines()
            .find(|line| line.starts_with(&format!("| {scored} | accuracy |")));
        assert!(
            row.is_some_and(|row| row.ends_with(&format!("| {n} |"))),
            "{card}"
        );
        checkout.succeed(&["evaluate", &model, &file]);
        // A folder with something in it is refused before any time is spent.
        let again = checkout.run(&[&arguments[..], &["--save", &model]].concat());
        assert_eq!(again.code, Some(2));
        assert!(
            again.err.contains("already there and not empty"),
            "{}",
            again.err
        );
    }
}

#[test]
fn a_file_is_drafted_with_the_options_of_data_new() {
    let checkout = Checkout::new();
    let mut bytes = b"body;stars\n;good\n".to_vec();
    for at in 0..80 {
        let (word, label) = if at % 3 == 0 {
            ("mauvais", "bad")
        } else {
            ("très bon", "good")
        };
        let word: Vec<u8> = word.chars().map(|letter| letter as u8).collect();
        bytes.extend(
            [
                b"un livre ",
                &word[..],
                format!(" {at};{label}\n").as_bytes(),
            ]
            .concat(),
        );
    }
    fs::create_dir_all(checkout.path("mine")).expect("a folder");
    fs::write(checkout.path("mine/books.csv"), bytes).expect("written");
    let file = checkout.path("mine/books.csv");
    let file = file.to_str().expect("UTF-8");
    let columns = ["--text", "body", "--label", "stars", "--budget", "6s"];
    let refused = checkout.run(&[&["compare", file][..], &columns].concat());
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("give --encoding"), "{}", refused.err);
    let encoded = [&["compare", file][..], &columns, &["--encoding", "latin1"]].concat();
    let refused = checkout.run(&encoded);
    assert!(refused.err.contains("--empty"), "{}", refused.err);
    let more = [
        "--encoding",
        "latin1",
        "--empty",
        "drop",
        "--strategies",
        "frozen",
    ];
    let comparison = comparison(&checkout, &[&[file][..], &columns, &more].concat());
    let words = &row(&comparison, "words")["test"]["value"];
    assert_eq!(*words, 1.0, "{comparison}");
}
