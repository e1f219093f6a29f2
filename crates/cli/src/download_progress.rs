//! What is seen of a download while it runs: a bar on a terminal, plain lines elsewhere. All of it goes to stderr.

use std::env;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressStyle};
use totune_fetch::{Event, Progress};

/// A bar for the file that comes, with its rate and the time left.
pub struct Bar {
    bar: ProgressBar,
}

/// A line when a file begins, one every ten seconds while it comes, and one for each trouble.
pub struct Lines {
    pace: Mutex<Option<Pace>>,
}

/// Between two lines of a long download.
const PATIENCE: Duration = Duration::from_secs(10);

/// How fast the file at hand comes.
struct Pace {
    since: Instant,
    from: u64,
    said: Instant,
}

impl Bar {
    /// Whether someone sees stderr on a terminal that can redraw a line.
    pub fn makes_sense() -> bool {
        std::io::stderr().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// A bar without colour, which every terminal and `NO_COLOR` are content with.
    pub fn new() -> Self {
        let bar = ProgressBar::no_length();
        let style = "{prefix} {bar:30} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left{msg}";
        let style = ProgressStyle::with_template(style)
            .expect("the template is valid")
            .progress_chars("=> ");
        bar.set_style(style);
        Self { bar }
    }
}

impl Progress for Bar {
    fn hear(&self, event: &Event<'_>) {
        match *event {
            Event::Attempt {
                file,
                done,
                attempt,
                ..
            } => {
                self.bar.set_prefix(file.to_string());
                // What was there before says nothing of the rate.
                self.bar.reset();
                self.bar.reset_elapsed();
                self.bar.set_position(done);
                self.bar.reset_eta();
                self.bar.set_message(if attempt > 1 {
                    format!(", attempt {attempt}")
                } else {
                    String::new()
                });
            }
            Event::Bytes { done, total, .. } => {
                if let Some(total) = total {
                    self.bar.set_length(total);
                }
                self.bar.set_position(done);
            }
            Event::Verifying { .. } => self.bar.finish_and_clear(),
            _ => {
                if let Some(line) = line(event) {
                    self.bar.suspend(|| eprintln!("{line}"));
                }
            }
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Lines {
    /// Plain lines.
    pub fn new() -> Self {
        Self {
            pace: Mutex::new(None),
        }
    }
}

impl Progress for Lines {
    fn hear(&self, event: &Event<'_>) {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        if let Event::Attempt { done, .. } = *event {
            let now = Instant::now();
            *pace = Some(Pace {
                since: now,
                from: done,
                said: now,
            });
        }
        let due = pace.as_mut().filter(|pace| pace.said.elapsed() >= PATIENCE);
        if let Event::Bytes {
            file, done, total, ..
        } = *event
            && let Some(pace) = due
        {
            pace.said = Instant::now();
            let took = pace.since.elapsed();
            eprintln!("{file}: {}", so_far(done, total, pace.from, took));
        }
        if let Some(line) = line(event) {
            eprintln!("{line}");
        }
    }
}

/// "1.50 MiB of 3.00 MiB, 512.00 KiB/s, 3 seconds left".
fn so_far(done: u64, total: Option<u64>, from: u64, took: Duration) -> String {
    let rate = (done.saturating_sub(from)) as f64 / took.as_secs_f64().max(1e-3);
    let Some(total) = total else {
        return format!("{}, {}/s", HumanBytes(done), HumanBytes(rate as u64));
    };
    let left = total.saturating_sub(done) as f64 / rate.max(1.0);
    format!(
        "{} of {}, {}/s, {} left",
        HumanBytes(done),
        HumanBytes(total),
        HumanBytes(rate as u64),
        HumanDuration(Duration::from_secs_f64(left))
    )
}

/// What is worth a line of its own.
fn line(event: &Event<'_>) -> Option<String> {
    match *event {
        Event::Attempt {
            file,
            address,
            done: 0,
            attempt: 1,
        } => Some(format!("{file}: from {address}")),
        Event::Attempt {
            file,
            address,
            done,
            attempt: 1,
        } => Some(format!(
            "{file}: from {address}, after the {} that are there",
            HumanBytes(done)
        )),
        Event::Waiting { file } => Some(format!("{file}: another process fetches it; waiting")),
        Event::Trouble {
            file,
            why,
            pause: Some(pause),
        } => Some(format!(
            "{file}: {why}; again in {:.0} s",
            pause.as_secs_f64()
        )),
        Event::Trouble {
            file,
            why,
            pause: None,
        } => Some(format!("{file}: {why}")),
        Event::Unpacking { file } => Some(format!("{file}: unpacking")),
        Event::Attempt { .. } | Event::Bytes { .. } | Event::Verifying { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_rate_and_time_left() {
        let mib = 1 << 20;
        assert_eq!(
            so_far(3 * mib, Some(7 * mib), mib, Duration::from_secs(2)),
            "3.00 MiB of 7.00 MiB, 1.00 MiB/s, 4 seconds left"
        );
        assert_eq!(
            so_far(2 * mib, None, 0, Duration::from_secs(2)),
            "2.00 MiB, 1.00 MiB/s"
        );
    }
}
