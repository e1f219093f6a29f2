//! Adaptation strategies: from settings and the depth of an encoder to phases.
//!
//! A strategy is a pure function. It names parameters by path (`head`, `encoder.pooler`, `encoder.layers.<i>`,
//! `encoder.embeddings`) and decides; the training loop executes. The head is trained in all of them.
//!
//! To add one: a file here with its settings, what they mean (`Planner`) and its phases as a table, and a variant of
//! [`Adaptation`].

use std::ops::Range;

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use totune_model::{Architecture, Switch, names_module};

use crate::phase::{Defaults, Group, OptimizerState, Phase, Plan};

mod adapters;
mod auto_freeze;
mod bitfit;
mod frozen;
mod full;
mod gradual_unfreezing;
mod last_k;
mod lora;
mod lp_ft;
mod prefix_tuning;
mod stack_and_finetune;

pub use adapters::Adapters;
pub use auto_freeze::AutoFreeze;
pub use bitfit::{Biases, BitFit};
pub use frozen::Frozen;
pub use full::Full;
pub use gradual_unfreezing::GradualUnfreezing;
pub use last_k::LastK;
pub use lora::Lora;
pub use lp_ft::LpFt;
pub use prefix_tuning::PrefixTuning;
pub use stack_and_finetune::StackAndFinetune;

/// Adaptation strategy: the parameters of a pretrained encoder that are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Adaptation {
    /// Feature extraction: the encoder is frozen.
    Frozen(Frozen),
    /// Full fine-tuning.
    Full(Full),
    /// Fine-tuning of the top layers.
    LastK(LastK),
    /// Fine-tuning in which one more layer is unfrozen at a time.
    GradualUnfreezing(GradualUnfreezing),
    /// Training of the head first, then of everything.
    StackAndFinetune(StackAndFinetune),
    /// Fine-tuning of biases.
    #[serde(rename = "bitfit")]
    BitFit(BitFit),
    /// Fine-tuning of low-rank updates.
    Lora(Lora),
    /// Fine-tuning of bottleneck adapters.
    Adapters(Adapters),
    /// Training of keys and values in front of those of the attention layers.
    PrefixTuning(PrefixTuning),
    /// Fine-tuning in which layers are frozen as their gradients settle.
    AutoFreeze(AutoFreeze),
    /// Linear probing to the optimum, then fine-tuning of everything.
    LpFt(LpFt),
}

/// Training of a named part of the encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trainable {
    /// Trained with the rest.
    #[serde(rename = "trainable")]
    Yes,
    /// Frozen, as in the checkpoint.
    #[serde(rename = "frozen")]
    No,
}

/// Interface of a strategy. The defaults are those of one phase without settings of its own that have a range.
trait Planner {
    /// Short name in tables and figures.
    fn label(&self) -> String;

    /// Peak learning rate; of several phases, that of the last.
    fn lr(&self) -> f64;

    /// Peak learning rate of the head in the phase that has [`Planner::lr`], if it is set.
    fn head_lr(&self) -> Option<f64>;

    /// Key of [`Planner::head_lr`] in the settings.
    fn head_lr_key(&self) -> &'static str {
        "head-lr"
    }

    /// Number of epochs of all phases, at most, for a run with `epochs`.
    fn epochs(&self, epochs: usize) -> usize {
        epochs
    }

    /// Key of the strategy's setting that depends on scores on dev, if there is one.
    fn looks_at_dev(&self) -> Option<&'static str> {
        None
    }

    /// Strategy of one phase that trains the largest set of parameters that this one trains in a phase, for timing a
    /// step.
    fn in_one_phase(&self) -> Adaptation;

    /// Returns the plan for an encoder of `n_layers` layers, with `defaults` for everything else.
    ///
    /// # Errors
    /// When a value is out of range for this depth.
    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan>;

    /// Says what an architecture lacks of the modules that the strategy trains; by default every one has them.
    fn missing_in(&self, _: &Architecture) -> Option<&'static str> {
        None
    }

    /// Refuses modules in the settings that no layer of an architecture has, naming the key; by default there are none.
    fn check_modules(&self, _: &Architecture) -> Result<()> {
        Ok(())
    }

    /// Refuses values that no encoder allows, naming the key; the learning rates are checked before.
    fn validate(&self) -> Result<()> {
        Ok(())
    }
}

