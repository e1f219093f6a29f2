//! Aggregation of the matches of a segment's tokens into one vector.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::Aggregation;
use crate::PoolerKind;
use crate::encoder::bert::{BertConfig, Layer, View};
use crate::layer::Linear;
use crate::{BiLstm, Pass, Segment, Weights};

impl Aggregation {
    /// Width of the vector.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::BiLstm { hidden } => 2 * hidden,
            Self::Transformer { width, .. } => *width,
        }
    }
}

/// Either a BiLSTM or a transformer.
#[derive(Module, Debug)]
pub(super) struct Aggregator {
    recurrent: Option<BiLstm>,
    transformer: Option<Transformer>,
}

/// A linear layer and transformer layers.
#[derive(Module, Debug)]
struct Transformer {
    enter: Linear,
    layers: Vec<Layer>,
}

/// The layers are in no encoder, of which the lower blocks may be frozen.
const ABOVE_ALL: usize = usize::MAX;

impl Aggregator {
    /// Takes `aggregation` or `aggregation.enter` and `aggregation.<i>`, a layer under BERT's names, from `weights`.
    pub(super) fn load(
        aggregation: &Aggregation,
        matches: usize,
        dropout: f64,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        let (mut recurrent, mut transformer) = (None, None);
        match *aggregation {
            Aggregation::BiLstm { hidden } => {
                let shape = [matches, hidden];
                recurrent = Some(BiLstm::load(weights, "aggregation", shape, 1, device)?);
            }
            Aggregation::Transformer {
                width,
                layers,
                heads,
            } => {
                let config = config(width, layers, heads, dropout);
                let enter = Linear::load(weights, "aggregation.enter", [matches, width], device)?;
                let layers = (0..layers)
                    .map(|i| Layer::load(&config, weights, &format!("aggregation.{i}"), device))
                    .collect::<Result<_>>()?;
                transformer = Some(Transformer { enter, layers });
            }
        }
        Ok(Self {
            recurrent,
            transformer,
        })
    }

    /// `[batch, seq, matches]` to `[batch, width]`.
    pub(super) fn forward(&self, matches: &Segment, pass: &Pass) -> Tensor<2> {
        if let Some(recurrent) = &self.recurrent {
            let states = recurrent.forward(matches.states.clone(), Some(&matches.mask));
            let states = matches.with(states); // [batch, seq, 2 hidden]
            let [_, _, both] = states.states.dims();
            let (left, right) = (states.last(), states.first());
            let halves = vec![
                left.narrow(1, 0, both / 2),
                right.narrow(1, both / 2, both / 2),
            ];
            return Tensor::cat(halves, 1);
        }
        let Transformer { enter, layers } = self.transformer.as_ref().expect("one of the two");
        let bias: Tensor<4> = matches.bias().swap_dims(1, 2).unsqueeze_dim(1); // [batch, 1, 1, seq]
        let x = enter.forward(matches.states.clone()); // [batch, seq, width]
        let view = View {
            bias: Some(bias),
            unpadding: None,
        };
        let x = layers
            .iter()
            .fold(x, |x, layer| layer.forward(x, &view, ABOVE_ALL, pass));
        matches.with(x).mean()
    }
}

/// Four times as wide between the two products as outside them, as in BERT and in Vaswani et al. 2017.
fn config(width: usize, layers: usize, heads: usize, dropout: f64) -> BertConfig {
    BertConfig {
        vocab_size: 0,
        hidden_size: width,
        num_hidden_layers: layers,
        num_attention_heads: heads,
        intermediate_size: 4 * width,
        max_position_embeddings: 0,
        type_vocab_size: 0,
        layer_norm_eps: 1e-12,
        hidden_dropout_prob: dropout,
        attention_probs_dropout_prob: dropout,
        pooler: PoolerKind::None,
    }
}
