//! LSTM layers with a highway gate (Wang et al. 2019, section 3.2, "HighwayLSTM").

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::settings::{check_rates, check_sizes, drop};
use super::{
    FullyConnected, FullyConnectedSpec, HeadInput, HeadKind, Layers, Output, Representation,
};
use crate::fused::{HighwayGate, Order, highway_lstm};
use crate::layer::Linear;
use crate::{Init, Pass, RandomWeights, Segment, Weights};

/// Settings of a [`HighwayLstm`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct HighwayLstmSpec {
    /// Encoder layers that it reads.
    pub layers: Layers,
    /// Implementation of the highway gate.
    pub reading: HighwayReading,
    /// Layers on top of each other; not stated.
    pub recurrent_layers: usize,
    /// Width of each direction; not stated.
    pub hidden: usize,
    /// Dropout on the input of each layer and in the layers above; the paper has 0.1 "on all layers".
    pub dropout: f64,
    /// Width between the two layers that score.
    pub mlp_hidden: usize,
}

/// Implementation of the highway gate: the paper's reference is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HighwayReading {
    /// Zhang et al. 2016: a gate from the memory of the layer below to that of a layer, the first layer being an
    /// ordinary LSTM.
    ///
    /// `d = σ(W_xd x + b_d + w_cd ⊙ c' + w_ld ⊙ c_below)` and `c = d ⊙ c_below + f ⊙ c' + i ⊙ g`, where `c'` is the
    /// memory a step before. The other gates have no peepholes, and there is no projection.
    DepthGated,
    /// AllenNLP's `AugmentedLstm`, from He et al. 2017: a gate between an LSTM's output and a linear function of its
    /// input.
    ///
    /// `r = σ(W_xr x + W_hr h' + b_r)` and `h = r ⊙ o ⊙ tanh(c) + (1 - r) ⊙ (W_x x + b_x)`, and this `h` goes to the
    /// next step.
    Augmented,
}

impl Default for HighwayLstmSpec {
    fn default() -> Self {
        Self {
            layers: Layers::Top,
            reading: HighwayReading::DepthGated,
            recurrent_layers: 2,
            hidden: 200,
            dropout: 0.1,
            mlp_hidden: 768,
        }
    }
}

/// Bidirectional highway LSTM layers, the maximum over the tokens, and two linear layers.
///
/// The paper says neither how many directions nor which states are read.
#[derive(Module, Debug)]
pub struct HighwayLstm {
    layers: Vec<Directions>,
    output: FullyConnected,
    dropout: f64,
}

/// Both directions of a layer; each reads both of the one below, and its highway gate is from the same direction.
#[derive(Module, Debug)]
struct Directions {
    forward: Cell,
    backward: Cell,
}

impl HeadKind for HighwayLstm {
    type Spec = HighwayLstmSpec;

    const LABEL: &'static str = "highway-lstm";

    fn reads(spec: &HighwayLstmSpec) -> HeadInput {
        HeadInput::Tokens(spec.layers)
    }

    fn validate(spec: &HighwayLstmSpec) -> Result<()> {
        check_sizes(&[
            ("recurrent-layers", spec.recurrent_layers),
            ("hidden", spec.hidden),
            ("mlp-hidden", spec.mlp_hidden),
        ])?;
        check_rates(&[("dropout", spec.dropout)])
    }

    fn initial(spec: &HighwayLstmSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(ForgetBias {
            weights: RandomWeights::initialised(Init::KaimingNormal, seed),
            hidden: spec.hidden,
        })
    }

    /// Takes `layers.<i>.forward.{input, state}`, the same of `backward`, `hidden` and `output` from `weights`; where a
    /// layer is gated by the one below also `{own, below}.weight`, `[1, hidden]`. Gates lie in the order i, f, g, o,
    /// then d, or r and the linear function of the input.
    fn load(
        spec: &HighwayLstmSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Self::validate(spec)?;
        let mut layers = Vec::new();
        let mut below = width;
        for i in 0..spec.recurrent_layers {
            let gate = match spec.reading {
                HighwayReading::DepthGated if i == 0 => Gate::None,
                HighwayReading::DepthGated => Gate::Memory,
                HighwayReading::Augmented => Gate::Input,
            };
            let mut cell = |direction: &str| {
                let name = format!("layers.{i}.{direction}");
                Cell::load(weights, &name, [below, spec.hidden], gate, device)
            };
            layers.push(Directions {
                forward: cell("forward")?,
                backward: cell("backward")?,
            });
            below = 2 * spec.hidden;
        }
        let above = FullyConnectedSpec {
            mlp_hidden: spec.mlp_hidden,
            dropout: spec.dropout,
            ..FullyConnectedSpec::default()
        };
        Ok(Self {
            layers,
            output: FullyConnected::load(&above, below, outputs, weights, device)?,
            dropout: spec.dropout,
        })
    }

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        Output::Labels(self.forward(read.whole(), pass))
    }
}

