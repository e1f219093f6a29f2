//! Strategies on architectures with modules of their own: what is trained, and runs from cached activations.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use rand::Rng;
use totune_adapt::{
    Adaptation, Adapters, AutoFreeze, BitFit, Cache, Frozen, FrozenPass, Full, LastK, Lora, LpFt,
    PrefixTuning, StoredDtype, Switch, Training, fit,
};
use totune_data::stream;
use totune_model::{AnyEncoder, Classifier, Encoder, EncoderCatalogue, Pooling};

use crate::common::{devices, eight, encoded, linear, parameters, probe, training, with_kept};

/// The fixtures, with the linear layers that LoRA updates.
const ENCODERS: [(&str, &str); 2] = [
    ("modernbert-tiny", "attention.query_key_value"),
    ("deberta-tiny", "attention.query"),
];

fn fixture(name: &str, device: &Device) -> AnyEncoder {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cards = EncoderCatalogue::read(&root.join("encoders")).expect("cards");
    let card = cards.find(name).expect("a card");
    let loaded = card.load(&[root.join("fixtures/encoders")], device);
    loaded.expect("a committed checkpoint").encoder
}

fn settings(adaptation: Adaptation) -> Training {
    let mut settings = training(adaptation);
    linear(&mut settings).pooling = Pooling::First;
    settings
}

/// Updates of one linear layer in each of the top `k` layers.
fn lora(target: &str, k: usize) -> Adaptation {
    let mut lora = Lora::new(2, 1e-2);
    (lora.k, lora.targets) = (Some(k), vec![target.to_string()]);
    Adaptation::Lora(lora)
}

/// Prefixes in the top `k` layers.
fn prefixes(k: usize) -> Adaptation {
    Adaptation::PrefixTuning(PrefixTuning {
        k: Some(k),
        ..PrefixTuning::new(2, 1e-2)
    })
}

#[test]
fn each_strategy_trains_its_parameters_and_no_others() {
    for device in devices() {
        for (name, target) in ENCODERS {
            let top = fixture(name, &device).n_layers() - 1;
            let is_top = move |path: &str| path.starts_with(&format!("encoder.layers.{top}."));
            let lp_ft = LpFt {
                probe: probe(),
                ..LpFt::new(1e-2)
            };
            for all in [
                Adaptation::Full(Full::new(1e-2)),
                Adaptation::AutoFreeze(AutoFreeze::new(1e-2)),
                Adaptation::LpFt(lp_ft),
            ] {
                check(&device, name, all, &|_| true);
            }
            check(
                &device,
                name,
                Adaptation::LastK(LastK::new(1, 1e-2)),
                &is_top,
            );
            check(
                &device,
                name,
                Adaptation::Frozen(Frozen::new(1e-2)),
                &|_| false,
            );
            check(&device, name, lora(target, top + 1), &|path| {
                path.contains(".lora.")
            });
            let adapters = Adaptation::Adapters(Adapters::new(2, 1e-2));
            check(&device, name, adapters, &|path| {
                let is_layer = path.starts_with("encoder.layers.");
                path.contains(".adapter.") || (is_layer && path.contains("norm."))
            });
            if name == "deberta-tiny" {
                let bitfit = Adaptation::BitFit(BitFit::new(1e-2));
                check(&device, name, bitfit, &|path| path.ends_with(".bias"));
            } else {
                check(&device, name, prefixes(top + 1), &|path| {
                    path.contains(".prefix.")
                });
            }
        }
    }
}

/// Takes one step: the head and the parameters for which `is_trained` is true change, the others keep every bit.
#[track_caller]
fn check(device: &Device, name: &str, adaptation: Adaptation, is_trained: &dyn Fn(&str) -> bool) {
    let mut settings = settings(adaptation);
    (settings.batch_size, settings.epochs) = (8, 1);
    let (seed, encoder) = (7, fixture(name, device));
    let plan = settings.plan(encoder.n_layers()).expect("valid settings");
    let prepared = plan.prepare(encoder, seed).expect("modules of these names");
    let head_seed = stream(seed, "head", 0).next_u64();
    let before = Classifier::new(prepared, &settings.head, 2, head_seed, device);
    let before = parameters(&before.expect("a head that fits"));
    let outcome = fit(fixture(name, device), &eight(), &settings, seed, &mut ());
    let after = parameters(&outcome.expect("a run").model);
    assert!(before.keys().eq(after.keys()));
    for (path, values) in &before {
        // A key's bias adds the same to all scores of a query, so its gradient is 0.
        if path.ends_with("attention.key.bias") {
            continue;
        }
        let expected = path.starts_with("head.") || is_trained(path);
        assert_eq!(after[path] != *values, expected, "{name}: {path}");
    }
}

