//! Malformed files of every raw format, and broken cards: the error for each.
//!
//! A row is the fault, the bytes, and the words its error must have, in this order, with `..` for anything.
//! `bad_input/` holds whole messages for the commonest mistakes; here each error must have the file and the line, the
//! finding and the expectation.

#![expect(clippy::too_many_lines, reason = "tables of cases")]

mod cards;
mod corpora;
mod json;
mod rows;
mod separated;

use std::path::Path;

use totune_data::format::Format;
use totune_data::{Card, Columns};

type Row = (&'static str, &'static [u8], &'static str);

/// Checks that each row is refused with its words.
#[track_caller]
fn check(format: &str, rows: &[Row]) {
    let format: Format = toml::from_str(format).expect("a format as in a card");
    let path = Path::new("some/file");
    all_right(rows.iter().map(
        |(what, bytes, words)| match format.table(path, bytes, None) {
            Ok(table) => Some(format!("{what}: read as {table:?}")),
            Err(error) => differs(what, &error.to_string(), &format!("some/file: {words}")),
        },
    ));
}

/// Ends the test with all rows that differ.
#[track_caller]
fn all_right(rows: impl Iterator<Item = Option<String>>) {
    let wrong: Vec<String> = rows.flatten().collect();
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The difference, if any, between an error and `words` that it should begin with.
fn differs(what: &str, error: &str, words: &str) -> Option<String> {
    let mut rest = error;
    for (number, part) in words.split(" .. ").enumerate() {
        match rest.find(part) {
            Some(at) if number > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return Some(format!("{what}: no `{part}` at its place in: {error}")),
        }
    }
    None
}

const CARD: &str = r#"name = "toy"
title = "Toy"
task = "classification"
metrics = ["accuracy"]
labels = ["no", "yes"]
positive = "yes"

[[layouts]]
name = "made"
format = { kind = "csv" }
columns = { id = "id", text = "text", label = "label" }
values = ["0", "1"]
files.train = { path = "toy.csv" }

[splits.train]
rows = 2
counts = [1, 1]
repeats = 0
"#;

/// Reads the card, and where that is possible a file of it.
fn load(card: &str, bytes: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("toy.toml"), card).expect("a card");
    std::fs::write(folder.path().join("toy.csv"), bytes).expect("a file");
    let read = Card::read(&folder.path().join("toy.toml"));
    let loaded = read.and_then(|card| card.load(folder.path()));
    let shown = format!("{}/", folder.path().display());
    loaded
        .map(|_| ())
        .map_err(|error| format!("{error:#}").replace(&shown, ""))
}
