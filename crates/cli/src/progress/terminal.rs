//! Progress of runs for people: bars on a terminal, plain lines elsewhere. All of it goes to stderr.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::{Style, measure_text_width};
use indicatif::{MultiProgress, ProgressBar};
use totune_adapt::{EpochScores, StepEvent};
use totune_sweep::{CachingEvent, CheckpointEvent, Ended, Plan, PlannedRun, Position, Progress};

use super::tracker::{Moment, Tracker, main_score};
use super::{redraws, span, style};

/// On a terminal a bar for the sweep and one for the run that has the machine to itself; elsewhere a line per run, and one every
/// ten seconds within a long one.
pub struct SweepProgress {
    device: String,
    bars: Option<Bars>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    tracker: Tracker,
    /// Parts that the labels of all runs share, for which a terminal has no room.
    shared: Vec<String>,
    /// ", dev accuracy 0.8312" after the first epoch of a run.
    score: String,
}

struct Bars {
    all: MultiProgress,
    sweep: ProgressBar,
    label: ProgressBar,
    run: ProgressBar,
    began: Instant,
}

impl Bars {
    fn new() -> Self {
        let all = MultiProgress::new();
        let add = |template: &str| {
            let bar = all.add(ProgressBar::new(0));
            bar.set_style(style(template));
            bar
        };
        Self {
            sweep: add("{msg}{bar:24} {pos}/{len} runs, {elapsed} elapsed"),
            label: add("{wide_msg}"),
            run: add("{prefix}{bar:12} {wide_msg}"),
            began: Instant::now(),
            all,
        }
    }

    /// Starts a round: `before` of the `of` runs have ended in earlier rounds, whose end cleared the bars.
    fn begin(&self, before: usize, of: usize) {
        let bars = [&self.sweep, &self.label, &self.run];
        for bar in bars.into_iter().filter(|bar| bar.is_finished()) {
            bar.reset();
            drop(bar.clone().with_elapsed(self.began.elapsed()));
        }
        self.sweep.set_length(of as u64);
        self.sweep.set_position(before as u64);
        if of > 1 {
            self.sweep.enable_steady_tick(Duration::from_millis(500));
        }
    }

    fn set_left(&self, left: Option<Duration>) {
        let left = left.map(|left| format!("{} left ", span(left)));
        self.sweep.set_message(left.unwrap_or_default());
    }
}

impl SweepProgress {
    /// Display of runs on `device`.
    pub fn new(device: &str) -> Self {
        Self {
            device: device.to_string(),
            bars: redraws().then(Bars::new),
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, line: &str) {
        match &self.bars {
            // A terminal that has gone away is no reason to stop a sweep.
            Some(bars) => drop(bars.all.println(line)),
            None => eprintln!("{line}"),
        }
    }
}

/// "epoch 1/3, loss 0.4312, dev accuracy 0.8312".
fn pace(event: &StepEvent, score: &str) -> String {
    format!(
        "epoch {}/{}, loss {:.4}{score}",
        event.epoch, event.epochs, event.loss
    )
}

/// "[3/30] 42m10s left (this run 1m01s): table-2 · … · seed 3: epoch 1/3, loss 0.4312, step 40/573, 410 examples/s".
fn line(moment: &Moment, of: usize, event: &StepEvent, score: &str) -> String {
    let run_left = span(moment.run_left);
    let left = match moment.all_left {
        Some(all) if all > moment.run_left => format!("{} left (this run {run_left})", span(all)),
        _ => format!("{run_left} left"),
    };
    format!(
        "[{}/{of}] {left}: {}: {}, step {}/{}, {:.0} examples/s",
        moment.number,
        moment.label,
        pace(event, score),
        event.step,
        event.steps,
        moment.speed
    )
}

/// Formats the outcome: "test accuracy 0.8312", or the error.
fn outcome(ended: &Ended) -> String {
    match (ended.status.as_str(), &ended.score) {
        ("ok", Some(score)) => format!("{} {} {:.4}", score.split, score.metric, score.value),
        ("ok", None) => "done".to_string(),
        (status, _) => format!("{status}: {}", ended.error),
    }
}

fn opening(plan: &Plan, of: usize, device: &str) -> String {
    let left = match plan.runs.len() - of.min(plan.runs.len()) {
        0 => String::new(),
        left => format!(" ({left} of the plan left as they are)"),
    };
    format!("{of} runs on {device}{left}")
}

/// Parts shared by all of these labels.
fn shared_parts<'a>(mut labels: impl Iterator<Item = &'a str>) -> Vec<String> {
    let first = labels.next().unwrap_or_default().split(" · ");
    let mut shared: Vec<String> = first.map(str::to_string).collect();
    let mut n = 1;
    for label in labels {
        shared.retain(|part| label.split(" · ").any(|other| other == part));
        n += 1;
    }
    if n > 1 { shared } else { Vec::new() }
}

