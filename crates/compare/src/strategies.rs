//! The strategies that are compared, with the learning rates that each is tried with.

use totune_adapt::{
    Adaptation, BitFit, Cache, Clip, Dtype, Frozen, Full, GradualUnfreezing, LastK, Linear, Lora,
    Optimizer, Schedule, Select, StackAndFinetune, StopRule, StoredDtype, Switch, Trainable,
    Training,
};
use totune_data::{Pairs, WordContext};
use totune_model::{
    FullyConnectedSpec, HeadSpec, Layers, LinearSpec, LstmState, Pooling, TaggerSpec,
};

/// What is done with the encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It stays as it is, under a small network.
    Frozen,
    /// All of it is fine-tuned.
    Full,
    /// Its top third is fine-tuned.
    LastK,
    /// A new head is trained alone for an epoch, then everything.
    HeadFirst,
    /// Low-rank updates are trained.
    Lora,
    /// One more layer joins at a time.
    Gradual,
    /// Its biases are fine-tuned.
    BitFit,
}

impl Kind {
    /// All, in the order in which they are dropped when time is short: the last first.
    pub const ALL: [Self; 7] = [
        Self::Frozen,
        Self::Full,
        Self::LastK,
        Self::HeadFirst,
        Self::Lora,
        Self::Gradual,
        Self::BitFit,
    ];

    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frozen => "frozen",
            Self::Full => "full",
            Self::LastK => "last-k",
            Self::HeadFirst => "head-first",
            Self::Lora => "lora",
            Self::Gradual => "gradual",
            Self::BitFit => "bitfit",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name for people, as the end of "the best was to …".
    fn advice(self, n_layers: usize) -> String {
        match self {
            Self::Frozen => "keep the encoder frozen under a small network".into(),
            Self::Full => "fine-tune everything".into(),
            Self::LastK => match top(n_layers) {
                1 => "fine-tune the last layer".into(),
                k => format!("fine-tune the last {k} layers"),
            },
            Self::HeadFirst => "train the head first, then everything".into(),
            Self::Lora => "fine-tune low-rank updates (LoRA)".into(),
            Self::Gradual => "unfreeze one more layer at a time".into(),
            Self::BitFit => "fine-tune the biases alone (BitFit)".into(),
        }
    }

    /// Learning rates to choose from, the most likely one first. Small encoders take higher ones than BERT-base, whose
    /// rates for full fine-tuning are those of Devlin et al. 2019, A.3; those of LoRA and BitFit are their papers'.
    fn rates(self, hidden: usize) -> Vec<f64> {
        let (of_small, of_base) = match self {
            Self::Frozen => ([1e-3, 5e-3], [1e-3, 5e-3]),
            Self::Full | Self::HeadFirst | Self::Gradual => ([1e-4, 3e-4], [3e-5, 1e-4]),
            Self::LastK => ([3e-4, 1e-3], [1e-4, 3e-4]),
            Self::Lora => ([2e-3, 5e-3], [5e-4, 2e-3]),
            Self::BitFit => ([5e-3, 2e-3], [1e-3, 3e-3]),
        };
        let rates = if hidden < 512 { of_small } else { of_base };
        rates.to_vec()
    }

    fn adaptation(self, lr: f64, n_layers: usize) -> Adaptation {
        match self {
            Self::Frozen => Adaptation::Frozen(Frozen {
                lr,
                head_lr: None,
                pooler: Trainable::No,
            }),
            // Higher layers move faster, as Howard and Ruder 2018 and ELECTRA's settings have it.
            Self::Full => Adaptation::Full(Full {
                layer_decay: 0.9,
                ..Full::new(lr)
            }),
            Self::LastK => Adaptation::LastK(LastK {
                k: top(n_layers),
                lr,
                head_lr: None,
                pooler: Trainable::Yes,
                embeddings: Trainable::No,
                layer_decay: 1.0,
            }),
            Self::HeadFirst => Adaptation::StackAndFinetune(StackAndFinetune {
                head_stop: StopRule::Epochs {},
                ..StackAndFinetune::new(1e-3, 1, lr)
            }),
            Self::Lora => Adaptation::Lora(Lora {
                alpha: 16.0,
                ..Lora::new(8, lr)
            }),
            Self::Gradual => Adaptation::GradualUnfreezing(GradualUnfreezing {
                embeddings: Trainable::No,
                ..GradualUnfreezing::new(lr, 0.9)
            }),
            Self::BitFit => Adaptation::BitFit(BitFit::new(lr)),
        }
    }
}

/// Top layers that count as the last ones: a third of all.
fn top(n_layers: usize) -> usize {
    n_layers.div_ceil(3)
}

