//! Tables in Markdown.

use super::RenderedTable;
use super::rendered::Marks;
use crate::markup::markdown_cell;

const MARKS: Marks = Marks {
    escaped: str::to_owned,
    strong: |text| format!("**{text}**"),
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

    fn pipes(&self) -> String {
        let head = self.flat_head().into_iter();
        let mut rows: Vec<Vec<String>> = vec![head.map(|title| markdown_cell(&title)).collect()];
        for part in &self.parts {
            if !part.title.is_empty() {
                rows.push(vec![markdown_cell(&(MARKS.strong)(&part.title))]);
            }
            rows.extend(part.rows.iter().map(|row| {
                let texts = self.texts(row, MARKS).into_iter().flatten();
                texts.map(|text| markdown_cell(&text)).collect()
            }));
        }
        let widths: Vec<usize> = (0..rows[0].len())
            .map(|at| {
                let cells = rows.iter().filter_map(|row| row.get(at));
                cells.fold(4, |most, text| most.max(text.chars().count()))
            })
            .collect();
        let line = |row: &Vec<String>| {
            let cells = widths.iter().enumerate().map(|(at, &width)| {
                let text = row.get(at).map_or("", String::as_str);
                match at {
                    0 => format!("{text:<width$}"),
                    _ => format!("{text:>width$}"),
                }
            });
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rules = widths.iter().enumerate().map(|(at, &width)| match at {
            0 => format!(":{}", "-".repeat(width + 1)),
            _ => format!("{}:", "-".repeat(width + 1)),
        });
        let rule = format!("|{}|\n", rules.collect::<Vec<_>>().join("|"));
        let body: String = rows[1..].iter().map(line).collect();
        format!("{}{rule}{body}", line(&rows[0]))
    }
}
