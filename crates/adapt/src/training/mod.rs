//! Settings of a fine-tuning run, without data, encoder and seed.

use anyhow::{Result, ensure};
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use totune_data::{Pairs, WordContext};
use totune_model::fused::Precision;
use totune_model::{Activations, Encoder, HeadSpec, LstmState, Switch};

use crate::cache::{EntryLayer, StoredDtype};
use crate::optimizer::Optimizer;
use crate::parameters::sizes;
use crate::phase::{Assignment, Defaults, Plan};
use crate::schedule::Schedule;
use crate::setup::ModuleEdit;
use crate::stop::StopRule;
use crate::strategy::Adaptation;

mod loss;

pub use totune_data::{ClassLoss, ClassWeights};

/// Settings of a run, fully resolved: every field is written down, none has a silent default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Training {
    /// Head on the encoder's states.
    pub head: HeadSpec,
    /// Adaptation strategy: the parameters to train, and their learning rates.
    pub adaptation: Adaptation,
    /// Optimiser and its settings.
    pub optimizer: Optimizer,
    /// Learning rate over the steps.
    pub schedule: Schedule,
    /// Number of examples per step; the last batch of an epoch may be smaller.
    pub batch_size: usize,
    /// Number of examples per batch when scoring; scores differ between sizes only by rounding, unless a head
    /// normalises layers over the words of a batch.
    pub evaluation_batch_size: usize,
    /// Loss of a classification.
    #[serde(default)]
    pub loss: ClassLoss,
    /// Penalty on the distance of the encoder's trained weights from the pretrained ones (L2-SP, Li et al. 2018): this
    /// times half the squared distance is added to the loss. 0 is none.
    #[serde(default)]
    pub l2_sp: f64,
    /// Standardised scores: a regression learns them with the mean 0 and the standard deviation 1 of the training examples,
    /// and predicts them as they were.
    #[serde(default = "off")]
    pub standardise_scores: Switch,
    /// Number of times, at most, that a run which is no better on dev than a constant prediction begins again with
    /// another seed (Mosbach et al. 2021 call such a run failed).
    #[serde(default)]
    pub restarts: usize,
    /// Number of epochs, at most.
    pub epochs: usize,
    /// Stopping rule.
    pub stop: StopRule,
    /// Number of wordpieces per example, including `[CLS]` and `[SEP]`; longer inputs are truncated.
    pub max_length: usize,
    /// Dropout inside the encoder, on hidden states and on attention probabilities.
    pub dropout: f64,
    /// Dropout in the blocks below the lowest trained one. PyTorch's and Keras's frozen layers keep theirs; without it
    /// these blocks give the same output each time.
    pub frozen_dropout: Switch,
    /// Gradient clipping.
    pub clip: Clip,
    /// Length bucketing: training batches of examples of similar length.
    pub bucketing: Switch,
    /// Dtype of the arithmetic.
    pub dtype: Dtype,
    /// Activation cache: outputs of frozen layers are computed once.
    #[serde(default)]
    pub cache: Cache,
    /// Number of examples that pass through the model at once, if fewer than `batch-size`: the gradients of a batch are
    /// accumulated over its parts. 0 means the whole batch.
    #[serde(default)]
    pub micro_batch_size: usize,
    /// Gradient checkpointing (Chen et al. 2016): the backward pass computes the inner results of a layer again instead of
    /// keeping them. It saves memory for a second forward pass, and gives the same numbers.
    #[serde(default = "off")]
    pub gradient_checkpointing: Switch,
    /// Checkpoint selection: the epoch whose model is the result.
    #[serde(default)]
    pub select: Select,
    /// Epochs after which the test split is scored.
    #[serde(default)]
    pub test_scores: TestScores,
    /// Joint or separate encoding of the two texts of a pair.
    #[serde(default)]
    pub pairs: Pairs,
    /// Context of the sentence whose words are tagged.
    #[serde(default = "sentence")]
    pub context: WordContext,
    /// Initial state of the encoder's recurrent layers in a batch: zero, or the final state of the batch before. Every
    /// pass over a split (an epoch of training, the scoring of a split) starts from zero.
    #[serde(default)]
    pub state: LstmState,
}

fn off() -> Switch {
    Switch::Off
}

