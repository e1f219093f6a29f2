//! Cached activations of frozen layers change the time of a run, and nothing else.

use std::cell::RefCell;
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::Result;
use totune_adapt::{
    Activations, Adaptation, Adapters, BitFit, Cache, CacheFile, EntryLayer, Frozen, FrozenPass,
    Interrupted, LastK, Lora, PrefixTuning, StoredDtype, Switch, Trainable, Training,
};
use totune_data::Encoded;
use totune_model::{Bert, Layers, Pooling};

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
            let kept = FrozenPass::new(
                &encoder(1, &device),
                &encoded(&task.train),
                start,
                StoredDtype::F32,
                3,
            )
            .compute();
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
        let kept = FrozenPass::new(&encoder, &encoded(&task.train), start, dtype, 4).compute();
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
            FrozenPass::new(&encoder(1, &device), &encoded(&task.train), start, dtype, 4).n_bytes()
        );
        let (a, b) = (loss(&full), loss(&half));
        assert!((a - b).abs() < 0.02 && a != b, "{dtype:?}: {a} became {b}");
    }
}

/// Notes how many examples are done before each batch, and stops before the batch after `most`.
struct Watch {
    done: RefCell<Vec<usize>>,
    most: usize,
}

impl Watch {
    fn up_to(most: usize) -> Self {
        let done = RefCell::default();
        Self { done, most }
    }

    fn before_batch(&self, done: usize) -> ControlFlow<()> {
        let mut all = self.done.borrow_mut();
        if all.len() == self.most {
            return ControlFlow::Break(());
        }
        all.push(done);
        ControlFlow::Continue(())
    }
}

/// Eight examples in four batches.
struct Eight {
    encoder: Bert,
    rows: Vec<Encoded>,
    start: EntryLayer,
    dtype: StoredDtype,
}

impl Eight {
    fn new(dtype: StoredDtype) -> Self {
        let encoder = encoder(1, &burn::tensor::Device::flex());
        let settings = settings(Adaptation::LastK(LastK::new(1, 1e-2)), Pooling::Mean);
        let start = settings.entry_layers(&encoder).expect("valid settings")[0];
        let rows = encoded(&eight().train);
        Self {
            encoder,
            rows,
            start,
            dtype,
        }
    }

    /// Returns what the file has or computes, with at most so many batches.
    fn get(&self, file: &CacheFile, watch: &Watch) -> Result<Activations> {
        let watch = |done| watch.before_batch(done);
        let pass = FrozenPass::new(&self.encoder, &self.rows, self.start, self.dtype, 2);
        file.get(&pass.watched(&watch))
    }

    /// Its numbers, with the number of batches that had to be computed.
    fn numbers(&self, file: &CacheFile) -> (Vec<f32>, usize) {
        let watch = Watch::up_to(4);
        let activations = self.get(file, &watch).expect("activations");
        let done = watch.done.into_inner();
        assert_eq!(done, [0, 2, 4, 6][4 - done.len()..]);
        (activations.vectors(), done.len())
    }
}

#[test]
fn a_computation_that_was_stopped_goes_on_where_it_was() {
    let eight = Eight::new(StoredDtype::F32);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let undisturbed = eight.numbers(&CacheFile::new(folder.path(), "undisturbed"));
    assert_eq!(undisturbed.1, 4);
    for most in 0..4 {
        let file = CacheFile::new(folder.path(), &format!("stopped{most}"));
        let stopped = eight.get(&file, &Watch::up_to(most));
        let error = stopped.expect_err("stopped before the last batch");
        assert!(error.is::<Interrupted>(), "{error:#}");
        let (numbers, computed) = eight.numbers(&file);
        assert_eq!((numbers, computed), (undisturbed.0.clone(), 4 - most));
        assert!(!file.unfinished().exists());
        assert_eq!(eight.numbers(&file), (undisturbed.0.clone(), 0));
    }
}

