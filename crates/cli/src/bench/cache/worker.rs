//! Our side: one run of the training loop that goes on when it is asked to.

use std::io::{BufRead, StdinLock, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use totune_adapt::{Examples, KeptExamples, Prediction, Score, StepEvent, TaskData, Watch};
use totune_sweep::{Inputs, Prepared, RunSpec};

use super::grid::BATCH;
use crate::context::Context;

/// What a worker runs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Case {
    /// The run.
    pub spec: RunSpec,
    /// Folder with kept states.
    pub states: PathBuf,
}

/// What was kept before the run began.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kept {
    /// Of which part of the data.
    pub split: String,
    /// Where passes begin.
    pub start: String,
    /// Examples.
    pub examples: usize,
    /// Seconds it took to compute them.
    pub seconds: f64,
    /// Bytes they take.
    pub bytes: u64,
}

/// Prepares the run, fills the cache if it is asked for and not filled, says so, and takes as many steps as each line
/// on standard input says.
pub fn worker(case: &str, context: &Context) -> Result<()> {
    let case: Case = serde_json::from_str(case).context("not a case")?;
    let machine = context.machine()?;
    let inputs = Inputs::open(
        &context.project,
        &context.roots,
        [&case.spec],
        &machine,
        &case.states,
    )?;
    warm_up(inputs.prepare(&case.spec)?, &machine.device)?;
    let run = inputs.prepare(&case.spec)?;
    let train = &run.task.train;
    say(&json!({
        "version": machine.device_name,
        "kept": kept(&run.task),
        "examples": train.len(),
        "tokens": train.rows.iter().map(|row| row.ids.len()).sum::<usize>(),
        "steps": train.len().div_ceil(BATCH),
    }))?;
    let seen = train
        .kept
        .iter()
        .map(|kept| kept.activations.seconds())
        .sum();
    let mut paced = Paced {
        lines: std::io::stdin().lock(),
        wanted: 0,
        seconds: Vec::new(),
        seen,
        waited: 0.0,
    };
    if !paced.wait() {
        return say(&last_words(&[], &[]));
    }
    let found = run.fit(&machine.device, &mut paced)?;
    say(&last_words(&found.scores, &found.predictions))
}

fn kept(task: &TaskData) -> Vec<Kept> {
    let of = |split: &str, examples: &Examples| {
        let of = |kept: &KeptExamples| Kept {
            split: split.to_string(),
            start: kept.activations.start().to_string(),
            examples: kept.activations.len(),
            seconds: kept.activations.seconds(),
            bytes: kept.activations.n_bytes() as u64,
        };
        examples.kept.iter().map(of).collect::<Vec<_>>()
    };
    [of("train", &task.train), of("test", &task.test)].concat()
}

/// A few steps of a run that is thrown away.
fn warm_up(mut run: Prepared, device: &burn::tensor::Device) -> Result<()> {
    run.task.train = first(&run.task.train, 4 * BATCH);
    run.task.test = first(&run.task.test, BATCH);
    run.training.epochs = 1;
    run.fit(device, &mut ())?;
    Ok(())
}

/// The first `n` examples.
fn first(examples: &Examples, n: usize) -> Examples {
    let n = n.min(examples.len());
    Examples {
        ids: examples.ids[..n].to_vec(),
        rows: examples.rows[..n].to_vec(),
        targets: examples.targets[..n].to_vec(),
        places: examples.places.iter().take(n).cloned().collect(),
        kept: examples
            .kept
            .iter()
            .map(|kept| KeptExamples {
                activations: kept.activations.clone(),
                places: kept.places[..n].to_vec(),
            })
            .collect(),
    }
}

fn last_words(scores: &[Score], predictions: &[Prediction]) -> Value {
    let answers = predictions.iter().flat_map(|prediction| &prediction.scores);
    json!({
        "peak_memory": crate::memory::peak(),
        "scores": scores.iter().map(|score| score.value).collect::<Vec<_>>(),
        "answers": answers.collect::<Vec<_>>(),
    })
}

fn say(value: &Value) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}

/// Sleeps in between two steps until more are asked for.
struct Paced<'a> {
    lines: StdinLock<'a>,
    /// Steps of this request.
    wanted: usize,
    /// Seconds of each step taken since it came.
    seconds: Vec<f64>,
    /// Seconds of training at the last step.
    seen: f64,
    /// Of which this many were slept since.
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
    fn step(&mut self, event: &StepEvent) {
        self.seconds
            .push(event.train_seconds - self.seen - self.waited);
        (self.seen, self.waited) = (event.train_seconds, 0.0);
        if self.seconds.len() < self.wanted {
            return;
        }
        let seconds = std::mem::take(&mut self.seconds);
        let asleep = Instant::now();
        let heard = say(&json!({ "seconds": seconds })).is_ok() && self.wait();
        self.waited = asleep.elapsed().as_secs_f64();
        if !heard && event.step < event.steps {
            // Whoever asked has what was wanted, or is gone.
            let _ = say(&last_words(&[], &[]));
            std::process::exit(0);
        }
        if !heard {
            self.wanted = usize::MAX;
        }
    }
}
