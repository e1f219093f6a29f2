//! The index of a checkpoint in several files: the file of each tensor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Tensors;

/// `model.safetensors.index.json` or `pytorch_model.bin.index.json`.
#[derive(Debug, Deserialize)]
pub(crate) struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Index {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let index: Self = serde_json::from_slice(bytes)
            .context("not an index of shards (JSON with a `weight_map`)")?;
        for file in index.weight_map.values() {
            let plain = Path::new(file)
                .file_name()
                .is_some_and(|name| name == file.as_str());
            ensure!(
                plain && !file.contains('\\'),
                "shard `{file}` is not the name of a file beside the index"
            );
        }
        Ok(index)
    }

    /// Names of the shards, each once, in order.
    pub(crate) fn files(&self) -> BTreeSet<&str> {
        self.weight_map.values().map(String::as_str).collect()
    }

    /// Checks that a shard holds the tensors the index gives it, and no others.
    pub(crate) fn check(&self, shard: &str, found: &Tensors) -> Result<()> {
        for (name, file) in &self.weight_map {
            ensure!(
                file != shard || found.contains_key(name),
                "shard `{shard}` has no tensor `{name}`, which the index expects there"
            );
        }
        for name in found.keys() {
            ensure!(
                self.weight_map.get(name).is_some_and(|file| file == shard),
                "shard `{shard}` has a tensor `{name}` that the index does not expect there"
            );
        }
        Ok(())
    }
}