fn sentence() -> WordContext {
    WordContext::Sentence
}

/// Activation cache: outputs of frozen layers are computed once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Cache {
    /// No cache: activations are computed in every pass.
    #[default]
    Off,
    /// Activations are cached where the strategy freezes layers, and `frozen-dropout` does not forbid it.
    On {
        /// Dtype of the stored activations.
        dtype: StoredDtype,
    },
}

impl Cache {
    fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// Checkpoint selection: the epoch whose model is the result of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// The last epoch.
    #[default]
    Last,
    /// The epoch with the best score on dev, over all phases and the first of several: its scores are the final ones,
    /// and its predictions are recorded. The metric is the one that `stop` names, or the dataset's main one.
    BestDev,
}

/// Epochs after which the test split is scored. Dev is scored after each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestScores {
    /// Each epoch, for curves of score against time.
    #[default]
    EachEpoch,
    /// Only the epoch whose model is the result, which saves time where test is large and train small.
    Final,
}

/// Gradient clipping before the update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Clip {
    /// No clipping.
    None {},
    /// PyTorch's `clip_grad_norm_`: all gradients are scaled by `max / (norm + 1e-6)` where that is below 1, with
    /// `norm` the length of all of them taken as one vector.
    GlobalNorm {
        /// Largest norm that passes unchanged.
        max: f64,
    },
}

impl Clip {
    /// Returns the largest norm that passes unchanged, if there is a limit.
    pub fn max(&self) -> Option<f64> {
        match self {
            Self::None {} => None,
            Self::GlobalNorm { max } => Some(*max),
        }
    }

    /// Refuses a limit that is out of range, naming the key.
    ///
    /// # Errors
    /// When it is not above 0.
    pub fn validate(&self) -> Result<()> {
        if let Self::GlobalNorm { max } = self {
            ensure!(
                max.is_finite() && *max > 0.0,
                "clip.max: found {max}, expected more than 0"
            );
        }
        Ok(())
    }
}

/// Dtype of the arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dtype {
    /// 32-bit floats throughout.
    F32,
    /// Matmuls of the encoder's layers in bfloat16, all else in f32: weights, normalisation, softmax, loss, updates.
    Bf16Mixed,
}

impl Dtype {
    /// Name in settings and rows.
    pub fn label(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16Mixed => "bf16-mixed",
        }
    }

    /// The dtype at which `device` trains faster; f32 where neither is clearly faster.
    pub fn fastest(device: &Device) -> Self {
        match Precision::fastest(device) {
            Precision::F32 => Self::F32,
            Precision::Bf16 => Self::Bf16Mixed,
        }
    }

    /// Precision of the products of the encoder's layers.
    pub fn precision(self) -> Precision {
        match self {
            Self::F32 => Precision::F32,
            Self::Bf16Mixed => Precision::Bf16,
        }
    }
}

impl Training {
    /// Returns the phases of this run for an encoder of `n_layers` layers.
    ///
    /// # Errors
    /// When a value is out of range, for any encoder or for one of this depth.
    pub fn plan(&self, n_layers: usize) -> Result<Plan> {
        self.validate()?;
        let adam = self.optimizer.adam();
        let defaults = Defaults {
            weight_decay: adam.weight_decay,
            no_decay: adam.no_decay.clone(),
            schedule: self.schedule.clone(),
            epochs: self.epochs,
            stop: self.stop.clone(),
            reads_pooler: self.head.reads_pooler(),
        };
        let plan = self.adaptation.plan(&defaults, n_layers)?;
        ensure!(
            !self.gradient_checkpointing.is_on() || plan.setup.iter().all(ModuleEdit::recomputes),
            "gradient-checkpointing: found \"on\" with `{}`, expected \"off\": it is not built for layers with the modules of this \
             strategy",
            self.adaptation.label()
        );
        let has_optimum = self.head.is_linear() && self.head.reads().layers().is_top();
        ensure!(
            plan.probe.is_none() || has_optimum,
            "head: found `{}`, expected `linear` or `siamese` on the top layer, whose optimum `lp-ft` computes",
            self.head.label()
        );
        Ok(plan)
    }

