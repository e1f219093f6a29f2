//! Our sides: processes that take steps on request, by lines on standard input, see [`crate::side`].

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use totune_sweep::{Machine, Project, Roots};

use crate::side::{Hello, LastWords, Timings};

/// The settings of a worker, from the command line.
pub struct Worker {
    /// The checkout.
    pub project: Project,
    /// The folders of datasets and encoders.
    pub roots: Roots,
    /// Device and threads.
    pub machine: Machine,
}

/// Sends `version`; then for each number on standard input takes as many steps and sends the seconds of each, until the
/// input ends; then the `values` of the last step.
pub fn answer(version: &str, step: impl FnMut() -> Result<Vec<f64>>) -> Result<()> {
    answer_with(version, step, |values| last_words(values, BTreeMap::new()))
}

/// Does the same as [`answer`], and makes the last message from the values of the last step with `last`.
pub fn answer_with<T>(
    version: &str,
    mut step: impl FnMut() -> Result<T>,
    last: impl FnOnce(T) -> LastWords,
) -> Result<()>
where
    T: Default,
{
    say(&Hello {
        version: version.to_string(),
    })?;
    let mut values = T::default();
    for line in std::io::stdin().lock().lines() {
        let n: usize = line?.trim().parse().context("not a number of steps")?;
        let mut seconds = Vec::with_capacity(n);
        for _ in 0..n {
            let start = Instant::now();
            values = step()?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        say(&Timings { seconds })?;
    }
    say(&last(values))
}

/// The last message of a worker.
pub fn last_words(values: Vec<f64>, facts: BTreeMap<String, f64>) -> LastWords {
    LastWords {
        peak_memory: totune_sweep::peak_memory(),
        values,
        facts,
        ..LastWords::default()
    }
}

/// Prints a line of JSON and flushes it.
pub fn say(value: &impl Serialize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(value)?)?;
    Ok(out.flush()?)
}
