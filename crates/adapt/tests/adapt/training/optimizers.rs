//! The optimisers and the clipping of the training loop, compared with vectors from `fixtures/make/optimizers.py`.

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use serde::Deserialize;
use totune_adapt::{Schedule, schedule};
use totune_model::fused::{AdamW, AdamWConfig, Rate, clip_global_norm};

use crate::common::devices;

/// A decayed weight and a bias that is not decayed.
#[derive(Module, Debug)]
struct Pair {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

#[derive(Deserialize)]
struct Values {
    weight: Vec<f64>,
    bias: Vec<f64>,
}

#[derive(Deserialize)]
struct Steps {
    shape: [usize; 2],
    betas: [f64; 2],
    epsilon: f64,
    weight_decay: f64,
    lrs: Vec<f64>,
    start: Values,
    gradients: Vec<Values>,
    after: Vec<Values>,
    #[serde(default)]
    peak: f64,
    #[serde(default)]
    warmup: f64,
}

#[derive(Deserialize)]
struct Clipping {
    shape: [usize; 2],
    gradients: Values,
    cases: Vec<ClipCase>,
}

#[derive(Deserialize)]
struct ClipCase {
    max: f64,
    norm: f64,
    clipped: Values,
}

const ADAMW: &str = include_str!("../../../../../fixtures/adapt/adamw.json");
const BERT_ADAM: &str = include_str!("../../../../../fixtures/adapt/bert-adam.json");
const CLIP: &str = include_str!("../../../../../fixtures/adapt/clip.json");

#[test]
fn adamw_moves_as_torch_does() {
    check_steps(&parse(ADAMW), true);
}

#[test]
fn bert_adam_moves_without_bias_correction() {
    check_steps(&parse(BERT_ADAM), false);
}

#[test]
fn the_two_optimisers_differ_where_bias_correction_counts() {
    let steps: Steps = parse(BERT_ADAM);
    let corrected = run(&steps, true, &Device::flex());
    let difference = corrected[1].0[0] - steps.after[1].weight[0];
    assert!(difference.abs() > 1e-3, "{difference}");
}

#[test]
fn the_bert_schedule_gives_the_rates_of_the_vectors() {
    let steps: Steps = parse(BERT_ADAM);
    let schedule = Schedule::Bert(schedule::Bert {
        warmup: steps.warmup,
    });
    for (step, expected) in steps.lrs.iter().enumerate() {
        let rate = schedule.rate(steps.peak, step, steps.lrs.len());
        assert!(
            (rate - expected).abs() < 1e-15,
            "step {step}: {rate}, expected {expected}"
        );
    }
}

#[test]
fn parameters_without_a_rate_or_a_gradient_stay_bit_for_bit() {
    let steps: Steps = parse(ADAMW);
    let rate = Rate {
        lr: 0.1,
        weight_decay: 0.1,
    };
    for device in devices() {
        let mut optimizer = AdamW::new(&config(&steps, true));
        let module = module(&steps, &device);
        let grads = gradients(&module, &steps.gradients[0], steps.shape);
        let before = values(&module);
        let module = optimizer.step(module, grads, &|path| (path == "bias").then_some(rate));
        assert_eq!(values(&module).0, before.0);
        assert_ne!(values(&module).1, before.1);

        let mut grads = gradients(&module, &steps.gradients[0], steps.shape);
        let before = values(&module);
        grads.remove::<1>(module.bias.id);
        let module = optimizer.step(module, grads, &|_| Some(rate));
        assert_ne!(values(&module).0, before.0);
        assert_eq!(values(&module).1, before.1);
    }
}

#[test]
fn clipping_by_the_global_norm_is_torchs() {
    let clipping: Clipping = parse(CLIP);
    for case in &clipping.cases {
        check_clip(
            &clipping.gradients,
            Some(case.max),
            case.norm,
            &case.clipped,
        );
    }
}

#[test]
fn without_a_limit_gradients_are_measured_and_left() {
    let Clipping {
        gradients, cases, ..
    } = parse(CLIP);
    check_clip(&gradients, None, cases[0].norm, &gradients);
}

#[test]
fn one_bad_number_makes_the_norm_bad() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let Clipping {
            shape,
            gradients: mut with_bad,
            ..
        } = parse(CLIP);
        with_bad.weight[3] = bad;
        for device in devices() {
            let module = zeros(&with_bad, shape, &device);
            let mut grads = gradients(&module, &with_bad, shape);
            let norm = clip_global_norm(&module, &mut grads, Some(1.0)).read();
            assert!(!norm.is_finite(), "{bad}: {norm}");
        }
    }
}

