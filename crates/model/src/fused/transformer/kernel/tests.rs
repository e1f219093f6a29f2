//! Tests of the module above.

use burn::tensor::{Device, Tensor};

use super::*;
use crate::fused::compare::check;
use crate::fused::libtorch::owns;
use crate::fused::transformer::{
    Affine, Gelu, NormWeights, plain_feed_forward, plain_self_attention,
};
use crate::fused::{Unpadding, unpadded};

/// Formats and tolerances: values stored as bfloat16 are rounded there, and by `plain` only before products with
/// weights; a few roundings of 2⁻⁹ each.
const FORMATS: [(Format, Precision, f32); 3] = [
    (Format::F32, Precision::F32, 2e-5),
    (Format::Half, Precision::Bf16, 4e-2),
    (Format::Rounded, Precision::Bf16, 4e-2),
];

/// The formats and whether oneDNN multiplies, as far as this processor has them, with the tolerance of each.
fn ways() -> Vec<(Format, Precision, f32, i32)> {
    let has_onednn = products().has_onednn();
    let all = FORMATS
        .into_iter()
        .flat_map(|(format, precision, tolerance)| {
            [0, 1].map(|onednn| (format, precision, tolerance, onednn))
        });
    all.filter(|(format, .., onednn)| has_onednn || (*format != Format::Half && *onednn == 0))
        .collect()
}

/// The same, each with kept and with recomputed activations.
fn ways_of_both() -> impl Iterator<Item = ((Format, Precision, f32, i32), Activations)> {
    let both = [Activations::Kept, Activations::Recomputed];
    let ways = ways().into_iter();
    ways.flat_map(move |way| both.map(|activations| (way, activations)))
}

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

fn check_feed_forward([batch, seq, hidden, wide]: [usize; 4], rate: f64) {
    let drop = Dropout { rate, seed: 5 };
    let shapes = [
        vec![batch, seq, hidden],
        vec![wide, hidden],
        vec![wide],
        vec![hidden, wide],
        vec![hidden],
        vec![hidden],
        vec![hidden],
    ];
    for ((format, precision, tolerance, onednn), activations) in ways_of_both() {
        check(&shapes, tolerance, |inputs, device| {
            let [x, w1, b1, w2, b2, scale, shift] = inputs else {
                unreachable!()
            };
            let weights = FeedForwardWeights {
                inner: affine(w1, b1),
                outer: affine(w2, b2),
                gelu: Gelu::Erf,
                adapter: None,
                norm: norm(scale, shift),
            };
            let x = x.clone().reshape([batch, seq, hidden]);
            if !owns(device) {
                return plain_feed_forward(x, weights, drop, precision);
            }
            let options = Options {
                format,
                onednn,
                ..Options::new(precision, 1e-12, drop)
            };
            feed_forward_with(options, x, weights, activations)
        });
    }
}

unsafe extern "C" {
    safe fn totune_passes_level(level: c_int) -> c_int;
}

/// Runs `check` on two threads, at every width of vectors that this processor has.
fn at_every_level(check: impl Fn()) {
    let threads = tch::get_num_threads();
    tch::set_num_threads(2);
    // Other tests may run at one of these meanwhile; their results are the same but for rounding.
    for level in 0..3 {
        if totune_passes_level(level) == 0 {
            eprintln!("level {level} skipped: not on this processor");
            continue;
        }
        check();
    }
    tch::set_num_threads(threads);
}

#[test]
fn the_feed_forward_sublayer_agrees_with_plain() {
    at_every_level(|| {
        check_feed_forward([2, 3, 5, 7], 0.0);
        check_feed_forward([2, 3, 5, 7], 0.2);
        check_feed_forward([3, 30, 40, 70], 0.2); // large enough for oneDNN
    });
}

/// Visible keys of a batch for a test.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Keys {
    /// All.
    All,
    /// Fewer in each row than in the one before.
    Padded,
    /// The same, with the padding taken out of the input.
    Unpadded,
}

