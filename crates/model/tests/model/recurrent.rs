//! LSTMs against PyTorch, on vectors made by `fixtures/make/recurrent.py`, and the initialisation of their weights.

use crate::support::{devices, flat, tolerance};
use anyhow::{Context, Result};
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use serde_json::Value;
use totune_model::{BiLstm, Init, Linear, Lstm, Norm, RandomWeights, Weights};

fn numbers(value: &Value) -> Vec<f32> {
    let list = value.as_array().expect("a list").iter();
    list.map(|v| v.as_f64().expect("a number") as f32).collect()
}

#[track_caller]
fn near(found: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1f32, |m, x| m.max(x.abs()));
    let worst = (found.iter().zip(expected)).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
    assert!(worst <= tolerance * scale, "{what} differs by {worst}");
}

/// Ones for the first `lengths[i]` of `seq` places.
fn mask(lengths: &[usize], seq: usize, device: &Device) -> Tensor<2> {
    let values: Vec<f32> = lengths
        .iter()
        .flat_map(|&n| (0..seq).map(move |i| f32::from(i < n)))
        .collect();
    Tensor::from_data(TensorData::new(values, [lengths.len(), seq]), device)
}

/// The weights of one case, by name.
struct Stored<'a>(&'a Value);

impl Weights for Stored<'_> {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let part = name.strip_prefix("lstm.").context("a prefix")?;
        Ok(TensorData::new(numbers(&self.0[part]), shape.to_vec()))
    }
}

/// Either of the two, to be checked alike.
#[derive(Module, Debug)]
enum Model {
    One(Lstm),
    Two(BiLstm),
}

impl Model {
    fn load(
        weights: &mut dyn Weights,
        both: bool,
        shape: [usize; 2],
        n: usize,
        d: &Device,
    ) -> Self {
        if both {
            Self::Two(BiLstm::load(weights, "lstm", shape, n, d).expect("weights"))
        } else {
            Self::One(Lstm::load(weights, "lstm", shape, n, d).expect("weights"))
        }
    }

    fn forward(&self, x: Tensor<3>, mask: Option<&Tensor<2>>) -> Tensor<3> {
        match self {
            Self::One(lstm) => lstm.forward(x, mask),
            Self::Two(lstm) => lstm.forward(x, mask),
        }
    }
}

/// The gradients of all parameters, in their order.
struct Collect<'a>(&'a Gradients, Vec<Vec<f32>>);

impl ModuleVisitor for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let grad = param
            .val()
            .grad(self.0)
            .expect("a gradient reaches every weight");
        self.1.push(flat(grad));
    }
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    let text = include_str!("../../../../fixtures/model/lstm.json");
    let stored: Value = serde_json::from_str(text).expect("JSON");
    let [input, hidden] = ["input", "hidden"].map(|n| stored[n].as_u64().expect("a size") as usize);
    let lengths: Vec<usize> = numbers(&stored["lengths"])
        .iter()
        .map(|&n| n as usize)
        .collect();
    let (batch, seq) = (lengths.len(), 5);
    for device in devices() {
        for case in stored["cases"].as_array().expect("a list") {
            let both = case["bidirectional"].as_bool().expect("a switch");
            let layers = case["layers"].as_u64().expect("a number") as usize;
            let graph = device.clone().autodiff();
            let mut weights = Stored(&case["weights"]);
            let model = Model::load(&mut weights, both, [input, hidden], layers, &device);
            let x = TensorData::new(numbers(&case["x"]), [batch, seq, input]);
            let mask = mask(&lengths, seq, &device);

            let plain = model.forward(Tensor::from_data(x.clone(), &device), Some(&mask));
            near(
                &flat(plain),
                &numbers(&case["states"]),
                tolerance(&device),
                "states without a graph",
            );

            let model = model.train();
            let x = Tensor::<3>::from_data(x, &graph).require_grad();
            let states = model.forward(x.clone(), Some(&mask));
            near(
                &flat(states.clone()),
                &numbers(&case["states"]),
                tolerance(&device),
                "states",
            );
            let n = states.shape().num_elements();
            let scale: Vec<f32> = (1..=n).map(|i| i as f32 / 10.0).collect();
            let scale = Tensor::<1>::from_data(scale.as_slice(), &device).reshape(states.dims());
            let grads = (states * scale).sum().backward();
            near(
                &flat(x.grad(&grads).expect("x")),
                &numbers(&case["x_grad"]),
                tolerance(&device),
                "x",
            );

            let mut found = Collect(&grads, Vec::new());
            model.visit(&mut found);
            let mut names = Vec::new();
            for layer in 0..layers {
                for suffix in ["", "_reverse"].iter().take(1 + usize::from(both)) {
                    for part in ["weight_ih", "weight_hh", "bias_ih", "bias_hh"] {
                        names.push(format!("{part}_l{layer}{suffix}"));
                    }
                }
            }
            assert_eq!(found.1.len(), names.len());
            for (grad, name) in found.1.iter().zip(&names) {
                near(
                    grad,
                    &numbers(&case["grads"][name]),
                    tolerance(&device),
                    name,
                );
            }
        }
    }
}

