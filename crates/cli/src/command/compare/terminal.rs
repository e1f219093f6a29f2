//! A comparison on a terminal: its progress, and its result as a table.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use totune_adapt::StepEvent;
use totune_compare::{Comparison, Progress, Stage};

use crate::print::{self, Level};
use crate::progress::redraws;

/// The result as a table.
pub(super) fn table(comparison: &Comparison) -> String {
    let mut lines = vec![comparison.sentence.clone(), String::new()];
    let width = comparison
        .rows
        .iter()
        .map(|row| row.title.len())
        .max()
        .unwrap_or(0);
    lines.push(format!(
        "  {:width$}  {:>6}  {:>6}  {:^16}  {:>8}  {}",
        "", "dev", "test", "95 % interval", "seconds", "models"
    ));
    for row in &comparison.rows {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let interval = row
            .test
            .map(|test| format!("[{:.3}, {:.3}]", test.low, test.high));
        let chosen = comparison.chosen.as_ref() == Some(&row.name);
        let models = match (row.is_strategy, row.seeds) {
            (true, 0) => String::new(),
            (true, n) => format!("{n} x {} x {}", row.examples, row.epochs),
            _ => String::new(),
        };
        let seconds = row
            .train_seconds
            .map_or(String::new(), |seconds| format!("{seconds:.1}"));
        let line = format!(
            "{} {:width$}  {:>6}  {:>6}  {:^16}  {:>8}  {models}  {}",
            if chosen { "*" } else { " " },
            row.title,
            number(row.dev),
            number(row.test.map(|test| test.value)),
            interval.unwrap_or_default(),
            seconds,
            row.note.clone().unwrap_or_default(),
        );
        lines.push(line.trim_end().to_string());
    }
    lines.push(String::new());
    lines.extend(comparison.notes.iter().cloned());
    lines.join("\n") + "\n"
}

/// One line with the stage and the remaining budget.
pub(super) struct Line {
    bar: ProgressBar,
    quiet: bool,
}

impl Line {
    pub(super) fn new(quiet: bool) -> Self {
        let bar = if quiet || !redraws() {
            ProgressBar::hidden()
        } else {
            ProgressBar::no_length()
        };
        let style = ProgressStyle::with_template("{spinner} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { bar, quiet }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self, stage: &Stage, more: &str) {
        let left = (stage.budget - stage.spent).max(0.0);
        let left = Duration::from_secs(left as u64);
        self.bar
            .set_message(format!("{left:?} left, {}{more}", stage.what));
        self.bar.tick();
    }
}

impl Progress for Line {
    fn stage(&self, stage: &Stage) {
        self.show(stage, "");
    }

    fn step(&self, stage: &Stage, step: &StepEvent) {
        self.show(stage, &format!(", step {}/{}", step.step, step.steps));
    }

    fn trained(&self, stage: &Stage, dev: Option<f64>, seconds: f64) {
        if print::is_json() && !self.quiet {
            let fields = json!({ "message": stage.what, "dev": dev, "seconds": seconds });
            print::event(Level::Info, "trained", None, fields);
        }
        let dev = dev.map_or("no score".to_string(), |dev| format!("{dev:.3} on dev"));
        self.bar
            .println(format!("  {}: {dev}, {seconds:.1} s", stage.what));
    }
}
