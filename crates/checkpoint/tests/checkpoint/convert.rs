//! Any format to safetensors, and back.

use std::fs;
use std::path::{Path, PathBuf};

use totune_checkpoint::{Checkpoint, Conversion, Dtype, Naming, Published};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/checkpoint")
        .join(name)
}

#[track_caller]
fn convert(from: &Path, to: &Path, dtype: Dtype) -> totune_checkpoint::Converted {
    let from = Checkpoint::open(from).expect("a checkpoint");
    let conversion = Conversion {
        from: &from,
        to,
        dtype,
    };
    conversion.write().expect("a conversion")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.into_string().expect("UTF-8")
        })
        .collect();
    names.sort();
    names
}

#[test]
fn every_format_converts_to_the_numbers_it_held() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for (name, naming) in [
        ("tensorflow", Naming::Bert),
        ("pytorch", Naming::Bert),
        ("pytorch-legacy", Naming::Bert),
        ("views.bin", Naming::Bert),
        ("safetensors-sharded", Naming::Bert),
        ("distilbert", Naming::DistilBert),
        ("elmo", Naming::Elmo),
    ] {
        let to = dir.path().join(name).join("converted");
        let converted = convert(&fixture(name), &to, Dtype::F32);
        let mut before = Published::open(&fixture(name), naming).expect("a checkpoint");
        let mut after = Published::open(&to, naming).expect("a checkpoint");
        assert_eq!(after.checkpoint().hash(), converted.hash);
        let all: Vec<(String, Vec<usize>)> = before
            .tensors()
            .map(|(name, shape)| (name.to_string(), shape.to_vec()))
            .collect();
        assert_eq!(after.differences(&all, &[]), [], "{name}");
        for (tensor, shape) in all {
            if tensor == "embeddings.position_ids" {
                let elements = |weights: &Published, prefix: &str| {
                    let stored = format!("{prefix}{tensor}");
                    let file = weights.checkpoint();
                    assert_eq!(file.info(&stored).expect("a tensor").dtype, Dtype::I64);
                    file.elements_of(&stored).expect("integers").into_owned()
                };
                assert_eq!(elements(&before, "bert."), elements(&after, "bert."));
                continue;
            }
            let (a, b) = (before.take(&tensor, &shape), after.take(&tensor, &shape));
            assert_eq!(a.expect("before"), b.expect("after"), "{name} {tensor}");
        }
    }
    assert_eq!(
        names(&dir.path().join("tensorflow/converted")),
        ["config.json", "model.safetensors"]
    );
    assert_eq!(
        names(&dir.path().join("elmo/converted")),
        ["model.safetensors", "options.json"]
    );
}

#[test]
fn half_precision_halves_a_file_and_rounds_as_pytorch_does() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for (dtype, reference) in [
        (Dtype::F16, "f16.safetensors"),
        (Dtype::BF16, "bf16.safetensors"),
    ] {
        let to = dir.path().join(reference);
        convert(&fixture("pytorch"), &to, dtype);
        let ours = Checkpoint::open(&to).expect("a checkpoint");
        let theirs = Checkpoint::open(&fixture(reference)).expect("a checkpoint");
        assert_eq!(ours.tensors().count(), theirs.tensors().count());
        for info in theirs.tensors() {
            assert_eq!(ours.info(info.name), Some(info));
            let elements =
                |file: &Checkpoint| file.elements_of(info.name).expect("elements").into_owned();
            assert_eq!(elements(&ours), elements(&theirs), "{}", info.name);
        }
        let elements = |file: &Checkpoint| -> usize {
            file.tensors()
                .map(|info| file.elements_of(info.name).expect("elements").len())
                .sum()
        };
        let whole = Checkpoint::open(&fixture("safetensors")).expect("a checkpoint");
        assert_eq!(elements(&ours) * 2, elements(&whole));
    }
}

#[test]
fn a_number_too_large_for_half_precision_names_its_tensor_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (folder, to) = (dir.path().join("from"), dir.path().join("to"));
    fs::create_dir(&folder).expect("a folder");
    let mut bytes = fs::read(fixture("safetensors/model.safetensors")).expect("a file");
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&1e6f32.to_le_bytes());
    fs::write(folder.join("model.safetensors"), bytes).expect("a file");
    let from = Checkpoint::open(&folder).expect("a checkpoint");
    let conversion = |dtype| Conversion {
        from: &from,
        to: &to,
        dtype,
    };
    let error = conversion(Dtype::F16).write().expect_err("no such f16");
    let error = format!("{error:#}");
    assert!(
        error.contains("tensor `") && error.contains("1e6, more than F16 can"),
        "{error}"
    );
    assert_eq!(names(dir.path()), ["from"]);
    conversion(Dtype::BF16).write().expect("wide enough");
    assert_eq!(names(dir.path()), ["from", "to"]);
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fs::write(dir.path().join("notes"), "mine").expect("a file");
    let from = Checkpoint::open(&fixture("pytorch")).expect("a checkpoint");
    let conversion = Conversion {
        from: &from,
        to: dir.path(),
        dtype: Dtype::F32,
    };
    let error = conversion.write().expect_err("not empty").to_string();
    assert!(error.contains("is not empty"), "{error}");
    assert_eq!(names(dir.path()), ["notes"]);
}
