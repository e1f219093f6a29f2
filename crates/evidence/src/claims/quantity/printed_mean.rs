//! The mean of printed terms.

use super::prelude::*;
use super::printed::{follows, most_decimals};

/// It rounds to the printed mean, or comes as near as its round words ("around 40 %") grant.
///
/// Not decided where only some terms that round to the printed ones have that mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PrintedMean {
    pub(super) terms: Vec<f64>,
}

impl Quantity for PrintedMean {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::printed(&["near"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        let from = &terms.from;
        ensure!(
            !self.terms.is_empty(),
            "{from}: found no terms, expected those of the mean"
        );
        ensure!(
            terms.relation.papers().len() == 1,
            "{from}: found {} values of the paper, expected one mean",
            terms.relation.papers().len()
        );
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let digits = most_decimals(&self.terms);
        let each = self.terms.iter().map(|&term| fixed(term, digits));
        let each: Vec<String> = each.collect();
        let paper = terms.relation.papers()[0];
        let paper = fixed(paper, decimals(paper));
        Ok(format!("mean of {} is {paper}", each.join(", ")))
    }

    fn measure(&self, terms: &Terms, _runs: &Runs) -> Result<Finding> {
        Ok(self.finding(terms.relation.papers()[0], terms.relation.tolerance()))
    }
}

impl PrintedMean {
    pub(super) fn finding(&self, paper: f64, tolerance: Option<f64>) -> Finding {
        let digits = most_decimals(&self.terms);
        let found = mean(&self.terms);
        let slack = 0.5 * 10f64.powi(-(digits as i32));
        let (verdict, grant) = follows(found, paper, tolerance, slack);
        let shown = fixed(found, digits + 1);
        let reason = format!(
            "the mean of the printed numbers is {shown}, {} from the printed {}; {grant}",
            signed(found - paper, digits + 1),
            fixed(paper, decimals(paper))
        );
        Finding::by_numbers(format!("mean {shown}"), verdict, vec![reason])
    }
}

#[cfg(test)]
mod tests {
    use super::super::printed::came_to;
    use super::*;
    use crate::claims::verdict::Verdict::{Contradicted, NotDecided, Reproduced};

    #[test]
    fn means_that_round_to_the_printed_one_and_means_that_do_not() {
        let three = [0.66, 0.39, 0.19];
        for (terms, paper, tolerance, expected, of) in [
            (&three[..], 0.4, None, "mean 0.413", Reproduced),
            (&[0.29, 0.2, 0.04], 0.3, None, "mean 0.177", Contradicted),
            // Terms just below 0.125 have a mean that rounds to 0.12; at 0.125 it rounds to 0.13.
            (&[0.12, 0.12], 0.13, None, "mean 0.120", NotDecided),
            (&[37.3, 49.61], 40.0, Some(5.0), "mean 43.455", Reproduced),
            (&[37.3, 49.61], 40.0, Some(2.0), "mean 43.455", Contradicted),
        ] {
            let mean = PrintedMean {
                terms: terms.to_vec(),
            };
            let (ours, verdict, reasons) = came_to(mean.finding(paper, tolerance));
            assert_eq!((ours.as_str(), verdict), (expected, of), "{reasons:?}");
        }
    }
}
