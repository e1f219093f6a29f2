//! Guesses about sentences as lists: JSON objects with a list of words and a list of as many tags, as on the Hugging Face
//! Hub.

use super::columns::{asked, id_by_name, role};
use super::names::{TAGS, WORDS, plain};
use super::tags::types;
use super::{Findings, Hints, listed, shown};
use crate::Task;
use crate::format::Table;
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// A column whose fields are lists.
struct Lists {
    column: usize,
    /// The values of each row; none where the field is null.
    rows: Vec<Vec<String>>,
    are_integers: bool,
}

/// The findings about words and their tags, if `table` has lists of them or they are asked for.
pub(super) fn guess(table: &Table, hints: &Hints) -> Result<Option<Findings>> {
    let is_asked = hints.task == Some(Task::Tagging);
    let is_other = hints.task.is_some() || hints.label_separator.is_some();
    if is_other && !is_asked {
        return Ok(None);
    }
    let names = table.columns();
    let lists: Vec<Lists> = (0..names.len())
        .filter_map(|column| Lists::of(table, column))
        .collect();
    let text = asked(names, "--text", &hints.text)?;
    let is_list = |column: usize| lists.iter().any(|lists| lists.column == column);
    // A text is a string, so that lists in its place can only be words.
    let is_clear = is_asked || text.is_some_and(is_list);
    let of_label = hints.label.as_ref();
    let label = of_label.and_then(|name| names.iter().position(|column| column == name));
    let Some((words, why_words)) = words(&lists, (text, label), names, is_clear)? else {
        return Ok(None);
    };
    if is_clear {
        asked(names, "--label", &hints.label)?;
    }
    let Some((tags, why_tags)) = tags(&lists, words, label, names, is_clear)? else {
        return Ok(None);
    };
    let reasons = [
        text.is_none().then_some(why_words),
        label.is_none().then_some(why_tags),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    let mut findings = of_tags(tags, &names[tags.column], hints)?;
    ensure!(
        hints.second.is_none(),
        "--second: given; expected none, since words are tagged"
    );
    let id = match asked(names, "--id", &hints.id)? {
        Some(id) => Some(id),
        None => id_by_name(table, &[Some(words.column), Some(tags.column)]),
    };
    let roles = [
        ("id", id),
        ("text", Some(words.column)),
        ("label", Some(tags.column)),
    ];
    let parts = roles
        .iter()
        .filter_map(|(key, column)| role(key, *column, names));
    findings.columns = format!("{{ {} }}", parts.collect::<Vec<_>>().join(", "));
    findings.columns_reason = match &reasons[..] {
        [] => "as the options say".into(),
        reasons => reasons.join(", "),
    };
    Ok(Some(findings))
}

impl Lists {
    /// The lists of a column, unless a field is something else.
    fn of(table: &Table, column: usize) -> Option<Self> {
        let mut rows = Vec::with_capacity(table.n_rows());
        let mut are_integers = true;
        for field in table.column(column) {
            if field.is_empty() {
                rows.push(Vec::new());
                continue;
            }
            if !field.starts_with('[') {
                return None;
            }
            let values: Vec<Value> = serde_json::from_str(field).ok()?;
            let texts = values.into_iter().map(|value| match value {
                Value::String(text) => {
                    are_integers = false;
                    Some(text)
                }
                Value::Number(number) if number.is_i64() || number.is_u64() => {
                    Some(number.to_string())
                }
                _ => None,
            });
            rows.push(texts.collect::<Option<Vec<String>>>()?);
        }
        let is_empty = rows.iter().all(Vec::is_empty);
        (!is_empty).then_some(Self {
            column,
            rows,
            are_integers,
        })
    }

    fn values(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().flatten().map(String::as_str)
    }

    /// Returns whether each row has as many values as the one of `other`.
    fn fits(&self, other: &Self) -> bool {
        let mut pairs = self.rows.iter().zip(&other.rows);
        pairs.all(|(row, other)| row.len() == other.len())
    }

    fn are_tags(&self) -> bool {
        self.are_integers || types(self.values()).is_some()
    }
}

/// The column of the words, and the reason.
fn words<'l>(
    lists: &'l [Lists],
    (text, label): (Option<usize>, Option<usize>),
    names: &[String],
    is_clear: bool,
) -> Result<Option<(&'l Lists, String)>> {
    if let Some(text) = text {
        let found = lists.iter().find(|lists| lists.column == text);
        ensure!(
            found.is_some() || !is_clear,
            "`{}` has no lists; expected a list of words in each object, since the task is tagging",
            names[text]
        );
        return Ok(found.map(|words| (words, String::new())));
    }
    let may_be = |lists: &&Lists| Some(lists.column) != label && !lists.are_integers;
    let free = || lists.iter().filter(may_be);
    let called = |name: &&str| free().find(|lists| plain(&names[lists.column]) == **name);
    if let Some(words) = WORDS.iter().find_map(called) {
        return Ok(Some((
            words,
            format!("`{}` by its name", names[words.column]),
        )));
    }
    let others: Vec<&Lists> = free().filter(|lists| !lists.are_tags()).collect();
    match others[..] {
        [words] => {
            let reason = format!("`{}` has lists of words", names[words.column]);
            Ok(Some((words, reason)))
        }
        _ if !is_clear => Ok(None),
        [] => bail!(
            "no column has lists of words; expected one, and one with a list of as many tags; the columns are {}",
            listed(names)
        ),
        _ => bail!("{} may all be the words; give --text", all(&others, names)),
    }
}