impl HighwayLstm {
    /// Scores of each label, `[batch, labels]`.
    pub fn forward(&self, x: Segment, pass: &Pass) -> Tensor<2> {
        let mut states = x.states.clone();
        let mut below = [None, None];
        for Directions { forward, backward } in &self.layers {
            let read = x.with(drop(states, self.dropout, pass));
            let [forward_below, backward_below] = below;
            let [left, left_memory] = forward.pass(&read, forward_below, Order::Forward);
            let [right, right_memory] = backward.pass(&read, backward_below, Order::Backward);
            states = Tensor::cat(vec![left, right], 2); // [batch, seq, 2 hidden]
            below = [Some(left_memory), Some(right_memory)];
        }
        self.output.forward(x.with(states).max(), pass)
    }
}

/// Kind of a cell's highway gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    None,
    Memory,
    Input,
}

impl Gate {
    /// Gates that read the input, and gates that read the state.
    fn gates(self) -> [usize; 2] {
        match self {
            Gate::None => [4, 4],
            Gate::Memory => [5, 4],
            Gate::Input => [6, 5],
        }
    }
}

/// One direction of one layer.
#[derive(Module, Debug)]
struct Cell {
    input: Linear,
    state: Linear,
    /// Diagonals on the memory a step before and on that of the layer below, where the latter has a gate.
    own: Option<Diagonal>,
    below: Option<Diagonal>,
    hidden: usize,
    #[module(skip)]
    gate: Gate,
}

impl Cell {
    fn load(
        weights: &mut dyn Weights,
        name: &str,
        [width, hidden]: [usize; 2],
        gate: Gate,
        device: &Device,
    ) -> Result<Self> {
        let [of_input, of_state] = gate.gates().map(|gates| gates * hidden);
        let part = |part: &str| format!("{name}.{part}");
        let input = Linear::load(weights, &part("input"), [width, of_input], device)?;
        let state = Linear::load(weights, &part("state"), [hidden, of_state], device)?;
        let mut diagonal = |name: &str| match gate {
            Gate::Memory => Diagonal::load(weights, &part(name), hidden, device).map(Some),
            Gate::None | Gate::Input => Ok(None),
        };
        Ok(Self {
            input,
            state,
            own: diagonal("own")?,
            below: diagonal("below")?,
            hidden,
            gate,
        })
    }

    /// States and memories of all tokens, each `[batch, seq, hidden]`, zero at padding.
    ///
    /// `below` are the memories of the same direction one layer below.
    fn pass(&self, x: &Segment, below: Option<Tensor<3>>, order: Order) -> [Tensor<3>; 2] {
        let highway = match (self.gate, &self.own, &self.below, below) {
            (Gate::Memory, Some(own), Some(over), Some(below)) => HighwayGate::Memory {
                own: own.weight.val(),
                over: over.weight.val(),
                below,
            },
            (Gate::Input, ..) => HighwayGate::Input,
            _ => HighwayGate::None,
        };
        let [of_input, of_state] = highway.gates().map(|gates| gates * self.hidden);
        // The gates' inputs from all tokens, and every bias.
        let mut bias = self.state.bias();
        if of_input > of_state {
            let none = Tensor::zeros([of_input - of_state], &bias.device());
            bias = Tensor::cat(vec![bias, none], 0);
        }
        let read = self.input.forward(x.states.clone()) + bias.unsqueeze();
        let state = self.state.weight.val();
        highway_lstm(read, Some(&x.mask), state, highway, order)
    }
}

/// A weight for each dimension.
#[derive(Module, Debug)]
struct Diagonal {
    /// `[1, hidden]`.
    weight: burn::module::Param<Tensor<2>>,
}

impl Diagonal {
    fn load(weights: &mut dyn Weights, name: &str, hidden: usize, device: &Device) -> Result<Self> {
        let weight = format!("{name}.weight");
        Ok(Self {
            weight: crate::layer::parameter(weights, &weight, [1, hidden], device)?,
        })
    }
}

/// Initial weights with a bias of 1 in forget gates: the second gate of each `state.bias`.
struct ForgetBias {
    weights: RandomWeights,
    hidden: usize,
}

impl Weights for ForgetBias {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let data = self.weights.take(name, shape)?;
        if !name.ends_with(".state.bias") {
            return Ok(data);
        }
        let n = shape.iter().product();
        let values = (0..n).map(|i: usize| f32::from(i / self.hidden == 1));
        Ok(TensorData::new(
            values.collect::<Vec<f32>>(),
            shape.to_vec(),
        ))
    }
}
