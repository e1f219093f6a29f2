//! Plans of strategies: parameters to train, learning rates, and epochs.
//!
//! A [`Plan`] is data. It names parameters by patterns over their paths and never sees a tensor. Matched against the
//! paths of a model it gives an [`Assignment`] per phase, from which everything else follows: the count of trainable
//! parameters, the part that runs without a graph, and the entry layer of passes from cached activations.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use burn::module::{ParamGroup, ParamId};
use totune_model::Encoder;

use crate::regression::Regression;
use crate::schedule::Schedule;
use crate::setup::ModuleEdit;
use crate::stop::StopRule;

/// Module edits and training phases of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Edits of the encoder's modules before training, in order.
    pub setup: Vec<ModuleEdit>,
    /// Linear probe whose optimum is the head that training starts from, instead of a random one.
    pub probe: Option<LinearProbe>,
    /// The phases of training, in order; each starts from the parameters the one before left. At least one.
    pub phases: Vec<Phase>,
}

/// A linear head on the features of the frozen encoder.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearProbe {
    /// The regression of which the head is the optimum.
    pub regression: Regression,
    /// True if it is fitted to features of mean 0 and variance 1; the head takes them as they are in either case.
    pub standardise: bool,
}

/// A stretch of training in which the same parameters are trained under one schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Parameters to train. If several patterns match a path, the last one counts.
    pub groups: Vec<Group>,
    /// Patterns of parameters without weight decay, whatever their group says.
    pub no_decay: Vec<String>,
    /// Learning rate over the steps of this phase.
    pub schedule: Schedule,
    /// Number of epochs of the phase, at most.
    pub epochs: usize,
    /// Stopping rule of the phase.
    pub stop: StopRule,
    /// Initial state of the optimizer.
    pub optimizer_state: OptimizerState,
    /// Freezing of more layers in the course of the phase.
    pub freezing: Option<Freezing>,
}

/// Freezing of the lowest layers whose gradients change least from epoch to epoch (Liu et al. 2021).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Freezing {
    /// Share of the layers still trained that may be frozen after an epoch, by the change of their gradient norms.
    pub share: f64,
}

/// Defaults of the phases of a run, unless the strategy sets its own values.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    /// Weight decay per unit of learning rate.
    pub weight_decay: f64,
    /// Patterns of parameters that are not decayed.
    pub no_decay: Vec<String>,
    /// Learning rate over the steps.
    pub schedule: Schedule,
    /// Number of epochs, at most.
    pub epochs: usize,
    /// Stopping rule of training.
    pub stop: StopRule,
    /// True if the head reads the pretrained pooler. A pooler that is not read has no gradient, so it is no part of the
    /// model.
    pub reads_pooler: bool,
}

/// Initial state of the optimizer in a phase.
///
/// Moments and step counts belong to parameters. With `Carried`, those of a parameter that stays trained continue, and
/// a newly trained one starts without, as in PyTorch where gradients are switched on during training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptimizerState {
    /// New state without moments.
    Reset,
    /// Final state of the phase before.
    Carried,
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

/// Learning rate and weight decay that a phase assigns to one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assigned {
    /// Peak learning rate.
    pub lr: f64,
    /// Weight decay per unit of learning rate.
    pub weight_decay: f64,
}

/// Learning rates and weight decays that a phase assigns to the parameters of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The parameters that are trained, by path; all others are frozen.
    pub parameters: BTreeMap<String, Assigned>,
    /// The lowest block with a trained parameter: 0 for the embeddings, `i` for `layers[i-1]`, one more than the number
    /// of layers if none has one. No block below it needs a gradient.
    pub frozen_below: usize,
}

impl Plan {
    /// Creates a plan of these phases, without edits, from a random head.
    pub fn new(phases: Vec<Phase>) -> Self {
        Self {
            setup: Vec::new(),
            probe: None,
            phases,
        }
    }

    /// Applies the plan's module edits to `encoder`; new parameters are initialised from `seed`, that of the run.
    ///
    /// # Errors
    /// When the encoder lacks a module that is named; the message lists those it has.
    pub fn prepare<E: Encoder>(&self, encoder: E, seed: u64) -> Result<E> {
        let mut edits = self.setup.iter();
        edits.try_fold(encoder, |encoder, edit| edit.apply(encoder, seed))
    }

    /// Adds the modules that a model trained by this plan keeps to the encoder of a saved one, with arbitrary values:
    /// adapters and prefixes, while low-rank updates are merged before saving.
    ///
    /// # Errors
    /// When the encoder has no place for them.
    pub fn restore_modules<E: Encoder>(&self, encoder: E) -> Result<E> {
        let mut kept = self.setup.iter().filter(|edit| edit.is_kept());
        kept.try_fold(encoder, |encoder, edit| edit.apply(encoder, 0))
    }

    /// Returns the assignment of each phase for the parameters at `paths`, of an encoder of `n_layers` layers with its
    /// head.
    ///
    /// # Errors
    /// When a pattern matches no parameter.
    pub fn assign(&self, paths: &[String], n_layers: usize) -> Result<Vec<Assignment>> {
        let phases = self.phases.iter().enumerate();
        phases
            .map(|(i, phase)| {
                let assigned = phase.assign(paths, n_layers);
                assigned.with_context(|| format!("phase {i}"))
            })
            .collect()
    }
}

