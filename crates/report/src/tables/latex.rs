//! Tables in LaTeX.

use super::rendered::Marks;
use super::{Column, RenderedTable};
use crate::markup::latex as escaped;

const MARKS: Marks = Marks {
    escaped,
    strong: |text| format!("\\textbf{{{text}}}"),
};

impl RenderedTable {
    /// A `booktabs` table. The preamble needs `\usepackage{booktabs}`.
    pub(crate) fn latex(&self) -> String {
        let shown: Vec<&Column> = self
            .columns
            .iter()
            .filter(|column| is_shown(column))
            .collect();
        let forms: String = shown.iter().enumerate().map(form).collect();
        let width = shown.iter().map(|column| column.titles().len()).sum();
        let mut text = format!(
            "% \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n\
             \\begin{{tabular}}{{{forms}}}\n\\toprule\n{}\\midrule\n{}\\bottomrule\n\\end{{tabular}}\n",
            escaped(&self.heading.title),
            self.heading.id,
            head(&shown),
            self.body(width)
        );
        let notes = self.notes.iter().map(|note| format!("{note}."));
        let below = self.conclusion.iter().chain([&self.legend]).cloned();
        for sentence in below.chain(notes).filter(|sentence| !sentence.is_empty()) {
            text.push_str(&format!("\\par\\footnotesize {}\n", escaped(&sentence)));
        }
        text + "\\end{table}\n"
    }

    /// The rows, each part under its heading.
    fn body(&self, width: usize) -> String {
        let mut text = String::new();
        for (number, part) in self.parts.iter().enumerate() {
            if !part.title.is_empty() {
                let gap = if number == 0 { "" } else { "\\addlinespace\n" };
                let title = escaped(&part.title);
                text.push_str(&format!(
                    "{gap}\\multicolumn{{{width}}}{{l}}{{\\emph{{{title}}}}} \\\\\n"
                ));
            }
            for row in &part.rows {
                let texts = self.columns.iter().zip(self.texts(row, MARKS));
                let texts = texts.filter(|(column, _)| is_shown(column));
                text.push_str(&line(texts.flat_map(|(_, texts)| texts)));
            }
        }
        text
    }
}

fn is_shown(column: &Column) -> bool {
    column.latex != Some("")
}

/// Alignment of a column: names to the left, numbers to the right.
fn form((at, column): (usize, &&Column)) -> String {
    let usual = if at == 0 || column.class == "stub" {
        "l"
    } else {
        "r"
    };
    column.latex.unwrap_or(usual).repeat(column.titles().len())
}

/// The headings, under those of their groups where there are any.
fn head(columns: &[&Column]) -> String {
    let titles = columns.iter().flat_map(|column| column.titles());
    let titles = line(titles.map(escaped));
    if columns.iter().all(|column| column.group.is_empty()) {
        return titles;
    }
    let (mut at, mut groups, mut rules) = (1, Vec::new(), String::new());
    for run in columns.chunk_by(|a, b| a.group == b.group && !a.group.is_empty()) {
        let width: usize = run.iter().map(|column| column.titles().len()).sum();
        match run[0].group.as_str() {
            "" => groups.extend(vec![String::new(); width]),
            group => {
                let title = escaped(group);
                groups.push(format!("\\multicolumn{{{width}}}{{c}}{{{title}}}"));
                rules.push_str(&format!("\\cmidrule(lr){{{at}-{}}}\n", at + width - 1));
            }
        }
        at += width;
    }
    format!(
        "{}\\\\\n{rules}{titles}",
        groups.join(" & ")
            + if groups.last().is_some_and(String::is_empty) {
                ""
            } else {
                " "
            }
    )
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("{} \\\\\n", cells.collect::<Vec<_>>().join(" & "))
}
