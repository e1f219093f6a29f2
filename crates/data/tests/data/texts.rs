//! Plain text: the committed cards, their fixtures, and the real files where they are.

use std::path::{Path, PathBuf};
use tempfile::TempDir;
use totune_data::{Document, TextCard, TextCatalogue, TextPart};

fn catalogue() -> TextCatalogue {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/texts");
    TextCatalogue::read(&folder).expect("valid cards")
}

fn fixture(name: &str) -> Vec<String> {
    catalogue()
        .find(name)
        .expect("a fixture")
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
#[ignore = "needs the real files under TOTUNE_DATA"]
fn every_real_text_that_is_found_is_what_its_card_says() {
    let root = PathBuf::from(std::env::var_os("TOTUNE_DATA").expect("TOTUNE_DATA"));
    let texts = catalogue();
    for card in texts.cards() {
        if card.missing(&root).is_some() {
            continue;
        }
        let mut documents = card.documents(&root).expect("what the card says");
        if card.files_of(TextPart::HeldOut).next().is_some() {
            documents.extend(card.held_out(&root).expect("what the card says"));
        }
        let words: usize = documents.iter().map(Document::words).sum();
        eprintln!(
            "{}: {} documents, {words} words",
            card.name,
            documents.len()
        );
        for document in &documents {
            assert!(!document.paragraphs.is_empty());
            for text in &document.paragraphs {
                assert!(!text.is_empty() && !text.contains('\n'), "{text}");
                assert!(
                    !text.contains("*** START OF") && !text.contains("<unk>"),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn compressed_prose_is_the_plain_prose_and_nothing_of_it_is_held_out() {
    let texts = catalogue();
    let card = texts.find("fixture-prose").expect("a fixture");
    let train = card.documents(Path::new("nowhere")).expect("documents");
    let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/texts/prose.txt");
    let plain = std::fs::read_to_string(plain).expect("the plain file");
    let joined: Vec<String> = train.iter().map(|one| one.paragraphs.join("\n")).collect();
    assert_eq!(joined.join("\n\n") + "\n", plain);
    let held_out = card.held_out(Path::new("nowhere")).expect("documents");
    assert_eq!((train.len(), held_out.len()), (96, 10));
    assert!(held_out.iter().all(|document| !train.contains(document)));
}

#[test]
fn what_was_kept_of_each_source_adds_up_to_the_files() {
    let texts = catalogue();
    let gathered = texts.cards().iter().filter(|card| !card.sources.is_empty());
    let mut n = 0;
    for card in gathered {
        let of_sources: usize = card.sources.iter().map(|source| source.words).sum();
        let of_files: Option<usize> = card.files.iter().map(|file| file.words).sum();
        assert_eq!(Some(of_sources), of_files, "{}", card.name);
        n += 1;
    }
    assert_eq!(n, 6);
}

#[test]
fn an_unknown_text_is_answered_with_the_near_one() {
    let error = catalogue().find("fixture-wikis").expect_err("unknown");
    let says = "unknown text `fixture-wikis`; did you mean `fixture-wiki`? the nearest of ";
    assert!(error.to_string().starts_with(says), "{error}");
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
            "toy.toml: line 3: unknown choice `line`; did you mean `lines`? expected one of `documents`, `lines`, `wikitext`, `gutenberg`",
        ),
    ] {
        assert_eq!(
            read(&card.replacen(from, to, 1), None).expect_err(to),
            expected
        );
    }
}

/// A card `toy` of documents in `files`, each with the lines of a card that follow its path.
fn toy(files: &[(&str, &str, Vec<u8>)]) -> (TempDir, TextCard) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut card = r#"name = "toy"
title = "Toy"
format = { kind = "documents" }
licence = "none"
citation = "none"
homepage = "none"
instructions = "Write it."
"#
    .to_string();
    for (path, facts, bytes) in files {
        card += &format!("[[files]]\npath = \"{path}\"\n{facts}\n");
        std::fs::write(folder.path().join(path), bytes).expect("a file");
    }
    let path = folder.path().join("toy.toml");
    std::fs::write(&path, card).expect("a card");
    let card = TextCard::read(&path).expect("a valid card");
    (folder, card)
}

fn zst(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 3).expect("a frame")
}

fn paragraphs(documents: &[Document]) -> Vec<Vec<&str>> {
    fn of(document: &Document) -> Vec<&str> {
        document.paragraphs.iter().map(String::as_str).collect()
    }
    documents.iter().map(of).collect()
}

#[test]
fn documents_come_in_file_order_and_what_is_held_out_stays_apart() {
    let held = "part = \"held-out\"\ndocuments = 1\nparagraphs = 1\nwords = 2";
    let (folder, card) = toy(&[
        ("b.txt.zst", "documents = 2", zst(b"one\ntwo\n\nthree\n")),
        ("h.txt", held, b"held out\n".to_vec()),
        ("a.txt", "words = 2", b"four\n\n\nfive".to_vec()),
    ]);
    let train = card.documents(folder.path()).expect("documents");
    let expected = [
        vec!["one", "two"],
        vec!["three"],
        vec!["four"],
        vec!["five"],
    ];
    assert_eq!(paragraphs(&train), expected);
    let all = ["one", "two", "three", "four", "five"];
    assert_eq!(card.paragraphs(folder.path()).expect("paragraphs"), all);
    let held = card.held_out(folder.path()).expect("documents");
    assert_eq!(paragraphs(&held), [vec!["held out"]]);

    let (folder, card) = toy(&[("a.txt", "", b"one".to_vec())]);
    let error = card.held_out(folder.path()).expect_err("no such file");
    let says = "toy.toml: files: none is held out; expected one with `part = \"held-out\"`";
    assert!(error.to_string().ends_with(says), "{error}");
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_name_and_line() {
    let whole = zst(&b"some words of a line\n".repeat(100));
    for (name, facts, bytes, expected) in [
        (
            "a.txt",
            "",
            Vec::new(),
            "a.txt: no text in it; expected at least one paragraph",
        ),
        (
            "a.txt.zst",
            "",
            Vec::new(),
            "a.txt.zst: expected whole zstd frames: found an empty file",
        ),
        (
            "a.txt.zst",
            "",
            zst(b" \n\n"),
            "a.txt.zst: no text in it; expected at least one paragraph",
        ),
        (
            "a.txt",
            "",
            b"one\n\n\xff\n".to_vec(),
            "a.txt: line 3: byte 0xff is not UTF-8; expected UTF-8 text",
        ),
        (
            "a.txt.zst",
            "",
            zst(b"one\n\xc3("),
            "a.txt.zst: line 2: byte 0xc3 is not UTF-8; expected UTF-8 text",
        ),
        (
            "a.txt.zst",
            "",
            whole[..whole.len() / 2].to_vec(),
            "a.txt.zst: expected whole zstd frames: found a truncated or corrupt frame: incomplete frame",
        ),
        (
            "a.txt.zst",
            "",
            b"one\n\ntwo\n".to_vec(),
            "a.txt.zst: expected whole zstd frames: found a truncated or corrupt frame: Unknown frame descriptor",
        ),
        (
            "a.txt",
            "documents = 3",
            b"one\n\ntwo\n".to_vec(),
            "a.txt: 2 documents; expected 3",
        ),
        (
            "a.txt",
            "words = 3",
            b"one\n\ntwo\n".to_vec(),
            "a.txt: 2 words; expected 3",
        ),
        (
            "a.txt",
            "sha256 = \"00\"",
            b"one".to_vec(),
            "a.txt: sha256 7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed; expected 00 (toy.toml)",
        ),
    ] {
        let (folder, card) = toy(&[(name, facts, bytes)]);
        let error = card.documents(folder.path()).expect_err(expected);
        let found = format!("{error:#}").replace(&format!("{}/", folder.path().display()), "");
        assert_eq!(found, expected);
    }
}
