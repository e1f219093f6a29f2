//! Escapes for each format that a page is written in, and the little Markdown that notes are written in.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

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
