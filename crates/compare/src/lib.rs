//! Comparison of strategies on a user's own data.
//!
//! [`compare`] takes a dataset with its splits ([`DatasetSplits`]) and a time budget, and returns a [`Comparison`]:
//! floors first, then strategies in a race by time, each with learning rates of its own. The strategy is chosen on dev
//! and scored on test, with confidence intervals; undecided differences are reported as undecided.
//!
//! | module | what it has |
//! |---|---|
//! | `dataset`, `clock`, `strategies` | the data with its splits, the time budget, and the strategies that compete |
//! | `runner`, `trial`, `model` | one training: its settings, its result, the model that is kept |
//! | `predictions`, `scorer`, `floors` | predictions and their scores, with intervals; scores without an encoder |
//! | `race/` | costs and trials within the budget, stage by stage |
//! | `folds/` | cross-validation in place of a race, below a thousand rows |
//! | `result/` | the choice, in words, as rows, and as a page |
//! | `reference` | settings trained without a budget, for the benchmark of the choices |
//!
//! Runs are those of `sweep`, without a store: nothing here is a paper's. This crate opens no file of data and knows no
//! command line; progress is reported to a [`Progress`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod clock;
mod dataset;
mod floors;
mod folds;
mod model;
mod predictions;
mod progress;
mod race;
mod reading;
mod reference;
mod result;
mod runner;
mod scorer;
mod strategies;
#[cfg(test)]
mod test_support;
mod trial;

use anyhow::{Context, Result};
use totune_adapt::{Dtype, Strategy};
use totune_data::{Dataset, Pairs, Splits};
use totune_sweep::Environment;

pub use clock::Clock;
pub use dataset::{DatasetSplits, SMALL, SplitKind};
pub use model::Model;
pub use predictions::Predictions;
pub use progress::{Progress, Stage};
pub use reference::{Reference, Scores, Setting};
pub use result::{Comparison, Errors, LearningCurve, Row, page};
pub use scorer::Estimate;
pub use strategies::{SEPARATE, usual_entrants, usual_strategies};

use crate::folds::Folds;
use crate::race::candidate::Candidate;
use crate::race::{Race, measuring};
use crate::result::row::ScoredRow;
use crate::result::{ComparisonInput, conclude, learning_curve};
use crate::runner::Runner;
use crate::strategies::{Entrant, usual_pairs};

/// The settings of a comparison.
#[derive(Debug, Clone)]
pub struct Request {
    /// Names of the encoders; every strategy is tried on each.
    pub encoders: Vec<String>,
    /// Encoding of the two texts of a pair; without one that of [`usual_entrants`], and of named strategies joint.
    pub pairs: Option<Pairs>,
    /// Dtype of the arithmetic of all trainings.
    pub dtype: Dtype,
    /// The strategies, the last of which is dropped first when time is short; the usual ones where there are none.
    pub strategies: Vec<Strategy>,
    /// The time budget.
    pub clock: Clock,
    /// Seeds of the leaders, at most.
    pub most_seeds: usize,
    /// Differences up to this one do not matter.
    pub margin: f64,
    /// True to keep a model: that of the chosen strategy, or of the best one where a floor was chosen.
    pub keeps_model: bool,
}

/// A comparison, and the test predictions of the chosen model.
#[derive(Debug)]
pub struct Outcome {
    /// The result.
    pub comparison: Comparison,
    /// The test examples and their predictions; none where nothing was chosen.
    pub test: Option<(Dataset, Predictions)>,
    /// The model of [`Comparison::kept`], if one was requested and there was time for it.
    pub model: Option<Model>,
}

/// Shares of the budget that predictions take at most: those of dev after an epoch, those of test, and the vectors that
/// floors are fitted on.
const DEV_SHARE: f64 = 0.008;
const TEST_SHARE: f64 = 0.016;
const FLOOR_SHARE: f64 = 0.08;

