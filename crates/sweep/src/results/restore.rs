//! Restores run folders from collected tables, so that a sweep continues where its `runs/` folder is missing, as on
//! another machine.

use std::collections::HashMap;

use anyhow::Result;
use totune_record::Tables;

use crate::{Places, State};

/// Summary of a restoration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// Number of run folders written.
    pub written: usize,
    /// Number of collected runs that the store had already, finished or in progress.
    pub kept: usize,
}

/// Writes the folder of each run in `results/<paper>/<profile>/` that the store lacks.
///
/// A restored run has its rows and spec, and neither a log nor the facts from the cards, which are not collected: whether
/// it is stale is judged by the hashes in its row. Runs that have ended or that a process owns stay as they are.
///
/// # Errors
/// When the tables cannot be read or a folder cannot be written.
pub fn restore(places: Places, paper: &str, profile: &str) -> Result<Restored> {
    let Places { project, store, .. } = places;
    let tables = Tables::read(&project.results(paper, profile))?;
    let mut restored = Restored {
        written: 0,
        kept: 0,
    };
    for (id, run) in by_run(tables) {
        let (state, _) = store.state(&id);
        let is_lacking = matches!(state, State::Missing | State::Interrupted);
        if is_lacking && store.put_back(&id, &run)? {
            restored.written += 1;
        } else {
            restored.kept += 1;
        }
    }
    Ok(restored)
}

/// The tables of each run, by id.
fn by_run(tables: Tables) -> HashMap<String, Tables> {
    let mut runs: HashMap<String, Tables> = HashMap::with_capacity(tables.runs.len());
    let Tables {
        runs: rows,
        evals,
        predictions,
    } = tables;
    for row in rows {
        runs.entry(row.run_id.clone()).or_default().runs.push(row);
    }
    for row in evals {
        runs.entry(row.run_id.clone()).or_default().evals.push(row);
    }
    for row in predictions {
        let of_run = runs.entry(row.run_id.clone()).or_default();
        of_run.predictions.push(row);
    }
    runs
}
