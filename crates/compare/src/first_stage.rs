//! The first stage of a race: which learning rates of which strategies have a trial, and how long it is.
//!
//! Costs are measured for a moment, on a machine that may have other work later. So trials that take longer than estimated
//! shorten those that follow: no strategy uses up the time of another.

use crate::strategies::{Entrant, learns_late};
use crate::trial::Size;

/// Strategies at the beginning of the list whose second learning rate matters more than another strategy.
const LEADING: usize = 3;

/// Bisections of a time; it is found to a millionth of the whole.
const BISECTIONS: usize = 20;

/// A trial of the first stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FirstTrial {
    /// Place of its candidate in the list.
    pub candidate: usize,
    pub lr: f64,
    pub size: Size,
}

/// Share of the time, relative to those of others.
fn weight(entrant: Entrant) -> f64 {
    if learns_late(entrant.strategy) {
        2.0
    } else {
        1.0
    }
}

fn weights<'a>(trials: impl Iterator<Item = &'a FirstTrial>, entrants: &[Entrant]) -> f64 {
    trials.map(|one| weight(entrants[one.candidate])).sum()
}

/// All trials of these candidates, each with its learning rate, the most important one first: the usual learning rates of
/// the leading strategies, their second ones, and then the other strategies with both.
pub(crate) fn by_importance(rates: &[[f64; 2]]) -> Vec<(usize, f64)> {
    let n = rates.len().min(LEADING);
    let leading = [0, 1].into_iter().flat_map(|place| {
        let of_leading = rates[..n].iter().enumerate();
        of_leading.map(move |(at, both)| (at, both[place]))
    });
    let others = rates.iter().enumerate().skip(n);
    let others = others.flat_map(|(at, both)| both.map(|lr| (at, lr)));
    leading.chain(others).collect()
}

/// The trials that share `seconds`, those of late learners with twice the time of others: as many from the beginning of
/// `trials` as all fit, by `fitting`; `None` if fewer than `least` do.
pub(crate) fn fitted(
    trials: &[(usize, f64)],
    (entrants, seconds): (&[Entrant], f64),
    least: usize,
    fitting: impl Fn(usize, f64) -> Option<Size>,
) -> Option<Vec<FirstTrial>> {
    let weight = |at: usize| weight(entrants[at]);
    (least.max(1)..=trials.len()).rev().find_map(|n| {
        let chosen = &trials[..n];
        let share = seconds / chosen.iter().map(|(at, _)| weight(*at)).sum::<f64>();
        let fitted = chosen.iter().map(|&(candidate, lr)| {
            let size = fitting(candidate, share * weight(candidate))?;
            Some(FirstTrial {
                candidate,
                lr,
                size,
            })
        });
        fitted.collect()
    })
}

/// The trials of the first of `trials`, `most` at most, that share `seconds` where they do not fit into equal shares: each
/// has what its smallest size needs, and the same time at most beyond that. `fitting` gives the size within some seconds,
/// and the seconds that it will take.
pub(crate) fn unequal(
    trials: &[(usize, f64)],
    seconds: f64,
    most: usize,
    fitting: impl Fn(usize, f64) -> Option<(Size, f64)>,
) -> Option<Vec<FirstTrial>> {
    let fitting = &fitting;
    // Two times next to each other between which a condition becomes true.
    let until = |is_true: &dyn Fn(f64) -> bool| {
        let (mut before, mut after) = (0.0, seconds);
        for _ in 0..BISECTIONS {
            let middle = (before + after) / 2.0;
            if is_true(middle) {
                after = middle;
            } else {
                before = middle;
            }
        }
        (before, after)
    };
    (1..=most.min(trials.len())).rev().find_map(|n| {
        let chosen = &trials[..n];
        let needed = chosen.iter().map(|&(at, _)| {
            fitting(at, seconds)?;
            Some(until(&|time| fitting(at, time).is_some()).1)
        });
        let needed: Vec<f64> = needed.collect::<Option<_>>()?;
        let sized = |time: f64| {
            let each = chosen.iter().zip(&needed);
            each.filter_map(move |(&(at, _), needed)| fitting(at, time.max(*needed)))
        };
        let is_too_long = |time: f64| sized(time).map(|(_, taken)| taken).sum::<f64>() > seconds;
        if is_too_long(0.0) {
            return None;
        }
        let time = if is_too_long(seconds) {
            until(&is_too_long).0
        } else {
            seconds
        };
        let sizes = chosen.iter().zip(sized(time));
        let sizes = sizes.map(|(&(candidate, lr), (size, _))| FirstTrial {
            candidate,
            lr,
            size,
        });
        Some(sizes.collect())
    })
}

