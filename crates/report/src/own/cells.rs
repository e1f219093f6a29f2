//! Cells of the paper held against each other.

use super::{Decided, Own};
use crate::claims::{Cells, Lie, PrintedDifferences};
use crate::matrix::{MatrixPlan, MatrixRow};
use crate::plan::Plan;
use crate::text::{Scale, joined};
use crate::verdict::{Verdict, within};

/// Whether rows of the paper lie to another as it says; `Err` where no column has both.
pub(crate) fn cells(check: &Cells, table: &MatrixPlan, plan: &Plan) -> Result<Decided, String> {
    let scale = Scale::Points;
    let (mut held, mut all, mut reasons, mut found) = (0, 0, Vec::new(), Vec::new());
    let b = row(table, &check.b);
    for name in &check.a {
        let a = row(table, name);
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        for column in &table.columns {
            let asked = check.columns.is_empty() || check.columns.contains(&column.task);
            let Some((left, right)) = value(a, &column.task).zip(value(b, &column.task)) else {
                continue;
            };
            if !asked {
                continue;
            }
            let difference = left - right;
            all += 1;
            let title = plan.tasks.get(&column.task).map_or("", |task| &task.title);
            let text = format!("{title} {}", scale.signed(difference));
            found.push(text.clone());
            if check.expect.holds(difference, check.limit) {
                held += 1;
                yes.push(text);
            } else {
                no.push(text);
            }
        }
        let against = format!("{} less {}", title(a, plan), title(b, plan));
        let list = |texts: &[String]| joined(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        if !yes.is_empty() {
            reasons.push(format!("{against} holds on {}{}", list(&yes), scale.unit()));
        }
        if !no.is_empty() {
            reasons.push(format!(
                "{against} does not on {}{}",
                list(&no),
                scale.unit()
            ));
        }
    }
    if all == 0 {
        return Err("no column has a number of the paper in both rows".to_owned());
    }
    let names: Vec<String> = check
        .a
        .iter()
        .map(|name| title(row(table, name), plan))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(Decided {
        by: Own::Numbers,
        paper: check
            .expect
            .words(&joined(&names), &title(b, plan), check.limit),
        recomputed: format!("{held} of {all} cells"),
        verdict: if held == all {
            Verdict::Reproduced
        } else {
            Verdict::Contradicted
        },
        reasons,
    })
}

/// Whether printed differences are those of the printed cells. Within noise where only the digits that printing cut
/// off could make up for it.
pub(crate) fn printed_differences(
    check: &PrintedDifferences,
    table: &MatrixPlan,
    plan: &Plan,
) -> Result<Decided, String> {
    let scale = Scale::Points;
    // Scores with one digit after the point, in hundredths.
    let half = 0.5e-3;
    let (mut all, mut off, mut verdict) = (0, Vec::new(), Verdict::Reproduced);
    for name in &check.rows {
        let of = row(table, name);
        let Some([a, b]) = &of.difference else {
            continue;
        };
        let (a, b) = (row(table, a), row(table, b));
        for column in &table.columns {
            let cells = value(a, &column.task).zip(value(b, &column.task));
            let Some((printed, (a, b))) = value(of, &column.task).zip(cells) else {
                continue;
            };
            all += 1;
            let gap = (a - b - printed).abs();
            if gap < half {
                continue;
            }
            let task = plan.tasks.get(&column.task).map_or("", |task| &task.title);
            off.push(format!(
                "{} on {task}: printed {}, its cells give {}",
                title(of, plan),
                scale.signed(printed),
                scale.signed(a - b)
            ));
            verdict = verdict.max(if within(gap, 3.0 * half) {
                Verdict::WithinNoise
            } else {
                Verdict::Contradicted
            });
        }
    }
    if all == 0 {
        return Err("no printed difference has both of its cells".to_owned());
    }
    Ok(Decided {
        by: Own::Numbers,
        paper: format!("{all} printed differences"),
        recomputed: format!("{} of {all} follow from the cells", all - off.len()),
        verdict,
        reasons: off,
    })
}

impl Lie {
    fn holds(self, difference: f64, limit: f64) -> bool {
        match self {
            Self::Above => difference > limit + 1e-9,
            Self::Below => difference < -limit - 1e-9,
            Self::Similar => within(difference, limit),
        }
    }

    fn words(self, a: &str, b: &str, limit: f64) -> String {
        let points = Scale::Points.number(limit);
        match (self, limit > 0.0) {
            (Self::Above, false) => format!("{a} above {b}"),
            (Self::Above, true) => format!("{a} above {b} by more than {points} points"),
            (Self::Below, false) => format!("{a} below {b}"),
            (Self::Below, true) => format!("{a} below {b} by more than {points} points"),
            (Self::Similar, _) => format!("{a} within {points} points of {b}"),
        }
    }
}

fn row<'a>(table: &'a MatrixPlan, name: &str) -> &'a MatrixRow {
    let found = table.rows.iter().find(|row| row.name() == name);
    found.expect("the rows of a claim were checked")
}

fn value(row: &MatrixRow, task: &str) -> Option<f64> {
    row.paper.get(task)?.value()
}

fn title(row: &MatrixRow, plan: &Plan) -> String {
    let group = row.group.as_ref().and_then(|name| plan.groups.get(name));
    let title = row.title.as_ref().or(group.map(|group| &group.title));
    title.cloned().unwrap_or_default()
}
