//! A paragraph on each line, with and without blank lines between documents.

use super::Document;
use serde::Deserialize;

/// A paragraph on each line of one document; blank lines are ignored, and there is nothing to choose.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {}

/// A paragraph on each line and a blank line between documents; nothing to choose.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Documents {}

impl Lines {
    /// The one document of `text`.
    pub(super) fn documents(&self, text: &str) -> Vec<Document> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Document::of(lines.map(String::from).collect())
            .into_iter()
            .collect()
    }
}

impl Documents {
    /// The documents of `text`. Several blank lines count as one, and white space around a paragraph is dropped.
    pub(super) fn documents(&self, text: &str) -> Vec<Document> {
        let mut documents = Vec::new();
        let mut paragraphs: Vec<String> = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() {
                documents.extend(Document::of(std::mem::take(&mut paragraphs)));
            } else {
                paragraphs.push(line.to_string());
            }
        }
        documents.extend(Document::of(paragraphs));
        documents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Vec<Document>, expected: &[&[&str]]) {
        let found: Vec<Vec<&str>> = found
            .iter()
            .map(|document| document.paragraphs.iter().map(String::as_str).collect())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn blank_lines_divide_documents_and_no_document_is_empty() {
        for text in [
            "one\ntwo\n\nthree\n",
            "\n\none\n two\t\n \n\u{a0}\n\nthree",
            "one\r\ntwo\r\n\r\nthree\r\n\r\n\r\n",
        ] {
            check(Documents {}.documents(text), &[&["one", "two"], &["three"]]);
        }
        check(Documents {}.documents(" \n\n"), &[]);
    }

    #[test]
    fn a_file_of_lines_is_one_document() {
        check(Lines {}.documents("one\n\n two \n"), &[&["one", "two"]]);
        check(Lines {}.documents("\n"), &[]);
    }
}
