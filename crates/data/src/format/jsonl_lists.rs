//! Sentences in JSON: one object a line, or an array of them, with a list of words and a list of tags.

use super::json_array::elements;
use super::{FormatError, Sentence, Sentences, Unit, text};
use crate::columns::Columns;
use serde_json::{Map, Value};
use std::path::Path;
use totune_toml::{did_you_mean, quoted};

/// The sentences in `bytes`; tags are strings or integers, and are not read where `labelled` is false.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
    columns: &Columns,
    labelled: bool,
) -> Result<Sentences, FormatError> {
    let lines = text(path, bytes)?.lines().enumerate();
    let lines = lines.map(|(number, line)| (number + 1, line));
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    sentences(path, lines, columns, labelled)
}

/// Like [`read`], from one array of objects.
pub(super) fn read_array(
    path: &Path,
    bytes: &[u8],
    columns: &Columns,
    labelled: bool,
) -> Result<Sentences, FormatError> {
    let objects = elements(text(path, bytes)?);
    let objects = objects.map_err(|(line, problem)| FormatError::on_line(path, line, problem))?;
    sentences(path, objects.into_iter(), columns, labelled)
}

/// A sentence for each of these objects, which come with their lines.
fn sentences<'a>(
    path: &Path,
    objects: impl Iterator<Item = (usize, &'a str)>,
    columns: &Columns,
    labelled: bool,
) -> Result<Sentences, FormatError> {
    let mut sentences = Vec::new();
    for (number, line) in objects {
        let sentence = parse(line)
            .and_then(|object| sentence(number, &object, columns, labelled)?.checked())
            .map_err(|problem| FormatError::on_line(path, number, problem))?;
        sentences.push(sentence);
    }
    Ok(Sentences::of_lists(path, Unit::Line, sentences))
}

fn parse(line: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(format!("{}; expected an object", kind(&other))),
        Err(error) => {
            let column = error.column();
            Err(format!(
                "column {column}: not JSON; expected an object on each line"
            ))
        }
    }
}

fn sentence(
    line: usize,
    object: &Map<String, Value>,
    columns: &Columns,
    labelled: bool,
) -> Result<Sentence, String> {
    let find = |name: &str| {
        object.get(name).ok_or_else(|| {
            let keys = || object.keys().map(String::as_str);
            let hint = did_you_mean(name, keys());
            format!("no key `{name}`{hint}found {}", quoted(keys()))
        })
    };
    let list = |name: &str| -> Result<Vec<String>, String> {
        let value = find(name)?;
        let Value::Array(values) = value else {
            return Err(format!("`{name}` is {}; expected a list", kind(value)));
        };
        let one = |value: &Value| {
            scalar(value).ok_or_else(|| {
                let kind = kind(value);
                format!("`{name}` has {kind} in its list; expected strings or integers")
            })
        };
        values.iter().map(one).collect()
    };
    // Nothing where there is no such column, and where the field is null or empty.
    let field = |name: &Option<String>| -> Result<Option<String>, String> {
        let Some(name) = name else {
            return Ok(None);
        };
        match find(name)? {
            Value::Null => Ok(None),
            value => {
                let text = scalar(value).ok_or_else(|| {
                    format!(
                        "`{name}` is {}; expected a string or an integer",
                        kind(value)
                    )
                })?;
                Ok((!text.is_empty()).then_some(text))
            }
        }
    };
    let words = columns.text.first();
    Ok(Sentence {
        line,
        id: field(&columns.id)?,
        document: field(&columns.group)?,
        words: list(words)?,
        tags: labelled.then(|| list(columns.label.first())).transpose()?,
    })
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Joined;

    fn read(bytes: &[u8], labelled: bool) -> Result<Sentences, FormatError> {
        let columns = Columns {
            id: Some("id".into()),
            number_from: 1,
            text: Joined::One("words".into()),
            second: None,
            label: crate::Joined::One("tags".into()),
            label_separator: None,
            group: Some("doc".into()),
            join: " ".into(),
        };
        super::read(Path::new("t.jsonl"), bytes, &columns, labelled)
    }

    #[test]
    fn lists_of_words_and_of_tags_or_integers_are_read() {
        let text = "\u{feff}{\"id\": 7, \"doc\": \"a\", \"words\": [\"Ann\", \"r\\u00e1n\"], \"tags\": [\"B-PER\", \"O\"]}\r\n\n\
                    {\"tags\": [0], \"words\": [\"New York\"], \"doc\": null, \"more\": {}, \"id\": \"x\"}";
        let read = read(text.as_bytes(), true).expect("a readable file");
        let strings =
            |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| text.to_string()).collect() };
        let expected = [
            Sentence {
                line: 1,
                id: Some("7".into()),
                document: Some("a".into()),
                words: strings(&["Ann", "rán"]),
                tags: Some(strings(&["B-PER", "O"])),
            },
            Sentence {
                line: 3,
                id: Some("x".into()),
                document: None,
                words: strings(&["New York"]),
                tags: Some(strings(&["0"])),
            },
        ];
        assert_eq!(read.all, expected);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let good = "{\"id\": 1, \"doc\": 1, \"words\": [\"a\"], \"tags\": [\"O\"]}\n";
        for (line, expected) in [
            ("[1]", "a list; expected an object"),
            (
                "{\"id\": 1,",
                "column 9: not JSON; expected an object on each line",
            ),
            (
                "{\"id\": 2, \"doc\": 1, \"word\": []}",
                "no key `words`; did you mean `word`? found `doc`, `id`, `word`",
            ),
            (
                "{\"id\": 2, \"doc\": 1, \"words\": \"a b\"}",
                "`words` is a string; expected a list",
            ),
            (
                "{\"id\": 2, \"doc\": 1, \"words\": [null]}",
                "`words` has null in its list; expected strings or integers",
            ),
            (
                "{\"id\": [], \"doc\": 1, \"words\": [\"a\"]}",
                "`id` is a list; expected a string or an integer",
            ),
            (
                "{\"id\": 2, \"doc\": 1, \"words\": [\"a\"], \"tags\": [0.5]}",
                "`tags` has a number in its list; expected strings or integers",
            ),
            (
                "{\"id\": 2, \"doc\": 1, \"words\": [], \"tags\": []}",
                "no words; expected at least one",
            ),
            (
                "{\"id\": 2, \"doc\": 1, \"words\": [\"a\", \"\"], \"tags\": [1, 2]}",
                "word 2 of 2 is empty; expected none to be",
            ),
            (
                "{\"id\": 2, \"doc\": 1, \"words\": [\"a\"], \"tags\": []}",
                "0 tags for 1 words; expected one for each",
            ),
        ] {
            let error = read(format!("{good}{line}\n").as_bytes(), true).expect_err(expected);
            assert_eq!(error.to_string(), format!("t.jsonl: line 2: {expected}"));
        }
        let unlabelled = read(b"{\"id\": 1, \"doc\": 1, \"words\": [\"a\"]}", false)
            .expect("no tags are wanted");
        assert_eq!(unlabelled.all[0].tags, None);
    }
}
