//! Tests of the module above.

use burn::tensor::{Device, Tensor};

use super::*;
use crate::fused::compare::{check, values};
use crate::fused::libtorch::owns;
use crate::fused::transformer::{
    Affine, Gelu, NormWeights, plain_feed_forward, plain_self_attention,
};
use crate::fused::without_cpu_kernels;
use crate::pass::Activations;

const PRECISIONS: [(Precision, f32); 2] = [(Precision::F32, 2e-5), (Precision::Bf16, 4e-2)];

fn affine(weight: &Tensor<1>, bias: &Tensor<1>) -> Affine {
    let n_out = bias.dims()[0];
    let n_in = weight.dims()[0] / n_out;
    Affine {
        weight: weight.clone().reshape([n_out, n_in]) * 0.3,
        bias: bias.clone(),
        update: None,
    }
}

fn norm(weight: &Tensor<1>, bias: &Tensor<1>) -> NormWeights {
    NormWeights {
        weight: weight.clone(),
        bias: bias.clone(),
        epsilon: 1e-12,
    }
}

/// Shapes of the inputs of the feed-forward sublayer, and its weights from such inputs.
fn feed_forward_inputs([batch, seq, hidden, wide]: [usize; 4]) -> Vec<Vec<usize>> {
    vec![
        vec![batch, seq, hidden],
        vec![wide, hidden],
        vec![wide],
        vec![hidden, wide],
        vec![hidden],
        vec![hidden],
        vec![hidden],
    ]
}

fn feed_forward_weights(inputs: &[Tensor<1>]) -> FeedForwardWeights {
    FeedForwardWeights {
        inner: affine(&inputs[1], &inputs[2]),
        outer: affine(&inputs[3], &inputs[4]),
        gelu: Gelu::Erf,
        adapter: None,
        norm: norm(&inputs[5], &inputs[6]),
    }
}

/// Settings of the feed-forward sublayer. The activations are recomputed in all tests: those of a single forward pass take
/// the same way, and the masks of the second have to be those of the first.
fn settings(hidden: Dropout, precision: Precision) -> Settings {
    Settings {
        hidden,
        precision,
        activations: Activations::Recomputed,
    }
}

/// The same for attention.
fn attention_inputs([batch, seq, hidden]: [usize; 3]) -> Vec<Vec<usize>> {
    let mut shapes = vec![vec![batch, seq, hidden]];
    shapes.extend(vec![vec![hidden, hidden]; 4]);
    shapes.extend(vec![vec![hidden]; 5]);
    shapes
}

fn attention_weights(inputs: &[Tensor<1>]) -> SelfAttentionWeights {
    let pair = |weight: usize, bias: usize| affine(&inputs[weight], &inputs[bias]);
    // Queries and keys share a bias: that of keys has a gradient of 0, and no relative error is defined.
    SelfAttentionWeights {
        projections: [pair(1, 5), pair(2, 5), pair(3, 6)],
        output: pair(4, 7),
        prefix: None,
        adapter: None,
        norm: norm(&inputs[8], &inputs[9]),
    }
}

/// Bias that hides the ends of rows, more of them in later ones.
fn mask(batch: usize, seq: usize, device: &Device) -> Tensor<4> {
    let row = |b: usize| move |i: usize| if i + 2 * b >= seq { -1e4f32 } else { 0.0 };
    let rows: Vec<f32> = (0..batch).flat_map(|b| (0..seq).map(row(b))).collect();
    Tensor::<1>::from_data(rows.as_slice(), &device.clone().inner()).reshape([batch, 1, 1, seq])
}

#[test]
fn the_feed_forward_sublayer_agrees_with_plain() {
    let sizes @ [batch, seq, hidden, _] = [2, 3, 5, 7];
    let drop = Dropout { rate: 0.0, seed: 5 };
    for (precision, tolerance) in PRECISIONS {
        check(&feed_forward_inputs(sizes), tolerance, |inputs, device| {
            let x = inputs[0].clone().reshape([batch, seq, hidden]);
            let weights = feed_forward_weights(inputs);
            if owns(device) {
                feed_forward(x, weights, settings(drop, precision))
            } else {
                plain_feed_forward(x, weights, drop, precision)
            }
        });
    }
}

