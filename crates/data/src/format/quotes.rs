//! Whether the quotes of a CSV file are whole.
//!
//! Lenient parsers take a quote that never closes as text up to the end of the file, and text after a closing quote as
//! part of the field; both swallow rows silently. This scan refuses them, and notes the line of each record.

/// Where the scan is within a record.
enum State {
    FieldStart,
    Plain,
    Quoted {
        opened: usize,
    },
    /// After a quote in a quoted field: a doubled quote or the end of the field.
    Closing {
        opened: usize,
    },
}

/// The first line of each record that is not blank, or the line and kind of the first broken quote.
pub(super) fn record_lines(text: &str) -> Result<Vec<usize>, (usize, String)> {
    let mut lines = Vec::new();
    let mut state = State::FieldStart;
    let mut line = 1;
    let mut blank = true;
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let ends_line = byte == b'\n' || byte == b'\r';
        if blank && !ends_line {
            lines.push(line);
            blank = false;
        }
        state = match (state, byte) {
            (State::FieldStart, b'"') => State::Quoted { opened: line },
            (State::Quoted { opened }, b'"') => State::Closing { opened },
            (State::Closing { opened }, b'"') | (State::Quoted { opened }, _) => {
                State::Quoted { opened }
            }
            (State::FieldStart | State::Plain | State::Closing { .. }, b',') => State::FieldStart,
            (State::FieldStart | State::Plain | State::Closing { .. }, b'\n' | b'\r') => {
                blank = true;
                State::FieldStart
            }
            (State::FieldStart | State::Plain, _) => State::Plain,
            (State::Closing { opened }, _) => {
                let found = text[at..].chars().next().unwrap_or_default();
                let problem = format!(
                    "{found:?} follows the quote that closes the field opened on line {opened}"
                );
                return Err((
                    line,
                    format!("{problem}; expected a comma, a line end or a doubled quote"),
                ));
            }
        };
        let half_of_crlf = byte == b'\r' && bytes.get(at + 1) == Some(&b'\n');
        if ends_line && !half_of_crlf {
            line += 1;
        }
    }
    match state {
        State::Quoted { opened } => {
            Err((opened, "a quoted field opens here and the file ends before it closes; expected a closing quote".into()))
        }
        _ => Ok(lines),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_on_the_line_they_start() {
        for (text, expected) in [
            ("a,b\n1,2\n", vec![1, 2]),
            ("a,b\r\n1,2\r\n", vec![1, 2]),
            ("a,b\n\n\n1,2", vec![1, 4]),
            ("a,\"b\nc\"\n1,2\n", vec![1, 3]),
            ("a,\"b\r\n\r\nc\"\r\n1,2\r\n", vec![1, 4]),
            ("\"say \"\"hi\"\"\",x\n\"\",y\n", vec![1, 2]),
            ("a \"b\" c,d\n", vec![1]),
            ("a\r1\r", vec![1, 2]),
            ("", vec![]),
        ] {
            assert_eq!(record_lines(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn a_broken_quote_is_found_where_it_opens() {
        for (text, line, says) in [
            ("a,b\n1,\"2\n3,4\n", 2, "before it closes"),
            ("a,b\n1,\"2\"\"\n", 2, "before it closes"),
            ("a,b\n\"", 2, "before it closes"),
            (
                "a,b\n1,\"2\n3,\"4\"\n",
                3,
                "'4' follows the quote that closes the field opened on line 2",
            ),
            ("a,b\n1,\"2\"é\n", 2, "'é' follows"),
        ] {
            let (found, problem) = record_lines(text).expect_err(text);
            assert_eq!(found, line, "{text:?}");
            assert!(problem.contains(says), "{problem}");
        }
    }
}
