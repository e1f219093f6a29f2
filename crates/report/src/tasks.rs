//! Tasks that have runs: while a grid is being made, means over tasks leave out those that have none.

use anyhow::Result;
use totune_evidence::plan::{Side, Task, Where};
use totune_evidence::select::panel::TaskRuns;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::joined;

use crate::notes::{NOT_RUN, YET};

/// The tasks on which one of `groups` has a run that meets `conditions`, and the others. Where none has a run, the first
/// are all.
pub(crate) fn with_runs<'a, 'g>(
    groups: impl Iterator<Item = &'g String>,
    tasks: Vec<&'a Task>,
    conditions: &Where,
    scope: &Scope<'_>,
) -> Result<(Vec<&'a Task>, Vec<&'a Task>)> {
    let mut has_runs = vec![false; tasks.len()];
    for name in groups {
        let side = Side::One(name.clone());
        for (has, task) in has_runs.iter_mut().zip(&tasks) {
            let found = TaskRuns::of(&side, task, conditions, scope)?;
            *has |= found.all().next().is_some();
        }
    }
    if !has_runs.contains(&true) {
        return Ok((tasks, Vec::new()));
    }
    let of = |wanted: bool| {
        let tasks = tasks.iter().zip(&has_runs);
        let tasks = tasks.filter(|(_, has)| **has == wanted);
        tasks.map(|(task, _)| *task).collect()
    };
    Ok((of(true), of(false)))
}

/// A note on tasks that are left out, because `what` is missing there.
pub(crate) fn left_out(what: &str, tasks: &[&Task]) -> Option<String> {
    let titles: Vec<&str> = tasks.iter().map(|task| task.title.as_str()).collect();
    (!titles.is_empty()).then(|| {
        format!(
            "Without {what} yet, and left out here: {}",
            titles.join(", ")
        )
    })
}

/// Tasks on which a group has no run.
#[derive(Debug, Default)]
pub(crate) struct Missing<'a> {
    /// Its runs are still to be made.
    pending: Vec<&'a str>,
    /// Nobody asks for them.
    unasked: Vec<&'a str>,
}

impl<'a> Missing<'a> {
    /// Adds a task; `is_pending` if runs on it are still to be made.
    pub(crate) fn add(&mut self, task: &'a Task, is_pending: bool) {
        let without = if is_pending {
            &mut self.pending
        } else {
            &mut self.unasked
        };
        without.push(&task.title);
    }

    /// Notes on them, which `notes::merged` merges with those of other groups.
    pub(crate) fn notes(&self, group: &str) -> impl Iterator<Item = String> {
        let kinds = [(YET, &self.pending), (NOT_RUN, &self.unasked)];
        let kinds = kinds.into_iter().filter(|(_, tasks)| !tasks.is_empty());
        kinds.map(move |(words, tasks)| format!("{group}{words}{}", joined(tasks)))
    }
}
