//! The race: rates are eliminated within a strategy before strategies are, by time and not by epochs.
//!
//! Each run is a complete short schedule and no piece of a longer one, so that its score is that of a model somebody could
//! have. First each rate of each strategy has the same time, those that learn slowly at first twice as much; the better
//! one of each goes on with more time; the strategies that are not significantly behind the best on dev go to the end,
//! where seeds are added until one is ahead or the time is over.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use anyhow::Result;
use totune_adapt::Strategy;

use crate::answer::LearningCurve;
use crate::clock::Clock;
use crate::cost::{Cost, Scored, measure};
use crate::desk::{Desk, Order, Size, Trained};
use crate::listen::{Listener, Moment};
use crate::strategies::{epochs, learns_late};

/// Share of the budget at which measuring is broken off.
const MEASURED: f64 = 0.25;
/// Share of the budget at which the last stage has to be over.
const LAST: f64 = 0.86;
/// Parts of the time from the beginning of the race to there at which the first stages have to be over.
const FIRST: f64 = 0.35;
const SECOND: f64 = 0.60;
/// Share of the budget at which the learning curve has to be there; then comes the page.
const CURVE: f64 = 0.95;
/// Strategies that go to the end, at most.
const FINALISTS: usize = 3;
/// Seeds before anything is said about a difference.
const SEEDS: usize = 3;
/// What a run may take beyond what was measured, before it is not begun.
const SLACK: f64 = 1.15;

/// A strategy in the race.
#[derive(Debug)]
pub(crate) struct Entrant {
    pub strategy: Strategy,
    /// Learning rates to choose from on dev, the most likely one first.
    pub rates: [f64; 2],
    /// Epochs that it can have.
    pub epochs: RangeInclusive<usize>,
    pub cost: Cost,
    /// Runs of the first two stages: the rate and what came of it.
    pub tried: Vec<(f64, Trained)>,
    /// The rate that was chosen on dev.
    pub lr: f64,
    /// Runs of the last stage, one for each seed.
    pub finals: Vec<Trained>,
    /// Why it ended before the last stage.
    pub out: Option<String>,
}

impl Entrant {
    fn new(strategy: Strategy, cost: Cost, desk: &Desk) -> Self {
        let rates = strategy.learning_rates(&desk.encoder);
        Self {
            lr: rates[0],
            rates,
            epochs: epochs(strategy, desk.n_layers()),
            strategy,
            cost,
            tried: Vec::new(),
            finals: Vec::new(),
            out: None,
        }
    }

    /// Keeps a run of the first two stages; a longer run says better than a short one what the next will cost.
    fn keep(&mut self, lr: f64, run: Trained) {
        if !run.diverged {
            self.cost = Cost::of(&run);
        }
        self.tried.push((lr, run));
    }

    /// The run that stands for it best: of the last stage, or the longest one at the chosen rate.
    pub fn runs(&self) -> Vec<&Trained> {
        if self.finals.is_empty() {
            let tried = self.tried.iter().rev();
            let best = tried
                .filter(|(lr, run)| *lr == self.lr && !run.diverged)
                .take(1);
            return best.map(|(_, run)| run).collect();
        }
        self.finals.iter().filter(|run| !run.diverged).collect()
    }

    /// Its mean score on dev; `None` before a run.
    pub fn dev(&self) -> Option<f64> {
        let scores: Vec<f64> = self.runs().iter().filter_map(|run| run.dev).collect();
        (!scores.is_empty()).then(|| totune_stats::mean(&scores))
    }
}

/// What a race needs beside the desk.
pub(crate) struct Race<'a> {
    pub desk: &'a Desk<'a>,
    pub data: &'a str,
    pub clock: Clock,
    /// Share of the budget that was used up when it began.
    pub began: f64,
    pub most_seeds: usize,
    pub listener: &'a dyn Listener,
}

