//! The formats pretrained weights circulate in: how each is recognised, and its reader.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::stored::Stored;

pub(crate) mod hdf5;
pub(crate) mod safetensors;
pub(crate) mod shards;
pub(crate) mod tensorflow;
pub(crate) mod torch;

/// A storage format of checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// `model.safetensors`, or shards of it with `model.safetensors.index.json`.
    Safetensors,
    /// `pytorch_model.bin`, a state dict as `torch.save` writes it, or shards with `pytorch_model.bin.index.json`.
    Pytorch,
    /// A TensorFlow checkpoint, such as `bert_model.ckpt.index` with `bert_model.ckpt.data-00000-of-00001`.
    Tensorflow,
    /// ELMo's `…weights.hdf5`, with `…options.json` next to it.
    Hdf5,
}

impl Format {
    /// All formats, in the order in which a folder is searched for them.
    pub const ALL: [Self; 4] = [
        Self::Safetensors,
        Self::Pytorch,
        Self::Tensorflow,
        Self::Hdf5,
    ];

    /// The usual name of the file with the weights, for messages.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Safetensors => "model.safetensors",
            Self::Pytorch => "pytorch_model.bin",
            Self::Tensorflow => "*.ckpt.index",
            Self::Hdf5 => "*weights.hdf5",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            Self::Safetensors => "safetensors",
            Self::Pytorch => "pytorch",
            Self::Tensorflow => "tensorflow",
            Self::Hdf5 => "hdf5",
        })
    }
}

/// A reader's result: the tensors of a file, by the names in it.
pub(crate) type Tensors = BTreeMap<String, Stored>;

/// The kind of a file: weights, or the index of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Single(Format),
    Shards(Format),
}

/// Recognises a file by its first bytes, and by its name where those say nothing.
pub(crate) fn recognise(path: &Path, bytes: &[u8]) -> Kind {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    if bytes.starts_with(b"\x89HDF\r\n\x1a\n") {
        Kind::Single(Format::Hdf5)
    } else if torch::is_zip(bytes) || torch::is_legacy(bytes) {
        Kind::Single(Format::Pytorch)
    } else if name.ends_with(".bin.index.json") {
        Kind::Shards(Format::Pytorch)
    } else if name.ends_with(".index.json") {
        Kind::Shards(Format::Safetensors)
    } else if name.ends_with(".index") {
        Kind::Single(Format::Tensorflow)
    } else if [".bin", ".pt", ".pth"]
        .iter()
        .any(|end| name.ends_with(end))
    {
        Kind::Single(Format::Pytorch)
    } else if [".hdf5", ".h5"].iter().any(|end| name.ends_with(end)) {
        Kind::Single(Format::Hdf5)
    } else {
        Kind::Single(Format::Safetensors)
    }
}

/// The tensors of one file that is a checkpoint by itself, which becomes file `file` of the checkpoint.
pub(crate) fn read_single(format: Format, file: usize, bytes: &Bytes) -> Result<Tensors> {
    match format {
        Format::Safetensors => safetensors::read(file, bytes),
        Format::Pytorch => torch::read(file, bytes),
        Format::Hdf5 => Ok(hdf5::read(bytes)?.0),
        Format::Tensorflow => bail!("a TensorFlow index without its data file"),
    }
}

/// Adds a tensor, whose name must be new.
pub(crate) fn insert(tensors: &mut Tensors, name: &str, stored: Stored) -> Result<()> {
    match tensors.insert(name.to_string(), stored) {
        None => Ok(()),
        Some(_) => bail!("tensor `{name}` is there twice"),
    }
}

/// A number from a file as an index.
pub(crate) fn index(value: u64, what: &str) -> Result<usize> {
    usize::try_from(value).with_context(|| format!("{what} {value} is more than memory"))
}