/// Compares strategies on `data`.
///
/// # Errors
/// When the encoder is missing, a setting does not fit the data, or the device fails. A budget that is too short is no
/// error: strategies that did not fit are named in the result.
pub fn compare(
    data: &DatasetSplits,
    environment: Environment,
    request: &Request,
    progress: &dyn Progress,
) -> Result<Outcome> {
    let activations = tempfile::tempdir().context("cannot make a temporary folder")?;
    progress.stage(&Stage::of("loading encoders", request.clock));
    let sample_name = format!("{}-sample", data.name);
    let mut splits = vec![("train".to_string(), data.splits.train().clone())];
    splits.extend(data.cost_sample(&sample_name));
    let mut runner = Runner::new(environment, &request.encoders, splits, activations.path())?;
    runner.keeps_models = request.keeps_model;
    runner.dtype = request.dtype;
    let on_sample = race(&runner, data, request, progress);
    let entrants = measuring::measured(
        &on_sample,
        entrants(&runner, request, data.splits.train()),
        &sample_name,
    )?;
    match &data.splits {
        SplitKind::TrainDevTest(splits) => {
            by_race((data, splits), (request, progress), &mut runner, entrants)
        }
        SplitKind::Folds { all, folds } => by_folds(
            (data, all, folds),
            (request, progress),
            &mut runner,
            entrants,
        ),
    }
}

/// Each strategy on each encoder, strategy by strategy, so that what is dropped first is the last strategy on all of them.
fn entrants(runner: &Runner, request: &Request, train: &Dataset) -> Vec<Entrant> {
    let of_encoder = runner.encoders.iter().map(|encoder| {
        let architecture = &encoder.card.architecture;
        match (request.strategies.as_slice(), request.pairs) {
            ([], None) => usual_entrants(architecture, train),
            ([], Some(pairs)) => {
                let usual = usual_entrants(architecture, train).into_iter();
                usual.map(|(strategy, _)| (strategy, pairs)).collect()
            }
            (named, asked) => {
                let own = |one| (one, asked.unwrap_or_else(|| usual_pairs(one, train)));
                named.iter().copied().map(own).collect()
            }
        }
    });
    let of_encoder: Vec<Vec<(Strategy, Pairs)>> = of_encoder.collect();
    let most = of_encoder.iter().map(Vec::len).max().unwrap_or(0);
    let places =
        (0..most).flat_map(|place| (0..of_encoder.len()).map(move |encoder| (place, encoder)));
    let entrants = places.filter_map(|(place, encoder)| {
        let (strategy, pairs) = *of_encoder[encoder].get(place)?;
        Some(Entrant {
            encoder,
            strategy,
            pairs,
        })
    });
    entrants.collect()
}

