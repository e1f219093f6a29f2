//! One side of a comparison, in a process of its own.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;

use super::Case;

/// A process that runs steps when asked.
pub struct Side {
    /// Name in tables.
    pub name: String,
    /// What runs, with versions.
    pub version: String,
    /// All that it said first.
    pub hello: Value,
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Side {
    /// This binary again, as a worker.
    pub fn ours(case: &Case) -> Result<Self> {
        let binary = std::env::current_exe().context("this program cannot be found")?;
        let mut command = Command::new(binary);
        let threads = case.threads.to_string();
        command.args(["--threads", &threads, "--device", "cpu", "bench", "worker"]);
        Self::start("totune", command, case, case.threads)
    }

    /// This binary again with `globals`, as the worker called `command`.
    pub fn worker(
        name: &str,
        globals: &[OsString],
        command: &str,
        case: &impl Serialize,
        threads: usize,
    ) -> Result<Self> {
        let binary = std::env::current_exe().context("this program cannot be found")?;
        let mut process = Command::new(binary);
        process.args(globals).args(["bench", command]);
        Self::start(name, process, case, threads)
    }

    /// This binary again, as a worker of the comparison of reading.
    pub fn data(name: &str, case: &impl Serialize, threads: usize) -> Result<Self> {
        let binary = std::env::current_exe().context("this program cannot be found")?;
        let mut command = Command::new(binary);
        command.args(["bench", "data-worker"]);
        Self::start(name, command, case, threads)
    }

    /// The peer script under `python`.
    pub fn python(
        name: &str,
        python: &Path,
        script: &Path,
        case: &impl Serialize,
        threads: usize,
    ) -> Result<Self> {
        let mut command = Command::new(python);
        command.arg(script);
        Self::start(name, command, case, threads)
    }

    fn start(
        name: &str,
        mut command: Command,
        case: &impl Serialize,
        threads: usize,
    ) -> Result<Self> {
        command
            .arg(serde_json::to_string(case)?)
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
            hello: Value::Null,
            process,
            input,
            output,
        };
        let hello = side.read()?;
        side.version = hello["version"].as_str().unwrap_or_default().to_string();
        side.hello = hello;
        Ok(side)
    }

    /// Runs `steps` steps; seconds of each.
    pub fn run(&mut self, steps: usize) -> Result<Vec<f64>> {
        let input = self.input.as_mut().context("the process was ended")?;
        writeln!(input, "{steps}")
            .and_then(|()| input.flush())
            .with_context(|| format!("{}: ended early", self.name))?;
        let answer = self.read()?;
        let seconds: Vec<f64> = answer["seconds"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect();
        ensure!(
            seconds.len() == steps,
            "{}: asked for {steps} steps, got {}",
            self.name,
            seconds.len()
        );
        Ok(seconds)
    }

    /// Ends the process; what it says last, with its `peak_memory` in bytes.
    pub fn finish(mut self) -> Result<Value> {
        self.input = None; // closing the pipe is the signal to end
        let answer = self.read()?;
        self.process.wait()?;
        Ok(answer)
    }

    fn read(&mut self) -> Result<Value> {
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

/// Runs `steps` steps on each side, `chunk` at a time, so that what disturbs the machine for a while disturbs all of
/// them; the seconds of each step, side by side.
pub fn alternate(sides: &mut [Side], steps: usize, chunk: usize) -> Result<Vec<Vec<f64>>> {
    let mut seconds = vec![Vec::with_capacity(steps); sides.len()];
    let mut done = 0;
    while done < steps {
        let n = chunk.clamp(1, steps - done);
        for (side, seconds) in sides.iter_mut().zip(&mut seconds) {
            seconds.extend(side.run(n)?);
        }
        done += n;
    }
    Ok(seconds)
}
