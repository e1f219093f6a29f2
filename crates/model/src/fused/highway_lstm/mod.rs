//! One direction of an LSTM layer with a highway gate, over rows of different lengths.
//!
//! With `x` the products of the input and all biases, `h'` and `c'` the state and the memory a step before:
//!
//! ```text
//! i, f, g, o = x_t + W_state h'            σ on i, f, o; tanh on g
//! c = f ⊙ c' + i ⊙ g,   h = o ⊙ tanh c
//! ```
//!
//! [`HighwayGate`] adds a gate to this.

#[cfg(feature = "tch")]
mod kernel;

use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

/// Source of the highway gate.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "one is made for each call")]
pub enum HighwayGate {
    /// No gate: an LSTM. `x` is `[batch, seq, 4 hidden]`.
    None,
    /// The memory of the layer below (Zhang et al. 2016): `d = σ(x_d + own ⊙ c' + over ⊙ c_below)` and
    /// `c = d ⊙ c_below + f ⊙ c' + i ⊙ g`. `x` is `[batch, seq, 5 hidden]`, `d` the last of its gates.
    Memory {
        /// `[1, hidden]`.
        own: Tensor<2>,
        /// `[1, hidden]`.
        over: Tensor<2>,
        /// `[batch, seq, hidden]`.
        below: Tensor<3>,
    },
    /// A linear function of the input (He et al. 2017): `r = σ(x_r + W_r h')` and `h = r ⊙ o ⊙ tanh c + (1 - r) ⊙ x_l`.
    /// `x` is `[batch, seq, 6 hidden]`, `r` and `l` the last of its gates; `W_state` has rows for `r` too.
    Input,
}

impl HighwayGate {
    /// Gates that read the input, and gates that read the state.
    pub fn gates(&self) -> [usize; 2] {
        match self {
            Self::None => [4, 4],
            Self::Memory { .. } => [5, 4],
            Self::Input => [6, 5],
        }
    }
}

/// Direction in which a row is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Forward, from the first token.
    Forward,
    /// Backward, from the last token.
    Backward,
}

/// States and memories of all tokens, each `[batch, seq, hidden]`, zero at padding.
///
/// `x` is `[batch, seq, gates * hidden]`, `state` `[gates * hidden, hidden]` with the gates that read it. `mask`
/// `[batch, seq]` is 1 for real tokens and 0 for padding, which lies on the right and is not read; none where nothing
/// is padded.
///
/// # Panics
/// When the shapes do not fit one another.
pub fn highway_lstm(
    x: Tensor<3>,
    mask: Option<&Tensor<2>>,
    state: Tensor<2>,
    highway: HighwayGate,
    order: Order,
) -> [Tensor<3>; 2] {
    let ([of_input, of_state], [rows, hidden]) = (highway.gates(), state.dims());
    let [_, _, products] = x.dims();
    assert!(
        products == of_input * hidden && rows == of_state * hidden,
        "products {:?} and state weights {:?} do not fit a cell with gates {:?}",
        x.dims(),
        state.dims(),
        highway.gates()
    );
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        return kernel::highway_lstm(x, mask, state, highway, order);
    }
    plain(x, mask, state, highway, order)
}

/// Plain implementation for every device. Padding resets state and memory to zero, which is where the backward
/// direction begins, and which nothing reads in the forward one.
fn plain(
    x: Tensor<3>,
    mask: Option<&Tensor<2>>,
    weights: Tensor<2>,
    highway: HighwayGate,
    order: Order,
) -> [Tensor<3>; 2] {
    let ([_, seq, _], [_, hidden]) = (x.dims(), weights.dims());
    let [_, shared] = highway.gates();
    let weights = weights.transpose(); // [hidden, gates * hidden]
    let zeros = || at(&x, 0).narrow(1, 0, hidden).zeros_like();
    let (mut state, mut memory) = (zeros(), zeros());
    let (mut states, mut memories) = (Vec::new(), Vec::new());
    for step in 0..seq {
        let token = match order {
            Order::Forward => step,
            Order::Backward => seq - 1 - step,
        };
        let read = at(&x, token);
        let gate = |x: &Tensor<2>, i: usize| x.clone().narrow(1, i * hidden, hidden);
        let gates = state.matmul(weights.clone()) + read.clone().narrow(1, 0, shared * hidden);
        let [i, f, o] = [0, 1, 3].map(|k| sigmoid(gate(&gates, k)));
        let mut next = f * memory.clone() + i * gate(&gates, 2).tanh();
        if let HighwayGate::Memory { own, over, below } = &highway {
            let below = at(below, token);
            let d = gate(&read, 4) + memory * own.clone() + below.clone() * over.clone();
            next = next + sigmoid(d) * below;
        }
        let mut output = o * next.clone().tanh();
        if let HighwayGate::Input = highway {
            let (r, way) = (sigmoid(gate(&gates, 4)), gate(&read, 5));
            output = way.clone() + r * (output - way);
        }
        (state, memory) = (output, next);
        if let Some(mask) = mask {
            let real = mask.clone().narrow(1, token, 1); // [batch, 1]
            (state, memory) = (state * real.clone(), memory * real);
        }
        states.push(state.clone());
        memories.push(memory.clone());
    }
    [states, memories].map(|mut steps| {
        if order == Order::Backward {
            steps.reverse();
        }
        Tensor::stack(steps, 1)
    })
}

