//! The architectures, by their kind.

use std::fmt;

use anyhow::Result;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use totune_checkpoint::{ElmoOptions, Naming};

use crate::fused::Gelu;
use crate::{
    AlbertConfig, AnyEncoder, BertConfig, DebertaV2Config, DistilBertConfig, ElectraConfig,
    ModernBertConfig, PoolerKind, RobertaConfig, Shape, TokenizerKind, Weights, XlmRobertaConfig,
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
            /// The names of all.
            pub const LABELS: &[&str] = &[$(<$shape as Shape>::LABEL),*];

            /// Name, which is its `kind`.
            pub fn label(&self) -> &'static str {
                match self { $(Self::$name(_) => <$shape as Shape>::LABEL,)* }
            }

            /// The names its checkpoints are published under.
            pub fn naming(&self) -> Naming {
                match self { $(Self::$name(_) => <$shape as Shape>::NAMING,)* }
            }

            /// Tokenizer of the architecture.
            pub fn tokenizer(&self) -> TokenizerKind {
                match self { $(Self::$name(_) => <$shape as Shape>::TOKENIZER,)* }
            }

            /// Paths within a layer of its linear layers that can have a low-rank update.
            pub fn linears(&self) -> &'static [&'static str] {
                match self { $(Self::$name(_) => <$shape as Shape>::LINEARS,)* }
            }

            /// Paths within a layer of its modules with a bias.
            pub fn biases(&self) -> &'static [&'static str] {
                match self { $(Self::$name(_) => <$shape as Shape>::BIASES,)* }
            }

            /// Layers above the embeddings.
            pub fn n_layers(&self) -> usize {
                match self { $(Self::$name(shape) => Shape::n_layers(shape),)* }
            }

            /// Width of the hidden states.
            pub fn hidden(&self) -> usize {
                match self { $(Self::$name(shape) => Shape::hidden(shape),)* }
            }

            /// The pretrained pooler.
            pub fn pooler(&self) -> PoolerKind {
                match self { $(Self::$name(shape) => Shape::pooler(shape),)* }
            }

            /// Maximum length of an input in tokens, special ones included; `usize::MAX` where no table of positions
            /// limits it.
            pub fn max_length(&self) -> usize {
                match self { $(Self::$name(shape) => Shape::max_length(shape),)* }
            }

            /// Published name and shape of every tensor of the network.
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

            /// Initial weights for pre-training.
            pub fn initial(&self, seed: u64) -> Box<dyn Weights> {
                match self { $(Self::$name(shape) => Shape::initial(shape, seed),)* }
            }
        }
    };
}

// The registry: a new architecture is a file below `encoder/` that implements `Shape`, and a line here.
architectures! {
    /// BERT, and networks that differ from it only in size.
    Bert(BertConfig),
    /// DistilBERT.
    Distilbert(DistilBertConfig),
    /// RoBERTa.
    Roberta(RobertaConfig),
    /// ModernBERT.
    Modernbert(ModernBertConfig),
    /// XLM-RoBERTa.
    XlmRoberta(XlmRobertaConfig),
    /// ELECTRA.
    Electra(ElectraConfig),
    /// ALBERT.
    Albert(AlbertConfig),
    /// DeBERTa-v3.
    DebertaV2(DebertaV2Config),
    /// ELMo.
    Elmo(ElmoOptions),
}

impl Architecture {
    /// Number of rows of the table of tokens; none where words are read by their characters.
    pub fn n_tokens(&self) -> Option<usize> {
        let names = ["word_embeddings.weight", "tok_embeddings.weight"];
        let is_table = |name: &str| names.iter().any(|end| name.ends_with(end));
        let mut tensors = self.tensors().into_iter();
        let (_, shape) = tensors.find(|(name, _)| is_table(name))?;
        shape.first().copied()
    }

    /// Returns true if any layer has a bias.
    pub fn has_biases(&self) -> bool {
        !self.biases().is_empty()
    }

    /// Returns true if its layers are those of a transformer.
    pub fn is_transformer(&self) -> bool {
        !matches!(self, Self::Elmo(_))
    }

    /// Returns true if the network applies one layer several times, so that a part of its layers cannot be trained.
    pub fn shares_layers(&self) -> bool {
        matches!(self, Self::Albert(_))
    }

    /// Returns true if its layers can compute their inner results again in the backward pass
    /// ([`Encoder::recomputes`](crate::Encoder::recomputes)).
    pub fn recomputes(&self) -> bool {
        match self {
            Self::Bert(_)
            | Self::Distilbert(_)
            | Self::Roberta(_)
            | Self::XlmRoberta(_)
            | Self::Electra(_) => true,
            Self::Albert(config) => config.hidden_act == Gelu::Erf,
            Self::Modernbert(_) | Self::DebertaV2(_) | Self::Elmo(_) => false,
        }
    }

    /// Number of parameters in the tensors of the network.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use burn::module::Param;
    use burn::tensor::Tensor;

    use super::*;
    use crate::by_path::{PathVisitor, visit_by_path};
    use crate::{Encoder, EncoderCatalogue};

    /// Modules of layers with a bias.
    #[derive(Default)]
    struct Biases(BTreeSet<String>);

    impl PathVisitor for Biases {
        fn visit<const D: usize>(&mut self, path: &str, _: &Param<Tensor<D>>) {
            let names: Vec<&str> = path.split('.').collect();
            if let ["layers", _, module @ .., "bias"] = &names[..] {
                self.0.insert(module.join("."));
            }
        }
    }

    #[test]
    fn the_shape_is_that_of_the_network() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let cards = EncoderCatalogue::read(&root.join("encoders")).expect("cards");
        for (name, max_length) in [
            ("fixture-bert", 64),
            ("roberta-tiny", 65),
            ("modernbert-tiny", 80),
            ("xlm-roberta-tiny", 81),
            ("electra-tiny", 65),
            ("albert-tiny", 66),
            ("deberta-tiny", 40),
            ("fixture-elmo", usize::MAX),
        ] {
            let card = cards.find(name).expect("a card");
            let folders = [root.join("fixtures/encoders")];
            let loaded = card.load(&folders, &Device::flex()).expect("its files");
            let (shape, mut network) = (&card.architecture, loaded.encoder);
            assert_eq!(shape.n_layers(), network.n_layers(), "{name}");
            assert_eq!(shape.hidden(), network.hidden(), "{name}");
            assert_eq!(
                shape.pooler() == PoolerKind::Tanh,
                network.has_pooler(),
                "{name}"
            );
            assert_eq!(shape.max_length(), max_length, "{name}");
            let Biases(biases) = visit_by_path(&network, Biases::default());
            let named = shape.biases().iter().map(ToString::to_string);
            assert_eq!(biases, named.collect(), "{name}");
            let linears = network.linears().into_iter();
            let linears = linears.filter(|(layer, _, _)| *layer == 0);
            let linears: Vec<String> = linears.map(|(_, path, _)| path).collect();
            assert_eq!(linears, shape.linears(), "{name}");
        }
    }
}
