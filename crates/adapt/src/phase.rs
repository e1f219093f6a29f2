//! What a strategy says: which parameters move, how fast, and for how long.
//!
//! A [`Plan`] is data. It names parameters by patterns over their paths and never sees a tensor.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use burn::module::{ParamGroup, ParamId};

use crate::schedule::Schedule;
use crate::stop::StopRule;

/// The phases of one run, in order; each starts from the parameters the one before left.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// At least one.
    pub phases: Vec<Phase>,
}

/// A stretch of training in which the same parameters move under one schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Which parameters move. Where several patterns match a path, the last one counts.
    pub groups: Vec<Group>,
    /// Patterns of parameters that are not decayed, whatever their group says.
    pub no_decay: Vec<String>,
    /// The learning rate over the steps of this phase.
    pub schedule: Schedule,
    /// The most epochs the phase takes.
    pub epochs: usize,
    /// What may end it sooner.
    pub stop: StopRule,
    /// Whether its optimiser begins anew.
    pub moments: Moments,
    /// The lowest block with a parameter that moves: 0 for the embeddings, `i` for `layers[i-1]`, one more than the
    /// number of layers if none does. All blocks below it are fixed and need no gradient.
    pub frozen_below: usize,
}

/// What the optimiser of a phase begins with.
///
/// Moments and step counts belong to parameters. Kept, those of a parameter that goes on moving go on, and one that
/// begins to move has none yet, as in PyTorch where gradients are switched on during training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moments {
    /// None.
    Fresh,
    /// Those the phase before left.
    Kept,
}

/// Parameters that share a learning rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Regular expression over parameter paths, such as `^encoder\.layers\.3\.`.
    pub pattern: String,
    /// Peak learning rate.
    pub lr: f64,
    /// Weight decay per unit of learning rate.
    pub weight_decay: f64,
}

/// What a phase decided for one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assigned {
    /// Peak learning rate.
    pub lr: f64,
    /// Weight decay per unit of learning rate.
    pub weight_decay: f64,
}

impl Plan {
    /// The lowest block that moves in any phase; what lies below it is fixed throughout the run.
    pub fn frozen_below(&self) -> usize {
        let lowest = self.phases.iter().map(|phase| phase.frozen_below).min();
        lowest.expect("a plan has at least one phase")
    }
}

impl Phase {
    /// Whether the pretrained pooler moves.
    pub(crate) fn moves_pooler(&self) -> bool {
        self.groups
            .iter()
            .any(|group| group.pattern.starts_with(r"^encoder\.pooler"))
    }

    /// Decides for each path whether and how it moves; fixed parameters are absent from the result.
    ///
    /// A pattern that matches nothing is an error, and so is a parameter that moves in a block which builds no graph:
    /// the strategy would train less than it says.
    pub fn assign(&self, paths: &[String]) -> Result<BTreeMap<String, Assigned>> {
        let mut assigned = BTreeMap::new();
        for group in &self.groups {
            let matches = matcher(&group.pattern)?;
            let mut n_matched = 0;
            for path in paths.iter().filter(|path| matches(path)) {
                let (lr, weight_decay) = (group.lr, group.weight_decay);
                assigned.insert(path.clone(), Assigned { lr, weight_decay });
                n_matched += 1;
            }
            ensure!(
                n_matched > 0,
                "no parameter matches `{}`; expected one of {} parameters, the first of which is `{}`",
                group.pattern,
                paths.len(),
                paths.first().map_or("", String::as_str)
            );
        }
        for pattern in &self.no_decay {
            let matches = matcher(pattern)?;
            for (_, assigned) in assigned.iter_mut().filter(|(path, _)| matches(path)) {
                assigned.weight_decay = 0.0;
            }
        }
        for path in assigned.keys() {
            ensure!(
                block(path).is_none_or(|block| block >= self.frozen_below),
                "`{path}` is to move, but the blocks below {} are frozen",
                self.frozen_below
            );
        }
        Ok(assigned)
    }
}

