//! Long short-term memory over rows of different lengths, in one direction or two.
//!
//! The equations and the order of the gates are those of PyTorch's `nn.LSTM`, one layer of it.

#[cfg(feature = "tch")]
mod cpu;
#[cfg(feature = "tch")]
mod kernel;
#[cfg(feature = "tch")]
mod layer;
#[cfg(feature = "tch")]
mod library;

use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

use super::{Precision, linear};

/// The weights of one direction: four gates below each other, in the order input, forget, cell, output.
#[derive(Debug, Clone)]
pub struct LstmWeights {
    /// Weights of the input, `[4 hidden, in]`.
    pub weight_ih: Tensor<2>,
    /// Weights of the state of the step before, `[4 hidden, hidden]`.
    pub weight_hh: Tensor<2>,
    /// Bias added with `weight_ih`, `[4 hidden]`.
    pub bias_ih: Tensor<1>,
    /// Bias added with `weight_hh`, `[4 hidden]`.
    pub bias_hh: Tensor<1>,
}

/// Direction in which a row is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Forward,
    Backward,
}

/// The hidden state at each step, `[batch, seq, hidden]`, of `x` `[batch, seq, in]`; the state before the first is
/// zero.
///
/// `mask` `[batch, seq]` is 1 for real tokens and 0 for padding, which lies on the right; none where nothing is padded.
/// Padding is not read, and the states there are zero.
pub fn lstm(x: Tensor<3>, mask: Option<&Tensor<2>>, weights: LstmWeights) -> Tensor<3> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        return kernel::lstm(x, mask, weights);
    }
    plain(x, mask, weights, Order::Forward)
}

/// States of both directions, concatenated, `[batch, seq, 2 hidden]`; the second begins at the last real step of each
/// row.
pub fn bilstm(x: Tensor<3>, mask: Option<&Tensor<2>>, weights: [LstmWeights; 2]) -> Tensor<3> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        return kernel::bilstm(x, mask, weights);
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

