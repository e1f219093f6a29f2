//! Fields of a row that are used: its texts or words, its label or tags.

use anyhow::{Context, Result, anyhow};
use serde_json::{Number, Value};
use totune_data::{Input, label_sets};
use totune_toml::did_you_mean;

use super::object::Object;
use super::quoted;
use super::words::WordLines;

/// The columns that are used from each row of a file.
#[derive(Debug)]
pub(crate) struct Fields {
    /// Name of the file in error messages.
    pub shown: String,
    /// The unit of a place in it, for the same.
    pub unit: &'static str,
    pub text: Vec<Column>,
    pub second: Vec<Column>,
    /// The column of labels, or one of 0 and 1 for each label; empty where none are read.
    pub label: Vec<Column>,
    /// Whether each label has a column of 0 and 1.
    pub label_columns: bool,
    /// Separator of the labels in a field, where each row has several; without it, a field is a list or has the separator
    /// of predictions.
    pub label_separator: Option<String>,
    /// Separator of joined columns.
    pub join: String,
    /// Whether the model tags words, into which a text is divided at white space.
    pub of_words: bool,
    /// The value that means "no label".
    pub unlabelled: Option<String>,
    /// Layout of lines with a word each.
    pub words: WordLines,
    /// Whether a backslash and the letter n are a line break in a field.
    pub escaped_breaks: bool,
    /// Whether white space at the end of texts is removed.
    pub trim_end: bool,
}

/// A column by name, and for delimited text by position.
#[derive(Debug)]
pub(crate) struct Column {
    pub name: String,
    pub place: usize,
}

/// A row in the form of its file.
#[derive(Debug)]
pub(crate) struct Record {
    /// Line it starts on, from 1.
    pub line: usize,
    pub row: Row,
}

#[derive(Debug)]
pub(crate) enum Row {
    Fields(Vec<String>),
    Object(Object),
    Line(String),
    /// The lines of a sentence.
    Sentence(Vec<String>),
}

impl Fields {
    /// Model input of a row.
    pub fn input(&self, record: &Record) -> Result<Input> {
        match &record.row {
            Row::Line(text) => Ok(self.text(self.trimmed(text.clone()))),
            Row::Sentence(lines) => {
                let places = self.words.places(lines).into_iter();
                let word = |place: usize| self.words.word(&lines[place]).map(String::from);
                Ok(Input::Words(places.filter_map(word).collect()))
            }
            Row::Object(object) if self.text.len() == 1 => {
                let name = &self.text[0].name;
                match self.value(record, object, name)? {
                    Some(Value::Array(_)) => Ok(Input::Words(self.list(record, object, name)?)),
                    _ => self.texts(record),
                }
            }
            Row::Object(_) | Row::Fields(_) => self.texts(record),
        }
    }

    /// True if a row has no input: one of its texts is empty, or there is no word.
    pub fn is_empty(&self, record: &Record) -> Result<bool> {
        Ok(match self.input(record)? {
            Input::Words(words) => words.is_empty(),
            input => input.texts().iter().any(|text| text.trim().is_empty()),
        })
    }

    /// The settings that determine which part of a row is used.
    pub fn columns(&self) -> impl std::fmt::Debug {
        (&self.text, &self.second, &self.join, &self.words)
    }

    fn texts(&self, record: &Record) -> Result<Input> {
        let first = self.joined(record, &self.text)?;
        Ok(if self.second.is_empty() {
            self.text(first)
        } else {
            Input::Pair(first, self.joined(record, &self.second)?)
        })
    }

    fn text(&self, text: String) -> Input {
        if self.of_words {
            Input::Words(text.split_whitespace().map(String::from).collect())
        } else {
            Input::Text(text)
        }
    }

    fn joined(&self, record: &Record, columns: &[Column]) -> Result<String> {
        let fields = columns.iter().map(|column| self.field(record, column));
        let fields: Vec<String> = fields.collect::<Result<_>>()?;
        let filled = fields.iter().filter(|field| !field.is_empty());
        let filled: Vec<&str> = filled.map(String::as_str).collect();
        Ok(self.trimmed(filled.join(&self.join)))
    }

    fn trimmed(&self, mut text: String) -> String {
        if self.trim_end {
            text.truncate(text.trim_end().len());
        }
        text
    }

    fn field(&self, record: &Record, column: &Column) -> Result<String> {
        let name = &column.name;
        match &record.row {
            Row::Fields(fields) => {
                let field = fields.get(column.place).cloned().unwrap_or_default();
                Ok(if self.escaped_breaks {
                    field.replace("\\n", "\n")
                } else {
                    field
                })
            }
            Row::Object(object) => match self.value(record, object, name)? {
                Some(Value::String(text)) => Ok(text),
                Some(Value::Number(number)) => Ok(as_in_training(&number)),
                Some(Value::Bool(value)) => Ok(value.to_string()),
                // The same as when datasets are read: no value is an empty field.
                Some(Value::Null) => Ok(String::new()),
                Some(other) => {
                    Err(self.at(record, &format!("`{name}` is {other}, expected a text")))
                }
                None => Err(self.missing(record, object, name)),
            },
            Row::Line(_) | Row::Sentence(_) => Ok(String::new()),
        }
    }

