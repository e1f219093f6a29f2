//! The forms that stored specs have had: how an older one is read, and the id that a run had in it.
//!
//! Schema 1 had no key `schema` and no arms, left settings out at their usual values, and had other names for some.
//! Its runs keep their ids. [`upgrade`] makes today's form of one; [`downgrade`] is its inverse, and the hash of what it
//! gives is the id that a run of today's form had then, if it could be written at all.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

/// The form that specs are written in.
pub(crate) const SCHEMA: u64 = 2;

/// A setting that schema 1 left out where it had this value.
struct LeftOut {
    /// Where its table is.
    at: &'static str,
    /// Of which kinds the table has to be; of any where none is named.
    kinds: &'static [&'static str],
    key: &'static str,
    /// The value as JSON.
    value: &'static str,
}

const fn left_out(
    at: &'static str,
    kinds: &'static [&'static str],
    key: &'static str,
    value: &'static str,
) -> LeftOut {
    LeftOut {
        at,
        kinds,
        key,
        value,
    }
}

/// A setting that had another name in schema 1: where its table is, of which kind that has to be, if of one, the old name
/// and today's.
type Renamed = (&'static str, &'static str, &'static str, &'static str);

const RENAMED: [Renamed; 5] = [
    ("work.training", "", "keep", "select"),
    (
        "work.training.adaptation",
        "stack-and-finetune",
        "stack-lr",
        "head-lr",
    ),
    (
        "work.training.adaptation",
        "stack-and-finetune",
        "stack-epochs",
        "head-epochs",
    ),
    (
        "work.training.adaptation",
        "stack-and-finetune",
        "stack-stop",
        "head-stop",
    ),
    (
        "work.training.adaptation",
        "gradual-unfreezing",
        "decay",
        "layer-decay",
    ),
];

/// A value that had another name in schema 1: where it is, the old name and today's.
const RENAMED_VALUE: (&str, &str, &str) = ("/work/training/select", "best", "best-dev");

/// In the order in which they are filled in: a table before what is inside it.
const LEFT_OUT: [LeftOut; 29] = [
    left_out("", &[], "search", "[]"),
    left_out("split", &["hold-out"], "dev", "0.0"),
    left_out("split", &["hold-out", "files"], "train-limit", "null"),
    left_out("split", &["hold-out", "files"], "test-limit", "null"),
    left_out("split", &["files"], "dev-limit", "null"),
    left_out("split", &["files"], "dev-split", "null"),
    left_out("split", &["files"], "predict", "[]"),
    left_out("split", &["k-fold"], "seed", "null"),
    left_out("work.logistic", &[], "solver", "\"lbfgs\""),
    left_out("work", &["probe"], "pairs", "\"joint\""),
    left_out("work", &["probe"], "training", "null"),
    left_out("work.training", &[], "cache", r#"{"kind":"off"}"#),
    left_out("work.training", &[], "micro-batch-size", "0"),
    left_out("work.training", &[], "select", "\"last\""),
    left_out("work.training", &[], "pairs", "\"joint\""),
    left_out("work.training", &[], "context", "\"sentence\""),
    left_out("work.training", &[], "state", "\"reset\""),
    left_out("work.training.stop", &["plateau", "gap"], "metric", "null"),
    left_out("work.training.schedule", &["plateau"], "metric", "null"),
    left_out("work.training.adaptation", &["full"], "layer-decay", "1.0"),
    left_out(
        "work.training.adaptation",
        &["last-k"],
        "layer-decay",
        "1.0",
    ),
    left_out(
        "work.training.adaptation",
        &["stack-and-finetune"],
        "layer-decay",
        "1.0",
    ),
    left_out(
        "work.training.adaptation.head-stop",
        &["plateau", "gap"],
        "metric",
        "null",
    ),
    left_out("work.training.head", &[], "layers", r#"{"kind":"top"}"#),
    left_out("work.training.head.layers", &["mix"], "layer-norm", "false"),
    left_out(
        "work.training.head",
        &["tagger"],
        "recurrent-over",
        "\"pieces\"",
    ),
    left_out("work.training.head", &["tagger"], "projection", "0"),
    left_out("work.training.head", &["tagger"], "init", "\"pytorch\""),
    left_out("", &[], "arm", "\"\""),
];

/// Today's form of a stored spec, without its `schema`; the arm of an older one is empty.
///
/// # Errors
/// When it is of a later schema than this program knows.
pub(super) fn upgrade(mut spec: Value) -> Result<Value> {
    let Some(object) = spec.as_object_mut() else {
        return Ok(spec);
    };
    let schema = object.remove("schema").unwrap_or_else(|| json!(1));
    if schema == json!(1) {
        rename(&mut spec, |(at, kind, old, new)| (at, kind, old, new));
        let (at, old, new) = RENAMED_VALUE;
        rename_value(&mut spec, at, old, new);
        for setting in &LEFT_OUT {
            if let Some(table) = table(&mut spec, setting.at, setting.kinds) {
                let value = || serde_json::from_str(setting.value).expect("a literal is JSON");
                table.entry(setting.key).or_insert_with(value);
            }
        }
    } else {
        ensure!(
            schema == json!(SCHEMA),
            "schema: found {schema}, expected at most {SCHEMA}: the spec is from a later version"
        );
    }
    Ok(spec)
}

/// The form of schema 1 of a spec of today's form without a `schema`; it has no arm.
pub(super) fn downgrade(mut spec: Value) -> Value {
    if let Some(object) = spec.as_object_mut() {
        object.remove("arm");
    }
    for setting in LEFT_OUT.iter().rev() {
        let value: Value = serde_json::from_str(setting.value).expect("a literal is JSON");
        if let Some(table) = table(&mut spec, setting.at, setting.kinds)
            && table.get(setting.key) == Some(&value)
        {
            table.remove(setting.key);
        }
    }
    let (at, old, new) = RENAMED_VALUE;
    rename_value(&mut spec, at, new, old);
    rename(&mut spec, |(at, kind, old, new)| (at, kind, new, old));
    spec
}

/// Renames settings, and the paths to them that a search names; `way` says from which of the two names to which.
fn rename(spec: &mut Value, way: impl Fn(Renamed) -> Renamed) {
    for (at, kind, from, to) in RENAMED.map(way) {
        let kinds = [kind];
        let kinds = if kind.is_empty() { &[][..] } else { &kinds };
        let Some(table) = table(spec, at, kinds) else {
            continue;
        };
        if let Some(value) = table.remove(from) {
            table.insert(to.to_string(), value);
        }
        let (from, to) = (format!("{at}.{from}"), format!("{at}.{to}"));
        let searched = spec.get_mut("search").and_then(Value::as_array_mut);
        for path in searched.into_iter().flatten() {
            if *path == from.as_str() {
                *path = to.as_str().into();
            }
        }
    }
}

fn rename_value(spec: &mut Value, at: &str, from: &str, to: &str) {
    if let Some(value) = spec.pointer_mut(at)
        && *value == from
    {
        *value = to.into();
    }
}

/// The table at a path, if this spec has it and it is of one of the kinds.
fn table<'a>(
    spec: &'a mut Value,
    at: &str,
    kinds: &[&str],
) -> Option<&'a mut serde_json::Map<String, Value>> {
    let keys = at.split('.').filter(|key| !key.is_empty());
    let mut place = spec;
    for key in keys {
        place = place.get_mut(key)?;
    }
    let table = place.as_object_mut()?;
    let kind = table
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    (kinds.is_empty() || kinds.contains(&kind)).then_some(table)
}
