//! The archives that `totune-fetch` unpacks.

#[path = "refusal.rs"]
mod refusal;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use totune_fetch::{Unpack, unpack as unpack_archive};

type Target = fn(&[u8]);

/// The targets of this file, by the names of their folders of seeds.
pub const TARGETS: &[(&str, Target)] = &[("archive", unpack)];

/// Each kind of archive, all of it and one member of it: nothing is written outside the folder it is unpacked into, nor
/// more than is allowed.
pub fn unpack(bytes: &[u8]) {
    thread_local! {
        static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a temporary folder");
    }
    FOLDER.with(|folder| {
        let path = folder.path().join("archive");
        std::fs::write(&path, bytes).expect("a temporary file");
        for rules in RULES {
            try_rules(bytes, folder.path(), &path, rules);
        }
    });
}

const MOST: u64 = 100_000;
const RULES: [&str; 5] = [
    "format = 'zip'\nto = 'all'",
    "format = 'zip'\nmembers = [{ path = 'a.txt', to = 'b.txt' }]",
    "format = 'tar'\nto = 'all'",
    "format = 'tar-gz'\nto = 'all'",
    "format = 'gz'\nto = 'one'",
];

fn try_rules(bytes: &[u8], folder: &Path, path: &Path, rules: &str) {
    let rules = format!("{rules}\nmax-files = 20\nmax-bytes = {MOST}");
    let rules: Unpack = toml::from_str(&rules).expect("rules as in a card");
    let staging = folder.join("staging");
    match unpack_archive(path, &rules, &staging, &AtomicBool::new(false)) {
        Ok(files) => {
            let total: u64 = files.iter().map(|file| file.size).sum();
            assert!(
                files.len() <= 20 && total <= MOST,
                "{} files, {total} bytes",
                files.len()
            );
            for file in files {
                let staged =
                    std::fs::symlink_metadata(&file.staged).expect("a file that was unpacked");
                assert!(file.staged.starts_with(&staging) && staged.is_file());
                assert_eq!(staged.len(), file.size);
            }
        }
        Err(error) => refusal::check(&error.to_string(), &path.display().to_string(), bytes),
    }
    let beside: Vec<_> = std::fs::read_dir(folder).expect("the folder").collect();
    assert!(beside.len() <= 2, "{beside:?}");
}
