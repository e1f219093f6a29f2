//! The same tiny BERT from every format, bit for bit; made by `fixtures/make/checkpoints.py`.

use std::path::{Path, PathBuf};

use totune_checkpoint::{Checkpoint, Dtype, Format, Naming, Published};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/checkpoint")
        .join(name)
}

/// Every tensor of the encoder by its published name, with the bits of its elements.
fn bits(path: &Path, ignore: &[&str]) -> Vec<(String, Vec<usize>, Vec<u32>)> {
    let mut weights = Published::open(path, Naming::Bert).expect("a checkpoint");
    let ignore: Vec<String> = ignore.iter().map(|name| name.to_string()).collect();
    let wanted: Vec<(String, Vec<usize>)> = weights
        .tensors()
        .filter(|(name, _)| name.starts_with("e") && *name != "embeddings.position_ids")
        .chain(
            weights
                .tensors()
                .filter(|(name, _)| name.starts_with("pooler.")),
        )
        .map(|(name, shape)| (name.to_string(), shape.to_vec()))
        .collect();
    let taken = wanted
        .into_iter()
        .map(|(name, shape)| {
            let tensor = weights.take(&name, &shape).expect("a tensor");
            assert_eq!(tensor.shape, shape);
            let values = tensor.values.iter().map(|value| value.to_bits()).collect();
            (name, shape, values)
        })
        .collect();
    weights.finish(&ignore).expect("nothing left over");
    taken
}

#[track_caller]
fn check_equal(name: &str, ignore: &[&str], reference: &str) {
    let reference = bits(&fixture(reference), &[]);
    assert_eq!(reference.len(), 39);
    assert_eq!(bits(&fixture(name), ignore), reference, "{name}");
}

#[test]
fn every_format_gives_the_same_bits() {
    for name in [
        "safetensors-sharded",
        "safetensors-sharded/model.safetensors.index.json",
        "pytorch",
        "pytorch/pytorch_model.bin",
        "pytorch-sharded",
    ] {
        check_equal(name, &[], "safetensors");
    }
}

#[test]
fn a_tensorflow_checkpoint_is_renamed_and_transposed() {
    for name in [
        "tensorflow",
        "tensorflow/bert_model.ckpt",
        "tensorflow/bert_model.ckpt.index",
    ] {
        check_equal(name, &["cls."], "safetensors");
    }
}

#[test]
fn old_names_a_prefix_and_a_taggers_head_are_seen_through() {
    let head = ["embeddings.position_ids", "classifier."];
    check_equal("pytorch-legacy", &head, "safetensors");
}

#[test]
fn views_doubles_and_parameters_are_read_as_what_they_show() {
    check_equal("views.bin", &[], "safetensors");
    check_equal("views-legacy.bin", &[], "safetensors");
    let views = Checkpoint::open(&fixture("views.bin")).expect("a checkpoint");
    assert!(views.tensors().any(|info| info.dtype == Dtype::F64));
}

#[test]
fn half_precision_is_the_same_in_both_containers() {
    check_equal("f16.bin", &[], "f16.safetensors");
    check_equal("bf16.bin", &[], "bf16.safetensors");
}

#[test]
fn a_format_is_recognised_by_the_first_bytes_whatever_the_files_name() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for (name, expected) in [
        ("safetensors/model.safetensors", Format::Safetensors),
        ("pytorch/pytorch_model.bin", Format::Pytorch),
        ("pytorch-legacy/pytorch_model.bin", Format::Pytorch),
        ("elmo/tiny_weights.hdf5", Format::Hdf5),
    ] {
        let copy = dir.path().join("weights");
        std::fs::copy(fixture(name), &copy).expect("a copy");
        let opened = Checkpoint::open(&copy).expect("a checkpoint");
        assert_eq!(opened.format(), expected, "{name}");
    }
}

