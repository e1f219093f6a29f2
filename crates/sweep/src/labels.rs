//! Labels of runs, unique within a plan.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
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
            group.par_iter().map(|at| settings(runs[*at].1)).collect();
        let paths = differing(&settings);
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

/// The paths at which the settings of runs differ.
fn differing(settings: &[BTreeMap<String, String>]) -> BTreeSet<&String> {
    let mut paths = BTreeSet::new();
    for pair in settings.windows(2) {
        let [a, b] = [&pair[0], &pair[1]];
        // Nearly always they have the same paths, in the same order.
        if a.keys().eq(b.keys()) {
            let both = a.iter().zip(b.values());
            paths.extend(both.filter(|((_, a), b)| a != b).map(|((path, _), _)| path));
        } else {
            let all = a.keys().chain(b.keys());
            paths.extend(all.filter(|path| a.get(*path) != b.get(*path)));
        }
    }
    paths
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
