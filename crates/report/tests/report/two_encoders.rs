//! A page with tables of tasks, figures by layer, a search and labels, on rows that were never run.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use totune_report::{Request, report};

/// The page, and the names of all files next to it.
fn written() -> (String, Vec<String>) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/record");
    let project = tempfile::tempdir().unwrap();
    for folder in ["experiments/two-encoders", "results/two-encoders/fixture"] {
        let target = project.path().join(folder);
        fs::create_dir_all(&target).unwrap();
        for entry in fs::read_dir(fixtures.join(folder)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), target.join(entry.file_name())).unwrap();
        }
    }
    let written = report(&Request {
        project_root: project.path().to_owned(),
        shipped: None,
        paper: "two-encoders".into(),
        profile: "fixture".into(),
    })
    .unwrap();
    let root = project.path().join("reports/two-encoders/fixture");
    let names = written
        .files
        .iter()
        .map(|file| file.strip_prefix(&root).unwrap().display().to_string());
    let page = fs::read_to_string(&written.index).unwrap();
    (page, names.collect())
}

#[test]
fn every_kind_of_table_and_figure_has_its_files() {
    let (_, names) = written();
    for name in [
        "tables/table-1.md",
        "tables/table-1.csv",
        "tables/table-2.tex",
        "tables/table-2.csv",
        "figures/figure-1.svg",
        "figures/figure-1.csv",
        "tables/figure-1-numbers.md",
        "figures/figure-2.png",
        "figures/search.svg",
        "tables/search-trials.csv",
    ] {
        assert!(
            names.iter().any(|file| file == name),
            "no {name} in {names:?}"
        );
    }
}

#[test]
fn a_label_shows_in_tables_advice_and_claims() {
    let (page, _) = written();
    let label = "format check, not a result";
    assert!(
        page.contains(&format!("Tiny, frozen ({label})")),
        "the table"
    );
    assert!(
        page.contains("<td class=\"words\">not testable</td>"),
        "the advice"
    );
    assert!(
        page.contains(&format!("its runs on this page are labelled: {label}")),
        "the claim"
    );
}

#[test]
fn what_stands_out_is_told_in_words_beside_its_colour() {
    let (page, _) = written();
    assert!(
        page.contains("<td class=\"ours above\">+6.0<span class=\"interval\">tuning ["),
        "{}",
        page.split("Difference").nth(1).unwrap()
    );
    assert!(page.contains("td.above"), "the style of tables of tasks");
}

#[test]
fn every_verdict_of_the_claims_is_reached() {
    let (page, _) = written();
    for (claim, verdict) in [
        ("each", "reproduced"),
        ("contrast", "reproduced"),
        ("seeds", "reproduced"),
        ("trend", "direction"),
        ("above", "reproduced"),
        ("flat", "reproduced"),
        ("late", "reproduced"),
        ("zero", "reproduced"),
        ("domains", "contradicted"),
        ("cells", "contradicted"),
        ("printed", "not-decided"),
        ("labelled", "not-testable"),
    ] {
        let article = page.split(&format!("id=\"claim-{claim}\"")).nth(1).unwrap();
        let badge = article.split("class=\"badge ").nth(1).unwrap();
        assert!(badge.starts_with(verdict), "{claim}: {}", &badge[..40]);
    }
}