impl Adaptation {
    fn planner(&self) -> &dyn Planner {
        match self {
            Self::Frozen(settings) => settings,
            Self::Full(settings) => settings,
            Self::LastK(settings) => settings,
            Self::GradualUnfreezing(settings) => settings,
            Self::StackAndFinetune(settings) => settings,
            Self::BitFit(settings) => settings,
            Self::Lora(settings) => settings,
            Self::Adapters(settings) => settings,
            Self::PrefixTuning(settings) => settings,
            Self::AutoFreeze(settings) => settings,
            Self::LpFt(settings) => settings,
        }
    }

    /// Short name in tables and figures: `frozen`, `full`, `last-2`, `full, rates x0.9`.
    pub fn label(&self) -> String {
        self.planner().label()
    }

    /// Peak learning rate; of several phases, that of the last.
    pub fn lr(&self) -> f64 {
        self.planner().lr()
    }

    /// Peak learning rate of the head where it differs from [`Adaptation::lr`] in the same phase.
    pub fn head_lr(&self) -> Option<f64> {
        self.planner().head_lr()
    }

    /// Key of [`Adaptation::head_lr`] in the settings: `head-lr`, or the name that a strategy of several phases has for
    /// it in that one.
    pub fn head_lr_key(&self) -> &'static str {
        self.planner().head_lr_key()
    }

    /// Number of epochs of all phases, at most, for a run with `epochs`.
    pub fn epochs(&self, epochs: usize) -> usize {
        self.planner().epochs(epochs)
    }

    /// Key of the strategy's setting that depends on scores on dev, if there is one.
    pub fn looks_at_dev(&self) -> Option<&'static str> {
        self.planner().looks_at_dev()
    }

    /// Strategy of one phase that trains the largest set of parameters that this one trains in a phase: a step of this
    /// one takes no longer.
    pub fn in_one_phase(&self) -> Self {
        self.planner().in_one_phase()
    }

    /// Returns the plan for an encoder of `n_layers` layers, with `defaults` for everything else.
    pub fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        self.planner().plan(defaults, n_layers)
    }

    /// Refuses an architecture without the modules that the strategy trains.
    ///
    /// # Errors
    /// When it lacks them.
    pub fn check_architecture(&self, architecture: &Architecture) -> Result<()> {
        match self.planner().missing_in(architecture) {
            None => Ok(()),
            Some(missing) => bail!(
                "found `{}`, expected another strategy: `{architecture}` has no {missing}",
                self.label()
            ),
        }
    }

    /// Refuses modules in the settings that no layer of an architecture has, naming the key.
    ///
    /// # Errors
    /// When it lacks one; the message lists those it has.
    pub fn check_modules(&self, architecture: &Architecture) -> Result<()> {
        self.planner().check_modules(architecture)
    }

    /// Refuses values that no encoder allows, naming the key.
    pub fn validate(&self) -> Result<()> {
        check_rate("adaptation.lr", self.lr())?;
        if let Some(lr) = self.head_lr() {
            check_rate(&format!("adaptation.{}", self.head_lr_key()), lr)?;
        }
        self.planner().validate()
    }
}

/// Label of the layer decay; empty without one.
fn decaying(layer_decay: f64) -> String {
    if layer_decay == 1.0 {
        String::new()
    } else {
        format!(", rates x{layer_decay}")
    }
}

fn no_layer_decay() -> f64 {
    1.0
}

fn off() -> Switch {
    Switch::Off
}

fn check_rate(key: &str, lr: f64) -> Result<()> {
    ensure!(
        lr.is_finite() && lr > 0.0,
        "{key}: found {lr}, expected more than 0"
    );
    Ok(())
}

fn check_decay(key: &str, decay: f64) -> Result<()> {
    ensure!(
        decay > 0.0 && decay <= 1.0,
        "{key}: found {decay}, expected more than 0 and at most 1"
    );
    Ok(())
}

