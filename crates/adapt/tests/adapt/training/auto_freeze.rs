//! Layers that are frozen in the course of a run.

use totune_adapt::{Adaptation, AutoFreeze, Full, Outcome, Training};
use totune_model::Bert;

use crate::common::{self, eight, parameters, run_on, training};

fn settings(share: f64, epochs: usize) -> Training {
    let mut settings = training(Adaptation::AutoFreeze(AutoFreeze {
        share,
        ..AutoFreeze::new(5e-3)
    }));
    settings.epochs = epochs;
    settings
}

/// Blocks frozen after each epoch.
fn frozen(outcome: &Outcome<Bert>) -> Vec<usize> {
    let scores = outcome.scores.iter();
    let frozen = scores.filter(|score| score.metric == "frozen-blocks");
    frozen.map(|score| score.value as usize).collect()
}

/// The block of an encoder's parameter: 0 for the embeddings.
fn block(path: &str) -> Option<usize> {
    let layer = path.strip_prefix("encoder.layers.").map(|rest| &rest[..1]);
    match layer {
        Some(layer) => Some(1 + layer.parse::<usize>().expect("one digit")),
        None => path.starts_with("encoder.embeddings.").then_some(0),
    }
}

#[test]
fn more_blocks_are_frozen_from_the_second_epoch_on_and_no_longer_change() {
    for device in common::fast_devices() {
        // All but the top layer, as soon as there are two epochs to compare.
        let run = |epochs: usize| run_on(&device, &eight(), &settings(1.0, epochs), 3);
        let (two, four) = (run(2), run(4));
        assert_eq!(frozen(&two), [0, 2]);
        assert_eq!(frozen(&four), [0, 2, 2, 2]);
        let (before, after) = (parameters(&two.model), parameters(&four.model));
        for (path, values) in &before {
            if path.ends_with("attention.key.bias") {
                continue; // its gradient is 0
            }
            let is_frozen = block(path).is_some_and(|block| block < 2);
            assert_eq!(after[path] == *values, is_frozen, "{path}");
        }
        assert_eq!(four.params_trainable, four.params_total);
    }
}

#[test]
fn nothing_is_frozen_where_no_layer_is_among_the_share() {
    for device in common::fast_devices() {
        let mut full = settings(0.2, 3);
        let auto = run_on(&device, &eight(), &full, 3);
        assert_eq!(frozen(&auto), [0, 0, 0]);
        full.adaptation = Adaptation::Full(Full::new(5e-3));
        let full = run_on(&device, &eight(), &full, 3);
        assert_eq!(parameters(&auto.model), parameters(&full.model));
    }
}
