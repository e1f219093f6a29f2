//! States of jobs as SLURM writes them, and their meaning for work that can be continued.

use std::fmt;

use serde::{Serialize, Serializer};

/// State of a job as `squeue` or `sacct` writes it: the first word, without what follows, as in `CANCELLED by 1000`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobState(String);

/// Meaning of a state for the work of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// At work.
    Running,
    /// Will start by itself.
    Queued,
    /// Waits for somebody to release it.
    Held,
    /// Lost its node or its turn; SLURM starts it again unless it is told not to.
    Interrupted,
    /// Reached its time limit.
    TimedOut,
    /// Ended with an error, or was cancelled.
    Failed,
    /// Ended without an error, which says nothing about its runs.
    Ended,
    /// Not known to this version.
    Unknown,
}

impl JobState {
    /// Reads a state; whatever is written is kept.
    pub fn read(text: &str) -> Self {
        let first = text.split_whitespace().next().unwrap_or_default();
        Self(first.trim_end_matches('+').to_string())
    }

    /// Meaning of the state.
    pub fn meaning(&self) -> Meaning {
        match self.0.as_str() {
            "PENDING" | "CONFIGURING" | "REQUEUED" | "RESIZING" | "EXPEDITING" => Meaning::Queued,
            "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "STAGE_OUT" => {
                Meaning::Running
            }
            "REQUEUE_HOLD" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => Meaning::Held,
            "PREEMPTED" | "NODE_FAIL" | "BOOT_FAIL" | "LAUNCH_FAILED" => Meaning::Interrupted,
            "TIMEOUT" | "DEADLINE" => Meaning::TimedOut,
            "FAILED" | "OUT_OF_MEMORY" | "CANCELLED" => Meaning::Failed,
            "COMPLETED" => Meaning::Ended,
            _ => Meaning::Unknown,
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for JobState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_they_are_written() {
        for (text, state, meaning) in [
            ("RUNNING", "RUNNING", Meaning::Running),
            ("PENDING", "PENDING", Meaning::Queued),
            ("CANCELLED by 1000", "CANCELLED", Meaning::Failed),
            ("CANCELLED+", "CANCELLED", Meaning::Failed),
            ("TIMEOUT", "TIMEOUT", Meaning::TimedOut),
            ("NODE_FAIL", "NODE_FAIL", Meaning::Interrupted),
            ("REQUEUE_HOLD", "REQUEUE_HOLD", Meaning::Held),
            ("COMPLETED", "COMPLETED", Meaning::Ended),
            ("A_STATE_OF_2030", "A_STATE_OF_2030", Meaning::Unknown),
            ("", "", Meaning::Unknown),
        ] {
            let read = JobState::read(text);
            assert_eq!(
                (read.to_string().as_str(), read.meaning()),
                (state, meaning)
            );
        }
    }
}
