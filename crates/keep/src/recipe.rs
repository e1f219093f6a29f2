//! Settings for a strategy where nobody gives any.

use std::fmt;
use std::str::FromStr;

use totune_adapt::{
    Adaptation, BitFit, Cache, Clip, Dtype, Frozen, Full, GradualUnfreezing, LastK, Linear, Lora,
    LstmState, Optimizer, Schedule, Select, StackAndFinetune, StopRule, Switch, Training,
};
use totune_data::{Card, Pairs, Split, Task, WordContext};
use totune_data::{Duplicates, Files, HoldOut};
use totune_model::{
    Architecture, EncoderCard, HeadSpec, Layers, LinearSpec, PoolerKind, Pooling, TaggerSpec,
};

/// Which parameters are trained, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The head and all layers.
    Full,
    /// The head and so many top layers.
    LastK(usize),
    /// The head.
    Frozen,
    /// The head first, then everything.
    TwoPhase,
    /// One more layer each epoch, from the top.
    Gradual,
    /// Low-rank updates of queries and values, and the head.
    Lora,
    /// Biases, and the head.
    BitFit,
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let top = text.strip_prefix("last-").map(str::parse);
        Ok(match (text, top) {
            ("full", _) => Self::Full,
            (_, Some(Ok(k))) if k > 0 => Self::LastK(k),
            ("frozen", _) => Self::Frozen,
            ("two-phase", _) => Self::TwoPhase,
            ("gradual", _) => Self::Gradual,
            ("lora", _) => Self::Lora,
            ("bitfit", _) => Self::BitFit,
            _ => {
                return Err(
                    "expected full, last-<k> (such as last-2), frozen, two-phase, gradual, lora or bitfit".to_string(),
                );
            }
        })
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Full => write!(f, "full"),
            Self::LastK(k) => write!(f, "last-{k}"),
            Self::Frozen => write!(f, "frozen"),
            Self::TwoPhase => write!(f, "two-phase"),
            Self::Gradual => write!(f, "gradual"),
            Self::Lora => write!(f, "lora"),
            Self::BitFit => write!(f, "bitfit"),
        }
    }
}

/// What somebody said about a training; the rest follows from the strategy, the encoder and the task.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Which parameters are trained.
    pub strategy: Strategy,
    /// Peak learning rate; of two phases, of the second.
    pub lr: Option<f64>,
    /// Peak learning rate of the head; of two phases, of the first.
    pub head_lr: Option<f64>,
    /// Passes over the training examples; of two phases, in each.
    pub epochs: Option<usize>,
    /// Examples per step.
    pub batch_size: Option<usize>,
    /// Most tokens of an input.
    pub max_length: Option<usize>,
    /// Which vector a text's label is computed from.
    pub pooling: Option<Pooling>,
}

/// Parameters of an encoder that is small enough for learning rates of small encoders: those of MiniLM and the BERT
/// miniatures, not those of BERT-base.
const SMALL: u64 = 50_000_000;
/// Parameters of an encoder that needs the learning rates of BERT-large.
const LARGE: u64 = 200_000_000;