/// Says that an architecture has no layers of which some can be trained and others frozen, where that is so.
fn lacks_layers(architecture: &Architecture) -> Option<&'static str> {
    let shared = architecture.shares_layers();
    shared.then_some("layers with parameters of their own")
}

/// Refuses more top layers than the encoder has.
fn check_k(k: usize, n_layers: usize) -> Result<()> {
    ensure!(
        (1..=n_layers).contains(&k),
        "adaptation.k: found {k}, expected from 1 to {n_layers}, the number of layers of the encoder"
    );
    Ok(())
}

/// The pattern of the tanh layer over `[CLS]`, where it is trained and the head reads it; else none.
fn pooler(trained: Trainable, defaults: &Defaults) -> Vec<String> {
    let trained = trained == Trainable::Yes && defaults.reads_pooler;
    trained
        .then(|| r"^encoder\.pooler\.".to_owned())
        .into_iter()
        .collect()
}

/// Indices of the top `k` layers; of all layers by default.
fn top_layers(k: Option<usize>, n_layers: usize) -> Result<Range<usize>> {
    let k = k.unwrap_or(n_layers);
    check_k(k, n_layers)?;
    Ok(n_layers - k..n_layers)
}

/// Label of a strategy for the top `k` layers.
fn of_top(label: String, k: Option<usize>) -> String {
    match k {
        Some(k) => format!("{label}, last {k}"),
        None => label,
    }
}

/// Refuses 0 top layers; `None` means all layers.
fn check_optional_k(k: Option<usize>) -> Result<()> {
    ensure!(
        k != Some(0),
        "adaptation.k: found 0, expected at least 1 (the strategy without trainable layers is `frozen`)"
    );
    Ok(())
}

/// Refuses strings that cannot be the path of a module, or the end of one.
fn check_modules(key: &str, modules: &[String]) -> Result<()> {
    ensure!(
        !modules.is_empty(),
        "{key}: the list is empty, expected modules of a layer such as `attention.query`"
    );
    for module in modules {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        ensure!(
            !module.is_empty() && module.chars().all(plain),
            "{key}: found `{module}`, expected a module of a layer such as `attention.query`"
        );
    }
    Ok(())
}

/// Refuses modules that are none of those `known` in a layer of an architecture, which are `what`.
fn check_known(
    key: &str,
    modules: &[String],
    (known, what): (&[&str], &str),
    architecture: &Architecture,
) -> Result<()> {
    for module in modules {
        ensure!(
            known.iter().any(|path| names_module(module, path)),
            "{key}: found `{module}`, expected one of {}, the {what} of `{architecture}`",
            known.join(", ")
        );
    }
    Ok(())
}

/// Parts of a classifier that are trained together, from the head down.
struct TrainedLayers {
    /// Rate of the pooler and the top layer.
    lr: f64,
    /// Rate of the head; `lr` by default.
    head_lr: Option<f64>,
    /// Factor of the learning rate from each layer to the next lower one (Howard and Ruder 2018, section 3.1); the
    /// embeddings are the lowest.
    layer_decay: f64,
    pooler: Trainable,
    /// Indices of the trained layers, from the lowest up to the top of the encoder.
    layers: Range<usize>,
    embeddings: Trainable,
}

impl TrainedLayers {
    /// Returns one training phase, in which exactly these parts are trained.
    fn phase(self, defaults: &Defaults) -> Phase {
        let n_layers = self.layers.end;
        let rate = |layers_above: usize| self.lr * self.layer_decay.powi(layers_above as i32);
        let mut patterns = rates(self.lr, self.head_lr, Vec::new());
        if self.pooler == Trainable::Yes && defaults.reads_pooler {
            patterns.push((r"^encoder\.pooler\.".into(), self.lr));
        }
        patterns.extend(self.layers.rev().map(|layer_idx| {
            let pattern = format!(r"^encoder\.layers\.{layer_idx}\.");
            (pattern, rate(n_layers - 1 - layer_idx))
        }));
        if self.embeddings == Trainable::Yes {
            patterns.push((r"^encoder\.embeddings\.".into(), rate(n_layers)));
        }
        phase(defaults, patterns)
    }
}

