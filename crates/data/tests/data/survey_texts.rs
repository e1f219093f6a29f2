//! Listing, checking and counting texts; `docs/data.md` shows what these functions print on the fixtures.

use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use totune_data::survey::{
    TextStatistics, Verdict, check_text, listed_text, text_statistics_text, texts_table,
};
use totune_data::{TextCard, TextCatalogue, TextPart};

const CARD: &str = r#"name = "toy"
title = "Toy"
format = { kind = "documents" }
licence = "none"
citation = "none"
homepage = "none"
instructions = "Write it."

[[files]]
path = "a.txt"
documents = 2
paragraphs = 3
words = 4

[[files]]
path = "b.txt"
documents = 1
paragraphs = 1
words = 1

[[files]]
path = "c.txt"
part = "held-out"
"#;

fn toy(files: &[(&str, &str)]) -> (TempDir, TextCard) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in files {
        fs::write(folder.path().join(path), text).expect("a file");
    }
    fs::write(folder.path().join("toy.toml"), CARD).expect("a card");
    let card = TextCard::read(&folder.path().join("toy.toml")).expect("a valid card");
    (folder, card)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn prose() -> TextCard {
    let texts = TextCatalogue::read(&root().join("datasets/texts")).expect("valid cards");
    texts.find("fixture-prose").expect("a fixture").clone()
}

#[track_caller]
fn stands_in_the_page(text: &str) {
    let page = fs::read_to_string(root().join("docs/data.md")).expect("the page");
    let missing = "docs/data.md does not have:";
    assert!(page.contains(text.trim_end()), "{missing}\n{text}");
}

#[test]
fn parts_are_listed_with_what_the_card_states_and_what_was_found() {
    let (folder, card) = toy(&[("a.txt", "one")]);
    assert_eq!(
        texts_table(&[listed_text(&card, folder.path())]),
        "text  format     part      documents  paragraphs  words  files  found\n\
         toy   documents  train             3           4      5      2  1\n\
         \u{20}                held-out          ?           ?      ?      1  missing\n"
    );
}

#[test]
fn files_that_differ_or_cannot_be_read_are_told_from_those_that_agree() {
    let (folder, card) = toy(&[
        ("a.txt", "one\n\ntwo"),
        ("b.txt", ""),
        ("c.txt", "three four"),
    ]);
    let checked = check_text(&card, folder.path());
    let verdicts: Vec<Verdict> = checked.iter().map(|checked| checked.verdict).collect();
    assert_eq!(
        verdicts,
        [Verdict::Differs, Verdict::Unreadable, Verdict::Agrees]
    );
    let shown: String = checked
        .iter()
        .map(|checked| checked.text("FILE"))
        .collect::<String>()
        .replace(&format!("{}/", folder.path().display()), "");
    assert_eq!(
        shown,
        "toy train  DIFFERS  2 documents, 2 paragraphs, 2 words  FILE\n\
         \u{20} fact        expected  found\n\
         \u{20} paragraphs  3         2\n\
         \u{20} words       4         2\n\
         \u{20} the card leaves out what was measured:\n\
         \u{20}   sha256 = \"f1687a1c91e7dabb67da04e90073a106ff7ad470212e3c98986afd56472abef8\"\n\
         toy train  UNREADABLE  FILE\n\
         \u{20} b.txt: no text in it; expected at least one paragraph\n\
         \u{20} the card leaves out what was measured:\n\
         \u{20}   sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"\n\
         toy held-out  agrees  1 documents, 1 paragraphs, 2 words  FILE\n\
         \u{20} the card leaves out what was measured:\n\
         \u{20}   sha256 = \"d3db5636ebd793d9d1a73940192d4d3d695d363537e7415e94515319a87b54de\"\n\
         \u{20}   documents = 1\n\
         \u{20}   paragraphs = 1\n\
         \u{20}   words = 2\n"
    );
}

#[test]
fn the_page_shows_the_list_and_the_check() {
    let nowhere = Path::new("nowhere");
    stands_in_the_page(&texts_table(&[listed_text(&prose(), nowhere)]));
    for checked in check_text(&prose(), nowhere) {
        let name = checked.path.file_name().expect("a file").to_string_lossy();
        stands_in_the_page(&checked.text(&format!("fixtures/data/texts/{name}")));
    }
}

#[test]
fn the_page_shows_the_statistics() {
    let nowhere = Path::new("nowhere");
    let train = prose().documents(nowhere).expect("documents");
    let held_out = prose().held_out(nowhere).expect("documents");
    let train = TextStatistics::of("fixture-prose", TextPart::Train, &train);
    let mut held_out = TextStatistics::of("fixture-prose", TextPart::HeldOut, &held_out);
    held_out.against(&train);
    stands_in_the_page(&text_statistics_text(&[train, held_out]));
}
