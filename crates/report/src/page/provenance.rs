//! Provenance of the numbers: code, machines, data, weights, and the statuses of runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use totune_evidence::plan::Measure;
use totune_evidence::select::retime::Retimed;
use totune_evidence::select::runs::{Run, Runs};
use totune_evidence::text::{count, counted, counts, fixed};
use totune_record::RunRow;

/// Facts about the runs of a page.
#[derive(Debug, Serialize)]
pub(crate) struct Provenance {
    /// Runs per experiment, with how they ended.
    pub(crate) experiments: Vec<Ended>,
    /// Label and values, one line each.
    pub(crate) facts: Vec<(String, Vec<String>)>,
}

/// Statuses and total time of an experiment's runs.
#[derive(Debug, Serialize)]
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) runs: usize,
    /// `30 ok, 1 diverged`.
    pub(crate) statuses: String,
    /// Training and evaluation together.
    pub(crate) time: String,
}

impl Provenance {
    /// Gathers the facts that all runs recorded.
    pub(crate) fn of(runs: &Runs) -> Self {
        let all = runs.all();
        let mut by_experiment: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
        for run in all {
            by_experiment
                .entry(&run.row.experiment)
                .or_default()
                .push(run);
        }
        let experiments = by_experiment
            .into_iter()
            .map(|(name, runs)| Ended {
                name: name.to_owned(),
                runs: runs.len(),
                statuses: statuses(&runs),
                time: time(runs.iter().copied()),
            })
            .collect();
        Self {
            experiments,
            facts: facts(all, runs.retimed()),
        }
    }
}

/// Facts that runs recorded, each line with its values; lines without any are left out.
fn facts(all: &[Run], retimed: &Retimed) -> Vec<(String, Vec<String>)> {
    let distinct = |text: fn(&RunRow) -> Option<String>| -> Vec<String> {
        let texts = all.iter().filter_map(|run| text(&run.row));
        texts.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let peak = all.iter().map(|run| run.row.peak_memory).max().unwrap_or(0);
    let gib = fixed(peak as f64 / (1u64 << 30) as f64, 2);
    let peak = (peak > 0).then(|| format!("{gib} GiB in the largest run"));
    let lines = [
        ("Code", distinct(code)),
        (
            "Dataset",
            distinct(|row| hashed(&row.dataset, &row.dataset_hash)),
        ),
        (
            "Checkpoint",
            distinct(|row| hashed(&row.encoder, &row.checkpoint_hash)),
        ),
        (
            "Tokenizer",
            distinct(|row| hashed(&row.encoder, &row.tokenizer_hash)),
        ),
        ("Device", distinct(device)),
        (
            "CPU share",
            cpu_share(&retimed.shares).into_iter().collect(),
        ),
        ("Timing pass", retimed.lines.clone()),
        ("Parameters", distinct(parameters)),
        ("Peak memory", peak.into_iter().collect()),
        ("Went wrong", distinct(failure)),
    ];
    let lines = lines.into_iter().filter(|(_, values)| !values.is_empty());
    lines
        .map(|(label, values)| (label.to_owned(), values))
        .collect()
}

fn code(row: &RunRow) -> Option<String> {
    let commit = match row.code_commit.as_str() {
        "" => "outside a checkout",
        commit => short(commit, 12),
    };
    let dirty = if row.code_dirty {
        ", with uncommitted changes"
    } else {
        ""
    };
    Some(format!("{commit}{dirty}"))
}

fn hashed(name: &str, hash: &str) -> Option<String> {
    (!name.is_empty()).then(|| format!("{name} (SHA-256 {})", short(hash, 16)))
}

fn device(row: &RunRow) -> Option<String> {
    let threads = counted(row.threads as usize, "thread");
    Some(format!("{}, {}, {threads}", row.device, row.dtype))
}

/// The share of the CPU that runs had while they trained, where it is known. Below 90 %, seconds are approximate unless
/// a timing pass gave others.
fn cpu_share(shares: &[f64]) -> Option<String> {
    let (low, high) = (shares.first()?, shares.last()?);
    let below = shares.iter().filter(|share| **share < 0.9).count();
    Some(format!(
        "{} to {} % of {}; below 90 % in {}",
        fixed(100.0 * low, 0),
        fixed(100.0 * high, 0),
        counted(shares.len(), "run"),
        counted(below, "run"),
    ))
}

fn parameters(row: &RunRow) -> Option<String> {
    let (total, trainable) = (count(row.params_total), count(row.params_trainable));
    let encoder = &row.encoder;
    (!encoder.is_empty()).then(|| format!("{encoder}: {total}, of which {trainable} trained"))
}

fn failure(row: &RunRow) -> Option<String> {
    let RunRow {
        run_id,
        status,
        error,
        ..
    } = row;
    (status != "ok").then(|| format!("{run_id} ({status}): {error}"))
}

/// `60 ok, 1 diverged`, and how many began again because they had learned nothing.
pub(crate) fn statuses(runs: &[&Run]) -> String {
    let mut statuses: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs {
        *statuses.entry(&run.row.status).or_default() += 1;
    }
    let restarts = Measure::score("restarts", "train");
    let restarted = |run: &&&Run| run.number(&restarts).is_some_and(|n| n > 0.0);
    match runs.iter().filter(restarted).count() {
        0 => counts(&statuses),
        again => format!("{}; {again} began again", counts(&statuses)),
    }
}

/// The time that the runs took.
pub(crate) fn time<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let seconds: f64 = runs.map(|run| run.took).sum();
    match seconds {
        ..60.0 => format!("{} seconds", fixed(seconds, 1)),
        ..3600.0 => format!("{} minutes", fixed(seconds / 60.0, 1)),
        _ => format!("{} hours", fixed(seconds / 3600.0, 2)),
    }
}

fn short(hash: &str, length: usize) -> &str {
    hash.get(..length).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use totune_record::EvalRow;

    #[test]
    fn runs_that_began_again_are_counted() {
        let mut tables = totune_synthetic::tables();
        let before = Runs::new(tables.clone()).expect("valid rows");
        let before = statuses(&before.all().iter().collect::<Vec<_>>());
        assert!(!before.contains("again"), "{before}");
        let last = tables.evals.iter().rfind(|eval| eval.is_final);
        let last = last.expect("a final score").clone();
        for (run, value) in tables.runs.iter().take(3).zip([0.0, 1.0, 2.0]) {
            tables.evals.push(EvalRow {
                run_id: run.run_id.clone(),
                split: "train".to_owned(),
                metric: "restarts".to_owned(),
                value,
                ..last.clone()
            });
        }
        let after = Runs::new(tables).expect("valid rows");
        let after = statuses(&after.all().iter().collect::<Vec<_>>());
        assert_eq!(after, format!("{before}; 2 began again"));
    }
}
