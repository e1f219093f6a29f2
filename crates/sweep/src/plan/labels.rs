//! Labels of runs, unique within a plan.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use rayon::prelude::*;
use serde_json::Value;

use crate::RunSpec;

/// Runs whose settings are in memory as texts at once.
const AT_ONCE: usize = 1 << 12;

/// Adds the settings in which runs with the same label differ to their labels: `batch-size 32`.
pub(crate) fn make_unique(runs: &mut [(&mut String, &RunSpec)]) {
    let mut same: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (label, _)) in runs.iter().enumerate() {
        same.entry(label.to_string()).or_default().push(at);
    }
    for group in same.into_values().filter(|group| group.len() > 1) {
        let mut texts = Texts::default();
        let mut all: Vec<Settings> = Vec::with_capacity(group.len());
        for part in group.chunks(AT_ONCE) {
            let read: Vec<_> = part.par_iter().map(|at| settings(runs[*at].1)).collect();
            all.extend(read.into_iter().map(|of_run| texts.number(of_run)));
        }
        let paths = differing(&all, &texts);
        for (at, of_run) in group.iter().zip(&all) {
            let named = |path: &u32| {
                let at = of_run.binary_search_by_key(path, |(path, _)| *path).ok()?;
                let name = name(texts.of(*path));
                Some(match texts.of(of_run[at].1) {
                    "null" => format!("no {name}"),
                    value => format!("{name} {value}"),
                })
            };
            let parts: Vec<String> = paths.iter().filter_map(named).collect();
            let label = &mut *runs[*at].0;
            *label = format!("{label} · {}", parts.join(" · "));
        }
    }
}

/// Path and value of each setting of a run as numbers of [`Texts`], sorted: of 100,000 runs they are a fiftieth of the
/// texts themselves.
type Settings = Vec<(u32, u32)>;

/// Texts, each of them once.
#[derive(Default)]
struct Texts {
    numbers: HashMap<Rc<str>, u32>,
    texts: Vec<Rc<str>>,
}

impl Texts {
    fn number(&mut self, settings: BTreeMap<String, String>) -> Settings {
        let pairs = settings.into_iter();
        let pairs = pairs.map(|(path, value)| (self.number_of(path), self.number_of(value)));
        let mut numbers: Settings = pairs.collect();
        numbers.sort_unstable();
        numbers
    }

    fn number_of(&mut self, text: String) -> u32 {
        if let Some(known) = self.numbers.get(text.as_str()) {
            return *known;
        }
        let (text, number): (Rc<str>, u32) = (text.into(), self.texts.len() as u32);
        self.texts.push(Rc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    fn of(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// The paths at which the settings of runs differ, in alphabetical order.
fn differing(settings: &[Settings], texts: &Texts) -> Vec<u32> {
    let mut paths = HashSet::new();
    for pair in settings.windows(2) {
        let [a, b] = [&pair[0], &pair[1]];
        // Nearly always they have the same paths, in the same order.
        if a.iter()
            .map(|(path, _)| path)
            .eq(b.iter().map(|(path, _)| path))
        {
            let both = a.iter().zip(b).filter(|(a, b)| a != b);
            paths.extend(both.map(|((path, _), _)| *path));
        } else {
            let [of_a, of_b] = [a, b].map(|run| run.iter().collect::<HashSet<_>>());
            paths.extend(of_a.symmetric_difference(&of_b).map(|(path, _)| *path));
        }
    }
    let mut paths: Vec<u32> = paths.into_iter().collect();
    paths.sort_unstable_by_key(|path| texts.of(*path));
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
