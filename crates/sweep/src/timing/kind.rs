//! The kinds of run in a plan.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use totune_data::sha256_hex;
use totune_record::TimingRow;

use super::request::{Noise, Place, TimingRequest};
use crate::{Plan, RunSpec, Work};

/// An arm on a dataset with an encoder.
#[derive(Debug)]
pub(super) struct Kind<'a> {
    /// One of its runs.
    pub spec: &'a RunSpec,
    /// Hashes of its settings, except for the seed and the values that a search chose, as each schema writes them, today's
    /// first.
    settings: Vec<String>,
    /// Its settings without names and learning rates, which take no time: kinds that are alike in them are timed once.
    alike: Value,
}

/// Settings of a strategy that change no second of an epoch.
const TIMELESS: [&str; 4] = ["lr", "head-lr", "finetune-head-lr", "layer-decay"];

/// Takes the settings that change no second of an epoch out of a strategy.
pub(crate) fn without_rates(adaptation: &mut Value) {
    if let Value::Object(keys) = adaptation {
        keys.retain(|key, _| !TIMELESS.contains(&key.as_str()));
    }
}

/// The kinds of the plan, those that start from the same activations one after the other, and the runs that have no
/// epochs, by their kind of work.
pub(super) fn kinds(plan: &Plan) -> (Vec<Kind<'_>>, BTreeMap<&'static str, usize>) {
    let mut first: BTreeMap<[&str; 4], &RunSpec> = BTreeMap::new();
    let mut left_out = BTreeMap::new();
    // Trials of a search are of the kind of the run that takes their settings.
    let runs = plan.runs.iter().map(|run| &run.spec);
    for spec in runs.filter(|spec| !spec.is_trial()) {
        let Work::Tune(work) = &spec.work else {
            let what = match &spec.work {
                Work::Probe(_) => "probe",
                Work::Divergence(_) => "divergence",
                _ => "no encoder trained",
            };
            *left_out.entry(what).or_insert(0) += 1;
            continue;
        };
        let key = [&spec.experiment, &spec.arm, &spec.dataset, &work.encoder].map(String::as_str);
        let known = first.entry(key).or_insert(spec);
        if (spec.fold, spec.seed) < (known.fold, known.seed) {
            *known = spec;
        }
    }
    let mut kinds: Vec<Kind> = first.into_values().map(Kind::of).collect();
    kinds.sort_by_cached_key(|kind| kind.spec.affinity());
    (kinds, left_out)
}

/// The kinds in groups that are timed once each, in the order of the first of each group: they differ in names, seeds and
/// learning rates at most, so their epochs take the same steps.
pub(super) fn groups<'k, 'a>(kinds: Vec<&'k Kind<'a>>) -> Vec<Vec<&'k Kind<'a>>> {
    let mut groups: Vec<Vec<&Kind>> = Vec::new();
    for kind in kinds {
        match groups.iter_mut().find(|group| group[0].alike == kind.alike) {
            Some(group) => group.push(kind),
            None => groups.push(vec![kind]),
        }
    }
    groups
}

impl<'a> Kind<'a> {
    fn of(spec: &'a RunSpec) -> Self {
        let mut plain = spec.clone();
        plain.fold = 0;
        let hash = |cell: String| sha256_hex(cell.as_bytes())[..16].to_string();
        let settings = plain.cells().map(hash).collect();
        plain.experiment.clear();
        plain.arm.clear();
        plain.seed = 0;
        plain.search.clear();
        plain.search_trials = None;
        let mut alike = json!(plain);
        if let Some(adaptation) = alike.pointer_mut("/work/training/adaptation") {
            without_rates(adaptation);
        }
        Self {
            spec,
            settings,
            alike,
        }
    }

    /// Hash of its settings as today's schema writes them.
    pub fn settings(&self) -> &str {
        &self.settings[0]
    }

    /// Display label.
    pub fn label(&self) -> String {
        let spec = self.spec;
        let encoder = spec.encoder().unwrap_or_default();
        format!(
            "{} · {} · {} · {encoder}",
            spec.experiment, spec.arm, spec.dataset
        )
    }

    /// Whether a row has its names, whatever its settings.
    pub fn is_named_in(&self, row: &TimingRow) -> bool {
        let spec = self.spec;
        let names = [&spec.experiment, &spec.arm, &spec.dataset];
        names == [&row.experiment, &row.arm, &row.dataset]
            && spec.encoder() == Some(row.encoder.as_str())
    }

    /// Whether a row is of this kind, settings included.
    pub fn is_of(&self, row: &TimingRow) -> bool {
        self.is_named_in(row) && self.settings.contains(&row.settings)
    }

    /// Whether its rows need not be measured again.
    pub fn stands(&self, rows: &[TimingRow], place: &Place, request: &TimingRequest) -> bool {
        let mut rows = rows.iter().filter(|row| self.is_of(row)).peekable();
        let stands = |row: &TimingRow| {
            let of = Place {
                device: row.device.clone(),
                threads: row.threads,
                machine: row.machine.clone(),
            };
            of == *place
                && row.epochs as usize >= request.epochs
                && row
                    .batches
                    .is_none_or(|n| request.batches.is_some_and(|least| n as usize >= least))
                && (row.quiet || request.noise == Noise::Marked)
        };
        rows.peek().is_some() && rows.all(stands)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use totune_record::{Tables, read_timing};

    use super::*;

    // Each schema gave specs more settings; a pass removes the rows of kinds that the plan does not have.
    #[test]
    fn committed_timings_are_of_todays_kinds_whatever_schema_wrote_them() {
        for paper in [
            "hart2020",
            "wang2023",
            "wang2019",
            "data-size",
            "strategies",
        ] {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let folder = root.join("results").join(paper).join("small");
            let runs = Tables::read_runs(&folder).expect("runs");
            let specs = runs.iter().map(|row| RunSpec::read(&row.spec));
            let specs: Vec<RunSpec> = specs.collect::<Result<_, _>>().expect("specs");
            let mut kinds = BTreeMap::new();
            for spec in specs.iter().filter(|spec| !spec.is_trial()) {
                let name = [&spec.experiment, &spec.arm, &spec.dataset];
                kinds.entry(name).or_insert_with(|| Kind::of(spec));
            }
            let rows = read_timing(&folder).expect("timings");
            assert!(!rows.is_empty());
            let mut found = 0;
            for row in rows {
                let name = [&row.experiment, &row.arm, &row.dataset];
                // Some kinds were timed before their runs were made.
                if let Some(kind) = kinds.get(&name) {
                    assert!(kind.is_of(&row), "{paper}: {row:?}");
                    found += 1;
                }
            }
            assert!(found > 0, "{paper}");
        }
    }
}
