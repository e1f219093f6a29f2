//! Progress of runs: for a user at a terminal or in a file, for programs as JSON, and for TensorBoard.
//!
//! All of them are listeners of [`totune_sweep::Progress`]; the log in the folder of each run is another one, inside
//! the sweep.

mod event_file;
mod json;
mod steps;
mod tensorboard;
mod terminal;
mod tracker;

use std::env;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use indicatif::ProgressStyle;
use totune_sweep::{Listeners, Progress};

use crate::context::Context;
use crate::print;

pub use steps::Steps;

/// Interval between two lines of a long task.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Additional output during training.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Curves {
    /// Write losses and scores of each run for TensorBoard, in a folder of its own below this one
    #[arg(long, value_name = "FOLDER")]
    pub tensorboard: Option<PathBuf>,
}

/// All listeners of runs.
pub struct Audience(Vec<Box<dyn Progress>>);

impl Audience {
    /// Listeners for runs on `device`.
    ///
    /// # Errors
    /// When the folder for TensorBoard cannot be made.
    pub fn new(context: &Context, device: &str, curves: &Curves) -> Result<Self> {
        let mut all: Vec<Box<dyn Progress>> = Vec::new();
        match (context.global.quiet, print::is_json()) {
            (true, _) => {}
            (false, true) => all.push(Box::new(json::Lines::new(device))),
            (false, false) => all.push(Box::new(terminal::SweepProgress::new(device))),
        }
        if let Some(folder) = &curves.tensorboard {
            all.push(Box::new(tensorboard::TensorBoard::new(folder)?));
        }
        Ok(Self(all))
    }

    /// Combines them into one listener.
    pub fn listeners(&self) -> Listeners<'_> {
        Listeners(self.0.iter().map(|one| &**one).collect())
    }
}

/// True if stderr is a terminal that can redraw a line.
pub fn redraws() -> bool {
    let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb && !print::is_json()
}

/// A style without colour, which works on every terminal and with `NO_COLOR`.
pub fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    style.progress_chars("=> ")
}

/// Formats a duration for people: 850ms, 12.3s, 4m05s, 2h10m.
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{:.1}s", time.as_secs_f64()),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
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
}
