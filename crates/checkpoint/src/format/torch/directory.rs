//! The directory of a zip archive: the positions of its entries. Nothing is ever unpacked.
//!
//! PyTorch stores its entries as they are, so that this little is all that is needed; a crate for zip archives sets
//! memory aside for as many entries as a file claims to have before it looks for the first.

use anyhow::{Context, Result, bail, ensure};

use crate::format::index;

/// The record at the end, without its comment.
const END: usize = 22;
/// Its longest comment.
const MAX_COMMENT: usize = 65_535;
/// The record with the position of a large archive's end record; it comes before the end.
const LOCATOR: usize = 20;
/// The record of a large archive.
const LARGE_END: usize = 56;
/// An entry of the directory, without its name.
const ENTRY: usize = 46;
/// The header before an entry's bytes, without its name.
const LOCAL: usize = 30;

/// One file in an archive.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub name: &'a str,
    /// First byte of its contents in the archive.
    pub start: usize,
    /// Bytes of its contents, which lie inside the archive.
    pub len: usize,
    /// CRC-32 of its contents; 0 where none was computed.
    pub crc32: u32,
}

/// Passes every entry to `see`, in the directory's order. Folders are skipped.
pub(super) fn entries<'a>(
    bytes: &'a [u8],
    mut see: impl FnMut(Entry<'a>) -> Result<()>,
) -> Result<()> {
    let (count, start) = find(bytes)?;
    let mut at = index(start, "offset of the directory")?;
    for i in 0..count {
        let (entry, next) =
            entry(bytes, at).with_context(|| format!("entry {i} of the directory"))?;
        if let Some(entry) = entry {
            see(entry)?;
        }
        at = next;
    }
    Ok(())
}

/// The number of entries, and the position of the first one's description.
fn find(bytes: &[u8]) -> Result<(u64, u64)> {
    let last = bytes
        .len()
        .checked_sub(END)
        .context("the archive has no end")?;
    let end = (last.saturating_sub(MAX_COMMENT)..=last)
        .rev()
        .find(|&at| {
            bytes[at..].starts_with(b"PK\x05\x06")
                && u16_at(bytes, at + 20).is_ok_and(|n| usize::from(n) == last - at)
        })
        .context("the archive has no end")?;
    let locator = end
        .checked_sub(LOCATOR)
        .filter(|&at| bytes[at..].starts_with(b"PK\x06\x07"));
    if let Some(locator) = locator {
        let at = index(u64_at(bytes, locator + 8)?, "offset of the end")?;
        let record = piece(bytes, at, LARGE_END)?;
        ensure!(
            record.starts_with(b"PK\x06\x06"),
            "the archive has no end of a large one where it says so"
        );
        return Ok((u64_at(record, 32)?, u64_at(record, 48)?));
    }
    Ok((
        u16_at(bytes, end + 10)?.into(),
        u32_at(bytes, end + 16)?.into(),
    ))
}

/// The entry described at `at`, unless it is a folder, and the position of the next description.
fn entry(bytes: &[u8], at: usize) -> Result<(Option<Entry<'_>>, usize)> {
    let head = piece(bytes, at, ENTRY)?;
    ensure!(
        head.starts_with(b"PK\x01\x02"),
        "the archive has no entry where its directory says so"
    );
    let [name_len, extra_len, comment_len] = [28, 30, 32].map(|at| u16_at(head, at));
    let (name_len, extra_len) = (usize::from(name_len?), usize::from(extra_len?));
    let name = piece(bytes, at + ENTRY, name_len)?;
    let name = std::str::from_utf8(name).context("a name is not UTF-8")?;
    let extra = piece(bytes, at + ENTRY + name_len, extra_len)?;
    let next = at + ENTRY + name_len + extra_len + usize::from(comment_len?);
    if name.ends_with('/') {
        return Ok((None, next));
    }
    let (flags, method) = (u16_at(head, 8)?, u16_at(head, 10)?);
    ensure!(
        method == 0 && flags & 1 == 0,
        "`{name}` is compressed or encrypted; PyTorch stores its entries as they are"
    );
    let [packed, len, offset] = sizes(head, extra).with_context(|| format!("`{name}`"))?;
    ensure!(
        packed == len,
        "`{name}` is said to be {len} bytes in {packed} bytes"
    );
    let local = index(offset, "offset")?;
    let local_head = piece(bytes, local, LOCAL).with_context(|| format!("`{name}`"))?;
    ensure!(
        local_head.starts_with(b"PK\x03\x04"),
        "`{name}` does not begin where the directory says"
    );
    let local_name = usize::from(u16_at(local_head, 26)?);
    // Two readers must not see two names.
    ensure!(
        piece(bytes, local + LOCAL, local_name)? == name.as_bytes(),
        "`{name}` has another name where it lies"
    );
    let start = local + LOCAL + local_name + usize::from(u16_at(local_head, 28)?);
    let len = index(len, "size")?;
    piece(bytes, start, len).with_context(|| format!("`{name}`"))?;
    let entry = Entry {
        name,
        start,
        len,
        crc32: u32_at(head, 16)?,
    };
    Ok((Some(entry), next))
}

/// Packed size, size and offset; those that do not fit into 32 bits are in the extra field 1, in this order.
fn sizes(head: &[u8], extra: &[u8]) -> Result<[u64; 3]> {
    let [packed, len, offset] = [20, 24, 42].map(|at| u32_at(head, at));
    let (packed, len, offset) = (packed?, len?, offset?);
    let mut large = large_field(extra)?;
    let mut wide = |short: u32| -> Result<u64> {
        if short != u32::MAX {
            return Ok(short.into());
        }
        let value = u64_at(large, 0).context("a size of a large archive is missing")?;
        large = &large[8..];
        Ok(value)
    };
    let len = wide(len)?; // the size stands before the packed size there
    Ok([wide(packed)?, len, wide(offset)?])
}

/// The contents of the extra field 1; empty where there is none.
fn large_field(mut extra: &[u8]) -> Result<&[u8]> {
    while extra.len() >= 4 {
        let (kind, len) = (u16_at(extra, 0)?, usize::from(u16_at(extra, 2)?));
        let contents = piece(extra, 4, len)?;
        if kind == 1 {
            return Ok(contents);
        }
        extra = &extra[4 + len..];
    }
    Ok(&[])
}

fn piece(bytes: &[u8], at: usize, len: usize) -> Result<&[u8]> {
    let end = at.checked_add(len);
    match end.and_then(|end| bytes.get(at..end)) {
        Some(piece) => Ok(piece),
        None => bail!(
            "{len} bytes at {at} lie outside the file of {} bytes",
            bytes.len()
        ),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16> {
    let piece = piece(bytes, at, 2)?;
    Ok(u16::from_le_bytes(piece.try_into().expect("two bytes")))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    let piece = piece(bytes, at, 4)?;
    Ok(u32::from_le_bytes(piece.try_into().expect("four bytes")))
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64> {
    let piece = piece(bytes, at, 8)?;
    Ok(u64::from_le_bytes(piece.try_into().expect("eight bytes")))
}
