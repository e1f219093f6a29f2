//! Numbers and words on the page: fixed digits, escapes, the little Markdown that notes are written in.

use std::collections::BTreeMap;
use std::fmt::Display;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

pub(crate) use totune_plot::number::{count, decimals, fixed, readable, signed};

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// As it is, with so many digits.
    Plain(usize),
    /// A difference of scores, in hundredths: `+0.66 points`.
    Points,
    /// A share, in hundredths: `33.5 %`.
    Percent,
}

impl Scale {
    /// Without its unit.
    pub(crate) fn number(self, value: f64) -> String {
        match self {
            Self::Plain(decimals) => fixed(value, decimals),
            Self::Points => fixed(value * 100.0, 2),
            Self::Percent => fixed(value * 100.0, 1),
        }
    }

    /// With its sign, also when it is positive; without its unit.
    pub(crate) fn signed(self, value: f64) -> String {
        match self {
            Self::Plain(decimals) => signed(value, decimals),
            Self::Points => signed(value * 100.0, 2),
            Self::Percent => signed(value * 100.0, 1),
        }
    }

    /// What follows the number.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Plain(_) => "",
            Self::Points => " points",
            Self::Percent => " %",
        }
    }

    /// With its unit, without a sign.
    pub(crate) fn amount(self, value: f64) -> String {
        format!("{}{}", self.number(value), self.unit())
    }

    /// With sign and unit.
    pub(crate) fn text(self, value: f64) -> String {
        format!("{}{}", self.signed(value), self.unit())
    }

    /// A value of the paper: with its sign and as many digits as were written, without its unit.
    pub(crate) fn printed(self, value: f64) -> String {
        let written = decimals(value);
        match self {
            Self::Plain(least) => signed(value, written.max(least)),
            Self::Points => signed(value * 100.0, written.saturating_sub(2).max(2)),
            Self::Percent => signed(value * 100.0, written.saturating_sub(2).max(1)),
        }
    }
}

/// A p-value: three digits, or the bound that three digits can show.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_owned()
    } else {
        fixed(p, 3)
    }
}

/// `p = 0.012` or `p < 0.001`.
pub(crate) fn p_equals(p: f64) -> String {
    let text = p_value(p);
    if text.starts_with('<') {
        format!("p {text}")
    } else {
        format!("p = {text}")
    }
}

/// Seconds with three digits, or all of a larger number: `0.42`, `4.20`, `42.0`, `420`, `4,200`.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        ..9.995 => fixed(value, 2),
        ..99.95 => fixed(value, 1),
        _ => count(value.round() as u64),
    }
}

