//! All kinds of heads: as settings, and as one module.

use anyhow::{Context, Result};
use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::*;
use crate::layer::Linear;
use crate::{Encoder, HiddenStates, Pass, TokenBatch};

/// Declares [`HeadSpec`] and the modules behind it, with a variant for each kind.
macro_rules! heads {
    ($($(#[$doc:meta])* $name:ident($head:ty),)*) => {
        /// Settings of a head, by its `kind`; `linear` by default.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(remote = "Self", tag = "kind", rename_all = "kebab-case")]
        pub enum HeadSpec {
            $($(#[$doc])* $name(<$head as HeadKind>::Spec),)*
        }

        impl HeadSpec {
            /// Returns the encoder states that such a head reads.
            pub fn reads(&self) -> HeadInput {
                match self { $(Self::$name(spec) => <$head>::reads(spec),)* }
            }

            /// Returns true if it predicts a tag for each word instead of a label or score for each example.
            pub fn is_tagger(&self) -> bool {
                match self { $(Self::$name(_) => <$head>::TAGS_WORDS,)* }
            }

            /// Returns true if it compares the two texts of a pair.
            pub fn compares_pairs(&self) -> bool {
                match self { $(Self::$name(_) => <$head>::COMPARES_PAIRS,)* }
            }

            /// Returns true if it is one linear layer on features without weights of their own.
            pub fn is_linear(&self) -> bool {
                match self { $(Self::$name(_) => <$head>::IS_LINEAR,)* }
            }

            /// Returns true if its last layer is linear.
            pub fn ends_linear(&self) -> bool {
                match self { $(Self::$name(_) => <$head>::ENDS_LINEAR,)* }
            }

            /// Name in labels, which is its `kind`: `linear`, `esim`, …
            pub fn label(&self) -> &'static str {
                match self { $(Self::$name(_) => <$head>::LABEL,)* }
            }

            /// Refuses values out of range, naming the key below `head`.
            pub fn validate(&self) -> Result<()> {
                match self { $(Self::$name(spec) => <$head>::validate(spec),)* }
            }
        }

        /// One of the heads.
        #[derive(Module, Debug)]
        enum AnyHead {
            $($name($head),)*
        }

        impl AnyHead {
            fn new(
                spec: &HeadSpec,
                width: usize,
                outputs: usize,
                seed: u64,
                device: &Device,
            ) -> Result<Self> {
                Ok(match spec {
                    $(HeadSpec::$name(spec) => {
                        Self::$name(<$head>::new(spec, width, outputs, seed, device)?)
                    })*
                })
            }

            fn score(&self, read: Representation, pass: &Pass) -> Output {
                match self { $(Self::$name(head) => head.score(read, pass),)* }
            }

            fn features(&self, read: Representation) -> Option<Tensor<2>> {
                match self { $(Self::$name(head) => head.features(read),)* }
            }

            fn linear(&mut self) -> Option<&mut Linear> {
                match self { $(Self::$name(head) => head.linear(),)* }
            }
        }
    };
}

// The registry: a new kind of head is a file that implements `HeadKind`, and a line here.
heads! {
    /// A linear layer on one pooled vector.
    Linear(LinearHead),
    /// A tag for each word.
    Tagger(Tagger),
    /// Scores of a text.
    Bcn(Bcn),
    /// Scores of two texts.
    Esim(Esim),
    /// Scores of two texts.
    BiAttention(BiAttention),
    /// Scores of two texts.
    Siamese(Siamese),
    /// Scores of a first token.
    FullyConnected(FullyConnected),
    /// Scores of a text.
    DenseText(DenseText),
    /// Scores of a text.
    HighwayLstm(HighwayLstm),
    /// Scores of two texts.
    Bimpm(Bimpm),
}

impl HeadSpec {
    /// Returns true if it reads the output of the pretrained pooler.
    pub fn reads_pooler(&self) -> bool {
        matches!(self.reads(), HeadInput::Vector(pooled) if pooled.pooling == Pooling::Pooler)
    }
}

impl Serialize for HeadSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer) // of the derive
    }
}

