//! Plain text: the committed cards, their fixtures, and the real files where they are.

use std::path::{Path, PathBuf};
use totune_data::TextCard;

fn cards() -> Vec<TextCard> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/texts");
    let entries = std::fs::read_dir(folder).expect("the cards");
    let paths = entries.map(|entry| entry.expect("a file").path());
    let cards = paths.map(|path| TextCard::read(&path).expect("a valid card"));
    cards.collect()
}

fn fixture(name: &str) -> Vec<String> {
    let card = cards().into_iter().find(|card| card.name == name);
    card.expect("a fixture")
        .paragraphs(Path::new("nowhere"))
        .expect("a fixture that agrees with its card")
}

#[test]
fn what_stands_for_text_or_around_it_is_taken_away() {
    let wiki = fixture("fixture-wiki");
    assert_eq!(wiki.len(), 6);
    let ending = "It cost 2,500 , 3.5 a half-day .";
    assert!(
        wiki.iter()
            .all(|line| line.ends_with(ending) && !line.contains("= ")),
        "{wiki:?}"
    );
    let book = fixture("fixture-book");
    assert_eq!(book.len(), 7);
    assert!(
        book.iter()
            .all(|line| !line.contains("Gutenberg") && !line.contains(['\r', '\n'])),
        "{book:?}"
    );
    assert!(book[0].ends_with('.') && book[6] == "*****", "{book:?}");
}

#[test]
fn every_text_that_is_found_is_what_its_card_says() {
    let Some(root) = std::env::var_os("TOTUNE_DATA").map(PathBuf::from) else {
        eprintln!("skipped: TOTUNE_DATA is not set, so there are no real files to read");
        return;
    };
    for card in cards().iter().filter(|card| card.missing(&root).is_none()) {
        let paragraphs = card.paragraphs(&root).expect("what the card says");
        let words: usize = paragraphs
            .iter()
            .map(|text| text.split_whitespace().count())
            .sum();
        eprintln!(
            "{}: {} paragraphs, {words} words",
            card.name,
            paragraphs.len()
        );
        assert!(
            paragraphs
                .iter()
                .all(|text| !text.is_empty() && !text.contains('\n'))
        );
        assert!(
            !paragraphs
                .iter()
                .any(|text| text.contains("*** START OF") || text.contains("<unk>"))
        );
    }
}

#[test]
fn a_missing_or_another_text_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let card = r#"name = "toy"
title = "Toy"
format = { kind = "lines" }
licence = "none"
citation = "none"
homepage = "none"
instructions = "Write it."
[[files]]
path = "toy.txt"
paragraphs = 2
"#;
    let path = folder.path().join("toy.toml");
    let read = |card: &str, text: Option<&str>| {
        std::fs::write(&path, card).expect("a card");
        if let Some(text) = text {
            std::fs::write(folder.path().join("toy.txt"), text).expect("a file");
        }
        TextCard::read(&path)
            .and_then(|card| card.paragraphs(folder.path()))
            .map_err(|error| {
                format!("{error:#}").replace(&format!("{}/", folder.path().display()), "")
            })
    };
    assert_eq!(
        read(card, None).expect_err("no file"),
        "text `toy`: missing `toy.txt`\nWrite it."
    );
    assert_eq!(
        read(card, Some("one\n\n two \n")),
        Ok(vec!["one".to_string(), "two".to_string()])
    );
    for (from, to, expected) in [
        ("= 2", "= 3", "toy.txt: 2 paragraphs; expected 3"),
        (
            "\"toy\"",
            "\"tow\"",
            "toy.toml: name: `tow`; expected `toy`, the name of the file",
        ),
        (
            "path = \"toy",
            "path = \"../toy",
            "toy.toml: files: path: `../toy.txt`; expected a path below the data root without `..`",
        ),
        (
            "kind = \"lines\"",
            "kind = \"line\"",
            "toy.toml: line 3: unknown choice `line`; did you mean `lines`? expected one of `lines`, `wikitext`, `gutenberg`",
        ),
    ] {
        assert_eq!(
            read(&card.replacen(from, to, 1), None).expect_err(to),
            expected
        );
    }
}
