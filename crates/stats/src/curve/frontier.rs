//! Upper envelope of several curves: the best of them within a time, for every time.

use crate::curve::Curve;

/// A stretch of time over which one curve is best.
#[derive(Clone, Debug, PartialEq)]
pub struct Reign {
    /// Position of the curve in the given list.
    pub curve: usize,
    /// Corners of its running best over the stretch, from its first to its last moment.
    pub points: Vec<(f64, f64)>,
}

impl Reign {
    /// Start of the stretch in seconds.
    pub fn from(&self) -> f64 {
        self.points[0].0
    }

    /// End of the stretch in seconds.
    pub fn until(&self) -> f64 {
        self.points[self.points.len() - 1].0
    }
}

/// Upper envelope of the running bests of `curves`, as consecutive stretches without a gap, from the first moment at
/// which any has a score until the end of the longest.
///
/// In a tie, the curve that was best before stays so; at the start, the earlier in the list is best. From one stretch
/// to the next the height may jump, where a curve begins above the others.
pub fn frontier(curves: &[Curve]) -> Vec<Reign> {
    let mut times: Vec<f64> = curves
        .iter()
        .flat_map(|curve| curve.corners().map(|(seconds, _)| seconds))
        .collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let mut reigns: Vec<Reign> = Vec::new();
    for pair in times.windows(2) {
        between(curves, (pair[0], pair[1]), &mut reigns);
    }
    if let ([], Some(&only)) = (reigns.as_slice(), times.first()) {
        // All curves are one point, at one moment.
        begin(curves, only, None, &mut reigns);
    }
    reigns
}

/// Continues the envelope over a stretch on which every curve is straight.
fn between(curves: &[Curve], (left, right): (f64, f64), reigns: &mut Vec<Reign>) {
    let lines: Vec<Option<(f64, f64)>> = curves
        .iter()
        .map(|curve| Some((curve.best_within(left)?, curve.best_within(right)?)))
        .collect();
    let height =
        |line: (f64, f64), at: f64| line.0 + (line.1 - line.0) * ((at - left) / (right - left));
    let mut at = left;
    begin(curves, left, reigns.last().map(|reign| reign.curve), reigns);
    // Each turn takes a steeper line, so there are at most as many turns as lines.
    for _ in 0..curves.len() {
        let Some(reign) = reigns.last_mut() else {
            return;
        };
        let Some(holder) = lines[reign.curve] else {
            return;
        };
        let crossings = lines.iter().enumerate().filter_map(|(other, line)| {
            let line = (*line)?;
            let (gap, closing) = (
                height(holder, at) - height(line, at),
                (line.1 - line.0) - (holder.1 - holder.0),
            );
            // A line that is not steeper, or does not come above before the end, takes nothing here.
            (closing > 0.0 && line.1 > holder.1).then(|| {
                (
                    at + (right - left) * (gap.max(0.0) / closing),
                    closing,
                    other,
                )
            })
        });
        // The first to cross; of several at one point the steepest, which is above the others after it.
        let next = crossings.min_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        match next {
            Some((seconds, _, other)) if seconds < right => {
                let point = (seconds, height(holder, seconds));
                if seconds > reign.until() {
                    reign.points.push(point);
                } else if reign.points.len() == 1 {
                    // Level at its first moment with one that is steeper: it never was the best.
                    reigns.pop();
                }
                reigns.push(Reign {
                    curve: other,
                    points: vec![point],
                });
                at = seconds;
            }
            _ => {
                reign.points.push((right, holder.1));
                return;
            }
        }
    }
}

