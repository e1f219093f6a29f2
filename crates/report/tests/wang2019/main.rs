//! The page of wang2019 on rows that were never run: its files parse, its selections find their runs, its ensembles are
//! formed from stored scores, its claims are decided by what decides them.

#![expect(
    clippy::too_many_lines,
    reason = "the rows of a whole paper, one after the other"
)]
#![allow(clippy::unwrap_used)]

#[path = "../arms/mod.rs"]
mod arms;
mod rows;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rows::synthetic_rows;

#[test]
fn every_table_and_figure_finds_its_runs() {
    let reports = reports();
    for entry in fs::read_dir(reports.join("tables")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "md") && !path.ends_with("claims.md") {
            let text = fs::read_to_string(&path).unwrap();
            assert!(
                !text.contains("no run") && !text.contains("empty, because"),
                "{}: {text}",
                path.display()
            );
        }
    }
    for entry in fs::read_dir(reports.join("figures")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "svg") {
            let svg = fs::read_to_string(&path).unwrap();
            assert!(!svg.contains("(no run)"), "{}", path.display());
        }
    }
}

#[test]
fn networks_that_answer_together_are_rows_and_pairs_like_others() {
    let reports = reports();
    let table = fs::read_to_string(reports.join("tables/table-3-ensemble.csv")).unwrap();
    let cell = |row: &str, column: &str| -> Vec<String> {
        let start = format!("table-3-ensemble,,{row},{column},");
        let found = table.lines().find_map(|line| line.strip_prefix(&start));
        let found = found.unwrap_or_else(|| panic!("no `{start}` in {table}"));
        found.split(',').map(str::to_owned).collect()
    };
    // Each model errs where no other does, so three of them never err; three BERTs err where BERT does.
    let (together, alone) = (
        "\"Three networks, mean of probabilities\"",
        "\"BERT, fine-tuned\"",
    );
    let three = "\"Three BERTs, mean of probabilities\"";
    assert_eq!(cell(together, "accuracy")[2], "1.000");
    assert_eq!(cell(alone, "accuracy")[2], "0.994");
    assert_eq!(cell(three, "accuracy")[2], "0.994");
    for (row, n) in [(together, "5"), (alone, "15"), (three, "5")] {
        assert_eq!(cell(row, "f1")[6], n, "{row}");
    }
    // A second an epoch: three of BERT, and twice five or six.
    assert_eq!(cell(together, "seconds")[2], "14.2");
    let pairs = fs::read_to_string(reports.join("tables/together-fair.csv")).unwrap();
    assert_eq!(pairs.lines().count(), 1 + 3, "{pairs}");
    assert!(
        pairs.lines().skip(1).all(|line| line.contains(",5,0.99")),
        "{pairs}"
    );
}

#[test]
fn differences_are_given_in_standard_deviations_too() {
    let pairs = fs::read_to_string(reports().join("tables/phases.csv")).unwrap();
    let head = pairs.lines().next().unwrap();
    let at = head.split(',').position(|name| name == "hedges_g").unwrap();
    for line in pairs.lines().skip(1) {
        let fields = fields(line);
        let g: f64 = fields[at].parse().unwrap();
        assert!(g > 1.0, "{line}");
        assert!(fields[at + 1].starts_with('['), "{line}");
    }
}

