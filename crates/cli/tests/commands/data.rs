//! `totune data`: its lists, checks, counts, examples and files, and the exit codes.

use std::fs;

use serde_json::Value;

use crate::support::Checkout;

const REVIEWS: &str =
    "id,text,label\n1,a fine film,good\n2,\"fine, fine\",good\n3,a dull film,bad\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn every_split_is_listed_with_the_layout_it_was_found_in() {
    let checkout = Checkout::new();
    let table = checkout.succeed(&["data", "list"]);
    assert!(table.starts_with("dataset "), "{table}");
    let line = |name: &str| {
        table
            .lines()
            .find(|line| line.starts_with(name))
            .expect("a line")
    };
    assert!(
        line("fixture-tweets").ends_with("fixtures/data/tweets.csv"),
        "{table}"
    );
    assert!(line("disaster-tweets").ends_with("missing"), "{table}");
    let listed = json(&checkout.succeed(&["data", "list", "fixture-tweets", "--json"]));
    assert_eq!(
        listed[0]["splits"][0]["places"][0]["found"],
        Value::Bool(true)
    );
}

#[test]
fn a_changed_file_fails_the_check_and_the_difference_is_shown() {
    let checkout = Checkout::new();
    let said = checkout.run(&["data", "check", "fixture-tweets"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("agrees"), "{}", said.out);
    // In every layout, with ids and without.
    let said = checkout.run(&["data", "check", "fixture-ner"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let card = checkout.path("datasets/fixture-tweets.toml");
    let text = fs::read_to_string(&card).expect("the card");
    fs::write(&card, text.replace("repeats = 6", "repeats = 7")).expect("another card");
    let said = checkout.run(&["data", "check", "fixture-tweets"]);
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(said.out.contains("repeats  7         6"), "{}", said.out);
    let checked = json(
        &checkout
            .run(&["data", "check", "fixture-tweets", "--json"])
            .out,
    );
    assert_eq!(checked[0]["differences"][0]["fact"], "repeats");
    let said = checkout.run(&["data", "check", "disaster-tweets"]);
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(said.err.contains("kaggle.com"), "{}", said.err);
}

#[test]
fn statistics_are_printed_and_drawn() {
    let checkout = Checkout::new();
    let figure = checkout.path("tweets.png");
    let figure = figure.to_str().expect("a path");
    let arguments = [
        "data",
        "stats",
        "fixture-tweets",
        "--encoder",
        "fixture-bert",
    ];
    let text = checkout.succeed(&[&arguments[..], &["--figure", figure]].concat());
    for expected in ["no-disaster", "57.1 %", "wordpieces", "over 128"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(fs::read(figure).expect("a picture").starts_with(b"\x89PNG"));
    let counted = json(&checkout.succeed(&[&arguments[..], &["--json"]].concat()));
    assert_eq!(counted["splits"][0]["rows"], 240);
}

#[test]
fn examples_are_shown_as_a_model_gets_them() {
    let checkout = Checkout::new();
    let arguments = [
        "data",
        "show",
        "fixture-tweets",
        "--encoder",
        "fixture-bert",
        "--rows",
        "2",
    ];
    let text = checkout.succeed(&arguments);
    assert!(
        text.starts_with("2 of 240 examples of fixture-tweets train"),
        "{text}"
    );
    assert!(text.contains("\n  piece   [CLS] "), "{text}");
    let shown = json(&checkout.succeed(&[&arguments[..], &["--json"]].concat()));
    let lengths: Vec<usize> = (0..2)
        .map(|at| shown[at]["tokens"]["ids"].as_array().expect("ids").len())
        .collect();
    assert_eq!(lengths[0], lengths[1]);
}

#[test]
fn a_new_card_loads_at_once_and_is_never_overwritten() {
    let checkout = Checkout::new();
    checkout.write("mine/reviews.csv", REVIEWS);
    let file = checkout.path("mine/reviews.csv");
    let file = file.to_str().expect("a path");
    let said = checkout.run(&["data", "new", file]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let card = checkout.path("mine/reviews.toml");
    let card = card.to_str().expect("a path");
    assert!(
        checkout
            .succeed(&["data", "check", card])
            .contains("agrees")
    );
    let before = fs::read(card).expect("the card");
    let said = checkout.run(&["data", "new", file]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("never overwritten"), "{}", said.err);
    assert_eq!(fs::read(card).expect("the card"), before);

    // Below the data root, the card goes to the others.
    checkout.write("data/reviews.csv", REVIEWS);
    let file = checkout.path("data/reviews.csv");
    checkout.succeed(&["data", "new", file.to_str().expect("a path")]);
    assert!(
        checkout
            .succeed(&["data", "check", "reviews"])
            .contains("agrees")
    );
}

#[test]
fn a_file_that_has_changed_is_said_to_have_and_described_anew() {
    let checkout = Checkout::new();
    checkout.write("mine/reviews.csv", REVIEWS);
    let path = |name: &str| checkout.path(name).to_str().expect("a path").to_string();
    let (file, card) = (path("mine/reviews.csv"), path("mine/reviews.toml"));
    checkout.succeed(&["data", "new", &file]);
    checkout.write("mine/reviews.csv", &format!("{REVIEWS}4,a poor film,bad\n"));
    let said = checkout.run(&["data", "stats", &card]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    let expected = [
        format!("{file} has changed since its card {card} was written (sha256 "),
        format!("`totune data new {file} --replace` describes it as it is now"),
    ];
    for expected in &expected {
        assert!(said.err.contains(expected), "{expected}: {}", said.err);
    }
    checkout.succeed(&["data", "new", &file, "--replace"]);
    checkout.succeed(&["data", "stats", &card]);
    // A card with a name of its own is written there again.
    let other = path("mine/other.toml");
    checkout.succeed(&["data", "new", &file, "--out", &other]);
    checkout.write("mine/reviews.csv", REVIEWS);
    let said = checkout.run(&["data", "stats", &other]);
    let again = format!("`totune data new {file} --out {other} --replace`");
    assert!(said.err.contains(&again), "{}", said.err);
    checkout.succeed(&["data", "new", &file, "--out", &other, "--replace"]);
    checkout.succeed(&["data", "stats", &other]);

    let figure = path("nowhere/x.png");
    let said = checkout.run(&["data", "stats", &other, "--figure", &figure]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(
        said.err.contains("--figure: found no folder"),
        "{}",
        said.err
    );
    let said = checkout.run(&["data", "new", "reviews.csv"]);
    assert!(
        said.err.contains("reviews.csv: not found in "),
        "{}",
        said.err
    );
}

#[test]
fn a_named_dataset_without_files_is_in_the_check_for_programs() {
    let checkout = Checkout::new();
    let said = checkout.run(&["data", "check", "mrpc", "--json"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let found = json(&said.out);
    assert_eq!(found[0]["kind"], "missing", "{found}");
    let missing = found[0]["missing"].as_str().unwrap_or_default();
    assert!(missing.starts_with("dataset `mrpc`: missing "), "{found}");
    assert!(said.err.contains(missing), "{}", said.err);
}

#[test]
fn a_file_that_is_not_clear_is_asked_about_and_nothing_is_written() {
    let checkout = Checkout::new();
    checkout.write("mine/vague.csv", "alpha,beta\nx,y\nz,w\n");
    let file = checkout.path("mine/vague.csv");
    let said = checkout.run(&["data", "new", file.to_str().expect("a path")]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--header"), "{}", said.err);
    assert!(!checkout.path("mine/vague.toml").exists());
}

#[test]
fn texts_are_listed_checked_and_counted_like_datasets() {
    let checkout = Checkout::new();
    let table = checkout.succeed(&["data", "list"]);
    assert!(
        table.contains("\nTexts for language models\ntext "),
        "{table}"
    );
    let entries =
        json(&checkout.succeed(&["data", "list", "fixture-prose", "fixture-ner", "--json"]));
    assert_eq!(
        (&entries[0]["kind"], &entries[1]["kind"]),
        (&"dataset".into(), &"text".into())
    );
    assert_eq!(entries[1]["parts"][1]["part"], "held-out");

    let said = checkout.succeed(&["data", "check", "fixture-prose"]);
    assert!(
        said.contains("fixture-prose held-out  agrees  10 documents"),
        "{said}"
    );
    let file = checkout.path("fixtures/data/texts/prose.txt.zst");
    let bytes = fs::read(&file).expect("the file");
    fs::write(&file, &bytes[..bytes.len() - 9]).expect("a truncated file");
    let said = checkout.run(&["data", "check", "fixture-prose"]);
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(
        said.out.contains("truncated or corrupt frame"),
        "{}",
        said.out
    );
    let said = checkout.run(&["data", "stats", "fixture-prose"]);
    assert!(said.err.contains("prose.txt.zst: sha256"), "{}", said.err);
    fs::write(&file, bytes).expect("the file again");

    let counted = json(&checkout.succeed(&["data", "stats", "fixture-prose", "--json"]));
    assert_eq!(counted["parts"][0]["documents"], 96);
    let said = checkout.run(&["data", "stats", "fixture-pros"]);
    assert!(
        said.err
            .contains("unknown text `fixture-pros`; did you mean `fixture-prose`?"),
        "{}",
        said.err
    );
    let said = checkout.run(&["data", "stats", "fixture-prose", "--split", "dev"]);
    assert!(
        said.err.contains("expected `train` or `held-out`"),
        "{}",
        said.err
    );
    let said = checkout.run(&["data", "check", "pretraining-wiki"]);
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(said.err.contains("docs/texts.md"), "{}", said.err);
}

#[test]
fn shared_ngrams_are_counted_and_written_as_a_page() {
    let checkout = Checkout::new();
    let page = checkout.path("pages/overlap.md");
    let page = page.to_str().expect("a path");
    let arguments = [
        "data",
        "overlap",
        "fixture-prose",
        "fixture-tweets",
        "--n",
        "3",
    ];
    let table = checkout.succeed(&[&arguments[..], &["--out", page]].concat());
    assert!(
        table.contains("fixture-tweets  train    240          240             64  26.67 %"),
        "{table}"
    );
    let page = fs::read_to_string(page).expect("a page");
    assert!(
        page.contains("fixture-prose fixture-tweets --n 3 --out "),
        "{page}"
    );
    let report = json(&checkout.succeed(&[&arguments[..], &["--json"]].concat()));
    assert_eq!(report[0]["texts"][0]["shared"], 203);
    for (arguments, says) in [
        (&["fixture-tweets"][..], "no text or encoder is named"),
        (&["fixture-prose"], "no dataset was found below"),
        (&["fixture-prose", "disaster-tweets"], "kaggle.com"),
        (&["--pretraining", "fixture-tweets"], "missing"),
    ] {
        let said = checkout.run(&[&["data", "overlap"], arguments].concat());
        assert!(
            said.code != Some(0) && said.err.contains(says),
            "{}",
            said.err
        );
    }
}

#[test]
fn what_an_encoder_was_trained_on_is_compared_as_far_as_it_is_at_hand() {
    let checkout = Checkout::new();
    let arguments = [
        "data",
        "overlap",
        "fixture-bert",
        "fixture-tweets",
        "--n",
        "3",
    ];
    let said = checkout.run(&arguments);
    assert_eq!(said.code, Some(2), "{}", said.out);
    let expected = "encoder `fixture-bert`: its card lists no training data (`trained-on`)";
    assert!(said.err.contains(expected), "{}", said.err);

    let card = checkout.path("encoders/fixture-bert.toml");
    let text = fs::read_to_string(&card).expect("the card");
    let listing = |names: &str| {
        let text = text.replacen("licence", &format!("trained-on = [{names}]\nlicence"), 1);
        fs::write(&card, text).expect("another card");
    };
    listing("'fixture-prose', 'fixture-tweets', 'pretraining-wiki', 'Other news'");
    let said = checkout.run(&arguments);
    assert_eq!(said.code, Some(0), "{}", said.err);
    for expected in [
        "also trained on what is not at hand: pretraining-wiki, Other news",
        "fixture-tweets is in the training data of fixture-bert, by its card",
    ] {
        assert!(said.err.contains(expected), "{}", said.err);
    }
    let report = json(&checkout.succeed(&[&arguments[..], &["--json"]].concat()));
    let texts = report[0]["texts"].as_array().expect("texts");
    let names: Vec<&str> = texts
        .iter()
        .filter_map(|text| text["text"].as_str())
        .collect();
    assert_eq!(names, ["fixture-prose", "fixture-tweets train"]);
    // The same number of rows as `fixture-prose` shares by itself, and every row with itself.
    assert_eq!(
        report[0]["splits"][0]["shared"],
        serde_json::json!([64, 240])
    );

    listing("'Other news'");
    let said = checkout.run(&arguments);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(
        said.err.contains("nothing of the training data"),
        "{}",
        said.err
    );
}

/// A dataset under a misspelt name would never be found among the training data of an encoder.
#[test]
fn what_looks_like_a_name_in_the_training_data_of_an_encoder_has_a_card() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let datasets = totune_data::Catalogue::read(&root.join("datasets")).expect("cards");
    let texts = totune_data::TextCatalogue::read(&root.join("datasets/texts")).expect("cards");
    let encoders = totune_model::EncoderCatalogue::read(&root.join("encoders")).expect("cards");
    let known = [datasets.names(), texts.names()].concat();
    for encoder in encoders.names() {
        let card = encoders.find(encoder).expect("a card");
        assert_eq!(
            card.fixture || encoder == "elmo-tiny",
            card.trained_on.is_empty(),
            "{encoder}"
        );
        for name in card.shares_texts.values().flatten() {
            assert!(datasets.find(name).is_ok(), "{encoder}: {name}");
        }
        for name in &card.trained_on {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let in_words = !name.chars().all(plain);
            assert!(
                in_words || known.contains(&name.as_str()),
                "{encoder}: {name}"
            );
        }
    }
}
