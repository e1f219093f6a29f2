//! Correlations of two rows over the columns of a table.

use std::collections::BTreeSet;

use anyhow::Result;
use totune_stats::{Correlation, pearson_test, spearman_test};

use super::cells::{Place, Row};
use super::{Correlate, Matrix};
use crate::select::sample::LEVEL;
use crate::select::scope::Scope;
use crate::text::{fixed, p_equals};

/// What is known about the correlation of two rows, in a sentence.
pub(super) fn sentence(asked: &Correlate, rows: &[Row], places: &[Place]) -> String {
    let row = |name: &String| {
        let row = rows.iter().find(|row| row.plan.name() == name);
        row.expect("correlations name rows of the table")
    };
    let (x, y) = (row(&asked.x), row(&asked.y));
    let cells = x.cells.iter().zip(&y.cells).zip(places);
    let found: Vec<(f64, f64, &str)> = cells
        .filter_map(|((x, y), place)| Some((x.mean?, y.mean?, place.task.title.as_str())))
        .collect();
    let what = format!("correlation of {} with {}", y.title, x.title);
    let (xs, ys): (Vec<f64>, Vec<f64>) = found.iter().map(|(x, y, _)| (*x, *y)).unzip();
    match pearson_test(&xs, &ys, LEVEL).zip(spearman_test(&xs, &ys, LEVEL)) {
        None => format!(
            "{what}: none, since {} of {} columns have both",
            found.len(),
            places.len()
        ),
        Some((pearson, spearman)) => format!(
            "{what}, over {} columns: {}; {}",
            found.len(),
            words("Pearson", &pearson),
            words("Spearman", &spearman)
        ),
    }
}

/// `Pearson -0.31 [-0.93, 0.79], p = 0.612`.
pub(crate) fn words(name: &str, test: &Correlation) -> String {
    let interval = test.interval.map_or(String::new(), |interval| {
        format!(" [{}, {}]", fixed(interval.low, 2), fixed(interval.high, 2))
    });
    let how = if test.exact { " by all orders" } else { "" };
    format!(
        "{name} {}{interval}, {}{how}",
        fixed(test.r, 2),
        p_equals(test.p)
    )
}

/// Two rows over the columns, for a claim.
pub(crate) struct Both {
    /// Ours, in the columns that have both.
    pub(crate) pairs: Vec<(f64, f64)>,
    /// Columns of the table.
    pub(crate) columns: usize,
    /// What the runs must not be taken for.
    pub(crate) labels: BTreeSet<String>,
    /// Why there is nothing, if one row has no run at all.
    pub(crate) note: Option<String>,
}

impl Matrix {
    /// The numbers of two of its rows.
    pub(crate) fn both(&self, (x, y): (&str, &str), scope: &Scope) -> Result<Both> {
        let places = self.places(scope)?;
        let rows = self.filled(&places, scope)?;
        let row = |name: &str| {
            let row = rows.iter().find(|row| row.plan.name() == name);
            row.expect("the rows of a claim were checked")
        };
        let (x, y) = (row(x), row(y));
        let cells = || x.cells.iter().zip(&y.cells);
        let note = [x, y]
            .into_iter()
            .filter(|row| row.cells.iter().all(|cell| cell.mean.is_none()))
            .map(
                |row| match row.cells.iter().find_map(|cell| cell.note.clone()) {
                    Some(note) => format!("{}: {note}", row.title),
                    None => format!("{}: no run", row.title),
                },
            )
            .next();
        Ok(Both {
            pairs: cells()
                .filter_map(|(x, y)| Some((x.mean?, y.mean?)))
                .collect(),
            columns: places.len(),
            labels: cells()
                .flat_map(|(x, y)| x.sample.labels.union(&y.sample.labels))
                .cloned()
                .collect(),
            note,
        })
    }
}