    /// Key of the setting that depends on scores on dev, if there is one: such a run needs a dev split.
    pub fn looks_at_dev(&self) -> Option<&'static str> {
        if self.select == Select::BestDev {
            Some("select")
        } else if self.stop.looks_at_dev() {
            Some("stop")
        } else if self.schedule.looks_at_dev() {
            Some("schedule")
        } else if self.restarts > 0 {
            Some("restarts")
        } else {
            self.adaptation.looks_at_dev()
        }
    }

    /// Entry layers of its phases when outputs of frozen layers of `encoder` are cached, each once.
    ///
    /// # Errors
    /// When a value is out of range for this encoder, or it lacks a parameter that is to be trained.
    pub fn entry_layers<E: Encoder>(&self, encoder: &E) -> Result<Vec<EntryLayer>> {
        let n_layers = encoder.n_layers();
        let plan = self.plan(n_layers)?;
        let prepared = plan.prepare(encoder.clone(), 0)?; // the names of parameters depend on no seed
        let paths = sizes(&prepared).into_keys();
        let paths = paths.map(|path| format!("encoder.{path}"));
        // A head always has parameters; what they are called does not matter here.
        let paths: Vec<String> = paths.chain(["head.output.weight".into()]).collect();
        let mut starts = Vec::new();
        for assigned in plan.assign(&paths, n_layers)? {
            let start = self.entry_layer(&assigned, n_layers);
            starts.extend(start.filter(|start| !starts.contains(start)));
        }
        Ok(starts)
    }

    /// Entry layer of a phase, for an encoder of `n_layers` layers; `None` if nothing that costs time is frozen.
    ///
    /// A frozen layer with dropout gives another output each time, so there is nothing to cache of it.
    pub(crate) fn entry_layer(&self, phase: &Assignment, n_layers: usize) -> Option<EntryLayer> {
        let drops_out = self.frozen_dropout.is_on() && self.dropout > 0.0;
        let entry = || EntryLayer::of(phase, self.head.reads(), n_layers);
        if drops_out { None } else { entry() }
    }

    /// Inner results of layers for the backward pass.
    pub(crate) fn activations(&self) -> Activations {
        match self.gradient_checkpointing {
            Switch::On => Activations::Recomputed,
            Switch::Off => Activations::Kept,
        }
    }

    /// Refuses gradient checkpointing for an encoder of which is known whether its layers recompute.
    ///
    /// # Errors
    /// When it is on and they do not.
    pub fn check_checkpointing(&self, recomputes: bool) -> Result<()> {
        ensure!(
            recomputes || !self.gradient_checkpointing.is_on(),
            "gradient-checkpointing: found \"on\", expected \"off\" for this encoder: it is built for BERT, DistilBERT, RoBERTa, \
             XLM-RoBERTa, ELECTRA, and ALBERT with the activation `gelu`"
        );
        Ok(())
    }

    /// Refuses values out of range, naming the key; checks that depend on the encoder are left to [`Training::plan`].
    pub fn validate(&self) -> Result<()> {
        for (key, found) in [
            ("batch-size", self.batch_size),
            ("evaluation-batch-size", self.evaluation_batch_size),
            ("epochs", self.epochs),
        ] {
            ensure!(found >= 1, "{key}: found {found}, expected at least 1");
        }
        ensure!(
            self.max_length >= 3,
            "max-length: found {}, expected at least 3 (`[CLS]`, one wordpiece, `[SEP]`)",
            self.max_length
        );
        ensure!(
            (0.0..1.0).contains(&self.dropout),
            "dropout: found {}, expected from 0 to less than 1",
            self.dropout
        );
        ensure!(
            self.state.is_reset() || self.cache.is_off(),
            "state: found \"carry\" with a cache, expected cache = {{ kind = \"off\" }}: the states of an example then depend on the \
             batches before it, which are others in each epoch, so none can be kept"
        );
        ensure!(
            self.l2_sp.is_finite() && self.l2_sp >= 0.0,
            "l2-sp: found {}, expected 0 or more",
            self.l2_sp
        );
        self.loss.check()?;
        self.head.validate()?;
        self.stop.validate("stop")?;
        self.clip.validate()?;
        self.adaptation.validate()?;
        self.optimizer.validate()?;
        self.schedule.validate()
    }
}

#[cfg(test)]
mod tests;