/// The column of the tags of `words`, and the reason.
fn tags<'l>(
    lists: &'l [Lists],
    words: &Lists,
    label: Option<usize>,
    names: &[String],
    is_clear: bool,
) -> Result<Option<(&'l Lists, String)>> {
    if let Some(label) = label {
        let found = lists.iter().find(|lists| lists.column == label);
        ensure!(
            found.is_some() || !is_clear,
            "`{}` has no lists; expected a list of as many tags as words in each object",
            names[label]
        );
        let found = found.filter(|tags| is_clear || tags.are_tags() && tags.fits(words));
        return Ok(found.map(|tags| (tags, String::new())));
    }
    // Next to lists of anything else than words, as many integers may be anything.
    let integers = is_clear || WORDS.contains(&&*plain(&names[words.column]));
    let may_be = |lists: &&Lists| lists.column != words.column && lists.fits(words);
    let found: Vec<&Lists> = lists
        .iter()
        .filter(may_be)
        .filter(|lists| lists.are_tags() && (integers || !lists.are_integers))
        .collect();
    let why = |tags: &Lists| format!("`{}` has a tag for each word", names[tags.column]);
    if let [tags] = found[..] {
        return Ok(Some((tags, why(tags))));
    }
    let called = |name: &&str| {
        let mut found = found.iter().copied();
        found.find(|lists| plain(&names[lists.column]) == **name)
    };
    if let Some(tags) = TAGS.iter().find_map(called) {
        let reason = format!("`{}` by its name", names[tags.column]);
        return Ok(Some((tags, reason)));
    }
    match found[..] {
        [] if !is_clear => Ok(None),
        [] => bail!(
            "no column has a tag such as `B-X` or an integer for each word of `{}`; expected one; give --label; the columns \
             are {}",
            names[words.column],
            listed(names)
        ),
        _ => bail!("{} may all be the tags; give --label", all(&found, names)),
    }
}

fn all(lists: &[&Lists], names: &[String]) -> String {
    let names: Vec<String> = lists
        .iter()
        .map(|lists| names[lists.column].clone())
        .collect();
    listed(&names)
}

/// The types of span in the tags, and the names of tags that are integers.
fn of_tags(tags: &Lists, name: &str, hints: &Hints) -> Result<Findings> {
    let mut findings = Findings::new(
        Task::Tagging,
        format!("`{name}` has a list of tags for each list of words"),
        Vec::new(),
    );
    findings.scheme = hints.scheme;
    if !tags.are_integers {
        ensure!(
            hints.tags.is_none(),
            "--tags: given; expected none, since `{name}` has the tags themselves"
        );
        let other = |tag: &&str| *tag != "O" && types([*tag].into_iter()).is_none();
        if let Some(other) = tags.values().find(other) {
            bail!(
                "`{name}` has the tag `{}`; expected `O`, or a letter with a type, such as `B-X`",
                shown(other)
            );
        }
        findings.labels = types(tags.values())
            .with_context(|| format!("`{name}` has no tag but `O`; expected some such as `B-X`"))?;
        return Ok(findings);
    }
    let numbers = tags.values().filter_map(|tag| tag.parse::<i64>().ok());
    let (low, high) = numbers.fold((i64::MAX, i64::MIN), |(low, high), tag| {
        (low.min(tag), high.max(tag))
    });
    let Some(values) = &hints.tags else {
        bail!(
            "`{name}` has integers from {low} to {high} for tags; give --tags with the tag that each integer from 0 on stands \
             for, with commas between them, such as --tags O,B-X,I-X"
        );
    };
    let n = values.len();
    ensure!(
        low >= 0 && usize::try_from(high).is_ok_and(|high| high < n),
        "--tags: {n} given; `{name}` has integers from {low} to {high}, expected a tag for each integer from 0 to {high}"
    );
    findings.labels = types(values.iter().map(String::as_str)).with_context(|| {
        let values = listed(values);
        format!("--tags: {values}; expected `O`, and a letter with a type for each other one, such as `B-X`")
    })?;
    findings.values = values.clone();
    Ok(findings)
}
