//! Long short-term memory over rows of different lengths, in one direction or two.
//!
//! The equations and the order of the gates are those of PyTorch's `nn.LSTM`, one layer of it.

#[cfg(feature = "tch")]
mod library;

use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

use super::{Precision, linear};

/// The weights of one direction: four gates below each other, in the order input, forget, cell, output.
#[derive(Debug, Clone)]
pub struct LstmWeights {
    /// Of the input, `[4 hidden, in]`.
    pub weight_ih: Tensor<2>,
    /// Of the state of the step before, `[4 hidden, hidden]`.
    pub weight_hh: Tensor<2>,
    /// Added with the first, `[4 hidden]`.
    pub bias_ih: Tensor<1>,
    /// Added with the second, `[4 hidden]`.
    pub bias_hh: Tensor<1>,
}

/// Which end of a row is read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Forward,
    Backward,
}

/// The hidden state at each step, `[batch, seq, hidden]`, of `x` `[batch, seq, in]`; the state before the first is zero.
///
/// `mask` `[batch, seq]` is 1 for what is real and 0 for padding, which lies on the right; none where nothing is
/// padded. Padding is not read, and the states there are zero.
pub fn lstm(x: Tensor<3>, mask: Option<&Tensor<2>>, weights: LstmWeights) -> Tensor<3> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        return library::lstm(x, mask, weights);
    }
    plain(x, mask, weights, Order::Forward)
}

/// Both directions side by side, `[batch, seq, 2 hidden]`; the second begins at the last real step of each row.
pub fn bilstm(x: Tensor<3>, mask: Option<&Tensor<2>>, weights: [LstmWeights; 2]) -> Tensor<3> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        return library::bilstm(x, mask, weights);
    }
    plain_both(x, mask, weights)
}

fn plain_both(
    x: Tensor<3>,
    mask: Option<&Tensor<2>>,
    [forward, backward]: [LstmWeights; 2],
) -> Tensor<3> {
    let forward = plain(x.clone(), mask, forward, Order::Forward);
    let backward = plain(x, mask, backward, Order::Backward);
    Tensor::cat(vec![forward, backward], 2)
}

/// The body that every device can run. Padding resets the state to zero, which is where the backward direction begins,
/// and which nothing reads in the forward one.
fn plain(x: Tensor<3>, mask: Option<&Tensor<2>>, weights: LstmWeights, order: Order) -> Tensor<3> {
    let [_, seq, _] = x.dims();
    let bias = weights.bias_ih + weights.bias_hh;
    let projected = linear(x, weights.weight_ih, bias, Precision::F32); // [batch, seq, 4 hidden]
    let mut projected = unstack(projected);
    if order == Order::Backward {
        projected.reverse();
    }
    let recurrent = weights.weight_hh.transpose(); // [hidden, 4 hidden]
    let mut state: Option<(Tensor<2>, Tensor<2>)> = None;
    let mut states = Vec::with_capacity(seq);
    for (step, projected) in projected.into_iter().enumerate() {
        let gates = match &state {
            Some((hidden, _)) => projected + hidden.clone().matmul(recurrent.clone()),
            None => projected,
        };
        let mut gates = gates.chunk(4, 1).into_iter();
        let mut gate = || gates.next().expect("four gates");
        let (input, forget) = (sigmoid(gate()), sigmoid(gate()));
        let (new, output) = (gate().tanh(), sigmoid(gate()));
        let mut cell = input * new;
        if let Some((_, before)) = state {
            cell = forget * before + cell;
        }
        let mut hidden = output * cell.clone().tanh();
        if let Some(mask) = mask {
            let at = match order {
                Order::Forward => step,
                Order::Backward => seq - 1 - step,
            };
            let real = mask.clone().narrow(1, at, 1); // [batch, 1]
            cell = cell * real.clone();
            hidden = hidden * real;
        }
        states.push(hidden.clone());
        state = Some((hidden, cell));
    }
    if order == Order::Backward {
        states.reverse();
    }
    Tensor::stack(states, 1)
}

/// `[batch, seq, width]` as `seq` times `[batch, width]`.
///
/// By halves: the gradient of each part is as large as what it was cut from, so cutting one step after the other from
/// the whole would cost the square of `seq`.
fn unstack(x: Tensor<3>) -> Vec<Tensor<2>> {
    let [_, seq, _] = x.dims();
    if seq < 2 {
        return (0..seq).map(|_| x.clone().squeeze_dim(1)).collect();
    }
    let half = seq / 2;
    let mut steps = unstack(x.clone().narrow(1, 0, half));
    steps.extend(unstack(x.narrow(1, half, seq - half)));
    steps
}

#[cfg(all(test, feature = "tch"))]
mod tests {
    use burn::tensor::{Device, Tensor};

    use super::{LstmWeights, bilstm, lstm, plain_both};
    use crate::fused::compare::check;

    const BATCH: usize = 5;
    const SEQ: usize = 7;
    const INPUT: usize = 6;
    const HIDDEN: usize = 9;

    fn shapes(directions: usize) -> Vec<Vec<usize>> {
        let mut shapes = vec![vec![BATCH, SEQ, INPUT]];
        for _ in 0..directions {
            shapes.extend([
                vec![4 * HIDDEN, INPUT],
                vec![4 * HIDDEN, HIDDEN],
                vec![4 * HIDDEN],
                vec![4 * HIDDEN],
            ]);
        }
        shapes
    }

    fn direction(inputs: &[Tensor<1>]) -> LstmWeights {
        let [w_ih, w_hh, b_ih, b_hh] = inputs else {
            unreachable!()
        };
        LstmWeights {
            weight_ih: w_ih.clone().reshape([4 * HIDDEN, INPUT]),
            weight_hh: w_hh.clone().reshape([4 * HIDDEN, HIDDEN]),
            bias_ih: b_ih.clone(),
            bias_hh: b_hh.clone(),
        }
    }

    fn both(inputs: &[Tensor<1>]) -> [LstmWeights; 2] {
        [direction(&inputs[1..5]), direction(&inputs[5..])]
    }

    fn x(inputs: &[Tensor<1>]) -> Tensor<3> {
        inputs[0].clone().reshape([BATCH, SEQ, INPUT])
    }

    /// Rows of 7, 3, 1, 6 and 4 steps.
    fn mask(device: &Device) -> Tensor<2> {
        let rows = [7, 3, 1, 6, 4].map(|n| [0, 1, 2, 3, 4, 5, 6].map(|i| f32::from(i < n)));
        Tensor::from_data(rows, &device.clone().inner())
    }

    #[test]
    fn libtorch_and_plain_agree() {
        for padded in [false, true] {
            check(&shapes(1), 1e-5, |inputs, device| {
                let mask = padded.then(|| mask(device));
                lstm(x(inputs), mask.as_ref(), direction(&inputs[1..]))
            });
            check(&shapes(2), 1e-5, |inputs, device| {
                let mask = padded.then(|| mask(device));
                bilstm(x(inputs), mask.as_ref(), both(inputs))
            });
        }
    }

    /// The plain body runs on LibTorch too; the benchmark compares with it.
    #[test]
    fn the_plain_body_does_not_depend_on_the_device() {
        check(&shapes(2), 1e-5, |inputs, device| {
            plain_both(x(inputs), Some(&mask(device)), both(inputs))
        });
    }
}