    fn value(&self, record: &Record, object: &Object, name: &str) -> Result<Option<Value>> {
        let value = object.get(name);
        value.map_err(|error| {
            // Everything is in one line for the reader of JSON.
            let error = error.to_string().replace(" at line 1 ", " at ");
            self.at(record, &format!("`{name}`: {error}, expected a text"))
        })
    }

    fn list(&self, record: &Record, object: &Object, name: &str) -> Result<Vec<String>> {
        let Some(value) = self.value(record, object, name)? else {
            return Err(self.missing(record, object, name));
        };
        let wrong = || {
            self.at(
                record,
                &format!("`{name}` is {value}, expected a list of texts"),
            )
        };
        let values = value.as_array().ok_or_else(wrong)?.iter();
        let text = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(wrong()),
        };
        values.map(text).collect()
    }

    /// Whether a field of labels has the value that means "no label".
    pub fn has_no_label(&self, record: &Record) -> Result<bool> {
        let Some(none) = &self.unlabelled else {
            return Ok(false);
        };
        for column in &self.label {
            if let Row::Object(object) = &record.row
                && let Some(Value::Array(_)) = self.value(record, object, &column.name)?
            {
                continue;
            }
            if self.field(record, column)? == *none {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The label or score of a row.
    pub fn label(&self, record: &Record) -> Result<String> {
        let column = self.label.first();
        self.field(record, column.context("no column of labels was asked for")?)
    }

    /// The labels of a row that may have several: those in its field, or those of `known` whose columns have 1.
    pub fn labels(&self, record: &Record, known: &[String]) -> Result<Vec<String>> {
        if self.label_columns {
            let mut names = Vec::new();
            for (name, column) in known.iter().zip(&self.label) {
                let field = self.field(record, column)?;
                let applies = label_sets::applies(&field).ok_or_else(|| {
                    let column = &column.name;
                    self.at(record, &format!("{column} `{field}`, expected 0 or 1"))
                })?;
                names.extend(applies.then(|| name.clone()));
            }
            return Ok(names);
        }
        let column = self.label.first();
        let column = column.context("no column of labels was asked for")?;
        if let Row::Object(object) = &record.row
            && let Some(Value::Array(_)) = self.value(record, object, &column.name)?
        {
            return self.list(record, object, &column.name);
        }
        let field = self.field(record, column)?;
        let separator = match &self.label_separator {
            Some(separator) => Some(separator.as_str()),
            // As predictions have them, unless it is a list.
            None => (!field.trim().starts_with('[')).then_some(label_sets::SEPARATOR),
        };
        let names = label_sets::names(&field, separator);
        names.map_err(|problem| self.at(record, &format!("{} {problem}", column.name)))
    }

    /// The tags of a row: those in a list, or in the column of tags of each line.
    pub fn tags(&self, record: &Record) -> Result<Vec<String>> {
        match (&record.row, self.label.first()) {
            (Row::Sentence(lines), _) => {
                let places = self.words.places(lines).into_iter();
                let tag = |(word, place): (usize, usize)| {
                    let line = &lines[place];
                    let one =
                        || format!("`{line}` has one column, expected a tag in one of several");
                    let tag = self.words.tag(line).map(String::from);
                    tag.ok_or_else(|| self.at_word(record, word, &one()))
                };
                places.enumerate().map(tag).collect()
            }
            (Row::Object(object), Some(label)) => self.list(record, object, &label.name),
            _ => Err(self.at(record, "no tags, expected some")),
        }
    }

    /// An error message about a row.
    pub fn at(&self, record: &Record, problem: &str) -> anyhow::Error {
        anyhow!("{}: {} {}: {problem}", self.shown, self.unit, record.line)
    }

    /// An error message about a word of a row, from 0.
    pub fn at_word(&self, record: &Record, word: usize, problem: &str) -> anyhow::Error {
        let Row::Sentence(lines) = &record.row else {
            return self.at(record, problem);
        };
        let places = self.words.places(lines);
        let line = record.line + places.get(word).unwrap_or(&0);
        anyhow!("{}: line {line}: {problem}", self.shown)
    }

    fn missing(&self, record: &Record, object: &Object, name: &str) -> anyhow::Error {
        let keys = object.keys();
        let hint = did_you_mean(name, keys.iter().map(String::as_str));
        let found = quoted(&keys);
        self.at(record, &format!("no key `{name}`{hint}found {found}"))
    }
}

/// A number as text, spelled as where datasets are read.
fn as_in_training(number: &Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() => value.to_string(),
        _ => number.to_string(),
    }
}
