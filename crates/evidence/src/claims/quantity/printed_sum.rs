//! The sum of printed terms.

use super::prelude::*;
use super::printed::{half_digit, most_decimals};

/// Terms that should add up to the printed total; if not, what each would have to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PrintedSum {
    pub(super) terms: Vec<f64>,
    /// Printed shares of the terms, between 0 and 1, if the paper gives them.
    #[serde(default)]
    pub(super) shares: Vec<f64>,
}

impl Quantity for PrintedSum {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::printed(&["near"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        let (from, n) = (&terms.from, self.terms.len());
        ensure!(
            self.shares.is_empty() || self.shares.len() == n,
            "{from}: found {} shares, expected one for each of {n} terms",
            self.shares.len()
        );
        ensure!(
            terms.relation.papers().len() == 1 && terms.relation.tolerance().is_none(),
            "{from}: expected one printed total and no tolerance"
        );
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let total = terms.relation.papers()[0];
        Ok(self.equation(total, self.digits(total)))
    }

    fn measure(&self, terms: &Terms, _runs: &Runs) -> Result<Finding> {
        Ok(self.finding(terms.relation.papers()[0]))
    }
}

impl PrintedSum {
    pub(super) fn finding(&self, total: f64) -> Finding {
        let digits = self.digits(total);
        let sum: f64 = self.terms.iter().sum();
        let holds = (sum - total).abs() < 0.5 * 10f64.powi(-(digits as i32));
        let mut reasons = Vec::new();
        for (at, &term) in self.terms.iter().enumerate().filter(|_| !holds) {
            let needed = total - (sum - term);
            let share = self.shares.get(at);
            reasons.push(format!(
                "the total would hold with {} in place of {}{}",
                shown(needed, digits),
                shown(term, digits),
                share.map_or(String::new(), |&share| fit(needed / total, share))
            ));
        }
        let verdict = verdict::of_limits(holds);
        Finding::by_numbers(self.equation(sum, digits), verdict, reasons)
    }

    fn digits(&self, total: f64) -> usize {
        most_decimals(&self.terms).max(decimals(total))
    }

    fn equation(&self, total: f64, digits: usize) -> String {
        let terms: Vec<String> = self.terms.iter().map(|&term| shown(term, digits)).collect();
        format!("{} = {}", terms.join(" + "), shown(total, digits))
    }
}

/// The text that says whether a share rounds to the printed one.
fn fit(found: f64, printed: f64) -> String {
    let fits = (found - printed).abs() < half_digit(printed);
    let verb = if fits { "fits" } else { "does not fit" };
    let digits = decimals(printed).saturating_sub(2);
    format!(
        ", which is {} % and {verb} the printed {} %",
        fixed(found * 100.0, digits + 1),
        fixed(printed * 100.0, digits)
    )
}

fn shown(value: f64, digits: usize) -> String {
    if digits == 0 && value >= 0.0 {
        count(value as u64)
    } else {
        fixed(value, digits)
    }
}

#[cfg(test)]
mod tests {
    use super::super::printed::came_to;
    use super::*;
    use crate::claims::verdict::Verdict;

    #[test]
    fn sums_that_hold_and_one_that_does_not() {
        let sum = |terms: &[f64]| PrintedSum {
            terms: terms.to_vec(),
            shares: vec![0.57, 0.43],
        };
        let (_, verdict, _) = came_to(sum(&[4342.0, 3271.0]).finding(7613.0));
        assert_eq!(verdict, Verdict::Reproduced);
        let (ours, verdict, reasons) = came_to(sum(&[4242.0, 3271.0]).finding(7613.0));
        assert_eq!(verdict, Verdict::Contradicted);
        assert_eq!(ours, "4,242 + 3,271 = 7,513");
        assert_eq!(
            reasons[0],
            "the total would hold with 4,342 in place of 4,242, which is 57.0 % and fits the printed 57 %"
        );
        assert!(
            reasons[1].contains("does not fit the printed 43 %"),
            "{}",
            reasons[1]
        );
    }
}