/// Sorts trials such that the first one of each strategy comes before second ones, and of these those of the fewest examples
/// first: a trial of many can be shortened when the others have taken longer than estimated.
pub(crate) fn sort(trials: &mut [FirstTrial], usual: impl Fn(usize) -> f64) {
    trials.sort_by_key(|trial| (trial.lr != usual(trial.candidate), trial.size.seen()));
}

/// The time that trials have taken, and that they were estimated to take.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    taken: f64,
    estimated: f64,
}

impl Pace {
    /// Seconds of a trial that do not depend on its size and are in no estimate, such as those of reading weights.
    const FIXED: f64 = 1.0;

    pub fn add(&mut self, taken: f64, estimated: f64) {
        self.taken += taken;
        self.estimated += estimated + Self::FIXED;
    }

    /// The factor by which trials take longer than estimated, 1 at least.
    pub fn slowdown(&self) -> f64 {
        if self.taken > self.estimated {
            self.taken / self.estimated
        } else {
            1.0
        }
    }
}

/// The size of the first of `trials`, which are still to run, where earlier ones took longer than estimated by the factor
/// `slowdown`: what fits into its share of the seconds that are left of the `stage`, or for a strategy that has not been
/// `tried` into that of the whole `race`, and no more than was planned. True with it if later stages may have no time left.
pub(crate) fn shortened(
    trials: &[FirstTrial],
    (entrants, tried): (&[Entrant], &[bool]),
    (stage, race): (f64, f64),
    slowdown: f64,
    fitting: impl Fn(usize, f64) -> Option<Size>,
) -> Option<(Size, bool)> {
    let next = trials.first()?;
    let at = next.candidate;
    // What a strategy has taken before is in its cost.
    let slowdown = if tried[at] { 1.0 } else { slowdown };
    let within = |seconds: f64, weights: f64| {
        let size = fitting(at, seconds * weight(entrants[at]) / weights / slowdown)?;
        Some(if size.seen() < next.size.seen() {
            size
        } else {
            next.size
        })
    };
    if let Some(size) = within(stage, weights(trials.iter(), entrants)) {
        return Some((size, false));
    }
    let mut counted = tried.to_vec();
    let untried = trials
        .iter()
        .filter(|one| !std::mem::replace(&mut counted[one.candidate], true));
    let weights = weights(untried, entrants);
    let size = (!tried[at]).then(|| within(race, weights)).flatten()?;
    Some((size, true))
}

/// The fewest trials with which a stage is worth its time: one of each leading strategy.
pub(crate) fn least(n_candidates: usize) -> usize {
    n_candidates.min(LEADING)
}

#[cfg(test)]
mod tests {
    use totune_adapt::Strategy;
    use totune_data::Pairs;

    use super::*;

    const STRATEGIES: [Strategy; 4] = [
        Strategy::Frozen,
        Strategy::Full,
        Strategy::LastK(2),
        Strategy::Lora,
    ];

    /// The trials that fit into this time where an example takes 1 s in full fine-tuning, less in others, and a trial
    /// needs ten: places and rates, and the numbers of examples.
    fn fit(seconds: f64) -> Option<Vec<(usize, f64, usize)>> {
        let entrants = STRATEGIES.map(|strategy| Entrant {
            encoder: 0,
            strategy,
            pairs: Pairs::Joint,
        });
        let trials = by_importance(&[[1.0, 3.0]; 4]);
        let of_example = [0.25, 1.0, 0.5, 0.5];
        let fitting = |at: usize, seconds: f64| {
            let examples = (seconds / of_example[at]) as usize;
            (examples >= 10).then_some(Size {
                examples,
                epochs: 1,
            })
        };
        let found = fitted(&trials, (&entrants, seconds), least(4), fitting)?;
        let found = found.into_iter();
        Some(
            found
                .map(|one| (one.candidate, one.lr, one.size.examples))
                .collect(),
        )
    }