impl<'de> Deserialize<'de> for HeadSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut keys = Map::<String, Value>::deserialize(deserializer)?;
        keys.entry("kind")
            .or_insert_with(|| LinearHead::LABEL.into());
        Self::deserialize(Value::Object(keys)).map_err(serde::de::Error::custom) // of the derive
    }
}

/// The new part of a classifier: a head, and the scalar mix of the layers that it reads.
#[derive(Module, Debug)]
pub struct Head {
    mix: Option<ScalarMix>,
    kind: AnyHead,
    #[module(skip)]
    reads: HeadInput,
}

impl Head {
    /// Creates a head for `encoder` with `n_outputs` outputs, initialised from `seed`.
    ///
    /// # Errors
    /// When the encoder lacks an input of the head.
    pub fn new<E: Encoder>(
        spec: &HeadSpec,
        encoder: &E,
        n_outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let reads = spec.reads();
        reads.check(encoder)?;
        let layers = reads.layers();
        let mix =
            (!layers.is_top()).then(|| ScalarMix::new(layers.count(encoder.n_layers()), device));
        let width = reads.width(encoder.hidden());
        Ok(Self {
            mix,
            kind: AnyHead::new(spec, width, n_outputs, seed, device)?,
            reads,
        })
    }

    /// The same head with other weights, `[outputs, width]`, and biases, `[outputs]`.
    ///
    /// # Errors
    /// When it is no linear layer.
    pub fn with_linear(mut self, weight: TensorData, bias: TensorData) -> Result<Self> {
        let linear = self.kind.linear();
        let linear = linear.context("found another head, expected a linear layer")?;
        linear.set(weight, bias);
        Ok(self)
    }

    /// The input of its linear layer for an encoder's states, `[batch, width]`.
    ///
    /// # Errors
    /// When it is no linear layer.
    pub fn features(&self, states: &HiddenStates, batch: &TokenBatch) -> Result<Tensor<2>> {
        let read = match self.reads {
            HeadInput::Vector(pooled) => Representation::Pooled(pooled.of(states, batch)),
            HeadInput::Tokens(layers) => Representation::Tokens {
                states: layers.of(states),
                batch,
            },
        };
        let features = self.kind.features(read).filter(|_| self.mix.is_none());
        features.context("found another head, expected a linear layer on one layer of the encoder")
    }

    /// Returns the output for an encoder's states.
    pub fn forward(&self, states: &HiddenStates, batch: &TokenBatch, pass: &Pass) -> Output {
        match self.reads {
            HeadInput::Vector(pooled) => self.score_vectors(pooled.of(states, batch), pass),
            HeadInput::Tokens(layers) => self.score_tokens(layers.of(states), batch, pass),
        }
    }

    /// Returns the output for the pooled input of each example, `[batch, layers * width]`.
    ///
    /// # Panics
    /// When it reads the states of all tokens.
    pub(crate) fn score_vectors(&self, read: Tensor<2>, pass: &Pass) -> Output {
        let vectors = match &self.mix {
            Some(mix) => mix.forward(read),
            None => read,
        };
        self.kind.score(Representation::Pooled(vectors), pass)
    }

    /// Returns the output for the states of each token, `[batch, seq, layers * width]`.
    ///
    /// # Panics
    /// When it reads one vector per example.
    pub(crate) fn score_tokens(&self, read: Tensor<3>, batch: &TokenBatch, pass: &Pass) -> Output {
        let states = match &self.mix {
            Some(mix) => {
                let normalised = self.reads.layers().normalised();
                mix.of_tokens(read, normalised.then(|| batch.weights()))
            }
            None => read,
        };
        self.kind
            .score(Representation::Tokens { states, batch }, pass)
    }
}