#[test]
fn of_an_unfinished_file_whole_batches_of_the_same_activations_are_used() {
    let eight = Eight::new(StoredDtype::F16);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = CacheFile::new(folder.path(), "key");
    let unfinished = |most| {
        let stopped = eight.get(&file, &Watch::up_to(most));
        stopped.expect_err("stopped before the last batch");
        let bytes = fs::read(file.unfinished()).expect("the unfinished file");
        fs::remove_file(file.unfinished()).expect("the unfinished file");
        bytes
    };
    let [none, one, two, three] = [0, 1, 2, 3].map(unfinished);
    let undisturbed = eight.numbers(&file).0;
    let mut flipped = three.clone();
    flipped[(one.len() + two.len()) / 2] ^= 1;
    let mut other = Eight::new(StoredDtype::Bf16);
    other.rows.swap(0, 1);
    for (label, bytes, computed) in [
        ("nothing", &[][..], 4),
        ("a part of the front", &none[..none.len() - 1], 4),
        ("the front", &none, 4),
        ("a part of the first batch", &one[..one.len() - 1], 4),
        ("two batches and a part", &three[..two.len() + 7], 2),
        ("the second of three batches damaged", &flipped, 3),
        ("three batches and more", &[&three[..], b"more"].concat(), 1),
    ] {
        fs::remove_file(folder.path().join("key.states")).expect("the whole file");
        fs::write(file.unfinished(), bytes).expect("an unfinished file");
        assert_eq!(
            eight.numbers(&file),
            (undisturbed.clone(), computed),
            "{label}"
        );
    }
    fs::write(file.unfinished(), &three).expect("an unfinished file");
    fs::remove_file(folder.path().join("key.states")).expect("the whole file");
    assert_eq!(other.numbers(&file).1, 4, "of another dtype");
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_activations_in_memory() {
    let eight = Eight::new(StoredDtype::F16);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let undisturbed = eight.numbers(&CacheFile::new(folder.path(), "key"));
    fs::write(folder.path().join("file"), "").expect("a file");
    let nowhere = CacheFile::new(&folder.path().join("file"), "key");
    assert_eq!(eight.numbers(&nowhere), undisturbed);

    let locked = CacheFile::new(folder.path(), "locked");
    let other = fs::File::create(locked.unfinished()).expect("a file");
    other.lock().expect("a lock");
    assert_eq!(
        eight.numbers(&locked),
        undisturbed,
        "another process writes"
    );
    assert_eq!(fs::read(locked.unfinished()).expect("its file"), b"");
}

#[test]
fn a_file_is_made_once_read_by_others_and_made_again_when_damaged() {
    let eight = Eight::new(StoredDtype::F16);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = CacheFile::new(&folder.path().join("states"), "key");
    let (first, computed) = eight.numbers(&file);
    assert_eq!(computed, 4);
    assert_eq!(
        eight.numbers(&file),
        (first.clone(), 0),
        "the second one reads"
    );
    let path = folder.path().join("states/key.states");
    let whole = fs::read(&path).expect("the file");
    for cut in [0, 10, 20, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).expect("a cut file");
        assert_eq!(
            eight.numbers(&file),
            (first.clone(), 4),
            "cut to {cut} bytes"
        );
    }
    for at in [17, 30, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).expect("a damaged file");
        assert_eq!(eight.numbers(&file), (first.clone(), 4), "byte {at}");
    }
    fs::write(&path, [&whole[..], b"x"].concat()).expect("a longer file");
    assert_eq!(eight.numbers(&file), (first, 4), "with a byte too many");
}

#[test]
fn activations_are_paid_once_however_often_a_run_begins_again() {
    for device in devices() {
        let mut task = eight();
        task.dev = Some(task.test.clone());
        let mut settings = settings(Adaptation::Frozen(Frozen::new(1e-12)), Pooling::Mean);
        settings.epochs = 1;
        let encoder = encoder(1, &device);
        let start = settings.entry_layers(&encoder).expect("valid settings")[0];
        let rows = encoded(&task.train);
        let pass = FrozenPass::new(&encoder, &rows, start, StoredDtype::F32, 3);
        let kept = Arc::new(pass.compute().expect("a device that works"));
        let mut task = with_kept(&task, kept);
        task.dev.as_mut().expect("dev").cached = task.test.cached.clone();
        let once = run_on(&device, &task, &settings, 3);
        settings.restarts = 2;
        let again = run_on(&device, &task, &settings, 3);
        assert_eq!(again.restarts, 2, "on {device:?}");
        assert_eq!(again.cache_seconds, once.cache_seconds);
    }
}
