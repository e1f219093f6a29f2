//! Labels of runs, unique within a plan.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::RunSpec;

/// Adds the settings in which runs with the same label differ to their labels: `batch-size 32`.
pub(crate) fn tell_apart(runs: &mut [(&mut String, &RunSpec)]) {
    let mut same: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (label, _)) in runs.iter().enumerate() {
        same.entry(label.to_string()).or_default().push(at);
    }
    for group in same.into_values().filter(|group| group.len() > 1) {
        let settings: Vec<BTreeMap<String, String>> =
            group.iter().map(|at| settings(runs[*at].1)).collect();
        let paths: BTreeSet<&String> = settings.iter().flat_map(BTreeMap::keys).collect();
        let differs = |path: &&&String| {
            let mut values = settings.iter().map(|of_run| of_run.get(**path));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let paths: Vec<&String> = paths.iter().filter(differs).copied().collect();
        for (at, of_run) in group.iter().zip(&settings) {
            let named = |path: &&String| {
                Some(match of_run.get(*path)?.as_str() {
                    "null" => format!("no {}", name(path)),
                    value => format!("{} {value}", name(path)),
                })
            };
            let parts: Vec<String> = paths.iter().filter_map(named).collect();
            let label = &mut *runs[*at].0;
            *label = format!("{label} · {}", parts.join(" · "));
        }
    }
}

/// Every setting of a run by its path.
fn settings(spec: &RunSpec) -> BTreeMap<String, String> {
    let json = serde_json::to_value(spec).expect("a spec has string keys");
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), json)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(table) => {
                let below = table.into_iter();
                open.extend(below.map(|(key, value)| (format!("{path}.{key}"), value)));
            }
            Value::String(text) => drop(found.insert(path, text)),
            plain => drop(found.insert(path, plain.to_string())),
        }
    }
    found
}

/// The last key of a path, preceded by the one before it where the last is ambiguous by itself.
fn name(path: &str) -> &str {
    let keys: Vec<&str> = path.rsplitn(3, '.').collect();
    match keys[..] {
        [key @ ("kind" | "layers" | "metric"), above, _] => {
            &path[path.len() - key.len() - above.len() - 1..]
        }
        _ => keys[0],
    }
}
