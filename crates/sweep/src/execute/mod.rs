//! Executes the runs of a plan.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use totune_adapt::Interrupted;
use totune_record::{RunRow, Tables, storage_advice};

use crate::inputs::activation_store::ActivationStore;
use crate::plan::stale;
use crate::provenance::{self, Code};
use crate::spec::Sources;
use crate::store::Claim;
use crate::store::phases::PhaseClock;
use crate::work::checkpoint::CheckpointPlace;
use crate::work::failure::{catch, one_line, status_of};
use crate::work::{self, Outcome, Resources};
use crate::{
    EndScore, Ended, Environment, Inputs, Listeners, Machine, Plan, PlannedRun, Position, Progress,
    Project, RunSpec, Silent, State, Store, missing, parallel,
};

mod run_log;

use run_log::RunLog;

/// Outcome of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Runs finished by this sweep, diverged ones included.
    pub finished: usize,
    /// Runs of the plan that failed or ran out of memory, now or before, or whose search has no trial with a score.
    pub failed: usize,
    /// Runs that another process owned and has not ended.
    pub elsewhere: usize,
    /// True if the sweep was stopped from outside.
    pub stopped: bool,
}

/// Executes the runs of a plan that are due: first the kinds that run many at once, then the others one after another.
///
/// Everything that runs read is loaded and verified before anything is written. A run that fails becomes a row and
/// the sweep goes on; an error is returned where going on makes no sense: bad inputs, or results that cannot be
/// written.
pub fn execute(
    plan: &Plan,
    store: &Store,
    environment: Environment,
    progress: &dyn Progress,
) -> Result<Summary> {
    let Environment {
        project,
        roots,
        machine,
    } = environment;
    let to_run = plan.to_run();
    let specs = || to_run.iter().map(|run| &run.spec);
    if let Some(message) = missing(project, roots, specs())? {
        bail!("files are missing; nothing was run and nothing was written\n\n{message}");
    }
    progress.begin(plan);
    let began = Instant::now();
    let inputs = Inputs::load(
        environment,
        specs(),
        ActivationStore::new(store.states(), machine.cache_budget),
        progress,
    )?;
    let sweep = Sweep {
        inputs,
        loading: Mutex::new(began.elapsed().as_secs_f64()),
        code: Code::of(&project.root),
        cards: cards_of(project, &to_run)?,
        store,
        machine,
        progress,
        begun: AtomicUsize::new(0),
        to_run: to_run.len(),
    };
    let (together, alone): (Vec<&PlannedRun>, _) = to_run
        .iter()
        .copied()
        .partition(|run| run.spec.runs_in_parallel());
    // Where one cannot be written, the others could not either.
    let broken = AtomicBool::new(false);
    let ends = parallel::map(plan.beginning_apart(together), |run| {
        if broken.load(Ordering::Relaxed) {
            return Ok((run, End::Stopped));
        }
        let end = sweep.run(run);
        broken.fetch_or(end.is_err(), Ordering::Relaxed);
        Ok((run, end?))
    });
    let mut ends: Vec<(&PlannedRun, End)> = ends.into_iter().collect::<Result<_>>()?;
    for run in plan.in_order(alone) {
        provenance::reset_peak_memory();
        ends.push((run, sweep.run(run)?));
    }
    progress.end();

    let count = |end: End| ends.iter().filter(|(_, other)| *other == end).count();
    let before = Summary::of_nothing(plan);
    // A run that another process owned may have ended in the meantime.
    let met = ends.iter().filter(|(_, end)| *end == End::Elsewhere);
    let known = plan.runs.iter().filter(|run| run.state == State::Running);
    let elsewhere = known
        .chain(met.map(|(run, _)| *run))
        .filter(|run| !store.done_since(&run.id) && store.state(&run.id).0 != State::Failed)
        .count();
    Ok(Summary {
        finished: count(End::Finished),
        failed: count(End::Failed) + before.failed,
        elsewhere,
        stopped: count(End::Stopped) > 0,
    })
}

/// The cards that a run follows: dataset, encoder, texts.
type CardNames = (String, Option<String>, Vec<String>);

fn card_names(spec: &RunSpec) -> CardNames {
    let encoder = spec.encoder().map(str::to_owned);
    (spec.dataset.clone(), encoder, spec.texts().to_vec())
}

