//! One side of a comparison, in a process of its own.
//!
//! The process is started with its case as JSON and says `{"version": …}` when it is ready. For each line `N` on standard
//! input it takes N steps and answers `{"seconds": […]}`; at the end of input it says
//! `{"peak_memory": bytes, "values": […], "facts": {…}, "operators": {…}}`. `bench/side.py` is the other end in Python, [`crate::worker`] ours.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use totune_model::fused::Calls;

/// A process that takes steps on request.
pub struct Side {
    /// Name in tables.
    pub name: String,
    /// The program, with versions.
    pub version: String,
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The first message of a side.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The program, with versions.
    pub version: String,
}

/// A side's answer to a request for steps.
#[derive(Debug, Serialize, Deserialize)]
pub struct Timings {
    /// Seconds of each step.
    pub seconds: Vec<f64>,
}

/// The last message of a side.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LastWords {
    /// Peak resident memory in bytes.
    pub peak_memory: u64,
    /// The computed values, to be compared with those of other sides.
    #[serde(default)]
    pub values: Vec<f64>,
    /// Other numbers for the table, by the heading of their column.
    #[serde(default)]
    pub facts: BTreeMap<String, f64>,
    /// Operators that LibTorch dispatched in the last step, where they are counted.
    #[serde(default)]
    pub operators: BTreeMap<String, Calls>,
}

impl Side {
    /// Starts `command` with `threads` for OpenMP; its case is its last argument.
    ///
    /// # Errors
    /// When it does not start, or ends without a word.
    pub fn start(name: &str, mut command: Command, threads: usize) -> Result<Self> {
        command
            .env("OMP_NUM_THREADS", threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command
            .spawn()
            .with_context(|| format!("{name}: {:?} cannot be started", command.get_program()))?;
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().context("no standard output")?);
        let mut side = Self {
            name: name.to_string(),
            version: String::new(),
            process,
            input,
            output,
        };
        side.version = side.read::<Hello>()?.version;
        Ok(side)
    }

    /// Takes `steps` steps; seconds of each.
    ///
    /// # Errors
    /// When the process ended or answered with another number of steps.
    pub fn run(&mut self, steps: usize) -> Result<Vec<f64>> {
        let input = self.input.as_mut().context("the process was ended")?;
        writeln!(input, "{steps}")
            .and_then(|()| input.flush())
            .with_context(|| format!("{}: ended early", self.name))?;
        let Timings { seconds } = self.read()?;
        ensure!(
            seconds.len() == steps,
            "{}: found {} steps, expected {steps}",
            self.name,
            seconds.len()
        );
        Ok(seconds)
    }

    /// Megabytes of GPU memory that the driver counts for the process; `None` where it cannot be asked.
    pub fn gpu_memory(&self) -> Option<f64> {
        let mut ask = Command::new("nvidia-smi");
        ask.args([
            "--query-compute-apps=pid,used_memory",
            "--format=csv,noheader,nounits",
        ]);
        let answer = ask.output().ok()?;
        used_memory(&String::from_utf8_lossy(&answer.stdout), self.process.id())
    }

    /// Ends the process, and returns its last message.
    ///
    /// # Errors
    /// When it says nothing.
    pub fn finish(mut self) -> Result<LastWords> {
        self.input = None; // closing the pipe is the signal to end
        let answer = self.read()?;
        self.process.wait()?;
        Ok(answer)
    }

    fn read<T: DeserializeOwned>(&mut self) -> Result<T> {
        let mut line = String::new();
        let n = self
            .output
            .read_line(&mut line)
            .with_context(|| format!("{}: cannot be read", self.name))?;
        ensure!(n > 0, "{}: ended without an answer", self.name);
        serde_json::from_str(&line)
            .with_context(|| format!("{}: said `{}`", self.name, line.trim()))
    }
}

/// The memory of process `id` in lines `id, MiB`, in megabytes.
fn used_memory(answer: &str, id: u32) -> Option<f64> {
    let of_process = answer.lines().find_map(|line| {
        let (found, memory) = line.split_once(',')?;
        (found.trim().parse() == Ok(id)).then(|| memory.trim().to_string())
    });
    let mebibytes: f64 = of_process?.parse().ok()?;
    Some(mebibytes * 1.048_576)
}

impl Drop for Side {
    /// Closes the pipe, so that no process is left waiting for a request when a comparison fails.
    fn drop(&mut self) {
        self.input = None;
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_process_is_found_among_those_of_others() {
        let answer = "11, 512\n 7, 1024\n13, [N/A]\n";
        assert_eq!(used_memory(answer, 7), Some(1073.741824));
        assert_eq!(used_memory(answer, 13), None);
        assert_eq!(used_memory(answer, 8), None);
        assert_eq!(used_memory("", 7), None);
    }
}
