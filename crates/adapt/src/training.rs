//! Everything one fine-tuning run needs to know that is not data, encoder or seed.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_data::{Pairs, WordContext};
use totune_model::fused::Precision;
use totune_model::{Encoder, HeadSpec, LstmState, Switch};

use crate::cache::{EntryLayer, StoredDtype};
use crate::optimizer::Optimizer;
use crate::parameters::sizes;
use crate::phase::{Assignment, Defaults, Plan};
use crate::schedule::Schedule;
use crate::stop::StopRule;
use crate::strategy::Adaptation;

/// The settings of a run, fully resolved: every field is written down, none has a silent default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Training {
    /// What turns the encoder's states into scores.
    pub head: HeadSpec,
    /// Which parameters are trained, and at what learning rate.
    pub adaptation: Adaptation,
    /// How gradients become updates.
    pub optimizer: Optimizer,
    /// The learning rate over the steps.
    pub schedule: Schedule,
    /// Examples per step; the last batch of an epoch may be smaller.
    pub batch_size: usize,
    /// Examples per batch when scoring; scores differ between sizes by rounding only.
    pub evaluation_batch_size: usize,
    /// Passes over the training examples, at most.
    pub epochs: usize,
    /// What may end training sooner.
    pub stop: StopRule,
    /// Wordpieces per example, `[CLS]` and `[SEP]` included; longer inputs are cut.
    pub max_length: usize,
    /// Dropout inside the encoder, on hidden states and on attention probabilities.
    pub dropout: f64,
    /// Whether that dropout stays on in the blocks below the lowest trained one. PyTorch's and Keras's frozen layers
    /// keep theirs; without it these blocks give the same output each time.
    pub frozen_dropout: Switch,
    /// What limits the gradient.
    pub clip: Clip,
    /// Whether training batches are made of examples of similar length.
    pub bucketing: Switch,
    /// Dtype of the arithmetic.
    pub dtype: Dtype,
    /// Whether outputs of frozen layers are computed once and cached.
    #[serde(default)]
    pub cache: Cache,
    /// Examples that pass through the model at once, where that is fewer than `batch-size`: the gradients of a batch are
    /// added up over its pieces. 0 stands for the whole batch.
    #[serde(default)]
    pub micro_batch_size: usize,
    /// Checkpoint selection: which epoch's model is the result.
    #[serde(default)]
    pub select: Select,
    /// How the two texts of a pair are read.
    #[serde(default)]
    pub pairs: Pairs,
    /// What is read beside the sentence whose words are tagged.
    #[serde(default = "sentence")]
    pub context: WordContext,
    /// What the recurrent layers of an encoder begin a batch with: nothing, or what the batch before left in them. Every
    /// pass over a part (an epoch of training, the scoring of a split) begins with nothing.
    #[serde(default)]
    pub state: LstmState,
}

fn sentence() -> WordContext {
    WordContext::Sentence
}

/// Whether outputs of frozen layers are computed once and cached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Cache {
    /// They are computed in every pass.
    #[default]
    Off,
    /// They are cached where the strategy leaves layers frozen, and `frozen-dropout` does not forbid it.
    On {
        /// Dtype they are stored in.
        dtype: StoredDtype,
    },
}

impl Cache {
    fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// Checkpoint selection: which epoch's model is the result of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// The last one's.
    #[default]
    Last,
    /// That of the epoch with the best score on dev, over all phases and the first of several: its scores are the final
    /// ones, and predictions are its. The metric is the one that `stop` names, or the dataset's main one.
    BestDev,
}

/// What is done to a gradient before the update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Clip {
    /// Nothing.
    None {},
    /// PyTorch's `clip_grad_norm_`: all gradients are scaled by `max / (norm + 1e-6)` where that is below 1, with
    /// `norm` the length of all of them taken as one vector.
    GlobalNorm {
        /// Longest gradient that passes unchanged.
        max: f64,
    },
}

impl Clip {
    /// The longest gradient that passes unchanged, if there is a limit.
    pub fn max(&self) -> Option<f64> {
        match self {
            Self::None {} => None,
            Self::GlobalNorm { max } => Some(*max),
        }
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
    /// As it is written in settings and rows.
    pub fn label(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16Mixed => "bf16-mixed",
        }
    }

    /// What the products of the encoder's layers are made of.
    pub fn precision(self) -> Precision {
        match self {
            Self::F32 => Precision::F32,
            Self::Bf16Mixed => Precision::Bf16,
        }
    }
}

impl Training {
    /// The phases of this run for an encoder of `n_layers` layers.
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
        self.adaptation.plan(&defaults, n_layers)
    }

    /// The setting by which training looks at scores on dev, if there is one: such a run needs a dev split.
    pub fn looks_at_dev(&self) -> Option<&'static str> {
        if self.select == Select::BestDev {
            Some("select")
        } else if self.stop.looks_at_dev() {
            Some("stop")
        } else if self.schedule.looks_at_dev() {
            Some("schedule")
        } else {
            self.adaptation.looks_at_dev()
        }
    }

    /// Where its phases enter the model when outputs of frozen layers of `encoder` are cached, each place once.
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

    /// Where a phase enters the model, for an encoder of `n_layers` layers; `None` where nothing that costs time is frozen.
    ///
    /// A frozen layer with dropout gives another output each time, so there is nothing to cache of it.
    pub(crate) fn entry_layer(&self, phase: &Assignment, n_layers: usize) -> Option<EntryLayer> {
        let drops_out = self.frozen_dropout.is_on() && self.dropout > 0.0;
        let entry = || EntryLayer::of(phase, self.head.reads(), n_layers);
        if drops_out { None } else { entry() }
    }

    /// Refuses values out of range, naming the key; what depends on the encoder is left to [`Training::plan`].
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
        self.head.validate()?;
        self.stop.validate("stop")?;
        if let Clip::GlobalNorm { max } = self.clip {
            ensure!(
                max.is_finite() && max > 0.0,
                "clip.max: found {max}, expected more than 0"
            );
        }
        self.adaptation.validate()?;
        self.optimizer.validate()?;
        self.schedule.validate()
    }
}

#[cfg(test)]
mod tests;
