//! Seconds of the timing pass in place of those measured while runs shared a machine.
//!
//! `totune sweep time` measures the time of an epoch in each phase of each kind of run. The time of a run of that kind,
//! after any epoch, is then the sum over its epochs so far, and the time of caching before the phase that uses it.
//! Seconds of runs that shared the machine, or are compared with those of another device, are no measure of time unless
//! they were timed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use totune_record::{EvalRow, OF_TRIALS, RunRow, TimingRow};

use crate::text::counted;

/// Experiment, arm, dataset and encoder.
pub(super) type Kind = [String; 4];

/// Timing of an epoch in each phase, by kind; a phase that was not timed is missing.
type Timed<'a> = BTreeMap<Kind, BTreeMap<u32, &'a TimingRow>>;

/// The least part of the processor that a run must have had for its own seconds to count.
const LEAST_SHARE: f64 = 0.9;

/// Summary of where the seconds of runs are from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Retimed {
    /// One for each machine that was timed on; none where no run has such seconds.
    pub lines: Vec<String>,
    /// The part of the processor that each run had itself while it trained, of those that know it, in ascending order.
    pub shares: Vec<f64>,
    /// Ids of the runs whose seconds do not count: they, or others on the same dataset and encoder, shared the machine or
    /// ran on another device, and were not timed.
    pub(crate) incomparable: BTreeSet<String>,
}

impl Retimed {
    /// Notes for readers of the seconds: those of the timing pass, and those that are left out.
    pub fn notes(&self) -> Vec<String> {
        let timed = (!self.lines.is_empty()).then(|| {
            format!(
                "Seconds are those of a timing pass, in which nothing else ran ({})",
                self.lines.join("; ")
            )
        });
        let incomparable = (!self.incomparable.is_empty()).then(|| {
            format!(
                "The seconds of {} are unreliable: no timing pass has measured these runs, and they or those they are compared with ran next to other jobs or on another device. Tables and verdicts leave these seconds out; a plot over time shows them only if it has no others, and then those of one kind of device",
                counted(self.incomparable.len(), "run")
            )
        });
        timed.into_iter().chain(incomparable).collect()
    }
}

/// Gives runs the seconds that the timing pass found for their kinds.
///
/// Rows of a machine that was not quiet do not count. Runs of a dataset and an encoder are compared with each other, so if
/// some of them that trained were not timed, their own seconds stay for all of them where these are comparable; elsewhere
/// those that were timed alone have seconds.
pub(crate) fn retime(runs: &mut [RunRow], evals: &mut [EvalRow], timing: &[TimingRow]) -> Retimed {
    let mut shares: Vec<f64> = runs.iter().filter_map(RunRow::cpu_share).collect();
    shares.sort_by(f64::total_cmp);
    let mut timed = Timed::new();
    for row in timing.iter().filter(|row| row.quiet) {
        timed
            .entry(timed_kind(row))
            .or_default()
            .insert(row.phase, row);
    }
    let unreliable = incomparable(runs, &BTreeMap::new());
    if timed.is_empty() {
        return Retimed {
            lines: Vec::new(),
            shares,
            incomparable: unreliable,
        };
    }
    let phases = phases(evals);
    let mut courses: BTreeMap<String, Course> = BTreeMap::new();
    let mut left = BTreeSet::new();
    let tuned = runs.iter().filter_map(|run| Some((run, kind(run)?)));
    for (run, kind) in tuned {
        let epochs = phases.get(&run.run_id).map_or(&[][..], Vec::as_slice);
        match timed
            .get(&kind)
            .and_then(|timed| Course::new(epochs, timed))
        {
            Some(course) => {
                courses.insert(run.run_id.clone(), course);
            }
            None if run.epochs > 0 && !unreliable.contains(&run.run_id) => {
                left.insert((run.dataset.clone(), run.encoder.clone()));
            }
            None => {}
        }
    }
    for run in &*runs {
        if left.contains(&(run.dataset.clone(), run.encoder.clone())) {
            courses.remove(&run.run_id);
        }
    }
    let incomparable = incomparable(runs, &courses);
    let mut machines: BTreeMap<String, usize> = BTreeMap::new();
    for run in &mut *runs {
        let Some(course) = courses.get(&run.run_id) else {
            continue;
        };
        run.train_seconds = *course.until.last().expect("a course has epochs");
        run.cache_seconds = course.cache;
        run.cpu_seconds = course.cpu;
        *machines.entry(course.machine.clone()).or_default() += 1;
    }
    for eval in evals {
        let course = courses.get(&eval.run_id);
        if let Some(&seconds) = course.and_then(|course| course.until.get(eval.epoch as usize)) {
            eval.train_seconds = seconds;
        }
    }
    let line = |(machine, n): (String, usize)| format!("{}: {machine}", counted(n, "run"));
    Retimed {
        lines: machines.into_iter().map(line).collect(),
        shares,
        incomparable,
    }
}

