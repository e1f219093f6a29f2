//! Shared by the tests: a server that misbehaves on command, and files to serve.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

pub mod server;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sha2::Digest as _;
use totune_fetch::{Allow, Download, Fetch, Fetched, Fetcher, Job, Result, Settings, Silent};

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
pub const MIB: usize = 1 << 20;

/// Bytes that do not repeat and do not compress; another `seed` gives others.
pub fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

pub fn sha256(bytes: &[u8]) -> String {
    sha2::Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The name that git gives a file of these bytes.
pub fn git_blob(bytes: &[u8]) -> String {
    use sha1::Digest as _;
    let mut hash = sha1::Sha1::new();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Settings with short pauses, and nothing from the environment but `variables`.
pub fn settings(variables: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::read(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.to_string())
    });
    settings.silence = Duration::from_millis(400);
    settings.connect_timeout = Duration::from_secs(2);
    settings.pause = Duration::from_millis(5);
    settings.longest_pause = Duration::from_millis(40);
    settings.attempts = 3;
    settings
}

/// The downloads of a card's text.
pub fn downloads(card: &str) -> Vec<Download> {
    #[derive(serde::Deserialize)]
    struct Card {
        fetch: Vec<Fetch>,
    }
    let card: Card = toml::from_str(card).unwrap();
    card.fetch.iter().flat_map(Fetch::downloads).collect()
}

/// The only download of a card's text, going to `root`, with the Hub's cache in `root/hub`.
pub fn job(card: &str, root: &Path) -> Job {
    let mut all = downloads(card);
    assert_eq!(all.len(), 1, "{card}");
    Job {
        download: all.remove(0),
        root: root.to_path_buf(),
        cache: root.join("hub"),
        folders: vec![],
        known: BTreeMap::new(),
    }
}

pub fn fetch(fetcher: &Fetcher, job: &Job) -> Result<Fetched> {
    fetcher.fetch(job, Allow::default(), &Silent, &AtomicBool::new(false))
}

/// Every file below `folder` that is not one of our own, by its path.
pub fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if !entry.file_type().unwrap().is_dir() {
                found.push(name);
            } else if name != ".fetch" && !name.ends_with(".locks") {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}
