//! A table of short texts: what a page, Markdown, LaTeX and a terminal show of the same cells.

use serde::Serialize;

use crate::tables::frame::{Frame, latex_heading, latex_line, latex_raw};
use crate::text::latex;

/// A table that is not made of means with intervals.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Grid {
    /// Name of its files and of its place on the page.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) source: String,
    /// A paragraph above the table.
    pub(crate) text: String,
    /// Headings; the first stands over the names of the rows.
    pub(crate) head: Vec<String>,
    pub(crate) parts: Vec<GridPart>,
    pub(crate) notes: Vec<String>,
    /// One line per number, for programs.
    #[serde(skip)]
    pub(crate) csv: String,
}

/// Rows under one heading; an empty title is none.
#[derive(Debug, Default, Serialize)]
pub(crate) struct GridPart {
    pub(crate) title: String,
    pub(crate) rows: Vec<Vec<GridCell>>,
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct GridCell {
    /// What counts.
    pub(crate) main: String,
    /// What stands beside it, or on a page below it, in smaller print.
    pub(crate) beside: String,
    /// Whether it is the best of its row or column.
    pub(crate) best: bool,
    /// For the style sheet of a page; empty for none.
    pub(crate) class: String,
}

impl GridCell {
    pub(crate) fn of(main: impl Into<String>) -> Self {
        Self {
            main: main.into(),
            ..Self::default()
        }
    }

    /// The same with a class for the style sheet.
    pub(crate) fn class(self, class: &str) -> Self {
        Self {
            class: class.to_owned(),
            ..self
        }
    }

    fn latex(&self) -> String {
        // What is strong is escaped once, by itself.
        let main = match self.best {
            true => self.main.clone(),
            false => latex(&self.main),
        };
        let escaped = Self {
            main,
            beside: latex(&self.beside),
            best: self.best,
            class: String::new(),
        };
        escaped.text(|main| format!("\\textbf{{{}}}", latex(main)))
    }

    fn text(&self, strong: impl Fn(&str) -> String) -> String {
        let main = if self.best && !self.main.is_empty() {
            strong(&self.main)
        } else {
            self.main.clone()
        };
        [main, self.beside.clone()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(" / ")
    }
}

impl Grid {
    /// A pipe table under its title.
    pub(crate) fn markdown(&self) -> String {
        let rows = self.rows(
            |title| format!("**{title}**"),
            |cell| cell.text(|main| format!("**{main}**")),
        );
        self.frame().markdown(&self.head, &rows)
    }

    /// A `booktabs` table.
    pub(crate) fn latex(&self) -> String {
        let width = self.head.len();
        let body = self.parts.iter().enumerate().map(|(number, part)| {
            let heading = latex_heading(&part.title, width, number == 0);
            let rows = part.rows.iter();
            let rows = rows.map(|row| row.iter().map(GridCell::latex).collect::<Vec<_>>());
            let rows: String = rows.map(|row| latex_raw(&row)).collect();
            format!("{heading}{rows}")
        });
        let body: String = body.collect();
        let columns = format!("l{}", "r".repeat(width.saturating_sub(1)));
        self.frame().latex(&columns, &latex_line(&self.head), &body)
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            id: &self.id,
            title: &self.title,
            source: &self.source,
            notes: self.notes.clone(),
            ..Frame::default()
        }
    }

    /// Columns set apart by spaces, for a terminal.
    pub(crate) fn plain(&self) -> String {
        let rows = self.rows(str::to_owned, |cell| cell.text(str::to_owned));
        let all: Vec<&Vec<String>> = [&self.head].into_iter().chain(&rows).collect();
        // The heading of a part stands alone and widens no column.
        let width = |at: usize| {
            let cells = all
                .iter()
                .filter(|row| row.len() > 1)
                .filter_map(|row| row.get(at));
            cells.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = format!("{}\n\n", self.title);
        for row in all {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(at, (cell, &width))| match (at, row.len()) {
                    (_, 1) => cell.clone(),
                    (0, _) => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
            let line = cells.collect::<Vec<_>>().join("  ");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("\n{note}.\n"));
        }
        text
    }

    /// Cells as texts, row by row; the heading of a part is a row of one cell.
    fn rows(
        &self,
        heading: impl Fn(&str) -> String,
        cell: impl Fn(&GridCell) -> String,
    ) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for part in &self.parts {
            if !part.title.is_empty() {
                rows.push(vec![heading(&part.title)]);
            }
            rows.extend(part.rows.iter().map(|row| row.iter().map(&cell).collect()));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_cells_in_markdown_latex_and_a_terminal() {
        let best = GridCell {
            main: "0.9 & up".into(),
            beside: "4.2".into(),
            best: true,
            ..GridCell::default()
        };
        let grid = Grid {
            id: "grid".into(),
            title: "A grid".into(),
            head: vec!["Model".into(), "Score / seconds".into()],
            parts: vec![GridPart {
                title: "One part of it, with a long heading".into(),
                rows: vec![
                    vec![GridCell::of("a_b"), best],
                    vec![GridCell::of("c"), GridCell::of("never")],
                ],
            }],
            notes: vec!["A note".into()],
            ..Grid::default()
        };
        insta::assert_snapshot!(format!(
            "{}\n----\n{}\n----\n{}",
            grid.markdown(),
            grid.latex(),
            grid.plain()
        ));
    }
}
