//! Tables as lines of text: in Markdown, and for a terminal.

use super::RenderedTable;
use super::rendered::Marks;
use crate::markup::markdown_cell;

const MARKDOWN: Marks = Marks {
    escaped: str::to_owned,
    strong: |text| format!("**{text}**"),
};
const TERMINAL: Marks = Marks {
    escaped: str::to_owned,
    strong: str::to_owned,
};

impl RenderedTable {
    /// A pipe table with aligned columns, under its title; the heading of a part is a row of one cell.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("**{}**", self.heading.title);
        if !self.heading.source.is_empty() {
            text.push_str(&format!(" (paper: {})", self.heading.source));
        }
        text.push_str("\n\n");
        if !self.lead.is_empty() {
            text.push_str(&format!("{}\n\n", self.lead.join("\n")));
        }
        text.push_str(&self.pipes());
        for sentences in [self.conclusion.join("\n"), self.legend.clone()] {
            if !sentences.is_empty() {
                text.push_str(&format!("\n{sentences}\n"));
            }
        }
        for note in &self.notes {
            text.push_str(&format!("\n{note}.\n"));
        }
        text
    }

    /// Columns set apart by spaces, for a terminal; the heading of a part has its own line and widens no column.
    pub(crate) fn plain(&self) -> String {
        let rows = self.lines(TERMINAL);
        let widths = widths(rows.iter().filter(|row| row.len() > 1), 0);
        let mut text = format!("{}\n\n", self.heading.title);
        for row in &rows {
            let line = match row.as_slice() {
                [heading] => heading.clone(),
                cells => aligned(cells, &widths).join("  "),
            };
            text.push_str(&format!("{}\n", line.trim_end()));
        }
        for note in &self.notes {
            text.push_str(&format!("\n{note}.\n"));
        }
        text
    }

    fn pipes(&self) -> String {
        let mut rows = self.lines(MARKDOWN);
        let n = rows[0].len();
        for row in &mut rows {
            row.iter_mut().for_each(|text| *text = markdown_cell(text));
            row.resize(n, String::new());
        }
        let widths = widths(rows.iter(), 4);
        let line = |row: &Vec<String>| format!("| {} |\n", aligned(row, &widths).join(" | "));
        let rules = widths.iter().enumerate().map(|(at, &width)| match at {
            0 => format!(":{}", "-".repeat(width + 1)),
            _ => format!("{}:", "-".repeat(width + 1)),
        });
        let rule = format!("|{}|\n", rules.collect::<Vec<_>>().join("|"));
        let body: String = rows[1..].iter().map(line).collect();
        format!("{}{rule}{body}", line(&rows[0]))
    }

    /// The headings, then the rows; the heading of a part is a row of one cell.
    fn lines(&self, marks: Marks) -> Vec<Vec<String>> {
        let mut rows = vec![self.flat_head()];
        for part in &self.parts {
            if !part.title.is_empty() {
                rows.push(vec![(marks.strong)(&part.title)]);
            }
            let texts = part.rows.iter().map(|row| self.texts(row, marks).concat());
            rows.extend(texts);
        }
        rows
    }
}

/// The characters of the longest cell of each column, and at least so many.
fn widths<'r>(rows: impl Iterator<Item = &'r Vec<String>>, least: usize) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), least);
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    widths
}

/// The first cell to the left, all others to the right.
fn aligned(row: &[String], widths: &[usize]) -> Vec<String> {
    let cells = row.iter().zip(widths).enumerate();
    let cells = cells.map(|(at, (text, &width))| match at {
        0 => format!("{text:<width$}"),
        _ => format!("{text:>width$}"),
    });
    cells.collect()
}