/// A strategy, and what it needs to be tried fairly.
#[derive(Debug, Clone)]
pub struct Strategy {
    /// What is done.
    pub kind: Kind,
    /// Its name for people.
    pub advice: String,
    /// Learning rates to choose from on dev, the most likely one first.
    pub rates: Vec<f64>,
    /// Whether it learns slowly at first, so that it is given twice the time before its rates are judged: LoRA and BitFit
    /// stay near the majority class for an epoch in which full fine-tuning is nearly done.
    pub late: bool,
    /// Epochs it takes at least: those of its phases.
    pub least_epochs: usize,
    /// Most epochs that are worth their time.
    pub most_epochs: usize,
}

/// What an encoder and a task mean for the settings.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Layers of the encoder.
    pub n_layers: usize,
    /// Its width.
    pub hidden: usize,
    /// Whether it has a pooler.
    pub has_pooler: bool,
    /// Whether words are tagged.
    pub tags: bool,
    /// Longest input in wordpieces.
    pub max_length: usize,
    /// Examples per step.
    pub batch_size: usize,
}

impl Strategy {
    /// The strategy of a kind, for an encoder.
    pub fn new(kind: Kind, facts: Facts) -> Self {
        let (least_epochs, most_epochs) = match kind {
            Kind::Frozen => (1, 30),
            Kind::Full => (1, 8),
            Kind::LastK => (1, 12),
            Kind::HeadFirst => (2, 8),
            Kind::Lora | Kind::BitFit => (1, 16),
            Kind::Gradual => (facts.n_layers + 1, facts.n_layers + 5),
        };
        Self {
            kind,
            advice: kind.advice(facts.n_layers),
            rates: kind.rates(facts.hidden),
            late: matches!(kind, Kind::Lora | Kind::BitFit),
            least_epochs,
            most_epochs,
        }
    }

    /// Its name on the command line and in results.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// The settings of a run of so many epochs over all phases.
    pub fn training(&self, facts: Facts, lr: f64, epochs: usize, has_dev: bool) -> Training {
        let adaptation = self.kind.adaptation(lr, facts.n_layers);
        // Phases before the last have epochs of their own.
        let before = adaptation.epochs(epochs) - epochs;
        Training {
            head: self.head(facts),
            adaptation,
            optimizer: Optimizer::adamw(),
            schedule: Schedule::Linear(Linear { warmup: 0.1 }),
            batch_size: facts.batch_size,
            evaluation_batch_size: 64,
            epochs: epochs.saturating_sub(before).max(1),
            stop: StopRule::Epochs {},
            max_length: facts.max_length,
            dropout: 0.1,
            frozen_dropout: Switch::Off,
            clip: Clip::GlobalNorm { max: 1.0 },
            bucketing: Switch::On,
            dtype: Dtype::F32,
            cache: Cache::On {
                dtype: StoredDtype::F16,
            },
            micro_batch_size: 0,
            select: if has_dev {
                Select::BestDev
            } else {
                Select::Last
            },
            pairs: Pairs::Joint,
            context: WordContext::Sentence,
            state: LstmState::Reset,
        }
    }

    /// A linear head where the encoder moves; a network where it does not.
    fn head(&self, facts: Facts) -> HeadSpec {
        let frozen = self.kind == Kind::Frozen;
        match (facts.tags, frozen) {
            (true, _) => HeadSpec::Tagger(TaggerSpec {
                recurrent_layers: usize::from(frozen),
                ..TaggerSpec::default()
            }),
            (false, true) => HeadSpec::FullyConnected(FullyConnectedSpec {
                mlp_hidden: facts.hidden,
                ..FullyConnectedSpec::default()
            }),
            (false, false) => HeadSpec::Linear(LinearSpec {
                // What transformers' classifiers read, so that such a model can be saved in their format.
                pooling: match facts.has_pooler {
                    true => Pooling::Pooler,
                    false => Pooling::Mean,
                },
                layers: Layers::Top,
                dropout: 0.1,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const FACTS: Facts = Facts {
        n_layers: 6,
        hidden: 384,
        has_pooler: true,
        tags: false,
        max_length: 32,
        batch_size: 16,
    };

    #[test]
    fn every_strategy_is_valid_with_its_fewest_and_its_most_epochs() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
            for facts in [
                FACTS,
                Facts {
                    tags: true,
                    hidden: 768,
                    n_layers: 12,
                    ..FACTS
                },
            ] {
                let strategy = Strategy::new(kind, facts);
                for epochs in [strategy.least_epochs, strategy.most_epochs] {
                    for lr in &strategy.rates {
                        let training = strategy.training(facts, *lr, epochs, true);
                        let plan = training.plan(facts.n_layers).unwrap();
                        let all: usize = plan.phases.iter().map(|phase| phase.epochs).sum();
                        assert_eq!(all, epochs, "{}", kind.name());
                    }
                }
            }
        }
    }
}
