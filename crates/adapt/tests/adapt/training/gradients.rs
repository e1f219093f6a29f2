//! Parameters changed by each strategy, compared value by value.

use std::collections::BTreeMap;

use burn::tensor::Device;
use rand::Rng;
use totune_adapt::{
    Adaptation, Adapters, AutoFreeze, Biases, BitFit, Frozen, Full, LastK, Lora, LpFt,
    PrefixTuning, Trainable, Training,
};
use totune_data::stream;
use totune_model::{Classifier, Layers, Pooling};

use crate::common::{self, devices, encoder, linear, parameters, training};

const EMBEDDINGS: &str = "encoder.embeddings.";
const LAYER_0: &str = "encoder.layers.0.";
const LAYER_1: &str = "encoder.layers.1.";
const POOLER: &str = "encoder.pooler.";
const HEAD: &str = "head.";

#[test]
fn frozen_moves_the_head() {
    check(Adaptation::Frozen(Frozen::new(1e-2)), &[HEAD]);
    let pooler = Trainable::Yes;
    check(
        Adaptation::Frozen(Frozen {
            pooler,
            ..Frozen::new(1e-2)
        }),
        &[POOLER, HEAD],
    );
}

#[test]
fn last_k_moves_the_top_layers_the_pooler_and_the_head() {
    check(
        Adaptation::LastK(LastK::new(1, 1e-2)),
        &[LAYER_1, POOLER, HEAD],
    );
    check(
        Adaptation::LastK(LastK::new(2, 1e-2)),
        &[LAYER_0, LAYER_1, POOLER, HEAD],
    );
}

#[test]
fn last_k_with_embeddings_jumps_over_the_layers_between() {
    let settings = LastK {
        pooler: Trainable::No,
        embeddings: Trainable::Yes,
        ..LastK::new(1, 1e-2)
    };
    check(Adaptation::LastK(settings), &[EMBEDDINGS, LAYER_1, HEAD]);
}

#[test]
fn full_moves_everything() {
    check(
        Adaptation::Full(Full::new(1e-2)),
        &[EMBEDDINGS, LAYER_0, LAYER_1, POOLER, HEAD],
    );
}

#[test]
fn reinitialised_layers_are_new_and_all_others_those_of_the_encoder() {
    for device in devices() {
        let settings = Full {
            reinitialised_layers: 1,
            ..Full::new(1e-2)
        };
        let plan = training(Adaptation::Full(settings)).plan(2);
        let plan = plan.expect("valid settings");
        let prepare =
            |seed| parameters(&plan.prepare(encoder(1, &device), seed).expect("prepares"));
        let (before, first, again, other) = (
            parameters(&encoder(1, &device)),
            prepare(7),
            prepare(7),
            prepare(8),
        );
        assert_eq!(first, again);
        let floats =
            |bits: &[u32]| -> Vec<f32> { bits.iter().map(|&b| f32::from_bits(b)).collect() };
        for (path, values) in &first {
            let is_new = path.starts_with("layers.1.") || path.starts_with("pooler.");
            let is_matrix = path.ends_with("weight") && !path.contains("norm");
            assert_eq!(*values != other[path], is_new && is_matrix, "{path}");
            let values = floats(values);
            if !is_new {
                assert_eq!(values, floats(&before[path]), "{path}");
            } else if path.ends_with("bias") {
                assert!(values.iter().all(|&value| value == 0.0), "{path}");
            } else if path.contains("norm") {
                assert!(values.iter().all(|&value| value == 1.0), "{path}");
            } else {
                let mean_square = values.iter().map(|v| v * v).sum::<f32>() / values.len() as f32;
                // Truncated at two standard deviations of 0.02, which leaves 0.88 of each.
                assert!(
                    (0.015..0.02).contains(&mean_square.sqrt()),
                    "{path}: {mean_square}"
                );
            }
        }
    }
}

/// A large penalty keeps what is trained closer to the pretrained weights, or takes it there from random ones.
#[test]
fn l2_sp_keeps_the_encoder_near_its_pretrained_weights_and_brings_new_layers_there() {
    for device in devices() {
        let distance = |l2_sp: f64, reinitialised_layers: usize| {
            let mut settings = training(Adaptation::Full(Full {
                reinitialised_layers,
                ..Full::new(1e-2)
            }));
            (settings.epochs, settings.l2_sp) = (20, l2_sp);
            let outcome = common::run_on(&device, &common::eight(), &settings, 7);
            let after = parameters(&outcome.model);
            let before = parameters(&encoder(1, &device));
            let of = |path: &String, bits: &Vec<u32>| -> f32 {
                let after = &after[&format!("encoder.{path}")];
                let pairs = bits.iter().zip(after);
                pairs
                    .map(|(&a, &b)| (f32::from_bits(a) - f32::from_bits(b)).powi(2))
                    .sum()
            };
            before
                .iter()
                .map(|(path, bits)| of(path, bits))
                .sum::<f32>()
                .sqrt()
        };
        for reinitialised in [0, 1] {
            let free = distance(0.0, reinitialised);
            let pulled = distance(10.0, reinitialised);
            assert!(pulled < 0.5 * free, "{reinitialised}: {pulled} {free}");
        }
    }
}

