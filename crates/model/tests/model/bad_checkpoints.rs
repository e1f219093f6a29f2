//! Error messages for broken checkpoints.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use totune_checkpoint::{Naming, Published};
use totune_model::{BertConfig, EncoderCatalogue, Shape};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/model")
        .join(name)
}

/// Loads the odd-sized BERT from `bytes` after `change` to its shape; returns the whole error.
fn error(bytes: &[u8], change: impl Fn(&mut BertConfig)) -> String {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("model.safetensors");
    fs::write(&path, bytes).expect("a file");
    let text = fs::read_to_string(fixture("odd.json")).expect("a committed file");
    let mut config: BertConfig = serde_json::from_str(&text).expect("a shape");
    change(&mut config);
    let load = || {
        let mut checkpoint = Published::open(&path, Naming::Bert)?;
        config.load(&mut checkpoint, &Device::flex())?;
        checkpoint.finish(&[])
    };
    format!("{:#}", load().expect_err("a broken checkpoint"))
}

fn whole() -> Vec<u8> {
    fs::read(fixture("odd.f32.safetensors")).expect("a committed file")
}

/// The file with `from` replaced by `to` (of equal length) in its header.
fn renamed(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = whole();
    let at = bytes
        .windows(from.len())
        .position(|window| window == from.as_bytes())
        .expect("the name is in the header");
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    bytes
}

#[track_caller]
fn check(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn a_missing_tensor_is_named_with_the_nearest() {
    let bytes = renamed(
        "encoder.layer.1.output.dense.bias",
        "encoder.layer.1.output.dense.bjas",
    );
    let found = error(&bytes, |_| ());
    check(
        &found,
        &[
            "model.safetensors",
            "no tensor `encoder.layer.1.output.dense.bias`",
            "bjas",
        ],
    );
}

#[test]
fn a_wrong_shape_is_shown_beside_the_expected_one() {
    let found = error(&whole(), |config| config.intermediate_size = 38);
    check(
        &found,
        &[
            "encoder.layer.0.intermediate.dense.weight",
            "[37, 21]",
            "expected [38, 21]",
        ],
    );
}

#[test]
fn tensors_nobody_asked_for_are_named() {
    let found = error(&whole(), |config| config.num_hidden_layers = 1);
    check(
        &found,
        &[
            "unexpected tensors",
            "encoder.layer.1.attention.self.query.weight",
            "ignore",
        ],
    );
}

#[test]
fn a_file_cut_short_anywhere_is_an_error() {
    let bytes = whole();
    for n in [0, 4, 8, 9, 100, bytes.len() / 2, bytes.len() - 1] {
        check(
            &error(&bytes[..n], |_| ()),
            &["not a whole safetensors file", &format!("({n} bytes)")],
        );
    }
}

#[test]
fn a_header_that_lies_is_an_error() {
    let mut huge = whole();
    huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    check(&error(&huge, |_| ()), &["not a whole safetensors file"]);
    check(
        &error(&renamed("\"F32\"", "\"F64\""), |_| ()),
        &["not a whole safetensors file"],
    );
    check(
        &error(&renamed("[53,21]", "[54,21]"), |_| ()),
        &["not a whole safetensors file"],
    );
}

#[test]
fn heads_must_divide_the_width() {
    check(
        &error(&whole(), |config| config.num_attention_heads = 4),
        &["= 4", "= 21"],
    );
}

#[test]
fn an_unknown_encoder_lists_what_exists() {
    let cards = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../encoders");
    let catalogue = EncoderCatalogue::read(&cards).expect("cards");
    let found = format!(
        "{:#}",
        catalogue
            .find("bert-base-uncase")
            .expect_err("no such card")
    );
    check(
        &found,
        &[
            "unknown encoder `bert-base-uncase`; did you mean `bert-base-uncased`? the nearest of ",
            " are `bert-base-uncased`, ",
        ],
    );
}

#[test]
fn a_checkpoint_with_another_hash_than_its_card_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let folder = dir.path().join("fixture-bert");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("model.safetensors"), whole()).expect("a file");
    let cards = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../encoders");
    let catalogue = EncoderCatalogue::read(&cards).expect("cards");
    let card = catalogue.find("fixture-bert").expect("a card");
    let found = card
        .load(&[dir.path().to_owned()], &Device::flex())
        .expect_err("another file");
    check(
        &format!("{found:#}"),
        &["model.safetensors", "sha-256 is", "expects"],
    );
}

#[test]
fn a_missing_checkpoint_says_where_to_get_it_and_where_to_put_it() {
    let cards = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../encoders");
    let catalogue = EncoderCatalogue::read(&cards).expect("cards");
    let card = catalogue.find("bert-base-uncased").expect("a card");
    let root = PathBuf::from("/nowhere");
    let found = card
        .missing(std::slice::from_ref(&root))
        .expect("it is missing");
    check(
        &found,
        &[
            "bert-base-uncased",
            "model.safetensors",
            "/nowhere",
            "google-bert/",
        ],
    );
}
