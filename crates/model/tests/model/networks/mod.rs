//! Networks over token states: against PyTorch, under padding, by seed, and in a few steps of training.

mod reference;
use crate::support;

use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use reference::{Inputs, cases, check_gradients, flat, near};
use totune_model::fused::{AdamW, AdamWConfig, Rate};
use totune_model::{
    Bcn, BiAttention, Bimpm, DenseText, Esim, FullyConnected, HeadKind, HeadSpec, HighwayLstm,
    Pass, Siamese, Tagger,
};

/// A kind of head under test.
trait Network: HeadKind {
    /// The outputs, flat.
    fn run(&self, inputs: &Inputs, pass: &Pass) -> Tensor<1>;
}

macro_rules! networks {
    ($($network:ident, $run:expr;)*) => {
        $(impl Network for $network {
            fn run(&self, inputs: &Inputs, pass: &Pass) -> Tensor<1> {
                let run: fn(&Self, &Inputs, &Pass) -> _ = $run;
                let output = run(self, inputs, pass);
                let n = output.dims().iter().product::<usize>();
                output.reshape([n])
            }
        })*

        /// Calls a function for each network.
        macro_rules! each {
            ($check:ident) => { $($check::<$network>();)* };
        }
    };
}

// Their cases are `fixtures/model/<kind>.json`.
networks! {
    Bcn, |net, inputs, pass| net.forward(inputs.segment("x"), pass);
    Esim, |net, inputs, pass| net.forward(inputs.segment("a"), inputs.segment("b"), pass);
    BiAttention, |net, inputs, pass| {
        net.forward(inputs.segment("a"), inputs.segment("b"), pass)
    };
    Siamese, |net, inputs, pass| {
        net.forward(inputs.segment("a"), inputs.segment("b"), pass)
    };
    Tagger, |net, inputs, pass| {
        net.emissions(inputs.segment("x"), &inputs.words(), pass)
    };
    FullyConnected, |net, inputs, pass| {
        net.forward(inputs.segment("x").states.narrow(1, 0, 3), pass)
    };
    DenseText, |net, inputs, pass| net.forward(inputs.segment("x"), pass);
    Bimpm, |net, inputs, pass| net.forward(inputs.segment("a"), inputs.segment("b"), pass);
    HighwayLstm, |net, inputs, pass| {
        net.forward(inputs.segment("x"), pass)
    };
}

/// Calls `check` with each case of a network on each device, and says which it is.
fn on_cases<N: Network>(check: impl Fn(&reference::Case<N::Spec>, &Device, &str)) {
    on_cases_of::<N>(support::devices(), check);
}

fn on_cases_of<N: Network>(
    devices: Vec<Device>,
    check: impl Fn(&reference::Case<N::Spec>, &Device, &str),
) {
    for device in devices.into_iter().map(Device::autodiff) {
        for (i, case) in cases::<N::Spec>(N::LABEL).iter().enumerate() {
            check(case, &device, &format!("{} {i} on {device:?}", N::LABEL));
        }
    }
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    fn check<N: Network>() {
        on_cases::<N>(|case, device, what| {
            let mut given = case.given();
            let network = N::load(&case.spec, case.width, case.outputs, &mut given, device);
            let network = network.expect("a network");
            given.are_used();
            let inputs = case.inputs(device);
            let output = network.run(&inputs, &Pass::evaluation());
            let tolerance = support::tolerance(device);
            near(&flat(output.clone()), &case.output.values, tolerance, what);

            let scale = [1.0f32, -2.0, 3.0]
                .into_iter()
                .cycle()
                .take(case.output.values.len());
            let scale = Tensor::<1>::from_data(scale.collect::<Vec<_>>().as_slice(), device);
            let gradients = (output * scale).sum().backward();
            for (name, input) in &inputs.states {
                let found = flat(input.grad(&gradients).expect("a gradient"));
                let what = format!("{what}: gradient of {name}");
                near(&found, &case.gradients[name].values, tolerance, &what);
            }
            check_gradients(&network, &gradients, case, tolerance, what);
        });
    }
    each!(check);
}

#[test]
fn more_padding_changes_nothing() {
    fn check<N: Network>() {
        on_cases::<N>(|case, device, what| {
            let network = N::new(&case.spec, case.width, case.outputs, 3, device);
            let network = network.expect("a network");
            let run = |inputs| flat(network.run(&inputs, &Pass::evaluation()));
            let inputs = || case.inputs(device);
            near(&run(inputs().padded(3)), &run(inputs()), 1e-6, what);
        });
    }
    each!(check);
}

