//! Networks over token states as one head.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::spec::NetworkSpec;
use super::{Layers, Output, ScalarMix, Tagger, TaggerSpec, Tags};
use crate::{Encoder, Pass, States, TokenBatch};

/// The networks, by their `kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NetworkKind {
    /// A tag for each word: [`Tagger`].
    Tagger(TaggerSpec),
}

impl NetworkKind {
    /// As it is written.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Tagger(_) => "tagger",
        }
    }

    /// Whether it tags words.
    pub fn is_tagger(&self) -> bool {
        matches!(self, Self::Tagger(_))
    }

    /// Refuses values out of range, naming the key below `head`.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Tagger(spec) => spec.validate(),
        }
    }
}

/// A network over token states, with the mix of layers it reads.
#[derive(Module, Debug)]
pub struct NetworkHead {
    mix: Option<ScalarMix>,
    network: Network,
    #[module(skip)]
    layers: Layers,
}

/// One of the networks.
#[derive(Module, Debug)]
enum Network {
    Tagger(Tagger),
}

impl NetworkHead {
    /// A new network for `encoder` with `n_outputs` outputs, drawn from `seed`.
    pub(super) fn new<E: Encoder>(
        spec: &NetworkSpec,
        encoder: &E,
        n_outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let width = encoder.hidden();
        let mix = match spec.layers {
            Layers::Top => None,
            layers => Some(ScalarMix::new(layers.count(encoder.n_layers()), device)),
        };
        let network = match &spec.kind {
            NetworkKind::Tagger(spec) => {
                Network::Tagger(Tagger::new(spec, width, n_outputs, seed, device)?)
            }
        };
        Ok(Self {
            mix,
            network,
            layers: spec.layers,
        })
    }

    /// What it makes of an encoder's states.
    pub(super) fn forward(&self, states: &States, batch: &TokenBatch, pass: &Pass) -> Output {
        self.score(self.layers.of(states), batch, pass)
    }

    /// What it makes of the states it reads, `[batch, seq, layers * hidden]`.
    pub(super) fn score(&self, read: Tensor<3>, batch: &TokenBatch, pass: &Pass) -> Output {
        let states = match &self.mix {
            Some(mix) => mix.of_tokens(read),
            None => read,
        };
        match &self.network {
            Network::Tagger(tagger) => {
                let places = batch.word_places();
                let places = places.expect("a tagger is asked about words");
                Output::Tags(Tags {
                    emissions: tagger.emissions(batch.whole(states), &places, pass),
                    mask: places.mask,
                })
            }
        }
    }
}
