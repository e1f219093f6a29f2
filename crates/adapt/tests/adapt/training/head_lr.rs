//! Separate learning rate of the head, compared with PyTorch's numbers; all else stays as it was.

use std::collections::BTreeMap;

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use serde::Deserialize;
use totune_adapt::{
    Adam, Adaptation, Adapters, Assigned, AutoFreeze, BIAS_AND_NORM, BitFit, Frozen, Full,
    GradualUnfreezing, LastK, Lora, LpFt, Optimizer, OptimizerState, PrefixTuning, Schedule,
    StackAndFinetune, StopRule, Trainable, schedule, sizes,
};
use totune_model::fused::{AdamW, Rate};

use crate::common::{self, eight, fast_devices, parameters, run, training};

/// Reference written by `fixtures/make/optimizers.py`: steps of a head and an encoder of two layers, in one phase or
/// several.
const VECTORS: &str = include_str!("../../../../../fixtures/adapt/head-lr.json");

#[derive(Deserialize)]
struct Vectors {
    shape: [usize; 2],
    warmup: f64,
    weight_decay: f64,
    start: ValuesByPart,
    gradients: Vec<ValuesByPart>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    adaptation: Adaptation,
    /// Number of steps of each phase.
    steps: usize,
    /// Values after each step of each phase.
    after: Vec<ValuesByPart>,
}

/// Values by the name of a part.
type ValuesByPart = BTreeMap<String, Values>;

#[derive(Deserialize)]
struct Values {
    weight: Vec<f64>,
    bias: Vec<f64>,
}

#[derive(Module, Debug)]
struct Pair {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

#[derive(Module, Debug)]
struct Encoder {
    embeddings: Pair,
    layers: Vec<Pair>,
}

#[derive(Module, Debug)]
struct Model {
    encoder: Encoder,
    head: Pair,
}

impl Model {
    fn new(vectors: &Vectors, device: &Device) -> Self {
        let pair = |part: &str| Pair {
            weight: Param::from_tensor(tensor(&vectors.start[part].weight, vectors.shape, device)),
            bias: Param::from_tensor(flat(&vectors.start[part].bias, device)),
        };
        Self {
            encoder: Encoder {
                embeddings: pair("embeddings"),
                layers: vec![pair("layer_0"), pair("layer_1")],
            },
            head: pair("head"),
        }
        .train()
    }

