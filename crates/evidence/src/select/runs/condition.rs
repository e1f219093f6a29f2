//! Conditions of a `where`, and the values that they accept.

use anyhow::{Result, bail};
use serde_json::Value;

/// The values that a condition accepts: one, or any of a list.
pub(super) fn wanted(condition: &toml::Value) -> Result<Vec<Value>> {
    match condition {
        toml::Value::Array(values) => values.iter().map(plain).collect(),
        value => Ok(vec![plain(value)?]),
    }
}

fn plain(value: &toml::Value) -> Result<Value> {
    Ok(match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(truth) => (*truth).into(),
        other => bail!(
            "found a {}, expected a text, a number, true or false, or a list of these",
            other.type_str()
        ),
    })
}

/// Whether a fact is one of the wanted values; 1 and 1.0 are the same.
pub(super) fn holds(fact: Option<&Value>, wanted: &[Value]) -> bool {
    let same = |fact: &Value, wanted: &Value| match (fact.as_f64(), wanted.as_f64()) {
        (Some(fact), Some(wanted)) => fact == wanted,
        _ => fact == wanted,
    };
    fact.is_some_and(|fact| wanted.iter().any(|value| same(fact, value)))
}
