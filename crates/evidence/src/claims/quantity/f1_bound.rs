//! The highest F1 of a class that is possible at a printed accuracy.

use totune_stats::f1_upper_bound;

use super::prelude::*;
use super::printed::half_digit;

/// At most 2π / (2π + 1 - a), for a share π of the class and accuracy a.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct F1Bound {
    /// Metrics whose values the tables of `report.toml` give for the side.
    pub(super) accuracy: String,
    pub(super) f1: String,
    /// Examples of the class, and of all.
    pub(super) positives: f64,
    pub(super) total: f64,
    /// The most that averaging over runs can add to the bound, which holds for one run.
    pub(super) slack: f64,
}

impl Quantity for F1Bound {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_runs(&["consistent"], Where::new()).sides(1..=1)
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        ensure!(
            0.0 < self.positives && self.positives < self.total,
            "{}: found {} positives of {}, expected some but not all",
            terms.from,
            self.positives,
            self.total
        );
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(match self.cells(terms) {
            Some((accuracy, f1)) => {
                format!("F1 {} at accuracy {}", fixed(f1, 3), fixed(accuracy, 3))
            }
            None => NOT_RECOVERED.to_owned(),
        })
    }

    fn measure(&self, terms: &Terms, _runs: &Runs) -> Result<Finding> {
        Ok(match self.cells(terms) {
            Some((accuracy, f1)) => self.finding(accuracy, f1),
            None => Finding::Untestable("no table gives both numbers of the paper".to_owned()),
        })
    }
}

impl F1Bound {
    fn cells(&self, terms: &Terms) -> Option<(f64, f64)> {
        let cell =
            |metric: &str| terms.sides[0].paper_mean(terms.plan, &Measure::score(metric, TEST));
        Some((cell(&self.accuracy)?, cell(&self.f1)?))
    }

    pub(super) fn finding(&self, accuracy: f64, f1: f64) -> Finding {
        let prevalence = self.positives / self.total;
        let bound = f1_upper_bound(prevalence, accuracy);
        // The printed numbers are rounded: grant both their half digit.
        let generous = f1_upper_bound(prevalence, accuracy + half_digit(accuracy))
            + self.slack
            + half_digit(f1);
        let possible = f1 <= generous;
        // f1 = 2π / (2π + 1 - a) solved for π.
        let needed = f1 * (1.0 - accuracy) / (2.0 * (1.0 - f1));
        let other = f1_upper_bound(1.0 - prevalence, accuracy);
        let mut reasons = vec![format!(
            "at a share of {} of the class ({} of {}) and accuracy {}, F1 of the class is at most {}; the printed {} is {} it",
            fixed(prevalence, 3),
            count(self.positives as u64),
            count(self.total as u64),
            fixed(accuracy, 3),
            fixed(bound, 3),
            fixed(f1, 3),
            if f1 > bound { "above" } else { "not above" }
        )];
        if !possible {
            let verb = if f1 <= other {
                "would be possible"
            } else {
                "would be impossible too"
            };
            reasons.push(format!(
                "for the other class (share {}, at most {}) it {verb}",
                fixed(1.0 - prevalence, 3),
                fixed(other, 3)
            ));
            reasons.push(format!(
                "this F1 requires a class with a share of at least {}",
                fixed(needed, 3)
            ));
        }
        let recomputed = format!("F1 at most {}", fixed(bound, 3));
        Finding::by_numbers(recomputed, verdict::of_limits(possible), reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::super::printed::came_to;
    use super::*;
    use crate::claims::verdict::Verdict;

    #[test]
    fn scores_above_their_bound_are_impossible() {
        let bound = F1Bound {
            accuracy: String::new(),
            f1: String::new(),
            positives: 3271.0,
            total: 7613.0,
            slack: 0.002,
        };
        // By hand: bounds .830, .837, .836 at accuracies .824, .833, .831; .742 at .795 is possible.
        for (accuracy, f1, expected, of) in [
            (0.824, 0.872, "F1 at most 0.830", Verdict::Contradicted),
            (0.833, 0.863, "F1 at most 0.837", Verdict::Contradicted),
            (0.831, 0.850, "F1 at most 0.836", Verdict::Contradicted),
            (0.795, 0.742, "F1 at most 0.807", Verdict::Reproduced),
        ] {
            let (ours, verdict, _) = came_to(bound.finding(accuracy, f1));
            assert_eq!((ours.as_str(), verdict), (expected, of));
        }
    }
}
