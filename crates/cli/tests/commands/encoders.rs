//! `totune encoders`: its lists, the findings of checks, and the output of conversions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Checkout;

/// A checkpoint of `fixtures/checkpoint`.
fn fixture(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/checkpoint")
        .join(name);
    path.to_str().expect("UTF-8").to_string()
}

#[test]
fn the_list_says_what_is_found_and_what_is_missing() {
    let checkout = Checkout::new();
    let out = checkout.succeed(&["encoders", "list", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let row = |name: &str| {
        let rows = rows.as_array().expect("rows");
        rows.iter()
            .find(|row| row["name"] == name)
            .expect("a row")
            .clone()
    };
    assert_eq!(row("fixture-bert")["format"], "safetensors");
    assert_eq!(row("fixture-bert")["parameters"], 46_656);
    assert_eq!(row("elmo-original")["architecture"], "elmo");
    assert_eq!(row("elmo-original")["format"], serde_json::Value::Null);

    let out = checkout.succeed(&["encoders", "list"]);
    assert!(
        out.contains(
            "fixture-bert                 bert             46,656  safetensors  fixtures/"
        ),
        "{out}"
    );
    assert!(
        out.contains("109,482,240  missing      BERT-base uncased"),
        "{out}"
    );
}

#[test]
fn a_check_ends_well_or_with_every_difference() {
    let checkout = Checkout::new();
    let out = checkout.succeed(&["encoders", "check"]);
    assert!(out.contains("fixture-bert: agrees\n"), "{out}");
    for own in ["tensorflow", "elmo", "safetensors/model.safetensors"] {
        let out = checkout.succeed(&["encoders", "check", &fixture(own)]);
        assert!(out.contains(": agrees\n"), "{own}: {out}");
    }

    let card = checkout.path("encoders/fixture-bert.toml");
    let text = fs::read_to_string(&card).expect("a card");
    fs::write(
        &card,
        text.replace("intermediate_size = 64", "intermediate_size = 65"),
    )
    .expect("a card");
    let said = checkout.run(&["encoders", "check", "fixture-bert"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(
        said.out.starts_with("fixture-bert: 12 differences\n"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("encoder.layer.3.output.dense.weight: found [32, 64], expected [32, 65]"),
        "{}",
        said.out
    );

    let said = checkout.run(&["encoders", "check", "bert-base-uncased"]);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("get it: "), "{}", said.out);
    let said = checkout.run(&["encoders", "check", "fixture-brt"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains(
            "unknown encoder `fixture-brt`; did you mean `fixture-bert`? the nearest of "
        ),
        "{}",
        said.err
    );
}

#[test]
fn a_card_of_ones_own_is_drafted_loaded_and_agrees() {
    let checkout = Checkout::new();
    for (from, option, expected) in [
        (
            "electra-tiny",
            "--lowercase",
            r#"ignore   = ["discriminator_predictions."]"#,
        ),
        ("xlm-roberta-tiny", "--cased", "pad_token_id = 1"),
        ("roberta-tiny", "--cased", r#"ignore   = ["lm_head."]"#),
        ("albert-tiny", "--cased", r#"hidden_act = "gelu_new""#),
    ] {
        let name = format!("own-{from}");
        let folder = checkout.path(&format!("encoders/{name}"));
        let files = checkout.path(&format!("fixtures/encoders/{from}"));
        fs::rename(files, &folder).expect("a committed folder");
        let folder = folder.to_str().expect("UTF-8");
        let out = checkout.succeed(&["encoders", "new", folder, option]);
        assert!(out.contains(expected), "{out}");
        let card = fs::read_to_string(checkout.path(&format!("encoders/{name}.toml")));
        assert_eq!(card.expect("a card"), out);
        let out = checkout.succeed(&["encoders", "check", &name]);
        assert!(out.contains(": agrees\n"), "{out}");

        let said = checkout.run(&["encoders", "new", folder, option]);
        assert_eq!(said.code, Some(2));
        assert!(said.err.contains("is already there"), "{}", said.err);
    }
}

#[test]
fn a_folder_that_makes_no_card_is_answered_with_the_part_that_does_not_fit() {
    let checkout = Checkout::new();
    let folder = checkout.path("fixtures/encoders/electra-tiny");
    let config = folder.join("config.json");
    let own = fs::read_to_string(&config).expect("a committed file");
    let refused = |options: &[&str]| {
        let folder = folder.to_str().expect("UTF-8");
        let said = checkout.run(&[&["encoders", "new", folder], options].concat());
        assert_eq!(said.code, Some(2), "{}", said.out);
        said.err
    };
    let error = refused(&[]);
    assert!(error.contains("add --lowercase or --cased"), "{error}");
    for (known, other, expected) in [
        ("electra", "longformer", r#"model_type: found "longformer""#),
        (
            r#""hidden_size": 18"#,
            r#""hidden_size": 21"#,
            "shape       embeddings_project.weight: found [18, 11], expected [21, 11]",
        ),
    ] {
        fs::write(&config, own.replacen(known, other, 1)).expect("a file");
        let error = refused(&["--lowercase", "--out", "mine.toml"]);
        assert!(error.contains(expected), "{error}");
    }
    fs::write(&config, own).expect("a file");
    let vocabulary = folder.join("vocab.txt");
    fs::rename(vocabulary, checkout.path("vocab.txt")).expect("a file");
    let error = refused(&["--lowercase", "--out", "mine.toml"]);
    assert!(error.contains("no `tokenizer.json`"), "{error}");
    assert!(!checkout.path("mine.toml").exists());
}

#[test]
fn a_conversion_is_checked_like_what_it_came_from() {
    let checkout = Checkout::new();
    for (from, dtype) in [("tensorflow", "f32"), ("elmo", "f16")] {
        let to = checkout.path(from);
        let to = to.to_str().expect("UTF-8");
        let arguments = [
            "encoders",
            "convert",
            &fixture(from),
            "--to",
            to,
            "--dtype",
            dtype,
        ];
        let out = checkout.succeed(&arguments);
        assert!(
            out.contains("model.safetensors: ") && out.contains("sha-256  "),
            "{out}"
        );
        let out = checkout.succeed(&["encoders", "check", to]);
        assert!(out.contains(": agrees\n"), "{out}");

        let said = checkout.run(&arguments);
        assert_eq!(said.code, Some(2));
        assert!(said.err.contains("is not empty"), "{}", said.err);
    }
    let said = checkout.run(&["encoders", "convert", "no/where", "--to", "x"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("no/where: cannot be read"),
        "{}",
        said.err
    );
}
