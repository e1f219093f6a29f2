//! The timing pass of a grid: seconds of an epoch of each kind of run when nothing else runs.
//!
//! A kind is an arm on a dataset with an encoder. Its seconds belong to a machine and not to a result, so they are in a
//! table of their own, `results/<paper>/<profile>/timing.parquet`, and no row of a run is changed by them.

mod kind;
mod machine;
mod request;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use totune_adapt::{PhaseTime, StepEvent, TimedPart, Watch, time_phases};
use totune_model::fused::TensorMemory;
use totune_record::{TimingRow, read_timing, write_timing};
use totune_stats::quartiles;

use crate::inputs::activation_store::ActivationStore;
use crate::provenance::{self, Code};
use crate::store::lease::Lease;
use crate::{Environment, Inputs, Machine, Prepared, Progress, Store, missing};
use kind::Kind;
pub(crate) use kind::without_rates;
use machine::{Usage, Verdict};
use request::Place;

pub use request::{Noise, TimingRequest};

/// Progress of a pass.
#[derive(Debug)]
pub enum TimingEvent<'a> {
    /// Timing of a kind begins.
    Begins {
        /// Number of the measurement, from 1.
        number: usize,
        /// Number of measurements.
        of: usize,
        /// Experiment, arm, dataset and encoder of the first kind that it is of.
        label: &'a str,
    },
    /// Timing of a kind has ended, with a row for each phase.
    Ends(&'a [TimingRow]),
}

/// Outcome of a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimingSummary {
    /// The folder with the table.
    pub folder: PathBuf,
    /// Kinds timed by this pass.
    pub timed: usize,
    /// Kinds timed before.
    pub kept: usize,
    /// Kinds among both whose machine was not quiet.
    pub noisy: usize,
    /// Runs that have no epochs to time, by their kind of work.
    pub left_out: BTreeMap<&'static str, usize>,
    /// True if it was stopped from outside.
    pub stopped: bool,
}

/// Times each kind of fine-tuning run in the plan once, at its first seed, and writes the table after each, so that an
/// interrupted pass can be resumed. Kinds that differ only in their learning rates have the same seconds, which are
/// measured once.
///
/// Kinds that were timed on a quiet machine are kept, if they were timed with these settings, threads and device, on
/// this machine, and for as many epochs. Rows of kinds that the plan no longer has are removed when the table is
/// written.
///
/// # Errors
/// When an experiment or a dataset that is named is not in the plan, files are missing, another pass is running, the table
/// cannot be written, or the machine is not quiet and [`Noise`] is refused.
pub fn time(
    request: &TimingRequest,
    progress: &dyn Progress,
    hear: &dyn Fn(&TimingEvent),
) -> Result<TimingSummary> {
    let TimingRequest {
        plan, environment, ..
    } = *request;
    let (kinds, left_out) = kind::kinds(plan);
    let runs = plan.runs.iter().map(|run| (run.id.clone(), &run.spec));
    request.only.of(runs)?;
    let is_asked = |kind: &Kind| request.only.names(kind.spec);
    let folder = environment.project.results(&plan.paper, &plan.profile);
    let read = || -> Result<Vec<TimingRow>> {
        let mut rows = read_timing(&folder)?;
        rows.retain(|row| kinds.iter().any(|kind| kind.is_of(row)));
        Ok(rows)
    };
    let mut rows = read()?;
    let place = Place::of(environment.machine);
    let stands = |kind: &Kind| !request.again && kind.stands(&rows, &place, request);
    let to_time: Vec<&Kind> = kinds
        .iter()
        .filter(|kind| is_asked(kind) && !stands(kind))
        .collect();
    let mut summary = TimingSummary {
        kept: kinds.iter().filter(|kind| stands(kind)).count(),
        left_out,
        ..TimingSummary::default()
    };
    if !to_time.is_empty() {
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("{}: cannot create", folder.display()))?;
        let scratch = Scratch::take(request.store)?;
        rows = read()?; // what another pass has written in the meantime
        let pass = Pass::new(request, place, &to_time, &scratch, progress)?;
        let groups = kind::groups(to_time);
        for (number, group) in (1..).zip(&groups) {
            let (of, label) = (groups.len(), label(group));
            hear(&TimingEvent::Begins {
                number,
                of,
                label: &label,
            });
            let Some((phases, seen)) = pass.time(group[0])? else {
                summary.stopped = true;
                break;
            };
            let of_kind = |kind: &Kind| pass.rows(kind, &phases, &seen);
            hear(&TimingEvent::Ends(&of_kind(group[0])));
            rows.retain(|row| !group.iter().any(|kind| kind.is_named_in(row)));
            rows.extend(group.iter().flat_map(|kind| of_kind(kind)));
            write_timing(&folder, &rows)?;
            summary.timed += group.len();
        }
    }
    let noisy = |kind: &&Kind| rows.iter().any(|row| kind.is_of(row) && !row.quiet);
    summary.noisy = kinds.iter().filter(noisy).count();
    summary.folder = folder;
    Ok(summary)
}

