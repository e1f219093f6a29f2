//! The race: learning rates are eliminated within a strategy before strategies are, by time and not by epochs.
//!
//! Each trial is a complete short schedule and never the beginning of a longer one, so its score is that of a model
//! that could be used. First the learning rates of all strategies have the same time, those of late learners twice as
//! much; the better one of each continues with more time; the strategies that are not significantly worse than the best
//! on dev reach the last stage, where seeds are added until one is ahead or the time is over; where the data is too much
//! for that, the best two are trained once for as long as possible.

use anyhow::Result;
use totune_adapt::LEAST_SEEN;

use crate::clock::Clock;
use crate::progress::{Progress, Stage};
use crate::runner::Runner;
use crate::strategies::Entrant;
use crate::trial::{Size, Trial, TrialResult};

pub(crate) mod candidate;
pub(crate) mod cost;
mod first_stage;
mod last_stage;
pub(crate) mod measuring;
mod pace;

use candidate::{Candidate, by_dev, is_behind, leaders};
use cost::Evaluated;
use first_stage::{FirstTrial, by_importance, fitted, unequal};
use last_stage::SEEDS;
use pace::{Pace, shortened};

/// Share of the budget at which the last stage has to be over.
const LAST: f64 = 0.86;
/// Shares of the time from the beginning of the race to there at which the first stages have to be over.
const FIRST: f64 = 0.35;
const SECOND: f64 = 0.60;
/// Share of the budget at which the learning curve has to be there; the page follows.
pub(crate) const CURVE: f64 = 0.95;
/// Factor on the examples of a trial that predicted test from which on a longer one is worth its time.
const LONGER: usize = 2;
/// Factor on the estimated time of a trial: one that would take longer than what is left is not started.
pub(crate) const SLACK: f64 = 1.15;

/// A race of candidates on one dataset.
pub(crate) struct Race<'a> {
    pub runner: &'a Runner<'a>,
    /// Name of the data.
    pub data: &'a str,
    pub clock: Clock,
    /// Share of the budget that was used up when it began.
    pub began: f64,
    pub most_seeds: usize,
    pub progress: &'a dyn Progress,
}