fn check_attention([batch, seq, heads, dim]: [usize; 4], rate: f64, keys: Keys) {
    let hidden = heads * dim;
    let mut shapes = vec![vec![batch, seq, hidden]];
    shapes.extend(vec![vec![hidden, hidden]; 4]);
    shapes.extend(vec![vec![hidden]; 5]);
    let real = (0..batch).flat_map(|b| (0..seq).map(move |i| i + 2 * b < seq));
    let real: Vec<bool> = real.collect();
    let mask = |device: &Device| {
        let bias = |&real: &bool| if real { 0.0 } else { -1e4f32 };
        let rows: Vec<f32> = real.iter().map(bias).collect();
        Tensor::<1>::from_data(rows.as_slice(), &device.clone().inner()).reshape([batch, 1, 1, seq])
    };
    for ((format, precision, tolerance, onednn), activations) in ways_of_both() {
        check(&shapes, tolerance, |inputs, device| {
            let pair = |weight: usize, bias: usize| affine(&inputs[weight], &inputs[bias]);
            // Queries and keys share a bias: that of keys has a gradient of 0, and no relative error is defined.
            let weights = SelfAttentionWeights {
                projections: [pair(1, 5), pair(2, 5), pair(3, 6)],
                output: pair(4, 7),
                prefix: None,
                adapter: None,
                norm: norm(&inputs[8], &inputs[9]),
            };
            let unpadding =
                Unpadding::new(&real, [batch, seq], device).filter(|_| keys == Keys::Unpadded);
            assert_eq!(unpadding.is_some(), keys == Keys::Unpadded);
            let drop = |seed| Dropout { rate, seed };
            let settings = SelfAttention {
                heads,
                mask: (keys != Keys::All).then(|| mask(device)),
                unpadding: unpadding.clone(),
                probabilities: drop(3),
                hidden: drop(4),
                precision,
                activations,
            };
            let x = inputs[0].clone().reshape([batch, seq, hidden]);
            let x = unpadded(unpadding.as_ref(), x);
            if !owns(device) {
                return plain_self_attention(x, weights, settings);
            }
            let options = Options {
                format,
                onednn,
                ..Options::new(precision, 1e-12, settings.hidden)
            };
            self_attention_with(options, x, weights, settings)
        });
    }
}

#[test]
fn the_attention_sublayer_agrees_with_plain() {
    at_every_level(|| {
        check_attention([2, 5, 3, 4], 0.0, Keys::All);
        for keys in [Keys::Padded, Keys::Unpadded] {
            check_attention([2, 5, 3, 4], 0.2, keys);
            check_attention([4, 33, 2, 20], 0.2, keys); // large enough for oneDNN
            check_attention([16, 100, 8, 4], 0.2, keys); // more scores than stay in the cache
        }
    });
}

/// The result for `x`, `[batch, seq, 12]`, under a mask, with equal weights everywhere and no dropout.
fn masked(x: Tensor<3>, mask: Tensor<4>) -> Tensor<3> {
    let device = x.device();
    let numbers = |n: usize| Tensor::<1>::ones([n], &device);
    let square = || affine(&numbers(144), &numbers(12));
    let weights = SelfAttentionWeights {
        projections: [square(), square(), square()],
        output: square(),
        prefix: None,
        adapter: None,
        norm: norm(&numbers(12), &numbers(12)),
    };
    let none = Dropout { rate: 0.0, seed: 0 };
    let settings = SelfAttention {
        heads: 3,
        mask: Some(mask),
        unpadding: None,
        probabilities: none,
        hidden: none,
        precision: Precision::F32,
        activations: Activations::Kept,
    };
    let options = Options::new(Precision::F32, 1e-12, none);
    self_attention_with(options, x, weights, settings)
}

#[test]
fn a_key_that_the_mask_leaves_out_has_no_gradient_at_all() {
    at_every_level(|| {
        let device = Device::libtorch();
        let mask = Tensor::<1>::from_data([0.0, 0.0, -1e4, -1e4], &device).reshape([1, 1, 1, 4]);
        let x: Vec<f32> = (0..48).map(|i| (i * 7 % 11) as f32 * 0.1).collect();
        let x = Tensor::<1>::from_data(x.as_slice(), &device.clone().autodiff()).require_grad();
        let y = masked(x.clone().reshape([1, 4, 12]), mask);
        // A sum over all of a row would be the same whatever is normalised.
        let loss = y.slice([0..1, 0..2, 0..5]).powi_scalar(2).sum();
        let gradient = x.grad(&loss.backward()).expect("of a leaf");
        let gradient = gradient.into_data().try_to_vec::<f32>().expect("f32");
        // Not a denormal number, which would spread from there.
        assert!(gradient[24..].iter().all(|&g| g == 0.0), "{gradient:?}");
        assert!(gradient[..24].iter().any(|&g| g != 0.0), "{gradient:?}");
    });
}

#[test]
#[should_panic(expected = "found a mask [2, 1, 1, 4] for 2 rows of 5 tokens")]
fn a_mask_of_another_length_is_refused() {
    let device = Device::libtorch();
    masked(
        Tensor::zeros([2, 5, 12], &device),
        Tensor::zeros([2, 1, 1, 4], &device),
    );
}
