//! Low-rank updates compared with PEFT, on vectors made by `fixtures/make/lora.py`.

use burn::module::Module;
use burn::tensor::Device;
use totune_model::{Bert, Encoder, LowRankSpec, Pass, add_low_rank, merge_low_rank};

use super::reference::{Reference, odd, values, worst};
use crate::support::{devices, flat};

/// A rate at which no element is dropped and an update is nevertheless added to its layer's output instead of to its
/// weight.
const BESIDE: f64 = 1e-9;

fn reference() -> Reference {
    Reference::read("fixtures/model/lora.safetensors", ".lora.")
}

fn spec(targets: &[&str], dropout: f64) -> LowRankSpec {
    LowRankSpec {
        rank: 3,
        alpha: 5.0,
        dropout,
        targets: targets.iter().map(ToString::to_string).collect(),
        layers: 0..2,
    }
}

/// The network with PEFT's updates.
fn updated(device: &Device, reference: &Reference, dropout: f64) -> Bert {
    let targets = ["query", "attention.value", "feed_forward.output"];
    let bert = add_low_rank(odd(device), &spec(&targets, dropout), 1);
    reference.fill(bert.expect("layers of these names"), 12)
}

#[test]
fn states_are_those_of_peft_with_the_update_in_the_weight_and_beside_it() {
    let reference = reference();
    for device in devices() {
        for dropout in [0.0, BESIDE] {
            let bert = updated(&device, &reference, dropout);
            reference.check_states(&bert, &device, &Pass::training(1));
            reference.check_states(&bert.valid(), &device, &Pass::evaluation());
        }
    }
}

#[test]
fn gradients_are_those_of_peft_with_the_update_in_the_weight_and_beside_it() {
    let reference = reference();
    for device in devices() {
        for dropout in [0.0, BESIDE] {
            let bert = updated(&device, &reference, dropout);
            reference.check_gradients(&bert, &device, 12);
        }
    }
}

#[test]
fn a_merged_network_gives_the_same_without_updates() {
    let reference = reference();
    for device in devices() {
        let bert = updated(&device, &reference, 0.0).valid();
        let merged = merge_low_rank(bert.clone());
        assert_eq!(
            Module::num_params(&merged),
            Module::num_params(&odd(&device))
        );
        reference.check_states(&merged, &device, &Pass::evaluation());
        let top = |bert: &Bert| {
            let states = bert.encode(&reference.batch(&device), &Pass::evaluation());
            flat(states.top())
        };
        let (worst, _) = worst(&top(&merged), &top(&bert));
        assert!(worst <= 1e-6, "{worst}");
    }
}

#[test]
fn a_new_update_changes_nothing_and_begins_as_pefts_do() {
    let reference = reference();
    for device in devices() {
        let plain = odd(&device);
        let bert = add_low_rank(plain.clone(), &spec(&["intermediate"], 0.0), 1);
        let bert = bert.expect("a layer of this name");
        let top = |bert: &Bert| {
            let states = bert.encode(&reference.batch(&device), &Pass::evaluation());
            flat(states.top())
        };
        assert_eq!(top(&bert), top(&plain));
        // 2 layers, A [3, 21] and B [37, 3] each.
        let added = Module::num_params(&bert) - Module::num_params(&plain);
        assert_eq!(added, 2 * 3 * (21 + 37));
    }
}

#[test]
fn a_is_kaiming_uniform_and_depends_on_the_seed_and_the_layer() {
    let drawn = |seed, rank| {
        let spec = LowRankSpec {
            rank,
            ..spec(&["query"], 0.0)
        };
        let bert = add_low_rank(odd(&Device::flex()), &spec, seed).expect("a layer of this name");
        let values = values(&bert);
        let a = |i: usize| values[&format!("layers.{i}.attention.query.lora.a")].clone();
        (a(0), a(1))
    };
    let (first, second) = drawn(1, 500);
    assert_ne!(first, second);
    assert_ne!(first, drawn(2, 500).0);
    assert_eq!(first, drawn(1, 500).0);
    // Uniform within ±1/√21: its variance is a third of the squared bound.
    let bound = 21f32.powf(-0.5);
    assert!(first.iter().all(|a| a.abs() <= bound));
    let variance = first.iter().map(|a| a * a).sum::<f32>() / first.len() as f32;
    assert!(
        (variance / (bound * bound / 3.0) - 1.0).abs() < 0.05,
        "{variance}"
    );
}

#[test]
fn dropout_of_an_update_drops_out_of_the_update_alone() {
    let reference = reference();
    for device in devices() {
        let bert = updated(&device, &reference, 0.5);
        let top = |pass: &Pass| flat(bert.encode(&reference.batch(&device), pass).top());
        let (a, b) = (top(&Pass::training(1)), top(&Pass::training(2)));
        assert_ne!(a, b);
        assert_eq!(a, top(&Pass::training(1)));
        // With everything below block 3 frozen and its dropout off, nothing is dropped.
        let still = top(&Pass::training(1).frozen(3, false));
        assert_eq!(still, top(&Pass::training(2).frozen(3, false)));
    }
}

#[test]
fn a_target_that_does_not_exist_is_answered_with_those_that_do() {
    let error = add_low_rank(odd(&Device::flex()), &spec(&["query", "querry"], 0.0), 1);
    assert_eq!(
        error
            .map(|_| ())
            .expect_err("there is no `querry`")
            .to_string(),
        "found `querry`, expected one of attention.query, attention.key, attention.value, attention.output, \
         feed_forward.intermediate, feed_forward.output"
    );
}
