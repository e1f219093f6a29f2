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

/// The rows of README's table of speed: the words that a row begins with, its file, words in the names of its cases, and
/// for each ratio the other side and ours.
type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [[&'static str; 2]],
);
const README: [Row; 13] = [
    (
        "training MiniLM",
        "peer",
        &["MiniLM", "training"],
        &[["pytorch-fused", "totune"]],
    ),
    (
        "training BERT-base",
        "peer",
        &["BERT-base", "training"],
        &[["pytorch-fused", "totune"]],
    ),
    (
        "inference",
        "peer",
        &["inference"],
        &[["pytorch", "totune"]],
    ),
    (
        "predictions for a file",
        "amd/predict",
        &[],
        &[["pipeline", "totune"]],
    ),
    (
        "pre-training a BERT",
        "amd/pretrain",
        &["masked LM"],
        PRETRAINING,
    ),
    (
        "pre-training an ELMo",
        "amd/pretrain",
        &["biLM"],
        PRETRAINING,
    ),
    (
        "a step of LoRA, f32",
        "amd/peft",
        &["LoRA, f32"],
        &[["peft", "totune"]],
    ),
    (
        "a step of LoRA, bf16",
        "amd/peft",
        &["LoRA, bf16"],
        &[["peft", "totune"]],
    ),
    (
        "a step of BitFit, f32",
        "amd/peft",
        &["BitFit, f32"],
        &[["pytorch", "totune"]],
    ),
    (
        "a step of BitFit, bf16",
        "amd/peft",
        &["BitFit, bf16"],
        &[["pytorch", "totune"]],
    ),
    (
        "an epoch of the last layer",
        "cache",
        &["last-1"],
        &[["totune, not cached", "totune, cached"]],
    ),
    (
        "BiMPM's matching",
        "heads",
        &["BiMPM", "training"],
        &[["pytorch", "totune"]],
    ),
    (
        "logistic and linear probes",
        "probes",
        &["regression"],
        &[["python", "totune"]],
    ),
];
const PRETRAINING: &[[&str; 2]] = &[
    ["pytorch f32", "totune f32"],
    ["pytorch autocast", "totune bf16"],
];

/// Ratios of medians over the cases of a row, as README has them: `1.03-1.53`, or one where they are the same.
fn ratios(results: &Results, (_, _, words, pairs): &Row) -> String {
    let cases = results.outcomes.iter();
    let cases = cases.filter(|outcome| words.iter().all(|word| outcome.case.contains(word)));
    let cases: Vec<_> = cases.collect();
    let ranges = pairs.iter().map(|[other, ours]| {
        let all = cases.iter().filter_map(|case| case.ratio(other, ours));
        let (least, most) = all.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), ratio| {
            (least.min(ratio), most.max(ratio))
        });
        let [least, most] = [least, most].map(|ratio| format!("{ratio:.2}"));
        if least == most {
            least
        } else {
            format!("{least}-{most}")
        }
    });
    ranges.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_speeds_in_readme_are_those_of_the_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).expect("README.md");
    let rows = readme
        .lines()
        .skip_while(|line| *line != "| what | ratio | page |")
        .skip(2);
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), README.len(), "a row for each of {README:?}");
    for (found, row) in rows.into_iter().zip(&README) {
        let (begins, file, ..) = row;
        let results = Results::read(&root.join(format!("results/bench/{file}.json")));
        let results = results.unwrap_or_else(|error| panic!("{error:#}"));
        let model = &results.machine.model;
        let cells: Vec<&str> = found.trim_matches('|').split('|').map(str::trim).collect();
        assert!(
            cells[0].starts_with(begins),
            "found {found}, expected one of {begins}"
        );
        let machine = if model.contains("AMD") {
            "(AMD)"
        } else {
            "(Xeon)"
        };
        assert!(cells[0].ends_with(machine), "{found}: measured on {model}");
        assert_eq!(cells[1], ratios(&results, row), "{found}");
        assert!(
            cells[2].contains(&format!("results/bench/{file}.md")),
            "{found}"
        );
    }
}
