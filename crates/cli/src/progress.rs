//! What is seen of a sweep while it runs: bars on a terminal, plain lines elsewhere. All of it goes to stderr.

use std::env;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use totune_adapt::{EpochScores, StepEvent};
use totune_record::PretrainingRow;
use totune_sweep::{Ended, PlannedRun, Position, Progress};

/// What is shown of a sweep: two bars on a terminal; elsewhere a line per run, and one every ten seconds within a long one.
pub struct Shown {
    device: String,
    bars: Option<Bars>,
    pace: Mutex<Pace>,
    forecast: Mutex<Forecast>,
}

/// A bar for the sweep, and one for the run that has the machine to itself.
struct Bars {
    all: MultiProgress,
    sweep: ProgressBar,
    run: ProgressBar,
}

/// Between two lines of something long.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Whether someone sees stderr on a terminal that can redraw a line.
pub fn redraws() -> bool {
    std::io::stderr().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A style without colour, which every terminal and `NO_COLOR` are content with.
pub fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    style.progress_chars("=> ")
}

/// How fast the run at hand goes, and where the sweep stands.
#[derive(Default)]
struct Pace {
    label: String,
    number: usize,
    of: usize,
    examples: usize,
    said: Option<Instant>,
    score: String,
}

impl Pace {
    fn begin(&mut self, position: Position, run: &PlannedRun) {
        *self = Self {
            label: run.label.clone(),
            number: position.number,
            of: position.of,
            ..Self::default()
        };
        self.said = Some(Instant::now());
    }

    /// "epoch 1/3, step 40/573, loss 0.4312, 410 examples/s, 1m20s left".
    fn step(&mut self, event: &StepEvent) -> String {
        self.examples += event.examples;
        let seconds = event.train_seconds.max(1e-9);
        let left = seconds / event.step as f64 * event.steps.saturating_sub(event.step) as f64;
        format!(
            "epoch {}/{}, step {}/{}, loss {:.4}, {:.0} examples/s, {} left",
            event.epoch,
            event.epochs,
            event.step,
            event.steps,
            event.loss,
            self.examples as f64 / seconds,
            span(Duration::from_secs_f64(left))
        )
    }

    fn epoch(&mut self, event: &EpochScores) {
        let dev_then_test = ["dev", "test"].into_iter();
        let accuracy = |split: &str| {
            event
                .scores
                .iter()
                .find(|score| score.split == split && score.metric == "accuracy")
        };
        if let Some(score) = dev_then_test.filter_map(accuracy).next() {
            self.score = format!(
                ", {} accuracy {:.4} after epoch {}",
                score.split, score.value, event.epoch
            );
        }
    }
}

/// How long the sweep will take, from the latest runs that had the machine to themselves.
#[derive(Default)]
struct Forecast {
    took: Vec<Duration>,
}

impl Forecast {
    /// ", about 42m10s left", once there is something to go by and something left.
    fn after(&mut self, position: Position, run: &PlannedRun, ended: &Ended) -> String {
        if run.spec.runs_in_parallel() {
            return String::new();
        }
        self.took.push(ended.took);
        self.left(position.of - position.number)
    }

    fn left(&self, remaining: usize) -> String {
        // Neighbouring runs are alike: the mean of the latest five follows the grid through its strategies.
        let latest = &self.took[self.took.len().saturating_sub(5)..];
        if remaining == 0 || latest.is_empty() {
            return String::new();
        }
        let mean = latest.iter().sum::<Duration>() / latest.len() as u32;
        format!(", about {} left", span(mean * remaining as u32))
    }
}

/// "[3/30] table-2 · … · seed 3: accuracy 0.8312, 1m12s".
fn ending(position: Position, run: &PlannedRun, ended: &Ended) -> String {
    let outcome = match (ended.status.as_str(), &ended.score) {
        ("ok", Some((metric, value))) => format!("{metric} {value:.4}"),
        ("ok", None) => "done".to_string(),
        (status, _) => format!("{status}: {}", ended.error),
    };
    format!(
        "[{}/{}] {}: {outcome}, {}",
        position.number,
        position.of,
        run.label,
        span(ended.took)
    )
}

fn opening(to_run: usize, left: usize, device: &str) -> String {
    let left = if left == 0 {
        String::new()
    } else {
        format!(" ({left} of the plan left as they are)")
    };
    format!("{to_run} runs on {device}{left}")
}

/// A length of time as people say it: 850ms, 12.3s, 4m05s, 2h10m.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{:.1}s", time.as_secs_f64()),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

impl Bars {
    fn new() -> Self {
        let all = MultiProgress::new();
        let sweep = all.add(ProgressBar::new(0));
        sweep.set_style(style("{bar:30} {pos}/{len} runs, {elapsed} elapsed{msg}"));
        let run = all.add(ProgressBar::new(0));
        run.set_style(style("{prefix}\n{bar:30} {wide_msg}"));
        Self { all, sweep, run }
    }
}

