//! Numbers that the host and the device exchange in a training step.
#![cfg(feature = "tch")]
#![allow(deprecated, reason = "burn 0.22 is the last release with LibTorch")]

use crate::common::{eight, encoder, linear, training};
use burn::tensor::{Device, Tensor};
use totune_adapt::{Adaptation, Full, fit};
use totune_model::fused::{Call, observed, without_cpu_kernels};

/// Operators that give the host a number of a tensor, or a shape that depends on its numbers. Of these, only those count that
/// no other operator makes: the operators over all gradients read their factor on the CPU, and not on a GPU.
const WAITS: [&str; 6] = [
    "aten::item",
    "aten::_local_scalar_dense",
    "aten::is_nonzero",
    "aten::nonzero",
    "aten::equal",
    "aten::masked_select",
];

/// The operators by which burn gives the host the numbers of a tensor.
const READ: [&str; 2] = ["aten::reshape", "aten::to"];
/// The operators by which burn makes a tensor of the host's numbers and copies it to the device.
const WRITE: [&str; 2] = ["aten::zeros", "aten::to"];

/// The number of times that these two are called one after the other.
fn count(calls: &[&str], two: [&str; 2]) -> usize {
    calls.windows(2).filter(|found| *found == two).count()
}

/// Names of the operators that no other operator makes.
fn outermost(calls: &[Call]) -> Vec<&str> {
    let calls = calls.iter().filter(|call| call.outermost);
    calls.map(|call| call.name.as_str()).collect()
}

#[test]
fn numbers_that_are_read_and_written_are_seen_as_these_operators() {
    let device = Device::libtorch();
    let (tensor, calls) = observed(|| Tensor::<1>::from_floats([1.0], &device));
    assert_eq!(outermost(&calls), WRITE);
    let (_, calls) = observed(|| tensor.into_scalar::<f32>());
    assert_eq!(outermost(&calls), READ);
}

/// Checks the steps of an epoch on the path of a GPU, with dropout, padding and clipping.
#[test]
fn loss_and_norm_are_read_after_the_update_and_nothing_before_it() {
    let device = Device::libtorch();
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    (settings.epochs, settings.batch_size, settings.dropout) = (1, 2, 0.1);
    linear(&mut settings).dropout = 0.1;
    let (encoder, task) = (encoder(1, &device), eight());
    let (outcome, calls) =
        without_cpu_kernels(|| observed(|| fit(encoder, &task, &settings, 3, &mut ())));
    let outcome = outcome.expect("valid settings");
    assert!(!outcome.predictions.is_empty(), "trained to the end");
    let calls = outermost(&calls);
    let named = |name: &'static str| {
        let calls = calls.iter().enumerate();
        calls
            .filter(move |(_, call)| **call == name)
            .map(|(at, _)| at)
    };
    // Parameters with weight decay and those without are updated by a call each.
    let updates: Vec<usize> = named("aten::_fused_adamw_").skip(1).step_by(2).collect();
    assert_eq!(updates.len(), 4, "one for each step");
    for step in updates.windows(2) {
        let forward = named("aten::embedding").find(|at| *at > step[0]);
        let forward = forward.expect("a step begins with the embeddings");
        let (between, inside) = (&calls[step[0]..forward], &calls[forward..step[1]]);
        // The loss of the step before and the norm of its gradient.
        assert_eq!(count(between, READ), 2);
        // LibTorch waits on a GPU for what it copies there: texts and labels are copied before, and nothing in the step.
        assert_eq!((count(inside, READ), count(inside, WRITE)), (0, 0));
        let waits: Vec<&&str> = inside.iter().filter(|name| WAITS.contains(name)).collect();
        assert_eq!(waits, [&""; 0]);
    }
}
