//! Runs that have not learned anything begin again.

use std::ops::ControlFlow;

use burn::tensor::Device;
use rand::Rng;
use totune_adapt::{Adaptation, Full, Outcome, StepEvent, Stop, TaskData, Training, Watch, fit};
use totune_data::stream;
use totune_model::Bert;

use crate::common::{eight, encoder, fast_devices, parameters, run, run_on, training};

/// The eight examples, which are also dev.
fn task() -> TaskData {
    let mut task = eight();
    task.dev = Some(task.test.clone());
    task
}

/// Settings at this learning rate; at a tiny one there is nothing to wait for.
fn settings(lr: f64, restarts: usize) -> Training {
    let mut settings = training(Adaptation::Full(Full::new(lr)));
    settings.epochs = if lr < 1e-6 { 1 } else { 40 };
    settings.restarts = restarts;
    settings
}

fn counted(outcome: &Outcome<Bert>) -> Option<f64> {
    let mut scores = outcome.scores.iter();
    let found = scores.find(|score| score.metric == "restarts")?;
    assert!(found.is_final && found.split == "train");
    Some(found.value)
}

#[test]
fn a_run_that_learns_is_the_one_without_restarts() {
    let plain = run(&task(), &settings(5e-3, 0), 3);
    let outcome = run(&task(), &settings(5e-3, 2), 3);
    assert_eq!(parameters(&outcome.model), parameters(&plain.model));
    assert_eq!((plain.restarts, counted(&plain)), (0, None));
    assert_eq!((outcome.restarts, counted(&outcome)), (0, Some(0.0)));
}

#[test]
fn a_run_that_does_not_learn_begins_again_until_the_limit() {
    // On flex, where steps take longer than anything that happens once.
    let run = |restarts| run_on(&Device::flex(), &task(), &settings(1e-12, restarts), 3);
    let outcome = run(2);
    assert_eq!((outcome.restarts, counted(&outcome)), (2, Some(2.0)));
    assert_eq!((outcome.stop, outcome.epochs), (Stop::Epochs, 1));
    let one = run(0);
    assert!(outcome.train_seconds > 1.5 * one.train_seconds);
    let last = outcome.scores.last().expect("scores");
    assert!((last.train_seconds - outcome.train_seconds).abs() < 1e-9);
}

#[test]
fn a_run_that_diverges_begins_again_until_the_limit() {
    let outcome = run(&task(), &settings(1e38, 2), 3);
    assert!(
        matches!(outcome.stop, Stop::Diverged(_)),
        "{:?}",
        outcome.stop
    );
    assert_eq!(outcome.restarts, 2);
}

/// Interrupts a run after its first step.
struct Impatient;

impl Watch for Impatient {
    fn step(&mut self, _: &StepEvent) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

#[test]
fn a_run_that_is_interrupted_does_not_begin_again() {
    let encoder = encoder(1, &fast_devices()[0]);
    let outcome = fit(encoder, &task(), &settings(1e-12, 2), 3, &mut Impatient);
    let outcome = outcome.expect("valid settings and data");
    assert_eq!((outcome.stop, outcome.restarts), (Stop::Interrupted, 0));
}

/// Regression test: on LibTorch, whose optimiser works in place, an attempt began with the weights of the one before.
#[test]
fn an_attempt_is_a_run_with_another_seed() {
    for device in fast_devices() {
        let run = |restarts, seed| run_on(&device, &task(), &settings(1e-7, restarts), seed);
        // Almost without learning, some random heads are better than the majority by chance.
        let seed = (0..50).find(|seed| run(5, *seed).restarts == 1);
        let seed = seed.expect("luck in one of fifty seeds");
        let next = stream(seed, "restart", 1).next_u64();
        let (outcome, other) = (run(5, seed), run(0, next));
        assert_eq!(parameters(&outcome.model), parameters(&other.model));
    }
}