/// The block of the encoder that a parameter belongs to, counted as in [`Phase::frozen_below`].
fn block(path: &str) -> Option<usize> {
    let path = path.strip_prefix("encoder.")?;
    if path.starts_with("embeddings.") {
        return Some(0);
    }
    let (layer_idx, _) = path.strip_prefix("layers.")?.split_once('.')?;
    layer_idx.parse().ok().map(|layer_idx: usize| layer_idx + 1)
}

/// A regular expression over parameter paths.
pub(crate) fn matcher(pattern: &str) -> Result<impl Fn(&str) -> bool> {
    let group = ParamGroup::from_regex(pattern)
        .ok()
        .with_context(|| format!("`{pattern}` is not a regular expression"))?;
    // A pattern looks at the path alone; the interface asks for an id beside it.
    let id = ParamId::new();
    Ok(move |path: &str| group.matches(&id, Some(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Constant;

    fn phase(groups: &[(&str, f64)], no_decay: &[&str]) -> Phase {
        Phase {
            groups: groups
                .iter()
                .map(|&(pattern, lr)| Group {
                    pattern: pattern.into(),
                    lr,
                    weight_decay: 0.01,
                })
                .collect(),
            no_decay: no_decay.iter().map(|&pattern| pattern.into()).collect(),
            schedule: Schedule::Constant(Constant { warmup: 0.0 }),
            epochs: 1,
            stop: StopRule::Epochs {},
            moments: Moments::Fresh,
            frozen_below: 0,
        }
    }

    fn paths() -> Vec<String> {
        [
            "encoder.embeddings.word.weight",
            "encoder.layers.1.query.weight",
            "encoder.layers.1.query.bias",
            "encoder.layers.11.query.weight",
            "head.output.weight",
        ]
        .map(String::from)
        .to_vec()
    }

    #[track_caller]
    fn check(phase: Phase, expected: &[(&str, f64, f64)]) {
        let assigned = phase.assign(&paths()).expect("patterns match");
        let found: Vec<_> = assigned
            .iter()
            .map(|(path, a)| (path.as_str(), a.lr, a.weight_decay))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn layer_1_is_not_layer_11() {
        check(
            phase(&[(r"^encoder\.layers\.1\.", 0.5)], &[]),
            &[
                ("encoder.layers.1.query.bias", 0.5, 0.01),
                ("encoder.layers.1.query.weight", 0.5, 0.01),
            ],
        );
    }

    #[test]
    fn the_last_matching_group_counts() {
        check(
            phase(&[("weight$", 0.5), ("^head", 0.1)], &[]),
            &[
                ("encoder.embeddings.word.weight", 0.5, 0.01),
                ("encoder.layers.1.query.weight", 0.5, 0.01),
                ("encoder.layers.11.query.weight", 0.5, 0.01),
                ("head.output.weight", 0.1, 0.01),
            ],
        );
    }

    #[test]
    fn exclusions_take_the_decay_and_leave_the_rate() {
        check(
            phase(&[(r"^encoder\.layers\.1\.", 0.5)], &[r"\.bias$"]),
            &[
                ("encoder.layers.1.query.bias", 0.5, 0.0),
                ("encoder.layers.1.query.weight", 0.5, 0.01),
            ],
        );
    }

    #[test]
    fn a_pattern_without_parameters_is_an_error() {
        let error = phase(&[("^head", 0.1), (r"^encoder\.layers\.2\.", 0.1)], &[])
            .assign(&paths())
            .expect_err("there is no layer 2");
        assert!(
            error
                .to_string()
                .starts_with(r"no parameter matches `^encoder\.layers\.2\.`"),
            "{error}"
        );
    }

    #[test]
    fn a_block_that_moves_must_not_lie_below_the_frozen_line() {
        let assign = |frozen_below| {
            let mut phase = phase(&[("^head", 0.1), (r"^encoder\.layers\.1\.", 0.1)], &[]);
            phase.frozen_below = frozen_below;
            phase.assign(&paths())
        };
        assign(2).expect("layer 1 is block 2");
        assert_eq!(
            assign(3).expect_err("block 2 is below 3").to_string(),
            "`encoder.layers.1.query.bias` is to move, but the blocks below 3 are frozen"
        );
    }
}
