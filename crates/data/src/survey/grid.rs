//! Tables for a terminal: columns that line up, numbers to the right.

use std::fmt;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Rows of cells under a header.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Columns that are right-aligned, as numbers are.
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// An empty table; a header that starts with `#` is of a column of numbers, and shown without it.
    pub fn new(header: &[&str]) -> Self {
        let names = header
            .iter()
            .map(|name| name.trim_start_matches('#').to_string());
        Self {
            right: header.iter().map(|name| name.starts_with('#')).collect(),
            rows: vec![names.collect()],
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
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..self.right.len())
            .map(|at| self.rows.iter().map(|row| cell(row, at).width()).max())
            .map(|width| width.unwrap_or(0))
            .collect();
        for row in &self.rows {
            let mut line = String::new();
            for (at, (&width, &right)) in widths.iter().zip(&self.right).enumerate() {
                let text = cell(row, at);
                let blank = " ".repeat(width - text.width());
                let between = if at == 0 { "" } else { "  " };
                line += between;
                line += &if right { blank + &text } else { text + &blank };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A count with commas between thousands.
pub fn thousands(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in percent, with one digit after the point.
pub fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// `text` on one line of at most `width` columns, with an ellipsis where it was cut.
pub fn clipped(text: &str, width: usize) -> String {
    let line: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if line.width() <= width {
        return line;
    }
    let mut short = line[..fitting(&line, width.saturating_sub(1))].to_string();
    short.truncate(short.trim_end().len());
    short + "…"
}

/// The number of bytes of `text` that fit into `width` columns.
fn fitting(text: &str, width: usize) -> usize {
    let mut used = 0;
    let over = text.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > width
    });
    over.map_or(text.len(), |(at, _)| at)
}

/// `text` in lines of at most `width` columns, broken between words where possible; a line break in the text is shown
/// as `⏎`, to distinguish it from one that wrapping adds.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = text
        .replace("\r\n", "⏎ ")
        .replace(['\n', '\r'], "⏎ ")
        .replace(|letter: char| letter.is_control(), " ");
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word.to_string();
        loop {
            let line = lines.last_mut().expect("there is a first line");
            let gap = usize::from(!line.is_empty());
            if line.width() + gap + word.width() <= width {
                line.push_str(&" "[..gap]);
                line.push_str(&word);
                break;
            }
            if !line.is_empty() {
                lines.push(String::new());
                continue;
            }
            // A word that is wider than a line.
            let first = word.chars().next().map_or(0, char::len_utf8);
            let cut = fitting(&word, width).max(first);
            line.push_str(&word[..cut]);
            word = word[cut..].to_string();
            lines.push(String::new());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_wide_letters_count_twice() {
        let mut grid = Grid::new(&["name", "#rows", "file"]);
        grid.row(["表".into(), thousands(1_234_567), "a".into()]);
        grid.row(["wide".into(), "1".into()]);
        assert_eq!(
            grid.to_string(),
            "name       rows  file\n表    1,234,567  a\nwide          1\n"
        );
    }

    #[test]
    fn long_texts_are_clipped_and_wrapped_to_the_width() {
        assert_eq!(clipped("one two three", 8), "one two…");
        assert_eq!(clipped("a\nb", 8), "a b");
        for (text, expected) in [
            ("one two three", vec!["one two", "three"]),
            ("abcdefghijkl mn", vec!["abcdefgh", "ijkl mn"]),
            ("a\r\nb", vec!["a⏎ b"]),
            ("", vec![""]),
        ] {
            let lines = wrapped(text, 8);
            assert_eq!(lines, expected, "{text:?}");
        }
    }

    #[test]
    fn shares_are_of_the_whole() {
        assert_eq!(
            (percent(1, 3), percent(0, 0)),
            ("33.3 %".into(), "0.0 %".into())
        );
    }
}