    #[test]
    fn second_learning_rates_of_leading_strategies_come_before_other_strategies() {
        let order = by_importance(&[[1.0, 3.0], [1.0, 3.0], [1.0, 3.0], [2.0, 6.0]]);
        let expected = [
            (0, 1.0),
            (1, 1.0),
            (2, 1.0),
            (0, 3.0),
            (1, 3.0),
            (2, 3.0),
            (3, 2.0),
            (3, 6.0),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn as_many_trials_as_fit_share_the_time() {
        // Six trials of one share each, two of LoRA with two.
        let all = fit(100.0).expect("time for all");
        assert_eq!(all.len(), 8);
        assert_eq!(all[0], (0, 1.0, 40));
        assert_eq!(all[1], (1, 1.0, 10));
        assert_eq!(all[7], (3, 3.0, 40));
        // LoRA makes room, and then second learning rates.
        let six = fit(99.0).map(|found| found.len());
        assert_eq!(six, Some(7));
        assert_eq!(fit(60.0).map(|found| found.len()), Some(6));
        let three = fit(30.0).expect("time for the usual learning rates");
        assert_eq!(
            three,
            [(0, 1.0, 40), (1, 1.0, 10), (2, 1.0, 20)],
            "no strategy is left out while another has two trials"
        );
        assert_eq!(fit(29.0), None);
    }

    #[test]
    fn where_equal_shares_are_too_short_each_has_what_it_needs() {
        // An example takes 1 s in the first strategy and 6 s in the second, and a trial needs ten, and has 40 at most.
        let trials = [(0, 1.0), (1, 1.0), (0, 3.0)];
        let sizes = |seconds: f64| -> Option<Vec<usize>> {
            let fitting = |at: usize, seconds: f64| {
                let of_example = [1.0, 6.0][at];
                let examples = ((seconds / of_example) as usize).min(40);
                let size = Size {
                    examples,
                    epochs: 1,
                };
                (examples >= 10).then_some((size, examples as f64 * of_example))
            };
            let found = unequal(&trials, seconds, 2, fitting)?.into_iter();
            Some(found.map(|one| one.size.examples).collect())
        };
        assert_eq!(sizes(9.0), None);
        assert_eq!(sizes(69.0), Some(vec![40]), "no time for both");
        assert_eq!(sizes(70.5), Some(vec![10, 10]));
        assert_eq!(sizes(90.5), Some(vec![30, 10]));
        assert_eq!(sizes(159.5), Some(vec![40, 19]));
        assert_eq!(sizes(900.0), Some(vec![40, 40]));
    }

    fn trial(candidate: usize, lr: f64, examples: usize) -> FirstTrial {
        let size = Size {
            examples,
            epochs: 1,
        };
        FirstTrial {
            candidate,
            lr,
            size,
        }
    }

    #[test]
    fn trials_that_cannot_be_shortened_go_first() {
        let mut trials = [
            trial(0, 1.0, 40),
            trial(1, 1.0, 10),
            trial(0, 3.0, 40),
            trial(1, 3.0, 10),
        ];
        sort(&mut trials, |_| 1.0);
        let order = trials.map(|one| (one.candidate, one.lr));
        assert_eq!(order, [(1, 1.0), (0, 1.0), (1, 3.0), (0, 3.0)]);
    }

    #[test]
    fn trials_that_take_longer_than_estimated_shorten_those_that_follow() {
        let mut pace = Pace::default();
        pace.add(9.0, 10.0);
        assert_eq!(pace.slowdown(), 1.0);
        pace.add(36.0, 3.0);
        assert_eq!(pace.slowdown(), 3.0);

        let entrants = STRATEGIES.map(|strategy| Entrant {
            encoder: 0,
            strategy,
            pairs: Pairs::Joint,
        });
        // An example takes 1 s by estimate, and a trial needs ten.
        let fitting = |_: usize, seconds: f64| {
            let examples = seconds as usize;
            (examples >= 10).then_some(Size {
                examples,
                epochs: 1,
            })
        };
        let trials = [trial(0, 1.0, 50), trial(1, 1.0, 50), trial(0, 3.0, 50)];
        let size = |tried: [bool; 4], of: usize, stage: f64, race: f64| {
            let left = (stage, race);
            let found = shortened(&trials[of..], (&entrants, &tried), left, 2.0, fitting);
            found.map(|(size, is_late)| (size.examples, is_late))
        };
        let none = [false; 4];
        assert_eq!(size(none, 0, 900.0, 900.0), Some((50, false)), "as planned");
        assert_eq!(size(none, 0, 180.0, 900.0), Some((30, false)));
        // Two strategies without a trial share the time of the later stages.
        assert_eq!(size(none, 0, 30.0, 120.0), Some((30, true)));
        assert_eq!(size(none, 0, 30.0, 39.0), None);
        // A second learning rate has no time of later stages, and a cost that was measured at length.
        let both = [true, true, false, false];
        assert_eq!(size(both, 2, 20.0, 900.0), Some((20, false)));
        assert_eq!(size(both, 2, 9.0, 900.0), None);
    }
}
