//! Tables for a terminal.

use super::RenderedTable;
use super::rendered::Marks;

const MARKS: Marks = Marks {
    escaped: str::to_owned,
    strong: str::to_owned,
};

impl RenderedTable {
    /// Columns set apart by spaces; the heading of a part stands alone and widens no column.
    pub(crate) fn plain(&self) -> String {
        let mut rows: Vec<Vec<String>> = vec![self.flat_head()];
        for part in &self.parts {
            if !part.title.is_empty() {
                rows.push(vec![part.title.clone()]);
            }
            let texts = part.rows.iter().map(|row| self.texts(row, MARKS).concat());
            rows.extend(texts);
        }
        let width = |at: usize| {
            let cells = rows.iter().filter(|row| row.len() > 1);
            let cells = cells.filter_map(|row| row.get(at));
            cells.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
        let mut text = format!("{}\n\n", self.heading.title);
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(at, (cell, &width))| match (at, row.len()) {
                (_, 1) => cell.clone(),
                (0, _) => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("\n{note}.\n"));
        }
        text
    }
}