impl Race<'_> {
    /// Measures strategies; those that there was time for. A strategy that trains everything in the end takes no more for a
    /// step than one that does so from the beginning, and is not measured twice.
    pub fn measured(&self, strategies: Vec<Strategy>, on: &str) -> Result<Vec<Entrant>> {
        let mut entrants: Vec<Entrant> = Vec::new();
        for strategy in strategies {
            let full = entrants
                .iter()
                .find(|entrant| entrant.strategy == Strategy::Full);
            let known = full.filter(|_| matches!(strategy, Strategy::TwoPhase | Strategy::Gradual));
            let known = known.map(|full| full.cost);
            let until = self.clock.end_of(MEASURED);
            let cost = match known {
                Some(cost) => Some(cost),
                None => {
                    self.listener.hear(&Moment::measuring(strategy, self.clock));
                    measure(self.desk, strategy, on, until)?
                }
            };
            match cost {
                Some(cost) => entrants.push(Entrant::new(strategy, cost, self.desk)),
                None => break,
            }
        }
        Ok(entrants)
    }

    /// The share of the budget at which this part of the time of the first stages is over.
    fn part_of(&self, part: f64) -> f64 {
        self.began + (LAST - self.began).max(0.0) * part
    }

    /// Runs it; whatever was finished when time ran out is in the entrants.
    pub fn run(&self, entrants: &mut [Entrant]) -> Result<()> {
        self.first(entrants)?;
        self.second(entrants)?;
        self.last(entrants)
    }

    /// Each rate of each strategy, as long as the others. What does not fit is left out from the end of the list.
    fn first(&self, entrants: &mut [Entrant]) -> Result<()> {
        let weight = |entrant: &Entrant| {
            let rates = entrant.rates.len() as f64;
            if learns_late(entrant.strategy) {
                2.0 * rates
            } else {
                rates
            }
        };
        let mut n = entrants.len();
        let sizes = loop {
            let share = self.clock.left_of(self.part_of(FIRST))
                / entrants[..n].iter().map(weight).sum::<f64>();
            let seconds = |entrant: &Entrant| {
                if learns_late(entrant.strategy) {
                    2.0 * share
                } else {
                    share
                }
            };
            let sizes: Vec<Option<Size>> = entrants[..n]
                .iter()
                .map(|entrant| self.fitting(entrant, seconds(entrant), false))
                .collect();
            // The last of those that do not fit makes room.
            match sizes.iter().rposition(Option::is_none) {
                Some(_) if n > 1 => n -= 1,
                _ => break sizes,
            }
        };
        for entrant in &mut entrants[n..] {
            entrant.out = Some("no time for it within the budget".into());
        }
        for (entrant, size) in entrants[..n].iter_mut().zip(sizes) {
            let Some(size) = size else {
                entrant.out = Some("no time for it within the budget".into());
                continue;
            };
            for lr in entrant.rates {
                if let Some(run) = self.trained(entrant, (lr, 1), size, false)? {
                    entrant.keep(lr, run);
                }
            }
            choose_rate(entrant);
        }
        Ok(())
    }

    /// The better rate of each strategy, with more time and an answer to what is reported on; where that does not fit for all,
    /// the lowest on dev make room.
    fn second(&self, entrants: &mut [Entrant]) -> Result<()> {
        let mut order = by_dev(entrants);
        let sizes = loop {
            let share = self.clock.left_of(self.part_of(SECOND)) / order.len().max(1) as f64;
            let size = |at: &usize| self.fitting(&entrants[*at], share, true);
            let sizes: Vec<Option<Size>> = order.iter().map(size).collect();
            if sizes.iter().all(Option::is_some) || order.len() < 2 {
                break sizes;
            }
            order.pop();
        };
        for (at, size) in order.into_iter().zip(sizes) {
            let Some(size) = size else { continue };
            let lr = entrants[at].lr;
            if let Some(run) = self.trained(&entrants[at], (lr, 1), size, true)? {
                entrants[at].keep(lr, run);
            }
        }
        Ok(())
    }

    /// Seeds of the leaders, in rounds, until one is ahead or the time is over.
    fn last(&self, entrants: &mut [Entrant]) -> Result<()> {
        let leaders = leaders(self.desk, entrants);
        for (at, entrant) in entrants.iter_mut().enumerate() {
            if !leaders.contains(&at) && entrant.out.is_none() {
                entrant.out = Some("behind on dev".into());
            }
        }
        let mut running = leaders;
        // Fewer seeds where so many do not fit, and fewer leaders where one does not.
        let sizes = loop {
            let share = |seeds: usize| self.clock.left_of(LAST) / (running.len() * seeds) as f64;
            let size = |at: &usize, seeds| self.fitting(&entrants[*at], share(seeds), true);
            let all = |seeds| {
                running
                    .iter()
                    .map(|at| Some((*at, size(at, seeds)?)))
                    .collect()
            };
            let sizes: Option<BTreeMap<usize, Size>> = (1..=SEEDS).rev().find_map(all);
            match sizes {
                Some(sizes) => break sizes,
                None if running.is_empty() => return Ok(()),
                None => running.pop(),
            };
        };
        for seed in 1..=self.most_seeds {
            for &at in &running {
                let size = sizes[&at];
                let entrant = &entrants[at];
                let scored = self.scored(true);
                if entrant.cost.seconds(size, scored) * SLACK > self.clock.left_of(LAST) {
                    return Ok(());
                }
                let lr = entrant.lr;
                // The second stage had the first seed.
                match self.trained(entrant, (lr, seed as u64 + 1), size, true)? {
                    Some(run) => entrants[at].finals.push(run),
                    None => return Ok(()),
                }
            }
            if seed >= SEEDS {
                running.retain(|&at| !is_behind(self.desk, entrants, at));
                if running.len() < 2 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Scores on dev of a strategy that learned from a part of the data, then from all of it: what more labels would bring.
    /// Nothing where there is no time for it.
    pub fn learning_curve(&self, entrant: &Entrant) -> Result<LearningCurve> {
        let Some(full) = entrant.finals.first().map(|run| run.size) else {
            return Ok(Vec::new());
        };
        let mut points = Vec::new();
        for share in [0.25, 0.5] {
            let size = Size {
                examples: (full.examples as f64 * share) as usize,
                ..full
            };
            let seconds = entrant.cost.seconds(size, self.scored(false)) * SLACK;
            if size.examples < self.desk.facts.batch_size() || seconds > self.clock.left_of(CURVE) {
                continue;
            }
            let run = self.trained(entrant, (entrant.lr, 2), size, false)?;
            points.extend(run.and_then(|run| Some((run.size.examples, run.dev?))));
        }
        if let (false, Some(dev)) = (points.is_empty(), entrant.dev()) {
            points.push((full.examples, dev));
        }
        Ok(points)
    }

    fn fitting(&self, entrant: &Entrant, seconds: f64, answers_test: bool) -> Option<Size> {
        let n = self.part("train");
        let least = (4 * self.desk.facts.batch_size()).min(n);
        let scored = self.scored(answers_test);
        entrant
            .cost
            .fitting(seconds / SLACK, (&entrant.epochs, n, least), scored)
    }

    fn scored(&self, answers_test: bool) -> Scored {
        Scored {
            dev: self.part("dev"),
            test: if answers_test { self.part("test") } else { 0 },
        }
    }

    fn part(&self, split: &str) -> usize {
        self.desk
            .part(self.data, split)
            .map_or(0, |part| part.examples.len())
    }

    /// One run, which is broken off only where the time of all of them is over: one that takes longer than was measured has
    /// still learned something.
    fn trained(
        &self,
        entrant: &Entrant,
        (lr, seed): (f64, u64),
        size: Size,
        answers_test: bool,
    ) -> Result<Option<Trained>> {
        let moment = Moment::training(entrant.strategy, (lr, seed), size, self.clock);
        self.listener.hear(&moment);
        let order = Order {
            strategy: entrant.strategy,
            lr,
            seed,
            size,
            data: self.data,
            answers_test,
            until: self.clock.end_of(CURVE),
        };
        let run = self
            .desk
            .train(order, &|step| self.listener.step(&moment, step))?;
        if let Some(run) = &run {
            self.listener.ended(&moment, run.dev, run.wall);
        }
        Ok(run)
    }
}

/// The rate with the best score on dev; the first of several.
fn choose_rate(entrant: &mut Entrant) {
    let mut best: Option<(f64, f64)> = None;
    for (lr, run) in &entrant.tried {
        let score = run.dev.filter(|_| !run.diverged);
        if let Some(score) = score
            && best.is_none_or(|(_, most)| score > most)
        {
            best = Some((*lr, score));
        }
    }
    match best {
        Some((lr, _)) => entrant.lr = lr,
        None => entrant.out = Some("no run ended within the budget".into()),
    }
}

/// Those that are still in the race, the best on dev first.
fn by_dev(entrants: &[Entrant]) -> Vec<usize> {
    let running = entrants
        .iter()
        .enumerate()
        .filter(|(_, entrant)| entrant.out.is_none());
    let mut order: Vec<(usize, f64)> = running
        .filter_map(|(at, entrant)| Some((at, entrant.dev()?)))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order.into_iter().map(|(at, _)| at).collect()
}

/// The strategies that go to the end: the best on dev, and those that are not significantly behind it, at most three and at
/// least two.
fn leaders(desk: &Desk, entrants: &[Entrant]) -> Vec<usize> {
    let places = by_dev(entrants);
    let Some(&first) = places.first() else {
        return places;
    };
    let close = places[1..].iter().enumerate().filter(|(place, at)| {
        *place == 0 || !significantly_behind(desk, &entrants[**at], &entrants[first])
    });
    let close = close.map(|(_, at)| *at).take(FINALISTS - 1);
    [first].into_iter().chain(close).collect()
}

/// Whether a strategy of the last stage is significantly behind the best one there.
fn is_behind(desk: &Desk, entrants: &[Entrant], at: usize) -> bool {
    let ended = entrants.iter().filter(|entrant| !entrant.finals.is_empty());
    let best = ended.max_by(|a, b| a.dev().unwrap_or(0.0).total_cmp(&b.dev().unwrap_or(0.0)));
    best.is_some_and(|best| {
        best.strategy != entrants[at].strategy && significantly_behind(desk, &entrants[at], best)
    })
}

fn significantly_behind(desk: &Desk, entrant: &Entrant, best: &Entrant) -> bool {
    let answers = |entrant: &Entrant| -> Vec<_> {
        let runs = entrant.runs().into_iter();
        runs.filter_map(|run| run.on_dev.clone()).collect()
    };
    let (of_best, own) = (answers(best), answers(entrant));
    let found = desk.scorer.difference(
        &of_best.iter().collect::<Vec<_>>(),
        &own.iter().collect::<Vec<_>>(),
    );
    // One that has no answers cannot win.
    own.is_empty() || found.is_ok_and(|found| found.low > 0.0)
}
