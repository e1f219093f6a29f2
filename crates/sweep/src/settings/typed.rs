//! Tables as typed values, with every typo in them reported at once: what, where, and the nearest name that exists.

use anyhow::{Result, anyhow};
use serde::de::value::Error;
use serde::de::{Deserializer, Error as _, Visitor};
use serde::{de::DeserializeOwned, forward_to_deserialize_any};
use toml::{Table, Value};

use crate::settings::suggest;

/// The texts that an experiment is read from, by the name that errors give them; empty for the experiment's own.
#[derive(Debug, Clone)]
pub(crate) struct SourceTexts(Vec<(&'static str, String)>);

/// Maximum number of errors that are looked for.
const MOST: usize = 64;

impl SourceTexts {
    pub fn new(sources: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self(sources.into_iter().collect())
    }

    /// Parses each text as a table.
    pub fn tables(&self) -> Result<Vec<Table>> {
        let parse = |(name, text): &(&str, String)| {
            toml::from_str(text).map_err(|error| {
                let error = error.to_string();
                if name.is_empty() {
                    anyhow!("{}", error.trim())
                } else {
                    anyhow!("{name}: {}", error.trim())
                }
            })
        };
        self.0.iter().map(parse).collect()
    }

    /// Serde's message in our words, with the line of the key in the first of the texts that has it.
    pub fn explain(&self, error: &str) -> String {
        let mut explained = self
            .0
            .iter()
            .map(|(name, text)| (name, suggest::explain(error, text)));
        let found = explained
            .clone()
            .find(|(_, text)| text.starts_with("line "));
        match found {
            Some((name, text)) if !name.is_empty() => format!("{name}: {text}"),
            Some((_, text)) => text,
            None => explained.next().map(|(_, text)| text).unwrap_or_default(),
        }
    }

    /// A table as a typed value; else the first error in it.
    pub fn typed<T: DeserializeOwned>(&self, table: &Table) -> Result<T> {
        T::deserialize(Value::Table(table.clone()))
            .map_err(|error| anyhow!("{}", self.explain(&error.to_string())))
    }

    /// A table as a typed value, or every error in it. `whole` is a table in which all keys are valid: where one is
    /// missing or wrong, its value is substituted so that the others can be checked.
    pub fn all<T: DeserializeOwned>(&self, table: &Table, whole: &str) -> Result<T, Vec<String>> {
        self.all_of(table, whole, &[])
    }

    /// A table out of which the keys `read` were taken, as [`Self::all`] reads one; an unknown key may mean one of these too.
    pub fn all_of<T: DeserializeOwned>(
        &self,
        table: &Table,
        whole: &str,
        read: &[&str],
    ) -> Result<T, Vec<String>> {
        let explain = |error: &str| {
            let is_unknown = error.starts_with("unknown field `") && !error.contains("\nin `");
            let more = read.iter().map(|key| format!(", `{key}`"));
            let more = more.filter(|_| is_unknown).collect::<String>();
            self.explain(&format!("{}{more}", error.trim()))
        };
        let mut error = match T::deserialize(Value::Table(table.clone())) {
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        };
        let whole: Table = toml::from_str(whole).expect("a literal is TOML");
        let (mut table, mut errors) = (table.clone(), vec![explain(&error)]);
        while errors.len() < MOST && fix(&mut table, &error, &whole) {
            match T::deserialize(Value::Table(table.clone())) {
                Ok(_) => break,
                Err(next) => error = next.to_string(),
            }
            errors.push(explain(&error));
        }
        Err(errors)
    }
}

/// Removes or inserts the key of a table that an error of serde is about; `false` where that is not known.
fn fix(table: &mut Table, error: &str, whole: &Table) -> bool {
    let quoted = |prefix: &str| {
        let rest = error.trim().strip_prefix(prefix)?;
        rest.split_once('`').map(|(name, _)| name.to_string())
    };
    let place = error.trim().rsplit_once("\nin `").map(|(_, place)| place);
    let Some(place) = place.map(|place| place.trim_end_matches('`')) else {
        if let Some(name) = quoted("unknown field `") {
            return table.remove(&name).is_some();
        }
        return match quoted("missing field `") {
            Some(name) => put(table, &name, whole),
            None => false,
        };
    };
    // An unknown key inside a table can go by itself, so that the table's other keys are looked at.
    if let Some(name) = quoted("unknown field `") {
        let mut inner = Some(&mut *table);
        for key in place.split('.') {
            inner = inner.and_then(|table| table.get_mut(key)?.as_table_mut());
        }
        if inner.is_some_and(|table| table.remove(&name).is_some()) {
            return true;
        }
    }
    let key = place.split('.').next().unwrap_or_default();
    let before = table.remove(key);
    put(table, key, whole) && before.as_ref() != table.get(key)
        || before.is_some() && !table.contains_key(key)
}

fn put(table: &mut Table, key: &str, whole: &Table) -> bool {
    match whole.get(key) {
        Some(value) => table.insert(key.to_string(), value.clone()).is_none(),
        None => false,
    }
}

/// The keys of a struct, as it deserialises them.
pub(crate) fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    // It refuses every type, once it has been told the fields of a struct.
    let _ = T::deserialize(Keys(&mut keys));
    keys
}

struct Keys<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Keys<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("the keys were asked for"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("no struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_names_its_keys() {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[expect(dead_code)]
        struct Some {
            max_length: usize,
            #[serde(default)]
            pairs: bool,
        }
        assert_eq!(keys::<Some>(), ["max-length", "pairs"]);
        assert_eq!(keys::<bool>(), [""; 0]);
    }
}
