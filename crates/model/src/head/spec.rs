//! How a head looks, as settings.

use anyhow::{Result, ensure};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Layers, LinearSpec, NetworkKind, Pooling, Readout};
use crate::Encoder;

/// How a head looks: without a `kind` a linear classifier over one vector, else a network over the states of all tokens.
#[derive(Debug, Clone, PartialEq)]
pub enum HeadSpec {
    /// A linear classifier over one pooled vector per example.
    Linear(LinearSpec),
    /// A network over token states.
    Network(NetworkSpec),
}

/// A network over token states.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkSpec {
    /// Which layers it reads.
    pub layers: Layers,
    /// What it is.
    pub kind: NetworkKind,
}

/// What a head reads of an encoder's states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// One vector per example.
    Vector(Readout),
    /// The states of every token, of one layer or of all.
    Tokens(Layers),
}

impl Reads {
    /// How many layers below the top are read, of an encoder with `n_layers`.
    pub fn depth(&self, n_layers: usize) -> usize {
        match self {
            Self::Vector(readout) => readout.depth(n_layers),
            Self::Tokens(Layers::Top) => 0,
            Self::Tokens(Layers::Mix { .. }) => n_layers,
        }
    }
}

impl HeadSpec {
    /// What such a head reads of an encoder's states.
    pub fn reads(&self) -> Reads {
        match self {
            Self::Linear(spec) => Reads::Vector(spec.readout()),
            Self::Network(spec) => Reads::Tokens(spec.layers),
        }
    }

    /// Whether it reads what the pretrained pooler makes of the first token.
    pub fn reads_pooler(&self) -> bool {
        matches!(self, Self::Linear(spec) if spec.pooling == Pooling::Pooler)
    }

    /// Whether it gives a tag to each word instead of an answer to each example.
    pub fn is_tagger(&self) -> bool {
        matches!(self, Self::Network(spec) if spec.kind.is_tagger())
    }

    /// The word for it in labels: `linear`, `esim`, …
    pub fn label(&self) -> &'static str {
        match self {
            Self::Linear(_) => "linear",
            Self::Network(spec) => spec.kind.label(),
        }
    }

    /// Refuses values out of range, naming the key below `head`.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Linear(spec) => {
                ensure!(
                    (0.0..1.0).contains(&spec.dropout),
                    "head.dropout: found {}, expected from 0 to less than 1",
                    spec.dropout
                );
                ensure!(
                    spec.layers.is_top() || spec.pooling.commutes_with_a_mix(),
                    "head.layers: found a mix of layers with pooling = {}, expected \"mean\" or \"first\": of these alone \
                     the mix can be taken afterwards",
                    serde_json::to_value(spec.pooling)?
                );
                ensure!(
                    !spec.layers.normalised(),
                    "head.layers: found layer-norm, expected it with a network over token states only"
                );
                Ok(())
            }
            Self::Network(spec) => spec.kind.validate(),
        }
    }

    /// Refuses what `encoder` does not have, naming the key.
    pub fn check<E: Encoder>(&self, encoder: &E) -> Result<()> {
        match self {
            Self::Linear(spec) => spec.readout().check(encoder),
            Self::Network(_) => Ok(()),
        }
    }
}

impl From<LinearSpec> for HeadSpec {
    fn from(spec: LinearSpec) -> Self {
        Self::Linear(spec)
    }
}

impl Serialize for HeadSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Linear(spec) => spec.serialize(serializer),
            Self::Network(spec) => {
                let value = |value: Result<Value, serde_json::Error>| {
                    value.map_err(serde::ser::Error::custom)
                };
                let mut all = value(serde_json::to_value(&spec.kind))?;
                let keys = all.as_object_mut().expect("a kind is a table");
                let layers = value(serde_json::to_value(spec.layers))?;
                keys.insert("layers".to_string(), layers);
                all.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for HeadSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut keys = Map::<String, Value>::deserialize(deserializer)?;
        if !keys.contains_key("kind") {
            return Ok(Self::Linear(read(Value::Object(keys))?));
        }
        let layers = match keys.remove("layers") {
            Some(layers) => read(layers)?,
            None => Layers::Top,
        };
        let kind = read(Value::Object(keys))?;
        Ok(Self::Network(NetworkSpec { layers, kind }))
    }
}

fn read<T: DeserializeOwned, E: Error>(value: Value) -> Result<T, E> {
    serde_json::from_value(value).map_err(E::custom)
}