#[test]
fn padding_more_never_changes_a_result_and_states_there_are_zero() {
    let (input, hidden) = (5, 17);
    for device in devices() {
        let mut weights = RandomWeights::initialised(Init::Pytorch, 3);
        let model = BiLstm::load(&mut weights, "lstm", [input, hidden], 2, &device).expect("new");
        let lengths = [4, 1, 3];
        let run = |seq: usize, filler: f32| {
            let mut x = vec![filler; 3 * seq * input];
            for (row, &n) in lengths.iter().enumerate() {
                for i in 0..n * input {
                    x[row * seq * input + i] = ((row * 31 + i * 7) % 13) as f32 / 13.0 - 0.5;
                }
            }
            let x = Tensor::from_data(TensorData::new(x, [3, seq, input]), &device);
            model.forward(x, Some(&mask(&lengths, seq, &device)))
        };
        let short = run(4, 0.0);
        for (seq, filler) in [(4, 100.0), (5, 0.0), (11, -3.0)] {
            let long = run(seq, filler);
            near(
                &flat(long.clone().narrow(1, 0, 4)),
                &flat(short.clone()),
                1e-5,
                "real steps",
            );
            let padding = 1.0 - mask(&lengths, seq, &device).unsqueeze_dim::<3>(2);
            assert_eq!(flat(long * padding).iter().find(|&&x| x != 0.0), None);
        }
        let x = Tensor::<3>::ones([3, 4, input], &device);
        let unmasked = flat(model.forward(x.clone(), None));
        let full = flat(model.forward(x, Some(&mask(&[4, 4, 4], 4, &device))));
        near(&unmasked, &full, 1e-5, "no mask and a mask of ones");
    }
}

fn values(data: TensorData) -> Vec<f32> {
    data.try_to_vec().expect("f32")
}

/// Checks that all values are within the bound, and have the variance of that interval.
#[track_caller]
fn check_uniform(values: &[f32], bound: f32) {
    assert!(values.iter().all(|x| x.abs() <= bound));
    let n = values.len() as f32;
    let variance = values.iter().map(|x| x * x).sum::<f32>() / n;
    let expected = bound * bound / 3.0;
    // The relative standard error of the variance of n uniform numbers is √(4/5 / n).
    assert!(
        (variance / expected - 1.0).abs() < 4.0 * (0.8 / n).sqrt(),
        "{variance}"
    );
}

#[test]
fn new_weights_are_bounded_as_in_pytorch() {
    let mut new = RandomWeights::initialised(Init::Pytorch, 5);
    let mut take = |name: &str, shape: &[usize]| values(new.take(name, shape).expect("new"));
    check_uniform(&take("a.weight", &[50, 64]), 0.125);
    check_uniform(&take("a.bias", &[50]), 0.125);
    check_uniform(&take("conv.weight", &[30, 8, 2]), 0.25);
    check_uniform(&take("lstm.weight_ih_l0", &[100, 7]), 0.2);
    check_uniform(&take("lstm.weight_hh_l0_reverse", &[100, 25]), 0.2);
    check_uniform(&take("lstm.bias_ih_l1", &[100]), 0.2);
}