#[test]
fn l2_sp_leaves_parameters_without_pretrained_values() {
    for adaptation in [
        Adaptation::Frozen(Frozen::new(1e-2)),
        Adaptation::Lora(Lora::new(2, 1e-2)),
        Adaptation::Adapters(Adapters {
            norms: Trainable::No,
            ..Adapters::new(3, 1e-2)
        }),
        Adaptation::PrefixTuning(PrefixTuning::new(3, 1e-2)),
    ] {
        let trained = |l2_sp: f64| {
            let mut settings = training(adaptation.clone());
            settings.l2_sp = l2_sp;
            parameters(&common::run(&common::eight(), &settings, 7).model)
        };
        assert!(trained(0.0) == trained(10.0), "{}", adaptation.label());
    }
}

#[test]
fn bitfit_trains_biases_and_the_head() {
    check_where(&training(Adaptation::BitFit(BitFit::new(1e-2))), |path| {
        path.ends_with(".bias") || path.starts_with(HEAD)
    });
}

#[test]
fn bitfit_of_some_modules_of_the_top_layer_leaves_all_other_biases() {
    let settings = BitFit {
        biases: Biases::Of(vec!["attention.query".into(), "intermediate".into()]),
        k: Some(1),
        pooler: Trainable::No,
        embeddings: Trainable::No,
        ..BitFit::new(1e-2)
    };
    let trained = [
        "encoder.layers.1.attention.query.bias",
        "encoder.layers.1.feed_forward.intermediate.bias",
    ];
    check_where(&training(Adaptation::BitFit(settings)), |path| {
        trained.contains(&path) || path.starts_with(HEAD)
    });
}

#[test]
fn lora_trains_its_updates_and_the_head() {
    let mut lora = Lora::new(2, 1e-2);
    check_where(&training(Adaptation::Lora(lora.clone())), |path| {
        path.contains(".lora.") || path.starts_with(HEAD)
    });
    lora.targets = vec!["output".into()];
    (lora.k, lora.pooler) = (Some(1), Trainable::Yes);
    let trained =
        |path: &str| path.contains(".lora.") || path.starts_with(POOLER) || path.starts_with(HEAD);
    check_where(&training(Adaptation::Lora(lora)), trained);
}

#[test]
fn lora_counts_its_own_parameters() {
    let count = |lora: Lora| {
        let outcome = common::run(&common::eight(), &training(Adaptation::Lora(lora)), 7);
        let frozen = common::run(
            &common::eight(),
            &training(Adaptation::Frozen(Frozen::new(1e-2))),
            7,
        );
        assert_eq!(
            outcome.params_total - outcome.params_trainable,
            frozen.params_total - frozen.params_trainable,
            "all that is pretrained is frozen"
        );
        outcome.params_trainable - frozen.params_trainable
    };
    // Queries and values of two layers: A [rank, 16] and B [16, rank].
    assert_eq!(count(Lora::new(3, 1e-2)), 2 * 2 * 2 * 3 * 16);
    let mut wide = Lora::new(3, 1e-2);
    (wide.k, wide.targets) = (Some(1), vec!["intermediate".into()]);
    assert_eq!(count(wide), 3 * (16 + 32));
}

#[test]
fn adapters_train_themselves_the_normalisations_and_the_head() {
    let mut adapters = Adapters::new(3, 1e-2);
    let new = |path: &str| path.contains(".adapter.") || path.starts_with(HEAD);
    check_where(&training(Adaptation::Adapters(adapters.clone())), |path| {
        new(path) || (path.starts_with("encoder.layers.") && path.contains(".norm."))
    });
    (adapters.k, adapters.norms) = (Some(1), Trainable::No);
    check_where(&training(Adaptation::Adapters(adapters)), new);
}