#[test]
fn figures_mark_where_phase_2_begins_and_tables_say_how_phase_1_ended() {
    let reports = reports();
    let svg = fs::read_to_string(reports.join("figures/phases-ner-epochs.svg")).unwrap();
    // Of the ten runs of two groups, those with even seeds begin after two epochs, the others after three.
    for text in [
        "4 of 10",
        "6 of 10",
        "phase 1 ends above",
        "start of phase 2",
    ] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    let times = fs::read_to_string(reports.join("figures/curves-ner.svg")).unwrap();
    assert!(times.contains("phase 2 begins"), "{times}");
    let ends = fs::read_to_string(reports.join("tables/phases-ner-epochs-ends.md")).unwrap();
    assert!(ends.contains("2 (2 runs), 3 (3 runs)"), "{ends}");
    assert!(ends.contains("0.030"), "{ends}");
    // Panels of the same score leave out groups; the table has them all, and the CSV each score once.
    let ends = fs::read_to_string(reports.join("tables/phases-quora-epochs-ends.md")).unwrap();
    for network in ["BERT, two phases", "Sim-Transformer", "BiMPM"] {
        assert!(ends.contains(network), "{network}: {ends}");
    }
    let csv = fs::read_to_string(reports.join("figures/phases-quora-epochs.csv")).unwrap();
    let mut lines: Vec<&str> = csv.lines().collect();
    lines.sort_unstable();
    assert!(lines.windows(2).all(|pair| pair[0] != pair[1]));
    let csv = fs::read_to_string(reports.join("figures/phases-ner-epochs.csv")).unwrap();
    let gaps = csv.lines().filter(|line| line.contains(",train,gap,"));
    assert!(gaps.clone().count() > 0 && gaps.clone().all(|line| line.contains(",0,train,gap,")));
}

#[test]
fn every_claim_of_runs_is_decided_by_its_runs() {
    let claims = fs::read_to_string(reports().join("tables/claims.csv")).unwrap();
    let untestable: Vec<&str> = claims
        .lines()
        .filter(|line| line.contains(",not testable,"))
        .map(|line| line.split(',').next().unwrap())
        .collect();
    // Three models together are not compared with one; what the paper says of little data waits for a profile that has little.
    let unequal = ["accuracy", "f1", "better", "of-one-model", "above-members"];
    let unequal = unequal.map(|name| format!("ensemble-{name}"));
    let expected = unequal.iter().map(String::as_str).chain(["limited-data"]);
    assert_eq!(untestable, expected.collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for (id, verdict) in [
        ("ner-accuracy", "reproduced"),
        ("ner-f1", "reproduced"),
        ("ner-better", "reproduced"),
        // Half a point, which is below the margin.
        ("ensemble-better-fair", "reproduced in direction"),
        // The synthetic Sim-Transformer gains a point, and the paper's 4.7.
        ("sim-gain", "reproduced in direction"),
        ("sim-better", "reproduced"),
        ("sim-frozen-below", "contradicted"),
        // A third of a point on one of the tasks.
        ("superior", "reproduced in direction"),
        ("phases-matter", "reproduced"),
        ("phases-matter-fast-head", "reproduced"),
        ("peters", "reproduced"),
        ("low-rate-impedes", "reproduced"),
        ("high-rate-disturbs", "contradicted"),
    ] {
        let line = line(&claims, id);
        if !line.contains(&format!(",{verdict},")) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_papers_own_words_get_the_verdicts_that_reading_gives_them() {
    let claims = fs::read_to_string(reports().join("tables/claims.csv")).unwrap();
    let (own, beside) = ("by the paper's own words", "compared with another source");
    for (id, how) in [
        ("yahoo-like-with-like", own),
        ("superior-alone", own),
        ("what-ends-phase-1", own),
        ("units", own),
        ("unit-of-text", own),
        ("room-for-f1", beside),
        ("not-compared-before", beside),
        ("batch-normalization", beside),
    ] {
        let line = line(&claims, id);
        assert!(line.contains(&format!("contradicted ({how})")), "{line}");
    }
}

#[track_caller]
fn line<'a>(csv: &'a str, id: &str) -> &'a str {
    let start = format!("{id},");
    csv.lines().find(|line| line.starts_with(&start)).unwrap()
}

/// The fields of a line of CSV, some of which are quoted.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => fields.last_mut().unwrap().push(other),
        }
    }
    fields
}

/// The folder of a report on synthetic rows, written once.
fn reports() -> &'static Path {
    static REPORTS: OnceLock<PathBuf> = OnceLock::new();
    REPORTS.get_or_init(|| arms::write_report(["wang2019", "paper", "once"], &synthetic_rows()))
}
