//! The runs of a profile, their states, and those that would run now.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde::Serialize;
use totune_data::Catalogue;

use crate::search::{Cell, Choice, Scored, UnequalSearch};
use crate::{Places, RunSpec, Stale, State, Store, parallel};

mod forecast;
mod hashes;
mod ids;
mod labels;
mod misfits;
mod order;
mod selection;
pub(crate) mod stale;

pub use forecast::Forecast;
pub use misfits::misfits;
pub use selection::{Selection, Shard};

use ids::{EndedById, RunIds};

/// All runs of a paper and profile, with their states.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// Paper.
    pub paper: String,
    /// Profile.
    pub profile: String,
    /// Every run that was selected, in the order of the experiment files.
    pub runs: Vec<PlannedRun>,
    /// Whether a run waits for a trial that another process is executing.
    pub waits_for_others: bool,
    /// Worker that executes it, where several share the store.
    #[serde(skip)]
    pub worker: Option<Shard>,
}

/// One run of a plan.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlannedRun {
    /// Run id; empty as long as a search has not chosen its settings.
    pub id: String,
    /// Display name that distinguishes it from its neighbours.
    pub label: String,
    /// State of the run.
    pub state: State,
    /// Whether `sweep run` would run it now.
    pub will_run: bool,
    /// Reason why it would run, or why not.
    pub why: String,
    /// Seconds of training and evaluation, if it is done.
    pub seconds: Option<f64>,
    /// Stale run that it replaces, since something that one read has changed.
    pub replaces: Option<Stale>,
    /// Attempts that have ended, of a run that failed.
    #[serde(skip)]
    pub(crate) rounds: u64,
    /// Its spec; before its search has chosen, with the values of the file in place of the chosen ones.
    pub spec: RunSpec,
}

impl PlannedRun {
    /// A run that belongs to no plan.
    pub fn unplanned(spec: RunSpec) -> Self {
        Self {
            rounds: 0,
            id: spec.id(),
            label: spec.label(),
            state: State::Missing,
            will_run: true,
            why: String::new(),
            seconds: None,
            replaces: None,
            spec,
        }
    }
}

impl Plan {
    /// Expands every experiment of the paper that has the profile, and looks up the state of each run.
    ///
    /// Where all trials of a search have ended, the runs that wait for it have the settings of the best trial. A run
    /// whose data, weights or cards have changed since appears under a new id.
    ///
    /// # Errors
    /// When an experiment or a card of the runs that have ended is wrong, or one of their files differs from its card.
    pub fn new(places: Places, paper: &str, profile: &str, selection: &Selection) -> Result<Self> {
        let Places { project, store, .. } = places;
        let experiments = project.experiments_with(paper, profile)?;
        let grids = experiments.iter().map(|each| each.grid(profile));
        let mut grids = grids.collect::<Result<Vec<_>>>()?;
        let mut ids = RunIds::read(places, (paper, profile))?;
        let adopted = grids.iter_mut().flat_map(|(runs, cells)| {
            let trials = cells.iter_mut().flat_map(|cell| &mut cell.trials);
            runs.iter_mut().chain(trials.flat_map(|(_, runs)| runs))
        });
        ids.adopt(adopted.collect())?;
        let mut entries = Vec::new();
        for (runs, cells) in grids {
            entries.extend(runs.into_iter().map(Entry::Known));
            for cell in &cells {
                let trials = cell.trials.iter().flat_map(|(_, runs)| runs);
                entries.extend(trials.cloned().map(Entry::Known));
                entries.extend(decided(&ids, store, cell, selection)?);
            }
        }
        let specs = entries.iter_mut().filter_map(Entry::known);
        ids.adopt(specs.collect())?;
        let selected = selection.of(entries.iter().map(|entry| (entry.id(), entry.spec())))?;
        let selected = entries.into_iter().zip(selected);
        let entries = selected.filter_map(|(entry, selected)| selected.then_some(entry));
        let entries: Vec<Entry> = entries.collect();
        let elsewhere = |entry: &Entry| matches!(entry, Entry::Undecided(run) if run.elsewhere);
        let waits_for_others = entries.iter().any(elsewhere);
        let ended = ids.into_ended();
        let planned = |entry: Entry| entry.planned(store, &ended, selection.retry_failed);
        let runs = parallel::map(entries, planned);
        let mut runs: Vec<PlannedRun> = runs.into_iter().collect::<Result<_>>()?;
        let labelled = runs.iter_mut().map(|run| (&mut run.label, &run.spec));
        labels::make_unique(&mut labelled.collect::<Vec<_>>());
        Ok(Self {
            paper: paper.to_string(),
            profile: profile.to_string(),
            waits_for_others,
            runs,
            worker: selection.worker,
        })
    }

    /// The runs that would run now.
    pub fn to_run(&self) -> Vec<&PlannedRun> {
        self.runs.iter().filter(|run| run.will_run).collect()
    }

    /// The experiments whose arms are searched with different numbers of trials.
    pub fn unequal_searches(&self) -> Vec<UnequalSearch> {
        UnequalSearch::among(self.runs.iter().map(|run| &run.spec))
    }

