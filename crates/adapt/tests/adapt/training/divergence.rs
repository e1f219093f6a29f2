//! Numbers that are not finite end a run before their step is applied.

use std::ops::Range;

use burn::module::{Module, ModuleDisplay, ModuleMapper, Param};
use burn::tensor::{Device, Tensor};
use totune_adapt::{Adaptation, Divergence, Full, Outcome, Stop, fit};
use totune_model::{Encoder, Pass, TokenBatch};

use crate::common::{devices, eight, encoder, parameters, run_on, training};

#[test]
fn a_loss_that_is_not_a_number_ends_the_run_in_its_step() {
    let outcome = run(encoder(1, &Device::flex()).map(&mut Poison));
    check(&outcome, "loss", 0, 0);
    assert!(outcome.scores.is_empty());
}

#[test]
fn a_gradient_that_is_not_a_number_ends_the_run_in_its_step() {
    let before = parameters(&Cliff::new());
    let outcome = run(Cliff::new());
    check(&outcome, "gradient norm", 0, 0);
    // The step was not applied: the encoder has every bit it came with.
    assert_eq!(parameters(&outcome.model.encoder), before);
}

#[test]
fn a_rate_that_blows_the_model_up_is_noticed_in_the_next_step() {
    let mut settings = training(Adaptation::Full(Full::new(1e38)));
    settings.batch_size = 4;
    for device in devices() {
        check(&run_on(&device, &eight(), &settings, 1), "loss", 1, 0);
    }
}

#[test]
fn a_model_blown_up_by_the_last_step_is_noticed_in_the_evaluation() {
    let mut settings = training(Adaptation::Full(Full::new(1e38)));
    (settings.batch_size, settings.epochs) = (8, 1);
    for device in devices() {
        check(&run_on(&device, &eight(), &settings, 1), "test loss", 1, 1);
    }
}

#[test]
fn a_divergence_reads_as_a_sentence() {
    let divergence = Divergence {
        what: "loss",
        value: f64::NAN,
        phase: 0,
        epoch: 2,
        step: 17,
    };
    assert_eq!(
        divergence.to_string(),
        "the loss was NaN after 17 steps (epoch 3, phase 0)"
    );
}

fn run<E: Encoder + ModuleDisplay>(encoder: E) -> Outcome<E> {
    let settings = training(Adaptation::Full(Full::new(1e-3)));
    fit(encoder, &eight(), &settings, 1, &mut ()).expect("diverging is an outcome")
}

#[track_caller]
fn check<E: Encoder>(outcome: &Outcome<E>, what: &str, step: usize, epoch: usize) {
    let Stop::Diverged(found) = &outcome.stop else {
        panic!("expected a divergence, found {:?}", outcome.stop);
    };
    assert_eq!((found.what, found.step, found.epoch), (what, step, epoch));
    assert!(!found.value.is_finite(), "{}", found.value);
    assert_eq!(outcome.stop.label(), "diverged");
    assert_eq!((outcome.steps, outcome.epochs), (step, epoch));
    assert!(outcome.predictions.is_empty());
    assert!(
        outcome
            .scores
            .iter()
            .all(|score| !score.is_final && score.value.is_finite())
    );
}

/// Makes every parameter NaN.
struct Poison;

impl ModuleMapper for Poison {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|value| value.full_like(f64::NAN))
    }
}

/// An encoder of one layer that pools to `0 * sqrt(weight)`: with `weight = 0` the value is 0, the gradient `0 * inf`.
#[derive(Module, Debug)]
struct Cliff {
    embeddings: Edge,
    layers: Vec<Edge>,
    pooler: Edge,
}

#[derive(Module, Debug)]
struct Edge {
    weight: Param<Tensor<2>>,
}

impl Cliff {
    fn new() -> Self {
        let edge = || Edge {
            weight: Param::from_tensor(Tensor::zeros([1, 16], &Device::flex())),
        };
        Self {
            embeddings: edge(),
            layers: vec![edge()],
            pooler: edge(),
        }
    }
}

impl Encoder for Cliff {
    fn embed(&self, batch: &TokenBatch, _pass: &Pass) -> Tensor<3> {
        let [n, seq] = batch.shape();
        Tensor::zeros([n, seq, 16], &Device::flex())
    }

    fn outputs(
        &self,
        x: Tensor<3>,
        layers: Range<usize>,
        _batch: &TokenBatch,
        _pass: &Pass,
    ) -> Vec<Tensor<3>> {
        vec![x; layers.len()]
    }

    fn pool(&self, top: Tensor<3>) -> Option<Tensor<2>> {
        let [n, ..] = top.dims();
        let pooled = self.pooler.weight.val().sqrt() * 0.0; // [1, hidden]
        Some(pooled.repeat_dim(0, n))
    }

    fn n_dropout_seeds(&self, _layer: usize) -> u64 {
        0
    }

    fn n_layers(&self) -> usize {
        self.layers.len()
    }

    fn hidden(&self) -> usize {
        16
    }

    fn has_pooler(&self) -> bool {
        true
    }

    fn with_dropout(self, _rate: f64) -> Self {
        self
    }
}
