//! Strategies by name: their display names, learning rates and epochs.

use std::fmt;
use std::str::FromStr;

use totune_model::EncoderCard;
use totune_toml::near;

/// Adaptation strategy, by the parameters that it trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Trains only the head.
    Frozen,
    /// Trains the head and all layers.
    Full,
    /// Trains the head and this number of top layers.
    LastK(usize),
    /// Trains the head for an epoch, then everything.
    TwoPhase,
    /// Fits the head by a regression, then trains everything.
    LpFt,
    /// Trains low-rank updates of queries and values, and the head.
    Lora,
    /// Unfreezes one more layer each epoch, from the top; the embeddings stay frozen.
    Gradual,
    /// Trains biases, and the head.
    BitFit,
    /// Trains bottleneck adapters and normalisations, and the head.
    Adapters,
    /// Trains keys and values in front of those of the attention layers, and the head.
    PrefixTuning,
    /// Trains everything, and freezes the lowest layers once their gradients change little.
    AutoFreeze,
}

/// Number of parameters below which an encoder takes the learning rates of small encoders: MiniLM and the BERT
/// miniatures, not DistilBERT and BERT-base.
const SMALL: u64 = 50_000_000;
/// Number of parameters from which an encoder takes the learning rates of BERT-large.
const LARGE: u64 = 200_000_000;

impl Strategy {
    /// All names of strategies that work for any encoder.
    pub const NAMES: [&str; 10] = [
        "frozen",
        "full",
        "two-phase",
        "lp-ft",
        "lora",
        "gradual",
        "bitfit",
        "adapters",
        "prefix-tuning",
        "auto-freeze",
    ];

    /// Description as an imperative: the end of "the best was to …".
    pub fn advice(self) -> String {
        match self {
            Self::Frozen => "train a head on the frozen encoder".into(),
            Self::Full => "fine-tune all layers".into(),
            Self::LastK(1) => "fine-tune the last layer".into(),
            Self::LastK(k) => format!("fine-tune the last {k} layers"),
            Self::TwoPhase => "train the head first, then all layers".into(),
            Self::LpFt => "fit the head by a regression, then fine-tune all layers (LP-FT)".into(),
            Self::Lora => "fine-tune with LoRA".into(),
            Self::Gradual => "unfreeze the layers gradually".into(),
            Self::BitFit => "fine-tune only the biases (BitFit)".into(),
            Self::Adapters => "fine-tune with adapters".into(),
            Self::PrefixTuning => "train prefixes of keys and values (prefix tuning)".into(),
            Self::AutoFreeze => {
                "fine-tune all layers and freeze the lowest as they settle (AutoFreeze)".into()
            }
        }
    }

    /// Name as a noun: the subject of "… is as good".
    pub fn noun(self) -> String {
        match self {
            Self::Frozen => "a head on the frozen encoder".into(),
            Self::Full => "full fine-tuning".into(),
            Self::LastK(1) => "fine-tuning the last layer".into(),
            Self::LastK(k) => format!("fine-tuning the last {k} layers"),
            Self::TwoPhase => "training in two phases".into(),
            Self::LpFt => "LP-FT".into(),
            Self::Lora => "LoRA".into(),
            Self::Gradual => "gradual unfreezing".into(),
            Self::BitFit => "BitFit".into(),
            Self::Adapters => "training adapters".into(),
            Self::PrefixTuning => "prefix tuning".into(),
            Self::AutoFreeze => "AutoFreeze".into(),
        }
    }

