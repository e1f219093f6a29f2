//! Cached activations of frozen layers change the time of a run, and nothing else.

use std::cell::Cell;
use std::fs;
use std::sync::Arc;

use totune_adapt::{
    Activations, Adaptation, Adapters, BitFit, Cache, CacheFile, Frozen, Interrupted, LastK, Lora,
    PrefixTuning, StoredDtype, Switch, Trainable, Training, fit,
};
use totune_model::{Layers, Pooling};

use crate::common::{devices, eight, encoded, encoder, linear, run_on, training, with_kept};

fn settings(adaptation: Adaptation, pooling: Pooling) -> Training {
    let mut settings = training(adaptation);
    linear(&mut settings).pooling = pooling;
    linear(&mut settings).dropout = 0.2;
    settings.dropout = 0.2;
    settings.frozen_dropout = Switch::Off;
    settings.epochs = 5;
    settings.cache = Cache::On {
        dtype: StoredDtype::F32,
    };
    settings
}

#[test]
fn a_run_from_kept_states_takes_the_steps_of_one_from_tokens() {
    let mut tuned_pooler = Frozen::new(1e-2);
    tuned_pooler.pooler = Trainable::Yes;
    let mut bitfit = BitFit::new(1e-2);
    (bitfit.k, bitfit.embeddings) = (Some(1), Trainable::No);
    let mut lora = Lora::new(2, 1e-2);
    (lora.k, lora.dropout) = (Some(1), 0.2);
    let mut adapters = Adapters::new(2, 1e-2);
    adapters.k = Some(1);
    let mut prefixes = PrefixTuning::new(2, 1e-2);
    prefixes.k = Some(1);
    for device in devices() {
        let frozen = || Adaptation::Frozen(Frozen::new(1e-2));
        let top = Layers::Top;
        let mix = Layers::mix;
        for (adaptation, pooling, layers) in [
            (frozen(), Pooling::Mean, top),
            (frozen(), Pooling::Pooler, top),
            (frozen(), Pooling::Mean, mix(true)),
            (frozen(), Pooling::First, mix(false)),
            (
                Adaptation::Frozen(tuned_pooler.clone()),
                Pooling::Pooler,
                top,
            ),
            (Adaptation::LastK(LastK::new(1, 1e-2)), Pooling::Mean, top),
            (Adaptation::LastK(LastK::new(1, 1e-2)), Pooling::First, top),
            (Adaptation::BitFit(bitfit.clone()), Pooling::Mean, top),
            (Adaptation::Lora(lora.clone()), Pooling::Mean, top),
            (Adaptation::Adapters(adapters.clone()), Pooling::Mean, top),
            (
                Adaptation::PrefixTuning(prefixes.clone()),
                Pooling::Mean,
                top,
            ),
        ] {
            let label = format!(
                "{} {pooling:?} {layers:?} on {device:?}",
                adaptation.label()
            );
            let mut settings = settings(adaptation, pooling);
            linear(&mut settings).layers = layers;
            let task = eight();
            let starts = settings
                .entry_layers(&encoder(1, &device))
                .expect("valid settings");
            let [start] = starts[..] else {
                panic!("{label}: expected one start, found {starts:?}");
            };
            let kept = Activations::compute(
                &encoder(1, &device),
                &encoded(&task.train),
                start,
                StoredDtype::F32,
                3,
            );
            let kept = Arc::new(kept.expect("a device that works"));
            let from_tokens = run_on(&device, &task, &settings, 7);
            let from_kept = run_on(&device, &with_kept(&task, kept), &settings, 7);
            assert!(from_kept.cache_seconds > 0.0 && from_tokens.cache_seconds == 0.0);
            assert!(from_kept.train_seconds > from_kept.cache_seconds, "{label}");
            assert_eq!(from_tokens.scores.len(), from_kept.scores.len(), "{label}");
            for (a, b) in from_tokens.scores.iter().zip(&from_kept.scores) {
                assert_eq!((a.epoch, a.split, &a.metric), (b.epoch, b.split, &b.metric));
                let difference = (a.value - b.value).abs();
                assert!(difference < 1e-4, "{label}: {a:?} became {b:?}");
            }
        }
    }
}

