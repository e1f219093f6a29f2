//! SLURM's commands.

use std::path::Path;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::Job;
use crate::listing::{SACCT, SQUEUE, accounted, queued};

/// SLURM as its commands on the search path reach it.
#[derive(Debug, Clone)]
pub struct Slurm {
    /// Pause before the queue is searched for a job whose submission failed.
    pub pause: Duration,
}

impl Default for Slurm {
    fn default() -> Self {
        Self {
            pause: Duration::from_secs(5),
        }
    }
}

/// Times the queue is searched for a job after its submission failed: it may appear late.
const SEARCHES: usize = 3;

impl Slurm {
    /// Submits a script named `name`, after the jobs `after` have ended in whatever way; returns its id.
    ///
    /// `sbatch` may report an error although the job was accepted, so the job is looked for by its name, which no other
    /// job has.
    ///
    /// # Errors
    /// When SLURM refuses, with its own words, or is not there.
    pub fn submit(&self, script: &Path, name: &str, after: &[String]) -> Result<String> {
        let mut command = Command::new("sbatch");
        command.arg("--parsable");
        if !after.is_empty() {
            command.arg(format!("--dependency=afterany:{}", after.join(":")));
        }
        let output = call(command.arg(script))?;
        if let Some(id) = submitted(&text(&output.stdout)).filter(|_| output.status.success()) {
            return Ok(id);
        }
        for _ in 0..SEARCHES {
            sleep(self.pause);
            if let Some(id) = self.find(name)? {
                return Ok(id);
            }
        }
        bail!("{}: sbatch refuses it: {}", script.display(), said(&output))
    }

    /// Id of the job or array with this name, if it is in the queue.
    fn find(&self, name: &str) -> Result<Option<String>> {
        let mut command = Command::new("squeue");
        let name = format!("--name={name}");
        let output = call(command.args(["--noheader", "--format", SQUEUE, &name]))?;
        let jobs = queued(&text(&output.stdout));
        Ok(jobs.first().map(|job| job.array().to_string()))
    }

    /// Looks jobs up by their ids: those of the queue, then those that only the accounting has.
    ///
    /// `squeue` forgets a job some minutes after its end, so a job that is missing is unknown; accounting may be switched
    /// off, which is no error here. The second result says if accounting answered.
    ///
    /// # Errors
    /// When `squeue` is missing or does not answer.
    pub fn jobs(&self, ids: &[String]) -> Result<(Vec<Job>, bool)> {
        if ids.is_empty() {
            return Ok((Vec::new(), true));
        }
        let mut squeue = Command::new("squeue");
        // Without ids, since one that was forgotten makes it forget all.
        let output = call(squeue.args(["--noheader", "--me", "--format", SQUEUE]))?;
        if !output.status.success() {
            bail!("squeue: {}", said(&output));
        }
        let mut jobs = queued(&text(&output.stdout));
        jobs.retain(|job| ids.iter().any(|id| id == job.array()));
        let mut sacct = Command::new("sacct");
        sacct.args(["--allocations", "--noheader", "--parsable2", "--duplicates"]);
        // Without a beginning it would be midnight.
        sacct.args([
            "--starttime",
            "now-60days",
            "--jobs",
            &ids.join(","),
            "--format",
            SACCT,
        ]);
        let Ok(output) = call(&mut sacct) else {
            return Ok((jobs, false));
        };
        let known: Vec<String> = jobs.iter().map(|job| job.id.clone()).collect();
        let ended = accounted(&text(&output.stdout)).into_iter();
        let is_new = |job: &Job| !known.contains(&job.id) && !job.id.contains('[');
        jobs.extend(ended.filter(is_new));
        Ok((jobs, output.status.success()))
    }

    /// Cancels jobs; those that have ended are left out by SLURM.
    pub fn cancel(&self, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let output = call(Command::new("scancel").args(ids))?;
        // An id that was forgotten is an error to scancel; here it is a job that has ended.
        if !output.status.success() && !said(&output).contains("Invalid job id") {
            bail!("scancel {}: {}", ids.join(" "), said(&output));
        }
        Ok(())
    }

    /// Greatest number of a task of an array; a usual one where SLURM does not say.
    pub fn max_task(&self) -> Result<usize> {
        let output = call(Command::new("scontrol").args(["show", "config"]))?;
        let config = text(&output.stdout);
        let mut lines = config.lines().filter_map(|line| line.split_once('='));
        let size = lines.find(|(key, _)| key.trim() == "MaxArraySize");
        let size = size.and_then(|(_, size)| size.trim().parse::<usize>().ok());
        // Numbers lie below the size.
        Ok(size.unwrap_or(1001).saturating_sub(1).max(1))
    }
}

/// Runs a command of SLURM to its end.
fn call(command: &mut Command) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().with_context(|| {
        format!("{name}: cannot be started; expected SLURM's commands on the search path")
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The words of a command that failed.
fn said(output: &Output) -> String {
    let (error, out) = (text(&output.stderr), text(&output.stdout));
    let words = if error.trim().is_empty() { out } else { error };
    let words = words.trim().replace('\n', "; ");
    if words.is_empty() {
        return output.status.to_string();
    }
    words
}

/// The id in the output of `sbatch --parsable`: the last line that is a number, perhaps with `;cluster` behind it.
fn submitted(text: &str) -> Option<String> {
    let id = |line: &str| {
        let id = line.trim().split(';').next()?;
        let is_number = !id.is_empty() && id.chars().all(|c| c.is_ascii_digit());
        is_number.then(|| id.to_string())
    };
    text.lines().rev().find_map(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_the_last_line_that_is_one() {
        for (text, id) in [
            ("123\n", Some("123")),
            ("123;cluster\n", Some("123")),
            ("Your budget: 12 hours\n123\n", Some("123")),
            ("sbatch: lua: hello\n77;east\nthank you\n", Some("77")),
            ("", None),
            ("Submitted batch job 5\n", None),
        ] {
            assert_eq!(submitted(text).as_deref(), id, "{text:?}");
        }
    }
}
