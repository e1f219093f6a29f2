//! The two protobuf messages of a TensorBundle index, and just as much of the wire format.

use anyhow::{Context, Result, bail, ensure};

/// `BundleHeaderProto`: `num_shards` = 1, `endianness` = 2.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub n_shards: u64,
    pub big_endian: bool,
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut header = Self::default();
        fields(bytes, |number, field| {
            match (number, field) {
                (1, Field::Varint(n)) => header.n_shards = n,
                (2, Field::Varint(order)) => header.big_endian = order != 0,
                _ => {}
            }
            Ok(())
        })?;
        Ok(header)
    }
}

/// `BundleEntryProto`: `dtype` = 1, `shape` = 2, `shard_id` = 3, `offset` = 4, `size` = 5, `crc32c` = 6, `slices` = 7.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub dtype: u64,
    pub shape: Vec<u64>,
    pub shard: u64,
    pub offset: u64,
    pub size: u64,
    /// Masked.
    pub crc32c: u32,
    pub sliced: bool,
}

impl Entry {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut entry = Self::default();
        fields(bytes, |number, field| {
            match (number, field) {
                (1, Field::Varint(dtype)) => entry.dtype = dtype,
                (2, Field::Bytes(shape)) => entry.shape = parse_shape(shape)?,
                (3, Field::Varint(shard)) => entry.shard = shard,
                (4, Field::Varint(offset)) => entry.offset = offset,
                (5, Field::Varint(size)) => entry.size = size,
                (6, Field::Fixed32(sum)) => entry.crc32c = sum,
                (7, _) => entry.sliced = true,
                _ => {}
            }
            Ok(())
        })?;
        Ok(entry)
    }
}

/// `TensorShapeProto`: repeated `dim` = 2 with `size` = 1 in it, `unknown_rank` = 3.
fn parse_shape(bytes: &[u8]) -> Result<Vec<u64>> {
    let mut shape = Vec::new();
    fields(bytes, |number, field| {
        match (number, field) {
            (2, Field::Bytes(dim)) => {
                let mut size = 0;
                fields(dim, |number, field| {
                    if let (1, Field::Varint(n)) = (number, field) {
                        size = n;
                    }
                    Ok(())
                })?;
                ensure!(shape.len() < 16, "more than 16 dimensions");
                shape.push(size);
            }
            (3, Field::Varint(unknown)) => ensure!(unknown == 0, "a shape of unknown rank"),
            _ => {}
        }
        Ok(())
    })?;
    Ok(shape)
}

enum Field<'a> {
    Varint(u64),
    Fixed64,
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// Passes each field of a message to `see`, with its number.
fn fields<'a>(
    mut bytes: &'a [u8],
    mut see: impl FnMut(u64, Field<'a>) -> Result<()>,
) -> Result<()> {
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let field = match key & 7 {
            0 => Field::Varint(varint(&mut bytes)?),
            1 => {
                take(&mut bytes, 8)?;
                Field::Fixed64
            }
            2 => {
                let len = varint(&mut bytes)?;
                Field::Bytes(take(&mut bytes, len)?)
            }
            5 => {
                let four = take(&mut bytes, 4)?;
                Field::Fixed32(u32::from_le_bytes(four.try_into().expect("four bytes")))
            }
            wire => bail!("wire type {wire} in a message, expected 0, 1, 2 or 5"),
        };
        see(key >> 3, field)?;
    }
    Ok(())
}

/// An integer in groups of seven bits, the lowest first.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().enumerate().take(10) {
        ensure!(i < 9 || byte <= 1, "an integer of more than 64 bits");
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *bytes = &bytes[i + 1..];
            return Ok(value);
        }
    }
    bail!("an integer does not end")
}

/// The next `len` bytes.
pub(super) fn take<'a>(bytes: &mut &'a [u8], len: u64) -> Result<&'a [u8]> {
    let left = bytes.len();
    let (taken, rest) = usize::try_from(len)
        .ok()
        .and_then(|len| bytes.split_at_checked(len))
        .with_context(|| format!("{len} bytes announced, {left} left"))?;
    *bytes = rest;
    Ok(taken)
}
