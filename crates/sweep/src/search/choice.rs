//! The choice among the trials of a cell.

use anyhow::{Result, bail};
use totune_data::more_is_better;
use totune_record::Tables;

use super::{Cell, apply};
use crate::RunSpec;

/// State of a run of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scored {
    /// It has not ended.
    Open,
    /// Its final score on dev, higher being better.
    Score(f64),
    /// The same of a run that gives every example of dev the same answer.
    Constant(f64),
    /// It failed or diverged, for this reason.
    Worst(String),
}

/// State of a search.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    /// Some of the trials have not ended.
    Open { done: usize, of: usize },
    /// All have ended; the cell's runs with the values of the best trial.
    Made(Vec<RunSpec>),
    /// All have ended without a score, with the reason of the first.
    None { of: usize, why: String },
}

impl Cell {
    /// Chooses the trial with the highest mean over its seeds; the first in case of a tie.
    ///
    /// A trial with a failed or diverged run counts as worst, whatever its other seeds scored. One with a run that did not
    /// learn, and gives every example the same answer, is chosen only where all have one: such a run can have the highest
    /// accuracy where one class is frequent, and F1 where the positive one is.
    pub fn choose(&self, mut scored: impl FnMut(&RunSpec) -> Result<Scored>) -> Result<Choice> {
        let of = self.trials.len();
        let (mut done, mut first_why) = (0, None);
        let mut best: Option<((bool, f64), usize)> = None;
        for (number, (_, runs)) in self.trials.iter().enumerate() {
            let mut scores = Vec::new();
            let (mut open, mut worst, mut learned) = (false, false, true);
            for run in runs {
                match scored(run)? {
                    Scored::Open => open = true,
                    Scored::Score(score) => scores.push(score),
                    Scored::Constant(score) => {
                        learned = false;
                        scores.push(score);
                    }
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
            let rank = (learned, mean);
            if !worst && best.is_none_or(|(highest, _)| rank > highest) {
                best = Some((rank, number));
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
    /// State of a finished run by its final score on dev. The sign of an error is reversed.
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
            // A correlation with answers that are all the same.
            if metric.starts_with("pearson") || metric.starts_with("spearman") {
                return Ok(Self::Worst(format!("its {metric} on dev is not defined")));
            }
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
        let score = if more_is_better(metric) {
            row.value
        } else {
            -row.value
        };
        let mut answers = tables
            .predictions
            .iter()
            .filter(|row| row.split == "dev")
            .map(|row| row.predicted.as_str());
        let first = answers.next();
        let is_constant = first.is_some() && answers.all(|answer| Some(answer) == first);
        Ok(if is_constant {
            Self::Constant(score)
        } else {
            Self::Score(score)
        })
    }
}