#[test]
fn a_norm_whose_square_overflows_is_found() {
    let Clipping {
        shape,
        gradients,
        cases,
    } = parse(CLIP);
    let factor = 1e30;
    let large = |values: &[f64]| values.iter().map(|value| value * factor).collect();
    let gradients = Values {
        weight: large(&gradients.weight),
        bias: large(&gradients.bias),
    };
    let case = &cases[0];
    for device in devices() {
        let module = zeros(&gradients, shape, &device);
        let mut grads = self::gradients(&module, &gradients, shape);
        let norm = clip_global_norm(&module, &mut grads, Some(case.max)).read();
        close(&[norm / factor], &[case.norm]);
        let weight = grads.remove::<2>(module.weight.id).expect("still there");
        let bias = grads.remove::<1>(module.bias.id).expect("still there");
        let clipped = [numbers(weight), numbers(bias)].concat();
        let length = clipped.iter().map(|value| value * value).sum::<f64>();
        close(&[length.sqrt()], &[case.max]);
        close(&[clipped[0] / length.sqrt()], &[gradients.weight[0] / norm]);
    }
}

#[track_caller]
fn check_clip(start: &Values, max: Option<f64>, norm: f64, clipped: &Values) {
    let shape = parse::<Clipping>(CLIP).shape;
    for device in devices() {
        let module = zeros(start, shape, &device);
        let mut grads = gradients(&module, start, shape);
        close(
            &[clip_global_norm(&module, &mut grads, max).read()],
            &[norm],
        );
        let weight = grads.remove::<2>(module.weight.id).expect("still there");
        let bias = grads.remove::<1>(module.bias.id).expect("still there");
        close(&numbers(weight), &clipped.weight);
        close(&numbers(bias), &clipped.bias);
    }
}

#[track_caller]
fn check_steps(steps: &Steps, bias_correction: bool) {
    for device in devices() {
        for (found, expected) in run(steps, bias_correction, &device)
            .iter()
            .zip(&steps.after)
        {
            close(&found.0, &expected.weight);
            close(&found.1, &expected.bias);
        }
    }
}

/// Weight and bias after every step.
fn run(steps: &Steps, bias_correction: bool, device: &Device) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut module = module(steps, device);
    let mut optimizer = AdamW::new(&config(steps, bias_correction));
    let mut after = Vec::new();
    for (lr, gradient) in steps.lrs.iter().zip(&steps.gradients) {
        let grads = gradients(&module, gradient, steps.shape);
        module = optimizer.step(module, grads, &|path| {
            let weight_decay = if path == "weight" {
                steps.weight_decay
            } else {
                0.0
            };
            Some(Rate {
                lr: *lr,
                weight_decay,
            })
        });
        after.push(values(&module));
    }
    assert_eq!(after.len(), 6);
    after
}

fn config(steps: &Steps, bias_correction: bool) -> AdamWConfig {
    AdamWConfig {
        beta_1: steps.betas[0],
        beta_2: steps.betas[1],
        epsilon: steps.epsilon,
        bias_correction,
    }
}

fn parse<T: for<'a> Deserialize<'a>>(text: &str) -> T {
    serde_json::from_str(text).expect("the fixture is as its script writes it")
}

fn tensor<const D: usize>(values: &[f64], shape: [usize; D], device: &Device) -> Tensor<D> {
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn module(steps: &Steps, device: &Device) -> Pair {
    pair(&steps.start, steps.shape, device).train()
}

fn zeros(like: &Values, shape: [usize; 2], device: &Device) -> Pair {
    let zeros = Values {
        weight: vec![0.0; like.weight.len()],
        bias: vec![0.0; like.bias.len()],
    };
    pair(&zeros, shape, device).train()
}

fn pair(values: &Values, shape: [usize; 2], device: &Device) -> Pair {
    Pair {
        weight: Param::from_tensor(tensor(&values.weight, shape, device)),
        bias: Param::from_tensor(tensor(&values.bias, [values.bias.len()], device)),
    }
}

fn gradients(module: &Pair, values: &Values, shape: [usize; 2]) -> GradientsParams {
    let device = module.weight.val().device().inner();
    let mut grads = GradientsParams::new();
    grads.register(module.weight.id, tensor(&values.weight, shape, &device));
    let bias = tensor(&values.bias, [values.bias.len()], &device);
    grads.register(module.bias.id, bias);
    grads
}

fn values(module: &Pair) -> (Vec<f64>, Vec<f64>) {
    (numbers(module.weight.val()), numbers(module.bias.val()))
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    let values = tensor
        .into_data()
        .try_to_vec::<f32>()
        .expect("32-bit floats");
    values.into_iter().map(f64::from).collect()
}

/// The vectors are in 64 bits, the tested code works in 32.
#[track_caller]
fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let tolerance = 1e-6 * expected.abs().max(1.0);
        assert!(
            (found - expected).abs() <= tolerance,
            "found {found}, expected {expected}"
        );
    }
}
