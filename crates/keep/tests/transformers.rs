//! Folders that transformers loads: `fixtures/make/keep.py` loaded with transformers what `write_the_folders` wrote, and
//! stored the logits that ours are compared with.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use support::{Untrained, devices, pairs, repository, sentences, texts};
use totune_adapt::logits;
use totune_data::{Input, Task};
use totune_keep::{SavedAs, SavedModel};
use totune_model::{HeadSpec, Layers, LinearSpec, Pooling};

/// What transformers gave for one folder.
#[derive(Deserialize)]
struct Expected {
    class: String,
    /// Of each input, its outputs; of a sentence those of its words one after the other.
    logits: Vec<Vec<f32>>,
}

/// What the script is to read.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown {
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

/// Name, encoder, task, head, inputs.
type Case = (
    &'static str,
    &'static str,
    Task,
    Option<HeadSpec>,
    Vec<Input>,
);

fn cases() -> Vec<Case> {
    use Task::{Classification, Regression, Tagging};
    vec![
        ("bert-text", "fixture-bert", Classification, None, texts()),
        ("bert-pair", "fixture-bert", Classification, None, pairs()),
        ("bert-score", "fixture-bert", Regression, None, texts()),
        (
            "bert-first",
            "fixture-bert",
            Classification,
            first(),
            texts(),
        ),
        ("bert-tags", "fixture-bert", Tagging, None, sentences()),
        (
            "roberta-text",
            "roberta-tiny",
            Classification,
            None,
            texts(),
        ),
        (
            "roberta-pair-score",
            "roberta-tiny",
            Regression,
            None,
            pairs(),
        ),
        ("roberta-tags", "roberta-tiny", Tagging, None, sentences()),
        (
            "distilbert-text",
            "distilbert",
            Classification,
            None,
            texts(),
        ),
        ("distilbert-tags", "distilbert", Tagging, None, sentences()),
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
                for (found, expected) in found.iter().zip(expected) {
                    assert!(
                        (found - expected).abs() < 1e-4,
                        "{name}: {found} {expected}"
                    );
                }
            }
            // What was read back is what was compared; its names are the labels.
            let read = SavedModel::open(&saved.dir, &device, 1).expect("a saved model");
            assert_eq!(read.manifest.task, model.task);
        }
    }
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
        let shown = |input: &Input| match input {
            Input::Text(text) => Shown::Text(text.clone()),
            Input::Pair(first, second) => Shown::Several(vec![first.clone(), second.clone()]),
            Input::Words(words) => Shown::Several(words.clone()),
        };
        inputs.insert(case.0, case.4.iter().map(shown).collect::<Vec<_>>());
    }
    let text = serde_json::to_string(&inputs).expect("JSON");
    fs::write(to.join("inputs.json"), text).expect("written");
    println!("{}", to.display());
}
