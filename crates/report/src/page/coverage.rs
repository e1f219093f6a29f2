//! What the groups of a page find among rows, such as those of a plan that was never run.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use totune_evidence::select::runs::Runs;
use totune_record::{RunRow, Tables};

use crate::report_file::ReportFile;

/// A group that is made of other groups' answers has runs only where these have scores.
const ENSEMBLE_KEYS: [&str; 2] = ["ensemble", "ensemble-rule"];

/// How many of `rows` each group of `experiments/<paper>/report.toml` selects on each of its tasks, and under `""` on any
/// dataset; groups of ensembles are left out.
pub fn selected(
    project_root: &Path,
    paper: &str,
    rows: Vec<RunRow>,
) -> Result<BTreeMap<String, BTreeMap<String, usize>>> {
    let shown = format!("experiments/{paper}/report.toml");
    let plan = ReportFile::read(&project_root.join(&shown), &shown)?;
    let runs = Runs::new(Tables {
        runs: rows,
        ..Tables::default()
    })?;
    let mut selected = BTreeMap::new();
    for (name, group) in &plan.groups {
        let conditions = &group.conditions;
        if ENSEMBLE_KEYS
            .iter()
            .any(|key| conditions.contains_key(*key))
        {
            continue;
        }
        let from = format!("{shown}: group `{name}`");
        let mut by_task = BTreeMap::new();
        by_task.insert(String::new(), runs.select(conditions, &from)?.runs.len());
        for (task, of) in &plan.tasks {
            let conditions = group.narrowed([&of.conditions()]);
            by_task.insert(task.clone(), runs.select(&conditions, &from)?.runs.len());
        }
        selected.insert(name.clone(), by_task);
    }
    Ok(selected)
}
