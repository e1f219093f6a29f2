//! Malformed and hostile archives: the error for each, and that nothing of them is left behind.
//!
//! A row is the fault, the bytes, and the words its error must have, in this order, with `..` for anything.

#![expect(clippy::too_many_lines, reason = "tables of cases")]

mod gzip;
mod tar;
mod zip;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use totune_fetch::{Unpack, unpack};

/// Unpacks with the rules of a card; the names of the places, or the error without the folder's name.
fn open(rules: &str, bytes: &[u8]) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("archive");
    std::fs::write(&path, bytes).expect("an archive");
    let rules: Unpack = toml::from_str(rules).expect("rules as in a card");
    let staging = folder.path().join("staging");
    let found = unpack(&path, &rules, &staging, &AtomicBool::new(false));
    let beside: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
    let shown = format!("{}/", folder.path().display());
    match found {
        Ok(files) => Ok(files.into_iter().map(|file| file.to.to_string()).collect()),
        Err(error) => Err(error.to_string().replace(&shown, "")),
    }
}

#[track_caller]
fn check(rules: &str, rows: &[(&str, Vec<u8>, &str)]) {
    for (what, bytes, words) in rows {
        let error = match open(rules, bytes) {
            Ok(files) => panic!("{what}: unpacked as {files:?}"),
            Err(error) => error,
        };
        let mut rest = error
            .strip_prefix("archive: ")
            .unwrap_or_else(|| panic!("{what}: {error}"));
        for part in words.split(" .. ") {
            let Some(at) = rest.find(part) else {
                panic!("{what}: no `{part}` at its place in: {error}");
            };
            rest = &rest[at + part.len()..];
        }
        assert!(
            rest.ends_with("nothing of it was put into place"),
            "{what}: {error}"
        );
    }
}

fn seed(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/archive");
    std::fs::read(folder.join(name)).expect("a seed")
}
