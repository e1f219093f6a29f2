//! Rows whose lists do not fit where those of nearly all rows are words and their tags.

use super::Hints;
use super::names::{WORDS, plain};
use super::shown::shown;
use super::spellings::place;
use super::tags::span_type;
use crate::Task;
use crate::format::Table;
use serde_json::Value;

/// The least share of rows whose lists fit that makes two columns those of words and tags.
const NEARLY: (usize, usize) = (9, 10);

/// The first row that does not fit, if nearly all others have a list of words and one of as many tags in the same two
/// columns: `line 8: 4 words in `tokens` and 2 tags in `ner_tags`; expected one for each, as in 39 of 40 rows`.
pub(super) fn finding(table: &Table, hints: &Hints) -> Option<String> {
    let is_other = hints.task.is_some_and(|task| task != Task::Tagging);
    if is_other || hints.label_separator.is_some() {
        return None;
    }
    let names = table.columns();
    let lists: Vec<usize> = (0..names.len())
        .filter(|column| has_lists(table, *column))
        .collect();
    let may_be = |asked: &Option<String>, column: usize| {
        asked.as_ref().is_none_or(|asked| *asked == names[column])
    };
    let words = lists.iter().filter(|column| may_be(&hints.text, **column));
    let pairs = words.flat_map(|words| lists.iter().map(move |tags| (*words, *tags)));
    let mut pairs = pairs.filter(|(words, tags)| words != tags && may_be(&hints.label, *tags));
    pairs.find_map(|pair| first_odd(table, pair))
}

/// Whether nearly all fields of a column are lists.
fn has_lists(table: &Table, column: usize) -> bool {
    let lists = table.column(column).filter(|field| field.starts_with('['));
    are_nearly_all(lists.count(), table.n_rows())
}

fn are_nearly_all(some: usize, all: usize) -> bool {
    some * NEARLY.1 >= all * NEARLY.0
}

/// The first row whose fields in the columns of `words` and `tags` do not fit, if those of nearly all others do.
fn first_odd(table: &Table, (words, tags): (usize, usize)) -> Option<String> {
    let names = [words, tags].map(|column| shown(&table.columns()[column]));
    let integers = WORDS.contains(&&*plain(&table.columns()[words]));
    let (mut fitting, mut first) = (0, None);
    for row in table.rows() {
        let fields = [words, tags].map(|column| row.fields[column].as_ref());
        match misfit(fields, &names, integers) {
            None => fitting += 1,
            Some(found) => {
                first.get_or_insert((row.line, found));
            }
        }
    }
    let all = table.n_rows();
    let (line, found) = first.filter(|_| are_nearly_all(fitting, all))?;
    Some(format!(
        "{}: {found}, as in {fitting} of {all} rows",
        place(table, line)
    ))
}

/// The reason why two fields are not words and their tags; nothing if they are. Tags may be `integers`, too.
fn misfit(
    [words, tags]: [&str; 2],
    [of_words, of_tags]: &[String; 2],
    integers: bool,
) -> Option<String> {
    let is_text = |value: &Value| value.is_string();
    let is_tag = |value: &Value| match value {
        Value::String(tag) => span_type(tag).is_ok(),
        value => integers && value.is_u64(),
    };
    let values = match items(words, is_text) {
        Ok(words) => items(tags, is_tag).map(|tags| (words, tags)).map_err(|odd| {
            format!("`{of_tags}` has {odd}; expected a list of tags, `O` or a letter with a type, such as `B-X`")
        }),
        Err(odd) => Err(format!("`{of_words}` has {odd}; expected a list of words")),
    };
    match values {
        Err(odd) => Some(odd),
        Ok((words, tags)) if words != tags => Some(format!(
            "{words} words in `{of_words}` and {tags} tags in `{of_tags}`; expected one for each"
        )),
        Ok(_) => None,
    }
}

/// The number of items in the list of a field, all of which fit, or the part of the field that does not.
fn items(field: &str, fits: impl Fn(&Value) -> bool) -> Result<usize, String> {
    if field.is_empty() {
        return Ok(0);
    }
    let Ok(Value::Array(values)) = serde_json::from_str(field) else {
        return Err(format!("`{}`", shown(field)));
    };
    match values.iter().find(|value| !fits(value)) {
        Some(Value::String(text)) => Err(format!("`{}`", shown(text))),
        Some(other) => Err(format!("`{}`", shown(&other.to_string()))),
        None => Ok(values.len()),
    }
}
