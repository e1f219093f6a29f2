//! Progress of a pre-training run.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use totune_record::PretrainingRow;

use super::{PATIENCE, redraws, span, style};

/// Steps of a pre-training run: a bar on a terminal, a line every ten seconds elsewhere.
pub struct Steps {
    steps: usize,
    bar: ProgressBar,
    said: Option<Instant>,
    quiet: bool,
}

impl Steps {
    /// Progress of a run of `steps` steps.
    pub fn new(steps: usize, quiet: bool) -> Self {
        let bar = if redraws() && !quiet {
            ProgressBar::new(steps as u64)
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(style("{msg}\n{bar:40} {pos}/{len} steps"));
        Self {
            steps,
            bar,
            said: None,
            quiet,
        }
    }

    /// Shows a row of the log: "12m04s left, step 150/12,800, loss 5.1234, 3,412 tokens/s".
    pub fn row(&mut self, row: &PretrainingRow) {
        let left = self.steps.saturating_sub(row.step as usize) as f64;
        let per_step = row.tokens as f64 / row.step.max(1) as f64;
        let seconds = left * per_step / row.tokens_per_second.max(1e-9);
        let text = format!(
            "{} left, step {}/{}, loss {:.4}, {:.0} tokens/s",
            span(Duration::from_secs_f64(seconds)),
            row.step,
            self.steps,
            row.loss,
            row.tokens_per_second
        );
        self.bar.set_position(row.step);
        self.bar.set_message(text.clone());
        let due = self.said.is_none_or(|said| said.elapsed() >= PATIENCE);
        if self.bar.is_hidden() && !self.quiet && due {
            eprintln!("{text}");
            self.said = Some(Instant::now());
        }
    }

    /// Reports a checkpoint.
    pub fn saved(&self, step: usize) {
        if self.bar.is_hidden() && !self.quiet {
            eprintln!("checkpoint after step {step}");
        }
    }
}
