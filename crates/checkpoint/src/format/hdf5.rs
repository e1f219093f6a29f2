//! HDF5 as ELMo's weights are stored: groups of datasets of floats, by their paths.

use anyhow::{Context, Result, ensure};
use hdf5_reader::{Dataset, Datatype, Hdf5File, OpenOptions};

use super::{Tensors, index, insert};
use crate::Dtype;
use crate::bytes::Bytes;
use crate::stored::{Place, Stored, n_elements};

/// Deepest nesting of groups; ELMo's are five deep.
const MAX_DEPTH: usize = 16;
/// Groups and datasets in all; ELMo has about fifty. Links may make a small file look endless.
const MAX_MEMBERS: usize = 10_000;
/// The largest size of a dataset in memory, as a multiple of the file's size.
const MAX_RATIO: usize = 16;

/// Lists the datasets of a file, by their paths without a leading slash.
pub(crate) fn read(bytes: &Bytes) -> Result<(Tensors, Hdf5File)> {
    let limit = bytes.len().saturating_mul(MAX_RATIO);
    let options = OpenOptions::default()
        .with_chunk_cache_bytes(0)
        .with_max_chunk_bytes(limit)
        .with_max_read_bytes(limit)
        .with_max_object_header_bytes(bytes.len());
    let whole = || format!("not a whole HDF5 file ({} bytes)", bytes.len());
    let opened = Hdf5File::from_owner(bytes.clone(), options).with_context(whole)?;
    let mut tensors = Tensors::new();
    let mut groups = vec![(String::new(), 0, opened.root_group().with_context(whole)?)];
    let mut n_members = 0;
    while let Some((prefix, depth, group)) = groups.pop() {
        ensure!(
            depth <= MAX_DEPTH,
            "group `{prefix}` lies more than {MAX_DEPTH} deep"
        );
        let (inner, datasets) = group
            .members()
            .with_context(|| format!("group `{prefix}` cannot be listed"))?;
        n_members += inner.len() + datasets.len();
        ensure!(
            n_members <= MAX_MEMBERS,
            "more than {MAX_MEMBERS} groups and datasets"
        );
        for dataset in datasets {
            let path = format!("{prefix}{}", dataset.name());
            let stored =
                describe(&path, &dataset, limit).with_context(|| format!("dataset `{path}`"))?;
            insert(&mut tensors, &path, stored)?;
        }
        groups.extend(
            inner
                .into_iter()
                .map(|group| (format!("{prefix}{}/", group.name()), depth + 1, group)),
        );
    }
    Ok((tensors, opened))
}

fn describe(path: &str, dataset: &Dataset, limit: usize) -> Result<Stored> {
    let shape: Vec<usize> = dataset
        .shape()
        .iter()
        .map(|&dim| index(dim, "dimension"))
        .collect::<Result<_>>()?;
    let dtype = match dataset.dtype() {
        Datatype::FloatingPoint { size: 8, .. } => Dtype::F64,
        Datatype::FloatingPoint { size: 4, .. } => Dtype::F32,
        Datatype::FloatingPoint { size: 2, .. } => Dtype::F16,
        _ => Dtype::Other,
    };
    let len = n_elements(&shape)?.checked_mul(dtype.size().unwrap_or(0));
    ensure!(
        len.is_some_and(|len| len <= limit),
        "shape {shape:?} of {dtype} is more than {MAX_RATIO} times the file"
    );
    Ok(Stored {
        dtype,
        shape,
        place: Place::Hdf5 {
            path: path.to_string(),
        },
    })
}

/// The elements of a dataset in row-major order, little-endian.
pub(crate) fn elements(opened: &Hdf5File, path: &str) -> Result<Vec<u8>> {
    let dataset = opened.dataset(path)?;
    let mut bytes = dataset.read_native_bytes()?;
    if cfg!(target_endian = "big")
        && let Some(size) = dataset.raw_element_size().ok().filter(|&size| size > 0)
    {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    Ok(bytes)
}
