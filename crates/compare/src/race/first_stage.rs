//! The first stage of a race: which learning rates of which strategies have a trial, and how long it is.

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
pub(crate) fn weight(entrant: Entrant) -> f64 {
    if learns_late(entrant.strategy) {
        2.0
    } else {
        1.0
    }
}

/// Shares of several trials.
pub(crate) fn weights<'a>(
    trials: impl Iterator<Item = &'a FirstTrial>,
    entrants: &[Entrant],
) -> f64 {
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
}