#[test]
fn a_run_from_cached_activations_takes_the_steps_of_one_from_tokens() {
    for device in devices() {
        for (name, target) in ENCODERS {
            for (adaptation, pooling) in [
                (Adaptation::LastK(LastK::new(2, 1e-2)), Pooling::Mean),
                (Adaptation::Frozen(Frozen::new(1e-2)), Pooling::First),
                (lora(target, 1), Pooling::First),
            ] {
                check_cache(&device, name, adaptation, pooling);
            }
        }
        check_cache(&device, "modernbert-tiny", prefixes(2), Pooling::Mean);
    }
}

#[track_caller]
fn check_cache(device: &Device, name: &str, adaptation: Adaptation, pooling: Pooling) {
    let mut settings = settings(adaptation);
    linear(&mut settings).pooling = pooling;
    (settings.dropout, settings.frozen_dropout) = (0.2, Switch::Off);
    settings.cache = Cache::On {
        dtype: StoredDtype::F32,
    };
    let (task, encoder) = (eight(), fixture(name, device));
    let starts = settings.entry_layers(&encoder).expect("valid settings");
    let [start] = starts[..] else {
        panic!("{name}: expected one entry layer, found {starts:?}");
    };
    let rows = encoded(&task.train);
    let cached = FrozenPass::new(&encoder, &rows, start, StoredDtype::F32, 3).compute();
    let cached = with_kept(&task, Arc::new(cached.expect("a device that works")));
    let scores = |task| {
        let outcome = fit(fixture(name, device), task, &settings, 7, &mut ());
        outcome.expect("a run").scores
    };
    let (from_tokens, from_cache) = (scores(&task), scores(&cached));
    assert_eq!(from_tokens.len(), from_cache.len());
    for (a, b) in from_tokens.iter().zip(&from_cache) {
        assert_eq!((a.epoch, a.split, &a.metric), (b.epoch, b.split, &b.metric));
        assert!(
            (a.value - b.value).abs() < 1e-4,
            "{name} {start:?}: {a:?} became {b:?}"
        );
    }
}

#[test]
fn bitfit_of_an_encoder_without_biases_says_that_there_are_none() {
    let settings = settings(Adaptation::BitFit(BitFit::new(1e-2)));
    let encoder = fixture("modernbert-tiny", &Device::flex());
    let outcome = fit(encoder, &eight(), &settings, 7, &mut ());
    let error = outcome.map(|_| ()).expect_err("refused");
    let error = format!("{error:#}");
    assert!(error.ends_with("the encoder has no biases"), "{error}");
}

/// Strategies on an ALBERT, whose one layer is trained in all its applications.
#[test]
fn each_strategy_trains_the_one_layer_of_an_albert_or_nothing_of_it() {
    for device in devices() {
        let name = "albert-tiny";
        assert_eq!(fixture(name, &device).n_layers(), 1);
        let layer = |path: &str| path.starts_with("encoder.layers.0.");
        let is_pooler = |path: &str| path.starts_with("encoder.pooler.");
        check(&device, name, Adaptation::Full(Full::new(1e-2)), &|path| {
            !is_pooler(path)
        });
        check(
            &device,
            name,
            Adaptation::Frozen(Frozen::new(1e-2)),
            &|_| false,
        );
        check(&device, name, lora("attention.value", 1), &|path| {
            path.contains(".lora.")
        });
        let adapters = Adaptation::Adapters(Adapters::new(2, 1e-2));
        check(&device, name, adapters, &|path| {
            path.contains(".adapter.") || (layer(path) && path.contains("norm."))
        });
        let frozen = Adaptation::Frozen(Frozen::new(1e-2));
        check_cache(&device, name, frozen, Pooling::Pooler);
    }
}

#[test]
fn a_deberta_has_no_place_for_prefixes() {
    let encoder = fixture("deberta-tiny", &Device::flex());
    let outcome = fit(encoder, &eight(), &settings(prefixes(1)), 7, &mut ());
    let error = outcome.map(|_| ()).expect_err("refused");
    assert_eq!(
        format!("{error:#}"),
        "adaptation.kind: found an encoder without attention that takes a prefix, expected a transformer without \
         relative positions"
    );
}
