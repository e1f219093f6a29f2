//! Jobs in the output of `squeue` and `sacct`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::JobState;

/// A job, or one task of an array, as the scheduler lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Job {
    /// Id: `12`, `12_3`, or `12_[4-9]` for tasks of an array that wait.
    pub id: String,
    /// State.
    pub state: JobState,
    /// Nodes; empty while it waits.
    pub nodes: String,
    /// Reason of waiting, or exit code.
    pub why: String,
}

impl Job {
    /// Id of the job or array without the task.
    pub fn array(&self) -> &str {
        self.id.split('_').next().unwrap_or_default()
    }
}

/// Columns of `squeue` that [`queued`] reads.
pub(crate) const SQUEUE: &str = "%i|%T|%N|%r";

/// Jobs in the output of `squeue --noheader --format=%i|%T|%N|%r`.
pub(crate) fn queued(text: &str) -> Vec<Job> {
    let jobs = text.lines().filter_map(|line| {
        let [id, state, nodes, why] = columns(line)?;
        let why = if why == "None" { "" } else { why };
        is_id(id).then(|| job(id, state, nodes, why))
    });
    jobs.collect()
}

/// Columns of `sacct` that [`accounted`] reads.
pub(crate) const SACCT: &str = "JobID,State,NodeList,ExitCode,Submit";

/// Jobs in the output of `sacct --noheader --parsable2 --format=JobID,State,NodeList,ExitCode,Submit`.
///
/// A job that was requeued has several lines; the one that was submitted last counts. Steps are left out.
pub(crate) fn accounted(text: &str) -> Vec<Job> {
    let mut jobs: BTreeMap<&str, (&str, Job)> = BTreeMap::new();
    for line in text.lines() {
        let Some([id, state, nodes, code, submitted]) = columns(line) else {
            continue;
        };
        if !is_id(id) || id.contains('.') {
            continue;
        }
        let nodes = if nodes == "None assigned" { "" } else { nodes };
        let code = match code {
            "0:0" => String::new(),
            code => format!("exit code {code}"),
        };
        // Dates are written in one form, in which the later one is the greater text.
        if jobs.get(id).is_none_or(|(before, _)| *before <= submitted) {
            jobs.insert(id, (submitted, job(id, state, nodes, &code)));
        }
    }
    jobs.into_values().map(|(_, job)| job).collect()
}

fn job(id: &str, state: &str, nodes: &str, why: &str) -> Job {
    Job {
        id: id.to_string(),
        state: JobState::read(state),
        nodes: nodes.to_string(),
        why: why.to_string(),
    }
}

fn columns<const N: usize>(line: &str) -> Option<[&str; N]> {
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    columns.try_into().ok()
}

/// Whether a text begins as the id of a job does; sites add lines of their own to any output.
fn is_id(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(jobs: &[Job]) -> Vec<(String, String)> {
        let each = jobs.iter();
        each.map(|job| (job.id.clone(), job.state.to_string()))
            .collect()
    }

    #[test]
    fn a_queue_has_tasks_and_folded_tasks() {
        let text = "\
Welcome to the cluster
12_1|RUNNING|node-3|None
12_[4-9,11%2]|PENDING||Priority
13|PENDING||Dependency
";
        let jobs = queued(text);
        assert_eq!(jobs.len(), 3);
        assert_eq!(
            (jobs[0].nodes.as_str(), jobs[0].why.as_str()),
            ("node-3", "")
        );
        assert_eq!((jobs[1].array(), jobs[1].why.as_str()), ("12", "Priority"));
        assert_eq!(jobs[2].array(), "13");
        assert_eq!(queued(""), []);
        assert_eq!(
            queued("slurm_load_jobs error: Invalid job id specified"),
            []
        );
    }

    #[test]
    fn of_a_requeued_job_the_last_start_counts() {
        let text = "\
12_1|NODE_FAIL|node-3|0:0|2026-11-23T10:00:00
12_1|RUNNING|node-4|0:0|2026-11-23T10:10:00
12_1.batch|RUNNING|node-4|0:0|2026-11-23T10:10:00
12_2|CANCELLED by 1000|None assigned|0:0|2026-11-23T10:00:00
12_3|FAILED|node-3|2:0|2026-11-23T10:00:00
";
        let jobs = accounted(text);
        let expected = [
            ("12_1", "RUNNING"),
            ("12_2", "CANCELLED"),
            ("12_3", "FAILED"),
        ];
        let expected = expected.map(|(id, state)| (id.to_string(), state.to_string()));
        assert_eq!(ids(&jobs), expected);
        assert_eq!(jobs[0].nodes, "node-4");
        assert_eq!(jobs[1].nodes, "");
        assert_eq!(jobs[2].why, "exit code 2:0");
    }
}
