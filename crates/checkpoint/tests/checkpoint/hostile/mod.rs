//! Hostile files: each is refused, and the message describes the finding.

#![expect(clippy::too_many_lines, reason = "tables of cases")]

mod elmo;
mod safetensors;
mod tensorflow;
mod torch;

use std::fs;
use std::path::{Path, PathBuf};

use totune_checkpoint::{Checkpoint, Format};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/checkpoint")
        .join(name)
}

/// The error of opening these bytes and reading every tensor.
fn error(format: Format, bytes: Vec<u8>) -> String {
    let read = || -> anyhow::Result<()> {
        let checkpoint = Checkpoint::read("weights", format, bytes)?;
        let names: Vec<String> = checkpoint
            .tensors()
            .map(|info| info.name.to_string())
            .collect();
        names
            .iter()
            .try_for_each(|name| checkpoint.tensor(name).map(drop))
    };
    format!("{:#}", read().expect_err("a hostile file"))
}

#[track_caller]
fn check(format: Format, bytes: Vec<u8>, expected: &str) {
    let found = error(format, bytes);
    assert!(found.contains(expected), "`{expected}` is not in: {found}");
}
