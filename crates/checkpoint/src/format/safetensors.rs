//! safetensors: a JSON header with shapes and offsets, then the bytes.

use anyhow::{Context, Result};
use safetensors::{Dtype as StoredDtype, SafeTensors};

use super::{Tensors, insert};
use crate::Dtype;
use crate::bytes::Bytes;
use crate::stored::{Checksum, Place, Span, Stored};

/// Lists the tensors of a file. Nothing but the header is read.
pub(crate) fn read(file: usize, bytes: &Bytes) -> Result<Tensors> {
    let (header, metadata) = SafeTensors::read_metadata(bytes)
        .with_context(|| format!("not a whole safetensors file ({} bytes)", bytes.len()))?;
    let first = header + 8; // after the header's own length
    let mut tensors = Tensors::new();
    for (name, info) in metadata.tensors() {
        let (start, end) = info.data_offsets;
        let dtype = dtype(info.dtype);
        let span = Span::whole(
            file,
            bytes.len(),
            first + start,
            end - start,
            Checksum::None,
        )
        .and_then(|span| span.check(dtype, &info.shape).map(|()| span))
        .with_context(|| format!("tensor `{name}`"))?;
        let stored = Stored {
            dtype,
            shape: info.shape.clone(),
            place: Place::Span(span),
        };
        insert(&mut tensors, &name, stored)?;
    }
    Ok(tensors)
}

fn dtype(stored: StoredDtype) -> Dtype {
    match stored {
        StoredDtype::F64 => Dtype::F64,
        StoredDtype::F32 => Dtype::F32,
        StoredDtype::F16 => Dtype::F16,
        StoredDtype::BF16 => Dtype::BF16,
        StoredDtype::I64 => Dtype::I64,
        StoredDtype::I32 => Dtype::I32,
        StoredDtype::I16 => Dtype::I16,
        StoredDtype::I8 => Dtype::I8,
        StoredDtype::U8 => Dtype::U8,
        StoredDtype::BOOL => Dtype::Bool,
        _ => Dtype::Other,
    }
}