impl Race<'_> {
    /// Runs all stages; whatever ended in time is in the candidates.
    pub fn run(&self, candidates: &mut [Candidate]) -> Result<()> {
        self.first(candidates)?;
        self.second(candidates)?;
        self.last(candidates)?;
        self.belated(candidates)
    }

    /// Runs the learning rates of all strategies for the same time, as far as they fit. Where not even the leading ones
    /// do, they have the time of the second stage too, and at last that of the whole race, each as much as it needs at least;
    /// their trials predict test then, since no other may follow.
    fn first(&self, candidates: &mut [Candidate]) -> Result<()> {
        let rates: Vec<[f64; 2]> = candidates.iter().map(|one| one.rates).collect();
        let entrants: Vec<Entrant> = candidates.iter().map(|one| one.entrant).collect();
        let trials = by_importance(&rates);
        let least = first_stage::least(candidates.len());
        let stages = [(FIRST, false), (SECOND, true)];
        let fitted = stages.into_iter().find_map(|(share, predicts_test)| {
            let seconds = self.left_of_first_stages(share);
            let fitting =
                |at: usize, seconds| self.fitting(&candidates[at], seconds, predicts_test);
            let fitted = fitted(&trials, (&entrants, seconds), least, fitting)?;
            Some((fitted, (share, predicts_test)))
        });
        let fitted = fitted.or_else(|| {
            let fitting = |at: usize, seconds| {
                let size = self.fitting(&candidates[at], seconds, true)?;
                let taken = candidates[at].cost.seconds(size, self.evaluated(true));
                Some((size, taken * SLACK))
            };
            let seconds = self.left_of_first_stages(1.0);
            Some((unequal(&trials, seconds, least, fitting)?, (1.0, true)))
        });
        let (mut trials, stage) = fitted.unwrap_or_default();
        pace::sort(&mut trials, |at| rates[at][0]);
        self.run_first(candidates, &trials, stage)?;
        for candidate in candidates {
            candidate.choose_rate(self.runner.no_time());
        }
        Ok(())
    }

    /// Runs the trials of the first stage, until which this share of the first stages is over: as planned while they take as
    /// long as estimated, and shortened after one that took longer.
    fn run_first(
        &self,
        candidates: &mut [Candidate],
        trials: &[FirstTrial],
        (share, predicts_test): (f64, bool),
    ) -> Result<()> {
        let entrants: Vec<Entrant> = candidates.iter().map(|one| one.entrant).collect();
        let mut pace = Pace::default();
        for (
            place,
            &FirstTrial {
                candidate: at,
                lr,
                size,
            },
        ) in trials.iter().enumerate()
        {
            let tried: Vec<bool> = candidates
                .iter()
                .map(|one| !one.trials.is_empty())
                .collect();
            let is_slow = pace.slowdown() > SLACK;
            let sized = if is_slow {
                let left = (self.left_of_first_stages(share), self.clock.left_of(LAST));
                let fitting =
                    |at: usize, seconds| self.fitting(&candidates[at], seconds, predicts_test);
                let known = (&entrants[..], &tried[..]);
                shortened(&trials[place..], known, left, pace.slowdown(), fitting)
            } else {
                Some((size, false))
            };
            let Some((size, is_late)) = sized else {
                continue;
            };
            let predicts_test = predicts_test || is_late;
            let estimated = candidates[at]
                .cost
                .seconds(size, self.evaluated(predicts_test));
            if let Some(trial) = self.trial(&candidates[at], (lr, 1), size, predicts_test)? {
                if !tried[at] {
                    pace.add(trial.seconds, estimated);
                }
                candidates[at].add(lr, trial);
            }
        }
        Ok(())
    }

    /// Runs the better learning rate of each strategy for more time, with predictions of test; if that does not fit for
    /// all, the lowest on dev are dropped. Where the first stage predicted test, little more is left to the last one.
    fn second(&self, candidates: &mut [Candidate]) -> Result<()> {
        let mut order = by_dev(candidates);
        let sizes = loop {
            let share = self.left_of_first_stages(SECOND) / order.len().max(1) as f64;
            let size = |at: &usize| self.fitting(&candidates[*at], share, true);
            let sizes: Vec<Option<Size>> = order.iter().map(size).collect();
            if sizes.iter().all(Option::is_some) || order.len() < 2 {
                break sizes;
            }
            order.pop();
        };
        for (at, size) in order.into_iter().zip(sizes) {
            let Some(size) = size else { continue };
            let before = candidates[at].tested();
            if before.is_some_and(|before| size.seen() < LONGER * before.seen()) {
                continue;
            }
            let lr = candidates[at].lr;
            if let Some(trial) = self.trial(&candidates[at], (lr, 1), size, true)? {
                candidates[at].add(lr, trial);
            }
        }
        Ok(())
    }

    /// Seeds of the leaders, in rounds, until one is ahead or the time is over.
    fn last(&self, candidates: &mut [Candidate]) -> Result<()> {
        let (mut running, n_close) = leaders(self.runner, candidates);
        for (at, candidate) in candidates.iter_mut().enumerate() {
            if !running.contains(&at) && candidate.dropped.is_none() {
                candidate.dropped = Some("worse on dev".into());
            }
        }
        let sizes = last_stage::sizes(
            (&mut running, n_close),
            self.clock.left_of(LAST),
            |at, seconds| self.fitting(&candidates[at], seconds, true),
            |at, size| size.is_whole(self.n_train(), candidates[at].usual_epochs),
        );
        for seed in 1..=self.most_seeds {
            for &at in &running {
                let (candidate, size) = (&candidates[at], sizes[&at]);
                let seconds = candidate.cost.seconds(size, self.evaluated(true)) * SLACK;
                if seconds > self.clock.left_of(LAST) {
                    return Ok(());
                }
                // The second stage had the first seed.
                let seeded = (candidate.lr, seed as u64 + 1);
                match self.trial(candidate, seeded, size, true)? {
                    Some(trial) => candidates[at].add_final(trial),
                    None => return Ok(()),
                }
            }
            if seed >= SEEDS {
                running.retain(|&at| !is_behind(self.runner, candidates, at));
                if running.len() < 2 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// A trial of each strategy that the first stage had no time for, where the others have left some: no longer than theirs
    /// before the last stage, with which it is compared.
    fn belated(&self, candidates: &mut [Candidate]) -> Result<()> {
        let trials = candidates.iter().flat_map(|one| &one.trials);
        let longest = trials.map(|(_, trial)| trial.seconds).reduce(f64::max);
        let Some(longest) = longest else {
            return Ok(());
        };
        for candidate in candidates.iter_mut().filter(|one| one.trials.is_empty()) {
            let seconds = self.clock.left_of(LAST).min(longest);
            let Some(size) = self.fitting(candidate, seconds, true) else {
                continue;
            };
            if let Some(trial) = self.trial(candidate, (candidate.lr, 1), size, true)? {
                candidate.add(candidate.lr, trial);
                candidate.dropped = None;
                candidate.choose_rate(self.runner.no_time());
            }
        }
        Ok(())
    }

    /// Seconds until this share of the time of the first stages is over.
    fn left_of_first_stages(&self, share: f64) -> f64 {
        let share = self.began + (LAST - self.began).max(0.0) * share;
        self.clock.left_of(share)
    }

    fn fitting(&self, candidate: &Candidate, seconds: f64, predicts_test: bool) -> Option<Size> {
        let n = self.n_train();
        let most = *candidate.epochs.end();
        let fewest = LEAST_SEEN.div_ceil(n.max(1)).min(most);
        let fewest = fewest.max(*candidate.epochs.start());
        let least = LEAST_SEEN.div_ceil(fewest).min(n);
        let epochs = fewest..=most;
        let limits = (&epochs, n, least);
        let evaluated = self.evaluated(predicts_test);
        candidate.cost.fitting(seconds / SLACK, limits, evaluated)
    }

    fn n_train(&self) -> usize {
        self.runner.n(self.data, "train")
    }

    /// The examples that a trial predicts.
    pub fn evaluated(&self, predicts_test: bool) -> Evaluated {
        Evaluated {
            dev: self.runner.n(self.data, "dev"),
            test: if predicts_test {
                self.runner.n(self.data, "test")
            } else {
                0
            },
        }
    }

    /// Runs one trial. It is interrupted only when the time of all of them is over: one that takes longer than
    /// estimated still has a result.
    pub fn trial(
        &self,
        candidate: &Candidate,
        (lr, seed): (f64, u64),
        size: Size,
        predicts_test: bool,
    ) -> Result<Option<TrialResult>> {
        let name = self.runner.name(candidate.entrant);
        let stage = Stage::training(&name, (lr, seed), size, self.clock);
        self.progress.stage(&stage);
        let trial = Trial {
            entrant: candidate.entrant,
            lr,
            seed,
            size,
            data: self.data,
            training: None,
            predicts_test,
            // A strategy can only be chosen by a trial that predicted test.
            keeps_model: predicts_test,
            until: self.clock.end_of(CURVE),
        };
        let on_step = |step: &_| self.progress.step(&stage, step);
        let result = self.runner.run(trial, &on_step)?;
        if let Some(result) = &result {
            self.progress.trained(&stage, result.dev, result.seconds);
        }
        Ok(result)
    }
}
