//! LevelDB's table of sorted keys, as TensorFlow writes its index: blocks, an index of blocks, a footer.

use std::borrow::Cow;

use anyhow::{Context, Result, bail, ensure};

use super::message::{take, varint};
use crate::stored::Checksum;

/// The last eight bytes of a table.
const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
/// Two handles of up to 20 bytes, and the magic number.
const FOOTER: usize = 48;
/// A byte for the compression, four for the checksum.
const TRAILER: usize = 5;
/// Bytes of one uncompressed block; TensorFlow cuts them at 256 KiB.
const MAX_BLOCK: usize = 64 << 20;
/// Bytes of all names and entries of a table.
const MAX_BYTES: usize = 256 << 20;

/// Passes every key and value of a table to `see`, in order.
pub(super) fn read(bytes: &[u8], mut see: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    let body = bytes
        .len()
        .checked_sub(FOOTER)
        .context("the table has no footer")?;
    let magic = u64::from_le_bytes(bytes[bytes.len() - 8..].try_into().expect("eight bytes"));
    ensure!(
        magic == MAGIC,
        "the table ends in {magic:016x}, expected {MAGIC:016x}"
    );
    let mut footer = &bytes[body..];
    let _metaindex = Handle::parse(&mut footer)?;
    let index = Handle::parse(&mut footer)?;
    let mut budget = MAX_BYTES;
    let blocks = index
        .block(&bytes[..body], &mut budget)
        .context("the index of blocks")?;
    entries(&blocks, &mut budget, |_, mut handle, budget| {
        let handle = Handle::parse(&mut handle)?;
        let block = handle
            .block(&bytes[..body], budget)
            .with_context(|| format!("the block at byte {}", handle.offset))?;
        entries(&block, budget, |key, value, _| see(key, value))
    })
}

/// The position of a block.
#[derive(Debug, Clone, Copy)]
struct Handle {
    offset: u64,
    size: u64,
}

impl Handle {
    fn parse(bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self {
            offset: varint(bytes)?,
            size: varint(bytes)?,
        })
    }

    /// The block's contents, verified and unpacked.
    fn block<'a>(&self, body: &'a [u8], budget: &mut usize) -> Result<Cow<'a, [u8]>> {
        let mut rest = body;
        take(&mut rest, self.offset)?;
        let contents = take(&mut rest, self.size)?;
        let trailer = take(&mut rest, TRAILER as u64)?;
        let at = body.len() - rest.len();
        // The checksum covers the contents and the byte that says how they are compressed.
        let covered = &body[at - TRAILER - contents.len()..at - TRAILER + 1];
        let sum = u32::from_le_bytes(trailer[1..].try_into().expect("four bytes"));
        Checksum::MaskedCrc32c(sum).verify(covered)?;
        let block = match trailer[0] {
            0 => Cow::Borrowed(contents),
            1 => {
                let len = snap::raw::decompress_len(contents)?;
                ensure!(
                    len <= MAX_BLOCK.min(*budget),
                    "a block of {len} bytes, expected at most {MAX_BLOCK}"
                );
                Cow::Owned(snap::raw::Decoder::new().decompress_vec(contents)?)
            }
            other => bail!("compression {other} of a block, expected 0 (none) or 1 (snappy)"),
        };
        // Handles may all point at one block.
        *budget = budget
            .checked_sub(block.len())
            .with_context(|| format!("the blocks are larger than {MAX_BYTES} bytes"))?;
        Ok(block)
    }
}

/// Passes each entry of a block to `see`: its key, of which each shares a prefix with the one before, and its value.
fn entries(
    block: &[u8],
    budget: &mut usize,
    mut see: impl FnMut(&[u8], &[u8], &mut usize) -> Result<()>,
) -> Result<()> {
    let word = |end: usize| -> Option<usize> {
        let bytes = block.get(end.checked_sub(4)?..end)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    // The block ends in a list of places where a key is whole, and its length.
    let n_restarts = word(block.len()).context("a block without its end")?;
    let end = n_restarts
        .checked_mul(4)
        .and_then(|list| block.len().checked_sub(4)?.checked_sub(list))
        .with_context(|| format!("{n_restarts} restarts in a block of {} bytes", block.len()))?;
    let mut rest = &block[..end];
    let mut key: Vec<u8> = Vec::new();
    while !rest.is_empty() {
        let shared = varint(&mut rest)?;
        let fresh = varint(&mut rest)?;
        let value = varint(&mut rest)?;
        ensure!(
            shared <= key.len() as u64,
            "a key shares {shared} bytes with one of {}",
            key.len()
        );
        key.truncate(shared as usize);
        key.extend_from_slice(take(&mut rest, fresh)?);
        let value = take(&mut rest, value)?;
        *budget = budget
            .checked_sub(key.len())
            .with_context(|| format!("the names are longer than {MAX_BYTES} bytes"))?;
        see(&key, value, budget)?;
    }
    Ok(())
}
