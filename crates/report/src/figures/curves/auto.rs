//! Groups for runs that nobody has named: one line for each arm.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use totune_evidence::plan::Where;
use totune_evidence::select::runs::Run;
use totune_record::natural;

use crate::figures::curves::Chosen;

/// A setting of every run that adapts an encoder.
const KIND: &str = "work.training.adaptation.kind";

/// Settings in which repeats of a run differ.
const REPEATS: [&str; 2] = ["seed", "fold"];

/// One group for each arm of an experiment that adapts an encoder among `runs`; and, for each group, the other settings
/// in which its runs differ.
///
/// The experiment is part of the name only where there are several.
pub(crate) fn groups(runs: &[&Run]) -> (Vec<Chosen>, Vec<String>) {
    let mut found: BTreeMap<(&str, &str), Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.fact(KIND).is_some()) {
        let arm = run.fact("arm").and_then(Value::as_str).unwrap_or_default();
        let of_arm = found.entry((&run.row.experiment, arm)).or_default();
        of_arm.push(run);
    }
    let experiments: BTreeSet<&str> = found.keys().map(|(experiment, _)| *experiment).collect();
    let (mut chosen, mut notes) = (Vec::new(), Vec::new());
    for ((experiment, arm), members) in &found {
        let name = match experiments.len() {
            1 => (*arm).to_owned(),
            _ => format!("{experiment}/{arm}"),
        };
        notes.extend(differences(members).map(|note| format!("{name}: {note}")));
        let conditions = [("experiment", *experiment), ("arm", *arm)];
        let conditions = conditions.map(|(path, value)| (path.to_owned(), value.into()));
        chosen.push(Chosen {
            title: name.clone(),
            name,
            conditions: Where::from(conditions),
        });
    }
    chosen.sort_by(|a, b| natural(&a.name, &b.name));
    (chosen, notes)
}

/// Sentences on the other settings in which the runs of one line differ: a mean over these may mean nothing.
fn differences<'a>(runs: &'a [&Run]) -> impl Iterator<Item = String> + use<'a> {
    let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        for (path, value) in run.asked() {
            let text = value.as_str().map_or(value.to_string(), str::to_owned);
            values.entry(path).or_default().insert(text);
        }
    }
    let several = values.into_iter();
    let several = several.filter(|(path, values)| values.len() > 1 && !REPEATS.contains(path));
    several.map(|(path, values)| {
        let values: Vec<String> = values.into_iter().collect();
        format!(
            "its runs differ in {path} ({}); a condition on it draws one of them",
            values.join(", ")
        )
    })
}