impl Recipe {
    /// Of a strategy and nothing else.
    pub fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            lr: None,
            head_lr: None,
            epochs: None,
            batch_size: None,
            max_length: None,
            pooling: None,
        }
    }

    /// All settings, for an encoder and a task; `has_dev` says whether there are examples to decide by.
    pub fn training(&self, encoder: &EncoderCard, task: Task, has_dev: bool) -> Training {
        let few = matches!(
            self.strategy,
            Strategy::Frozen | Strategy::Lora | Strategy::BitFit
        );
        // Few parameters need more steps (Hu et al. 2021 and Ben Zaken et al. 2022 train for 16 to 80 epochs).
        let epochs = self.epochs.unwrap_or(if few { 10 } else { 3 });
        Training {
            head: self.head(encoder, task),
            adaptation: self.adaptation(encoder, epochs),
            optimizer: Optimizer::adamw(),
            schedule: Schedule::Linear(Linear { warmup: 0.1 }),
            batch_size: self.batch_size.unwrap_or(16),
            evaluation_batch_size: 64,
            epochs,
            stop: StopRule::Epochs {},
            max_length: self
                .max_length
                .unwrap_or(128)
                .min(longest(&encoder.architecture)),
            dropout: 0.1,
            // So that the layers below the trained ones give the same in each epoch, and can be cached.
            frozen_dropout: Switch::Off,
            clip: Clip::GlobalNorm { max: 1.0 },
            bucketing: Switch::On,
            dtype: Dtype::F32,
            cache: Cache::Off,
            micro_batch_size: 0,
            // A correlation has no answer where all predictions are one number, as after the first steps they may be.
            select: match has_dev && task != Task::Regression {
                true => Select::BestDev,
                false => Select::Last,
            },
            pairs: Pairs::Joint,
            context: WordContext::Sentence,
            state: LstmState::Reset,
        }
    }

    fn adaptation(&self, encoder: &EncoderCard, epochs: usize) -> Adaptation {
        let (lr, head_lr) = (self.lr.unwrap_or(self.rate(encoder)), self.head_lr);
        match self.strategy {
            Strategy::Full => Adaptation::Full(Full {
                head_lr,
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
                ..StackAndFinetune::new(head_lr.unwrap_or(1e-3), epochs, lr)
            }),
            Strategy::Gradual => Adaptation::GradualUnfreezing(GradualUnfreezing {
                head_lr,
                ..GradualUnfreezing::new(lr, 0.9)
            }),
            Strategy::Lora => Adaptation::Lora(Lora {
                head_lr,
                ..Lora::new(8, lr)
            }),
            Strategy::BitFit => Adaptation::BitFit(BitFit {
                head_lr,
                ..BitFit::new(lr)
            }),
        }
    }

    /// A learning rate that works as a rule: published values are in the comments.
    fn rate(&self, encoder: &EncoderCard) -> f64 {
        let full = match encoder.parameters {
            ..SMALL => 1e-4, // BERT miniatures: 3e-4, 1e-4, 5e-5, 3e-5
            LARGE.. => 1e-5,
            _ => 3e-5, // Devlin et al. 2019: 5e-5, 3e-5, 2e-5
        };
        match self.strategy {
            Strategy::Full | Strategy::TwoPhase | Strategy::Gradual => full,
            Strategy::LastK(_) => 2.0 * full,
            Strategy::Frozen => 2e-3, // fastai's for a new head
            Strategy::Lora => 10.0 * full,
            Strategy::BitFit => 1e-3, // Ben Zaken et al. 2022
        }
    }

    /// A head that transformers has a class for, unless another pooling is asked for.
    fn head(&self, encoder: &EncoderCard, task: Task) -> HeadSpec {
        if task == Task::Tagging {
            return HeadSpec::Tagger(TaggerSpec::default());
        }
        let pooler = match &encoder.architecture {
            Architecture::Bert(config) => config.pooler,
            Architecture::Roberta(config) => config.pooler,
            Architecture::Distilbert(_) | Architecture::Elmo(_) => PoolerKind::None,
        };
        let usual = match (&encoder.architecture, pooler) {
            (Architecture::Elmo(_), _) => Pooling::Mean, // without a token for the whole
            (_, PoolerKind::Tanh) => Pooling::Pooler,
            (_, PoolerKind::None) => Pooling::First,
        };
        HeadSpec::Linear(LinearSpec {
            pooling: self.pooling.unwrap_or(usual),
            layers: Layers::Top,
            dropout: 0.1,
        })
    }
}

/// Most tokens that an architecture has positions for.
fn longest(architecture: &Architecture) -> usize {
    match architecture {
        Architecture::Bert(config) => config.max_position_embeddings,
        Architecture::Distilbert(config) => config.max_position_embeddings,
        // The rows before that of the first token are of padding.
        Architecture::Roberta(config) => {
            config.max_position_embeddings - config.pad_token_id as usize - 1
        }
        Architecture::Elmo(_) => usize::MAX,
    }
}

/// How a dataset is divided where nobody says: its own files where they have answers, else shares of `train` drawn with
/// `seed`, equal texts on one side.
pub fn usual_split(card: &Card, seed: u64) -> Split {
    let has = |split: &str| {
        card.split_names().contains(split)
            && card.splits.get(split).is_none_or(|facts| facts.labelled)
    };
    let files = |test: &str, dev_split: Option<&str>| {
        Split::Files(Files {
            test: test.to_string(),
            dev: if dev_split.is_some() { 0.0 } else { 0.1 },
            dev_split: dev_split.map(String::from),
            seed,
            predict: Vec::new(),
            train_limit: None,
            dev_limit: None,
            test_limit: None,
        })
    };
    match (has("test"), has("dev")) {
        (true, true) => files("test", Some("dev")),
        (true, false) => files("test", None),
        (false, true) => files("dev", None),
        (false, false) => Split::HoldOut(HoldOut {
            test: 0.2,
            dev: 0.1,
            seed,
            duplicates: Duplicates::Group,
            train_limit: None,
            test_limit: None,
        }),
    }
}
