//! The schemas of stored specs: reading of older ones, and the ids that runs had in them.
//!
//! Schema 1 had no key `schema` and no arms, left settings out at their usual values, and had other names for some.
//! Schema 2 had other names for settings of heads, schema 3 for stopping rules and for fine-tuning. Schema 4 had a
//! learning rate of the head only in the first of two phases; schema 5 had none in the second, and no number of trials
//! of a search; schema 6 always sampled dev after the limit of examples, schema 7 scored test after each epoch, schema
//! 8 had only the plain loss, no reinitialised layers, and no choice of an activation, schema 9 no restarts, schema 10 no
//! gradient checkpointing, schema 11 no standardised features of a probe, and schema 12 no standardised scores. Runs
//! keep the ids they were made with.
//! [`upgrade`] converts a spec into today's form; [`downgrade`] is its inverse, and the hash of its result is the id
//! that a run of today's form had then, if it could be written at all.

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The schema that specs are written in.
pub(crate) const SCHEMA: u64 = 1 + STEPS.len() as u64;

/// The earlier schemas, newest first.
pub(super) fn earlier() -> impl Iterator<Item = u64> {
    (1..SCHEMA).rev()
}

/// Changes from one schema to the next.
struct Step {
    renamed: &'static [Renamed],
    renamed_values: &'static [RenamedValue],
    /// Settings in the order in which they are filled in: a table before its content.
    left_out: &'static [LeftOut],
}

/// From schema 1 to 2, from 2 to 3, …
const STEPS: [Step; 12] = [
    Step {
        renamed: &RENAMED_IN_2,
        renamed_values: &[("/work/training/select", "best", "best-dev")],
        left_out: &LEFT_OUT_OF_1,
    },
    Step {
        renamed: &RENAMED_IN_3,
        renamed_values: &[
            ("/work/training/head/layers/kind", "mix", "scalar-mix"),
            ("/work/training/head/recurrent-over", "pieces", "subwords"),
            ("/work/training/head/init", "esim", "glorot-orthogonal"),
        ],
        left_out: &[left_out("work.training.head", &[], "kind", "\"linear\"")],
    },
    Step {
        renamed: &RENAMED_IN_4,
        renamed_values: &[
            ("/work/kind", "tune", "fine-tune"),
            ("/work/training/stop/kind", "plateau", "early-stopping"),
            ("/work/training/stop/kind", "gap", "generalisation-gap"),
            (
                "/work/training/adaptation/head-stop/kind",
                "plateau",
                "early-stopping",
            ),
            (
                "/work/training/adaptation/head-stop/kind",
                "gap",
                "generalisation-gap",
            ),
        ],
        left_out: &[],
    },
    Step {
        renamed: &[],
        renamed_values: &[],
        left_out: &[left_out(
            "work.training.adaptation",
            &[
                "frozen",
                "full",
                "last-k",
                "gradual-unfreezing",
                "bitfit",
                "lora",
            ],
            "head-lr",
            "null",
        )],
    },
    Step {
        renamed: &[],
        renamed_values: &[],
        left_out: &[
            left_out(
                "work.training.adaptation",
                &["stack-and-finetune"],
                "finetune-head-lr",
                "null",
            ),
            left_out("", &[], "search-trials", "null"),
        ],
    },
    Step {
        renamed: &[],
        renamed_values: &[],
        left_out: &[left_out(
            "split",
            &["files", "hold-out"],
            "dev-drawn",
            "\"after-limit\"",
        )],
    },
    Step {
        renamed: &[],
        renamed_values: &[],
        left_out: &[left_out(
            "work.training",
            &[],
            "test-scores",
            "\"each-epoch\"",
        )],
    },
    Step {
        renamed: &[],
        renamed_values: &[],
        left_out: &[
            left_out(
                "work.training",
                &[],
                "loss",
                r#"{"class-weights":"equal","label-smoothing":0.0}"#,
            ),
            left_out("work.training", &[], "l2-sp", "0.0"),
            left_out(
                "work.training.adaptation",
                &["full"],
                "reinitialised-layers",
                "0",
            ),
            left_out(
                "work.training.head",
                &["fully-connected"],
                "activation",
                "\"relu\"",
            ),
        ],
    },
    Step {
        renamed: &[],
        renamed_values: &[],
        left_out: &[left_out("work.training", &[], "restarts", "0")],
    },
    Step {
        renamed: &[],
        renamed_values: &[],
        left_out: &[left_out(
            "work.training",
            &[],
            "gradient-checkpointing",
            "\"off\"",
        )],
    },
    Step {
        renamed: &[],
        renamed_values: &[],
        left_out: &[left_out(
            "work.training.adaptation",
            &["lp-ft"],
            "standardise",
            "\"off\"",
        )],
    },
    Step {
        renamed: &[],
        renamed_values: &[],
        left_out: &[left_out(
            "work.training",
            &[],
            "standardise-scores",
            "\"off\"",
        )],
    },
];