/// Ids of runs that were not timed, on a dataset and an encoder where others were, or where they are of several devices,
/// or one of them shared its machine.
fn incomparable(runs: &[RunRow], timed: &BTreeMap<String, Course>) -> BTreeSet<String> {
    let own: Vec<&RunRow> = runs
        .iter()
        .filter(|run| run.epochs > 0 && !timed.contains_key(&run.run_id))
        .collect();
    let mut devices: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    for run in &own {
        devices.entry(place(run)).or_default().insert(device(run));
    }
    let mut places: BTreeSet<(&str, &str)> = devices
        .into_iter()
        .filter_map(|(place, devices)| (devices.len() > 1).then_some(place))
        .collect();
    let of_pass = runs.iter().filter(|run| timed.contains_key(&run.run_id));
    places.extend(of_pass.map(place));
    let sharing = own.iter().filter(|run| shared_its_machine(run));
    places.extend(sharing.map(|run| place(run)));
    let of = own.iter().filter(|run| places.contains(&place(run)));
    of.map(|run| run.run_id.clone()).collect()
}

/// A process that waits for a GPU has its core to itself, whoever uses the GPU as well; then the load of the machine says
/// whether others were at work.
fn shared_its_machine(run: &RunRow) -> bool {
    let others = |load: f64| load > f64::from(run.threads) + 1.0;
    run.cpu_share().is_some_and(|share| share < LEAST_SHARE)
        || (device(run).starts_with("cuda") && run.load_average.is_some_and(others))
}

/// The kind of device that seconds depend on: `cpu, 2 threads`, `cuda (NVIDIA H200)`. It does not matter which of the GPUs
/// of a machine it was.
pub(crate) fn device(run: &RunRow) -> String {
    let (name, description) = run.device.split_once(' ').unwrap_or((&run.device, ""));
    let kind = name.split(':').next().unwrap_or_default();
    if kind == "cpu" {
        return format!("cpu, {}", counted(run.threads as usize, "thread"));
    }
    let parts = description.trim_matches(['(', ')']).split(", ");
    let model: Vec<&str> = parts.filter(|part| !part.starts_with("LibTorch")).collect();
    format!("{kind} ({})", model.join(", "))
}

/// The dataset and the encoder of a run.
fn place(run: &RunRow) -> (&str, &str) {
    (&run.dataset, &run.encoder)
}

/// The phase of each epoch of each run, from the first.
fn phases(evals: &[EvalRow]) -> BTreeMap<String, Vec<u32>> {
    let mut phases: BTreeMap<String, BTreeMap<u32, u32>> = BTreeMap::new();
    for eval in evals.iter().filter(|eval| eval.epoch > 0) {
        let of_run = phases.entry(eval.run_id.clone()).or_default();
        of_run.insert(eval.epoch, eval.phase);
    }
    let whole = |(run, epochs): (String, BTreeMap<u32, u32>)| {
        let every = epochs.keys().copied().eq(1..=epochs.len() as u32);
        every.then(|| (run, epochs.into_values().collect()))
    };
    phases.into_iter().filter_map(whole).collect()
}

/// The kind that a row of the timing pass is of.
pub(super) fn timed_kind(row: &TimingRow) -> Kind {
    [&row.experiment, &row.arm, &row.dataset, &row.encoder].map(String::clone)
}

/// The kind of a run that adapts an encoder.
pub(super) fn kind(run: &RunRow) -> Option<Kind> {
    let spec: Value = serde_json::from_str(&run.spec).ok()?;
    if spec.pointer("/work/kind")?.as_str()? != "fine-tune" {
        return None;
    }
    let experiment = run.experiment.strip_suffix(OF_TRIALS);
    let experiment = experiment.unwrap_or(&run.experiment);
    let arm = spec.get("arm")?.as_str()?;
    Some([experiment, arm, &run.dataset, &run.encoder].map(str::to_owned))
}

/// The seconds of a run, epoch by epoch.
struct Course {
    /// After so many epochs; before the first none.
    until: Vec<f64>,
    /// Of them, those of caching.
    cache: f64,
    /// Processor seconds of all epochs, if known.
    cpu: Option<f64>,
    machine: String,
}

impl Course {
    /// `None` where a phase was not timed, or the run has no epochs.
    fn new(phases: &[u32], timed: &BTreeMap<u32, &TimingRow>) -> Option<Self> {
        let first = timed.get(phases.first()?)?;
        let scaled = first
            .batches
            .map(|n| format!(", epochs scaled from {n} batches"));
        let mut course = Self {
            until: vec![0.0],
            cache: 0.0,
            cpu: Some(0.0),
            machine: format!(
                "{}, {}{}",
                first.machine,
                counted(first.threads as usize, "thread"),
                scaled.unwrap_or_default()
            ),
        };
        let (mut seconds, mut before) = (0.0, None);
        for phase in phases {
            let row = timed.get(phase)?;
            if before != Some(phase) {
                course.cache += row.cache_seconds;
                seconds += row.cache_seconds;
                before = Some(phase);
            }
            seconds += row.epoch_seconds;
            course.cpu = course
                .cpu
                .zip(row.cpu_seconds)
                .map(|(sum, epoch)| sum + epoch);
            course.until.push(seconds);
        }
        Some(course)
    }
}

#[cfg(test)]
mod tests;
