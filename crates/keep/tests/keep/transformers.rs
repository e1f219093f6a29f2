//! Folders that transformers and PEFT load: `fixtures/make/keep.py` loaded the output of `write_the_folders` with
//! transformers, and stored the logits that ours are compared with.

use crate::support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{Untrained, devices, pairs, repository, sentences, texts};
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use totune_adapt::{Adaptation, Lora, logits};
use totune_data::{Input, Task, sha256_hex};
use totune_keep::{SavedAs, SavedModel, check_adapter};
use totune_model::{
    Activation, Encoder, FullyConnectedSpec, HeadSpec, Layers, LinearSpec, LowRankSpec, Pooling,
    add_low_rank, map_by_path,
};

/// Outputs of transformers for one folder.
#[derive(Deserialize)]
struct Expected {
    class: String,
    /// Outputs of each input; for a sentence those of its words one after the other.
    logits: Vec<Vec<f32>>,
}

/// Input of the script.
#[derive(Serialize)]
#[serde(untagged)]
enum PipelineOutput {
    Text(String),
    Several(Vec<String>),
}

fn first() -> Option<HeadSpec> {
    Some(HeadSpec::Linear(LinearSpec {
        pooling: Pooling::First,
        layers: Layers::Top,
        dropout: 0.1,
    }))
}

/// The layers of ElectraForSequenceClassification and DebertaV2ForSequenceClassification.
fn gelu(width: usize) -> Option<HeadSpec> {
    Some(HeadSpec::FullyConnected(FullyConnectedSpec {
        mlp_hidden: width,
        activation: Activation::Gelu,
        ..FullyConnectedSpec::default()
    }))
}

/// Name, encoder, task, head, inputs.
type Case = (
    &'static str,
    &'static str,
    Task,
    Option<HeadSpec>,
    Vec<Input>,
);

fn cases() -> Vec<Case> {
    use Task::{Classification, MultiLabel, Regression, Tagging};
    let with = |name, encoder, task, (head, inputs)| (name, encoder, task, head, inputs);
    let text = |name, encoder| with(name, encoder, Classification, (None, texts()));
    let pair = |name, encoder| with(name, encoder, Classification, (None, pairs()));
    let tags = |name, encoder| with(name, encoder, Tagging, (None, sentences()));
    vec![
        with("bert-labels", "fixture-bert", MultiLabel, (None, texts())),
        with(
            "roberta-labels",
            "roberta-tiny",
            MultiLabel,
            (None, pairs()),
        ),
        with(
            "distilbert-labels",
            "distilbert",
            MultiLabel,
            (None, texts()),
        ),
        text("bert-text", "fixture-bert"),
        pair("bert-pair", "fixture-bert"),
        with("bert-score", "fixture-bert", Regression, (None, texts())),
        with(
            "bert-first",
            "fixture-bert",
            Classification,
            (first(), texts()),
        ),
        tags("bert-tags", "fixture-bert"),
        text("roberta-text", "roberta-tiny"),
        with(
            "roberta-pair-score",
            "roberta-tiny",
            Regression,
            (None, pairs()),
        ),
        tags("roberta-tags", "roberta-tiny"),
        pair("xlm-roberta-pair", "xlm-roberta-tiny"),
        tags("xlm-roberta-tags", "xlm-roberta-tiny"),
        text("electra-text", "electra-tiny"),
        with(
            "electra-pair",
            "electra-tiny",
            Classification,
            (gelu(18), pairs()),
        ),
        tags("electra-tags", "electra-tiny"),
        text("distilbert-text", "distilbert"),
        tags("distilbert-tags", "distilbert"),
        text("deberta-text", "deberta-tiny"),
        with(
            "deberta-pair",
            "deberta-tiny",
            Classification,
            (gelu(21), pairs()),
        ),
        tags("deberta-tags", "deberta-tiny"),
        text("albert-text", "albert-tiny"),
        pair("albert-pair", "albert-tiny"),
        with(
            "albert-first",
            "albert-tiny",
            Classification,
            (first(), texts()),
        ),
        tags("albert-tags", "albert-tiny"),
        text("modernbert-text", "modernbert-tiny"),
        with(
            "modernbert-pair-score",
            "modernbert-tiny",
            Regression,
            (None, pairs()),
        ),
        tags("modernbert-tags", "modernbert-tiny"),
    ]
}

