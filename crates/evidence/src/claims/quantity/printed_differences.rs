//! Differences that the paper prints, compared with those of its cells.

use super::prelude::*;

/// Half of the last digit of a score with one digit after the point, in hundredths.
const HALF: f64 = 0.5e-3;

/// Rows of a matrix that are differences. Not decided where rounding of the printed cells could account for the
/// discrepancy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PrintedDifferences {
    /// The id of a matrix.
    table: String,
    /// Names of rows that are differences and have the paper's cells.
    rows: Vec<String>,
}

/// A printed difference and the one that its cells give.
struct Printed<'a> {
    row: &'a GridRow,
    task: &'a str,
    printed: f64,
    given: f64,
}

impl Quantity for PrintedDifferences {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::printed(&["consistent"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        let from = &terms.from;
        let table = terms.plan.grid(&self.table, from)?;
        for name in &self.rows {
            let row = table.row(name, from)?;
            ensure!(
                row.difference.is_some() && !row.paper.is_empty(),
                "{from}: row `{name}` is no difference with cells of the paper"
            );
        }
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(format!("{} printed differences", self.all(terms)?.len()))
    }

    fn measure(&self, terms: &Terms, _runs: &Runs) -> Result<Finding> {
        let all = self.all(terms)?;
        if all.is_empty() {
            let why = "no printed difference has both of its cells";
            return Ok(Finding::Untestable(why.to_owned()));
        }
        let (mut off, mut verdict) = (Vec::new(), Verdict::Reproduced);
        for each in &all {
            let gap = (each.given - each.printed).abs();
            if gap < HALF {
                continue;
            }
            let task = terms.plan.tasks.get(each.task);
            off.push(format!(
                "{} on {}: printed {}, its cells give {}",
                each.row.shown(terms.plan),
                task.map_or("", |task| &task.title),
                Scale::Points.signed(each.printed),
                Scale::Points.signed(each.given)
            ));
            verdict = verdict.max(if within(gap, 3.0 * HALF) {
                Verdict::NotDecided
            } else {
                Verdict::Contradicted
            });
        }
        let n = all.len();
        let recomputed = format!("{} of {n} follow from the cells", n - off.len());
        Ok(Finding::by_numbers(recomputed, verdict, off))
    }
}

impl PrintedDifferences {
    /// Every printed difference that has both of its cells.
    fn all<'a>(&self, terms: &Terms<'a>) -> Result<Vec<Printed<'a>>> {
        let table: &'a Grid = terms.plan.grid(&self.table, &terms.from)?;
        let mut all = Vec::new();
        for name in &self.rows {
            let row = table.row(name, &terms.from)?;
            let Some([a, b]) = &row.difference else {
                continue;
            };
            let (a, b) = (table.row(a, &terms.from)?, table.row(b, &terms.from)?);
            all.extend(table.columns.iter().filter_map(|column| {
                let task = column.task.as_str();
                Some(Printed {
                    row,
                    task,
                    printed: row.printed(task)?,
                    given: a.printed(task)? - b.printed(task)?,
                })
            }));
        }
        Ok(all)
    }
}