/// The head at its rate, and these patterns at `lr`.
fn rates(lr: f64, head_lr: Option<f64>, patterns: Vec<String>) -> Vec<(String, f64)> {
    let head = (r"^head\.".to_string(), head_lr.unwrap_or(lr));
    let others = patterns.into_iter().map(|pattern| (pattern, lr));
    [head].into_iter().chain(others).collect()
}

/// Returns one training phase in which the parameters of these patterns are trained, each at its rate.
fn phase(defaults: &Defaults, patterns: Vec<(String, f64)>) -> Phase {
    let group = |(pattern, lr)| Group {
        pattern,
        lr,
        weight_decay: defaults.weight_decay,
    };
    Phase {
        groups: patterns.into_iter().map(group).collect(),
        no_decay: defaults.no_decay.clone(),
        schedule: defaults.schedule.clone(),
        epochs: defaults.epochs,
        stop: defaults.stop.clone(),
        optimizer_state: OptimizerState::Reset,
        freezing: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::training;

    /// The rates of the head and of all other patterns, of the last phase.
    fn head_and_others(adaptation: &Adaptation) -> (f64, Vec<f64>) {
        let mut training = training(adaptation.clone());
        training.epochs = 5;
        let plan = training.plan(2).expect("valid settings");
        let groups = &plan.phases.last().expect("a phase").groups;
        let (head, others) = groups.split_first().expect("a group");
        assert_eq!(head.pattern, r"^head\.");
        (head.lr, others.iter().map(|group| group.lr).collect())
    }

    #[test]
    fn every_strategy_takes_a_rate_of_the_head_that_moves_nothing_else() {
        for (kind, keys) in [
            ("frozen", "pooler = 'trainable'"),
            (
                "full",
                "pooler = 'trainable'\nembeddings = 'trainable'\nlayer-decay = 0.5",
            ),
            (
                "last-k",
                "k = 1\npooler = 'trainable'\nembeddings = 'frozen'",
            ),
            (
                "gradual-unfreezing",
                "pooler = 'trainable'\nembeddings = 'trainable'\nlayer-decay = 0.5",
            ),
            (
                "bitfit",
                "biases = 'all'\npooler = 'trainable'\nembeddings = 'trainable'",
            ),
            (
                "lora",
                "rank = 2\nalpha = 2.0\ntargets = ['query']\ndropout = 0.0\npooler = 'trainable'",
            ),
            (
                "adapters",
                "width = 4\nafter = ['feed-forward']\nnorms = 'trainable'\npooler = 'trainable'",
            ),
            ("prefix-tuning", "length = 4\npooler = 'trainable'"),
            (
                "auto-freeze",
                "share = 0.5\npooler = 'trainable'\nembeddings = 'trainable'",
            ),
            (
                "lp-ft",
                "pooler = 'trainable'\nembeddings = 'trainable'\nprobe = { c = [1.0], alpha = [1.0], folds = 2, \
                 max-iter = 10, tol = 1e-4 }",
            ),
        ] {
            let read = |head_lr: &str| -> Adaptation {
                let text = format!("kind = '{kind}'\nlr = 0.5\n{keys}\n{head_lr}");
                toml::from_str(&text).expect(kind)
            };
            let (plain, same, own) = (read(""), read("head-lr = 0.5"), read("head-lr = 2.0"));
            assert_eq!(
                (plain.head_lr(), own.head_lr()),
                (None, Some(2.0)),
                "{kind}"
            );
            let (head, others) = head_and_others(&plain);
            assert_eq!(head, 0.5, "{kind}");
            assert_eq!(head_and_others(&same), (0.5, others.clone()), "{kind}");
            assert_eq!(head_and_others(&own), (2.0, others), "{kind}");
            assert_eq!(own.lr(), 0.5, "{kind}");
            let error = read("head-lr = 0.0")
                .validate()
                .expect_err(kind)
                .to_string();
            assert_eq!(error, "adaptation.head-lr: found 0, expected more than 0");
        }
    }
}