/// Plain implementation for every device. Padding resets the state to zero, which is where the backward direction
/// begins, and which nothing reads in the forward one.
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
/// By halves: the gradient of each part is as large as the tensor it was cut from, so cutting one step after the other
/// from the whole would cost the square of `seq`.
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

    use super::cpu::totune_lstm_level;
    use super::kernel::inputs;
    use super::layer::Layer;
    use super::library::Library;
    use super::{LstmWeights, bilstm, lstm, plain_both};
    use crate::fused::compare::check;
    use crate::fused::libtorch::{apply, owns};

    const SEQ: usize = 7;
    /// Steps of each row: more rows than share a register's weights, some of one length, not in order.
    const LENGTHS: [usize; 9] = [7, 3, 1, 6, 4, 7, 2, 6, 5];

    /// The shapes of x and of each direction's weights; sizes that no vector divides.
    struct Shape {
        batch: usize,
        input: usize,
        hidden: usize,
    }

    impl Shape {
        fn inputs(&self, directions: usize) -> Vec<Vec<usize>> {
            let gates = 4 * self.hidden;
            let mut shapes = vec![vec![self.batch, SEQ, self.input]];
            for _ in 0..directions {
                let weights = [vec![gates, self.input], vec![gates, self.hidden]];
                shapes.extend(weights.into_iter().chain([vec![gates], vec![gates]]));
            }
            shapes
        }

        fn x(&self, inputs: &[Tensor<1>]) -> Tensor<3> {
            inputs[0].clone().reshape([self.batch, SEQ, self.input])
        }

        fn direction(&self, inputs: &[Tensor<1>]) -> LstmWeights {
            let [w_ih, w_hh, b_ih, b_hh] = inputs else {
                unreachable!()
            };
            // Small enough that the gates are not all shut.
            let scale = 2.0 / (self.hidden as f32).sqrt();
            LstmWeights {
                weight_ih: (w_ih.clone() * scale).reshape([4 * self.hidden, self.input]),
                weight_hh: (w_hh.clone() * scale).reshape([4 * self.hidden, self.hidden]),
                bias_ih: b_ih.clone(),
                bias_hh: b_hh.clone(),
            }
        }

        fn both(&self, inputs: &[Tensor<1>]) -> [LstmWeights; 2] {
            [self.direction(&inputs[1..5]), self.direction(&inputs[5..])]
        }

        fn mask(&self, device: &Device) -> Tensor<2> {
            let rows = LENGTHS[..self.batch].iter();
            let values: Vec<f32> = rows
                .flat_map(|&n| (0..SEQ).map(move |i| f32::from(i < n)))
                .collect();
            let flat = Tensor::<1>::from_data(values.as_slice(), &device.clone().inner());
            flat.reshape([self.batch, SEQ])
        }
    }

    #[test]
    fn libtorch_and_plain_agree_at_every_width_of_vectors() {
        // Other tests may run at one of these meanwhile; their results are the same.
        for level in 0..3 {
            if totune_lstm_level(level) == 0 {
                eprintln!("level {level} skipped: not on this processor");
                continue;
            }
            for (batch, input, hidden) in [(5, 6, 9), (1, 3, 1), (9, 20, 70), (7, 5, 16)] {
                check_shape(Shape {
                    batch,
                    input,
                    hidden,
                });
            }
        }
    }

    fn check_shape(shape: Shape) {
        for padded in [false, true] {
            check(&shape.inputs(1), 1e-5, |inputs, device| {
                let mask = padded.then(|| shape.mask(device));
                let weights = shape.direction(&inputs[1..]);
                lstm(shape.x(inputs), mask.as_ref(), weights)
            });
            check(&shape.inputs(2), 1e-5, |inputs, device| {
                let mask = padded.then(|| shape.mask(device));
                bilstm(shape.x(inputs), mask.as_ref(), shape.both(inputs))
            });
        }
    }

    /// The path of other devices than the CPU runs there too.
    #[test]
    fn the_library_and_plain_agree() {
        let shape = Shape {
            batch: 5,
            input: 6,
            hidden: 9,
        };
        for padded in [false, true] {
            let layer = |x: &Tensor<3>, device: &Device, weights: &[&LstmWeights]| {
                let mask = padded.then(|| shape.mask(device));
                Library(Layer::new(x, mask.as_ref(), weights))
            };
            check(&shape.inputs(1), 1e-5, |tensors, device| {
                let (x, weights) = (shape.x(tensors), shape.direction(&tensors[1..]));
                if !owns(device) {
                    let mask = padded.then(|| shape.mask(device));
                    return lstm(x, mask.as_ref(), weights);
                }
                let kernel = layer(&x, device, &[&weights]);
                let [a, b, c, d] = inputs(weights);
                apply(kernel, [x.into(), a, b, c, d])
            });
            check(&shape.inputs(2), 1e-5, |tensors, device| {
                let (x, [forward, backward]) = (shape.x(tensors), shape.both(tensors));
                if !owns(device) {
                    let mask = padded.then(|| shape.mask(device));
                    return bilstm(x, mask.as_ref(), [forward, backward]);
                }
                let kernel = layer(&x, device, &[&forward, &backward]);
                let ([a, b, c, d], [e, f, g, h]) = (inputs(forward), inputs(backward));
                apply(kernel, [x.into(), a, b, c, d, e, f, g, h])
            });
        }
    }

    #[test]
    fn the_plain_body_does_not_depend_on_the_device() {
        let shape = Shape {
            batch: 5,
            input: 6,
            hidden: 9,
        };
        check(&shape.inputs(2), 1e-5, |inputs, device| {
            let mask = shape.mask(device);
            plain_both(shape.x(inputs), Some(&mask), shape.both(inputs))
        });
    }

    /// Checks large inputs, where the gates' functions saturate.
    #[test]
    fn large_sums_saturate_as_in_the_plain_body() {
        let shape = Shape {
            batch: 3,
            input: 4,
            hidden: 5,
        };
        check(&shape.inputs(1), 1e-5, |inputs, device| {
            let mask = shape.mask(device);
            let x = shape.x(inputs) * 100.0;
            lstm(x, Some(&mask), shape.direction(&inputs[1..]))
        });
    }
}
