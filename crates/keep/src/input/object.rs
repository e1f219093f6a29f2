//! The JSON object of a row: its text, and the values that are asked for.
//!
//! The text is kept, since a parsed object would lose digits of long numbers and the order of the keys.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON object as a file has it.
#[derive(Debug)]
pub(crate) struct Object {
    text: String,
}

impl Object {
    /// The object that `text` is.
    ///
    /// # Errors
    /// When it is no object.
    pub fn new(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text)?;
        // No string has a line break in it, so that a line may be cut at both ends.
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        Ok(Self {
            text: lines.concat(),
        })
    }

    /// The object of these keys and values, in their order.
    pub fn of(pairs: &[(&str, Value)]) -> Self {
        let pairs = pairs.iter();
        let pairs: Vec<String> = pairs
            .map(|(key, value)| format!("{}:{value}", Value::from(*key)))
            .collect();
        Self {
            text: format!("{{{}}}", pairs.join(",")),
        }
    }

    /// The value of `name`, if there is one.
    ///
    /// # Errors
    /// When it is a number that is too large, or the key is there twice.
    pub fn get(&self, name: &str) -> serde_json::Result<Option<Value>> {
        let mut reader = serde_json::Deserializer::from_str(&self.text);
        reader.deserialize_map(Find(name))
    }

    /// Its keys in their order.
    pub fn keys(&self) -> Vec<String> {
        let keys: serde_json::Result<Keys> = serde_json::from_str(&self.text);
        keys.map_or(Vec::new(), |keys| keys.0)
    }

    /// Its text on one line, with these keys and values behind its own.
    pub fn with(&self, more: &Map<String, Value>) -> String {
        let more = Value::from(more.clone()).to_string();
        let own = self.text.strip_suffix('}').unwrap_or(&self.text).trim_end();
        let between = if own == "{" { "" } else { "," };
        format!("{own}{between}{}", &more[1..])
    }
}

/// Finder of the value of a key, which must not be there twice.
struct Find<'n>(&'n str);

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Option<Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Option<Value>, M::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.0 && found.is_some() {
                return Err(serde::de::Error::custom("the key is there twice"));
            } else if key == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Keys;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Keys, M::Error> {
                let mut keys = Vec::new();
                while let Some((key, IgnoredAny)) = map.next_entry()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }

        reader.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_in_the_order_they_are_given_in() {
        let pairs = [("text", Value::from("a \"b\"")), ("id", Value::from("7"))];
        let more = Map::from_iter([("p".to_string(), Value::from("x"))]);
        let with = Object::of(&pairs).with(&more);
        assert_eq!(with, r#"{"text":"a \"b\"","id":"7","p":"x"}"#);
        assert_eq!(Object::of(&[]).with(&more), r#"{"p":"x"}"#);
    }

    #[test]
    fn new_keys_follow_the_text_of_an_object() {
        let more = Map::from_iter([("p".to_string(), Value::from("a"))]);
        for (text, expected) in [
            ("{}", r#"{"p":"a"}"#),
            ("{ }", r#"{"p":"a"}"#),
            (r#"{"b":{"c":{}}}"#, r#"{"b":{"c":{}},"p":"a"}"#),
            (
                "{\"b\": 1.0,\r\n  \"a\": 2}",
                r#"{"b": 1.0,"a": 2,"p":"a"}"#,
            ),
        ] {
            let object = Object::new(text).expect(text);
            assert_eq!(object.with(&more), expected);
        }
        for text in ["[]", "{", "{} {}", "1"] {
            assert!(Object::new(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_values_that_are_asked_for_have_to_be_readable() {
        let object = Object::new(r#"{"b": 1e400, "d": 1, "a": "x", "d": 2}"#).expect("an object");
        assert_eq!(object.keys(), ["b", "d", "a", "d"]);
        assert_eq!(object.get("a").expect("a text"), Some("x".into()));
        assert!(object.get("d").is_err(), "twice");
        assert_eq!(object.get("c").expect("nothing"), None);
        assert!(object.get("b").is_err());
    }
}
