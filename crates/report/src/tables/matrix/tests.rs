//! The table of the synthetic paper of two encoders; see `fixture::probes`.

use totune_evidence::toml_file::parse;

use totune_synthetic::probes;

use crate::fixture;
use crate::report_file::ReportFile;
use crate::tables::{Cell, RenderedTable};

#[test]
fn a_matrix_in_markdown_latex_and_csv() {
    let grid = fixture::table_of_encoders("table-2");
    insta::assert_snapshot!(grid.in_every_format());
}

#[test]
fn a_cell_of_the_paper_says_where_it_is_from() {
    let grid = fixture::table_of_encoders("table-2");
    for (row, column, main, detail) in [
        ("Old", 0, "70.1", "from Others"),
        ("Old", 1, "\u{2013}", ""),
        ("Old", 2, "", "not recovered"),
        ("Large, frozen", 0, "80.1", ""),
        // 0.7 is printed with one digit after the point in hundredths, and TOML keeps none.
        ("Large, frozen", 2, "70.0", ""),
    ] {
        let cell = cell(&grid, row, "paper", column);
        assert_eq!((cell.main.as_str(), cell.detail.as_str()), (main, detail));
    }
}

#[test]
fn differences_are_marked_by_the_papers_rule_and_its_own_cells_fill_what_it_does_not_print() {
    let grid = fixture::table_of_encoders("table-2");
    for (who, column, main, class) in [
        ("paper", 0, "+5.9", "paper above"),
        ("paper", 1, "+0.2", "paper"),
        // 69.0 - 70.0 is the limit itself, which does not stand out.
        ("paper", 2, "-1.0", "paper"),
        ("ours", 0, "+6.0", "ours above"),
        ("ours", 3, "0.0", "ours"),
    ] {
        let cell = cell(&grid, "Difference", who, column);
        assert_eq!(
            (cell.main.as_str(), cell.class.as_str()),
            (main, class),
            "{who} {column}"
        );
    }
    let marked = cell(&grid, "Difference", "ours", 0);
    assert!(
        marked.detail.starts_with("tuning [") && marked.detail.ends_with("n = 3"),
        "{marked:?}"
    );
}

#[test]
fn what_was_scored_and_why_stands_over_the_numbers() {
    let grid = fixture::table_of_encoders("table-2");
    let ours = cell(&grid, "Scored on", "ours", 0);
    assert_eq!(
        (ours.main.as_str(), ours.detail.as_str()),
        ("dev", "test labels are hidden")
    );
    assert_eq!(cell(&grid, "Scored on", "paper", 0).main, "test");
}

#[test]
fn a_label_stands_beside_every_row_of_its_runs_and_of_no_other() {
    let grid = fixture::table_of_encoders("table-2");
    let titles: Vec<&str> = grid.parts[1]
        .rows
        .iter()
        .map(|row| row[0].main.as_str())
        .collect();
    assert!(
        titles.contains(&"Tiny, frozen (format check, not a result)"),
        "{titles:?}"
    );
    assert!(titles.contains(&"Large, frozen"), "{titles:?}");
    assert!(
        grid.csv
            .text()
            .lines()
            .any(|line| line.contains("tiny-frozen") && line.ends_with("not a result\""))
    );
}

#[test]
fn a_row_without_runs_says_so() {
    let grid = fixture::table_of_encoders("table-2");
    assert_eq!(cell(&grid, "Absent", "ours", 0).detail, "\u{2013}");
    let note = grid.notes.iter().find(|note| note.starts_with("Absent: "));
    assert!(
        note.is_some_and(|note| note.contains("no run has work.encoder")),
        "{:?}",
        grid.notes
    );
}

#[test]
fn rows_are_correlated_over_the_columns() {
    let notes = fixture::table_of_encoders("table-2").notes;
    // Differences of 6, 2, 1, 0 and -1 points fall with the divergence: one of 60 pairs of orders is as strong.
    let note = notes.last().expect("a note");
    assert!(
        note.starts_with("correlation of Difference with Divergence, over 5 columns: Pearson -0.9")
            && note.ends_with("Spearman -1.00, p = 0.017 by all orders"),
        "{note}"
    );
}

#[test]
fn slips_are_named() {
    for (good, bad, expected) in [
        (
            "difference = [\"full\", \"frozen\"]",
            "difference = [\"full\", \"frozn\"]",
            "found `frozn`, expected the name of a row above",
        ),
        (
            "{ group = \"absent\" }",
            "{ group = \"absnt\" }",
            "unknown group `absnt`",
        ),
        (
            "words = 0.7 }",
            "wrds = 0.7 }",
            "the paper's cell `wrds` has no column; did you mean `words`?",
        ),
        ("y = \"gain\"", "y = \"gains\"", "unknown row `gains`"),
        (
            "{ id = \"old\", title = \"Old\",",
            "{ id = \"old\",",
            "found no `title`",
        ),
    ] {
        let text = probes::PLAN.replacen(good, bad, 1);
        assert_ne!(text, probes::PLAN, "{good}");
        let plan: ReportFile = parse(&text, "report.toml").unwrap();
        let error = plan.check("report.toml").unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

fn cell(grid: &RenderedTable, row: &str, who: &str, column: usize) -> Cell {
    let rows = grid.parts.iter().flat_map(|part| &part.rows);
    let mut found = rows.filter(|cells| cells[0].main == row && cells[1].main == who);
    found.next().unwrap_or_else(|| panic!("no row {row} {who}"))[2 + column].clone()
}
