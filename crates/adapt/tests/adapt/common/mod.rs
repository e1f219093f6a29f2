//! A tiny encoder and tiny tasks, and helpers of the numeric tests.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use totune_adapt::{
    Activations, Adaptation, CachedActivations, Examples, Objective, Outcome, Regression, Row,
    TaskData, Training, fit,
};
use totune_data::{Encoded, Target, characters};
use totune_model::{
    Architecture, Bert, BertConfig, Elmo, EncoderCatalogue, PathVisitor, RandomWeights, Shape,
    visit_by_path,
};

mod settings;

pub use settings::linear;

/// The devices to test on: flex, and LibTorch where it is built in, since it has fused operations of its own, on each
/// GPU as well.
pub fn devices() -> Vec<Device> {
    let mut devices = vec![Device::flex()];
    #[cfg(feature = "tch")]
    #[allow(deprecated, reason = "burn 0.22 is the last release with LibTorch")]
    devices.push(Device::libtorch());
    devices.extend(totune_model::fused::cuda_devices());
    devices
}

/// The same without flex, where there is LibTorch, which is several times as fast in tests: for what strategies do, rather
/// than devices.
pub fn fast_devices() -> Vec<Device> {
    let mut devices = devices();
    if devices.len() > 1 {
        devices.remove(0);
    }
    devices
}

/// Two layers, 16 wide, 30 wordpieces.
pub fn shape() -> BertConfig {
    BertConfig {
        vocab_size: 30,
        hidden_size: 16,
        num_hidden_layers: 2,
        num_attention_heads: 2,
        intermediate_size: 32,
        max_position_embeddings: 12,
        type_vocab_size: 2,
        layer_norm_eps: 1e-12,
        hidden_dropout_prob: 0.1,
        attention_probs_dropout_prob: 0.1,
        pooler: totune_model::PoolerKind::Tanh,
    }
}

/// An encoder of this shape, with random weights.
pub fn encoder(seed: u64, device: &Device) -> Bert {
    // Wider than BERT's 0.02, so that so small a network has something to say.
    shape()
        .load(&mut RandomWeights::new(seed, 0.3), device)
        .expect("random weights have every shape")
}

/// A regression with one penalty, for so few examples.
pub fn probe() -> Regression {
    Regression {
        c: vec![1.0],
        alpha: vec![1.0],
        folds: 2,
        max_iter: 1000,
        tol: 1e-9,
    }
}

/// Settings without dropout and with four examples per step.
pub fn training(adaptation: Adaptation) -> Training {
    let mut settings = settings::training(adaptation);
    settings.dropout = 0.0;
    linear(&mut settings).dropout = 0.0;
    settings.epochs = 2;
    settings.max_length = 12;
    settings
}

/// Eight sentences of different lengths with labels that follow no rule, to learn by heart; test is the same as train.
pub fn eight() -> TaskData {
    let labels = [0, 1, 1, 0, 1, 0, 0, 1];
    let rows = (0..8u32).zip(labels).map(|(i, label)| {
        let words = (0..3 + i % 4).map(|j| 5 + (7 * i + 11 * j) % 25);
        let ids: Vec<u32> = [2].into_iter().chain(words).chain([3]).collect();
        let encoded = Encoded {
            type_ids: vec![0; ids.len()],
            ids,
            ..Encoded::default()
        };
        Row {
            id: format!("example-{i}"),
            encoded,
            target: Target::Class(label),
            words: None,
        }
    });
    let examples = Examples {
        rows: rows.collect(),
        ..Examples::default()
    };
    TaskData {
        objective: Objective::Class {
            labels: vec!["no".into(), "yes".into()],
            positive: Some(1),
        },
        metrics: vec!["accuracy".into()],
        train: examples.clone(),
        dev: None,
        test: examples,
        predict: Vec::new(),
    }
}

/// Runs on the fastest device without a watcher.
pub fn run(task: &TaskData, training: &Training, seed: u64) -> Outcome<Bert> {
    run_on(&fast_devices()[0], task, training, seed)
}

/// Runs without a watcher.
pub fn run_on(device: &Device, task: &TaskData, training: &Training, seed: u64) -> Outcome<Bert> {
    fit(encoder(1, device), task, training, seed, &mut ()).expect("valid settings and data")
}

/// An ELMo of the fixture's shape, with weights that let its states matter.
pub fn elmo(device: &Device) -> Elmo {
    let cards = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../encoders");
    let cards = EncoderCatalogue::read(&cards).expect("cards");
    let Architecture::Elmo(options) = &cards.find("fixture-elmo").expect("a card").architecture
    else {
        panic!("the fixture is no ELMo");
    };
    Elmo::load(options, &mut RandomWeights::new(1, 0.3), device).expect("weights of every shape")
}

/// The eight sentences as ELMo reads them.
pub fn spelled() -> TaskData {
    let mut task = eight();
    for examples in [&mut task.train, &mut task.test] {
        for row in &mut examples.rows {
            let words = row
                .encoded
                .ids
                .iter()
                .map(|id| characters::spell(&format!("word{id}")));
            row.encoded.characters = words.collect();
        }
    }
    task
}

/// Returns the task with the cached activations of all its examples.
pub fn with_kept(task: &TaskData, activations: Arc<Activations>) -> TaskData {
    let mut task = task.clone();
    for examples in [&mut task.train, &mut task.test] {
        examples.cached = vec![CachedActivations {
            activations: activations.clone(),
            places: (0..examples.rows.len()).collect(),
        }];
    }
    task
}

/// The tokens of all examples.
pub fn encoded(examples: &Examples) -> Vec<Encoded> {
    examples
        .rows
        .iter()
        .map(|row| row.encoded.clone())
        .collect()
}

/// Gives the examples these targets.
pub fn retarget(examples: &mut Examples, targets: impl IntoIterator<Item = Target>) {
    for (row, target) in examples.rows.iter_mut().zip(targets) {
        row.target = target;
    }
}

/// The final score of a split, by name.
#[track_caller]
pub fn final_score(outcome: &Outcome<Bert>, split: &str, metric: &str) -> f64 {
    let mut found = outcome
        .scores
        .iter()
        .filter(|s| s.is_final && s.split == split && s.metric == metric);
    let score = found
        .next()
        .unwrap_or_else(|| panic!("no final {metric} on {split}"));
    assert!(found.next().is_none(), "{metric} on {split} is there twice");
    score.value
}

/// Every parameter's values as bits, by path.
pub fn parameters<M: Module>(module: &M) -> BTreeMap<String, Vec<u32>> {
    visit_by_path(module, Values::default()).0
}

#[derive(Default)]
struct Values(BTreeMap<String, Vec<u32>>);

impl PathVisitor for Values {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        let values = param
            .val()
            .into_data()
            .try_to_vec::<f32>()
            .expect("32-bit floats");
        self.0.insert(
            path.to_string(),
            values.into_iter().map(f32::to_bits).collect(),
        );
    }
}
