//! Every committed report is what the code writes from the committed results: the same files with the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use totune_report::{Request, report};

#[test]
fn every_committed_report_is_written_again_byte_for_byte() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let committed = pages(&root);
    assert!(!committed.is_empty(), "no report is committed");
    // A page takes seconds to write, so they are written in parallel.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let work = committed
            .iter()
            .map(|(paper, profile)| scope.spawn(|| differences(&root, paper, profile)));
        let started: Vec<_> = work.collect();
        let done = started.into_iter().map(|each| each.join().expect("a page"));
        done.flatten().collect()
    });
    assert!(
        wrong.is_empty(),
        "write these again (`./justw report <paper> <profile>`) or find out what changed them:\n{}",
        wrong.join("\n")
    );
}

/// Every `reports/<paper>/<profile>` whose results are committed too.
fn pages(root: &Path) -> Vec<(String, String)> {
    let folders = |path: &Path| -> Vec<String> {
        let found = fs::read_dir(path).into_iter().flatten().flatten();
        let mut names: Vec<String> = found
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let mut pages = Vec::new();
    for paper in folders(&root.join("reports")) {
        for profile in folders(&root.join("reports").join(&paper)) {
            // A working copy may hold pages of runs that are only there.
            if ignored(&profile) || !root.join("results").join(&paper).join(&profile).exists() {
                continue;
            }
            pages.push((paper.clone(), profile));
        }
    }
    pages
}

/// Profiles whose pages `.gitignore` leaves out.
fn ignored(profile: &str) -> bool {
    profile == "fixture"
}

/// One line for each file that differs between the committed folder and one written now.
fn differences(root: &Path, paper: &str, profile: &str) -> Vec<String> {
    let place = tempfile::tempdir().expect("a folder");
    for folder in ["experiments", "results", "encoders"] {
        let target = fs::canonicalize(root.join(folder)).expect(folder);
        std::os::unix::fs::symlink(target, place.path().join(folder)).expect("a link");
    }
    let written = report(&Request {
        project_root: place.path().into(),
        shipped: None,
        paper: paper.to_owned(),
        profile: profile.to_owned(),
    });
    if let Err(error) = written {
        return vec![format!("{paper} {profile}: {error:#}")];
    }
    let below = Path::new("reports").join(paper).join(profile);
    let (old, new) = (files(&root.join(&below)), files(&place.path().join(&below)));
    let names = old
        .keys()
        .chain(new.keys().filter(|name| !old.contains_key(*name)));
    names
        .filter_map(|name| {
            let shown = below.join(name);
            let shown = shown.display();
            match (old.get(name), new.get(name)) {
                (Some(old), Some(new)) if old == new => None,
                (Some(old), Some(new)) => Some(format!("{shown}: {}", first_difference(old, new))),
                (Some(_), None) => Some(format!("{shown}: committed, but not written")),
                _ => Some(format!("{shown}: written, but not committed")),
            }
        })
        .collect()
}

/// All files below a folder but those of single curves, which are written on request.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                if entry.file_name() != "curves" {
                    waiting.push(path);
                }
                continue;
            }
            let name = path
                .strip_prefix(folder)
                .expect("below the folder")
                .to_owned();
            found.insert(name, fs::read(&path).expect("a file"));
        }
    }
    found
}

/// The first line that differs, or the sizes of files that are not text.
fn first_difference(old: &[u8], new: &[u8]) -> String {
    let (Ok(old_text), Ok(new_text)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        return format!("{} bytes, now {} bytes", old.len(), new.len());
    };
    let short = |line: &str| line.chars().take(400).collect::<String>();
    let mut lines = (1..).zip(old_text.lines().zip(new_text.lines()));
    match lines.find(|(_, (old, new))| old != new) {
        Some((line, (old, new))) => format!("line {line}\n  - {}\n  + {}", short(old), short(new)),
        None => "one goes on where the other ends".to_owned(),
    }
}

/// Verdicts on the claims of the committed results, one line each; `TOTUNE_WRITE_PAGES=1` writes them anew.
const VERDICTS: &str = "tests/verdicts.csv";

/// A rule or a claim that is edited may change a verdict; it then changes this list too, where a reviewer sees it.
#[test]
fn every_verdict_is_the_listed_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = String::from("paper,profile,claim,verdict\n");
    for (paper, profile) in pages(&root) {
        let path = format!("reports/{paper}/{profile}/tables/claims.csv");
        let mut reader = csv::Reader::from_path(root.join(&path)).expect(&path);
        let names = reader.headers().expect(&path).clone();
        let column = |name: &str| names.iter().position(|each| each == name).expect(name);
        let (id, verdict) = (column("id"), column("verdict"));
        for line in reader.records() {
            let line = line.expect(&path);
            found.push_str(&format!(
                "{paper},{profile},{},{}\n",
                &line[id], &line[verdict]
            ));
        }
    }
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(VERDICTS);
    if std::env::var_os("TOTUNE_WRITE_PAGES").is_some() {
        fs::write(&list, &found).expect("written");
    }
    assert_eq!(found, fs::read_to_string(&list).expect(VERDICTS));
}
