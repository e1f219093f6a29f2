//! Prefixes compared with PEFT, and with transformers where PEFT has none, on vectors made by
//! `fixtures/make/prefix_tuning.py`.

use burn::module::Module;
use burn::tensor::Device;
use totune_model::fused::Precision;
use totune_model::{
    AnyEncoder, Bert, Encoder, EncoderCatalogue, Pass, PrefixSpec, TokenBatch, add_prefixes,
};

use super::reference::{Reference, odd, values, worst};
use crate::support::{devices, flat, project};

fn reference() -> Reference {
    Reference::read("fixtures/model/prefix.safetensors", ".prefix.")
}

fn all(length: usize, n_layers: usize) -> PrefixSpec {
    PrefixSpec {
        length,
        layers: 0..n_layers,
    }
}

/// The network with PEFT's prefixes.
fn prefixed(device: &Device, reference: &Reference) -> Bert {
    let bert = add_prefixes(odd(device), &all(3, 2), 1).expect("a transformer");
    reference.fill(bert, 4)
}

/// An encoder of the committed ones.
fn fixture(name: &str, device: &Device) -> AnyEncoder {
    let cards = EncoderCatalogue::read(&project("encoders")).expect("cards");
    let card = cards.find(name).expect("a card");
    let loaded = card.load(&[project("fixtures/encoders")], device);
    loaded.expect("a committed checkpoint").encoder
}

#[test]
fn states_are_those_of_peft() {
    let reference = reference();
    for device in devices() {
        let bert = prefixed(&device, &reference);
        reference.check_states(&bert, &device, &Pass::training(1));
        reference.check_states(&bert.valid(), &device, &Pass::evaluation());
    }
}

#[test]
fn gradients_are_those_of_peft() {
    let reference = reference();
    for device in devices() {
        let bert = prefixed(&device, &reference);
        reference.check_gradients(&bert, &device, 4);
    }
}

#[test]
fn a_modernbert_has_prefixes_in_front_of_rotated_keys_and_behind_no_window() {
    let path = "fixtures/model/prefix-modernbert.safetensors";
    let reference = Reference::read(path, ".prefix.");
    for device in devices() {
        let encoder = fixture("modernbert-tiny", &device);
        let encoder = add_prefixes(encoder, &all(2, 5), 1).expect("a transformer");
        let encoder = reference.fill(encoder, 10);
        reference.check_states(&encoder, &device, &Pass::training(1));
        reference.check_states(&encoder.valid(), &device, &Pass::evaluation());
        reference.check_gradients(&encoder, &device, 10);
    }
}

#[test]
fn a_prefix_is_where_it_is_named_and_changes_the_layers_from_there_on() {
    let reference = reference();
    for device in devices() {
        let plain = odd(&device);
        let spec = PrefixSpec {
            layers: 1..2,
            ..all(4, 2)
        };
        let bert = add_prefixes(plain.clone(), &spec, 1).expect("a transformer");
        let states = |bert: &Bert| {
            let states = bert.encode(&reference.batch(&device), &Pass::evaluation());
            states.hidden.into_iter().map(flat).collect::<Vec<_>>()
        };
        let (before, after) = (states(&plain), states(&bert));
        assert_eq!(before[..2], after[..2]);
        let (difference, _) = worst(&after[2], &before[2]);
        assert!(difference > 0.1, "{difference}");
        let old = values(&plain);
        let mut new: Vec<String> = values(&bert).into_keys().collect();
        new.retain(|path| !old.contains_key(path));
        let expected = ["key", "value"];
        assert_eq!(
            new,
            expected.map(|name| format!("layers.1.attention.prefix.{name}"))
        );
        // Keys and values of 4 positions, 21 numbers each.
        let added = Module::num_params(&bert) - Module::num_params(&plain);
        assert_eq!(added, 2 * 4 * 21);
    }
}

#[test]
fn padding_changes_nothing_behind_a_prefix() {
    for device in devices() {
        for name in ["roberta-tiny", "modernbert-tiny"] {
            let encoder = fixture(name, &device);
            let n_layers = encoder.n_layers();
            let encoder = add_prefixes(encoder, &all(3, n_layers), 1).expect("a transformer");
            let pad = encoder.pad_id();
            let row = [7u32, 11, 9, 30, 12];
            let batch = |seq: usize| {
                let ids = (0..seq).map(|i| row.get(i).copied().unwrap_or(pad) as i64);
                let mask: Vec<bool> = (0..seq).map(|i| i < row.len()).collect();
                TokenBatch::new(ids.collect(), vec![0; seq], &mask, [1, seq], &device)
            };
            let top = |seq: usize| {
                let states = encoder.encode(&batch(seq), &Pass::evaluation());
                flat(states.top().narrow(1, 0, row.len()))
            };
            let (difference, _) = worst(&top(12), &top(5));
            assert!(difference <= 1e-5, "{name}: {difference}");
        }
    }
}

#[test]
fn half_precision_stays_near_on_the_path_that_takes_a_prefix() {
    let reference = reference();
    for device in devices() {
        let bert = prefixed(&device, &reference).valid();
        let half = bert.clone().with_precision(Precision::Bf16);
        let top = |bert: &Bert| {
            let states = bert.encode(&reference.batch(&device), &Pass::evaluation());
            flat(states.top())
        };
        let (difference, _) = worst(&top(&half), &top(&bert));
        assert!(0.0 < difference && difference < 0.1, "{difference}");
    }
}

#[test]
fn a_prefix_is_standard_normal_and_depends_on_the_seed_and_the_place() {
    let drawn = |seed| {
        let bert = add_prefixes(odd(&Device::flex()), &all(500, 2), seed).expect("a transformer");
        let values = values(&bert);
        [
            "0.attention.prefix.key",
            "0.attention.prefix.value",
            "1.attention.prefix.key",
        ]
        .map(|path| values[&format!("layers.{path}")].clone())
    };
    let [first, second, third] = drawn(1);
    assert!(first != second && first != third && second != third);
    assert_eq!(first, drawn(1)[0]);
    assert_ne!(first, drawn(2)[0]);
    let n = first.len() as f32;
    let mean = first.iter().sum::<f32>() / n;
    let variance = first.iter().map(|w| w * w).sum::<f32>() / n;
    assert!(
        mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05,
        "{mean} {variance}"
    );
}

#[test]
fn encoders_without_a_place_for_prefixes_say_so() {
    for name in ["deberta-tiny", "fixture-elmo"] {
        let encoder = fixture(name, &Device::flex());
        let error = add_prefixes(encoder, &all(2, 1), 1).map(|_| ());
        assert_eq!(
            error.expect_err(name).to_string(),
            "found an encoder without attention that takes a prefix, expected a transformer without relative positions"
        );
    }
}
