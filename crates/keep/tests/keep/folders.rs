//! Reading of saved folders with totune: heads of every kind, error cases, and files whose rows are streamed.

use std::fs;
use std::path::Path;

use crate::support::{Untrained, devices, pairs, sentences, texts};
use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use totune_adapt::{Adaptation, Adapters, PrefixTuning};
use totune_data::{Input, Pairs, Task};
use totune_keep::{SavedAs, SavedModel};
use totune_model::{HeadSpec, LowRankSpec, PathMapper, add_low_rank, map_by_path};

fn head(toml: &str) -> Option<HeadSpec> {
    Some(toml::from_str(toml).expect("a head"))
}

/// A classifier with a linear head on the smallest encoder.
fn classifier(device: &Device) -> Untrained {
    let task = Task::Classification;
    Untrained::new(("fixture-bert", task), None, &texts(), device)
}

/// Saves a model and reads it back.
fn read_back(model: &Untrained, to: &Path, device: &Device) -> (SavedAs, SavedModel) {
    let saved = model.save(to, device).expect("saved");
    assert_eq!(saved.compared, model.sample.len());
    (
        saved.saved_as,
        SavedModel::open(to, device, 1).expect("a saved model"),
    )
}

#[test]
fn heads_that_transformers_lacks_come_back_too() {
    use Task::{Classification, Regression, Tagging};
    let cases = [
        (
            "fixture-bert",
            Classification,
            "pooling = \"mean\"\ndropout = 0.1",
            "pooling = \"mean\"",
        ),
        (
            "fixture-bert",
            Regression,
            "pooling = \"mean\"\ndropout = 0.1\nlayers = { kind = \"scalar-mix\", embeddings = true }",
            "a mix of layers",
        ),
        (
            "fixture-bert",
            Tagging,
            "kind = \"tagger\"\nrecurrent-layers = 1\nhidden = 5\noutput = \"crf\"",
            "a BiLSTM with a CRF",
        ),
        (
            "fixture-bert",
            Classification,
            "kind = \"bcn\"\npre-encode = 8\nhidden = 6\nmaxout = [12, 6]",
            "`bcn`",
        ),
        (
            "fixture-elmo",
            Classification,
            "pooling = \"max\"\ndropout = 0.1",
            "no elmo",
        ),
        (
            "distilbert",
            Classification,
            "kind = \"fully-connected\"\nmlp-hidden = 10",
            "`fully-connected`",
        ),
        (
            "modernbert-tiny",
            Classification,
            "pooling = \"mean\"\ndropout = 0.1",
            "pooling",
        ),
        (
            "deberta-tiny",
            Classification,
            "pooling = \"mean\"\ndropout = 0.1",
            "pooling",
        ),
    ];
    for (encoder, kind, spec, reason) in cases {
        check_own_form((encoder, kind), spec, reason);
    }
}

/// Sets one weight of the encoder's last layer norm to zero.
struct Zero;

impl PathMapper for Zero {
    fn map<const D: usize>(&mut self, path: &str, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !path.split('.').any(|name| name == "final_norm") {
            return param;
        }
        param.map(|weight| {
            let n = weight.dims()[0];
            let kept = (0..n).map(|i| f32::from(i > 0)).collect();
            let kept = Tensor::from_data(TensorData::new::<f32, _>(kept, [n]), &weight.device());
            weight * kept
        })
    }
}

#[test]
fn a_norm_that_multiplies_by_zero_cannot_be_divided_out() {
    let device = Device::flex();
    let task = Task::Classification;
    let mut model = Untrained::new(("modernbert-tiny", task), None, &texts(), &device);
    let folder = tempfile::tempdir().expect("a folder");
    let (saved_as, _) = read_back(&model, &folder.path().join("one"), &device);
    assert!(matches!(saved_as, SavedAs::Transformers { .. }));
    model.model.encoder = map_by_path(model.model.encoder, &mut Zero);
    let (saved_as, _) = read_back(&model, &folder.path().join("zero"), &device);
    let SavedAs::Totune { reason } = saved_as else {
        panic!("nothing divides by zero");
    };
    assert!(reason.contains("multiplies by zero"), "{reason}");
}

/// Saves a head of ours with its encoder, for this reason, and reads both back.
#[track_caller]
fn check_own_form((encoder, kind): (&str, Task), spec: &str, reason: &str) {
    for device in devices() {
        let folder = tempfile::tempdir().expect("a folder");
        let inputs = if kind == Task::Tagging {
            sentences()
        } else {
            texts()
        };
        let model = Untrained::new((encoder, kind), head(spec), &inputs, &device);
        let (saved_as, read) = read_back(&model, &folder.path().join("m"), &device);
        let SavedAs::Totune { reason: found } = saved_as else {
            panic!("{encoder} {spec}: transformers has no such head");
        };
        assert!(found.contains(reason), "{found}");
        let card = fs::read_to_string(folder.path().join("m/README.md")).expect("a card");
        assert!(
            card.contains("transformers cannot load the whole of it"),
            "{card}"
        );
        let predictions = read.predict(inputs.clone()).expect("predictions");
        assert_eq!(predictions.len(), inputs.len());
        for (prediction, input) in predictions.iter().zip(&inputs) {
            let words = input.words().map_or(0, <[String]>::len);
            assert_eq!(prediction.predicted.tags().map_or(0, <[usize]>::len), words);
        }
    }
}

