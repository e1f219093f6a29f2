//! Networks over token states as one head.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::spec::NetworkSpec;
use super::{
    Bcn, BcnSpec, BiAttention, BiAttentionSpec, Bimpm, BimpmSpec, DenseText, DenseTextSpec, Esim,
    EsimSpec, FullyConnected, FullyConnectedSpec, HighwayLstm, HighwayLstmSpec, Layers, Output,
    ScalarMix, Siamese, SiameseSpec, Tagger, TaggerSpec, Tags,
};
use crate::{Encoder, Pass, States, TokenBatch};

/// The networks, by their `kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NetworkKind {
    /// A tag for each word: [`Tagger`].
    Tagger(TaggerSpec),
    /// Scores of a text: [`Bcn`].
    Bcn(BcnSpec),
    /// Scores of two texts: [`Esim`].
    Esim(EsimSpec),
    /// Scores of two texts: [`BiAttention`].
    BiAttention(BiAttentionSpec),
    /// Scores of two texts: [`Siamese`].
    Siamese(SiameseSpec),
    /// Scores of a first token: [`FullyConnected`].
    FullyConnected(FullyConnectedSpec),
    /// Scores of a text: [`DenseText`].
    DenseText(DenseTextSpec),
    /// Scores of a text: [`HighwayLstm`].
    HighwayLstm(HighwayLstmSpec),
    /// Scores of two texts: [`Bimpm`].
    Bimpm(BimpmSpec),
}

impl NetworkKind {
    /// As it is written.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Tagger(_) => "tagger",
            Self::Bcn(_) => "bcn",
            Self::Esim(_) => "esim",
            Self::BiAttention(_) => "bi-attention",
            Self::Siamese(_) => "siamese",
            Self::FullyConnected(_) => "fully-connected",
            Self::DenseText(_) => "dense-text",
            Self::HighwayLstm(_) => "highway-lstm",
            Self::Bimpm(_) => "bimpm",
        }
    }

    /// Whether it tags words.
    pub fn is_tagger(&self) -> bool {
        matches!(self, Self::Tagger(_))
    }

    /// Whether it compares two texts.
    pub fn is_of_pairs(&self) -> bool {
        use NetworkKind as Kind;
        matches!(
            self,
            Kind::Esim(_) | Kind::BiAttention(_) | Kind::Siamese(_) | Kind::Bimpm(_)
        )
    }

    /// Refuses values out of range, naming the key below `head`.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Tagger(spec) => spec.validate(),
            Self::Bcn(spec) => spec.validate(),
            Self::Esim(spec) => spec.validate(),
            Self::BiAttention(spec) => spec.validate(),
            Self::Siamese(spec) => spec.validate(),
            Self::FullyConnected(spec) => spec.validate(),
            Self::DenseText(spec) => spec.validate(),
            Self::HighwayLstm(spec) => spec.validate(),
            Self::Bimpm(spec) => spec.validate(),
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
    Bcn(Bcn),
    Esim(Esim),
    BiAttention(BiAttention),
    Siamese(Siamese),
    FullyConnected(FullyConnected),
    DenseText(DenseText),
    HighwayLstm(HighwayLstm),
    Bimpm(Bimpm),
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
            NetworkKind::Bcn(spec) => Network::Bcn(Bcn::new(spec, width, n_outputs, seed, device)?),
            NetworkKind::Esim(spec) => {
                Network::Esim(Esim::new(spec, width, n_outputs, seed, device)?)
            }
            NetworkKind::BiAttention(spec) => {
                Network::BiAttention(BiAttention::new(spec, width, n_outputs, seed, device)?)
            }
            NetworkKind::Siamese(spec) => {
                Network::Siamese(Siamese::new(spec, width, n_outputs, seed, device)?)
            }
            NetworkKind::FullyConnected(spec) => {
                Network::FullyConnected(FullyConnected::new(spec, width, n_outputs, seed, device)?)
            }
            NetworkKind::DenseText(spec) => {
                Network::DenseText(DenseText::new(spec, width, n_outputs, seed, device)?)
            }
            NetworkKind::HighwayLstm(spec) => {
                Network::HighwayLstm(HighwayLstm::new(spec, width, n_outputs, seed, device)?)
            }
            NetworkKind::Bimpm(spec) => {
                Network::Bimpm(Bimpm::new(spec, width, n_outputs, seed, device)?)
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
            Some(mix) => {
                let mask = self.layers.normalised().then(|| batch.weights());
                mix.of_tokens(read, mask)
            }
            None => read,
        };
        let text = |i: usize| batch.side(&states, i);
        Output::Labels(match &self.network {
            Network::Tagger(tagger) => {
                let places = batch.word_places();
                let places = places.expect("a tagger is asked about words");
                return Output::Tags(Tags {
                    emissions: tagger.emissions(batch.whole(states), &places, pass),
                    mask: places.mask,
                    crf: tagger.crf.clone(),
                });
            }
            Network::Bcn(network) => network.forward(text(0), pass),
            Network::Esim(network) => network.forward(text(0), text(1), pass),
            Network::BiAttention(network) => network.forward(text(0), text(1), pass),
            Network::Bimpm(network) => network.forward(text(0), text(1), pass),
            Network::Siamese(network) => {
                let [a, b] = [0, 1].map(|i| batch.side_from_first(&states, i));
                network.forward(a, b, pass)
            }
            // These read the first token, of an encoder that has one a `[CLS]`.
            Network::FullyConnected(network) => network.forward(batch.whole(states).first(), pass),
            Network::DenseText(network) => network.forward(batch.whole(states), pass),
            Network::HighwayLstm(network) => network.forward(batch.whole(states), pass),
        })
    }
}
