//! Processes, and what they cost.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

use anyhow::{Context, Result, ensure};

use super::results::Cost;

/// Time between two looks at a process. Processor time and peak memory only grow, so what was seen last lacks only what
/// its last moments added.
const LOOK: Duration = Duration::from_millis(10);

/// Ticks a second of the times in `/proc` (`USER_HZ`): 100 on x86-64 and on ARM.
const TICKS: f64 = 100.0;

/// Starts all processes at once and waits for them; their cost together.
///
/// # Errors
/// When one does not start or fails, with the end of what it said; the others are ended.
pub(super) fn cost_of(commands: impl Iterator<Item = Command>) -> Result<Cost> {
    let began = Instant::now();
    let start = |mut command: Command| {
        let said = tempfile::tempfile().context("a temporary file")?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(said.try_clone().context("a temporary file")?);
        let process = command.spawn().context("the program cannot be started")?;
        Ok(Watched {
            process,
            said,
            seen: Cost::default(),
            has_ended: false,
        })
    };
    let mut watched = commands.map(start).collect::<Result<Vec<Watched>>>()?;
    while watched.iter().any(|one| !one.has_ended) {
        for one in watched.iter_mut().filter(|one| !one.has_ended) {
            one.look()?;
        }
        sleep(LOOK);
    }
    let mut cost = Cost {
        seconds: began.elapsed().as_secs_f64(),
        ..Cost::default()
    };
    for one in watched {
        cost.cpu_seconds += one.seen.cpu_seconds;
        cost.peak_memory = cost.peak_memory.max(one.seen.peak_memory);
    }
    Ok(cost)
}

/// A process at work.
struct Watched {
    process: Child,
    said: fs::File,
    seen: Cost,
    has_ended: bool,
}

impl Watched {
    fn look(&mut self) -> Result<()> {
        let id = self.process.id();
        if let Some((cpu, memory)) = usage(id) {
            self.seen.cpu_seconds = self.seen.cpu_seconds.max(cpu);
            self.seen.peak_memory = self.seen.peak_memory.max(memory);
        }
        if let Some(status) = self.process.try_wait().context("a process is lost")? {
            self.has_ended = true;
            ensure!(status.success(), "{status}: {}", last_line(&self.said)?);
        }
        Ok(())
    }
}

/// Processor seconds and peak memory in bytes of a process; `None` when the system does not say.
fn usage(id: u32) -> Option<(f64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program, in parentheses, may have spaces in it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    let cpu = (ticks()? + ticks()?) / TICKS;
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    Some((cpu, kib? * 1024))
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.has_ended {
            // Another one has failed, whose error matters more than what cannot be ended.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

fn last_line(file: &fs::File) -> Result<String> {
    use io::{Read, Seek};

    let (mut file, mut text) = (file, String::new());
    file.rewind().context("a temporary file")?;
    file.read_to_string(&mut text).context("a temporary file")?;
    Ok(text.lines().last().unwrap_or("it said nothing").to_string())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn processes_at_once_take_the_time_of_the_longest_and_the_processor_time_of_all() {
        let work = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let cost = cost_of([work, "sleep 0.3"].into_iter().map(shell)).expect("both end");
        assert!(cost.seconds >= 0.3 && cost.cpu_seconds > 0.0, "{cost:?}");
        assert!(cost.peak_memory > 100_000, "{cost:?}");
    }

    #[test]
    fn a_process_that_fails_is_told_with_its_last_words() {
        let error = cost_of([shell("echo first >&2; echo last >&2; exit 3")].into_iter());
        let error = error.expect_err("it failed").to_string();
        assert!(error.contains("3: last"), "{error}");
    }

    #[test]
    fn when_one_fails_the_others_are_ended() {
        let began = Instant::now();
        cost_of(["sleep 60", "exit 1"].into_iter().map(shell)).expect_err("one failed");
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