#[test]
fn low_rank_updates_are_merged() {
    let device = Device::flex();
    let mut model = Untrained::new(
        ("fixture-bert", Task::Classification),
        None,
        &texts(),
        &device,
    );
    let spec = LowRankSpec {
        rank: 2,
        alpha: 4.0,
        dropout: 0.0,
        targets: vec!["query".into()],
        layers: 0..4,
    };
    model.model.encoder = add_low_rank(model.model.encoder, &spec, 1).expect("updates");
    let folder = tempfile::tempdir().expect("a folder");
    let (saved_as, _) = read_back(&model, &folder.path().join("m"), &device);
    assert!(matches!(saved_as, SavedAs::Transformers { .. }));
}

#[test]
fn adapters_are_kept_beside_the_head() {
    let adapters = Adapters {
        k: Some(2),
        ..Adapters::new(3, 1e-3)
    };
    check_added(
        Adaptation::Adapters(adapters),
        "transformers has no bottleneck adapters",
        "encoder.layers.3.attention.adapter.up.bias",
    );
}

#[test]
fn prefixes_are_kept_beside_the_head() {
    let prefixes = PrefixTuning {
        k: Some(2),
        ..PrefixTuning::new(3, 1e-2)
    };
    check_added(
        Adaptation::PrefixTuning(prefixes),
        "transformers has no trained prefixes",
        "encoder.layers.3.attention.prefix.value",
    );
}

/// Saves a model with the modules that `adaptation` adds: what is read back has them from the file of the head, one of
/// them under the name `path`.
#[track_caller]
fn check_added(adaptation: Adaptation, expected: &str, path: &str) {
    let device = Device::flex();
    let mut model = Untrained::new(
        ("fixture-bert", Task::Classification),
        None,
        &texts(),
        &device,
    );
    model.training.adaptation = adaptation;
    let plan = model.training.plan(4).expect("valid settings");
    model.model.encoder = plan.prepare(model.model.encoder, 1).expect("a transformer");
    let folder = tempfile::tempdir().expect("a folder");
    let (saved_as, read) = read_back(&model, &folder.path().join("m"), &device);
    let SavedAs::Totune { reason } = saved_as else {
        panic!("a class of transformers: {saved_as:?}");
    };
    assert_eq!(reason, expected);
    let names = |path: &str| {
        let path = folder.path().join("m").join(path);
        let bytes = fs::read(path).expect("weights");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    assert!(!names("model.safetensors").contains(path));
    assert!(names("head.safetensors").contains(path));
    read.predict(vec![texts()[0].clone()])
        .expect("a prediction");
}

#[test]
fn what_is_there_is_never_replaced_and_nothing_is_left_half_written() {
    let device = Device::flex();
    let model = classifier(&device);
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("m");
    fs::create_dir(&to).expect("a folder");
    model
        .save(&to, &device)
        .expect("an empty folder is as good as none");
    let error = model
        .save(&to, &device)
        .expect_err("it is there")
        .to_string();
    assert!(error.contains("already there and not empty"), "{error}");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    model.save(&file, &device).expect_err("a file is no folder");
    model
        .save(&file.join("m"), &device)
        .expect_err("nor is what lies below it");
    let names = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(names, 2, "temporary folders are left");
}

#[test]
fn a_folder_that_was_changed_is_refused() {
    let device = Device::flex();
    let model = classifier(&device);
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("m");
    model.save(&to, &device).expect("saved");
    let open = || {
        SavedModel::open(&to, &device, 1)
            .expect_err("refused")
            .to_string()
    };
    let weights = to.join("model.safetensors");
    let mut bytes = fs::read(&weights).expect("weights");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&weights, &bytes).expect("written");
    assert!(open().contains("expected"), "{}", open());
    let manifest = to.join("totune.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace("\"format\": 2", "\"format\": 9")).expect("written");
    assert!(open().contains("format: found 9, expected 2"), "{}", open());
    fs::write(
        &manifest,
        text.replace("model.safetensors", "../model.safetensors"),
    )
    .expect("written");
    assert!(
        open().contains("expected the name of a file in the folder"),
        "{}",
        open()
    );
    fs::remove_file(&manifest).expect("removed");
    assert!(open().contains("found no `totune.json`"), "{}", open());
}

#[test]
fn texts_of_pairs_may_be_read_separately() {
    let device = Device::flex();
    let mut model = Untrained::new(("fixture-bert", Task::Regression), None, &pairs(), &device);
    model.training.pairs = Pairs::Separate;
    let folder = tempfile::tempdir().expect("a folder");
    let (saved_as, read) = read_back(&model, &folder.path().join("m"), &device);
    assert!(matches!(saved_as, SavedAs::Totune { .. }));
    assert_eq!(read.predict(pairs()).expect("predictions").len(), 2);
    let error = read.predict(texts()).expect_err("not a pair").to_string();
    assert_eq!(error, "input 1: found a text, expected a pair of texts");
}

#[test]
fn a_model_puts_the_prefix_of_its_encoder_before_each_text() {
    let device = Device::flex();
    let mut model = classifier(&device);
    let folder = tempfile::tempdir().expect("a folder");
    let (_, plain) = read_back(&model, &folder.path().join("plain"), &device);
    model.tiny.card.vocabulary.prefix = "fire: ".to_string();
    let (_, prefixed) = read_back(&model, &folder.path().join("prefixed"), &device);
    let with_it = |input| match input {
        Input::Text(text) => Input::Text(format!("fire: {text}")),
        other => other,
    };
    let expected = plain.predict(texts().into_iter().map(with_it).collect());
    let expected = expected.expect("predictions");
    assert_ne!(plain.predict(texts()).expect("predictions"), expected);
    assert_eq!(prefixed.predict(texts()).expect("predictions"), expected);
    let shown = fs::read_to_string(folder.path().join("prefixed/README.md")).expect("a card");
    assert!(shown.contains("pipe(\"fire: Some text\""), "{shown}");
}
