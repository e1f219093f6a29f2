//! Groups for runs that nobody has named: one line per way of adapting.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use totune_evidence::plan::Where;
use totune_evidence::select::runs::Run;

use crate::figures::curves::Chosen;

/// What tells lines apart.
const PATHS: [&str; 4] = [KIND, K, LR, ENCODER];
const KIND: &str = "work.training.adaptation.kind";
const K: &str = "work.training.adaptation.k";
const LR: &str = "work.training.adaptation.lr";
const ENCODER: &str = "work.encoder";

/// What repeats of a run differ in.
const REPEATS: [&str; 2] = ["seed", "fold"];

/// One group for each adaptation, learning rate and encoder among `runs`, frozen before the last layers before all;
/// and, for each group, what else its runs differ in.
///
/// A rate or an encoder is part of the name only where there are several.
pub(crate) fn groups(runs: &[&Run]) -> (Vec<Chosen>, Vec<String>) {
    let mut found: Vec<([Option<Value>; 4], Vec<&Run>)> = Vec::new();
    for run in runs {
        let key = PATHS.map(|path| run.fact(path).cloned());
        if key[0].is_none() {
            continue;
        }
        match found.iter_mut().find(|(other, _)| *other == key) {
            Some((_, members)) => members.push(run),
            None => found.push((key, vec![run])),
        }
    }
    found.sort_by(|(a, _), (b, _)| order(a, b));
    let several = |at: usize| {
        let values: BTreeSet<String> = found.iter().map(|(key, _)| shown(&key[at])).collect();
        values.len() > 1
    };
    let (rates, encoders) = (several(2), several(3));
    let mut notes = Vec::new();
    let chosen = found.iter().map(|(key, members)| {
        let (mut name, mut title) = (label(key), label(key));
        if rates {
            name.push_str(&format!("-lr-{}", rate(&key[2])));
            title.push_str(&format!(", lr {}", rate(&key[2])));
        }
        if encoders {
            name.push_str(&format!("-{}", shown(&key[3])));
            title.push_str(&format!(", {}", shown(&key[3])));
        }
        notes.extend(differences(members).map(|note| format!("{title}: {note}")));
        let conditions = PATHS
            .iter()
            .zip(key)
            .filter_map(|(path, value)| Some(((*path).to_owned(), plain(value.as_ref()?)?)));
        Chosen {
            name,
            title,
            conditions: conditions.collect::<Where>(),
        }
    });
    let chosen = chosen.collect();
    (chosen, notes)
}

/// `frozen`, `full`, `last-2`, as the adaptations call themselves.
fn label(key: &[Option<Value>; 4]) -> String {
    let kind = shown(&key[0]);
    match (kind.strip_suffix("-k"), &key[1]) {
        (Some(stem), Some(k)) => format!("{stem}-{k}"),
        _ => kind,
    }
}

fn order(a: &[Option<Value>; 4], b: &[Option<Value>; 4]) -> Ordering {
    let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64).unwrap_or(0.0);
    let rank = |key: &[Option<Value>; 4]| match shown(&key[0]).as_str() {
        "frozen" => 0,
        "full" => 2,
        _ => 1,
    };
    rank(a)
        .cmp(&rank(b))
        .then_with(|| shown(&a[0]).cmp(&shown(&b[0])))
        .then_with(|| number(&a[1]).total_cmp(&number(&b[1])))
        .then_with(|| number(&a[2]).total_cmp(&number(&b[2])))
        .then_with(|| shown(&a[3]).cmp(&shown(&b[3])))
}

fn shown(value: &Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "none".to_owned(),
    }
}

/// `1e-3`, `2e-5`.
fn rate(value: &Option<Value>) -> String {
    match value.as_ref().and_then(Value::as_f64) {
        Some(rate) => format!("{rate:e}"),
        None => shown(value),
    }
}

fn plain(value: &Value) -> Option<toml::Value> {
    match value {
        Value::String(text) => Some(toml::Value::String(text.clone())),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Some(toml::Value::Integer(integer)),
            None => number.as_f64().map(toml::Value::Float),
        },
        Value::Bool(truth) => Some(toml::Value::Boolean(*truth)),
        _ => None,
    }
}

/// What the runs of one line differ in beside their repeats: a mean over these may mean nothing.
fn differences<'a>(runs: &'a [&Run]) -> impl Iterator<Item = String> + use<'a> {
    let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        for (path, value) in run.asked() {
            values
                .entry(path)
                .or_default()
                .insert(shown(&Some(value.clone())));
        }
    }
    values
        .into_iter()
        .filter(|(path, values)| values.len() > 1 && !REPEATS.contains(path))
        .map(|(path, values)| {
            let values: Vec<String> = values.into_iter().collect();
            format!(
                "its runs differ in {path} ({}); a condition on it draws one of them",
                values.join(", ")
            )
        })
}
