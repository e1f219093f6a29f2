//! The page of peters2019 on rows that were never run: its files parse, its selections find their runs, runs of the
//! tiny biLM decide nothing, and the paper's own cells get the verdicts that arithmetic gives them.

#![expect(
    clippy::too_many_lines,
    reason = "the rows of a whole paper, one after the other"
)]
#![allow(clippy::unwrap_used)]

#[path = "../arms/mod.rs"]
mod arms;
mod rows;

use std::fs;
use std::path::PathBuf;

use rows::synthetic_rows;

const LABEL: &str = "format check, not a result";
/// Task, dataset of the profile `fixture`, metric.
const TASKS: [(&str, &str, &str); 7] = [
    ("conll", "fixture-ner", "span-f1"),
    ("sst-2", "fixture-trees", "accuracy"),
    ("mnli", "fixture-inference", "accuracy"),
    ("sick-e", "fixture-entailment", "accuracy"),
    ("sick-r", "fixture-relatedness", "pearson"),
    ("mrpc", "fixture-paraphrase", "accuracy"),
    ("sts-b", "fixture-similarity", "pearson"),
];
const GENRES: [&str; 5] = ["telephone", "fiction", "travel", "government", "slate"];

#[test]
fn every_table_and_figure_finds_its_runs() {
    let reports = write_report("finds-runs");
    for table in [
        "table-2",
        "table-3",
        "table-4",
        "table-5",
        "table-6",
        "choices-pieces",
        "choices-pooling",
    ] {
        let text = fs::read_to_string(reports.join(format!("tables/{table}.md"))).unwrap();
        assert!(!text.contains("no run"), "{text}");
    }
    for figure in [
        "figure-1",
        "figure-1-inputs",
        "figure-2",
        "figure-2-checks",
        "figure-2-second",
        "figure-1-elmo",
        "figure-2-elmo",
        "search-bert",
        "search-elmo",
    ] {
        let svg = fs::read_to_string(reports.join(format!("figures/{figure}.svg"))).unwrap();
        assert!(!svg.contains("no run"), "{figure}");
    }
    let trials = fs::read_to_string(reports.join("tables/search-bert-trials.md")).unwrap();
    assert_eq!(
        trials.matches("yes, 2 each").count(),
        TASKS.len(),
        "{trials}"
    );
    let advice = fs::read_to_string(reports.join("tables/table-1.csv")).unwrap();
    assert_eq!(advice.lines().count(), 1 + 6, "{advice}");
}

#[test]
fn what_was_not_recovered_is_empty_and_what_was_copied_says_from_whom() {
    let reports = write_report("cells");
    let cells = fs::read_to_string(reports.join("tables/table-2.csv")).unwrap();
    let lines = |what: &str| cells.lines().filter(|line| line.contains(what)).count();
    // Skip-thoughts' five and BERT's five; its two dashes; the other 23 and 14 printed differences.
    assert_eq!(lines("copied from "), 10);
    assert_eq!(lines(",none,"), 2);
    assert_eq!(lines(",run,"), 23 + 14);
    for table in ["choices-pieces", "choices-pooling"] {
        let text = fs::read_to_string(reports.join(format!("tables/{table}.md"))).unwrap();
        assert!(
            !text.contains("not recovered"),
            "the paper gives none: {text}"
        );
    }
    for table in ["table-3", "table-4", "table-5", "table-6"] {
        let text = fs::read_to_string(reports.join(format!("tables/{table}.csv"))).unwrap();
        let empty = text
            .lines()
            .skip(1)
            .all(|line| line.contains(",,not recovered,"));
        assert!(empty, "{text}");
    }
}

