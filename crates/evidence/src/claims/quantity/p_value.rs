//! The p-value of a printed t and its degrees of freedom.

use totune_stats::t_two_sided_p;

use super::prelude::*;
use super::printed::half_digit;

/// The two-sided p-value. Not decided where only some t that rounds to the printed one gives the printed p.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PValue {
    pub(super) t: f64,
    pub(super) df: f64,
}

impl Quantity for PValue {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::printed(&["near"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        let from = &terms.from;
        ensure!(
            self.df > 0.0,
            "{from}: found df = {}, expected more than 0",
            self.df
        );
        ensure!(
            terms.relation.papers().len() == 1 && terms.relation.tolerance().is_none(),
            "{from}: expected one printed p and no tolerance"
        );
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(format!("p = {}", terms.relation.papers()[0]))
    }

    fn measure(&self, terms: &Terms, _runs: &Runs) -> Result<Finding> {
        Ok(self.finding(terms.relation.papers()[0]))
    }
}

impl PValue {
    pub(super) fn finding(&self, printed: f64) -> Finding {
        let Self { t, df } = *self;
        let p = t_two_sided_p(t, df);
        let (digits, half) = (decimals(printed), half_digit(printed));
        let size = t.abs();
        let (least, most) = (
            t_two_sided_p(size + half_digit(size), df),
            t_two_sided_p(size - half_digit(size), df),
        );
        let verdict = if within(p - printed, half) {
            Verdict::Reproduced
        } else if least <= printed + half && printed - half <= most {
            Verdict::NotDecided
        } else {
            Verdict::Contradicted
        };
        let mut reasons = vec![format!(
            "two-sided p of t = {t}, df = {df} is {}",
            fixed(p, digits + 1)
        )];
        if verdict == Verdict::NotDecided {
            reasons.push(format!(
                "not the printed {printed}, which only a t at the edge of the values that round to {t} gives (p from {} to {})",
                fixed(least, digits + 2),
                fixed(most, digits + 2)
            ));
        }
        Finding::by_numbers(format!("p = {}", fixed(p, digits + 1)), verdict, reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::super::printed::came_to;
    use super::*;

    #[test]
    fn p_values_from_t_and_df() {
        for (t, df, p, expected, of) in [
            (-0.91, 13.0, 0.38, "p = 0.379", Verdict::Reproduced),
            (-1.5, 16.0, 0.14, "p = 0.153", Verdict::NotDecided),
            (-1.5, 16.0, 0.05, "p = 0.153", Verdict::Contradicted),
        ] {
            let (ours, verdict, _) = came_to(PValue { t, df }.finding(p));
            assert_eq!((ours.as_str(), verdict), (expected, of), "t = {t}");
        }
    }
}
