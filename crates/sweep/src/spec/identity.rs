//! A spec as it is stored, and the id that follows from it.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{RunSpec, Sources, schema};

impl RunSpec {
    /// The spec as JSON with sorted keys and no spaces, with its `schema`: the form stored in rows and selected on by
    /// reports.
    pub fn canonical_json(&self) -> String {
        canonical(&self.with_schema())
    }

    /// Reads a stored spec, of this schema or an earlier one.
    ///
    /// # Errors
    /// When it is no spec, or one of a later schema.
    pub fn read(json: &str) -> Result<Self> {
        let value = serde_json::from_str(json).context("a spec: found no JSON")?;
        let value = schema::upgrade(value)?;
        serde_json::from_value(value).context("a spec: cannot be read")
    }

    /// Run id: the first 16 hexadecimal digits of the SHA-256 of its canonical JSON without the arm and the number of
    /// trials, or another one that its plan knows.
    pub fn id(&self) -> String {
        match &self.known_id {
            Some(id) => id.clone(),
            None => id_of(&self.hashed()),
        }
    }

    /// The id of the same run with these changed inputs, which differ from those of the run with the plain id.
    pub(crate) fn id_with(&self, changed: &Sources) -> String {
        let mut value = self.hashed();
        value["sources"] = json!(changed);
        id_of(&value)
    }

    fn hashed(&self) -> Value {
        let mut value = self.with_schema();
        let object = value.as_object_mut().expect("a spec is a table");
        object.retain(|key, _| !schema::NOT_HASHED.contains(&key.as_str()));
        value
    }

    /// The id of the same run under schema 1, even if none was ever made.
    pub fn id_of_schema_1(&self) -> String {
        id_of(&schema::downgrade(self.value(), 1))
    }

    /// The ids of the same run under each earlier schema, the newest first, even if none was ever made.
    pub fn earlier_ids(&self) -> impl Iterator<Item = String> {
        schema::earlier().map(|schema| id_of(&schema::downgrade(self.value(), schema)))
    }

    /// The spec without its `schema` as each schema writes it, today's first.
    pub(crate) fn forms(&self) -> impl Iterator<Item = Value> + use<> {
        let now = self.value();
        let of_earlier = {
            let now = now.clone();
            move |schema| {
                let mut form = schema::downgrade(now.clone(), schema);
                if let Some(object) = form.as_object_mut() {
                    object.remove("schema");
                    for key in schema::not_hashed_in(schema) {
                        object.insert(key.to_string(), now[key].clone());
                    }
                }
                form
            }
        };
        std::iter::once(now).chain(schema::earlier().map(of_earlier))
    }

    fn value(&self) -> Value {
        serde_json::to_value(self).expect("a spec has string keys and finite numbers")
    }

    fn with_schema(&self) -> Value {
        let mut value = self.value();
        value
            .as_object_mut()
            .expect("a spec is a table")
            .insert("schema".to_string(), schema::SCHEMA.into());
        value
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of the canonical JSON.
pub(super) fn id_of(value: &Value) -> String {
    let digest = Sha256::digest(canonical(value).as_bytes());
    let digits = digest.iter().take(8).map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// JSON with sorted object keys, whatever the map type of `Value`.
pub(crate) fn canonical(value: &Value) -> String {
    let mut json = String::new();
    write_canonical(value, &mut json);
    json
}

fn write_canonical(value: &Value, json: &mut String) {
    let comma = |at: usize| if at > 0 { "," } else { "" };
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            json.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                json.push_str(comma(at));
                json.push_str(&Value::from(key.as_str()).to_string());
                json.push(':');
                write_canonical(value, json);
            }
            json.push('}');
        }
        Value::Array(items) => {
            json.push('[');
            for (at, item) in items.iter().enumerate() {
                json.push_str(comma(at));
                write_canonical(item, json);
            }
            json.push(']');
        }
        plain => json.push_str(&plain.to_string()),
    }
}