impl Assignment {
    /// The same assignment with the blocks below `block` frozen.
    pub(crate) fn frozen_up_to(&self, block: usize) -> Self {
        let stays = |path: &str| self::block(path).is_none_or(|own| own >= block);
        let parameters = self.parameters.iter();
        let parameters = parameters.filter(|(path, _)| stays(path));
        Self {
            parameters: parameters.map(|(path, to)| (path.clone(), *to)).collect(),
            frozen_below: self.frozen_below.max(block),
        }
    }

    /// Returns true if any parameter of the pretrained pooler is trained.
    pub(crate) fn trains_pooler(&self) -> bool {
        let mut paths = self.parameters.keys();
        paths.any(|path| path.starts_with("encoder.pooler."))
    }
}

impl Phase {
    /// Decides for each path whether and how it is trained.
    ///
    /// A pattern that matches nothing is an error: the strategy would train less than it says.
    fn assign(&self, paths: &[String], n_layers: usize) -> Result<Assignment> {
        let mut assigned = BTreeMap::new();
        for group in &self.groups {
            let matches = matcher(&group.pattern)?;
            let mut n_matched = 0;
            for path in paths.iter().filter(|path| matches(path)) {
                let (lr, weight_decay) = (group.lr, group.weight_decay);
                assigned.insert(path.clone(), Assigned { lr, weight_decay });
                n_matched += 1;
            }
            let of_biases = group.pattern.ends_with(r"bias$");
            let is_bias = |path: &String| path.starts_with("encoder.") && path.ends_with(".bias");
            ensure!(
                n_matched > 0 || !of_biases || paths.iter().any(is_bias),
                "no parameter matches `{}`: the encoder has no biases",
                group.pattern
            );
            ensure!(
                n_matched > 0,
                "no parameter matches `{}`; expected one of these modules: {}",
                group.pattern,
                modules(&group.pattern, paths)
            );
        }
        for pattern in &self.no_decay {
            let matches = matcher(pattern)?;
            for (_, assigned) in assigned.iter_mut().filter(|(path, _)| matches(path)) {
                assigned.weight_decay = 0.0;
            }
        }
        let lowest = assigned.keys().filter_map(|path| block(path)).min();
        Ok(Assignment {
            parameters: assigned,
            frozen_below: lowest.unwrap_or(n_layers + 1),
        })
    }
}

/// Prefixes of paths, by the part of the model.
const AREAS: [&str; 4] = [
    "encoder.embeddings.",
    "encoder.layers.",
    "encoder.pooler.",
    "head.",
];

/// Lists candidate modules for a pattern without a match: those with parameters in the part of the model that it names,
/// with `<i>` for the number of a layer, each once.
fn modules(pattern: &str, paths: &[String]) -> String {
    let meant = |area: &&&str| pattern.starts_with(&format!("^{}", area.replace('.', r"\.")));
    let area = AREAS.iter().find(meant).copied();
    let area = area.filter(|area| paths.iter().any(|path| path.starts_with(area)));
    let inside = paths
        .iter()
        .filter(|path| path.starts_with(area.unwrap_or("")));
    let module = |path: &String| {
        let module = path
            .rsplit_once('.')
            .map_or(path.as_str(), |(module, _)| module);
        let layer = module.strip_prefix("encoder.layers.");
        match layer.and_then(|rest| rest.split_once('.')) {
            Some((_, rest)) => format!("encoder.layers.<i>.{rest}"),
            None => module.to_string(),
        }
    };
    let names: BTreeSet<String> = inside.map(module).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Block of the encoder that a parameter belongs to, counted as in [`Assignment::frozen_below`].
pub(crate) fn block(path: &str) -> Option<usize> {
    let path = path.strip_prefix("encoder.")?;
    if path.starts_with("embeddings.") {
        return Some(0);
    }
    let (layer_idx, _) = path.strip_prefix("layers.")?.split_once('.')?;
    layer_idx.parse().ok().map(|layer_idx: usize| layer_idx + 1)
}

/// Compiles a regular expression over parameter paths.
pub(crate) fn matcher(pattern: &str) -> Result<impl Fn(&str) -> bool> {
    let group = ParamGroup::from_regex(pattern)
        .ok()
        .with_context(|| format!("`{pattern}` is not a regular expression"))?;
    // A pattern only looks at the path; the interface also requires an id.
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
            optimizer_state: OptimizerState::Reset,
            freezing: None,
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
        let assigned = phase.assign(&paths(), 12).expect("patterns match");
        let found: Vec<_> = assigned
            .parameters
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
            .assign(&paths(), 12)
            .expect_err("there is no layer 2");
        assert_eq!(
            error.to_string(),
            r"no parameter matches `^encoder\.layers\.2\.`; expected one of these modules: encoder.layers.<i>.query"
        );
    }

    #[test]
    fn all_blocks_below_the_lowest_trained_parameter_are_frozen_whatever_the_pattern() {
        for (pattern, expected) in [
            ("^head", 13), // above the twelve layers
            ("query", 2),
            (r"11\.query\.weight$", 12),
            ("weight$", 0),
        ] {
            let assigned = phase(&[(pattern, 0.1)], &[]).assign(&paths(), 12);
            let found = assigned.expect("patterns match").frozen_below;
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn the_pooler_is_trained_where_one_of_its_parameters_is() {
        let paths = ["encoder.pooler.dense.bias", "head.output.bias"].map(String::from);
        for (pattern, expected) in [("bias$", true), ("^head", false), ("dense", true)] {
            let assigned = phase(&[(pattern, 0.1)], &[]).assign(&paths, 1);
            assert_eq!(assigned.expect("patterns match").trains_pooler(), expected);
        }
    }
}
