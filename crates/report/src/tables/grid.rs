//! A table of short texts: what a page, Markdown, LaTeX and a terminal show of the same cells.

use serde::Serialize;

use crate::tables::table::pipe_table;
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
    /// A pipe table with aligned columns, under its title.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("**{}**", self.title);
        if !self.source.is_empty() {
            text.push_str(&format!(" (paper: {})", self.source));
        }
        let rows = self.rows(
            |title| format!("**{title}**"),
            |cell| cell.text(|main| format!("**{main}**")),
        );
        text.push_str(&format!("\n\n{}", pipe_table(&self.head, &rows)));
        for note in &self.notes {
            text.push_str(&format!("\n{note}.\n"));
        }
        text
    }

    /// A `booktabs` table; the preamble needs `\usepackage{booktabs}`.
    pub(crate) fn latex(&self) -> String {
        let strong = |main: &str| format!("\\textbf{{{}}}", latex(main));
        let head: Vec<String> = self.head.iter().map(|word| latex(word)).collect();
        let mut text = format!(
            "% \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n\
             \\begin{{tabular}}{{l{}}}\n\\toprule\n{} \\\\\n\\midrule\n",
            latex(&self.title),
            self.id,
            "r".repeat(self.head.len().saturating_sub(1)),
            head.join(" & "),
        );
        for (number, part) in self.parts.iter().enumerate() {
            if !part.title.is_empty() {
                let gap = if number > 0 { "\\addlinespace\n" } else { "" };
                text.push_str(&format!(
                    "{gap}\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n",
                    self.head.len(),
                    latex(&part.title)
                ));
            }
            for row in &part.rows {
                // What is strong is escaped once, by itself.
                let cell = |cell: &GridCell| {
                    let plain = GridCell {
                        main: if cell.best {
                            cell.main.clone()
                        } else {
                            latex(&cell.main)
                        },
                        beside: latex(&cell.beside),
                        best: cell.best,
                        class: String::new(),
                    };
                    plain.text(strong)
                };
                let cells: Vec<String> = row.iter().map(cell).collect();
                text.push_str(&format!("{} \\\\\n", cells.join(" & ")));
            }
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
        for note in &self.notes {
            text.push_str(&format!("\\par\\footnotesize {}.\n", latex(note)));
        }
        text.push_str("\\end{table}\n");
        text
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
