//! Our side of the epochs: one run of the training loop that pauses until steps are requested.

use std::collections::BTreeMap;
use std::io::{BufRead, StdinLock};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use totune_adapt::{Examples, StepEvent, Stop, Watch};
use totune_sweep::{Environment, Inputs, Prepared, RunSpec};

use super::grid::BATCH;
use crate::side::{Hello, Timings};
use crate::worker::{Worker, last_words, say};

/// The case of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub struct Case {
    /// The run.
    pub spec: RunSpec,
    /// Folder with cached activations.
    pub activations: PathBuf,
}

/// Prepares the run, fills the cache if the run has one, says hello, and takes the number of steps on each line of
/// standard input.
pub fn work(case: &Case, worker: &Worker) -> Result<()> {
    let machine = &worker.machine;
    let environment = Environment {
        project: &worker.project,
        roots: &worker.roots,
        machine,
    };
    let inputs = Inputs::open(environment, [&case.spec], &case.activations)?;
    let prepare = || inputs.prepare(&case.spec)?.context("interrupted");
    warm_up(prepare()?)?;
    let run = prepare()?;
    let facts = filled(&run.task.train);
    say(&Hello {
        version: machine.device_name.clone(),
    })?;
    let cached = run.task.train.cached.iter();
    let mut paced = Paced {
        lines: std::io::stdin().lock(),
        wanted: 0,
        seconds: Vec::new(),
        seen: cached.map(|kept| kept.activations.seconds()).sum(),
        waited: 0.0,
    };
    if !paced.wait() {
        return say(&last_words(Vec::new(), facts));
    }
    let found = run.fit(&mut paced)?;
    if found.stop == Stop::Interrupted {
        return say(&last_words(Vec::new(), BTreeMap::new()));
    }
    let scores = found.scores.iter().map(|score| score.value);
    let predictions = found.predictions.iter();
    let probabilities =
        predictions.flat_map(|prediction| prediction.scores.iter().map(|&p| f64::from(p)));
    say(&last_words(scores.chain(probabilities).collect(), facts))
}

/// Seconds of filling the cache with the training examples, and its size.
fn filled(train: &Examples) -> BTreeMap<String, f64> {
    let mut facts = BTreeMap::new();
    for kept in &train.cached {
        let (seconds, bytes) = (kept.activations.seconds(), kept.activations.n_bytes());
        *facts.entry("fill s".to_string()).or_default() += seconds;
        *facts.entry("cache MB".to_string()).or_default() += bytes as f64 / 1e6;
    }
    facts
}

/// A few steps of a run that is thrown away.
fn warm_up(mut run: Prepared) -> Result<()> {
    run.task.train = first(&run.task.train, 4 * BATCH);
    run.task.test = first(&run.task.test, BATCH);
    run.training.epochs = 1;
    run.fit(&mut ())?;
    Ok(())
}

/// The first `n` examples.
fn first(examples: &Examples, n: usize) -> Examples {
    let n = n.min(examples.len());
    examples.part(&(0..n).collect::<Vec<_>>())
}

/// A watch that pauses between two steps until more are requested.
struct Paced<'a> {
    lines: StdinLock<'a>,
    /// Steps of this request.
    wanted: usize,
    /// Seconds of each step taken since it came.
    seconds: Vec<f64>,
    /// Seconds of training at the last step.
    seen: f64,
    /// Seconds slept since then.
    waited: f64,
}

impl Paced<'_> {
    /// Sleeps until a request comes; whether one did.
    fn wait(&mut self) -> bool {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line);
        self.wanted = line.trim().parse().unwrap_or(0);
        read.is_ok() && self.wanted > 0
    }
}

impl Watch for Paced<'_> {
    fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
        self.seconds
            .push(event.train_seconds - self.seen - self.waited);
        (self.seen, self.waited) = (event.train_seconds, 0.0);
        if self.seconds.len() < self.wanted {
            return ControlFlow::Continue(());
        }
        let seconds = std::mem::take(&mut self.seconds);
        let asleep = Instant::now();
        let heard = say(&Timings { seconds }).is_ok() && self.wait();
        self.waited = asleep.elapsed().as_secs_f64();
        if !heard && event.step < event.steps {
            // The other side has all it needs, or is gone.
            return ControlFlow::Break(());
        }
        if !heard {
            self.wanted = usize::MAX;
        }
        ControlFlow::Continue(())
    }
}
