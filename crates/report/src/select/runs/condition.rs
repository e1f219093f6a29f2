//! What a condition of a `where` accepts.

use anyhow::{Result, bail};
use serde_json::Value;

/// What a condition accepts.
pub(super) struct Wanted {
    /// One value, or any of a list.
    pub(super) values: Vec<Value>,
    /// Whether a run that says nothing is meant too: a setting at its default is left out of specs.
    pub(super) unsaid: bool,
}

/// The key of a condition on a setting that may be left out: `{ default = "joint" }`.
const DEFAULT: &str = "default";

impl Wanted {
    pub(super) fn of(wanted: &toml::Value) -> Result<Self> {
        let (wanted, unsaid) = match wanted {
            toml::Value::Table(table) if table.len() == 1 => match table.get(DEFAULT) {
                Some(value) => (value, true),
                None => (wanted, false),
            },
            _ => (wanted, false),
        };
        let values = match wanted {
            toml::Value::Array(values) => values.iter().map(plain).collect::<Result<_>>()?,
            value => vec![plain(value)?],
        };
        Ok(Self { values, unsaid })
    }

    pub(super) fn holds(&self, fact: Option<&Value>) -> bool {
        match fact {
            None => self.unsaid,
            Some(fact) => self.values.iter().any(|value| same(fact, value)),
        }
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

/// Whether a fact is the wanted value; 1 and 1.0 are the same.
fn same(fact: &Value, wanted: &Value) -> bool {
    match (fact.as_f64(), wanted.as_f64()) {
        (Some(fact), Some(wanted)) => fact == wanted,
        _ => fact == wanted,
    }
}