/// Facts from the cards that these runs follow.
fn cards_of(project: &Project, runs: &[&PlannedRun]) -> Result<BTreeMap<CardNames, Sources>> {
    let (datasets, encoders) = (project.datasets()?, project.encoders()?);
    let mut found = BTreeMap::new();
    for run in runs {
        if let Entry::Vacant(free) = found.entry(card_names(&run.spec)) {
            let encoder = run.spec.encoder().map(|name| encoders.find(name));
            let facts = stale::cards(project, &datasets, encoder.transpose()?, &run.spec)?;
            free.insert(facts);
        }
    }
    Ok(found)
}

impl Summary {
    /// Summary before anything is run.
    pub fn of_nothing(plan: &Plan) -> Self {
        let failed = plan
            .runs
            .iter()
            .filter(|run| match run.state {
                State::Failed => !run.will_run,
                state => state == State::Unresolvable,
            })
            .count();
        Self {
            finished: 0,
            failed,
            elsewhere: plan.count(State::Running),
            stopped: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Ended by this sweep.
    Finished,
    /// Ended by another sweep since the plan was made.
    Done,
    /// Failed, in this sweep or another one.
    Failed,
    /// Owned by another process.
    Elsewhere,
    /// Not started, or started and stopped.
    Stopped,
}

struct Sweep<'a> {
    inputs: Inputs,
    /// Seconds of loading them, until a run has them among its phases.
    loading: Mutex<f64>,
    code: Code,
    /// Facts from the cards that the runs follow.
    cards: BTreeMap<CardNames, Sources>,
    store: &'a Store,
    machine: &'a Machine,
    progress: &'a dyn Progress,
    begun: AtomicUsize,
    to_run: usize,
}

impl Sweep<'_> {
    fn run(&self, run: &PlannedRun) -> Result<End> {
        if self.machine.stop.load(Ordering::Relaxed) {
            return Ok(End::Stopped);
        }
        let position = Position {
            number: self.begun.fetch_add(1, Ordering::Relaxed) + 1,
            of: self.to_run,
        };
        // Many workers go through the same plan, and most of its runs are done when one comes to them.
        if run.state == State::Missing && self.store.done_since(&run.id) {
            self.progress.skipped(run);
            return Ok(End::Done);
        }
        let Some(claim) = self.store.claim(&run.spec)? else {
            self.progress.skipped(run);
            return Ok(End::Elsewhere);
        };
        // Another process may have done it between the plan and the claim.
        match self.store.ended(&run.id) {
            Some((State::Done, _)) => {
                self.progress.skipped(run);
                return Ok(End::Done);
            }
            // Of several workers that retry what has failed, one does so.
            Some((State::Failed, _))
                if run.state != State::Failed || self.store.rounds(&run.id)? > run.rounds =>
            {
                self.progress.skipped(run);
                return Ok(End::Failed);
            }
            _ => {}
        }
        claim.begin(&run.spec, &self.cards[&card_names(&run.spec)])?;
        let log = RunLog::open(claim.folder())?;
        let heard = Listeners(vec![&log, self.progress]);
        heard.started(position, run);
        let phases = PhaseClock::start(self.take_loading());
        let Some(outcome) = self.perform(&run.spec, &claim, (&log, &heard), &phases)? else {
            heard.stopped(run);
            return Ok(End::Stopped);
        };
        let worked = phases.seconds();
        let Some(tables) = self.finish(&claim, outcome)? else {
            log.line("another process has taken this run over; its results count");
            heard.stopped(run);
            return Ok(End::Elsewhere);
        };
        let metrics = self.inputs.metrics(&run.spec);
        let run_row = &tables.runs[0];
        phases.write(claim.folder(), run_row, worked);
        // A run that has resumed has taken longer than this part of it.
        let own = run_row.train_seconds - run_row.cache_seconds + run_row.eval_seconds;
        let ended = Ended {
            took: Duration::from_secs_f64(phases.seconds().max(own)),
            ..ended(&run.spec, &tables, metrics)
        };
        heard.finished(position, run, &ended);
        Ok(if ["ok", "diverged"].contains(&ended.status.as_str()) {
            End::Finished
        } else {
            End::Failed
        })
    }

