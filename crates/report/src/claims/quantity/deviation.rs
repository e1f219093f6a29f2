//! How far the seeds of a side lie apart, as a standard deviation.

use std::ops::RangeInclusive;

use anyhow::Result;
use serde::Deserialize;
use totune_stats::{Interval, sd, sd_interval};

use super::{Quantity, at_least, sized};
use crate::claims::finding::Finding;
use crate::claims::terms::Terms;
use crate::claims::verdict;
use crate::select::per_run::{Which, score};
use crate::select::runs::Runs;
use crate::select::sample::LEVEL;
use crate::text::{Scale, counted};

/// The standard deviation over seeds, pooled over sides and tasks.
///
/// The interval takes the scores as normal: (n - 1) s² / σ² is then a χ² of n - 1 degrees of freedom.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deviation {}

impl Quantity for Deviation {
    fn relations(&self) -> &'static [&'static str] {
        &["near"]
    }

    fn sides(&self, _terms: &Terms) -> RangeInclusive<usize> {
        at_least(1)
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        sized(terms, 1)
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(format!("about {}", points(terms.relation.papers()[0])))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let (mut squares, mut freedom, mut reasons) = (0.0, 0.0, Vec::new());
        for task in terms.tasks()? {
            for side in terms.sides {
                let runners = terms.runners(side, task, runs)?;
                let scores = runners.per_seed(|run| score(run, task, Which::Final));
                let title = format!("{} on {}", terms.title(side)?, task.title);
                if scores.len() < 2 {
                    let note = runners.note.clone();
                    let note = note.unwrap_or_else(|| counted(scores.len(), "seed"));
                    return Ok(Finding::Untestable(format!("{title}: {note}")));
                }
                let (found, n) = (sd(&scores), scores.len() as f64 - 1.0);
                squares += n * found * found;
                freedom += n;
                reasons.push(format!(
                    "{title}: {} over {}",
                    points(found),
                    counted(scores.len(), "seed")
                ));
            }
        }
        let found = (squares / freedom).sqrt();
        let Some(interval) = sd_interval(found, freedom, LEVEL) else {
            return Ok(Finding::Untestable("the seeds do not vary".to_owned()));
        };
        reasons.push(format!(
            "together {} with a 95 % interval of [{}, {}]",
            points(found),
            Scale::Points.number(interval.low),
            Scale::Points.number(interval.high)
        ));
        let paper = terms.relation.papers()[0];
        let off = Interval {
            low: interval.low - paper,
            high: interval.high - paper,
        };
        let tolerance = terms.relation.tolerance().unwrap_or_default();
        let verdict = verdict::of_value(found - paper, tolerance, Some(off));
        Ok(Finding::settled(points(found), verdict, reasons))
    }
}

fn points(value: f64) -> String {
    format!("{}{}", Scale::Points.number(value), Scale::Points.unit())
}