    /// Peak learning rates to choose from: the default and about three times it.
    ///
    /// Smaller encoders take higher ones.
    pub fn learning_rates(self, encoder: &EncoderCard) -> [f64; 2] {
        let [small, base, large] = match self {
            // Turc et al. 2019 choose among 3e-4, 1e-4, 5e-5 and 3e-5 for the BERT miniatures; Devlin et al. 2019,
            // appendix A.3, among 5e-5, 3e-5 and 2e-5.
            Self::Full | Self::TwoPhase | Self::LpFt | Self::Gradual | Self::AutoFreeze => {
                [[1e-4, 3e-4], [3e-5, 9e-5], [1e-5, 3e-5]]
            }
            // Hart et al. 2020 have 5e-5 for the last two layers of BERT-base.
            Self::LastK(_) => [[2e-4, 6e-4], [6e-5, 2e-4], [2e-5, 6e-5]],
            // fastai's for a new head; Peters et al. 2019, A.1, choose among 1e-4, 4e-4 and 1e-3 for larger ones.
            Self::Frozen => [[2e-3, 6e-3]; 3],
            // Hu et al. 2021, table 9: 4e-4 and 5e-4 for RoBERTa-base, 2e-4 to 4e-4 for RoBERTa-large.
            Self::Lora => [[1e-3, 3e-3], [5e-4, 1.5e-3], [3e-4, 9e-4]],
            // Ben Zaken et al. 2022 choose among 1e-4, 4e-4, 7e-4 and 1e-3 for BERT-base and BERT-large.
            Self::BitFit => [[2e-3, 6e-3], [1e-3, 3e-3], [4e-4, 1e-3]],
            // Houlsby et al. 2019, section 3.1, choose among 3e-5, 3e-4 and 3e-3 for BERT-large.
            Self::Adapters => [[1e-3, 3e-3], [1e-3, 3e-3], [3e-4, 1e-3]],
            // The scripts of Liu et al. 2022 have 5e-3 and 1e-2 for BERT-large.
            Self::PrefixTuning => [[1e-2, 3e-2], [1e-2, 3e-2], [5e-3, 1e-2]],
        };
        match encoder.parameters {
            ..SMALL => small,
            LARGE.. => large,
            _ => base,
        }
    }

    /// Default number of epochs of all phases together.
    pub fn epochs(self, n_layers: usize) -> usize {
        match self {
            // Devlin et al. 2019, appendix A.3: 2 to 4.
            Self::Full | Self::LastK(_) | Self::LpFt => 3,
            // One in which everything is trained, and one to compare its gradients with.
            Self::TwoPhase | Self::AutoFreeze => 4,
            // Few parameters need more steps (Hu et al. 2021 and Ben Zaken et al. 2022 train for 16 to 80 epochs, Houlsby
            // et al. 2019 for 3 or 20, Liu et al. 2022 for 60 to 100).
            Self::Frozen | Self::Lora | Self::BitFit | Self::Adapters | Self::PrefixTuning => 10,
            // One for the head, one for each layer but the lowest, then three of everything.
            Self::Gradual => n_layers + 3,
        }
    }
}

/// A name that no strategy has, and the one that was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownStrategy {
    near: Option<String>,
}

impl UnknownStrategy {
    fn new(name: &str) -> Self {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let k = name[letters.len()..].parse().ok().filter(|&k| k > 0);
        let last = k.map(|k| Strategy::LastK(k).to_string());
        let known = Strategy::NAMES.into_iter().chain(last.as_deref());
        let near = near(name, known).map(str::to_string);
        Self { near }
    }
}

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(near) = &self.near {
            write!(f, "did you mean `{near}`? ")?;
        }
        let names = Strategy::NAMES.join(", ");
        write!(
            f,
            "expected one of {names} or last-<k>, such as last-2 for the last two layers"
        )
    }
}

impl std::error::Error for UnknownStrategy {}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        let k = name.strip_prefix("last-").map(str::parse);
        Ok(match (name, k) {
            ("frozen", _) => Self::Frozen,
            ("full", _) => Self::Full,
            ("two-phase", _) => Self::TwoPhase,
            ("lp-ft", _) => Self::LpFt,
            ("lora", _) => Self::Lora,
            ("gradual", _) => Self::Gradual,
            ("bitfit", _) => Self::BitFit,
            ("adapters", _) => Self::Adapters,
            ("prefix-tuning", _) => Self::PrefixTuning,
            ("auto-freeze", _) => Self::AutoFreeze,
            (_, Some(Ok(k))) if k > 0 => Self::LastK(k),
            _ => return Err(UnknownStrategy::new(name)),
        })
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = match self {
            Self::Frozen => "frozen",
            Self::Full => "full",
            Self::LastK(k) => return f.pad(&format!("last-{k}")),
            Self::TwoPhase => "two-phase",
            Self::LpFt => "lp-ft",
            Self::Lora => "lora",
            Self::Gradual => "gradual",
            Self::BitFit => "bitfit",
            Self::Adapters => "adapters",
            Self::PrefixTuning => "prefix-tuning",
            Self::AutoFreeze => "auto-freeze",
        };
        f.pad(name)
    }
}