/// The folder of a pass's cached activations, which this process owns and removes.
struct Scratch {
    folder: PathBuf,
    _lease: Lease,
}

impl Scratch {
    fn take(store: &Store) -> Result<Self> {
        let owned = store.folder("timing");
        std::fs::create_dir_all(&owned)
            .with_context(|| format!("{}: cannot create", owned.display()))?;
        let Some(lease) = Lease::wait(&owned)? else {
            bail!(
                "{}: another timing pass is at work; expected one at a time on a machine",
                owned.display()
            );
        };
        let folder = owned.join("activations");
        // Leftovers of a pass that was killed.
        let _ = std::fs::remove_dir_all(&folder);
        Ok(Self {
            folder,
            _lease: lease,
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A pass with all inputs of its kinds.
struct Pass<'a> {
    request: &'a TimingRequest<'a>,
    place: Place,
    code: Code,
    inputs: Inputs,
}

impl<'a> Pass<'a> {
    /// Loads the inputs of the kinds, once the machine is quiet or need not be.
    fn new(
        request: &'a TimingRequest<'a>,
        place: Place,
        kinds: &[&Kind],
        scratch: &Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let Environment {
            project,
            roots,
            machine,
        } = request.environment;
        let specs = || kinds.iter().map(|kind| kind.spec);
        if let Some(message) = missing(project, roots, specs())? {
            bail!("files are missing; nothing was timed\n\n{message}");
        }
        if request.noise == Noise::Refused {
            machine::expect_quiet_before()?;
        }
        let states = ActivationStore::new(scratch.folder.clone(), machine.cache_budget);
        Ok(Self {
            request,
            place,
            code: Code::of(&project.root),
            inputs: Inputs::load(request.environment, specs(), states, progress)?,
        })
    }

    /// Times the phases of one kind; `None` when it was stopped from outside.
    fn time(&self, kind: &Kind) -> Result<Option<(Vec<PhaseTime>, Measurement)>> {
        let machine = self.request.environment.machine;
        if machine.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let load_average = provenance::load_average();
        let started = provenance::now();
        let usage = Usage::start();
        let memory = TensorMemory::begin(&machine.device);
        let Some(Prepared {
            task,
            encoder,
            training,
            seed,
        }) = self.inputs.prepare(kind.spec)?
        else {
            return Ok(None);
        };
        let mut watch = Stops(machine);
        let TimingRequest {
            epochs, batches, ..
        } = *self.request;
        let part = TimedPart { epochs, batches };
        let phases = time_phases(encoder, &task, (&training, seed), part, &mut watch);
        let Some(phases) = phases.with_context(|| kind.label())? else {
            return Ok(None);
        };
        let others = usage.others();
        let tensor_memory = memory.map(TensorMemory::end);
        let verdict = Verdict::of(share(&phases, machine.threads), others);
        if !verdict.quiet && self.request.noise == Noise::Refused {
            bail!(
                "the machine was not quiet while {} was timed: {}; stop what else runs and rerun the same command (kinds \
                 timed before are kept), or mark such rows with --anyway",
                kind.label(),
                verdict.why
            );
        }
        let of_whole = task.train.len().div_ceil(training.batch_size);
        let seen = Measurement {
            batches: batches.filter(|n| *n < of_whole),
            tensor_memory,
            others,
            quiet: verdict.quiet,
            load_average,
            started,
        };
        Ok(Some((phases, seen)))
    }

    /// Timing rows of a kind, one for each phase.
    fn rows(&self, kind: &Kind, phases: &[PhaseTime], seen: &Measurement) -> Vec<TimingRow> {
        let phases = phases.iter().enumerate();
        let row = |(phase, time): (usize, &PhaseTime)| self.row(kind, (phase as u32, time), seen);
        phases.map(row).collect()
    }

    /// Timing row of a phase.
    fn row(&self, kind: &Kind, (phase, time): (u32, &PhaseTime), seen: &Measurement) -> TimingRow {
        let seconds: Vec<f64> = time.epochs.iter().map(|epoch| epoch.seconds).collect();
        let [fastest, _, median, _, slowest] = quartiles(&seconds);
        let cpu: Option<Vec<f64>> = time.epochs.iter().map(|epoch| epoch.cpu_seconds).collect();
        TimingRow {
            paper: kind.spec.paper.clone(),
            experiment: kind.spec.experiment.clone(),
            arm: kind.spec.arm.clone(),
            dataset: kind.spec.dataset.clone(),
            encoder: kind.spec.encoder().unwrap_or_default().to_string(),
            settings: kind.settings().to_string(),
            phase,
            epochs: time.epochs.len() as u32,
            batches: seen.batches.map(|n| n as u32),
            epoch_seconds: median,
            fastest,
            slowest,
            cpu_seconds: cpu.map(|cpu| quartiles(&cpu)[2]),
            cache_seconds: time.cache_seconds,
            tensor_memory: seen.tensor_memory,
            others: seen.others,
            quiet: seen.quiet,
            load_average: seen.load_average,
            threads: self.place.threads,
            device: self.place.device.clone(),
            machine: self.place.machine.clone(),
            code_commit: self.code.commit.clone(),
            code_dirty: self.code.dirty,
            started: seen.started,
        }
    }
}

/// Display label of kinds that are timed together.
fn label(group: &[&Kind]) -> String {
    match group.len() {
        1 => group[0].label(),
        n => format!("{} and {} alike", group[0].label(), n - 1),
    }
}

/// Batches of an epoch that a kind was timed on, its memory, and the load of the machine.
struct Measurement {
    batches: Option<usize>,
    /// Bytes; `None` on a device that does not count them.
    tensor_memory: Option<u64>,
    others: Option<f64>,
    quiet: bool,
    load_average: Option<f64>,
    started: u64,
}

/// CPU seconds divided by wall seconds times threads, over all timed epochs.
fn share(phases: &[PhaseTime], threads: usize) -> Option<f64> {
    let epochs = || phases.iter().flat_map(|phase| &phase.epochs);
    let wall: f64 = epochs().map(|epoch| epoch.seconds).sum();
    let cpu: Option<f64> = epochs().map(|epoch| epoch.cpu_seconds).sum();
    cpu.map(|cpu| cpu / (wall * threads as f64))
}

/// Ends the training when the machine is to stop.
struct Stops<'a>(&'a Machine);

impl Watch for Stops<'_> {
    fn step(&mut self, _: &StepEvent) -> ControlFlow<()> {
        if self.0.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use totune_adapt::EpochTime;

    #[test]
    fn the_share_is_of_all_epochs_and_unknown_where_one_is() {
        let epoch = |seconds, cpu_seconds| EpochTime {
            seconds,
            cpu_seconds,
        };
        let phase = |epochs| PhaseTime {
            cache_seconds: 9.0,
            epochs,
        };
        let phases = [
            phase(vec![epoch(1.0, Some(2.0)), epoch(1.0, Some(1.0))]),
            phase(vec![epoch(2.0, Some(3.0))]),
        ];
        assert_eq!(share(&phases, 2), Some(0.75));
        assert_eq!(share(&[phase(vec![epoch(1.0, None)])], 2), None);
    }
}