#[test]
fn new_weights_of_esim_are_glorot_and_orthogonal_and_remember() {
    let mut new = RandomWeights::initialised(Init::GlorotOrthogonal, 5);
    let mut take = |name: &str, shape: &[usize]| values(new.take(name, shape).expect("new"));
    check_uniform(&take("a.weight", &[50, 100]), 0.2);
    assert_eq!(take("a.bias", &[50]), vec![0.0; 50]);
    check_uniform(&take("lstm.weight_ih_l0", &[40, 110]), 0.2);
    assert_eq!(take("lstm.bias_ih_l0", &[12]), vec![0.0; 12]);
    let forget = [0., 0., 0., 1., 1., 1., 0., 0., 0., 0., 0., 0.];
    assert_eq!(take("lstm.bias_hh_l0", &[12]), forget);
    for (rows, columns) in [(40, 10), (4, 4), (4, 9)] {
        let matrix = take("lstm.weight_hh_l0", &[rows, columns]);
        let column = |i: usize| matrix.iter().skip(i).step_by(columns);
        let row = |i: usize| matrix[i * columns..][..columns].iter();
        for i in 0..rows.min(columns) {
            for j in 0..rows.min(columns) {
                let product: f32 = if rows < columns {
                    row(i).zip(row(j)).map(|(a, b)| a * b).sum()
                } else {
                    column(i).zip(column(j)).map(|(a, b)| a * b).sum()
                };
                let expected = f32::from(i == j);
                assert!((product - expected).abs() < 1e-5, "{i}, {j}: {product}");
            }
        }
    }
}

#[test]
fn new_weights_of_kaiming_are_normal() {
    let mut new = RandomWeights::initialised(Init::KaimingNormal, 5);
    let values = values(new.take("a.weight", &[100, 200]).expect("new"));
    let n = values.len() as f32;
    let (mean, square) = values
        .iter()
        .fold((0.0, 0.0), |(m, s), x| (m + x / n, s + x * x / n));
    assert!(mean.abs() < 4.0 * 0.1 / n.sqrt(), "{mean}");
    assert!(
        (square / 0.01 - 1.0).abs() < 4.0 * (2.0 / n).sqrt(),
        "{square}"
    );
    let within = values.iter().filter(|x| x.abs() < 0.1).count() as f32 / n;
    assert!((within - 0.6827).abs() < 0.015, "{within}");
}

#[test]
fn new_weights_depend_on_seed_and_name_and_not_on_what_was_taken_before() {
    let device = Device::flex();
    let take = |seed: u64, before: &[&str], name: &str| {
        let mut new = RandomWeights::initialised(Init::Pytorch, seed);
        for name in before {
            Linear::load(&mut new, name, [3, 4], &device).expect("new");
        }
        let layer = Linear::load(&mut new, name, [3, 4], &device).expect("new");
        flat(layer.weight.val())
    };
    assert_eq!(take(1, &[], "b"), take(1, &["a", "c"], "b"));
    assert_ne!(take(1, &[], "b"), take(2, &[], "b"));
    assert_ne!(take(1, &[], "b"), take(1, &[], "c"));

    let mut new = RandomWeights::initialised(Init::Pytorch, 1);
    let norm = Norm::load(&mut new, "norm", 3, 1e-5, &device).expect("new");
    assert_eq!(flat(norm.weight.val()), [1.0; 3]);
    assert_eq!(flat(norm.bias.expect("a shift").val()), [0.0; 3]);
    let error = new.take("lone.bias", &[3]).expect_err("no weight yet");
    assert!(error.to_string().contains("before lone.weight"), "{error}");
}
