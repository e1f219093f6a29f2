//! `totune sweep run --devices`: processes for each device of this machine, all on one store.

use std::io::{BufRead, BufReader, Read, Write, stderr};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result};
use totune_sweep::Shard;

use super::jobs;
use crate::context::Context;
use crate::device::DeviceRequest;
use crate::print::is_json;
use crate::{exit, signals};

/// Devices of `--devices`, such as `cuda:0,1,2,3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Devices(Vec<DeviceRequest>);

impl FromStr for Devices {
    type Err = String;

    /// Reads devices; a bare number is a further device of the kind before it.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut devices: Vec<DeviceRequest> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let device = match (part.parse(), devices.last()) {
                (Ok(number), Some(DeviceRequest::Cuda(_))) => DeviceRequest::Cuda(number),
                _ => part.parse().map_err(|_| {
                    format!("`{part}` is no device; expected a list such as cuda:0,1")
                })?,
            };
            if matches!(device, DeviceRequest::Cuda(_)) && devices.contains(&device) {
                return Err(format!("{device} is there twice"));
            }
            devices.push(device);
        }
        Ok(Self(devices))
    }
}

/// Interval at which the processes are looked at.
const LOOK: Duration = Duration::from_millis(100);

impl Devices {
    /// Each device so many times.
    pub fn times(&self, processes: NonZero<usize>) -> Self {
        let each = |device: &DeviceRequest| vec![*device; processes.get()];
        Self(self.0.iter().flat_map(each).collect())
    }

    /// Starts a worker for each device and waits for all; returns the worst of their exit codes.
    ///
    /// A signal to stop is handed to every worker, and on Linux they stop when this process is gone. One that ends early leaves
    /// its runs to the others.
    /// Where this process is itself one of several workers, each device takes a part of its share.
    pub fn run(&self, context: &Context, worker: Option<Shard>, selected: &[String]) -> Result<u8> {
        let stop = signals::stop_flag()?;
        let threads = (context.threads() / self.0.len()).max(1);
        let here = self.0.len();
        let (before, of) = worker.map_or((0, here), |all| ((all.index - 1) * here, all.of * here));
        let mut workers = Vec::new();
        for (at, device) in self.0.iter().enumerate() {
            let mut line = jobs::program(context)?;
            line.extend(["--device".to_string(), device.to_string()]);
            line.extend(["--threads".to_string(), threads.to_string()]);
            line.extend(["sweep", "run"].map(String::from));
            line.extend(selected.iter().cloned());
            let number = format!("{}/{of}", before + at + 1);
            line.extend(["--worker".to_string(), number]);
            workers.push(start(&line, &device.to_string())?);
        }
        let mut told = false;
        loop {
            let mut codes = Vec::new();
            for worker in &mut workers {
                codes.push(worker.try_wait().context("cannot wait for a worker")?);
            }
            let ended: Option<Vec<_>> = codes.into_iter().collect();
            if let Some(ended) = ended {
                // One that a signal ended has no code.
                let codes = ended.iter().map(|status| match status.code() {
                    Some(code) => u8::try_from(code).unwrap_or(exit::ERROR),
                    None => exit::ERROR,
                });
                return Ok(worst(codes));
            }
            if stop.load(Ordering::Relaxed) && !told {
                workers.iter().for_each(terminate);
                told = true;
            }
            sleep(LOOK);
        }
    }
}

/// The exit code that says most: stopped, then an error, then failed runs.
fn worst(codes: impl Iterator<Item = u8>) -> u8 {
    let severity = |code: &u8| match *code {
        exit::STOPPED => 3,
        exit::OK => 0,
        exit::SOME_FAILED => 1,
        _ => 2,
    };
    // A worker that this process asked to end says so; whoever asked this process decides about its own code.
    let codes = codes.map(|code| match code {
        exit::REQUEUE | exit::HUNG_UP => exit::STOPPED,
        code => code,
    });
    codes.max_by_key(severity).unwrap_or(exit::OK)
}

/// Starts a worker whose lines appear behind the name of its device.
fn start(line: &[String], device: &str) -> Result<Child> {
    let mut command = Command::new(&line[0]);
    command
        .args(&line[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    // Ctrl-C reaches the whole group of the terminal, and a second signal would end a worker at once.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    #[cfg(target_os = "linux")]
    stop_with_parent(&mut command);
    let mut worker = command
        .spawn()
        .with_context(|| format!("{}: cannot be started", line[0]))?;
    if let Some(lines) = worker.stderr.take() {
        let device = device.to_string();
        std::thread::spawn(move || relay(lines, &device));
    }
    Ok(worker)
}

/// Has the kernel ask a worker to stop when this process ends without doing so, as after `kill -9`: nobody would know of the
/// worker any more.
#[cfg(target_os = "linux")]
fn stop_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let ask = move || {
        // SAFETY: both take numbers only.
        let (asked, now) = unsafe {
            let asked = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            (asked, libc::getppid())
        };
        if asked != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // The parent may have ended before it was asked for; then no signal comes.
        let is_left = u32::try_from(now) != Ok(parent);
        if is_left {
            return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: between fork and exec only functions that are safe in a signal handler may be called; these are, and
    // nothing is allocated.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, ask) };
}

/// Hands on the lines of a worker; JSON, which names the run, as it is.
fn relay(lines: impl Read, device: &str) {
    for line in BufReader::new(lines).lines().map_while(Result::ok) {
        let line = if is_json() {
            format!("{line}\n")
        } else {
            format!("[{device}] {line}\n")
        };
        // Nobody reads any more; the worker goes on.
        let _ = stderr().write_all(line.as_bytes());
    }
}

/// Asks a worker to stop.
fn terminate(worker: &Child) {
    #[cfg(unix)]
    {
        let pid = worker.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
    }
    #[cfg(not(unix))]
    let _ = worker;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_a_further_device() {
        use DeviceRequest::{Cpu, Cuda, Flex};
        for (text, devices) in [
            ("cuda:0,1,2", vec![Cuda(0), Cuda(1), Cuda(2)]),
            ("cuda:2,cuda:0", vec![Cuda(2), Cuda(0)]),
            ("flex,flex", vec![Flex, Flex]),
            ("cpu", vec![Cpu]),
        ] {
            assert_eq!(text.parse(), Ok(Devices(devices)));
        }
        for wrong in ["", "0,1", "cuda:0,", "cuda:1,1", "cuda:0,gpu", "flex,0"] {
            assert!(wrong.parse::<Devices>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_device_may_have_several_processes() {
        use DeviceRequest::Cuda;
        let devices: Devices = "cuda:0,1".parse().expect("devices");
        let twice = NonZero::new(2).expect("two");
        assert_eq!(
            devices.times(twice),
            Devices(vec![Cuda(0), Cuda(0), Cuda(1), Cuda(1)])
        );
    }

    #[test]
    fn the_worst_code_is_returned() {
        let worst_of = |codes: &[u8]| worst(codes.iter().copied());
        assert_eq!(worst_of(&[0, 0]), exit::OK);
        assert_eq!(worst_of(&[0, exit::SOME_FAILED, 0]), exit::SOME_FAILED);
        assert_eq!(worst_of(&[exit::SOME_FAILED, exit::ERROR]), exit::ERROR);
        assert_eq!(worst_of(&[exit::ERROR, exit::STOPPED]), exit::STOPPED);
        assert_eq!(worst_of(&[exit::REQUEUE, exit::OK]), exit::STOPPED);
        assert_eq!(worst_of(&[exit::HUNG_UP, exit::OK]), exit::STOPPED);
    }
}
