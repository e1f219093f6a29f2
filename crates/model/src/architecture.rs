//! The architectures, by their kind.

use std::fmt;

use anyhow::Result;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use totune_checkpoint::{ElmoOptions, Naming};

use crate::{
    AnyEncoder, BertConfig, DistilBertConfig, RobertaConfig, Shape, TokenizerKind, Weights,
};

/// Declares [`Architecture`] with a variant for each shape.
macro_rules! architectures {
    ($($(#[$doc:meta])* $name:ident($shape:ty),)*) => {
        /// The shape of a network, by its kind.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