    fn parts(&self) -> [(&'static str, &Pair); 4] {
        let [low, top] = &self.encoder.layers[..] else {
            unreachable!("an encoder of two layers")
        };
        [
            ("head", &self.head),
            ("layer_1", top),
            ("layer_0", low),
            ("embeddings", &self.encoder.embeddings),
        ]
    }

    fn gradients(&self, values: &ValuesByPart, shape: [usize; 2]) -> GradientsParams {
        let device = self.head.weight.val().device().inner();
        let mut gradients = GradientsParams::new();
        for (part, pair) in self.parts() {
            let values = &values[part];
            gradients.register(pair.weight.id, tensor(&values.weight, shape, &device));
            gradients.register(pair.bias.id, flat(&values.bias, &device));
        }
        gradients
    }
}

fn tensor(values: &[f64], shape: [usize; 2], device: &Device) -> Tensor<2> {
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn flat(values: &[f64], device: &Device) -> Tensor<1> {
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let shape = [values.len()];
    Tensor::from_data(TensorData::new(values, shape), device)
}

#[test]
fn groups_with_layer_decay_and_a_schedule_move_as_in_torch_in_every_phase() {
    let vectors: Vectors = serde_json::from_str(VECTORS).expect("as the script writes it");
    let kinds: Vec<(String, Option<f64>)> = vectors
        .cases
        .iter()
        .map(|case| (case.adaptation.label(), case.adaptation.head_lr()))
        .collect();
    let both = ["full", "stack-and-finetune", "gradual-unfreezing"]
        .map(|kind| format!("{kind}, rates x0.5"))
        .map(|kind| [(kind.clone(), None), (kind, Some(1e-2))]);
    assert_eq!(kinds, both.concat());
    for device in fast_devices() {
        for case in &vectors.cases {
            check(&vectors, case, &device);
        }
    }
}

/// Takes the steps at the rates that a plan of these settings gives each parameter.
#[track_caller]
fn check(vectors: &Vectors, case: &Case, device: &Device) {
    let mut settings = training(case.adaptation.clone());
    settings.epochs = 4; // enough to unfreeze everything
    settings.schedule = Schedule::Linear(schedule::Linear {
        warmup: vectors.warmup,
    });
    settings.optimizer = Optimizer::AdamW(Adam {
        betas: [0.9, 0.999],
        epsilon: 1e-8,
        weight_decay: vectors.weight_decay,
        no_decay: BIAS_AND_NORM.map(String::from).to_vec(),
    });
    let mut model = Model::new(vectors, device);
    let paths: Vec<String> = sizes(&model).into_keys().collect();
    let plan = settings.plan(2).expect("valid settings");
    let assignments = plan.assign(&paths, 2).expect("patterns match");
    let last = assignments.last().expect("a phase");
    assert_eq!(last.parameters.len(), 8);

    let config = settings.optimizer.config();
    let mut optimizer = AdamW::new(&config);
    let mut gradients = vectors.gradients.iter().cycle();
    let mut expected = case.after.iter();
    for (phase, assigned) in plan.phases.iter().zip(&assignments) {
        if phase.optimizer_state == OptimizerState::Reset {
            optimizer = AdamW::new(&config);
        }
        for step in 0..case.steps {
            let gradients = gradients.next().expect("gradients of a step");
            let gradients = model.gradients(gradients, vectors.shape);
            model = optimizer.step(model, gradients, &|path| {
                let Assigned { lr, weight_decay } = *assigned.parameters.get(path)?;
                Some(Rate {
                    lr: phase.schedule.rate(lr, step, case.steps),
                    weight_decay,
                })
            });
            let after = expected.next().expect("values after the step");
            compare(
                &model,
                after,
                &format!("{:?}, step {step}", case.adaptation),
            );
        }
    }
    assert!(expected.next().is_none(), "{:?}", case.adaptation);
}

#[track_caller]
fn compare(model: &Model, after: &ValuesByPart, at: &str) {
    for (part, pair) in model.parts() {
        let found = [pair.weight.val().into_data(), pair.bias.val().into_data()];
        let expected = [&after[part].weight, &after[part].bias];
        for (found, expected) in found.into_iter().zip(expected) {
            let found = found.try_to_vec::<f32>().expect("32-bit floats");
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                let difference = (f64::from(*found) - expected).abs();
                assert!(
                    difference <= 1e-6 * expected.abs().max(1.0),
                    "{at}, {part}: found {found}, expected {expected}"
                );
            }
        }
    }
}

/// All strategies with a learning rate of the head, at 1e-2 with this rate of the head.
fn strategies(head_lr: Option<f64>) -> [Adaptation; 11] {
    let lr = 1e-2;
    [
        Adaptation::Frozen(Frozen {
            head_lr,
            pooler: Trainable::Yes,
            ..Frozen::new(lr)
        }),
        Adaptation::Full(Full {
            head_lr,
            ..Full::new(lr)
        }),
        Adaptation::LastK(LastK {
            head_lr,
            layer_decay: 0.5,
            ..LastK::new(2, lr)
        }),
        Adaptation::GradualUnfreezing(GradualUnfreezing {
            head_lr,
            ..GradualUnfreezing::new(lr, 0.5)
        }),
        Adaptation::StackAndFinetune(StackAndFinetune {
            finetune_head_lr: head_lr,
            head_stop: StopRule::Epochs {},
            ..StackAndFinetune::new(1e-2, 1, lr)
        }),
        Adaptation::BitFit(BitFit {
            head_lr,
            ..BitFit::new(lr)
        }),
        Adaptation::Lora(Lora {
            head_lr,
            ..Lora::new(2, lr)
        }),
        Adaptation::Adapters(Adapters {
            head_lr,
            ..Adapters::new(2, lr)
        }),
        Adaptation::PrefixTuning(PrefixTuning {
            head_lr,
            ..PrefixTuning::new(2, lr)
        }),
        Adaptation::AutoFreeze(AutoFreeze {
            head_lr,
            ..AutoFreeze::new(lr)
        }),
        Adaptation::LpFt(LpFt {
            head_lr,
            probe: common::probe(),
            ..LpFt::new(lr)
        }),
    ]
}

#[test]
fn the_encoders_rate_for_the_head_changes_no_bit_and_another_one_does() {
    let cases = strategies(None)
        .into_iter()
        .zip(strategies(Some(1e-2)))
        .zip(strategies(Some(1e-1)));
    for ((plain, same), fast) in cases {
        let label = plain.label();
        let trained = |adaptation: Adaptation| {
            let mut settings = training(adaptation);
            settings.epochs = 4;
            parameters(&run(&eight(), &settings, 3).model)
        };
        let plain = trained(plain);
        assert_eq!(trained(same), plain, "{label}");
        let fast = trained(fast);
        let differs = |of: &str| {
            plain
                .keys()
                .any(|path| path.starts_with(of) && plain[path] != fast[path])
        };
        assert!(differs("head."), "{label}");
    }
}

#[test]
fn after_one_step_only_the_head_is_elsewhere() {
    let trained = |head_lr| {
        let mut settings = training(Adaptation::Full(Full {
            head_lr,
            ..Full::new(1e-2)
        }));
        (settings.epochs, settings.batch_size) = (1, 8);
        parameters(&run(&eight(), &settings, 3).model)
    };
    let (plain, fast) = (trained(None), trained(Some(1e-1)));
    for (path, values) in &plain {
        assert_eq!(values != &fast[path], path.starts_with("head."), "{path}");
    }
}
