//! Lines of column files: which have a word, and where it and its tag stand on them.

use anyhow::{Result, ensure};
use totune_data::format::{Conll, DOCUMENT, Format, Separator};
use totune_toml::did_you_mean;

use super::{Columns, quoted};
use crate::facts::LayoutFacts;

/// Layout of lines with a word each: that of the training file, where it was one of columns; otherwise the word is the first
/// column and its tag the last.
#[derive(Debug, Default)]
pub(crate) struct WordLines {
    /// Names of the columns; none where the training file was of another format.
    columns: Vec<String>,
    separator: Separator,
    /// Prefix of lines that are no words where a sentence could begin.
    comment: Option<String>,
    /// Column of the words.
    word: String,
    /// Column of the tags.
    tag: String,
    /// Whether the lines have tags.
    labelled: bool,
}

impl WordLines {
    /// The lines of a model whose training file is described by `layout`; `labelled` says whether they have tags.
    pub fn of(layout: &LayoutFacts, labelled: bool) -> Self {
        let Some(Format::Conll(Conll {
            columns,
            separator,
            comment,
        })) = &layout.format
        else {
            return Self::default();
        };
        let name = |names: &[String]| names.first().cloned().unwrap_or_default();
        Self {
            columns: columns.clone(),
            separator: *separator,
            comment: comment.clone(),
            word: name(&layout.text),
            tag: name(layout.label.names()),
            labelled,
        }
    }

    /// Takes the columns that were asked for.
    pub fn choose(&mut self, asked: &Columns) -> Result<()> {
        let options = [
            ("--text", asked.text.first(), &mut self.word),
            ("--label", asked.label.as_ref(), &mut self.tag),
        ];
        for (option, name, place) in options {
            let Some(name) = name else { continue };
            ensure!(
                !self.columns.is_empty(),
                "{option}: `{name}`, but the columns of words have no names: the model was trained on another format, so the word \
                 is taken from the first column and its tag from the last"
            );
            ensure!(
                self.columns.contains(name),
                "{option}: no column `{name}`{}found {}, those of the training file",
                did_you_mean(name, self.columns.iter().map(String::as_str)),
                quoted(&self.columns)
            );
            place.clone_from(name);
        }
        Ok(())
    }

    /// The places of the lines with a word on them.
    pub fn places<L: AsRef<str>>(&self, lines: &[L]) -> Vec<usize> {
        let mut within = false;
        let mut places = Vec::new();
        for (place, line) in lines.iter().enumerate() {
            let line = line.as_ref();
            let begins = |comment: &String| !within && line.starts_with(comment.as_str());
            if line.trim().is_empty() || line.starts_with(DOCUMENT) {
                within = false;
            } else if !self.comment.as_ref().is_some_and(begins) {
                within = true;
                places.push(place);
            }
        }
        places
    }

    /// The columns of a line.
    pub fn cells<'a>(&self, line: &'a str) -> Vec<&'a str> {
        if line.contains('\t') && self.separator != Separator::WhiteSpace {
            line.split('\t').map(str::trim).collect()
        } else {
            line.split_whitespace().collect()
        }
    }

    /// The word on a line.
    pub fn word<'a>(&self, line: &'a str) -> Option<&'a str> {
        let cells = self.cells(line);
        let place = self.place(&self.word, cells.len()).unwrap_or(0);
        cells.get(place).copied()
    }

    /// The tag on a line; nothing where it has only one column.
    pub fn tag<'a>(&self, line: &'a str) -> Option<&'a str> {
        let cells = self.cells(line);
        let last = cells.len().checked_sub(1).filter(|&last| last > 0)?;
        let place = Some(cells.len()).filter(|&n| n == self.columns.len());
        let place = place.and_then(|n| self.place(&self.tag, n));
        cells.get(place.unwrap_or(last)).copied()
    }

    /// The place of a column on a line of `n`, which has all columns of the training file or, without labels, all but the tags.
    fn place(&self, name: &str, n: usize) -> Option<usize> {
        let without_tags = !self.labelled && n + 1 == self.columns.len();
        let columns = self.columns.iter();
        let mut columns = columns.filter(|column| !without_tags || **column != self.tag);
        let place = columns.position(|column| column == name)?;
        (n == self.columns.len() || without_tags).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered() -> WordLines {
        WordLines {
            columns: ["id", "word", "tag", "more"].map(String::from).to_vec(),
            separator: Separator::Tab,
            comment: Some("# ".to_string()),
            word: "word".to_string(),
            tag: "tag".to_string(),
            labelled: false,
        }
    }

    #[test]
    fn columns_are_those_of_the_training_file() {
        let lines = numbered();
        assert_eq!(lines.word("1\tAnn\tB-PER\t_"), Some("Ann"));
        assert_eq!(lines.tag("1\tAnn\tB-PER\t_"), Some("B-PER"));
        assert_eq!(lines.word("1\tAnn\t_"), Some("Ann"));
        // Neither all columns nor all but the tags.
        assert_eq!(lines.word("Ann\tB-PER"), Some("Ann"));
        assert_eq!(lines.tag("Ann\tB-PER"), Some("B-PER"));
        assert_eq!((lines.word("Ann"), lines.tag("Ann")), (Some("Ann"), None));
        // Where there are tags, none is taken for a word.
        let labelled = WordLines {
            labelled: true,
            ..numbered()
        };
        let line = "Ann\tNNP\tB-PER";
        assert_eq!(
            (labelled.word(line), labelled.tag(line)),
            (Some("Ann"), Some("B-PER"))
        );
    }

    #[test]
    fn a_comment_is_no_word_where_a_sentence_could_begin() {
        let lines = [
            "# id = 1",
            "1\tAnn",
            "# \tsign",
            "",
            "# id = 2",
            "-DOCSTART- O",
            "# 3",
            "1\tin",
        ];
        assert_eq!(numbered().places(&lines), [1, 2, 7]);
        assert_eq!(WordLines::default().places(&lines), [0, 1, 2, 4, 6, 7]);
    }

    #[test]
    fn other_columns_are_taken_by_name() {
        let columns = |text: &str| Columns {
            text: vec![text.to_string()],
            ..Columns::default()
        };
        let mut lines = numbered();
        lines.choose(&columns("more")).expect("a column of it");
        assert_eq!(lines.word("1\tAnn\tB-PER\t_"), Some("_"));
        let error = lines.choose(&columns("wrd")).expect_err("no column of it");
        assert!(
            error.to_string().contains("did you mean `word`?"),
            "{error}"
        );
        let unnamed = WordLines::default().choose(&columns("word"));
        assert!(unnamed.is_err());
    }
}
