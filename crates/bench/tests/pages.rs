//! The committed pages agree with their results: no figure on them was typed.

use std::fs;
use std::path::{Path, PathBuf};

use totune_bench::{ALL, Results, markdown, regret, scale};

/// Files of results below a folder, those of the machines that have a folder of their own too.
fn results(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(results(&path));
        } else if path.extension().is_some_and(|ending| ending == "json") {
            found.push(path);
        }
    }
    found
}

/// `TOTUNE_WRITE_PAGES=1` writes the pages again, where the page has changed and not the results.
#[test]
fn every_committed_page_is_written_from_its_results() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/bench");
    let files = results(&folder);
    assert!(files.len() >= 10, "found {}", files.len());
    for file in files {
        let shown = file.display();
        let written = if file.ends_with("compare.json") {
            let results = regret::Regret::read(&file);
            regret::markdown(&results.unwrap_or_else(|error| panic!("{error:#}")))
        } else if file.ends_with("scale.json") {
            let results = scale::Scale::read(&file);
            scale::markdown(&results.unwrap_or_else(|error| panic!("{error:#}")))
        } else {
            let results = Results::read(&file).unwrap_or_else(|error| panic!("{error:#}"));
            let known = ALL
                .iter()
                .any(|benchmark| benchmark.name == results.benchmark);
            assert!(known, "{shown}: of no benchmark");
            markdown(&results)
        };
        let page = file.with_extension("md");
        if std::env::var_os("TOTUNE_WRITE_PAGES").is_some() {
            fs::write(&page, &written).expect("written");
        }
        let text = fs::read_to_string(&page).expect("a page next to its results");
        assert_eq!(text, written, "{shown}");
    }
}
