//! Trials that take longer than estimated, on a machine that has other work than when costs were measured: they shorten those
//! that follow in the first stage, so that no strategy uses up the time of another.

use super::first_stage::{FirstTrial, weight, weights};
use crate::strategies::Entrant;
use crate::trial::Size;

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

#[cfg(test)]
mod tests {
    use totune_adapt::Strategy;
    use totune_data::Pairs;

    use super::*;

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

        let entrants = [Strategy::Frozen, Strategy::Full].map(|strategy| Entrant {
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
        let size = |tried: [bool; 2], of: usize, stage: f64, race: f64| {
            let left = (stage, race);
            let found = shortened(&trials[of..], (&entrants, &tried), left, 2.0, fitting);
            found.map(|(size, is_late)| (size.examples, is_late))
        };
        let none = [false; 2];
        assert_eq!(size(none, 0, 900.0, 900.0), Some((50, false)), "as planned");
        assert_eq!(size(none, 0, 180.0, 900.0), Some((30, false)));
        // Two strategies without a trial share the time of the later stages.
        assert_eq!(size(none, 0, 30.0, 120.0), Some((30, true)));
        assert_eq!(size(none, 0, 30.0, 39.0), None);
        // A second learning rate has no time of later stages, and a cost that was measured at length.
        let both = [true, true];
        assert_eq!(size(both, 2, 20.0, 900.0), Some((20, false)));
        assert_eq!(size(both, 2, 9.0, 900.0), None);
    }
}