#[test]
fn runs_of_the_tiny_bilm_carry_their_label_everywhere_and_decide_nothing() {
    let reports = write_report("labels");
    for (file, row) in [
        ("tables/table-2.md", "ELMo, features"),
        ("tables/table-5.md", "Features, BiLSTM and CRF"),
        ("tables/choices-pooling.md", "Mean over words"),
        ("tables/figure-1-elmo-numbers.md", "ELMo, pretrained"),
        ("figures/figure-2-elmo.svg", "ELMo, fine-tuned"),
        ("figures/search-elmo.svg", "ELMo, features"),
    ] {
        let text = fs::read_to_string(reports.join(file)).unwrap();
        assert!(text.contains(&format!("{row} ({LABEL})")), "{file}");
    }
    let claims = fs::read_to_string(reports.join("tables/claims.csv")).unwrap();
    for id in [
        "elmo-consistently",
        "elmo-largest-on-pairs",
        "attention-helps",
        "parameters-help-features",
        "parameters-hurt-tuning",
        "gradual-matches",
        "gradual-needed",
        "max-above-mean",
        "max-above-ends",
        "discriminative-rates",
        "tuning-trains-more-elmo",
    ] {
        let line = line(&claims, id);
        assert!(
            line.contains("not testable") && line.contains(LABEL),
            "{line}"
        );
    }
    assert!(!line(&claims, "bert-similarity").contains(LABEL));
}

#[test]
fn the_papers_own_cells_and_words_get_the_verdicts_that_reading_gives_them() {
    let reports = write_report("own");
    let claims = fs::read_to_string(reports.join("tables/claims.csv")).unwrap();
    let (numbers, words) = ("by the paper's own numbers", "by the paper's own words");
    for (id, verdict, how) in [
        // 83.3 - 86.3 is -3.0, and -3.3 is printed.
        ("differences-add-up", "contradicted", numbers),
        ("above-skip-thoughts", "reproduced", numbers),
        // 76.0 and 74.7 against 75.8.
        ("paraphrase-above-skip-thoughts", "contradicted", numbers),
        // 83.3 and 86.1 against 86.6; 75.9 and 75.5 against 71.8.
        ("skip-thoughts-like-elmo", "contradicted", numbers),
        ("elmo-consistently-printed", "reproduced", numbers),
        // 0.4 on STS-B.
        ("elmo-notably-printed", "contradicted", numbers),
        ("bert-similarity-printed", "reproduced", numbers),
        // 6.7 on MRPC.
        ("bert-others-printed", "contradicted", numbers),
        ("small-differences", "contradicted", words),
        ("same-search-for-all", "contradicted", words),
        ("which-output-layer", "contradicted", words),
        (
            "range-of-similarity",
            "contradicted",
            "compared with another source",
        ),
    ] {
        let line = line(&claims, id);
        assert!(line.contains(&format!("{verdict} ({how})")), "{line}");
    }
}

fn line<'a>(claims: &'a str, id: &str) -> &'a str {
    let start = format!("{id},");
    claims
        .lines()
        .find(|line| line.starts_with(&start))
        .unwrap()
}

/// Writes the report on synthetic rows and returns its folder.
fn write_report(name: &str) -> PathBuf {
    arms::write_report(["peters2019", "fixture", name], &synthetic_rows())
}

#[test]
fn choices_are_judged_by_what_was_chosen() {
    let reports = write_report("choices");
    let claims = fs::read_to_string(reports.join("tables/claims.csv")).unwrap();
    for (id, verdict) in [
        ("recurrence-over-pieces", "reproduced"),
        // A point worse is no gain either.
        ("last-piece-no-gain", "reproduced"),
        ("mean-of-pieces-no-gain", "reproduced"),
        // Probes of pretrained layers draw nothing at random.
        ("probe-max-alike", "not testable"),
        ("probe-first-alike", "not testable"),
        // Four layers in order: 2 of 24 orders are as strong.
        ("probe-max-rises", "not decided"),
        ("probe-first-tuned", "not testable"),
    ] {
        let line = line(&claims, id);
        assert!(line.contains(verdict), "{line}");
    }
}
