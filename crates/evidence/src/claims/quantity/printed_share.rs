//! Shares that printed parts have of a whole.

use super::prelude::*;
use super::printed::{follows, most_decimals, percent};

/// They round to the printed shares, or come as near as their round words grant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PrintedShare {
    pub(super) parts: Vec<f64>,
    pub(super) whole: f64,
    /// Unit of the parts and of the whole, such as `layers`.
    #[serde(default)]
    pub(super) unit: String,
}

impl Quantity for PrintedShare {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::printed(&["near"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        let (from, printed) = (&terms.from, terms.relation.papers());
        ensure!(
            self.whole > 0.0,
            "{from}: found whole = {}, expected more than 0",
            self.whole
        );
        ensure!(
            !self.parts.is_empty() && self.parts.len() == printed.len(),
            "{from}: found {} printed shares, expected one for each of {} parts",
            printed.len(),
            self.parts.len()
        );
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let printed = terms.relation.papers().iter();
        let shares: Vec<String> = printed
            .map(|&share| format!("{} %", percent(share)))
            .collect();
        Ok(shares.join(", "))
    }

    fn measure(&self, terms: &Terms, _runs: &Runs) -> Result<Finding> {
        Ok(self.finding(terms.relation.papers(), terms.relation.tolerance()))
    }
}

impl PrintedShare {
    pub(super) fn finding(&self, printed: &[f64], tolerance: Option<f64>) -> Finding {
        let digits = most_decimals(&self.parts).max(decimals(self.whole));
        let number = |value: f64| match digits {
            0 if value >= 0.0 => count(value as u64),
            _ => fixed(value, digits),
        };
        let half = 0.5 * 10f64.powi(-(digits as i32));
        // Counts below a thousand, such as layers, are exact; measured values were rounded.
        let exact = digits == 0 && self.whole < 1000.0;
        let unit = match self.unit.as_str() {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        let mut verdict = Verdict::Reproduced;
        let (mut recomputed, mut reasons) = (Vec::new(), Vec::new());
        for (&part, &share) in self.parts.iter().zip(printed) {
            let found = part / self.whole;
            let slack = if exact {
                0.0
            } else {
                half / self.whole * (1.0 + found)
            };
            let (of_this, grant) = follows(found, share, tolerance, slack);
            verdict = verdict.max(of_this);
            recomputed.push(format!("{} %", fixed(found * 100.0, 2)));
            reasons.push(format!(
                "{} of {}{unit} is {} %; printed: {} %; {grant}",
                number(part),
                number(self.whole),
                fixed(found * 100.0, 2),
                percent(share),
            ));
        }
        Finding::by_numbers(recomputed.join(", "), verdict, reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::super::printed::came_to;
    use super::*;
    use crate::claims::verdict::Verdict::{Contradicted, NotDecided, Reproduced};

    #[test]
    fn shares_of_layers_and_of_seconds() {
        let printed = [0.0833, 0.25];
        for (parts, whole, printed, expected, of) in [
            (
                &[1.0, 3.0][..],
                12.0,
                &printed[..],
                "8.33 %, 25.00 %",
                Reproduced,
            ),
            (&[1.0, 4.0], 12.0, &printed, "8.33 %, 33.33 %", Contradicted),
            (&[1737.0], 3263.0, &[0.5323], "53.23 %", Reproduced),
            (&[1737.0], 3263.0, &[0.5324], "53.23 %", NotDecided),
            (&[1526.0], 3263.0, &[0.5324], "46.77 %", Contradicted),
        ] {
            let share = PrintedShare {
                parts: parts.to_vec(),
                whole,
                unit: "layers".to_owned(),
            };
            let (ours, verdict, reasons) = came_to(share.finding(printed, None));
            assert_eq!((ours.as_str(), verdict), (expected, of), "{reasons:?}");
        }
    }
}
