//! The settings that go on after the first fold.

use super::candidate::FoldCandidate;
use crate::predictions::Predictions;
use crate::scorer::Scorer;

/// The part of the settings that go on after the first fold, one in so many.
const ONE_IN: usize = 3;
/// Settings that go on, at least, unless they are significantly worse than the best one.
const LEAST_ON: usize = 4;
/// Settings that go on in any case.
const ANYWAY: usize = 2;

/// A learning rate of a candidate: the place of the candidate and that of its trials.
pub(super) type Place = (usize, usize);

/// The settings with predictions on the first fold.
pub(super) fn first_folds(found: &[FoldCandidate]) -> Vec<(Place, &Predictions)> {
    let all = found.iter().enumerate().flat_map(|(at, one)| {
        let trials = one.trials.iter().enumerate();
        trials.map(move |(place, trials)| ((at, place), trials))
    });
    let ended = all.filter(|(_, trials)| !trials.diverged);
    let first = ended.filter_map(|(place, trials)| Some((place, trials.of_folds.first()?)));
    first.collect()
}

/// The settings that go on after the first fold by their predictions there, the best ones first: a third of them, without
/// those that are significantly worse than the best setting or floor.
pub(super) fn going_on(
    scorer: &Scorer,
    settings: &[(Place, &Predictions)],
    floors: &[Predictions],
) -> Vec<Place> {
    let scored = settings.iter();
    let mut scored: Vec<(Place, &Predictions, f64)> = scored
        .map(|(place, predictions)| (*place, *predictions, scorer.score(predictions)))
        .collect();
    scored.sort_by(|a, b| b.2.total_cmp(&a.2));
    let of_floors = floors.iter().map(|floor| (floor, scorer.score(floor)));
    let of_settings = scored
        .iter()
        .map(|(_, predictions, score)| (*predictions, *score));
    let best = of_settings
        .chain(of_floors)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let is_worse = |predictions: &Predictions| {
        best.is_some_and(|(best, _)| is_worse(scorer, predictions, best))
    };
    let kept = scored.iter().take(n_going_on(scored.len())).enumerate();
    let kept = kept.filter(|(rank, (_, predictions, _))| *rank < ANYWAY || !is_worse(predictions));
    kept.map(|(_, (place, ..))| *place).collect()
}

/// Returns whether `predictions` are significantly worse than `others`.
pub(super) fn is_worse(scorer: &Scorer, predictions: &Predictions, others: &Predictions) -> bool {
    let difference = scorer.difference(&[others], &[predictions]);
    difference.is_ok_and(|found| found.low > 0.0)
}

/// The number of settings that go on after the first fold, of `n`.
pub(super) fn n_going_on(n: usize) -> usize {
    n.div_ceil(ONE_IN).max(LEAST_ON).min(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{dataset, predictions};

    /// Predictions for 100 examples, of which this many are wrong.
    fn wrong(n_wrong: usize) -> Predictions {
        predictions(100, |at| at < n_wrong)
    }

    /// The settings that go on, as places in a list of settings with this many wrong predictions of 100.
    fn on(settings: &[usize], floor: usize) -> Vec<usize> {
        let settings: Vec<Predictions> = settings.iter().map(|&n| wrong(n)).collect();
        let placed = settings.iter().enumerate();
        let placed: Vec<(Place, &Predictions)> = placed
            .map(|(place, predictions)| ((0, place), predictions))
            .collect();
        let scorer = Scorer::of(&dataset(4)).unwrap();
        let places = going_on(&scorer, &placed, &[wrong(floor)]).into_iter();
        places.map(|(_, place)| place).collect()
    }

    #[test]
    fn the_better_third_goes_on_but_for_what_is_significantly_worse() {
        let close = [22, 21, 23, 20, 24, 25, 22, 23, 24, 25, 26, 27, 28, 29, 29];
        assert_eq!(on(&close, 30), [3, 1, 0, 6, 2]);
        // Of few settings all go on.
        assert_eq!(on(&[22, 20, 21], 30), [1, 2, 0]);
        // 10 more wrong ones of 100 are significant.
        assert_eq!(on(&[31, 20, 30, 21], 30), [1, 3]);
        // A floor counts, and yet two settings go on.
        assert_eq!(on(&[31, 32, 33, 40], 10), [0, 1]);
    }
}