/// One token of all rows, `[batch, seq, width]` to `[batch, width]`.
fn at(x: &Tensor<3>, token: usize) -> Tensor<2> {
    x.clone().narrow(1, token, 1).squeeze_dim(1)
}

#[cfg(all(test, feature = "tch"))]
mod tests {
    use burn::tensor::{Device, FloatDType, Tensor};

    use super::{HighwayGate, Order, highway_lstm};
    use crate::fused::compare::check;

    const BATCH: usize = 4;
    const SEQ: usize = 6;
    const LENGTHS: [usize; BATCH] = [6, 2, 1, 5];
    /// A size that no vector divides.
    const HIDDEN: usize = 19;

    fn shapes([of_input, of_state]: [usize; 2], memory: bool) -> Vec<Vec<usize>> {
        let mut shapes = vec![
            vec![BATCH, SEQ, of_input * HIDDEN],
            vec![of_state * HIDDEN, HIDDEN],
        ];
        if memory {
            shapes.extend([vec![1, HIDDEN], vec![1, HIDDEN], vec![BATCH, SEQ, HIDDEN]]);
        }
        shapes
    }

    fn mask(device: &Device) -> Tensor<2> {
        let real = |&n: &usize| (0..SEQ).map(move |i| f32::from(i < n));
        let values: Vec<f32> = LENGTHS.iter().flat_map(real).collect();
        Tensor::<1>::from_data(values.as_slice(), &device.clone().inner()).reshape([BATCH, SEQ])
    }

    /// States and memories, concatenated, so that the gradients of both are compared.
    fn run(
        inputs: &[Tensor<1>],
        device: &Device,
        highway: HighwayGate,
        (order, padded, float): (Order, bool, FloatDType),
    ) -> Tensor<3> {
        let [of_input, of_state] = highway.gates();
        let x = inputs[0].clone().reshape([BATCH, SEQ, of_input * HIDDEN]) * 2.0;
        let state = inputs[1].clone().reshape([of_state * HIDDEN, HIDDEN]) * 0.5;
        let mask = padded.then(|| mask(device).cast(float));
        let (x, state) = (x.cast(float), state.cast(float));
        let both = highway_lstm(x, mask.as_ref(), state, highway, order);
        Tensor::cat(both.to_vec(), 2).cast(FloatDType::F32)
    }

    #[test]
    fn libtorch_and_plain_agree_whatever_goes_around() {
        // In f64 the steps are LibTorch's operations, as they are on a GPU.
        for float in [FloatDType::F32, FloatDType::F64] {
            for (order, padded) in [
                (Order::Forward, false),
                (Order::Forward, true),
                (Order::Backward, false),
                (Order::Backward, true),
            ] {
                let how = (order, padded, float);
                check(&shapes([4, 4], false), 1e-5, |inputs, device| {
                    run(inputs, device, HighwayGate::None, how)
                });
                check(&shapes([6, 5], false), 1e-5, |inputs, device| {
                    run(inputs, device, HighwayGate::Input, how)
                });
                check(&shapes([5, 4], true), 1e-5, |inputs, device| {
                    let below = inputs[4].clone().reshape([BATCH, SEQ, HIDDEN]);
                    let below = below.cast(float);
                    let [own, over] =
                        [2, 3].map(|i| inputs[i].clone().reshape([1, HIDDEN]).cast(float));
                    run(
                        inputs,
                        device,
                        HighwayGate::Memory { own, over, below },
                        how,
                    )
                });
            }
        }
    }

    #[test]
    fn a_single_token_is_enough() {
        let shapes = vec![vec![3, 1, 4 * HIDDEN], vec![4 * HIDDEN, HIDDEN]];
        check(&shapes, 1e-5, |inputs, _| {
            let x = inputs[0].clone().reshape([3, 1, 4 * HIDDEN]);
            let state = inputs[1].clone().reshape([4 * HIDDEN, HIDDEN]);
            let [states, memories] =
                highway_lstm(x, None, state.clone(), HighwayGate::None, Order::Backward);
            // No state came before, so its weights have a gradient of zero, from here.
            Tensor::cat(vec![states, memories], 2) + state.sum().reshape([1, 1, 1]) * 0.0
        });
    }
}