/// Keys of a spec that do not affect what the run computes and are not part of the id.
pub(super) const NOT_HASHED: [&str; 2] = ["arm", "search-trials"];

/// The keys among them that a spec of this schema has.
pub(super) fn not_hashed_in(schema: u64) -> impl Iterator<Item = &'static str> {
    let since = [2, 6]; // see the steps
    let with_since = NOT_HASHED.into_iter().zip(since);
    with_since.filter_map(move |(key, since)| (schema >= since).then_some(key))
}

/// A setting that the earlier schema left out where it had this value.
struct LeftOut {
    /// Path of its table.
    at: &'static str,
    /// Kinds that the table may have; empty for any.
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

/// A renamed setting: path of its table, required kind of that table (empty for any), earlier name and later name.
type Renamed = (&'static str, &'static str, &'static str, &'static str);

/// A renamed value: its path, the earlier name and the later.
type RenamedValue = (&'static str, &'static str, &'static str);

const RENAMED_IN_2: [Renamed; 5] = [
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

const HEAD: &str = "work.training.head";

const RENAMED_IN_3: [Renamed; 7] = [
    (HEAD, "esim", "output", "mlp-hidden"),
    (HEAD, "fully-connected", "hidden", "mlp-hidden"),
    (HEAD, "dense-text", "hidden", "mlp-hidden"),
    (HEAD, "highway-lstm", "output", "mlp-hidden"),
    (HEAD, "bimpm", "output", "mlp-hidden"),
    (HEAD, "tagger", "projection", "mlp-hidden"),
    (HEAD, "tagger", "pieces", "subwords"),
];

const STOP: &str = "work.training.stop";
const HEAD_STOP: &str = "work.training.adaptation.head-stop";

const RENAMED_IN_4: [Renamed; 4] = [
    (STOP, "gap", "gap", "max-gap"),
    (STOP, "gap", "rise", "min-improvement"),
    (HEAD_STOP, "gap", "gap", "max-gap"),
    (HEAD_STOP, "gap", "rise", "min-improvement"),
];

const LEFT_OUT_OF_1: [LeftOut; 29] = [
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

/// Converts a stored spec into today's form, without its `schema`; the arm of one of schema 1 is empty.
///
/// # Errors
/// When its schema is later than this program knows.
pub(super) fn upgrade(mut spec: Value) -> Result<Value> {
    let Some(object) = spec.as_object_mut() else {
        return Ok(spec);
    };
    let schema = object.remove("schema").unwrap_or_else(|| json!(1));
    let known = schema.as_u64().filter(|n| (1..=SCHEMA).contains(n));
    let schema = known.with_context(|| {
        format!(
            "schema: found {schema}, expected at most {SCHEMA}: the spec is from a later version"
        )
    })?;
    for step in &STEPS[schema as usize - 1..] {
        rename(&mut spec, step, |(at, kind, old, new)| (at, kind, old, new));
        for (at, old, new) in step.renamed_values {
            rename_value(&mut spec, at, old, new);
        }
        for setting in step.left_out {
            if let Some(table) = table(&mut spec, setting.at, setting.kinds) {
                let value = || serde_json::from_str(setting.value).expect("a literal is JSON");
                table.entry(setting.key).or_insert_with(value);
            }
        }
    }
    Ok(spec)
}

/// Converts a spec of today's form without a `schema` into the form of an earlier `schema`, as it was hashed: without
/// [`NOT_HASHED`].
pub(super) fn downgrade(mut spec: Value, schema: u64) -> Value {
    for step in STEPS[schema as usize - 1..].iter().rev() {
        for setting in step.left_out.iter().rev() {
            let value: Value = serde_json::from_str(setting.value).expect("a literal is JSON");
            if let Some(table) = table(&mut spec, setting.at, setting.kinds)
                && table.get(setting.key) == Some(&value)
            {
                table.remove(setting.key);
            }
        }
        for (at, old, new) in step.renamed_values {
            rename_value(&mut spec, at, new, old);
        }
        rename(&mut spec, step, |(at, kind, old, new)| (at, kind, new, old));
    }
    if let Some(object) = spec.as_object_mut() {
        object.retain(|key, _| !NOT_HASHED.contains(&key.as_str()));
        if schema > 1 {
            object.insert("schema".to_string(), schema.into());
        }
    }
    spec
}

/// Renames settings, and the paths to them that a search names; `way` gives the direction of the renaming.
fn rename(spec: &mut Value, step: &Step, way: impl Fn(Renamed) -> Renamed) {
    for (at, kind, from, to) in step.renamed.iter().copied().map(way) {
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
