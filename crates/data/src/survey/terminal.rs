//! Shares and texts as a terminal shows them.

use totune_stats::number;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A count with commas between thousands.
pub fn thousands(value: usize) -> String {
    number::count(value as u64)
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
