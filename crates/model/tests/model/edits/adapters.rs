//! Bottleneck adapters compared with AdapterHub's, on vectors made by `fixtures/make/bottleneck_adapters.py`.

use burn::module::Module;
use burn::tensor::Device;
use totune_model::{AdapterSpec, Bert, Encoder, Pass, Sublayer, add_adapters};

use super::reference::{Reference, odd, values, worst};
use crate::support::{devices, flat};

fn reference() -> Reference {
    Reference::read("fixtures/model/adapters.safetensors", ".adapter.")
}

fn spec(after: &[Sublayer]) -> AdapterSpec {
    AdapterSpec {
        width: 5,
        after: after.to_vec(),
        layers: 0..2,
    }
}

const BOTH: [Sublayer; 2] = [Sublayer::Attention, Sublayer::FeedForward];

/// The network with AdapterHub's adapters.
fn adapted(device: &Device, reference: &Reference) -> Bert {
    let bert = add_adapters(odd(device), &spec(&BOTH), 1).expect("a transformer");
    reference.fill(bert, 16)
}

#[test]
fn states_are_those_of_adapterhub() {
    let reference = reference();
    for device in devices() {
        let bert = adapted(&device, &reference);
        reference.check_states(&bert, &device, &Pass::training(1));
        reference.check_states(&bert.valid(), &device, &Pass::evaluation());
    }
}

#[test]
fn gradients_are_those_of_adapterhub() {
    let reference = reference();
    for device in devices() {
        let bert = adapted(&device, &reference);
        reference.check_gradients(&bert, &device, 16);
    }
}

#[test]
fn new_adapters_stand_where_they_are_named_and_change_almost_nothing() {
    let reference = reference();
    for device in devices() {
        let plain = odd(&device);
        let spec = AdapterSpec {
            layers: 1..2,
            ..spec(&[Sublayer::FeedForward])
        };
        let bert = add_adapters(plain.clone(), &spec, 1).expect("a transformer");
        let top = |bert: &Bert| {
            let states = bert.encode(&reference.batch(&device), &Pass::evaluation());
            flat(states.top())
        };
        let (worst, _) = worst(&top(&bert), &top(&plain));
        assert!(0.0 < worst && worst < 1e-2, "{worst}");
        let before = values(&plain);
        let mut new: Vec<String> = values(&bert).into_keys().collect();
        new.retain(|path| !before.contains_key(path));
        let adapter = "layers.1.feed_forward.adapter";
        let expected = ["down.bias", "down.weight", "up.bias", "up.weight"];
        assert_eq!(new, expected.map(|name| format!("{adapter}.{name}")));
        // Of 21 numbers: [5, 21], [5], [21, 5] and [21].
        let added = Module::num_params(&bert) - Module::num_params(&plain);
        assert_eq!(added, 2 * 5 * 21 + 5 + 21);
    }
}

#[test]
fn matrices_are_truncated_normal_and_depend_on_the_seed_and_the_place() {
    let drawn = |seed| {
        let spec = AdapterSpec {
            width: 500,
            ..spec(&BOTH)
        };
        let bert = add_adapters(odd(&Device::flex()), &spec, seed).expect("a transformer");
        let values = values(&bert);
        let down = |place: &str| values[&format!("layers.{place}.adapter.down.weight")].clone();
        [
            down("0.attention"),
            down("0.feed_forward"),
            down("1.attention"),
        ]
    };
    let [first, second, third] = drawn(1);
    assert!(first != second && first != third && second != third);
    assert_eq!(first, drawn(1)[0]);
    assert_ne!(first, drawn(2)[0]);
    assert!(first.iter().all(|weight| weight.abs() <= 2e-2));
    // A normal distribution truncated at two standard deviations has 0.7737 of its variance.
    let variance = first.iter().map(|w| w * w).sum::<f32>() / first.len() as f32;
    assert!((variance / 0.7737e-4 - 1.0).abs() < 0.05, "{variance}");
}
