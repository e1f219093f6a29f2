//! Progress of a comparison: one line that is redrawn on a terminal, and elsewhere a line for each stage and for the end of
//! each training, and one every ten seconds within it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use totune_adapt::StepEvent;
use totune_compare::{Progress, Stage};

use crate::print::{self, Level};
use crate::progress::{PATIENCE, redraws, span};

/// The form of the output.
enum Form {
    Quiet,
    /// Events for programs.
    Json,
    /// Lines that stay.
    Lines,
    /// A line that is redrawn.
    Bar(ProgressBar),
}

/// The stage and the remaining budget.
pub(super) struct Line {
    form: Form,
    /// Begin of the current stage.
    began: Cell<Instant>,
    /// Time of the last print about it.
    said: Cell<Instant>,
}

impl Line {
    pub(super) fn new(quiet: bool) -> Self {
        let form = match (quiet, print::is_json(), redraws()) {
            (true, ..) => Form::Quiet,
            (_, true, _) => Form::Json,
            (_, _, false) => Form::Lines,
            (_, _, true) => {
                let bar = ProgressBar::no_length();
                let style = ProgressStyle::with_template("{spinner} {msg}");
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
                Form::Bar(bar)
            }
        };
        Self {
            form,
            began: Cell::new(Instant::now()),
            said: Cell::new(Instant::now()),
        }
    }

    pub(super) fn finish(&self) {
        if let Form::Bar(bar) = &self.form {
            bar.finish_and_clear();
        }
    }

    /// Seconds that are left of the budget.
    fn left(&self, stage: &Stage) -> f64 {
        let spent = stage.spent + self.began.get().elapsed().as_secs_f64();
        (stage.budget - spent).max(0.0)
    }

    /// "3m08s left, full, learning rate 1e-4, seed 1, 714 x 3".
    fn text(&self, stage: &Stage, more: &str) -> String {
        let seconds = self.left(stage) as u64;
        let left = match seconds {
            0..60 => format!("{seconds}s"),
            _ => span(Duration::from_secs(seconds)),
        };
        format!("{left} left, {}{more}", stage.what)
    }

    fn event(&self, name: &str, stage: &Stage, mut fields: Value) {
        fields["message"] = json!(stage.what);
        fields["seconds-left"] = json!(self.left(stage));
        print::event(Level::Info, name, None, fields);
    }

    /// Returns true if nothing has been printed for some time; then it counts as printed now.
    fn is_due(&self) -> bool {
        let is_due = self.said.get().elapsed() >= PATIENCE;
        if is_due {
            self.said.set(Instant::now());
        }
        is_due
    }
}

impl Progress for Line {
    fn stage(&self, stage: &Stage) {
        self.began.set(Instant::now());
        self.said.set(Instant::now());
        match &self.form {
            Form::Quiet => {}
            Form::Json => self.event("stage", stage, json!({})),
            Form::Lines => eprintln!("{}", self.text(stage, "")),
            Form::Bar(bar) => {
                bar.set_message(self.text(stage, ""));
                bar.tick();
            }
        }
    }

    fn step(&self, stage: &Stage, step: &StepEvent) {
        let more = || format!(", step {}/{}", step.step, step.steps);
        match &self.form {
            Form::Bar(bar) => {
                bar.set_message(self.text(stage, &more()));
                bar.tick();
            }
            Form::Json if self.is_due() => {
                let fields = json!({ "step": step.step, "steps": step.steps, "loss": step.loss });
                self.event("step", stage, fields);
            }
            Form::Lines if self.is_due() => eprintln!("{}", self.text(stage, &more())),
            Form::Quiet | Form::Json | Form::Lines => {}
        }
    }

    fn trained(&self, stage: &Stage, dev: Option<f64>, seconds: f64) {
        let score = dev.map_or("no score".to_string(), |dev| format!("{dev:.3} on dev"));
        let line = format!("  {}: {score}, {seconds:.1} s", stage.what);
        match &self.form {
            Form::Quiet => {}
            Form::Json => {
                self.event("trained", stage, json!({ "dev": dev, "seconds": seconds }));
            }
            Form::Lines => eprintln!("{line}"),
            Form::Bar(bar) => bar.println(line),
        }
    }
}
