//! The owner of a lease: a process, and how to know that it has ended.

use std::fs;

use serde::{Deserialize, Serialize};

/// Owner of a run folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub pid: u32,
    pub host: String,
    /// Start of the process in the kernel's ticks since boot, and the boot: a pid that was used again differs.
    pub start: String,
    /// The namespace of the pid, since containers with the same kernel and name of the host count processes apart.
    pub namespace: String,
    /// Job of the scheduler, such as `slurm 1234_7`; empty outside of one.
    pub job: String,
}

impl Owner {
    /// This process.
    pub fn this() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            host: host(),
            start: start_token(pid).unwrap_or_default(),
            namespace: namespace(),
            job: job(|name| std::env::var(name).ok()),
        }
    }

    /// Whether the owner still runs; `None` where that cannot be known, as on another host.
    pub fn alive(&self) -> Option<bool> {
        let near = self.host == host() && self.namespace == namespace() && !self.start.is_empty();
        near.then(|| start_token(self.pid).is_some_and(|start| start == self.start))
    }

    /// Formats the owner for people: `process 17 on node-3, slurm 1234_7`.
    pub fn describe(&self) -> String {
        let job = match self.job.as_str() {
            "" => String::new(),
            job => format!(", {job}"),
        };
        format!("process {} on {}{job}", self.pid, self.host)
    }
}

/// The job that the scheduler's variables name.
fn job(variable: impl Fn(&str) -> Option<String>) -> String {
    let array = variable("SLURM_ARRAY_JOB_ID").zip(variable("SLURM_ARRAY_TASK_ID"));
    match (array, variable("SLURM_JOB_ID")) {
        (Some((array, task)), _) => format!("slurm {array}_{task}"),
        (None, Some(job)) => format!("slurm {job}"),
        (None, None) => String::new(),
    }
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| fs::read_to_string("/etc/hostname"));
    name.map(|name| name.trim().to_string()).unwrap_or_default()
}

fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid");
    link.map(|link| link.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The boot and the moment within it at which a process started; `None` when there is no such process (or no /proc).
fn start_token(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name, in parentheses, may hold spaces; the start is the 22nd field, the 20th after it.
    let after_name = &stat[stat.rfind(')')? + 1..];
    let start = after_name.split_whitespace().nth(19)?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{}:{start}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_host_knows_whether_an_owner_lives() {
        assert_eq!(Owner::this().alive(), Some(true));
        let earlier = Owner {
            start: "an earlier boot".to_string(),
            ..Owner::this()
        };
        assert_eq!(earlier.alive(), Some(false));
        let elsewhere = Owner {
            host: "elsewhere".to_string(),
            ..earlier.clone()
        };
        assert_eq!(elsewhere.alive(), None);
        let in_a_container = Owner {
            namespace: "pid:[1]".to_string(),
            ..earlier
        };
        assert_eq!(in_a_container.alive(), None);
    }

    #[test]
    fn a_task_of_an_array_is_named_by_the_array() {
        let variables = [
            ("SLURM_JOB_ID", "12"),
            ("SLURM_ARRAY_JOB_ID", "9"),
            ("SLURM_ARRAY_TASK_ID", "3"),
        ];
        let known = |count: usize| {
            let known = variables[..count].to_vec();
            move |name: &str| {
                let found = known.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.to_string())
            }
        };
        assert_eq!(job(known(0)), "");
        assert_eq!(job(known(1)), "slurm 12");
        assert_eq!(job(known(3)), "slurm 9_3");
    }
}
