//! The committed cards, and facts that hold for every card.

use std::path::{Path, PathBuf};
use totune_data::{Catalogue, Repeats};

fn cards() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets")
}

#[test]
fn every_committed_card_is_filled_in() {
    let catalogue = Catalogue::read(&cards()).expect("valid cards");
    assert_eq!(Vec::from_iter(catalogue.broken()), []);
    assert!(catalogue.names().contains(&"disaster-tweets"));
    for card in catalogue.cards() {
        for (key, text) in [
            ("title", &card.title),
            ("licence", &card.licence),
            ("citation", &card.citation),
            ("homepage", &card.homepage),
            ("instructions", &card.instructions),
        ] {
            assert!(!text.trim().is_empty(), "{}: {key} is empty", card.name);
        }
        assert!(!card.metrics.is_empty(), "{}: no metrics", card.name);
    }
}

#[test]
fn every_fixture_loads_without_a_data_root() {
    let catalogue = Catalogue::read(&cards()).expect("valid cards");
    let fixtures: Vec<_> = catalogue
        .cards()
        .iter()
        .filter(|card| card.fixture)
        .collect();
    assert!(!fixtures.is_empty());
    for card in fixtures {
        for split in card.split_names() {
            card.load_split(Path::new("nowhere"), split)
                .expect("a fixture that agrees with its card");
        }
    }
}

#[test]
fn the_fixture_tweets_have_the_quirks_they_were_made_for() {
    let catalogue = Catalogue::read(&cards()).expect("valid cards");
    let card = catalogue.find("fixture-tweets").expect("the fixture");
    let dataset = card.load(Path::new("nowhere")).expect("the fixture file");
    let expected = Repeats {
        rows: 6,
        texts: 6,
        contradicting: 2,
    };
    assert_eq!(dataset.repeats(), expected);
    let count = |what: &str| {
        dataset
            .examples
            .iter()
            .filter(|example| example.input.texts()[0].contains(what))
            .count()
    };
    assert_eq!(count("\n"), 12);
    assert!(
        count("\"") > 0 && count("http") > 0 && count("@") > 0 && count("😂") > 0 && count("é") > 0
    );
    assert_eq!(
        dataset
            .examples
            .iter()
            .filter(|example| example.group.is_none())
            .count(),
        16
    );
    assert_eq!(
        (dataset.counts(), dataset.positive),
        (vec![137, 103], Some(1))
    );
    let groups = dataset
        .examples
        .iter()
        .filter_map(|example| example.group.as_deref());
    assert_eq!(groups.collect::<std::collections::HashSet<_>>().len(), 16);
}

#[test]
fn a_missing_file_is_explained_in_one_message() {
    let catalogue = Catalogue::read(&cards()).expect("valid cards");
    let card = catalogue.find("disaster-tweets").expect("its card");
    let message = card
        .missing(Path::new("nowhere"), &["train"])
        .expect("nothing is there");
    for part in [
        "`disaster-tweets`",
        "nowhere/disaster_tweets/train.csv",
        "kaggle.com",
        "Put it at",
        "TOTUNE_DATA",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    let error = card
        .load(Path::new("nowhere"))
        .expect_err("nothing to load");
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_dataset_hash_is_of_what_was_read_and_not_of_the_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let read = |name: &str, from: &str, to: &str, bytes: &str| {
        let card = CARD
            .replace("NAME", name)
            .replace("SHA", &totune_data::sha256_hex(bytes.as_bytes()))
            .replace(from, to);
        std::fs::write(folder.path().join(format!("{name}.csv")), bytes).expect("a file");
        let path = folder.path().join(format!("{name}.toml"));
        std::fs::write(&path, card).expect("a card");
        totune_data::Card::read(&path)
            .and_then(|card| card.load(folder.path()))
            .expect("a dataset")
            .hash
    };
    let plain = read("a", "", "", "id,text,label\n1,x,0\n2,y,1\n");
    assert_eq!(
        plain,
        read(
            "b",
            "",
            "",
            "\u{feff}id,text,label\r\n1,\"x\",0\r\n2,y,1\r\n"
        )
    );
    assert_ne!(plain, read("c", "", "", "id,text,label\n1,x,0\n2,z,1\n"));
    assert_ne!(
        plain,
        read(
            "d",
            "text = \"text\"",
            "text = \"id\"",
            "id,text,label\n1,x,0\n2,y,1\n"
        )
    );
    assert_ne!(
        plain,
        read("e", "\"no\"", "\"none\"", "id,text,label\n1,x,0\n2,y,1\n")
    );
}

const CARD: &str = r#"
name = "NAME"
title = "t"
task = "classification"
metrics = ["accuracy"]
labels = ["no", "yes"]

[[layouts]]
format = { kind = "csv" }
columns = { id = "id", text = "text", label = "label" }
values = ["0", "1"]
files.train = { path = "NAME.csv", sha256 = "SHA" }
"#;
