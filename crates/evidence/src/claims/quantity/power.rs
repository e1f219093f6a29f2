//! The smallest difference that a printed test could have detected.

use totune_stats::{PlannedSample, minimal_detectable_difference};

use super::prelude::*;

/// Compared with the difference of the printed means, which the tables of `report.toml` give.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Power {
    pub(super) metric: String,
    pub(super) t: f64,
    /// Runs on each side.
    pub(super) n: usize,
}

impl Quantity for Power {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_runs(&["consistent"], Where::new())
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        let from = &terms.from;
        ensure!(
            self.n > 1,
            "{from}: found n = {}, expected at least 2",
            self.n
        );
        ensure!(
            self.t != 0.0,
            "{from}: found t = 0, expected the t of a difference"
        );
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(match self.difference(terms) {
            Some(found) => format!("{} ({} runs a side)", signed(found, 3), self.n),
            None => NOT_RECOVERED.to_owned(),
        })
    }

    fn measure(&self, terms: &Terms, _runs: &Runs) -> Result<Finding> {
        Ok(match self.difference(terms) {
            Some(difference) => self.finding(difference),
            None => Finding::Untestable("no table gives both means of the paper".to_owned()),
        })
    }
}

impl Power {
    fn difference(&self, terms: &Terms) -> Option<f64> {
        let measure = Measure::score(&self.metric, TEST);
        let cell = |at: usize| terms.sides[at].paper_mean(terms.plan, &measure);
        Some(cell(0)? - cell(1)?)
    }

    pub(super) fn finding(&self, difference: f64) -> Finding {
        let Self { t, n, .. } = *self;
        // t = difference / standard error; equal spreads with n runs a side would give that standard error.
        let error = (difference / t).abs();
        let sd = error * (n as f64 / 2.0).sqrt();
        let side = PlannedSample { sd, n };
        let detectable = minimal_detectable_difference(side, side, ALPHA, POWER);
        let reasons = vec![
            format!(
                "the printed means differ by {}, and t = {t} makes the standard error {}",
                signed(difference, 3),
                fixed(error, 4)
            ),
            format!(
                "with {n} runs a side and equal spreads, a true difference has to be {} to be found in {} % of such comparisons",
                fixed(detectable, 3),
                fixed(POWER * 100.0, 0)
            ),
        ];
        let verdict = if difference.abs() >= detectable {
            Verdict::Reproduced
        } else {
            Verdict::NotTestable
        };
        Finding::by_numbers(
            format!("detectable: {}", fixed(detectable, 3)),
            verdict,
            reasons,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::printed::came_to;
    use super::*;

    #[test]
    fn ten_noisy_runs_cannot_see_a_small_difference() {
        let power = Power {
            metric: String::new(),
            t: -0.91,
            n: 10,
        };
        let (ours, verdict, _) = came_to(power.finding(0.009));
        // Standard error 0.0099; about (2.1 + 0.86) of these for 80 % power at 5 %.
        assert_eq!(verdict, Verdict::NotTestable);
        assert!(ours.starts_with("detectable: 0.029"), "{ours}");
    }
}
