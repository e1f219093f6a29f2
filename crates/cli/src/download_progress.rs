//! Progress of downloads: a bar on a terminal, plain lines elsewhere. All of it goes to stderr.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar};
use totune_fetch::{Event, Progress};

use crate::progress::{PATIENCE, redraws, style};

/// Display of a download: a bar with rate and time left on a terminal; elsewhere a line when a file begins, one every
/// ten seconds during the transfer, and one for each problem.
pub struct DownloadProgress {
    bar: Option<ProgressBar>,
    pace: Mutex<Option<Pace>>,
}

/// Speed of the current file.
struct Pace {
    since: Instant,
    from: u64,
    said: Instant,
}

impl DownloadProgress {
    /// Display for any number of files.
    pub fn new() -> Self {
        let template = "{prefix} {bar:30} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left{msg}";
        let bar = || ProgressBar::no_length().with_style(style(template));
        Self {
            bar: redraws().then(bar),
            pace: Mutex::new(None),
        }
    }

    fn on_bar(bar: &ProgressBar, event: &Event<'_>) {
        match *event {
            Event::Attempt {
                file,
                done,
                attempt,
                ..
            } => {
                bar.set_prefix(file.to_string());
                // Bytes that existed before do not count towards the speed.
                bar.reset();
                bar.reset_elapsed();
                bar.set_position(done);
                bar.reset_eta();
                let again = (attempt > 1).then(|| format!(", attempt {attempt}"));
                bar.set_message(again.unwrap_or_default());
            }
            Event::Bytes { done, total, .. } => {
                if let Some(total) = total {
                    bar.set_length(total);
                }
                bar.set_position(done);
            }
            Event::Verifying { .. } => bar.finish_and_clear(),
            _ => {
                if let Some(line) = line(event) {
                    bar.suspend(|| eprintln!("{line}"));
                }
            }
        }
    }
}

impl Progress for DownloadProgress {
    fn hear(&self, event: &Event<'_>) {
        if let Some(bar) = &self.bar {
            return Self::on_bar(bar, event);
        }
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

impl Drop for DownloadProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Formats the progress: "1.50 MiB of 3.00 MiB, 512.00 KiB/s, 3 seconds left".
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

/// Line for an event that deserves one.
fn line(event: &Event<'_>) -> Option<String> {
    let (file, what) = match *event {
        Event::Attempt {
            file,
            address,
            done,
            attempt: 1,
        } => {
            let after = format!(", after the {} that are there", HumanBytes(done));
            let after = if done == 0 { String::new() } else { after };
            (file, format!("from {address}{after}"))
        }
        Event::Waiting { file } => (file, "another process fetches it; waiting".to_string()),
        Event::Trouble { file, why, pause } => {
            let pause = pause.map(|pause| format!("; again in {:.0} s", pause.as_secs_f64()));
            (file, format!("{why}{}", pause.unwrap_or_default()))
        }
        Event::Unpacking { file } => (file, "unpacking".to_string()),
        Event::Attempt { .. } | Event::Bytes { .. } | Event::Verifying { .. } => return None,
    };
    Some(format!("{file}: {what}"))
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