/// Starts a stretch at `seconds` with the highest curve there, unless the one that was best still is.
fn begin(curves: &[Curve], seconds: f64, holder: Option<usize>, reigns: &mut Vec<Reign>) {
    let here = |curve: usize| curves[curve].best_within(seconds);
    let held = holder.and_then(here);
    let highest = (0..curves.len())
        .filter_map(|curve| Some((curve, here(curve)?)))
        .fold(None, |best: Option<(usize, f64)>, next| match best {
            Some(best) if best.1 >= next.1 => Some(best),
            _ => Some(next),
        });
    if let Some((curve, score)) = highest
        && held.is_none_or(|held| score > held)
    {
        reigns.push(Reign {
            curve,
            points: vec![(seconds, score)],
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_one_reigns_until_the_slow_one_is_above_it() {
        check(
            &[
                &[(10.0, 0.5), (20.0, 0.625), (30.0, 0.625)],
                &[(20.0, 0.5), (40.0, 0.75)],
            ],
            // Half way from 0.5 to 0.75 the second is level with the first.
            &[
                (0, &[(10.0, 0.5), (20.0, 0.625), (30.0, 0.625)]),
                (1, &[(30.0, 0.625), (40.0, 0.75)]),
            ],
        );
    }

    #[test]
    fn a_curve_that_begins_above_the_others_takes_over_at_once() {
        check(
            &[&[(10.0, 0.5), (40.0, 0.6)], &[(20.0, 0.9), (30.0, 0.95)]],
            &[
                (0, &[(10.0, 0.5), (20.0, 0.5 + 0.1 / 3.0)]),
                (1, &[(20.0, 0.9), (30.0, 0.95), (40.0, 0.95)]),
            ],
        );
    }

    #[test]
    fn a_curve_in_hand_that_falls_gives_way() {
        let falls = Curve::in_hand(vec![(10.0, 0.7), (30.0, 0.5)]).expect("a curve");
        let rises = Curve::in_hand(vec![(10.0, 0.5), (30.0, 0.7)]).expect("a curve");
        let found = frontier(&[falls, rises]);
        let ends: Vec<(usize, f64, f64)> = found
            .iter()
            .map(|reign| (reign.curve, reign.from(), reign.until()))
            .collect();
        assert_eq!(ends, [(0, 10.0, 20.0), (1, 20.0, 30.0)]);
    }

    #[test]
    fn equals_leave_the_first_in_place() {
        let points: &[(f64, f64)] = &[(10.0, 0.5), (20.0, 0.6)];
        check(&[points, points], &[(0, points)]);
        let steeper: &[(f64, f64)] = &[(10.0, 0.5), (20.0, 0.7)];
        check(&[points, steeper], &[(1, steeper)]);
        check(&[&[(10.0, 0.5)], &[(10.0, 0.6)]], &[(1, &[(10.0, 0.6)])]);
        check(&[], &[]);
    }

    #[test]
    fn three_lines_may_cross_within_one_stretch() {
        check(
            &[
                &[(10.0, 0.6), (110.0, 0.6)],
                &[(10.0, 0.5), (110.0, 0.8)],
                &[(10.0, 0.1), (110.0, 0.9)],
            ],
            &[
                (0, &[(10.0, 0.6), (10.0 + 100.0 / 3.0, 0.6)]),
                (1, &[(10.0 + 100.0 / 3.0, 0.6), (90.0, 0.74)]),
                (2, &[(90.0, 0.74), (110.0, 0.9)]),
            ],
        );
    }

    #[track_caller]
    fn check(curves: &[&[(f64, f64)]], expected: &[(usize, &[(f64, f64)])]) {
        let curves: Vec<Curve> = curves
            .iter()
            .map(|points| Curve::new(points.to_vec()).expect("a curve"))
            .collect();
        let found = frontier(&curves);
        let names: Vec<usize> = found.iter().map(|reign| reign.curve).collect();
        assert_eq!(
            names,
            expected.iter().map(|reign| reign.0).collect::<Vec<_>>()
        );
        for (found, (_, points)) in found.iter().zip(expected) {
            assert_eq!(found.points.len(), points.len(), "{found:?}");
            for (a, b) in found.points.iter().zip(*points) {
                assert!(
                    (a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-12,
                    "{found:?}"
                );
            }
        }
    }
}
