//! Default settings of a training from the name of a strategy, the encoder and a few facts of the data.
//!
//! `totune train` and `totune compare` take their defaults from here, so that a model that one of them found is the
//! model that the other trains.

use anyhow::{Context, Result, ensure};
use totune_data::{Pairs, Task, WordContext};
use totune_model::{
    Architecture, EncoderCard, FullyConnectedSpec, HeadSpec, Layers, LinearSpec, LstmState,
    PoolerKind, Pooling, SentenceVector, SiameseSpec, Switch, TaggerSpec,
};

use crate::cache::StoredDtype;
use crate::optimizer::Optimizer;
use crate::schedule::{Linear, Schedule};
use crate::stop::StopRule;
use crate::strategy::{
    Adaptation, Adapters, AutoFreeze, BitFit, Frozen, Full, GradualUnfreezing, LastK, Lora, LpFt,
    PrefixTuning, StackAndFinetune, Trainable,
};
use crate::training::{Cache, ClassLoss, Clip, Dtype, Select, TestScores, Training};

mod strategy;

pub use strategy::{Strategy, UnknownStrategy};

/// Number of training examples that a training sees by default, over all epochs, if not more. After fewer steps no strategy
/// that trains the encoder has learned anything.
pub const LEAST_SEEN: usize = 2000;

/// Epochs over `n_train` examples after which a training has seen [`LEAST_SEEN`] of them, but for very few examples.
pub fn enough_epochs(n_train: usize) -> usize {
    LEAST_SEEN.div_ceil(n_train.max(1)).min(MOST_EPOCHS)
}
/// Number of epochs, at most, that few examples are seen in by default.
const MOST_EPOCHS: usize = 40;
/// Number of training examples from which a batch has 32 examples instead of 16.
const MANY: usize = 5000;
/// Peak learning rate of the head before the encoder is fine-tuned.
const HEAD_LR: f64 = 1e-3;
/// Epochs of the head before the encoder is fine-tuned.
const HEAD_EPOCHS: usize = 1;

/// Settings of a training that a person chooses; the rest follows from the strategy, the encoder and the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// Strategy: the parameters to train.
    pub strategy: Strategy,
    /// Head on the encoder.
    pub head: HeadChoice,
    /// Peak learning rate; of two phases, of the second.
    pub lr: Option<f64>,
    /// Peak learning rate of the head; of two phases, of the first.
    pub head_lr: Option<f64>,
    /// Passes over the training examples, of all phases together.
    pub epochs: Option<usize>,
    /// Examples per step.
    pub batch_size: Option<usize>,
    /// Maximum length of an input in tokens.
    pub max_length: Option<usize>,
    /// The vector that a simple head reads, where whole texts are labelled.
    pub pooling: Option<Pooling>,
    /// Encoding of the two texts of a pair. Separate texts get a head that compares their vectors, whatever `head` is.
    pub pairs: Pairs,
    /// Dtype of the arithmetic.
    pub dtype: Dtype,
    /// Number of times, at most, that training begins again with another seed because it has learned nothing.
    pub restarts: usize,
    /// Gradient checkpointing, for long inputs.
    pub gradient_checkpointing: Switch,
}

/// The size of a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeadChoice {
    /// One linear layer, for which transformers has a class.
    #[default]
    Simple,
    /// A hidden layer as wide as the encoder on the first token, or a BiLSTM over words that are tagged.
    TaskSpecific,
}

/// Facts of the data that a recipe depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DataFacts {
    /// Kind of task.
    pub task: Task,
    /// Weighting of the loss.
    pub loss: ClassLoss,
    /// Number of training examples.
    pub n_train: usize,
    /// True if there are dev examples.
    pub has_dev: bool,
    /// Length in tokens of a long training input, such as the 99th percentile.
    pub length: usize,
}

impl DataFacts {
    /// Default maximum length of an input, in tokens: longer ones cost much, and the text beyond it seldom matters.
    pub const LONGEST: usize = 256;

    /// Default number of examples per step.
    pub fn batch_size(&self) -> usize {
        if self.n_train < MANY { 16 } else { 32 }
    }

