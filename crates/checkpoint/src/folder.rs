//! The search for the file with the weights in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::Format;

/// Usual file names that [`find`] looks for, for messages.
pub(crate) const USUAL_NAMES: &str = "`model.safetensors`, `pytorch_model.bin`, `*.ckpt.index` or `*weights.hdf5`, or shards with their index";

/// The file to open among those in `folder`, of the first of `formats` that is there; none when no format is.
///
/// # Errors
/// When the folder cannot be listed, or two files of one format could be meant.
pub fn find(folder: &Path, formats: &[Format]) -> Result<Option<(Format, PathBuf)>> {
    for &format in formats {
        let found = match format {
            Format::Safetensors => named(
                folder,
                &["model.safetensors", "model.safetensors.index.json"],
            ),
            Format::Pytorch => named(
                folder,
                &["pytorch_model.bin", "pytorch_model.bin.index.json"],
            ),
            Format::Tensorflow => only(folder, |name| {
                name.ends_with(".index") && name.contains(".ckpt")
            })?,
            Format::Hdf5 => only(folder, |name| name.ends_with("weights.hdf5"))?,
        };
        if let Some(path) = found {
            return Ok(Some((format, path)));
        }
    }
    Ok(None)
}

fn named(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

fn only(folder: &Path, matches: impl Fn(&str) -> bool) -> Result<Option<PathBuf>> {
    let shown = folder.display();
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{shown}: cannot be listed"))? {
        let name = entry
            .with_context(|| format!("{shown}: cannot be listed"))?
            .file_name();
        if let Some(name) = name.to_str().filter(|name| matches(name)) {
            found.push(name.to_string());
        }
    }
    found.sort();
    ensure!(
        found.len() < 2,
        "{shown}: {} could all be the weights, expected one of them",
        found.join(", ")
    );
    Ok(found.pop().map(|name| folder.join(name)))
}
