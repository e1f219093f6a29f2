//! What stands around the cells of a table, alike for every kind of table: title, source, sentences, notes.

use crate::text::{latex as escaped, markdown_cell};

/// The texts of a table but its cells.
#[derive(Debug, Default)]
pub(crate) struct Frame<'a> {
    /// Name of its files, and its label in LaTeX.
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    /// Where the paper has it; empty for a table of ours.
    pub(crate) source: &'a str,
    /// Sentences above the cells; not in LaTeX, where the caption is.
    pub(crate) lead: &'a [String],
    /// Sentences right below the cells.
    pub(crate) below: Vec<String>,
    /// What a reader must know, without a full stop.
    pub(crate) notes: Vec<String>,
}

impl Frame<'_> {
    /// A pipe table with aligned columns, under its title; a row of one cell is a heading.
    pub(crate) fn markdown(&self, head: &[String], rows: &[Vec<String>]) -> String {
        let mut text = format!("**{}**", self.title);
        if !self.source.is_empty() {
            text.push_str(&format!(" (paper: {})", self.source));
        }
        text.push_str("\n\n");
        if !self.lead.is_empty() {
            text.push_str(&format!("{}\n\n", self.lead.join("\n")));
        }
        text.push_str(&pipe_table(head, rows));
        for sentence in &self.below {
            text.push_str(&format!("\n{sentence}\n"));
        }
        for note in &self.notes {
            text.push_str(&format!("\n{note}.\n"));
        }
        text
    }

    /// A `booktabs` table of `columns`, such as `lrr`; `head` and `body` are lines of LaTeX.
    ///
    /// The preamble needs `\usepackage{booktabs}`.
    pub(crate) fn latex(&self, columns: &str, head: &str, body: &str) -> String {
        let mut text = format!(
            "% \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n\
             \\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n",
            escaped(self.title),
            self.id,
        );
        let sentences = self.below.iter().flat_map(|text| text.lines());
        for sentence in sentences {
            text.push_str(&format!("\\par\\footnotesize {}\n", escaped(sentence)));
        }
        for note in &self.notes {
            text.push_str(&format!("\\par\\footnotesize {}.\n", escaped(note)));
        }
        text.push_str("\\end{table}\n");
        text
    }
}

/// A line of LaTeX with these cells, escaped.
pub(crate) fn latex_line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    latex_raw(&cells)
}

/// The same of cells that are LaTeX already.
pub(crate) fn latex_raw(cells: &[String]) -> String {
    format!("{} \\\\\n", cells.join(" & "))
}

/// A heading over `width` columns, set apart from the part before it; nothing where it is empty.
pub(crate) fn latex_heading(title: &str, width: usize, first: bool) -> String {
    if title.is_empty() {
        return String::new();
    }
    let gap = if first { "" } else { "\\addlinespace\n" };
    format!(
        "{gap}\\multicolumn{{{width}}}{{l}}{{\\emph{{{}}}}} \\\\\n",
        escaped(title)
    )
}

/// A Markdown table, first column to the left, the others to the right; a row of one cell is a heading.
fn pipe_table(head: &[String], rows: &[Vec<String>]) -> String {
    let cell = |row: &[String], at: usize| {
        row.get(at)
            .map_or(String::new(), |text| markdown_cell(text))
    };
    let widths: Vec<usize> = (0..head.len())
        .map(|at| {
            let cells = rows.iter().map(|row| cell(row, at)).chain([cell(head, at)]);
            cells
                .map(|text| text.chars().count())
                .max()
                .unwrap_or(0)
                .max(4)
        })
        .collect();
    let line = |row: &[String]| {
        let cells = widths.iter().enumerate().map(|(at, &width)| {
            let text = cell(row, at);
            if at == 0 {
                format!("{text:<width$}")
            } else {
                format!("{text:>width$}")
            }
        });
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rules = widths.iter().enumerate().map(|(at, &width)| match at {
        0 => format!(":{}", "-".repeat(width + 1)),
        _ => format!("{}:", "-".repeat(width + 1)),
    });
    let rule = format!("|{}|\n", rules.collect::<Vec<_>>().join("|"));
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{rule}{body}", line(head))
}