    /// Default maximum length of an input: whole inputs except the longest ones, and no more than `encoder` reads.
    pub fn max_length(&self, encoder: &EncoderCard) -> usize {
        let length = self.length.min(Self::LONGEST).next_multiple_of(8).max(16);
        length.min(encoder.architecture.max_length())
    }
}

impl Recipe {
    /// Creates a recipe for a strategy with default settings.
    pub fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            head: HeadChoice::Simple,
            lr: None,
            head_lr: None,
            epochs: None,
            batch_size: None,
            max_length: None,
            pooling: None,
            pairs: Pairs::Joint,
            dtype: Dtype::F32,
            restarts: 0,
            gradient_checkpointing: Switch::Off,
        }
    }

    /// Returns all settings.
    ///
    /// # Errors
    /// When a value is out of range, for any encoder or for this one.
    pub fn training(&self, encoder: &EncoderCard, data: &DataFacts) -> Result<Training> {
        let n_layers = encoder.architecture.n_layers();
        let enough = enough_epochs(data.n_train);
        let epochs = self
            .epochs
            .unwrap_or(self.strategy.epochs(n_layers).max(enough));
        let before = match self.strategy {
            Strategy::TwoPhase => HEAD_EPOCHS,
            _ => 0,
        };
        let why = match before {
            0 => String::new(),
            n => format!(": {n} of the head, and one in which everything is trained"),
        };
        ensure!(
            epochs > before,
            "epochs: found {epochs}, expected at least {}{why}",
            before + 1
        );
        let adaptation = self.adaptation(encoder);
        adaptation
            .check_architecture(&encoder.architecture)
            .context("strategy")?;
        let longest = encoder.architecture.max_length();
        let max_length = self.max_length.map(|asked| asked.min(longest));
        let training = Training {
            head: self.head(encoder, data.task),
            adaptation,
            optimizer: Optimizer::adamw(),
            schedule: Schedule::Linear(Linear { warmup: 0.1 }),
            batch_size: self.batch_size.unwrap_or(data.batch_size()),
            evaluation_batch_size: 64,
            epochs: epochs - before,
            loss: data.loss,
            l2_sp: 0.0,
            standardise_scores: Switch::On,
            restarts: self.restarts,
            stop: StopRule::Epochs {},
            max_length: max_length.unwrap_or(data.max_length(encoder)),
            dropout: 0.1,
            // So that the layers below the trained ones give the same in each epoch, and can be cached.
            frozen_dropout: Switch::Off,
            clip: Clip::GlobalNorm { max: 1.0 },
            bucketing: Switch::On,
            dtype: self.dtype,
            cache: Cache::On {
                dtype: StoredDtype::F16,
            },
            micro_batch_size: 0,
            gradient_checkpointing: self.gradient_checkpointing,
            // A correlation has no value where all predictions are one number, as they may be after the first steps.
            select: if data.has_dev && data.task != Task::Regression {
                Select::BestDev
            } else {
                Select::Last
            },
            test_scores: TestScores::EachEpoch,
            pairs: self.pairs,
            context: WordContext::Sentence,
            state: LstmState::Reset,
        };
        training.plan(n_layers)?;
        training.check_checkpointing(encoder.architecture.recomputes())?;
        Ok(training)
    }

    fn adaptation(&self, encoder: &EncoderCard) -> Adaptation {
        let [usual, _] = self.strategy.learning_rates(encoder);
        let (lr, head_lr) = (self.lr.unwrap_or(usual), self.head_lr);
        match self.strategy {
            // Lower layers learn more slowly (Howard and Ruder 2018); Clark et al. 2020, table 7, have 0.8 for the
            // smaller ELECTRAs and 0.9 for the largest.
            Strategy::Full => Adaptation::Full(Full {
                head_lr,
                layer_decay: 0.9,
                ..Full::new(lr)
            }),
            Strategy::LastK(k) => Adaptation::LastK(LastK {
                head_lr,
                ..LastK::new(k, lr)
            }),
            Strategy::Frozen => Adaptation::Frozen(Frozen {
                head_lr,
                ..Frozen::new(lr)
            }),
            Strategy::TwoPhase => Adaptation::StackAndFinetune(StackAndFinetune {
                head_stop: StopRule::Epochs {},
                ..StackAndFinetune::new(head_lr.unwrap_or(HEAD_LR), HEAD_EPOCHS, lr)
            }),
            Strategy::LpFt => Adaptation::LpFt(LpFt {
                head_lr,
                ..LpFt::new(lr)
            }),
            Strategy::Gradual => Adaptation::GradualUnfreezing(GradualUnfreezing {
                head_lr,
                embeddings: Trainable::No,
                ..GradualUnfreezing::new(lr, 0.9)
            }),
            // Hu et al. 2021, table 9, have rank 8 with alpha 8 for RoBERTa-base and 16 for larger ones.
            Strategy::Lora => Adaptation::Lora(Lora {
                head_lr,
                alpha: 16.0,
                targets: lora_targets(&encoder.architecture),
                ..Lora::new(8, lr)
            }),
            Strategy::BitFit => Adaptation::BitFit(BitFit {
                head_lr,
                ..BitFit::new(lr)
            }),
            // Houlsby et al. 2019, section 3.2: with one width for all tasks, 64 is best.
            Strategy::Adapters => Adaptation::Adapters(Adapters {
                head_lr,
                ..Adapters::new(64, lr)
            }),
            // The scripts of Liu et al. 2022 have 20 positions for RTE.
            Strategy::PrefixTuning => Adaptation::PrefixTuning(PrefixTuning {
                head_lr,
                ..PrefixTuning::new(20, lr)
            }),
            Strategy::AutoFreeze => Adaptation::AutoFreeze(AutoFreeze {
                head_lr,
                ..AutoFreeze::new(lr)
            }),
        }
    }

    fn head(&self, encoder: &EncoderCard, task: Task) -> HeadSpec {
        let architecture = &encoder.architecture;
        match (task, self.head) {
            (Task::Tagging, choice) => HeadSpec::Tagger(TaggerSpec {
                recurrent_layers: match choice {
                    HeadChoice::Simple => 0,
                    HeadChoice::TaskSpecific => 1,
                },
                ..TaggerSpec::default()
            }),
            _ if !self.pairs.is_joint() => HeadSpec::Siamese(SiameseSpec {
                layers: Layers::Top,
                // The best of the three in Reimers and Gurevych 2019, table 6.
                pooling: self.pooling.unwrap_or(Pooling::Mean),
                dropout: 0.1,
            }),
            (_, HeadChoice::TaskSpecific) => HeadSpec::FullyConnected(FullyConnectedSpec {
                mlp_hidden: architecture.hidden(),
                ..FullyConnectedSpec::default()
            }),
            (_, HeadChoice::Simple) => HeadSpec::Linear(LinearSpec {
                pooling: self.pooling.unwrap_or(usual_pooling(encoder)),
                layers: Layers::Top,
                dropout: 0.1,
            }),
        }
    }
}

/// Queries and values, as in Hu et al. 2021 (section 4.2), and keys where one product makes all three.
fn lora_targets(architecture: &Architecture) -> Vec<String> {
    let targets: &[&str] = match architecture {
        Architecture::Modernbert(_) => &["attention.query_key_value"],
        _ => &["attention.query", "attention.value"],
    };
    targets.iter().map(|target| target.to_string()).collect()
}

/// The vector that the classes of transformers read: a model with a head on it can be saved as one of them. The mean of a
/// sentence encoder is none of those, so its head has the pooler, unless `pooling` names the mean.
fn usual_pooling(encoder: &EncoderCard) -> Pooling {
    let architecture = &encoder.architecture;
    match (architecture, architecture.pooler()) {
        (Architecture::Elmo(_), _) => Pooling::Mean, // without a token for the whole text
        // Its pooler was not part of the training that made it a sentence encoder.
        _ if encoder.sentence_vector == Some(SentenceVector::First) => Pooling::First,
        (_, PoolerKind::Tanh) => Pooling::Pooler,
        (_, PoolerKind::None) => Pooling::First,
    }
}

#[cfg(test)]
mod tests;