#[test]
fn the_hash_of_a_file_is_its_own_and_that_of_shards_ignores_their_names() {
    use sha2::{Digest, Sha256};
    let hex = |bytes: &[u8]| -> String {
        let digest = Sha256::digest(bytes);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let file = fixture("pytorch/pytorch_model.bin");
    let bytes = std::fs::read(&file).expect("a file");
    let hash = |path: &Path| Checkpoint::open(path).expect("a checkpoint").hash();
    assert_eq!(hash(&file), hex(&bytes));

    // Renamed and swapped, the shards are the same weights.
    let sharded = fixture("safetensors-sharded");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let name = |i: usize| format!("model-0000{i}-of-00002.safetensors");
    let mut index =
        std::fs::read_to_string(sharded.join("model.safetensors.index.json")).expect("an index");
    for (from, to) in [(1, "a.safetensors"), (2, "0.safetensors")] {
        std::fs::copy(sharded.join(name(from)), dir.path().join(to)).expect("a copy");
        index = index.replace(&name(from), to);
    }
    std::fs::write(dir.path().join("model.safetensors.index.json"), index).expect("an index");
    assert_eq!(hash(&sharded), hash(dir.path()));

    let mut lines: Vec<String> = (1..3)
        .map(|i| hex(&std::fs::read(sharded.join(name(i))).expect("a shard")) + "\n")
        .collect();
    lines.sort();
    assert_eq!(hash(&sharded), hex(lines.concat().as_bytes()));
    assert_ne!(hash(&sharded), hash(&fixture("safetensors")));
}

#[test]
fn elmo_is_published_as_a_network_computes_with_it() {
    let reference = Checkpoint::open(&fixture("elmo.reference.safetensors")).expect("a file");
    let mut weights = Published::open(&fixture("elmo"), Naming::Elmo).expect("a checkpoint");
    let options =
        totune_checkpoint::ElmoOptions::read(&fixture("elmo/tiny_options.json")).expect("options");
    assert_eq!(weights.differences(&options.tensors(), &[]), []);
    assert_eq!(options.tensors().len(), reference.tensors().count());
    for (name, shape) in options.tensors() {
        let ours = weights.take(&name, &shape).expect("a tensor");
        assert_eq!(ours, reference.tensor(&name).expect("a tensor"), "{name}");
    }
    weights.finish(&[]).expect("nothing left over");
}

#[test]
#[ignore = "needs the real checkpoints under TOTUNE_ENCODERS"]
fn real_files_of_every_format_are_read() {
    let root = PathBuf::from(std::env::var_os("TOTUNE_ENCODERS").expect("TOTUNE_ENCODERS"));
    for (path, naming, format, n, ignore) in [
        (
            "all-MiniLM-L6-v2",
            Naming::Bert,
            Format::Safetensors,
            104,
            "embeddings.position_ids",
        ),
        (
            "formats/camphr_ner_bert",
            Naming::Bert,
            Format::Pytorch,
            24,
            "classifier.",
        ),
        (
            "formats/keras_bert_test_checkpoint",
            Naming::Bert,
            Format::Tensorflow,
            46,
            "cls.",
        ),
        ("elmo-tiny", Naming::Elmo, Format::Hdf5, 37, ""),
    ] {
        let mut weights = Published::open(&root.join(path), naming).expect("a checkpoint");
        assert_eq!(weights.checkpoint().format(), format);
        let all: Vec<(String, Vec<usize>)> = weights
            .tensors()
            .map(|(name, shape)| (name.to_string(), shape.to_vec()))
            .collect();
        assert_eq!(all.len(), n, "{path}");
        let ignored = |name: &str| name == "embeddings.position_ids" || name.starts_with(ignore);
        for (name, shape) in all {
            if ignore.is_empty() || !ignored(&name) {
                let tensor = weights.take(&name, &shape).expect("a tensor");
                assert!(
                    tensor.values.iter().all(|value| value.is_finite()),
                    "{name}"
                );
            }
        }
    }
}

/// SHA-256 over an ELMo's tensors in the order of their names, as `fixtures/make/checkpoints.py --digest` does it
/// with h5py.
fn elmo_digest(path: &Path) -> String {
    use sha2::{Digest, Sha256};
    let mut weights = Published::open(path, Naming::Elmo).expect("a checkpoint");
    let mut all: Vec<(String, Vec<usize>)> = weights
        .tensors()
        .map(|(name, shape)| (name.to_string(), shape.to_vec()))
        .collect();
    all.sort();
    let mut hash = Sha256::new();
    for (name, shape) in all {
        for value in weights.take(&name, &shape).expect("a tensor").values {
            hash.update(value.to_le_bytes());
        }
    }
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn elmos_numbers_are_those_that_h5py_reads() {
    assert_eq!(
        elmo_digest(&fixture("elmo")),
        "1c5122bedd093fa054c3394acdfccf467209abb5efb7940e82ff3ac95c206ee8"
    );
}

#[test]
#[ignore = "needs the real checkpoints under TOTUNE_ENCODERS"]
fn a_real_elmo_has_the_numbers_that_h5py_reads() {
    let root = PathBuf::from(std::env::var_os("TOTUNE_ENCODERS").expect("TOTUNE_ENCODERS"));
    assert_eq!(
        elmo_digest(&root.join("elmo-tiny")),
        "453ab3720bc0274d3b1a1a02d166f4947d8175018972e287302995759a914ef4"
    );
}
