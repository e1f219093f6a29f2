//! The correlation of two rows of a table over its columns.

use totune_stats::{pearson_test, spearman_test, t_two_sided_p};

use super::prelude::*;
use crate::claims::judge::labels_text;
use crate::compare::grid::{Both, correlation_text};

/// Pearson's correlation of `y` with `x`, with Spearman's next to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Correlation {
    /// The id of a matrix.
    table: String,
    /// Names of its rows.
    x: String,
    y: String,
}

impl Quantity for Correlation {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::printed(&["equivalent", "greater"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        let table = self.table(terms)?;
        table.row(&self.x, &terms.from)?;
        table.row(&self.y, &terms.from).map(|_| ())
    }

    fn margin(&self) -> f64 {
        0.0
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let table = self.table(terms)?;
        let title =
            |name: &str| Ok::<_, anyhow::Error>(table.row(name, &terms.from)?.shown(terms.plan));
        let (x, y) = (title(&self.x)?, title(&self.y)?);
        let none = if terms.relation == &Relation::Equivalent {
            "no"
        } else {
            "a positive"
        };
        Ok(format!("{none} correlation of {y} with {x}"))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let filled = self.table(terms)?.fill(&terms.scope(runs))?;
        Ok(compared(filled.both(&self.x, &self.y)).into())
    }
}

impl Correlation {
    fn table<'a>(&self, terms: &Terms<'a>) -> Result<&'a Grid> {
        terms.plan.grid(&self.table, &terms.from)
    }
}

fn compared(both: Both) -> Result<Finding, String> {
    if !both.labels.is_empty() {
        return Err(labels_text(&both.labels));
    }
    if let Some(note) = both.note {
        return Err(note);
    }
    if both.pairs.len() < both.columns {
        return Err(format!(
            "{} of {} columns have both",
            both.pairs.len(),
            both.columns
        ));
    }
    let (x, y): (Vec<f64>, Vec<f64>) = both.pairs.iter().copied().unzip();
    let tests = [LEVEL, NARROW].map(|level| pearson_test(&x, &y, level));
    let ([Some(pearson), Some(narrow)], Some(spearman)) = (tests, spearman_test(&x, &y, LEVEL))
    else {
        return Err(format!("{} columns, or rows that do not vary", x.len()));
    };
    let label = format!("Pearson's correlation over {} columns", x.len());
    let test = "Student's t for correlations".to_owned();
    let comparison = Comparison::of_correlation([pearson, narrow], test, x.len());
    let mut evidence = Evidence::of(label, comparison, Scale::Plain(2));
    evidence.ours = correlation_text("Pearson", &pearson);
    evidence
        .notes
        .push(correlation_text("for comparison: Spearman", &spearman));
    evidence.notes.push(format!(
        "over {} columns only a correlation of at least {} is significant; a smaller one would go unnoticed",
        x.len(),
        fixed(smallest_that_counts(x.len()), 2)
    ));
    Ok(Finding::Compared(evidence))
}

/// The smallest correlation over `n` pairs with p below 0.05, by bisection on Student's test.
fn smallest_that_counts(n: usize) -> f64 {
    let df = n as f64 - 2.0;
    let p = |r: f64| t_two_sided_p(r * (df / (1.0 - r * r)).sqrt(), df);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if p(middle) < ALPHA {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}
