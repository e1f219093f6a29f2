//! Scores over time: the best score of a run within a time, the mean over repeats, and the best of several curves.
//!
//! A run is scored after each epoch, so its curve consists of points: seconds of training and a score. With a time
//! budget one keeps the best model so far, so most comparisons use a curve's *running best*, the highest score up to
//! each point, joined by straight lines, which also gives scores between two epochs. [`Curve::completed_within`] is the
//! score available in practice, since a run has no score in the middle of an epoch.
//!
//! The highest score on test is not available for selection. A [`Curve::in_hand`] is never better than its last point:
//! its scores are those of the checkpoint that would be used after each epoch.

mod frontier;
mod repeats;

pub use frontier::{Reign, frontier};
pub use repeats::{Epoch, Spread, Stopped, best_within, epochs};

/// The scores of one run, or of the mean of several, over the seconds it trained.
///
/// Higher is better. At least one point; every number is finite, the seconds are positive and ascend strictly.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Seconds and score after each epoch.
    points: Vec<(f64, f64)>,
    /// Score of each point in the running best: the highest score so far, or for a curve in hand the score there.
    running: Vec<f64>,
}

impl Curve {
    /// Creates a curve through `(seconds, score)` after each epoch; `None` without points, or where a number is not
    /// finite, the first time is not positive, or a time is not later than the one before.
    pub fn new(points: Vec<(f64, f64)>) -> Option<Self> {
        let mut curve = Self::in_hand(points)?;
        let mut best = f64::NEG_INFINITY;
        for score in &mut curve.running {
            best = best.max(*score);
            *score = best;
        }
        Some(curve)
    }

    /// Creates a curve in hand: each point is the score of the checkpoint that one would use there, which may be lower
    /// than an earlier one. Where other curves use the highest score so far, this one uses the line through its points,
    /// and its last score is its best.
    pub fn in_hand(points: Vec<(f64, f64)>) -> Option<Self> {
        let finite = |&(seconds, score): &(f64, f64)| seconds.is_finite() && score.is_finite();
        let starts = points.first().is_some_and(|&(seconds, _)| seconds > 0.0);
        let ascends = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !starts || !ascends || !points.iter().all(finite) {
            return None;
        }
        let running = points.iter().map(|&(_, score)| score).collect();
        Some(Self { points, running })
    }

    /// Seconds and score after each epoch, as given.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Seconds at the first point.
    pub fn start(&self) -> f64 {
        self.points[0].0
    }

    /// Seconds at the last point.
    pub fn end(&self) -> f64 {
        self.points[self.points.len() - 1].0
    }

    /// Highest score; of a curve in hand, the last score.
    pub fn best(&self) -> f64 {
        self.running[self.running.len() - 1]
    }

    /// The height of the running best at `seconds`, by straight lines between epochs; the best of all after the
    /// last.
    ///
    /// `None` before the first point: nothing has been trained for a whole epoch there, and what an untrained
    /// model scores is not among the points, so there is nothing to draw a line from.
    pub fn best_within(&self, seconds: f64) -> Option<f64> {
        let after = self.finished(seconds);
        let before = after.checked_sub(1)?;
        if after == self.points.len() {
            return Some(self.best());
        }
        let (left, right) = (self.points[before].0, self.points[after].0);
        let (low, high) = (self.running[before], self.running[after]);
        Some(low + (high - low) * ((seconds - left) / (right - left)))
    }

    /// The highest score of the epochs that were finished by `seconds`; `None` where none was.
    pub fn completed_within(&self, seconds: f64) -> Option<f64> {
        let finished = self.finished(seconds);
        Some(self.running[finished.checked_sub(1)?])
    }

    /// First time at which the running best is at least `score`; `None` if it never is.
    pub fn time_to(&self, score: f64) -> Option<f64> {
        let at = self.running.iter().position(|&best| best >= score)?;
        let Some(before) = at.checked_sub(1) else {
            return Some(self.start());
        };
        let (left, right) = (self.points[before].0, self.points[at].0);
        let (low, high) = (self.running[before], self.running[at]);
        Some(left + (right - left) * ((score - low) / (high - low)))
    }