#[test]
fn dropout_above_the_frozen_layers_is_the_same_and_matters() {
    let device = burn::tensor::Device::flex();
    let settings = settings(Adaptation::LastK(LastK::new(1, 1e-2)), Pooling::Mean);
    let mut without = settings.clone();
    without.dropout = 0.0;
    let loss = |settings: &Training| {
        let run = run_on(&device, &eight(), settings, 7);
        run.scores[0].value
    };
    assert_ne!(loss(&settings), loss(&without));
}

#[test]
fn halves_are_near_and_take_half_the_room() {
    let device = burn::tensor::Device::flex();
    let settings = settings(Adaptation::LastK(LastK::new(1, 1e-3)), Pooling::Mean);
    let start = settings
        .entry_layers(&encoder(1, &device))
        .expect("valid settings")[0];
    let task = eight();
    let compute = |dtype| {
        let encoder = encoder(1, &device);
        let kept = Activations::compute(&encoder, &encoded(&task.train), start, dtype, 4);
        Arc::new(kept.expect("a device that works"))
    };
    let full = compute(StoredDtype::F32);
    let loss = |kept: &Arc<Activations>| {
        let run = run_on(&device, &with_kept(&task, kept.clone()), &settings, 7);
        run.scores[0].value
    };
    for dtype in [StoredDtype::F16, StoredDtype::Bf16] {
        let half = compute(dtype);
        assert_eq!(2 * half.n_bytes(), full.n_bytes());
        assert_eq!(
            half.n_bytes(),
            Activations::estimate(&encoder(1, &device), &encoded(&task.train), start, dtype)
        );
        let (a, b) = (loss(&full), loss(&half));
        assert!((a - b).abs() < 0.02 && a != b, "{dtype:?}: {a} became {b}");
    }
}

#[test]
fn a_computation_ends_where_it_is_stopped_and_leaves_no_file() {
    let device = burn::tensor::Device::flex();
    let settings = settings(Adaptation::LastK(LastK::new(1, 1e-2)), Pooling::Mean);
    let encoder = encoder(1, &device);
    let start = settings.entry_layers(&encoder).expect("valid settings")[0];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let batches = Cell::new(0);
    let is_stopped = || {
        batches.set(batches.get() + 1);
        batches.get() == 2
    };
    let stopped = CacheFile::new(folder.path(), "key").get(|| {
        let rows = encoded(&eight().train);
        Activations::compute_unless(&is_stopped, &encoder, &rows, start, StoredDtype::F32, 2)
    });
    let error = stopped.expect_err("stopped before the second batch");
    assert!(error.is::<Interrupted>(), "{error:#}");
    assert_eq!(batches.get(), 2, "eight rows are four batches");
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

#[test]
fn a_file_is_made_once_read_by_others_and_made_again_when_damaged() {
    let device = burn::tensor::Device::flex();
    let settings = settings(Adaptation::LastK(LastK::new(1, 1e-2)), Pooling::Mean);
    let start = settings
        .entry_layers(&encoder(1, &device))
        .expect("valid settings")[0];
    let task = eight();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = CacheFile::new(&folder.path().join("states"), "key");
    let mut computed = 0;
    let mut get = || {
        let kept = file.get(|| {
            computed += 1;
            let encoder = encoder(1, &device);
            let rows = encoded(&task.train);
            Activations::compute(&encoder, &rows, start, StoredDtype::F16, 4)
        });
        let kept = Arc::new(kept.expect("a folder that can be written to"));
        let task = with_kept(&task, kept);
        let run = fit(encoder(1, &device), &task, &settings, 7, &mut ());
        (
            run.expect("a run").scores.last().expect("scores").value,
            computed,
        )
    };
    let (first, _) = get();
    assert_eq!(get(), (first, 1), "the second one reads");
    let path = folder.path().join("states/key.states");
    let whole = fs::read(&path).expect("the file");
    for (cut, times) in [
        (0, 2),
        (10, 3),
        (20, 4),
        (whole.len() / 2, 5),
        (whole.len() - 1, 6),
    ] {
        fs::write(&path, &whole[..cut]).expect("a cut file");
        assert_eq!(get(), (first, times), "cut to {cut} bytes");
    }
    fs::write(&path, [&whole[..], b"x"].concat()).expect("a longer file");
    assert_eq!(get(), (first, 7), "with a byte too many");
}
