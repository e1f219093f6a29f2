//! Strategies that compete, and the selection of those that stay in the race.

use std::ops::RangeInclusive;

use super::cost::Cost;
use crate::model::Model;
use crate::runner::Runner;
use crate::strategies::{Entrant, epochs};
use crate::trial::{Size, TrialResult};

/// Candidates of the last stage, at most.
const FINALISTS: usize = 3;

/// A strategy on an encoder, in the race.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub entrant: Entrant,
    /// Learning rates to choose from on dev, the most likely one first.
    pub rates: [f64; 2],
    /// Numbers of epochs that it may have.
    pub epochs: RangeInclusive<usize>,
    /// The number of them that is usual.
    pub usual_epochs: usize,
    pub cost: Cost,
    /// Trials of the first two stages, with their learning rates.
    pub trials: Vec<(f64, TrialResult)>,
    /// The learning rate that was chosen on dev.
    pub lr: f64,
    /// Trials of the last stage, one for each seed.
    pub finals: Vec<TrialResult>,
    /// The reason why it was dropped before the last stage.
    pub dropped: Option<String>,
}

impl Candidate {
    pub fn new(entrant: Entrant, cost: Cost, runner: &Runner) -> Self {
        let encoder = runner.encoder(entrant);
        let rates = entrant.strategy.learning_rates(&encoder.card);
        Self {
            lr: rates[0],
            rates,
            epochs: epochs(entrant.strategy, encoder.n_layers()),
            usual_epochs: entrant.strategy.epochs(encoder.n_layers()),
            entrant,
            cost,
            trials: Vec::new(),
            finals: Vec::new(),
            dropped: None,
        }
    }

    /// Adds a trial of the first two stages. The cost of the next one is estimated from it, since a longer trial measures
    /// it better than a short one.
    pub fn add(&mut self, lr: f64, trial: TrialResult) {
        if !trial.diverged {
            self.cost = Cost::of(&trial);
        }
        self.trials.push((lr, trial));
    }

    /// Adds a trial of the last stage. Of the models of that stage the one with the best dev score is kept.
    pub fn add_final(&mut self, mut trial: TrialResult) {
        let mut earlier = self.finals.iter_mut();
        match earlier.find(|earlier| earlier.model.is_some()) {
            Some(best) if best.dev >= trial.dev => trial.model = None,
            Some(best) if trial.model.is_some() => best.model = None,
            Some(_) | None => {}
        }
        self.finals.push(trial);
        // As long as the last stage does not count, see `last`, the trial before it may be the one.
        let counts = self.is_of_last();
        for (lr, earlier) in &mut self.trials {
            if counts || *lr != self.lr {
                earlier.model = None;
            }
        }
    }

    /// The model that was kept, of the trials that its score is of.
    pub fn take_model(&mut self) -> Option<Model> {
        let model = if self.is_of_last() {
            self.finals.iter_mut().find_map(|trial| trial.model.take())
        } else {
            let earlier = self.earlier_at()?;
            self.trials[earlier].1.model.take()
        };
        model.map(|model| *model)
    }

    /// The trials that its score is of: those of the last stage, or the longest one before it at the chosen learning rate.
    pub fn best_trials(&self) -> Vec<&TrialResult> {
        let last = self.last();
        match self.earlier() {
            Some(earlier) if last.is_empty() => vec![earlier],
            _ => last,
        }
    }

    /// Whether its score is of the last stage.
    pub fn is_of_last(&self) -> bool {
        !self.last().is_empty()
    }

    /// The trial before the last stage, where those of that stage, which its score is of, went through more examples.
    pub fn before_last(&self) -> Option<&TrialResult> {
        let last = *self.last().first()?;
        let earlier = self.earlier()?;
        (earlier.size.seen() < last.size.seen()).then_some(earlier)
    }

    /// The trials of the last stage. A single one that ends with a lower dev score than the shorter trial before it went
    /// astray, as fine-tuning sometimes does, and does not count.
    fn last(&self) -> Vec<&TrialResult> {
        let finals = self.finals.iter().filter(|trial| !trial.diverged);
        let finals: Vec<&TrialResult> = finals.collect();
        match (&finals[..], self.earlier()) {
            ([one], Some(earlier)) if one.dev < earlier.dev => Vec::new(),
            _ => finals,
        }
    }

    /// The size of the trial that its score is of before the last stage, if that predicted test.
    pub fn tested(&self) -> Option<Size> {
        let earlier = self.earlier()?;
        earlier.on_test.as_ref().map(|_| earlier.size)
    }

    /// The longest trial before the last stage at the chosen learning rate.
    fn earlier(&self) -> Option<&TrialResult> {
        self.earlier_at().map(|at| &self.trials[at].1)
    }

    fn earlier_at(&self) -> Option<usize> {
        let mut trials = self.trials.iter();
        trials.rposition(|(lr, trial)| *lr == self.lr && !trial.diverged)
    }

    /// Its mean dev score; `None` before a trial.
    pub fn dev(&self) -> Option<f64> {
        let trials = self.best_trials().into_iter();
        let scores: Vec<f64> = trials.filter_map(|trial| trial.dev).collect();
        (!scores.is_empty()).then(|| totune_stats::mean(&scores))
    }

