//! The operators of a training step give no number of a tensor to the host.
#![cfg(feature = "tch")]
#![allow(deprecated, reason = "burn 0.22 is the last release with LibTorch")]

use crate::common::{eight, encoder, linear, training};
use burn::tensor::Device;
use totune_adapt::{Adaptation, Full, fit};
use totune_model::fused::{observed, without_cpu_kernels};

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

/// Checks the steps of an epoch on the path of a GPU, with dropout, padding and clipping.
#[test]
fn no_operator_between_the_forward_pass_and_the_update_waits_for_the_device() {
    let device = Device::libtorch();
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    (settings.epochs, settings.batch_size, settings.dropout) = (1, 2, 0.1);
    linear(&mut settings).dropout = 0.1;
    let (encoder, task) = (encoder(1, &device), eight());
    let (outcome, calls) =
        without_cpu_kernels(|| observed(|| fit(encoder, &task, &settings, 3, &mut ())));
    let outcome = outcome.expect("valid settings");
    assert!(!outcome.predictions.is_empty(), "trained to the end");
    let named = |name: &'static str| {
        let calls = calls.iter().enumerate();
        calls
            .filter(move |(_, call)| call.name == name)
            .map(|(at, _)| at)
    };
    // Parameters with weight decay and those without are updated by a call each.
    let updates: Vec<usize> = named("aten::_fused_adamw_").skip(1).step_by(2).collect();
    assert_eq!(updates.len(), 4, "one for each step");
    for step in updates.windows(2) {
        let forward = named("aten::embedding").find(|at| *at > step[0]);
        let forward = forward.expect("a step begins with the embeddings");
        let waits = calls[forward..step[1]].iter().filter(|call| call.outermost);
        let waits = waits.map(|call| call.name.as_str());
        let waits: Vec<&str> = waits.filter(|name| WAITS.contains(name)).collect();
        assert_eq!(waits, [""; 0]);
    }
}
