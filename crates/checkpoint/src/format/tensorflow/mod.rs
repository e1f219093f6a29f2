//! TensorFlow's checkpoints (TensorBundle): a table of entries in `….index`, the elements in `….data-00000-of-00001`.
//!
//! The table is LevelDB's, its values are two small protobuf messages, and the table's blocks and each tensor carry a
//! checksum that is verified. `….meta`, which holds the graph, is not needed.

mod message;
mod table;

use anyhow::{Context, Result, bail, ensure};

use self::message::{Entry, Header};
use super::{Tensors, index, insert};
use crate::Dtype;
use crate::bytes::Bytes;
use crate::stored::{Checksum, Place, Span, Stored};

/// Files with elements; published checkpoints have one.
const MAX_SHARDS: usize = 4096;

/// A parsed `….index`.
#[derive(Debug)]
pub(crate) struct Index {
    n_shards: usize,
    entries: Vec<(String, Entry)>,
}

impl Index {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut entries = Vec::new();
        let mut header = None;
        table::read(bytes, |key, value| {
            if key.is_empty() {
                header = Some(Header::parse(value).context("the header of the index")?);
                return Ok(());
            }
            let name = std::str::from_utf8(key).context("a name is not UTF-8")?;
            let entry = Entry::parse(value).with_context(|| format!("tensor `{name}`"))?;
            entries.push((name.to_string(), entry));
            Ok(())
        })
        .with_context(|| format!("not a whole TensorFlow index ({} bytes)", bytes.len()))?;
        let header = header.context("the index has no header")?;
        let n_shards = index(header.n_shards, "number of data files")?;
        ensure!(
            (1..=MAX_SHARDS).contains(&n_shards),
            "the index names {n_shards} data files, expected 1 to {MAX_SHARDS}"
        );
        ensure!(
            !header.big_endian,
            "the checkpoint is big-endian, expected little-endian"
        );
        Ok(Self { n_shards, entries })
    }

    /// Endings of the data files, in order; each follows the name without `.index`.
    pub(crate) fn data_files(&self) -> Vec<String> {
        let n = self.n_shards;
        (0..n)
            .map(|shard| format!(".data-{shard:05}-of-{n:05}"))
            .collect()
    }

    /// The tensors, their elements in `data`, of which the first is file `first` of the checkpoint.
    pub(crate) fn tensors(&self, first: usize, data: &[Bytes]) -> Result<Tensors> {
        let mut tensors = Tensors::new();
        for (name, entry) in &self.entries {
            let stored = place(entry, first, data).with_context(|| format!("tensor `{name}`"))?;
            insert(&mut tensors, name, stored)?;
        }
        Ok(tensors)
    }
}

/// A checkpoint of one data file, from bytes.
pub(crate) fn read(first: usize, index: &[u8], data: &[Bytes]) -> Result<Tensors> {
    let index = Index::parse(index)?;
    ensure!(
        index.n_shards == data.len(),
        "{} data files, but the index names {}",
        data.len(),
        index.n_shards
    );
    index.tensors(first, data)
}

fn place(entry: &Entry, first: usize, data: &[Bytes]) -> Result<Stored> {
    if entry.sliced {
        bail!("is stored in slices, which published checkpoints do not use");
    }
    let shard = index(entry.shard, "data file")?;
    let bytes = data
        .get(shard)
        .with_context(|| format!("lies in data file {shard} of {}", data.len()))?;
    let dtype = dtype(entry.dtype);
    let shape = entry
        .shape
        .iter()
        .map(|&dim| index(dim, "dimension"))
        .collect::<Result<Vec<_>>>()?;
    let span = Span::whole(
        first + shard,
        bytes.len(),
        index(entry.offset, "offset")?,
        index(entry.size, "size")?,
        Checksum::MaskedCrc32c(entry.crc32c),
    )?;
    span.check(dtype, &shape)?;
    Ok(Stored {
        dtype,
        shape,
        place: Place::Span(span),
    })
}

/// TensorFlow's numbers for types (`types.proto`).
fn dtype(number: u64) -> Dtype {
    match number {
        1 => Dtype::F32,
        2 => Dtype::F64,
        3 => Dtype::I32,
        4 => Dtype::U8,
        5 => Dtype::I16,
        6 => Dtype::I8,
        9 => Dtype::I64,
        10 => Dtype::Bool,
        14 => Dtype::BF16,
        19 => Dtype::F16,
        _ => Dtype::Other,
    }
}