    fn take_loading(&self) -> f64 {
        std::mem::take(&mut *self.loading.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does the work and turns failures and panics into outcomes; `None` when it was stopped from outside.
    ///
    /// # Errors
    /// When the file system fails, which says nothing of the run: it stays interrupted.
    fn perform(
        &self,
        spec: &RunSpec,
        claim: &Claim,
        (log, progress): (&RunLog, &dyn Progress),
        phases: &PhaseClock,
    ) -> Result<Option<Outcome>> {
        let row = row(spec, &self.inputs, &self.code, self.machine);
        log.place(&row);
        let blank = row.clone();
        let resources = Resources {
            inputs: &self.inputs,
            machine: self.machine,
            progress,
            checkpoints: self
                .machine
                .checkpoint_every
                .map(|every| CheckpointPlace { claim, every }),
            phases,
        };
        let work = || work::perform(spec, row, resources);
        let failed = |error: String| {
            // The full message; rows have the beginning.
            log.line(&error);
            let error = one_line(&error);
            Outcome {
                run: RunRow {
                    status: status_of(&error).to_string(),
                    error,
                    ..blank
                },
                evals: Vec::new(),
                predictions: Vec::new(),
            }
        };
        Ok(match catch(work) {
            Ok(Ok(outcome)) => Some(outcome),
            Ok(Err(error)) if error.is::<Interrupted>() => None,
            Ok(Err(error)) if storage_advice(&error).is_some() => return Err(error),
            Ok(Err(error)) => Some(failed(format!("{error:#}"))),
            Err(panic) => Some(failed(panic)),
        })
    }

    /// Publishes the rows of a run; `None` if another process has taken it over.
    fn finish(&self, claim: &Claim, outcome: Outcome) -> Result<Option<Tables>> {
        let Outcome {
            mut run,
            evals,
            predictions,
        } = outcome;
        run.peak_memory = run.peak_memory.max(provenance::peak_memory());
        let tables = Tables {
            runs: vec![run],
            evals,
            predictions,
        };
        Ok(claim.finish(&tables)?.then_some(tables))
    }
}

impl Inputs {
    /// Does the work of a run without a store and returns its rows; `None` when it was stopped from outside.
    ///
    /// # Errors
    /// When its inputs were not loaded, or the work fails.
    pub fn perform(&self, spec: &RunSpec, machine: &Machine) -> Result<Option<Tables>> {
        let resources = Resources {
            inputs: self,
            machine,
            progress: &Silent,
            checkpoints: None,
            phases: &PhaseClock::start(0.0),
        };
        let row = row(spec, self, &Code::default(), machine);
        match work::perform(spec, row, resources) {
            Ok(outcome) => Ok(Some(Tables {
                runs: vec![outcome.run],
                evals: outcome.evals,
                predictions: outcome.predictions,
            })),
            Err(error) if error.is::<Interrupted>() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A run's row before it has run.
fn row(spec: &RunSpec, inputs: &Inputs, code: &Code, machine: &Machine) -> RunRow {
    let [dataset_hash, checkpoint_hash, tokenizer_hash] = inputs.hashes(spec).unwrap_or_default();
    RunRow {
        run_id: spec.id(),
        paper: spec.paper.clone(),
        experiment: spec.experiment.clone(),
        profile: spec.profile.clone(),
        spec: spec.canonical_json(),
        code_commit: code.commit.clone(),
        code_dirty: code.dirty,
        dataset: spec.dataset.clone(),
        dataset_hash,
        encoder: spec.encoder().unwrap_or_default().to_string(),
        checkpoint_hash,
        tokenizer_hash,
        seed: spec.seed,
        device: machine.device_name.clone(),
        threads: machine.threads as u32,
        load_average: provenance::load_average(),
        started: provenance::now(),
        status: "ok".to_string(),
        ..RunRow::default()
    }
}

/// Outcome of a run, by the first of the dataset's `metrics` that it has a score for: on dev for a trial, else on test.
fn ended(spec: &RunSpec, tables: &Tables, metrics: &[String]) -> Ended {
    let run = &tables.runs[0];
    let split = if spec.is_trial() { "dev" } else { "test" };
    let finals = || {
        let rows = tables.evals.iter();
        rows.filter(|row| row.is_final && row.split == split && row.metric != "loss")
    };
    let by = |metric: &String| finals().find(|row| row.metric == *metric);
    let score = metrics.iter().find_map(by).or_else(|| finals().next());
    Ended {
        status: run.status.clone(),
        error: run.error.clone(),
        score: score.map(|row| EndScore {
            split: row.split.clone(),
            metric: row.metric.clone(),
            value: row.value,
        }),
        took: Duration::ZERO,
    }
}