#[test]
fn the_seed_decides_the_initial_weights_and_what_is_dropped() {
    fn check<N: Network>() {
        on_cases::<N>(|case, device, what| {
            let run = |seed, pass: Pass| {
                let network = N::new(&case.spec, case.width, case.outputs, seed, device);
                flat(network.expect("a network").run(&case.inputs(device), &pass))
            };
            let one = run(1, Pass::evaluation());
            assert_eq!(run(1, Pass::evaluation()), one, "{what}");
            assert_ne!(run(2, Pass::evaluation()), one, "{what}");
            let dropped: Vec<_> = (0..8).map(|seed| run(1, Pass::training(seed))).collect();
            assert_eq!(run(1, Pass::training(7)), dropped[7], "{what}");
            assert!(dropped.iter().any(|output| *output != dropped[0]), "{what}");
        });
    }
    each!(check);
}

#[test]
fn a_few_steps_bring_the_outputs_closer_to_given_ones() {
    fn check<N: Network>() {
        on_cases_of::<N>(support::fast_devices(), |case, device, what| {
            let network = N::new(&case.spec, case.width, case.outputs, 4, device);
            let mut network = network.expect("a network");
            let wanted = (0..case.output.values.len()).map(|i| (i % 3) as f32 - 1.0);
            let wanted = Tensor::<1>::from_data(wanted.collect::<Vec<_>>().as_slice(), device);
            let mut optimizer = AdamW::new(&AdamWConfig {
                beta_1: 0.9,
                beta_2: 0.999,
                epsilon: 1e-8,
                bias_correction: true,
            });
            let rate = Rate {
                lr: 0.02,
                weight_decay: 0.0,
            };
            let mut losses = Vec::new();
            for _ in 0..20 {
                let output = network.run(&case.inputs(device), &Pass::evaluation());
                let loss = (output - wanted.clone()).square().mean();
                losses.push(loss.clone().into_scalar::<f32>());
                let gradients = GradientsParams::from_grads(loss.backward(), &network);
                network = optimizer.step(network, gradients, &|_| Some(rate));
            }
            let (first, last) = (losses[0], losses[19]);
            assert!(last < 0.8 * first, "{what}: {first} to {last}");
        });
    }
    each!(check);
}

#[test]
fn settings_that_are_left_out_are_written_out_and_unknown_or_impossible_ones_are_refused() {
    let read = |text: &str| serde_json::from_str::<HeadSpec>(text);
    for kind in [
        "tagger",
        "bcn",
        "esim",
        "bi-attention",
        "fully-connected",
        "dense-text",
        "highway-lstm",
        "bimpm",
    ] {
        let spec = read(&format!(r#"{{"kind": "{kind}"}}"#)).expect(kind);
        assert_eq!(spec.label(), kind);
        spec.validate().expect(kind);
        let text = serde_json::to_string(&spec).expect(kind);
        assert!(text.contains("dropout"), "{text}");
        assert_eq!(read(&text).expect(kind), spec);
        let error = read(&format!(r#"{{"kind": "{kind}", "hiden": 3}}"#)).expect_err(kind);
        assert!(
            error.to_string().contains("unknown field `hiden`"),
            "{error}"
        );
    }
    for (text, key) in [
        (r#"{"kind": "esim", "hidden": 0}"#, "head.hidden: found 0"),
        (
            r#"{"kind": "esim", "dropout": 1.0}"#,
            "head.dropout: found 1",
        ),
        (
            r#"{"kind": "tagger", "recurrent-layers": 3}"#,
            "head.recurrent-layers: found 3",
        ),
        (
            r#"{"kind": "bcn", "maxout": [4]}"#,
            "head.maxout-dropout: found 2",
        ),
        (
            r#"{"kind": "dense-text", "kernels": []}"#,
            "head.kernels: found none",
        ),
        (
            r#"{"kind": "bimpm", "aggregation": {"kind": "transformer", "width": 6, "layers": 1, "heads": 4}}"#,
            "head.aggregation.heads: found 4",
        ),
    ] {
        let error = read(text).expect("settings").validate().expect_err(key);
        assert!(error.to_string().starts_with(key), "{error}");
    }
}
