//! Tables as text: for a terminal, with columns that line up, and as Markdown.

use std::fmt;

use unicode_width::UnicodeWidthStr;

/// Rows of cells under a header; columns of numbers are aligned to the right.
#[derive(Clone, Debug)]
pub struct TextTable {
    /// Columns that are right-aligned, as numbers are.
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// An empty table; a header that starts with `#` is of a column of numbers, and shown without it.
    pub fn new<S: AsRef<str>>(header: impl IntoIterator<Item = S>) -> Self {
        let column = |name: S| match name.as_ref().strip_prefix('#') {
            Some(name) => (true, name.to_string()),
            None => (false, name.as_ref().to_string()),
        };
        let (right, names) = header.into_iter().map(column).unzip();
        Self {
            right,
            rows: vec![names],
        }
    }

    /// Adds a row; cells that are not given stay empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns whether there is nothing below the header.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// The table as Markdown, which aligns the columns when it is shown.
    pub fn markdown(&self) -> String {
        let line = |row: &Vec<String>| format!("| {} |\n", self.cells(row).join(" | "));
        let rules = self.right.iter();
        let rules = rules.map(|&right| if right { "--:|" } else { "---|" });
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        lines.insert(1, format!("|{}\n", rules.collect::<String>()));
        lines.concat()
    }

    /// The cells of a row, one for each column.
    fn cells<'a>(&self, row: &'a [String]) -> Vec<&'a str> {
        let cells = row.iter().map(String::as_str);
        let missing = self.right.len().saturating_sub(row.len());
        cells.chain(std::iter::repeat_n("", missing)).collect()
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<Vec<&str>> = self.rows.iter().map(|row| self.cells(row)).collect();
        let width = |at: usize| rows.iter().map(|row| row[at].width()).max();
        let widths: Vec<usize> = (0..self.right.len()).filter_map(width).collect();
        for row in &rows {
            let mut line = String::new();
            for (at, (&width, &right)) in widths.iter().zip(&self.right).enumerate() {
                let text = row[at];
                let blank = " ".repeat(width - text.width());
                line += if at == 0 { "" } else { "  " };
                line += &if right {
                    blank + text
                } else {
                    text.to_owned() + &blank
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table = TextTable::new(["name", "#rows", "file"]);
        table.row(["表".into(), "1,234,567".into(), "a".into()]);
        table.row(["wide".into(), "1".into()]);
        table
    }

    #[test]
    fn numbers_stand_to_the_right_and_wide_letters_count_twice() {
        let expected = "name       rows  file\n表    1,234,567  a\nwide          1\n";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn markdown_has_a_rule_that_aligns() {
        let expected =
            "| name | rows | file |\n|---|--:|---|\n| 表 | 1,234,567 | a |\n| wide | 1 |  |\n";
        assert_eq!(table().markdown(), expected);
    }
}
