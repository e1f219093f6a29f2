//! Detection of other processes that use the machine.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use cpu_time::ProcessTime;

/// Minimum CPU share of its threads' time that a process has on a quiet machine.
const SHARE: f64 = 0.9;
/// Maximum share of all cores that other processes use on a quiet machine.
const OTHERS: f64 = 0.1;
/// Share of all cores at which other processes are negligible: then a share below [`SHARE`] is due to threads that wait
/// for each other.
const NOBODY: f64 = 0.02;
/// Duration of the check of the machine before anything is timed.
const LOOK: Duration = Duration::from_secs(2);
/// Ticks of /proc/stat in a second, on every platform that Linux has today.
const TICKS: f64 = 100.0;

/// CPU use of processes since a moment.
pub(super) struct Usage {
    since: Instant,
    own: Option<ProcessTime>,
    /// CPU seconds of all processes.
    all: Option<f64>,
}

impl Usage {
    pub fn start() -> Self {
        Self {
            since: Instant::now(),
            own: ProcessTime::try_now().ok(),
            all: busy(),
        }
    }

    /// CPU seconds of other processes per second since then; `None` where the system does not say.
    pub fn others(&self) -> Option<f64> {
        let wall = self.since.elapsed().as_secs_f64();
        let own = self.own.and_then(|since| since.try_elapsed().ok())?;
        let all = busy()? - self.all?;
        Some(((all - own.as_secs_f64()) / wall).max(0.0))
    }
}

/// Verdict on whether a machine was quiet, with the measurements behind it.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    pub quiet: bool,
    /// The measurements in words.
    pub why: String,
}

impl Verdict {
    /// Verdict from the CPU share of the epochs and the CPU use of other processes per second, each if known.
    pub fn of(share: Option<f64>, others: Option<f64>) -> Self {
        Self::on(cores(), share, others)
    }

    fn on(cores: usize, share: Option<f64>, others: Option<f64>) -> Self {
        let part = others.map(|others| others / cores as f64);
        let had = |share: f64| share >= SHARE;
        let quiet = match (share, part) {
            (Some(share), Some(part)) => part <= NOBODY || (part <= OTHERS && had(share)),
            (Some(share), None) => had(share),
            (None, Some(part)) => part <= OTHERS,
            (None, None) => false,
        };
        let share = share.map_or("CPU share unknown".to_string(), |share| {
            format!("CPU share {:.0} %", 100.0 * share)
        });
        let others = others.map_or("what other processes used unknown".to_string(), |others| {
            format!("other processes used {others:.1} of {cores} cores")
        });
        Self {
            quiet,
            why: format!("{share}, {others}"),
        }
    }
}

/// Refuses a machine that is busy before anything has started.
pub(super) fn expect_quiet_before() -> Result<()> {
    let usage = Usage::start();
    thread::sleep(LOOK);
    let (others, cores) = (usage.others(), cores());
    match others {
        Some(others) if others / cores as f64 > OTHERS => bail!(
            "the machine is not quiet: other processes use {others:.1} of {cores} cores, expected at most a tenth of them; \
             nothing was timed. --anyway times all the same and marks the rows"
        ),
        _ => Ok(()),
    }
}

/// Processor and cores, such as `AMD EPYC (family 25, model 17), 2 cores`: processors of one name differ.
pub(super) fn name() -> String {
    named(
        &fs::read_to_string("/proc/cpuinfo").unwrap_or_default(),
        cores(),
    )
}

fn named(about: &str, cores: usize) -> String {
    let field = |name: &str| {
        let mut fields = about.lines().filter_map(|line| line.split_once(':'));
        let found = fields.find(|(key, _)| key.trim() == name);
        found.map(|(_, value)| value.trim())
    };
    let mut text = field("model name")
        .unwrap_or(std::env::consts::ARCH)
        .to_owned();
    if let Some((family, model)) = field("cpu family").zip(field("model")) {
        text += &format!(" (family {family}, model {model})");
    }
    let plural = if cores == 1 { "" } else { "s" };
    text + &format!(", {cores} core{plural}")
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Seconds that all cores together have worked since the machine started.
fn busy() -> Option<f64> {
    ticks(&fs::read_to_string("/proc/stat").ok()?).map(|ticks| ticks as f64 / TICKS)
}

/// user, nice, system, irq, softirq and steal of the first line (proc(5)); user has guests in it.
fn ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Option<Vec<u64>> = line.split_whitespace().map(|n| n.parse().ok()).collect();
    let fields = fields?;
    let [user, nice, system, _idle, _wait, irq, softirq, steal] = fields.first_chunk()?;
    Some(user + nice + system + irq + softirq + steal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_quiet_by_what_is_known_of_it() {
        let quiet = |share, others| Verdict::on(2, share, others).quiet;
        assert!(quiet(Some(0.95), Some(0.1)));
        assert!(
            !quiet(Some(0.89), Some(0.1)),
            "others may have been in the way"
        );
        assert!(quiet(Some(0.6), Some(0.03)), "its own threads wait");
        assert!(
            !quiet(Some(1.0), Some(1.0)),
            "a neighbour on the other core"
        );
        assert!(quiet(Some(0.9), None) && !quiet(Some(0.89), None));
        assert!(quiet(None, Some(0.1)) && !quiet(None, Some(0.3)));
        assert!(!quiet(None, None));
        let why = Verdict::on(2, Some(0.712), Some(0.84)).why;
        assert_eq!(why, "CPU share 71 %, other processes used 0.8 of 2 cores");
    }

    #[test]
    fn a_machine_is_named_by_its_processor_and_cores() {
        let about =
            "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nmodel name\t: other\n";
        assert_eq!(named(about, 2), "AMD EPYC (family 25, model 17), 2 cores");
        assert_eq!(named("", 1), format!("{}, 1 core", std::env::consts::ARCH));
    }

    #[test]
    fn work_is_everything_but_idle_and_waiting() {
        let stat = "cpu  100 20 30 4000 500 6 7 8 90 9\ncpu0 1 2 3 4\n";
        assert_eq!(ticks(stat), Some(171));
        for wrong in ["", "intr 1 2", "cpu  1 2 3", "cpu  1 2 x 4 5 6 7 8"] {
            assert_eq!(ticks(wrong), None, "{wrong}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_this_process_works_is_not_of_others() {
        let usage = Usage::start();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(300) {
            std::hint::black_box(begun.elapsed());
        }
        let others = usage.others().expect("/proc/stat");
        assert!(others <= cores() as f64, "{others}");
        assert!(name().contains("core"));
    }
}
