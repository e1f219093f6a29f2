//! The choice among the trials of a cell.

use anyhow::{Result, bail};
use totune_record::Tables;

use super::{Cell, apply};
use crate::RunSpec;

/// How a run of a trial stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scored {
    /// It has not ended.
    Open,
    /// Its final score on dev, higher being better.
    Score(f64),
    /// It failed or diverged, for this reason.
    Worst(String),
}

/// What a search has come to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    /// So many of the trials have ended, and not all.
    Open { done: usize, of: usize },
    /// All have, and these are the cell's runs with the values of the best.
    Made(Vec<RunSpec>),
    /// All have, and none has a score; why the first does not.
    None { of: usize, why: String },
}

impl Cell {
    /// Chooses the trial with the highest mean over its seeds; of several, the first.
    ///
    /// A trial of which a run failed or diverged counts as worst, whatever its other seeds gave.
    pub fn choose(&self, mut scored: impl FnMut(&RunSpec) -> Result<Scored>) -> Result<Choice> {
        let of = self.trials.len();
        let (mut done, mut first_why) = (0, None);
        let mut best: Option<(f64, usize)> = None;
        for (number, (_, runs)) in self.trials.iter().enumerate() {
            let mut scores = Vec::new();
            let (mut open, mut worst) = (false, false);
            for run in runs {
                match scored(run)? {
                    Scored::Open => open = true,
                    Scored::Score(score) => scores.push(score),
                    Scored::Worst(why) => {
                        worst = true;
                        first_why.get_or_insert(why);
                    }
                }
            }
            if open {
                continue;
            }
            done += 1;
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            if !worst && best.is_none_or(|(highest, _)| mean > highest) {
                best = Some((mean, number));
            }
        }
        if done < of {
            return Ok(Choice::Open { done, of });
        }
        let Some((_, number)) = best else {
            let why = first_why.unwrap_or_default();
            return Ok(Choice::None { of, why });
        };
        let setting = &self.trials[number].0;
        let own = self.own.iter().map(|run| apply(run, setting));
        Ok(Choice::Made(own.collect::<Result<_>>()?))
    }
}

impl Scored {
    /// How a finished run stands by its final score on dev. For `loss` a low one is a high score.
    pub fn of(tables: &Tables, metric: &str) -> Result<Self> {
        let run = &tables.runs[0];
        if run.status != "ok" {
            return Ok(Self::Worst(format!("{}: {}", run.status, run.error)));
        }
        let finals = || {
            tables
                .evals
                .iter()
                .filter(|row| row.is_final && row.split == "dev")
        };
        let Some(row) = finals().find(|row| row.metric == metric) else {
            let names: Vec<&str> = finals().map(|row| row.metric.as_str()).collect();
            bail!(
                "search.metric: run {} has no `{metric}` on dev; there are: {}",
                run.run_id,
                names.join(", ")
            );
        };
        if !row.value.is_finite() {
            return Ok(Self::Worst(format!("its {metric} on dev is {}", row.value)));
        }
        let sign = if metric == "loss" { -1.0 } else { 1.0 };
        Ok(Self::Score(sign * row.value))
    }
}