#[test]
fn the_attention_sublayer_agrees_with_plain() {
    let ([batch, seq, hidden], heads) = ([2, 5, 12], 3);
    let none = Dropout { rate: 0.0, seed: 3 };
    for (precision, tolerance) in PRECISIONS {
        for padded in [false, true] {
            let shapes = attention_inputs([batch, seq, hidden]);
            check(&shapes, tolerance, |inputs, device| {
                let x = inputs[0].clone().reshape([batch, seq, hidden]);
                let weights = attention_weights(inputs);
                let settings = SelfAttention {
                    heads,
                    mask: padded.then(|| mask(batch, seq, device)),
                    unpadding: None,
                    probabilities: none,
                    hidden: none,
                    precision,
                    activations: Activations::Recomputed,
                };
                if owns(device) {
                    self_attention(x, weights, settings)
                } else {
                    plain_self_attention(x, weights, settings)
                }
            });
        }
    }
}

/// With dropout, masks are the generator's and those of no other body. A seed gives the same mask again, so that the
/// gradient in a direction can be compared with the slope of the value in that direction.
fn check_slope(shapes: &[Vec<usize>], op: impl Fn(&[Tensor<1>]) -> Tensor<3>) {
    without_cpu_kernels(|| {
        let device = Device::libtorch().autodiff();
        let flat = |seed: usize, scale: f32| {
            let numbers = shapes.iter().enumerate().map(|(at, shape)| {
                let numbers = values(shape.iter().product(), (seed + at) as u64);
                numbers.into_iter().map(|x| x * scale).collect()
            });
            numbers.collect::<Vec<Vec<f32>>>()
        };
        let (at, direction) = (flat(1, 1.0), flat(50, 1.0));
        let value = |by: f32| {
            let inputs = at.iter().zip(&direction).map(|(at, direction)| {
                let moved = at.iter().zip(direction).map(|(x, d)| x + by * d);
                let moved: Vec<f32> = moved.collect();
                Tensor::<1>::from_data(moved.as_slice(), &device).require_grad()
            });
            let inputs: Vec<Tensor<1>> = inputs.collect();
            let out = op(&inputs);
            let [a, b, c] = out.dims();
            let weights = Tensor::<1>::from_data(values(a * b * c, 99).as_slice(), &device);
            ((out.reshape([a * b * c]) * weights).sum(), inputs)
        };
        let number = |tensor: Tensor<1>| tensor.into_scalar::<f32>();
        let (loss, inputs) = value(0.0);
        let grads = loss.backward();
        let along = inputs.iter().zip(&direction).map(|(input, direction)| {
            let grad = input.grad(&grads).expect("every input has a gradient");
            let direction = Tensor::<1>::from_data(direction.as_slice(), &grad.device());
            number((grad * direction).sum())
        });
        let (found, step) = (along.sum::<f32>(), 2e-3);
        let slope = (number(value(step).0) - number(value(-step).0)) / (2.0 * step);
        assert!(
            (found - slope).abs() < 0.02 * slope.abs().max(1.0),
            "gradient {found}, slope {slope}"
        );
    });
}

#[test]
fn gradients_of_dropout_are_those_of_its_masks() {
    let drop = |seed| Dropout { rate: 0.3, seed };
    let sizes @ [batch, seq, hidden, _] = [2, 3, 8, 12];
    check_slope(&feed_forward_inputs(sizes), |inputs| {
        let x = inputs[0].clone().reshape([batch, seq, hidden]);
        let settings = settings(drop(5), Precision::F32);
        feed_forward(x, feed_forward_weights(inputs), settings)
    });
    check_slope(&attention_inputs([batch, seq, hidden]), |inputs| {
        let x = inputs[0].clone().reshape([batch, seq, hidden]);
        let settings = SelfAttention {
            heads: 2,
            mask: Some(mask(batch, seq, &x.device())),
            unpadding: None,
            probabilities: drop(6),
            hidden: drop(7),
            precision: Precision::F32,
            activations: Activations::Recomputed,
        };
        self_attention(x, attention_weights(inputs), settings)
    });
}
