//! Training log of a run: one row for every few steps.

use std::time::Instant;

use totune_record::PretrainingRow;

/// Accumulates the steps between two rows.
#[derive(Debug)]
pub struct Meter {
    run: String,
    /// Seconds of training in earlier processes.
    before: f64,
    began: Instant,
    since: Since,
}

/// Sums since the last row.
#[derive(Debug, Default)]
struct Since {
    losses: f64,
    norms: f64,
    steps: usize,
    tokens: u64,
    seconds: f64,
}

impl Meter {
    /// Starts counting now, after `before` seconds of training in earlier processes.
    pub fn new(run: &str, before: f64) -> Self {
        Self {
            run: run.to_string(),
            before,
            began: Instant::now(),
            since: Since {
                seconds: before,
                ..Since::default()
            },
        }
    }

    /// Adds a step with its loss, the norm of its gradient and the number of tokens it read.
    pub fn add(&mut self, loss: f64, norm: f64, tokens: u64) {
        self.since.losses += loss;
        self.since.norms += norm;
        self.since.steps += 1;
        self.since.tokens += tokens;
    }

    /// Seconds of training so far, including earlier processes.
    pub fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }

    /// Returns the row of the steps since the last one; none without a step.
    pub fn row(&mut self, step: usize, tokens: u64, learning_rate: f64) -> Option<PretrainingRow> {
        let seconds = self.seconds();
        let since = std::mem::take(&mut self.since);
        self.since.seconds = seconds;
        let steps = (since.steps > 0).then_some(since.steps as f64)?;
        Some(PretrainingRow {
            run: self.run.clone(),
            step: step as u64,
            tokens,
            loss: since.losses / steps,
            gradient_norm: since.norms / steps,
            learning_rate,
            seconds,
            tokens_per_second: since.tokens as f64 / (seconds - since.seconds).max(1e-9),
        })
    }
}
