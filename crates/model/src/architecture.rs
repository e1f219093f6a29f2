//! The architectures, by their kind, and which of them a checkpoint is of.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use serde::Deserialize;
use totune_checkpoint::{ElmoOptions, Naming};

use crate::{
    AnyEncoder, BertConfig, CardCheck, DistilBertConfig, RobertaConfig, Shape, TokenizerKind,
    Weights,
};

/// Declares [`Architecture`] with a variant for each shape.
macro_rules! architectures {
    ($($(#[$doc:meta])* $name:ident($shape:ty),)*) => {
        /// The shape of a network, by its kind.
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Architecture {
            $($(#[$doc])* $name($shape),)*
        }

        impl Architecture {
            /// Its name, which is its `kind`.
            pub fn label(&self) -> &'static str {
                match self { $(Self::$name(_) => <$shape as Shape>::LABEL,)* }
            }

            /// The names its checkpoints are published under.
            pub fn naming(&self) -> Naming {
                match self { $(Self::$name(_) => <$shape as Shape>::NAMING,)* }
            }

            /// What makes ids of texts for it.
            pub fn tokenizer(&self) -> TokenizerKind {
                match self { $(Self::$name(_) => <$shape as Shape>::TOKENIZER,)* }
            }

            /// Every tensor of the network: its published name, and its shape.
            pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
                match self { $(Self::$name(shape) => Shape::tensors(shape),)* }
            }

            /// Takes all weights from `weights` and puts them on `device`.
            ///
            /// # Errors
            /// As [`Shape::load`].
            pub fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<AnyEncoder> {
                match self { $(Self::$name(shape) => Ok(Shape::load(shape, weights, device)?.into()),)* }
            }

            /// The weights that pre-training would begin with.
            pub fn initial(&self, seed: u64) -> Box<dyn Weights> {
                match self { $(Self::$name(shape) => Shape::initial(shape, seed),)* }
            }
        }
    };
}

// The registry: a new architecture is a file below `encoder/` that implements `Shape`, and a line here.
architectures! {
    /// BERT, and what differs from it in size alone.
    Bert(BertConfig),
    /// DistilBERT.
    Distilbert(DistilBertConfig),
    /// RoBERTa.
    Roberta(RobertaConfig),
    /// ELMo.
    Elmo(ElmoOptions),
}

impl Architecture {
    /// How many numbers the tensors of the network are.
    pub fn parameters(&self) -> u64 {
        self.tensors()
            .iter()
            .map(|(_, shape)| shape.iter().map(|&dim| dim as u64).product::<u64>())
            .sum()
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.label())
    }
}

/// What the files beside some weights say of their network.
#[derive(Debug, Clone)]
pub struct Described {
    /// The network.
    pub architecture: Architecture,
    /// The file that says so, by its name.
    pub by: String,
}

impl Described {
    /// Reads `config.json`, `bert_config.json` or ELMo's options beside the file `weights`.
    ///
    /// # Errors
    /// When there is none of them, or the network it describes is not known here.
    pub fn beside(weights: &Path) -> Result<Self> {
        for name in ["config.json", "bert_config.json"] {
            let path = weights.with_file_name(name);
            if path.is_file() {
                let architecture = read_config(&path)?;
                return Ok(Self {
                    architecture,
                    by: name.to_string(),
                });
            }
        }
        let path = ElmoOptions::beside(weights).with_context(|| {
            format!(
                "{}: neither `config.json` nor `bert_config.json` nor ELMo's `options.json` beside it, which would say \
                 what network it is",
                weights.display()
            )
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            by: name.into_owned(),
            architecture: Architecture::Elmo(ElmoOptions::read(&path)?),
        })
    }
}

impl Described {
    /// Holds the checkpoint `file` against the network. Tensors outside of it (the head of a task) are not counted as
    /// differences, those that are left over inside of it are.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn check(&self, file: &Path) -> Result<CardCheck> {
        let network = self.architecture.tensors();
        let scope = |name: &str| name.split('.').next().unwrap_or_default().to_string();
        let scopes: BTreeSet<String> = network.iter().map(|(name, _)| scope(name)).collect();
        CardCheck::new(file, &self.architecture, |weights| {
            let outside = weights
                .tensors()
                .filter(|(name, _)| !scopes.contains(&scope(name)))
                .map(|(name, _)| name.to_string());
            outside
                .chain(["embeddings.position_ids".to_string()]) // 0, 1, 2, …: no weights
                .collect()
        })
    }
}

/// A `config.json` as Google and Hugging Face write it.
fn read_config(path: &Path) -> Result<Architecture> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))?;
    let mut values: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{shown}: not JSON"))?;
    let keys = values
        .as_object_mut()
        .with_context(|| format!("{shown}: not the description of a network"))?;
    // Google's files leave both out, and their code uses this number.
    keys.entry("layer_norm_eps")
        .or_insert_with(|| 1e-12_f64.into());
    let kind = keys.remove("model_type").unwrap_or_else(|| "bert".into());
    ensure!(
        kind != "elmo",
        "{shown}: model_type: found `elmo`, expected its `options.json` instead"
    );
    keys.insert("kind".to_string(), kind.clone());
    // An unknown kind is answered with the list of all.
    serde_json::from_value(values).with_context(|| format!("{shown}: not the shape of a {kind}"))
}