fn untrained(case: &Case, device: &Device) -> Untrained {
    let (_, encoder, kind, head, inputs) = case;
    Untrained::new((encoder, *kind), head.clone(), inputs, device)
}

#[test]
fn a_saved_folder_gives_the_logits_that_transformers_gives() {
    let path = repository("fixtures/keep/transformers.json");
    let text = fs::read_to_string(path).expect("the script's logits");
    let expected: BTreeMap<String, Expected> = serde_json::from_str(&text).expect("JSON");
    for device in devices() {
        for case in cases() {
            let (name, folder) = (case.0, tempfile::tempdir().expect("a folder"));
            let model = untrained(&case, &device);
            let saved = model
                .save(&folder.path().join(name), &device)
                .expect("saved");
            let expected = &expected[name];
            let class = SavedAs::Transformers {
                class: expected.class.clone(),
            };
            assert_eq!(saved.saved_as, class, "{name}");
            assert_eq!(saved.compared, case.4.len(), "{name}");
            let found = logits(&model.model, &model.sample).expect("logits");
            for (found, expected) in found.iter().zip(&expected.logits) {
                assert_eq!(found.len(), expected.len(), "{name}");
                // Sums of numbers in the hundreds have fewer decimals.
                let largest = expected.iter().fold(100f32, |most, x| most.max(x.abs()));
                let tolerance = largest * 1e-6;
                for (found, expected) in found.iter().zip(expected) {
                    assert!(
                        (found - expected).abs() < tolerance,
                        "{name}: {found} {expected}"
                    );
                }
            }
            // The model that was read back is the one that was compared; its names are the labels.
            let read = SavedModel::open(&saved.dir, &device, 1).expect("a saved model");
            assert_eq!(read.manifest.task, model.task);
        }
    }
}

/// Outputs of PEFT for the adapter of one folder, and the files it read.
#[derive(Deserialize)]
struct Adapter {
    config: String,
    weights: String,
    logits: Vec<Vec<f32>>,
}

