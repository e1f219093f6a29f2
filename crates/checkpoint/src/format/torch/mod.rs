//! State dicts as `torch.save` writes them, read without executing anything.
//!
//! The file is a pickle of a dictionary whose tensors name storages, and the storages. [`pickle`] is a reader of that
//! one kind of pickle: it builds no Python object and calls nothing, and refuses every name a state dict has no need
//! of. (The crate `pytorch-reader` reads more (whole modules, archives of 2016) and passes what it does not know over
//! in silence; here an unknown name is an error, and a view can never be larger than what it is a view of.)

mod directory;
mod legacy;
mod pickle;
mod zip;

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use self::pickle::StorageRef;
use super::{Tensors, insert};
use crate::bytes::Bytes;
use crate::stored::{Place, Span, Stored, View};

pub(crate) use self::legacy::is_legacy;
pub(crate) use self::zip::is_zip;

/// The position of each storage, by its key.
type Storages = HashMap<String, Span>;

/// Lists the tensors of a file.
pub(crate) fn read(file: usize, bytes: &Bytes) -> Result<Tensors> {
    if is_zip(bytes) {
        zip::read(file, bytes)
    } else if is_legacy(bytes) {
        legacy::read(file, bytes)
    } else {
        bail!(
            "not a PyTorch file ({} bytes): neither a zip archive nor the older format",
            bytes.len()
        )
    }
}

/// Joins the pickle's description of tensors with the positions of the storages.
fn join(tensors: Vec<(String, pickle::View)>, storages: &Storages) -> Result<Tensors> {
    let mut joined = Tensors::new();
    for (name, view) in tensors {
        let stored = place(&view, storages).with_context(|| format!("tensor `{name}`"))?;
        insert(&mut joined, &name, stored)?;
    }
    Ok(joined)
}

fn place(view: &pickle::View, storages: &Storages) -> Result<Stored> {
    let StorageRef {
        key,
        dtype,
        first,
        n,
    } = &view.storage;
    let span = storages
        .get(key)
        .with_context(|| format!("the file has no storage `{key}`"))?;
    let Some(size) = dtype.size() else {
        bail!("its storage `{key}` is of a type that cannot be read");
    };
    let len = first
        .checked_add(*n)
        .and_then(|end| end.checked_mul(size))
        .filter(|&len| len <= span.len)
        .with_context(|| {
            format!(
                "storage `{key}` should hold {n} elements of {dtype}, found {} bytes",
                span.len
            )
        })?;
    let span = Span {
        view: Some(View {
            offset: view
                .offset
                .checked_add(*first)
                .context("its offset is more than memory")?,
            strides: view.strides.clone(),
        }),
        ..span.clone()
    };
    // Only what the pickle declares of the storage is within reach; the checksum is one of the whole of it.
    Span {
        len,
        ..span.clone()
    }
    .check(*dtype, &view.shape)?;
    Ok(Stored {
        dtype: *dtype,
        shape: view.shape.clone(),
        place: Place::Span(span),
    })
}