    /// The mean height of the running best over the time from 0 to `seconds`, where the height is `floor` until
    /// the first epoch is finished, and the best of all after the last.
    ///
    /// It is the expected score when training is stopped at a uniformly random moment of that time. Counting from 0
    /// rather than from the first point makes curves with different epoch times comparable: a strategy without a score
    /// for longer pays for it. `floor` is the score without training: 0 where that counts as nothing, or the score of a
    /// constant prediction.
    ///
    /// # Panics
    /// If `seconds` is not positive and finite.
    pub fn area_until(&self, seconds: f64, floor: f64) -> f64 {
        assert!(
            seconds > 0.0 && seconds.is_finite(),
            "a budget is positive and finite, found {seconds} seconds"
        );
        let mut area = floor * self.start().min(seconds);
        for (at, pair) in self.points.windows(2).enumerate() {
            let (left, right) = (pair[0].0, pair[1].0.min(seconds));
            if right <= left {
                break;
            }
            let height = self.best_within(right).unwrap_or(self.running[at]);
            area += (right - left) * 0.5 * (self.running[at] + height);
        }
        area += self.best() * (seconds - self.end()).max(0.0);
        area / seconds
    }

    /// Number of points at `seconds` or before.
    fn finished(&self, seconds: f64) -> usize {
        self.points.partition_point(|&(at, _)| at <= seconds)
    }

    /// The corners of the running best, in ascending order.
    fn corners(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let seconds = self.points.iter().map(|&(seconds, _)| seconds);
        seconds.zip(self.running.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up, down, up: the running best is 0.5, 0.5, 0.7.
    fn curve() -> Curve {
        Curve::new(vec![(10.0, 0.5), (20.0, 0.4), (30.0, 0.7)]).expect("a curve")
    }

    #[test]
    fn points_that_make_no_curve_are_refused() {
        for points in [
            vec![],
            vec![(0.0, 0.5)],
            vec![(f64::NAN, 0.5)],
            vec![(1.0, f64::NAN)],
            vec![(1.0, 0.5), (f64::INFINITY, 0.6)],
            vec![(1.0, 0.5), (1.0, 0.6)],
            vec![(2.0, 0.5), (1.0, 0.6)],
        ] {
            assert_eq!(Curve::new(points.clone()), None, "{points:?}");
        }
    }

    #[test]
    fn between_epochs_the_best_so_far_is_a_straight_line() {
        for (seconds, within, completed) in [
            (9.9, None, None),
            (10.0, Some(0.5), Some(0.5)),
            (20.0, Some(0.5), Some(0.5)),
            (25.0, Some(0.6), Some(0.5)),
            (30.0, Some(0.7), Some(0.7)),
            (99.0, Some(0.7), Some(0.7)),
        ] {
            check(curve().best_within(seconds), within);
            check(curve().completed_within(seconds), completed);
        }
    }

    #[test]
    fn a_curve_in_hand_goes_down_with_its_points() {
        let curve = Curve::in_hand(vec![(10.0, 0.5), (20.0, 0.4), (30.0, 0.7), (40.0, 0.6)]);
        let curve = curve.expect("a curve");
        for (seconds, within) in [
            (5.0, None),
            (15.0, Some(0.45)),
            (25.0, Some(0.55)),
            (99.0, Some(0.6)),
        ] {
            check(curve.best_within(seconds), within);
        }
        check(Some(curve.best()), Some(0.6));
        check(curve.completed_within(29.0), Some(0.4));
        check(curve.time_to(0.55), Some(25.0));
        // 10 at 0, 10 from 0.5 to 0.4, 10 from 0.4 to 0.7, 10 from 0.7 to 0.6.
        check(
            Some(curve.area_until(40.0, 0.0)),
            Some((4.5 + 5.5 + 6.5) / 40.0),
        );
    }

    #[test]
    fn a_score_is_reached_once_or_never() {
        for (score, expected) in [
            (0.1, Some(10.0)),
            (0.5, Some(10.0)),
            (0.6, Some(25.0)),
            (0.7, Some(30.0)),
            (0.71, None),
            (f64::NAN, None),
        ] {
            check(curve().time_to(score), expected);
        }
    }

    #[test]
    fn the_area_is_the_mean_score_in_hand() {
        for (seconds, floor, expected) in [
            (5.0, 0.0, 0.0),
            (5.0, 0.3, 0.3),
            (20.0, 0.0, 0.25),
            // 10 at 0, 10 at 0.5, 5 from 0.5 to 0.6.
            (25.0, 0.0, (5.0 + 5.0 * 0.55) / 25.0),
            // 10 at 0.2, 10 at 0.5, 10 from 0.5 to 0.7, 10 at 0.7.
            (40.0, 0.2, (2.0 + 5.0 + 6.0 + 7.0) / 40.0),
        ] {
            check(Some(curve().area_until(seconds, floor)), Some(expected));
        }
    }

    #[test]
    #[should_panic(expected = "a budget is positive")]
    fn no_time_is_no_budget() {
        curve().area_until(0.0, 0.0);
    }

    #[track_caller]
    fn check(found: Option<f64>, expected: Option<f64>) {
        let same = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
            (found, expected) => found == expected,
        };
        assert!(same, "found {found:?}, expected {expected:?}");
    }
}
