//! Cells of the paper compared with each other.

use super::prelude::*;
use crate::toml_file::did_you_mean;

/// Rows of a matrix, each compared with one other by the numbers that the paper prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PrintedCells {
    /// The id of a matrix.
    table: String,
    /// Names of its rows.
    rows: Vec<String>,
    /// The row that each is compared with.
    against: String,
    /// Tasks; all that both rows have a number in, unless named.
    #[serde(default)]
    columns: Vec<String>,
}

impl Quantity for PrintedCells {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::printed(&["greater", "greater-by", "equivalent"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        let from = &terms.from;
        let table = terms.plan.grid(&self.table, from)?;
        for row in self.rows.iter().chain([&self.against]) {
            table.row(row, from)?;
        }
        for column in &self.columns {
            let known = || table.columns.iter().map(|column| column.task.as_str());
            ensure!(
                known().any(|task| task == column),
                "{from}: `{column}` is no column of `{}`{}",
                self.table,
                did_you_mean(column, known())
            );
        }
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let table = terms.plan.grid(&self.table, &terms.from)?;
        let title = |name| Ok::<_, anyhow::Error>(table.row(name, &terms.from)?.shown(terms.plan));
        let titles = self.rows.iter().map(|name| title(name));
        let titles = titles.collect::<Result<Vec<_>>>()?;
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let (a, b) = (joined(&titles), title(&self.against)?);
        let points = Scale::Points.number(terms.relation.limit());
        Ok(match terms.relation {
            Relation::Equivalent => {
                format!("{a} within {} of {b}", Scale::Points.amount(terms.margin))
            }
            Relation::GreaterBy(_) => format!("{a} above {b} by more than {points} points"),
            _ => format!("{a} above {b}"),
        })
    }

    fn measure(&self, terms: &Terms, _runs: &Runs) -> Result<Finding> {
        let table = terms.plan.grid(&self.table, &terms.from)?;
        let b = table.row(&self.against, &terms.from)?;
        let (mut held, mut all, mut reasons) = (0, 0, Vec::new());
        for name in &self.rows {
            let a = table.row(name, &terms.from)?;
            let [yes, no] = self.cells(a, b, table, terms);
            held += yes.len();
            all += yes.len() + no.len();
            let against = format!("{} minus {}", a.shown(terms.plan), b.shown(terms.plan));
            for (texts, verb) in [(yes, "holds"), (no, "does not")] {
                if !texts.is_empty() {
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    let (cells, unit) = (joined(&texts), Scale::Points.unit());
                    reasons.push(format!("{against} {verb} on {cells}{unit}"));
                }
            }
        }
        if all == 0 {
            let why = "no column has a number of the paper in both rows";
            return Ok(Finding::Untestable(why.to_owned()));
        }
        let verdict = verdict::of_limits(held == all);
        Ok(Finding::by_numbers(
            format!("{held} of {all} cells"),
            verdict,
            reasons,
        ))
    }
}

impl PrintedCells {
    /// Differences where the relation holds, and where it does not.
    fn cells(&self, a: &GridRow, b: &GridRow, table: &Grid, terms: &Terms) -> [Vec<String>; 2] {
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        for column in &table.columns {
            let asked = self.columns.is_empty() || self.columns.contains(&column.task);
            let both = a.printed(&column.task).zip(b.printed(&column.task));
            let Some((left, right)) = both.filter(|_| asked) else {
                continue;
            };
            let task = terms.plan.tasks.get(&column.task);
            let title = task.map_or("", |task| &task.title);
            let text = format!("{title} {}", Scale::Points.signed(left - right));
            let kept = match terms.relation {
                Relation::Equivalent => within(left - right, terms.margin),
                relation => relation.keeps(left - right),
            };
            if kept { yes.push(text) } else { no.push(text) }
        }
        [yes, no]
    }
}