/// A label in `width` columns: without the parts shared by all runs, and without its beginning where that is still too
/// long.
fn short(label: &str, shared: &[String], width: usize) -> String {
    let parts = label.split(" · ");
    let own: Vec<&str> = parts
        .filter(|part| !shared.iter().any(|other| other == part))
        .collect();
    let own = own.join(" · ");
    let text = if own.is_empty() { label } else { &own };
    let n = text.chars().count();
    if n <= width {
        text.to_string()
    } else {
        let end = text.chars().skip(n + 1 - width.max(1));
        format!("…{}", end.collect::<String>())
    }
}

/// Width of the terminal in columns.
fn columns() -> usize {
    usize::from(console::Term::stderr().size().1)
}

impl Progress for SweepProgress {
    fn begin(&self, plan: &Plan) {
        let mut known = self.known();
        let is_first = known.tracker.of() == 0;
        known.tracker.begin(plan);
        let all = plan.runs.iter().map(|run| run.label.as_str());
        known.shared = shared_parts(all);
        let (before, of) = (known.tracker.before(), known.tracker.of());
        drop(known);
        if is_first {
            self.say(&opening(plan, of, &self.device));
        }
        if let Some(bars) = &self.bars {
            bars.begin(before, of);
        }
    }

    fn preparing(&self, what: &str) {
        match &self.bars {
            Some(bars) => bars.label.set_message(what.to_string()),
            None => eprintln!("{what}"),
        }
    }

    fn started(&self, position: Position, run: &PlannedRun) {
        let mut known = self.known();
        known.tracker.started(position, run);
        known.score.clear();
        if let Some(bars) = &self.bars {
            let label = short(&run.label, &known.shared, columns());
            bars.label.set_message(label);
            bars.run.set_length(1);
            bars.run.set_position(0);
            bars.run.set_prefix("");
            bars.run.set_message("");
        }
    }

    fn skipped(&self, run: &PlannedRun) {
        self.known().tracker.skipped(run);
    }

    fn caching(&self, event: &CachingEvent) {
        if let Some(bars) = &self.bars {
            bars.run.set_length(event.of as u64);
            bars.run.set_position(event.examples as u64);
            bars.run.set_message(event.to_string());
            return;
        }
        let mut known = self.known();
        if known.tracker.is_due()
            && let Some((number, label)) = known.tracker.current()
        {
            eprintln!("[{number}/{}] {label}: {event}", known.tracker.of());
        }
    }

    fn step(&self, event: &StepEvent) {
        let mut known = self.known();
        let Some(moment) = known.tracker.step(event) else {
            return;
        };
        match &self.bars {
            Some(bars) => {
                bars.run.set_length(event.steps as u64);
                bars.run.set_position(event.step as u64);
                bars.run
                    .set_prefix(format!("{} left ", span(moment.run_left)));
                bars.run.set_message(pace(event, &known.score));
                if known.tracker.of() > 1 {
                    bars.set_left(moment.all_left);
                }
            }
            None if moment.is_due => {
                let of = known.tracker.of();
                eprintln!("{}", line(&moment, of, event, &known.score));
            }
            None => {}
        }
    }