impl Shown {
    /// Of a sweep on `device`.
    pub fn new(device: &str) -> Self {
        Self {
            device: device.to_string(),
            bars: redraws().then(Bars::new),
            pace: Mutex::default(),
            forecast: Mutex::default(),
        }
    }

    fn say(&self, line: &str) {
        match &self.bars {
            // A terminal that has gone away is no reason to stop a sweep.
            Some(bars) => drop(bars.all.println(line)),
            None => eprintln!("{line}"),
        }
    }
}

impl Progress for Shown {
    fn begin(&self, to_run: usize, left: usize) {
        self.say(&opening(to_run, left, &self.device));
        if let Some(bars) = &self.bars {
            bars.sweep.set_length(to_run as u64);
            bars.sweep.enable_steady_tick(Duration::from_millis(500));
        }
    }

    fn preparing(&self, what: &str) {
        match &self.bars {
            Some(bars) => bars.run.set_prefix(what.to_string()),
            None => eprintln!("{what}"),
        }
    }

    fn started(&self, position: Position, run: &PlannedRun) {
        lock(&self.pace).begin(position, run);
        if let Some(bars) = &self.bars {
            bars.run.set_position(0);
            bars.run.set_prefix(run.label.clone());
            bars.run.set_message(String::new());
        }
    }

    fn step(&self, event: &StepEvent) {
        let mut pace = lock(&self.pace);
        let text = format!("{}{}", pace.step(event), pace.score);
        match &self.bars {
            Some(bars) => {
                bars.run.set_length(event.steps as u64);
                bars.run.set_position(event.step as u64);
                bars.run.set_message(text);
            }
            None if pace.said.is_some_and(|said| said.elapsed() >= PATIENCE) => {
                let Pace {
                    number, of, label, ..
                } = &*pace;
                eprintln!("[{number}/{of}] {label}: {text}");
                pace.said = Some(Instant::now());
            }
            None => {}
        }
    }

    fn epoch(&self, event: &EpochScores) {
        lock(&self.pace).epoch(event);
    }

    fn finished(&self, position: Position, run: &PlannedRun, ended: &Ended) {
        let left = lock(&self.forecast).after(position, run, ended);
        let text = ending(position, run, ended);
        match &self.bars {
            Some(bars) => {
                self.say(&text);
                bars.sweep.inc(1);
                bars.sweep.set_message(left);
            }
            None => eprintln!("{text}{left}"),
        }
    }

    fn end(&self) {
        if let Some(bars) = &self.bars {
            bars.run.finish_and_clear();
            bars.sweep.finish_and_clear();
        }
    }
}

/// Steps of a pre-training run: a bar on a terminal, a line every ten seconds elsewhere.
pub struct Steps {
    steps: usize,
    bar: ProgressBar,
    said: Option<Instant>,
    quiet: bool,
}

impl Steps {
    /// For a run of `steps` steps.
    pub fn new(steps: usize, quiet: bool) -> Self {
        let bar = match redraws() && !quiet {
            true => ProgressBar::new(steps as u64),
            false => ProgressBar::hidden(),
        };
        bar.set_style(style("{msg}\n{bar:40} {pos}/{len} steps"));
        Self {
            steps,
            bar,
            said: None,
            quiet,
        }
    }

    /// A row of the log: "12m04s left, step 150/12,800, loss 5.1234, 3,412 tokens/s".
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

    /// A checkpoint was written.
    pub fn saved(&self, step: usize) {
        if self.bar.is_hidden() && !self.quiet {
            eprintln!("checkpoint after step {step}");
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_read_well() {
        for (milliseconds, expected) in [
            (850, "850ms"),
            (12_300, "12.3s"),
            (245_000, "4m05s"),
            (7_800_000, "2h10m"),
        ] {
            assert_eq!(span(Duration::from_millis(milliseconds)), expected);
        }
    }

    #[test]
    fn the_time_left_follows_the_latest_runs() {
        let seconds = |all: &[u64]| Forecast {
            took: all.iter().copied().map(Duration::from_secs).collect(),
        };
        assert_eq!(seconds(&[]).left(3), "");
        assert_eq!(seconds(&[20]).left(0), "");
        assert_eq!(seconds(&[20, 40]).left(4), ", about 2m00s left");
        assert_eq!(
            seconds(&[900, 10, 10, 10, 10, 10]).left(1),
            ", about 10.0s left"
        );
    }

    #[test]
    fn a_step_says_speed_and_time_left() {
        let mut pace = Pace::default();
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
        assert_eq!(
            pace.step(&event),
            "epoch 1/3, step 10/30, loss 0.2500, 8 examples/s, 8.0s left"
        );
    }
}