    /// Number of runs to repeat because something they read has changed, by reason.
    pub fn stale(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        let open = self.runs.iter().filter(|run| run.state != State::Done);
        for stale in open.filter_map(|run| run.replaces.as_ref()) {
            *counts.entry(stale.why.as_str()).or_insert(0) += 1;
        }
        counts
    }

    /// Number of runs in a state.
    pub fn count(&self, state: State) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }
}

/// A run of a plan before its state is looked up.
enum Entry {
    /// A run with a complete spec.
    Known(RunSpec),
    /// A run whose search has not chosen its settings, with the reason.
    Undecided(Undecided),
}

struct Undecided {
    spec: RunSpec,
    state: State,
    why: String,
    /// Whether another process is executing one of the trials.
    elsewhere: bool,
}

impl Entry {
    /// Id of the run; empty while its settings are not known.
    fn id(&self) -> String {
        match self {
            Self::Known(spec) => spec.id(),
            Self::Undecided(_) => String::new(),
        }
    }

    /// The complete spec, if there is one.
    fn known(&mut self) -> Option<&mut RunSpec> {
        match self {
            Self::Known(spec) => Some(spec),
            Self::Undecided(_) => None,
        }
    }

    fn spec(&self) -> &RunSpec {
        match self {
            Self::Known(spec) => spec,
            Self::Undecided(undecided) => &undecided.spec,
        }
    }

    fn planned(self, store: &Store, ended: &EndedById, retry_failed: bool) -> Result<PlannedRun> {
        match self {
            Self::Known(spec) => planned(store, ended, spec, retry_failed),
            Self::Undecided(undecided) => Ok(PlannedRun {
                id: String::new(),
                label: undecided.spec.label_before_its_search(),
                state: undecided.state,
                will_run: false,
                why: undecided.why,
                seconds: None,
                replaces: None,
                rounds: 0,
                spec: undecided.spec,
            }),
        }
    }
}

/// The runs that wait for a search, with the settings it has chosen so far.
fn decided(ids: &RunIds, store: &Store, cell: &Cell, selection: &Selection) -> Result<Vec<Entry>> {
    let metric = match &cell.metric {
        Some(metric) => metric.clone(),
        None => main_metric(ids.datasets()?, &cell.own[0].dataset)?,
    };
    let mut elsewhere = false;
    let scored = |run: &RunSpec| match store.state(&run.id()) {
        (State::Done, _) => Scored::of(&store.tables(&run.id())?, &metric),
        // A run that is to be repeated may yet get a score.
        (State::Failed, why) if !(selection.retry_failed && selection.has_id(&run.id())) => {
            Ok(Scored::Worst(why))
        }
        (state, _) => {
            elsewhere |= state == State::Running;
            Ok(Scored::Open)
        }
    };
    let choice = cell.choose(scored)?;
    let undecided = |state: State, why: String| {
        let own = cell.own.iter().cloned();
        own.map(|spec| {
            Entry::Undecided(Undecided {
                spec,
                state,
                why: why.clone(),
                elsewhere,
            })
        })
        .collect()
    };
    Ok(match choice {
        Choice::Made(runs) => runs.into_iter().map(Entry::Known).collect(),
        Choice::Open { done, of } => undecided(
            State::Waiting,
            format!("waits for its search: {done} of {of} trials done"),
        ),
        Choice::None { of, why } => undecided(
            State::Unresolvable,
            format!(
                "not possible: none of the {of} trials of its search has a score; the first {why}"
            ),
        ),
    })
}

fn main_metric(datasets: &Catalogue, dataset: &str) -> Result<String> {
    let card = datasets.find(dataset)?;
    let first = card.metrics.first().cloned();
    first.with_context(|| {
        format!("search.metric: dataset `{dataset}` names no metric; expected one here")
    })
}

fn planned(
    store: &Store,
    ended: &EndedById,
    spec: RunSpec,
    retry_failed: bool,
) -> Result<PlannedRun> {
    let id = spec.id();
    let ended = match ended.get(&id) {
        Some(ended) => Some(Ok(Arc::clone(ended))),
        None => store.ended_run(&id),
    };
    let (state, why) = store.state_after(&id, ended.as_ref());
    if state == State::Interrupted {
        store.refuse_newer(&id)?;
    }
    let will_run = match state {
        State::Missing | State::Interrupted => true,
        State::Failed => retry_failed,
        State::Done | State::Running | State::Waiting | State::Unresolvable => false,
    };
    let why = match state {
        State::Failed if !retry_failed => format!("{why}; --retry-failed runs it again"),
        State::Missing if let Some(stale) = &spec.replaces => {
            format!("run {} is stale: {}", stale.run, stale.why)
        }
        _ => why,
    };
    let ended = ended.filter(|_| state == State::Done);
    let rounds = match state {
        State::Failed => store.rounds(&id)?,
        _ => 0,
    };
    Ok(PlannedRun {
        label: spec.label(),
        id,
        rounds,
        state,
        will_run,
        why,
        seconds: ended.and_then(Result::ok).map(|run| run.seconds),
        replaces: spec.replaces.clone(),
        spec,
    })
}