/// Chooses on dev, scores on test.
fn by_race(
    (data, splits): (&DatasetSplits, &Splits),
    (request, progress): (&Request, &dyn Progress),
    runner: &mut Runner,
    (mut candidates, without_time): (Vec<Candidate>, Vec<Entrant>),
) -> Result<Outcome> {
    let clock = request.clock;
    let mut notes = data.notes.clone();
    notes.extend(reading::notes(&runner.encoders));
    // By the fastest candidate, since all are evaluated on the same examples.
    let seconds = candidates.iter().map(|candidate| candidate.cost.predict);
    let seconds = seconds.fold(f64::INFINITY, f64::min).max(1e-9);
    let within = |share: f64| (clock.budget() * share / seconds) as usize;
    for (split, part, most) in [
        ("dev", &splits.dev, within(DEV_SHARE)),
        ("test", &splits.test, within(TEST_SHARE)),
    ] {
        let used = dataset::reduced(part, most.max(100), split, &mut notes)?;
        runner.insert(split, used);
    }
    progress.stage(&Stage::of("floors", clock));
    let most = within(FLOOR_SHARE);
    let limit = (most < splits.train.examples.len()).then_some(most.max(100));
    let floors = floors::all(runner, &data.name, limit, &mut notes)?;
    let race = race(runner, data, request, progress);
    race.run(&mut candidates)?;
    let scorer = &runner.scorer;
    let of_floors = floors.iter().map(|one| ScoredRow::of_floor(one, scorer));
    let rows = of_floors.chain(
        candidates
            .iter()
            .map(|one| ScoredRow::of_candidate(one, runner)),
    );
    let rows = rows.chain(ScoredRow::without_time(&without_time, runner));
    let parts = ComparisonInput {
        scorer,
        rows: rows.collect(),
        test: runner.split(&data.name, "test"),
        notes,
        stopped: runner.is_stopped(),
    };
    let mut outcome = conclude(data, request, parts, &|name| {
        let mut named = candidates.iter();
        let candidate = named.find(|candidate| runner.name(candidate.entrant) == name);
        candidate.map_or(Ok(Vec::new()), |candidate| {
            learning_curve::learning_curve(&race, candidate)
        })
    })?;
    outcome.note_examples();
    let kept = outcome.comparison.kept().map(|row| &row.name);
    let mut named = candidates.iter_mut();
    let kept = named.find(|one| Some(&runner.name(one.entrant)) == kept);
    outcome.model = kept.and_then(Candidate::take_model);
    Ok(outcome)
}

/// Chooses and scores by cross-validation.
fn by_folds(
    (data, all, indices): (&DatasetSplits, &Dataset, &[Vec<usize>]),
    (request, progress): (&Request, &dyn Progress),
    runner: &mut Runner,
    (candidates, without_time): (Vec<Candidate>, Vec<Entrant>),
) -> Result<Outcome> {
    let n_sample = model::SAMPLE.min(all.examples.len());
    let sample: Vec<usize> = (0..n_sample).collect();
    // Where the model that is kept, which is trained on all examples, is compared with what was saved of it.
    runner.insert("test", all.part(&sample, &data.name));
    let folds = Folds::new(data, (all, indices), runner);
    progress.stage(&Stage::of("floors", request.clock));
    let floors = folds.floors(runner)?;
    let race = race(runner, data, request, progress);
    let candidates = folds.run(&race, candidates, &floors)?;
    let scorer = &runner.scorer;
    let of_floors = floors.iter().map(|one| ScoredRow::of_floor(one, scorer));
    let mut rows: Vec<ScoredRow> = of_floors
        .chain(candidates.iter().map(|one| one.row(runner, &indices[0])))
        .chain(ScoredRow::without_time(&without_time, runner))
        .collect();
    // All scores are of the same examples: there is no other split that the choice was made on.
    rows.iter_mut().for_each(|scored| scored.row.dev = None);
    let of_reading = reading::notes(&runner.encoders);
    let parts = ComparisonInput {
        scorer,
        rows,
        test: Some(all),
        notes: data.notes.iter().cloned().chain(of_reading).collect(),
        stopped: runner.is_stopped(),
    };
    let mut outcome = conclude(data, request, parts, &|_| Ok(Vec::new()))?;
    if let Some((_, chosen)) = &outcome.test {
        let parts = (&floors[..], &candidates[..]);
        folds::correct(
            &mut outcome.comparison,
            (scorer, chosen),
            parts,
            &indices[0],
        )?;
    }
    outcome.note_examples();
    if request.keeps_model {
        outcome.model = folds.model(&race, &outcome.comparison, &candidates)?;
    }
    Ok(outcome)
}

fn race<'a>(
    runner: &'a Runner<'a>,
    data: &'a DatasetSplits,
    request: &Request,
    progress: &'a dyn Progress,
) -> Race<'a> {
    Race {
        runner,
        data: &data.name,
        clock: request.clock,
        began: request.clock.spent() / request.clock.budget(),
        most_seeds: request.most_seeds,
        progress,
    }
}
