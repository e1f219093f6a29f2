//! Where the numbers come from: code, machines, data, weights, and how many runs ended how.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::select::runs::{Run, Runs};
use crate::text::{count, counted, fixed};

/// What the page says about its runs.
#[derive(Debug, Serialize)]
pub(crate) struct Provenance {
    /// Runs per experiment, with how they ended.
    pub(crate) experiments: Vec<Ended>,
    /// Label and values, one line each.
    pub(crate) facts: Vec<(String, Vec<String>)>,
}

/// How the runs of an experiment ended.
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
    /// Gathers what all runs say about themselves.
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
        let named = |name: &str, hash: &str| {
            if name.is_empty() {
                None
            } else {
                Some(format!("{name} (SHA-256 {})", short(hash, 16)))
            }
        };
        let lines = [
            (
                "Code",
                distinct(all, |run| {
                    let commit = if run.row.code_commit.is_empty() {
                        "outside a checkout"
                    } else {
                        short(&run.row.code_commit, 12)
                    };
                    Some(format!(
                        "{commit}{}",
                        if run.row.code_dirty {
                            ", with uncommitted changes"
                        } else {
                            ""
                        }
                    ))
                }),
            ),
            (
                "Dataset",
                distinct(all, |run| named(&run.row.dataset, &run.row.dataset_hash)),
            ),
            (
                "Checkpoint",
                distinct(all, |run| named(&run.row.encoder, &run.row.checkpoint_hash)),
            ),
            (
                "Tokenizer",
                distinct(all, |run| named(&run.row.encoder, &run.row.tokenizer_hash)),
            ),
            (
                "Device",
                distinct(all, |run| {
                    let threads = counted(run.row.threads as usize, "thread");
                    Some(format!("{}, {}, {threads}", run.row.device, run.row.dtype))
                }),
            ),
            (
                "Parameters",
                distinct(all, |run| {
                    let model = if run.row.encoder.is_empty() {
                        return None;
                    } else {
                        &run.row.encoder
                    };
                    let (total, trainable) =
                        (count(run.row.params_total), count(run.row.params_trainable));
                    Some(format!("{model}: {total}, of which {trainable} trained"))
                }),
            ),
            (
                "Peak memory",
                all.iter()
                    .map(|run| run.row.peak_memory)
                    .max()
                    .filter(|&peak| peak > 0)
                    .map_or(vec![], |peak| {
                        vec![format!(
                            "{} GiB in the largest run",
                            fixed(peak as f64 / (1u64 << 30) as f64, 2)
                        )]
                    }),
            ),
            (
                "Went wrong",
                distinct(all, |run| {
                    (run.row.status != "ok").then(|| {
                        format!("{} ({}): {}", run.row.run_id, run.row.status, run.row.error)
                    })
                }),
            ),
        ];
        let facts = lines.into_iter().filter(|(_, values)| !values.is_empty());
        Self {
            experiments,
            facts: facts
                .map(|(label, values)| (label.to_owned(), values))
                .collect(),
        }
    }
}

/// `60 ok, 1 diverged`.
pub(crate) fn statuses(runs: &[&Run]) -> String {
    let mut statuses: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs {
        *statuses.entry(&run.row.status).or_default() += 1;
    }
    let parts: Vec<String> = statuses
        .iter()
        .map(|(status, n)| format!("{n} {status}"))
        .collect();
    parts.join(", ")
}

/// Training, which includes what caching took, and evaluation together.
pub(crate) fn time<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let seconds: f64 = runs
        .map(|run| run.row.train_seconds + run.row.eval_seconds)
        .sum();
    match seconds {
        ..60.0 => format!("{} seconds", fixed(seconds, 1)),
        ..3600.0 => format!("{} minutes", fixed(seconds / 60.0, 1)),
        _ => format!("{} hours", fixed(seconds / 3600.0, 2)),
    }
}

fn distinct(runs: &[Run], text: impl Fn(&Run) -> Option<String>) -> Vec<String> {
    runs.iter()
        .filter_map(text)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

fn short(hash: &str, length: usize) -> &str {
    hash.get(..length).unwrap_or(hash)
}
