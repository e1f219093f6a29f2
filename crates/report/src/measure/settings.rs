//! One setting at a time: how far its repeats lie apart, how much of the model it trains.

use anyhow::Result;
use totune_stats::{Interval, quartiles, sd, sd_interval};

use super::of_tasks::score;
use super::{Court, Measured, Settled};
use crate::claims::{Deviation, Repeats, Share, Side, Which};
use crate::panel::Runners;
use crate::plan::Where;
use crate::runs::Run;
use crate::sample::LEVEL;
use crate::text::{Scale, counted, decimals, fixed};
use crate::verdict::{self, within};

impl Court<'_> {
    /// The largest range between repeats of one setting on one task.
    pub(super) fn repeats(&self, check: &Repeats, from: &str) -> Result<Measured> {
        let scale = Scale::Points;
        let paper = format!("within {}{}", scale.number(check.limit), scale.unit());
        // Range and name of each cell, and the gaps between any two of its repeats.
        let (mut cells, mut gaps, mut most) = (Vec::new(), Vec::new(), 0);
        for task in check.tasks().of(self.plan, from)? {
            for name in &check.groups {
                let side = Side::One(name.clone());
                let place = (self.plan, self.runs);
                let runners = Runners::of(&side, task, &Where::new(), place, from)?;
                for runs in runners.by_kind().values() {
                    let scores: Vec<f64> = runs
                        .iter()
                        .filter_map(|run| score(run, task, check.score))
                        .collect();
                    if scores.len() < 2 {
                        continue;
                    }
                    let [low, _, _, _, high] = quartiles(&scores);
                    let title = format!("{} on {}", self.title(&side, from)?, task.title);
                    cells.push((high - low, title));
                    most = most.max(scores.len());
                    for (at, one) in scores.iter().enumerate() {
                        gaps.extend(scores[at + 1..].iter().map(|other| (one - other).abs()));
                    }
                }
            }
        }
        let Some((largest, title)) = cells.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
            return Ok(Measured::untestable(&paper, "no setting was run twice"));
        };
        let ranges: Vec<f64> = cells.iter().map(|(range, _)| *range).collect();
        let [_, _, median, _, _] = quartiles(&ranges);
        let kept = |value: &f64| within(*value, check.limit);
        let beyond = ranges.iter().filter(|range| !kept(range)).count();
        let near = gaps.iter().filter(|gap| kept(gap)).count();
        let points = |value: f64| format!("{}{}", scale.number(value), scale.unit());
        Ok(Measured::Settled(Settled {
            paper,
            ours: format!("up to {}", points(*largest)),
            effect: None,
            verdict: verdict::of_limits(beyond == 0),
            own: None,
            reasons: vec![
                format!(
                    "the largest range between repeats is {}, {title}; the median range is {}",
                    points(*largest),
                    points(median)
                ),
                format!(
                    "{beyond} of {} have a larger range than {} (up to {most} repeats each)",
                    counted(cells.len(), "setting"),
                    points(check.limit)
                ),
                format!(
                    "of {} of repeats, {near} lie within {}",
                    counted(gaps.len(), "pair"),
                    points(check.limit)
                ),
            ],
        }))
    }

    /// The standard deviation over seeds, pooled over groups and tasks, against a printed one.
    ///
    /// The interval takes the scores as normal: (n - 1) s² / σ² is then a χ² of n - 1 degrees of freedom.
    pub(super) fn deviation(&self, check: &Deviation, from: &str) -> Result<Measured> {
        let scale = Scale::Points;
        let points = |value: f64| format!("{}{}", scale.number(value), scale.unit());
        let paper = format!("about {}", points(check.paper));
        let (mut squares, mut freedom, mut reasons) = (0.0, 0.0, Vec::new());
        for task in check.tasks().of(self.plan, from)? {
            for name in &check.groups {
                let side = Side::One(name.clone());
                let place = (self.plan, self.runs);
                let runners = Runners::of(&side, task, &Where::new(), place, from)?;
                let scores = runners.per_seed(|run| score(run, task, Which::Final));
                let title = format!("{} on {}", self.title(&side, from)?, task.title);
                if scores.len() < 2 {
                    let note = runners.note.clone();
                    let note = note.unwrap_or_else(|| counted(scores.len(), "seed"));
                    return Ok(Measured::untestable(&paper, &format!("{title}: {note}")));
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
            return Ok(Measured::untestable(&paper, "the seeds do not vary"));
        };
        reasons.push(format!(
            "together {} with a 95 % interval of [{}, {}]",
            points(found),
            scale.number(interval.low),
            scale.number(interval.high)
        ));
        let off = Interval {
            low: interval.low - check.paper,
            high: interval.high - check.paper,
        };
        Ok(Measured::Settled(Settled {
            paper,
            ours: points(found),
            effect: None,
            verdict: verdict::of_value(found - check.paper, check.tolerance, Some(off)),
            own: None,
            reasons,
        }))
    }

    /// From the smallest to the largest share of trained parameters.
    pub(super) fn share(&self, check: &Share, from: &str) -> Result<Measured> {
        let [low, high] = check.printed;
        let paper = limits_text(check.printed);
        let (mut shares, mut reasons) = (Vec::new(), Vec::new());
        for name in &check.groups {
            let side = Side::One(name.clone());
            let mut of_group = Vec::new();
            for task in check.tasks().of(self.plan, from)? {
                let place = (self.plan, self.runs);
                let runners = Runners::of(&side, task, &Where::new(), place, from)?;
                of_group.extend(runners.all().filter_map(trained_share));
            }
            let title = self.title(&side, from)?;
            if of_group.is_empty() {
                return Ok(Measured::untestable(&paper, &format!("{title}: no run")));
            }
            reasons.push(format!("{title}: {}", range_text(&of_group)));
            shares.extend(of_group);
        }
        let [least, _, _, _, most] = quartiles(&shares);
        let kept = within(least - low, check.tolerance) && within(most - high, check.tolerance);
        Ok(Measured::Settled(Settled {
            paper,
            ours: range_text(&shares),
            effect: None,
            verdict: verdict::of_limits(kept),
            own: None,
            reasons,
        }))
    }
}

/// `8.33 % to 25 %`.
pub(super) fn limits_text(printed: [f64; 2]) -> String {
    let [low, high] = printed.map(|share| fixed(share * 100.0, decimals(share).saturating_sub(2)));
    format!("{low} % to {high} %")
}

/// Trained parameters by all parameters.
pub(crate) fn trained_share(run: &Run) -> Option<f64> {
    let (trained, total) = (run.row.params_trainable, run.row.params_total);
    (total > 0).then(|| trained as f64 / total as f64)
}

/// `7.0 %`, `7.0 % to 26.4 %`.
fn range_text(shares: &[f64]) -> String {
    let [low, _, _, _, high] = quartiles(shares).map(|share| Scale::Percent.number(share));
    if low == high {
        format!("{low} %")
    } else {
        format!("{low} % to {high} %")
    }
}
