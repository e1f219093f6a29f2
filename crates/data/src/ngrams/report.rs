//! Reports of the overlap of evaluation sets with texts, as a table for a terminal and as Markdown.

use crate::survey::{Grid, thousands};
use serde::Serialize;
use std::fmt::Write as _;

/// The overlap of evaluation data with texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverlapReport {
    /// Words of an n-gram.
    pub n: usize,
    /// The texts, in the order in which rows count them.
    pub texts: Vec<TextOverlap>,
    /// The splits of the evaluation sets.
    pub splits: Vec<RowOverlap>,
}

/// A text that evaluation data was compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextOverlap {
    /// The card's name.
    pub text: String,
    /// Paragraphs to train on.
    pub paragraphs: usize,
    /// Paragraphs that have an n-gram of the evaluation data.
    pub shared: usize,
}

/// Rows of an evaluation set that share an n-gram with the texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowOverlap {
    /// The dataset.
    pub dataset: String,
    /// The split, or all of them if several are counted together.
    pub split: String,
    /// All rows.
    pub rows: usize,
    /// Rows that have an n-gram: one of their texts has `n` words or more.
    pub long_enough: usize,
    /// Of these, rows that share an n-gram with each text.
    pub shared: Vec<usize>,
    /// Of these, rows that share an n-gram with any of the texts.
    pub shared_with_any: usize,
}

impl OverlapReport {
    /// The rows of each dataset, all splits together, in the order of the datasets.
    pub fn datasets(&self) -> Vec<RowOverlap> {
        let mut datasets: Vec<RowOverlap> = Vec::new();
        for split in &self.splits {
            match datasets.last_mut() {
                Some(last) if last.dataset == split.dataset => last.add(split),
                _ => datasets.push(split.clone()),
            }
        }
        datasets
    }

    /// The header and the cells of the table of datasets; a header that starts with `#` is of numbers.
    fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let n = self.n;
        let mut header = vec![
            "dataset".to_string(),
            "splits".into(),
            "#rows".into(),
            format!("#of {n}+ words"),
        ];
        header.extend(self.texts.iter().map(|text| format!("#{}", text.text)));
        if self.texts.len() > 1 {
            header.push("#any text".into());
        }
        header.push("#share".into());
        let cells = self.datasets().into_iter().map(|row| {
            let mut cells = vec![
                row.dataset,
                row.split,
                thousands(row.rows),
                thousands(row.long_enough),
            ];
            cells.extend(row.shared.iter().map(|&shared| thousands(shared)));
            if self.texts.len() > 1 {
                cells.push(thousands(row.shared_with_any));
            }
            cells.push(share(row.shared_with_any, row.long_enough));
            cells
        });
        let cells = cells.collect();
        (header, cells)
    }

    fn texts_table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let cells = self.texts.iter().map(|text| {
            vec![
                text.text.clone(),
                thousands(text.paragraphs),
                thousands(text.shared),
                share(text.shared, text.paragraphs),
            ]
        });
        let header = vec!["text", "#paragraphs", "#with such an n-gram", "#share"];
        (header, cells.collect())
    }
}

impl RowOverlap {
    fn add(&mut self, other: &RowOverlap) {
        self.split = format!("{}, {}", self.split, other.split);
        self.rows += other.rows;
        self.long_enough += other.long_enough;
        self.shared_with_any += other.shared_with_any;
        for (total, shared) in self.shared.iter_mut().zip(&other.shared) {
            *total += shared;
        }
    }
}

/// A share in percent, with two digits after the point, since few rows are expected.
fn share(part: usize, whole: usize) -> String {
    format!("{:.2} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// The tables for a terminal: datasets, then texts.
pub fn overlap_table(report: &OverlapReport) -> String {
    let grid = |header: &[&str], rows: Vec<Vec<String>>| {
        let mut grid = Grid::new(header);
        rows.into_iter().for_each(|row| grid.row(row));
        grid.to_string()
    };
    let (header, rows) = report.table();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let datasets = grid(&header, rows);
    let (header, rows) = report.texts_table();
    format!("{datasets}\n{}", grid(&header, rows))
}

/// The reports of several lengths of n-grams as a page of Markdown, with the definitions and `command`, which makes it
/// again.
pub fn overlap_markdown(reports: &[OverlapReport], command: &str) -> String {
    let mut page = format!(
        "# Overlap of evaluation data and texts\n\n\
         Generated by `{command}`.\n\n\
         A word is a lower-cased run of letters or digits; an n-gram is n words in a row of one text.\n\
         A row of an evaluation set is counted under a text if it shares at least one n-gram with a paragraph of the \
         text's training files.\n\
         The two texts of a pair have their own n-grams, and a row without a text of n words has none.\n\
         The splits of a dataset are counted together; `share` is of the rows that have an n-gram.\n"
    );
    for report in reports {
        let n = report.n;
        let _ = write!(page, "\n## {n}-grams\n\n");
        let (header, rows) = report.table();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        markdown(&mut page, &header, rows);
        let _ = write!(
            page,
            "\nParagraphs of each text that have a {n}-gram of any of these datasets:\n\n"
        );
        let (header, rows) = report.texts_table();
        markdown(&mut page, &header, rows);
    }
    page
}

fn markdown(page: &mut String, header: &[&str], rows: Vec<Vec<String>>) {
    let names = header.iter().map(|name| name.trim_start_matches('#'));
    let rule = header
        .iter()
        .map(|name| if name.starts_with('#') { "---:" } else { "---" });
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    *page += &line(names.collect());
    *page += &line(rule.collect());
    for row in &rows {
        *page += &line(row.iter().map(String::as_str).collect());
    }
}