/// `1 run`, `2 runs`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// `2 diverged, 1 failed`; empty where there is nothing.
pub(crate) fn counts(counts: &BTreeMap<impl Display, usize>) -> String {
    let parts = counts.iter().map(|(what, n)| format!("{n} {what}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn joined(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A title within a sentence: its first letter small, unless the word is an abbreviation or a single letter.
pub(crate) fn in_sentence(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => title.to_owned(),
    }
}

/// Text for HTML, with a true minus sign before digits.
pub(crate) fn html(text: &str) -> String {
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;");
    true_minus(&escaped)
}

/// A hyphen before a digit, at the start of a word, is a minus sign.
fn true_minus(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(here) = rest.next() {
        let opens_word = matches!(before, ' ' | '[' | '(' | ',');
        let next_is_digit = rest.peek().is_some_and(char::is_ascii_digit);
        result.push(if here == '-' && opens_word && next_is_digit {
            '\u{2212}'
        } else {
            here
        });
        before = here;
    }
    result
}

/// Text for LaTeX; numbers keep a true minus.
pub(crate) fn latex(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in true_minus(text).chars() {
        match character {
            '\\' => result.push_str(r"\textbackslash{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                result.push('\\');
                result.push(character);
            }
            '~' => result.push_str(r"\textasciitilde{}"),
            '^' => result.push_str(r"\textasciicircum{}"),
            '<' => result.push_str("$<$"),
            '>' => result.push_str("$>$"),
            '\u{2212}' => result.push_str("$-$"),
            '≠' => result.push_str(r"$\neq$"),
            '×' => result.push_str(r"$\times$"),
            other => result.push(other),
        }
    }
    result
}

/// Text for a cell of a Markdown table.
pub(crate) fn markdown_cell(text: &str) -> String {
    text.replace('\\', r"\\")
        .replace('|', r"\|")
        .replace('\n', " ")
}

/// A line of CSV with these fields.
pub(crate) fn csv_line(fields: impl IntoIterator<Item: AsRef<str>>) -> String {
    let fields = fields.into_iter();
    let fields: Vec<String> = fields.map(|field| csv_field(field.as_ref())).collect();
    format!("{}\n", fields.join(","))
}

/// One field of a CSV file, quoted where it must be.
pub(crate) fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Markdown as HTML, with true minus signs. HTML in it is text, and a link that leads neither to the web nor within the page
/// is the words it has.
pub(crate) fn markdown(text: &str) -> String {
    let mut dead_link = false;
    let events = Parser::new(text).map(|event| match event {
        Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
            Event::InlineHtml(html(&text).into())
        }
        Event::Code(text) => Event::InlineHtml(format!("<code>{}</code>", html(&text)).into()),
        Event::SoftBreak => Event::InlineHtml(" ".into()),
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            let safe = ["https://", "http://", "#"];
            dead_link = !safe.iter().any(|start| dest_url.starts_with(start));
            if dead_link {
                Event::InlineHtml("".into())
            } else {
                event
            }
        }
        Event::End(TagEnd::Link) if dead_link => Event::InlineHtml("".into()),
        other => other,
    });
    let mut result = String::new();
    pulldown_cmark::html::push_html(&mut result, events);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_fit_into_sentences() {
        for (title, expected) in [
            ("All layers", "all layers"),
            ("BERT", "BERT"),
            ("A", "A"),
            ("12 layers", "12 layers"),
            ("", ""),
        ] {
            assert_eq!(in_sentence(title), expected);
        }
        assert_eq!(joined(&["a", "b", "c"]), "a, b and c");
        assert_eq!((joined(&["a"]).as_str(), joined(&[]).as_str()), ("a", ""));
    }

    #[test]
    fn shares_and_points_are_hundredths() {
        assert_eq!(Scale::Points.text(0.0066), "+0.66 points");
        assert_eq!(Scale::Percent.text(-0.05), "-5.0 %");
        assert_eq!(Scale::Plain(3).text(0.5), "+0.500");
        assert_eq!(Scale::Points.printed(-0.002125), "-0.2125");
        assert_eq!(Scale::Points.printed(0.0066), "+0.66");
        assert_eq!(Scale::Percent.printed(0.3348), "+33.48");
        assert_eq!(Scale::Percent.printed(0.4), "+40.0");
    }

    #[test]
    fn small_p_values_are_bounds() {
        assert_eq!(p_equals(0.00002), "p < 0.001");
        assert_eq!(p_equals(0.1529), "p = 0.153");
    }

    #[test]
    fn seconds_have_three_digits() {
        let shown = [0.416, 4.2, 9.996, 42.04, 99.96, 4199.6].map(seconds);
        assert_eq!(shown, ["0.42", "4.20", "10.0", "42.0", "100", "4,200"]);
    }

    #[test]
    fn markup_in_names_is_harmless() {
        assert_eq!(html("<b> & \"c\""), "&lt;b&gt; &amp; &quot;c&quot;");
        assert_eq!(latex("50 % of a_b & -0.5"), r"50 \% of a\_b \& $-$0.5");
        assert_eq!(markdown_cell("a|b"), r"a\|b");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn notes_become_paragraphs_and_lists() {
        check("One\ntwo.\n\nThree.", "<p>One two.</p>\n<p>Three.</p>\n");
        check(
            "- **a**: `b < c`\n  more\n- d\n\nEnd.",
            "<ul>\n<li><strong>a</strong>: <code>b &lt; c</code> more</li>\n<li>d</li>\n</ul>\n<p>End.</p>\n",
        );
        check("### Folds\nText", "<h3>Folds</h3>\n<p>Text</p>\n");
        check(
            "See [the paper](https://example.org/a_b), *well*",
            "<p>See <a href=\"https://example.org/a_b\">the paper</a>, <em>well</em></p>\n",
        );
    }

    #[test]
    fn unclosed_marks_are_text() {
        check("2 * 3 and `tick", "<p>2 * 3 and `tick</p>\n");
        check("[x](javascript:alert)", "<p>x</p>\n");
    }

    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(markdown(given), expected);
    }
}