/// The cases whose encoders have low-rank updates, and their targets.
fn adapters() -> Vec<(Case, [&'static str; 2])> {
    let targets = |name: &str| match name {
        "bert-text" | "bert-tags" => Some(["query", "value"]),
        "bert-first" => Some(["attention.key", "feed_forward.output"]),
        "roberta-pair-score" => Some(["query", "attention.output"]),
        "xlm-roberta-pair" | "electra-text" | "deberta-text" | "albert-pair" => {
            Some(["query", "value"])
        }
        "distilbert-text" => Some(["value", "feed_forward.intermediate"]),
        _ => None,
    };
    let cases = cases().into_iter();
    cases
        .filter_map(|case| targets(case.0).map(|targets| (case, targets)))
        .collect()
}

/// A model with updates of the top layer that change what it gives.
fn updated((case, targets): &(Case, [&str; 2]), device: &Device) -> Untrained {
    let mut model = untrained(case, device);
    let targets: Vec<String> = targets.iter().map(|name| name.to_string()).collect();
    let lora = Lora {
        alpha: 6.0,
        targets: targets.clone(),
        k: Some(1),
        ..Lora::new(3, 1e-3)
    };
    let n = model.tiny.encoder.n_layers();
    let spec = LowRankSpec {
        rank: lora.rank,
        alpha: lora.alpha,
        dropout: 0.0,
        targets,
        layers: n - 1..n,
    };
    model.training.adaptation = Adaptation::Lora(lora);
    model.model.encoder = add_low_rank(model.model.encoder, &spec, 1).expect("updates");
    model.model.encoder = map_by_path(model.model.encoder, &mut support::Fill);
    model
}

#[test]
fn an_adapter_gives_the_logits_that_peft_gives() {
    let path = repository("fixtures/keep/peft.json");
    let text = fs::read_to_string(path).expect("the script's logits");
    let expected: BTreeMap<String, Adapter> = serde_json::from_str(&text).expect("JSON");
    for device in devices() {
        for case in adapters() {
            let (name, folder) = (case.0.0, tempfile::tempdir().expect("a folder"));
            let model = updated(&case, &device);
            let to = folder.path().join(name);
            model.save(&to, &device).expect("saved");
            let expected = &expected[name];
            let hash =
                |file: &str| sha256_hex(&fs::read(to.join("adapter").join(file)).expect(file));
            assert_eq!(hash("adapter_config.json"), expected.config, "{name}");
            assert_eq!(
                hash("adapter_model.safetensors"),
                expected.weights,
                "{name}"
            );
            let found = logits(&model.model, &model.sample).expect("logits");
            for (found, expected) in found.iter().flatten().zip(expected.logits.iter().flatten()) {
                assert!(
                    (found - expected).abs() < 1e-4,
                    "{name}: {found} {expected}"
                );
            }
            let error = SavedModel::open(&to.join("adapter"), &device, 1).expect_err("no model");
            assert!(
                error.to_string().contains("is an adapter in PEFT's format"),
                "{error}"
            );
        }
    }
}

#[test]
fn an_adapter_of_what_peft_cannot_hold_is_refused() {
    let device = Device::flex();
    let (case, targets) = adapters().swap_remove(0);
    let mut model = updated(&(case, targets), &device);
    let architecture = model.tiny.card.architecture.clone();
    check_adapter(&architecture, &model.training, Task::Classification).expect("an adapter");
    let error = check_adapter(&architecture, &model.training, Task::Ordinal).expect_err("no class");
    assert!(
        error
            .to_string()
            .contains("transformers has no ordinal classification"),
        "{error}"
    );
    model.training.head = toml::from_str("pooling = \"mean\"\ndropout = 0.1").expect("a head");
    let error = check_adapter(&architecture, &model.training, Task::Classification);
    let error = error.expect_err("no class");
    assert!(
        error
            .to_string()
            .contains("--adapter: PEFT needs a class of transformers"),
        "{error}"
    );
    // PEFT updates the queries, keys and values of this encoder as one matrix.
    let case = ("", "modernbert-tiny", Task::Classification, None, texts());
    let modernbert = untrained(&case, &device).tiny.card.architecture;
    let error =
        check_adapter(&modernbert, &model.training, Task::Classification).expect_err("one matrix");
    assert!(error.to_string().contains("share a matrix"), "{error}");
    let plain = untrained(&cases()[0], &device);
    let error = check_adapter(&architecture, &plain.training, Task::Classification);
    let error = error.expect_err("no updates");
    assert!(error.to_string().contains("expected `lora`"), "{error}");
}

/// Writes the folders that `fixtures/make/peft_adapters.py` reads: models with adapters, and below `base` the encoders that
/// these are for.
#[test]
#[ignore = "only before fixtures/make/peft_adapters.py is run again"]
fn write_the_adapters() {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adapters");
    let _ = fs::remove_dir_all(&to);
    let device = Device::flex();
    let mut inputs = BTreeMap::new();
    for case in adapters() {
        let name = case.0.0;
        updated(&case, &device)
            .save(&to.join(name), &device)
            .expect("saved");
        let base = untrained(&case.0, &device);
        base.save(&to.join("base").join(name), &device)
            .expect("saved");
        inputs.insert(name, shown(&case.0));
    }
    write_inputs(&to, &inputs);
}

/// Writes the folders that `fixtures/make/keep.py` reads.
#[test]
#[ignore = "only before fixtures/make/keep.py is run again"]
fn write_the_folders() {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("keep");
    let _ = fs::remove_dir_all(&to);
    let mut inputs = BTreeMap::new();
    for case in cases() {
        let device = Device::flex();
        untrained(&case, &device)
            .save(&to.join(case.0), &device)
            .expect("saved");
        inputs.insert(case.0, shown(&case));
    }
    write_inputs(&to, &inputs);
}

fn shown(case: &Case) -> Vec<PipelineOutput> {
    let shown = |input: &Input| match input {
        Input::Text(text) => PipelineOutput::Text(text.clone()),
        Input::Pair(first, second) => PipelineOutput::Several(vec![first.clone(), second.clone()]),
        Input::Words(words) => PipelineOutput::Several(words.clone()),
    };
    case.4.iter().map(shown).collect()
}

fn write_inputs(to: &Path, inputs: &BTreeMap<&str, Vec<PipelineOutput>>) {
    let text = serde_json::to_string(inputs).expect("JSON");
    fs::write(to.join("inputs.json"), text).expect("written");
    println!("{}", to.display());
}
