//! Everything that can be wrong with a card, a file or a setting, and the error for it.

#![expect(clippy::too_many_lines, reason = "tables of cases")]

mod cards;
mod files;
mod label_sets;

use totune_data::{Card, sha256_hex};

const CARD: &str = r#"name = "toy"
title = "Toy"
task = "classification"
metrics = ["accuracy"]
labels = ["no", "yes"]
positive = "yes"

[[layouts]]
name = "kaggle"
format = { kind = "csv" }
columns = { id = "id", text = "text", label = "label" }
values = ["0", "1"]
[layouts.files.train]
path = "toy.csv"
sha256 = "SHA"

[splits.train]
rows = 2
counts = [1, 1]
repeats = 0
"#;

const GOOD: &str = "id,text,label\n1,one,0\n2,two,1\n";

/// Writes a card and its file and gives the result of loading them; errors without the folder.
fn load(card: &str, bytes: &[u8]) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("toy.toml");
    std::fs::write(&path, card.replace("SHA", &sha256_hex(bytes))).expect("a card");
    std::fs::write(folder.path().join("toy.csv"), bytes).expect("a file");
    Card::read(&path)
        .and_then(|card| card.load(folder.path()))
        .map(|dataset| {
            dataset
                .examples
                .into_iter()
                .map(|example| example.input.texts()[0].to_string())
                .collect()
        })
        .map_err(|error| format!("{error:#}").replace(&format!("{}/", folder.path().display()), ""))
}