#[test]
fn prefix_tuning_trains_the_prefixes_and_the_head() {
    let mut prefixes = PrefixTuning::new(3, 1e-2);
    let new = |path: &str| path.contains(".prefix.") || path.starts_with(HEAD);
    check_where(&training(Adaptation::PrefixTuning(prefixes.clone())), new);
    (prefixes.k, prefixes.pooler) = (Some(1), Trainable::Yes);
    check_where(&training(Adaptation::PrefixTuning(prefixes)), |path| {
        new(path) || path.starts_with(POOLER)
    });
}

#[test]
fn lp_ft_trains_everything() {
    let settings = LpFt {
        probe: common::probe(),
        ..LpFt::new(1e-2)
    };
    check_where(&training(Adaptation::LpFt(settings)), |_| true);
}

/// It freezes nothing before the second epoch.
#[test]
fn auto_freeze_trains_everything_at_first() {
    let settings = AutoFreeze::new(1e-2);
    check_where(&training(Adaptation::AutoFreeze(settings)), |_| true);
}

#[test]
fn a_target_that_the_encoder_lacks_is_answered_with_those_it_has() {
    let mut lora = Lora::new(2, 1e-2);
    lora.targets = vec!["querry".into()];
    let settings = training(Adaptation::Lora(lora));
    let device = Device::flex();
    let outcome = totune_adapt::fit(encoder(1, &device), &common::eight(), &settings, 7, &mut ());
    let error = outcome.map(|_| ()).expect_err("refused");
    assert_eq!(
        format!("{error:#}"),
        "adaptation.targets: found `querry`, expected one of attention.query, attention.key, attention.value, \
         attention.output, feed_forward.intermediate, feed_forward.output"
    );
}

#[test]
fn a_pooler_that_the_head_does_not_read_is_not_trainable() {
    let mut settings = training(Adaptation::Full(Full::new(1e-2)));
    linear(&mut settings).pooling = Pooling::Mean;
    check_training(&settings, &[EMBEDDINGS, LAYER_0, LAYER_1, HEAD]);
}

#[test]
fn the_weights_of_a_mix_of_layers_move_with_the_head() {
    let mut settings = training(Adaptation::Frozen(Frozen::new(1e-2)));
    linear(&mut settings).pooling = Pooling::Mean;
    linear(&mut settings).layers = Layers::mix(true);
    check_training(&settings, &[HEAD]);
}

#[test]
fn frozen_dropout_does_not_change_what_moves() {
    for frozen_dropout in [totune_adapt::Switch::On, totune_adapt::Switch::Off] {
        let mut settings = training(Adaptation::LastK(LastK::new(1, 1e-2)));
        settings.dropout = 0.3;
        settings.frozen_dropout = frozen_dropout;
        check_training(&settings, &[LAYER_1, POOLER, HEAD]);
    }
}

#[track_caller]
fn check(adaptation: Adaptation, moving: &[&str]) {
    check_training(&training(adaptation), moving);
}

/// Takes one step on all eight examples: parameters below `moving` change, the others keep every bit.
#[track_caller]
fn check_training(settings: &Training, moving: &[&str]) {
    check_where(settings, |path| {
        moving.iter().any(|prefix| path.starts_with(prefix))
    });
}

#[track_caller]
fn check_where(settings: &Training, is_moving: impl Fn(&str) -> bool) {
    for device in devices() {
        check_on(&device, settings, &is_moving);
    }
}

#[track_caller]
fn check_on(device: &Device, settings: &Training, is_moving: &dyn Fn(&str) -> bool) {
    let mut settings = settings.clone();
    (settings.batch_size, settings.epochs) = (8, 1);
    let seed = 7;
    let head_seed = stream(seed, "head", 0).next_u64();
    let plan = settings.plan(2).expect("valid settings");
    let prepared = plan
        .prepare(encoder(1, device), seed)
        .expect("modules of these names");
    let before =
        Classifier::new(prepared, &settings.head, 2, head_seed, device).expect("a head that fits");
    let before = parameters(&before);

    let outcome = common::run_on(device, &common::eight(), &settings, seed);
    assert_eq!(outcome.steps, 1);
    let after = parameters(&outcome.model);
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );

    for (path, values) in &before {
        // A key's bias adds the same to all scores of a query, so softmax takes it out again: its gradient is 0.
        if path.ends_with("attention.key.bias") && is_moving(path) {
            continue;
        }
        assert_eq!(after[path] != *values, is_moving(path), "{path}");
    }
    assert_eq!(outcome.params_total, count(&before, |_| true));
    assert_eq!(outcome.params_trainable, count(&before, is_moving));
}

fn count(parameters: &BTreeMap<String, Vec<u32>>, chosen: impl Fn(&str) -> bool) -> usize {
    let chosen = parameters.iter().filter(|(path, _)| chosen(path));
    chosen.map(|(_, values)| values.len()).sum()
}