    fn epoch(&self, event: &EpochScores) {
        let Some(score) = main_score(event) else {
            return;
        };
        let mut known = self.known();
        let text = format!("{} {} {:.4}", score.split, score.metric, score.value);
        known.score = format!(", {text}");
        if known.tracker.of() == 1 {
            self.say(&format!("epoch {}/{}: {text}", event.epoch, event.epochs));
        }
    }

    fn checkpoint(&self, event: &CheckpointEvent) {
        // That one was written is in the log of the run.
        if !matches!(event, CheckpointEvent::Saved { .. }) {
            self.say(&event.to_string());
        }
    }

    fn finished(&self, position: Position, run: &PlannedRun, ended: &Ended) {
        let mut known = self.known();
        let left = known.tracker.finished(run, ended.took);
        let number = known.tracker.number(position);
        let (of, took) = (known.tracker.of(), span(ended.took));
        let outcome = outcome(ended);
        let number = match of {
            1 => String::new(),
            of => format!("[{number}/{of}] "),
        };
        let Some(bars) = &self.bars else {
            let left = left.map(|left| format!(", about {} left", span(left)));
            let left = left.unwrap_or_default();
            eprintln!("{number}{}: {outcome}, {took}{left}", run.label);
            return;
        };
        let rest = format!(", {took}");
        let taken = measure_text_width(&format!("{number}: {outcome}{rest}"));
        let room = columns().saturating_sub(taken);
        let label = short(&run.label, &known.shared, room.max(20));
        let colour = match ended.status.as_str() {
            "ok" => Style::new().green(),
            "diverged" => Style::new().yellow(),
            _ => Style::new().red(),
        };
        let outcome = colour.for_stderr().apply_to(outcome);
        let number = Style::new().dim().for_stderr().apply_to(number);
        self.say(&format!("{number}{label}: {outcome}{rest}"));
        if of > 1 {
            bars.sweep.inc(1);
            bars.set_left(left);
        }
    }

    fn end(&self) {
        if let Some(bars) = &self.bars {
            let bars = [&bars.run, &bars.label, &bars.sweep];
            bars.into_iter().for_each(ProgressBar::finish_and_clear);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_cut_to_what_tells_it_from_the_others() {
        let labels = [
            "tasks · sst-2 · bert@random · frozen · lr 1e-3 · seed 1",
            "tasks · sst-2 · bert · full · lr 1e-4 · seed 1",
        ];
        let shared = shared_parts(labels.into_iter());
        assert_eq!(shared, ["tasks", "sst-2", "seed 1"]);
        assert_eq!(
            short(labels[0], &shared, 60),
            "bert@random · frozen · lr 1e-3"
        );
        assert_eq!(short(labels[0], &shared, 10), "…· lr 1e-3");
        let alone = shared_parts(labels[..1].iter().copied());
        assert_eq!(short(labels[0], &alone, 80), labels[0]);
    }

    #[test]
    fn a_step_says_the_time_left_first() {
        let event = StepEvent {
            phase: 0,
            epoch: 1,
            epochs: 3,
            step: 10,
            steps: 30,
            examples: 32,
            loss: 0.25,
            gradient_norm: 1.0,
            lr: 5e-5,
            train_seconds: 4.0,
        };
        let moment = |all_left| Moment {
            id: String::new(),
            label: "table-2 · seed 1".to_string(),
            number: 2,
            run_left: Duration::from_secs(8),
            all_left,
            speed: 8.0,
            is_due: true,
        };
        assert_eq!(
            line(
                &moment(Some(Duration::from_secs(68))),
                9,
                &event,
                ", dev accuracy 0.8000"
            ),
            "[2/9] 1m08s left (this run 8.0s): table-2 · seed 1: epoch 1/3, loss 0.2500, dev accuracy 0.8000, step 10/30, 8 examples/s"
        );
        assert_eq!(
            line(&moment(None), 9, &event, ""),
            "[2/9] 8.0s left: table-2 · seed 1: epoch 1/3, loss 0.2500, step 10/30, 8 examples/s"
        );
    }
}