    /// Chooses the learning rate with the best dev score, the first of several; without a trial, `no_time` is the reason why
    /// it is dropped.
    pub fn choose_rate(&mut self, no_time: &str) {
        let mut best: Option<(f64, f64)> = None;
        for (lr, trial) in &self.trials {
            let score = trial.dev.filter(|_| !trial.diverged);
            if let Some(score) = score
                && best.is_none_or(|(_, most)| score > most)
            {
                best = Some((*lr, score));
            }
        }
        match best {
            Some((lr, _)) => self.lr = lr,
            None if self.trials.is_empty() => self.dropped = Some(no_time.into()),
            None => self.dropped = Some("no trial ended within the budget".into()),
        }
    }
}

/// The candidates that are still in the race, the best on dev first.
pub(crate) fn by_dev(candidates: &[Candidate]) -> Vec<usize> {
    let running = candidates.iter().enumerate();
    let running = running.filter(|(_, candidate)| candidate.dropped.is_none());
    let mut order: Vec<(usize, f64)> = running
        .filter_map(|(at, candidate)| Some((at, candidate.dev()?)))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order.into_iter().map(|(at, _)| at).collect()
}

/// The candidates of the last stage, the best on dev first, and how many of them are not significantly worse than it: at
/// most three, and at least two candidates.
pub(crate) fn leaders(runner: &Runner, candidates: &[Candidate]) -> (Vec<usize>, usize) {
    let order = by_dev(candidates);
    let Some(&first) = order.first() else {
        return (order, 0);
    };
    let others = order[1..].iter().copied();
    let is_close = |at: &usize| !is_worse(runner, &candidates[*at], &candidates[first]);
    let close = others.clone().filter(is_close).take(FINALISTS - 1);
    let mut leaders: Vec<usize> = [first].into_iter().chain(close).collect();
    let n_close = leaders.len();
    if n_close < 2 {
        leaders.extend(others.take(1));
    }
    (leaders, n_close)
}

/// Returns whether a candidate of the last stage is significantly worse than the best one there.
pub(crate) fn is_behind(runner: &Runner, candidates: &[Candidate], at: usize) -> bool {
    let ended = candidates.iter().filter(|one| !one.finals.is_empty());
    let best = ended.max_by(|a, b| a.dev().unwrap_or(0.0).total_cmp(&b.dev().unwrap_or(0.0)));
    best.is_some_and(|best| {
        best.entrant != candidates[at].entrant && is_worse(runner, &candidates[at], best)
    })
}

/// Returns whether a candidate is significantly worse than the best one, on dev.
fn is_worse(runner: &Runner, candidate: &Candidate, best: &Candidate) -> bool {
    let predictions = |candidate: &Candidate| -> Vec<_> {
        let trials = candidate.best_trials().into_iter();
        trials.filter_map(|trial| trial.on_dev.clone()).collect()
    };
    let (of_best, own) = (predictions(best), predictions(candidate));
    let difference = runner.scorer.difference(
        &of_best.iter().collect::<Vec<_>>(),
        &own.iter().collect::<Vec<_>>(),
    );
    // A candidate without predictions cannot win.
    own.is_empty() || difference.is_ok_and(|found| found.low > 0.0)
}

#[cfg(test)]
mod tests {
    use totune_adapt::Strategy;
    use totune_data::Pairs;

    use super::*;
    use crate::test_support::trial;

    /// A candidate with trials of 100 examples at two learning rates before the last stage, the second of them chosen, and
    /// then of 400.
    fn candidate(before: [f64; 2], finals: &[f64]) -> Candidate {
        let of = |examples, dev: f64| {
            let size = Size {
                examples,
                epochs: 1,
            };
            trial(dev, size)
        };
        Candidate {
            entrant: Entrant {
                encoder: 0,
                strategy: Strategy::Full,
                pairs: Pairs::Joint,
            },
            rates: [1.0, 3.0],
            epochs: 1..=8,
            usual_epochs: 3,
            cost: Cost::of(&of(100, 0.5)),
            trials: vec![(1.0, of(100, before[0])), (3.0, of(100, before[1]))],
            lr: 3.0,
            finals: finals.iter().map(|dev| of(400, *dev)).collect(),
            dropped: None,
        }
    }

    #[test]
    fn the_trial_before_the_last_stage_keeps_its_number_until_that_stage_counts() {
        let with = |devs: &[(f64, bool)]| {
            let mut candidate = candidate([0.9, 0.7], &[]);
            for &(dev, diverged) in devs {
                let mut last = trial(dev, candidate.trials[0].1.size);
                last.diverged = diverged;
                candidate.add_final(last);
            }
            candidate.is_of_last()
        };
        assert!(!with(&[(0.1, true), (0.6, false)]));
        assert!(!with(&[(0.6, false), (0.1, true)]));
        assert!(with(&[(0.8, false), (0.1, true)]));
        assert!(with(&[(0.6, false), (0.65, false)]));
    }

    #[test]
    fn one_long_training_that_went_astray_does_not_count() {
        let score = |finals: &[f64]| {
            let candidate = candidate([0.9, 0.7], finals);
            let before = candidate.before_last().and_then(|trial| trial.dev);
            (candidate.dev(), candidate.is_of_last(), before)
        };
        assert_eq!(score(&[]), (Some(0.7), false, None));
        assert_eq!(score(&[0.8]), (Some(0.8), true, Some(0.7)));
        assert_eq!(score(&[0.1]), (Some(0.7), false, None));
        // One seed of several is part of the spread.
        assert_eq!(score(&[0.5, 0.1]), (Some(0.3), true, Some(0.7)));
    }
}
