//! JSON lines, one object a line, or one array of such objects; their keys are the columns.

use super::json_array::elements;
use super::{FormatError, Table, Unit, text};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use totune_toml::{did_you_mean, quoted};

/// The wanted columns, all if none are named; and whether the values of a column may be lists.
type Wanted<'w> = (Option<&'w [&'w str]>, &'w dyn Fn(&str) -> bool);

/// Settings of JSON; nothing to choose yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jsonl {}

impl Jsonl {
    /// Every line has every wanted key, in any order; `null` is an empty field. Where none are named, the columns are all
    /// keys, and one that a line lacks is an empty field.
    pub(super) fn read<'a>(
        &self,
        path: &Path,
        bytes: &'a [u8],
        wanted: Wanted,
    ) -> Result<Table<'a>, FormatError> {
        let lines = text(path, bytes)?.lines().enumerate();
        let lines = lines
            .map(|(number, line)| (number + 1, line))
            .filter(|(_, line)| !line.trim().is_empty());
        let empty = "the file is empty; expected a JSON object on each line";
        rows(path, lines, wanted, empty)
    }

    /// Like [`Jsonl::read`], from one array of objects.
    pub(super) fn read_array<'a>(
        &self,
        path: &Path,
        bytes: &'a [u8],
        wanted: Wanted,
    ) -> Result<Table<'a>, FormatError> {
        let objects = elements(text(path, bytes)?);
        let objects =
            objects.map_err(|(line, problem)| FormatError::on_line(path, line, problem))?;
        let empty = "the array is empty; expected objects in it";
        rows(path, objects.into_iter(), wanted, empty)
    }
}

/// A row for each of these objects, which come with their lines; `empty` is the message if there are none.
fn rows<'a>(
    path: &Path,
    objects: impl Iterator<Item = (usize, &'a str)>,
    (wanted, is_list): Wanted,
    empty: &str,
) -> Result<Table<'a>, FormatError> {
    let error = |line, problem| FormatError::on_line(path, line, problem);
    let lines: Vec<(usize, &str)> = objects.collect();
    if lines.is_empty() {
        return Err(error(1, empty.into()));
    }
    let columns = match wanted {
        Some(wanted) => wanted.iter().map(|name| name.to_string()).collect(),
        None => {
            // Objects may leave out keys.
            let mut all: Vec<String> = Vec::new();
            for &(number, object) in &lines {
                let keys = Keys(object).read();
                for key in keys.map_err(|problem| error(number, problem))? {
                    if !all.contains(&key) {
                        all.push(key);
                    }
                }
            }
            all
        }
    };
    let mut table = Table::new(path, Unit::Line, columns.clone());
    let mut fields: Vec<Option<Cow<str>>> = vec![None; columns.len()];
    for (number, line) in lines {
        let mut reader = serde_json::Deserializer::from_str(line);
        Object {
            columns: &columns,
            fields: &mut fields,
            is_list,
        }
        .deserialize(&mut reader)
        .and_then(|()| reader.end())
        .map_err(|problem| error(number, explain(&problem)))?;
        if wanted.is_none() {
            let absent = fields.iter_mut().filter(|field| field.is_none());
            absent.for_each(|field| *field = Some(Cow::Borrowed("")));
        }
        if let Some(absent) = fields.iter().position(Option::is_none) {
            let name = &columns[absent];
            let keys = Keys(line).read().unwrap_or_default();
            let keys = || keys.iter().map(String::as_str);
            let hint = did_you_mean(name, keys());
            let found = quoted(keys());
            let problem = format!("no key `{name}`{hint}found {found}; null stands for nothing");
            return Err(error(number, problem));
        }
        table.push(number, fields.iter_mut().filter_map(Option::take));
    }
    Ok(table)
}

/// serde's message without the line, which is 1 in a text of one line.
fn explain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line 1 column {}", error.column());
    match message.strip_suffix(&place) {
        Some(message) => format!("column {}: {message}", error.column()),
        None => message,
    }
}

/// The keys of the object in a line that can be columns, in their order: those whose values are no objects.
struct Keys<'l>(&'l str);

impl Keys<'_> {
    fn read(&self) -> Result<Vec<String>, String> {
        let mut reader = serde_json::Deserializer::from_str(self.0);
        reader
            .deserialize_map(KeyVisitor)
            .and_then(|keys| reader.end().map(|()| keys))
            .map_err(|problem| explain(&problem))
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Vec<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Vec<String>, M::Error> {
        let mut keys = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, serde_json::Value>()? {
            if !value.is_object() {
                keys.push(key);
            }
        }
        Ok(keys)
    }
}

/// Puts the values of the wanted keys of an object into `fields`.
struct Object<'a, 't> {
    columns: &'t [String],
    fields: &'t mut [Option<Cow<'a, str>>],
    is_list: &'t dyn Fn(&str) -> bool,
}

impl<'a> DeserializeSeed<'a> for Object<'a, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Object<'a, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(Text(key)) = map.next_key()? {
            let Some(column) = self.columns.iter().position(|column| *column == key) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if self.fields[column].is_some() {
                return Err(M::Error::custom(format!(
                    "key `{key}` is there twice; expected it once"
                )));
            }
            self.fields[column] = Some(map.next_value_seed(Field {
                key: &key,
                may_be_list: (self.is_list)(&key),
            })?);
        }
        Ok(())
    }
}

/// A string that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The value of the key as a field.
struct Field<'k> {
    key: &'k str,
    may_be_list: bool,
}

impl<'a> DeserializeSeed<'a> for Field<'_> {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, reader: D) -> Result<Cow<'a, str>, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Field<'_> {
    type Value = Cow<'a, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let list = if self.may_be_list { " a list," } else { "" };
        let key = self.key;
        write!(
            formatter,
            "`{key}` to be{list} a string, a number, true, false or null"
        )
    }

    fn visit_seq<A: SeqAccess<'a>>(self, list: A) -> Result<Self::Value, A::Error> {
        if !self.may_be_list {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let list = Vec::<serde_json::Value>::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(Cow::Owned(serde_json::Value::from(list).to_string()))
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(if value { "true" } else { "false" }))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wanted_key_that_a_line_lacks_is_named() {
        let read = |wanted: Option<&[&str]>, text: &'static str| {
            let table = Jsonl {}.read(Path::new("a.jsonl"), text.as_bytes(), (wanted, &|_| false));
            table.map(|table| table.column(0).map(String::from).collect::<Vec<_>>())
        };
        let wanted: Option<&[&str]> = Some(&["text"]);
        for (text, expected) in [
            (
                "{\"text\":1}\n{\"txt\":2}\n",
                "no key `text`; did you mean `txt`? found `txt`",
            ),
            ("{\"text\":1}\n{}\n", "no key `text`"),
        ] {
            let error = read(wanted, text).expect_err(text).to_string();
            assert!(
                error.contains("line 2") && error.contains(expected),
                "{error}"
            );
        }
        let all = read(None, "{\"text\":1}\n{}\n").expect("a table");
        assert_eq!(all, ["1", ""]);
    }
}
