//! Books of Project Gutenberg: the text between the lines that mark its start and its end.

use super::Document;
use crate::format::FormatError;
use serde::Deserialize;
use std::path::Path;

/// Settings of a book of Project Gutenberg; nothing to choose.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gutenberg {}

/// Beginnings of the line before a book, without spaces and in capitals: files of today, of about 2000 and of the
/// 1990s.
const STARTS: [&str; 3] = [
    "***STARTOFTHEPROJECTGUTENBERGEBOOK",
    "***STARTOFTHISPROJECTGUTENBERGEBOOK",
    "*END*THESMALLPRINT!",
];

/// Beginnings of the line after a book, in the same form.
const ENDS: [&str; 5] = [
    "***ENDOFTHEPROJECTGUTENBERGEBOOK",
    "***ENDOFTHISPROJECTGUTENBERGEBOOK",
    "ENDOFTHEPROJECTGUTENBERGEBOOK",
    "ENDOFPROJECTGUTENBERG",
    "ENDOFTHEPROJECTGUTENBERGETEXT",
];

impl Gutenberg {
    /// The book as one document; none where it has no text.
    pub(super) fn documents(&self, path: &Path, text: &str) -> Result<Vec<Document>, FormatError> {
        let paragraphs = self.paragraphs(path, text)?;
        Ok(Document::of(paragraphs).into_iter().collect())
    }

    /// The paragraphs between the two lines, each on one line.
    fn paragraphs(&self, path: &Path, text: &str) -> Result<Vec<String>, FormatError> {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let find = |marks: &[&str], from: usize| {
            let found = |line: &&str| {
                let line: String = line.split_whitespace().collect();
                let line = line.to_uppercase();
                marks.iter().any(|mark| line.starts_with(mark))
            };
            let place = lines.iter().skip(from).position(found);
            place.map(|place| from + place)
        };
        let start = find(&STARTS, 0).ok_or_else(|| {
            let problem = "no line that says where the book starts; expected one such as `*** START OF THE PROJECT GUTENBERG EBOOK`, `*** START OF THIS PROJECT GUTENBERG EBOOK` or `*END*THE SMALL PRINT!`";
            FormatError::on_line(path, 1, problem.into())
        })?;
        let end = find(&ENDS, start + 1).ok_or_else(|| {
            let problem = "the book starts here and no line says where it ends; expected one such as `*** END OF THE PROJECT GUTENBERG EBOOK`, `*** END OF THIS PROJECT GUTENBERG EBOOK` or `End of Project Gutenberg's`";
            FormatError::on_line(path, start + 1, problem.into())
        })?;
        let body = &lines[start + 1..end];
        let paragraphs = body.split(|line| line.is_empty());
        let paragraphs = paragraphs.filter(|lines| !lines.is_empty());
        Ok(paragraphs.map(|lines| lines.join(" ")).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[&str], (usize, &str)>) {
        let found = Gutenberg {}.paragraphs(Path::new("book.txt"), text);
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
            (Err(found), Err((line, says))) => {
                assert_eq!(found.line, line, "{found}");
                assert!(found.problem.contains(says), "{found}");
            }
            (found, expected) => panic!("{found:?}; expected {expected:?}"),
        }
    }

    #[test]
    fn header_and_footer_go_in_each_wording_and_paragraphs_become_lines() {
        for (start, end) in [
            (
                "*** START OF THE PROJECT GUTENBERG EBOOK A BOOK ***",
                "*** END OF THE PROJECT GUTENBERG EBOOK A BOOK ***",
            ),
            (
                "***START OF THIS PROJECT GUTENBERG EBOOK A BOOK***",
                "***END OF THIS PROJECT GUTENBERG EBOOK A BOOK***",
            ),
            (
                "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
                "End of Project Gutenberg's A Book, by Nobody",
            ),
            (
                "*** Start of the Project Gutenberg EBook of A Book ***",
                "End of the Project Gutenberg EBook of A Book",
            ),
        ] {
            let book = format!(
                "Licence\r\n\r\n{start}\r\n\r\nOne\r\n two.\r\n\r\n\r\n***\r\n\r\nThree.\r\n{end}\r\nmore"
            );
            check(&book, Ok(&["One two.", "***", "Three."]));
        }
    }

    #[test]
    fn a_book_without_its_lines_is_refused_and_what_was_looked_for_is_named() {
        check(
            "One\n",
            Err((1, "`*** START OF THE PROJECT GUTENBERG EBOOK`")),
        );
        check(
            "x\n*** START OF THE PROJECT GUTENBERG EBOOK A ***\nOne\n",
            Err((2, "`*** END OF THE PROJECT GUTENBERG EBOOK`")),
        );
        check(
            "*** END OF THE PROJECT GUTENBERG EBOOK A ***\n*** START OF THE PROJECT GUTENBERG EBOOK A ***\n",
            Err((2, "where it ends")),
        );
    }
}
