//! The archive that PyTorch writes since 1.6: `data.pkl` and one stored entry per storage.

use std::collections::HashSet;
use std::io::Cursor;

use anyhow::{Context, Result, bail, ensure};
use zip::{CompressionMethod, ZipArchive};

use super::{Storages, join, pickle};
use crate::bytes::Bytes;
use crate::format::{Tensors, index};
use crate::stored::{Checksum, Span};

/// Entries of an archive; a BERT-large has about four hundred.
const MAX_ENTRIES: usize = 100_000;

/// Whether bytes begin as a zip archive does.
pub(crate) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// Lists the tensors of an archive.
pub(super) fn read(file: usize, bytes: &Bytes) -> Result<Tensors> {
    let whole = || format!("not a whole PyTorch archive ({} bytes)", bytes.len());
    let mut archive = ZipArchive::new(Cursor::new(&bytes[..])).with_context(whole)?;
    ensure!(
        archive.len() <= MAX_ENTRIES,
        "the archive has {} entries, expected at most {MAX_ENTRIES}",
        archive.len()
    );
    // Two entries of one name are two answers to one question: readers differ in which they give.
    ensure!(
        !archive.has_duplicate_names(),
        "the archive has two entries of one name"
    );
    let mut root = None;
    let mut storages = Storages::new();
    let mut byteorder = None;
    let mut seen = HashSet::new();
    for i in 0..archive.len() {
        let entry = archive.by_index_raw(i).with_context(whole)?;
        let name = entry.name().with_context(whole)?.into_owned();
        ensure!(
            seen.insert(name.clone()),
            "the archive has two entries `{name}`"
        );
        // All that matters lies below one folder, whatever its name.
        let Some((folder, inner)) = name.split_once('/') else {
            continue;
        };
        let wanted = inner == "data.pkl" || inner == "byteorder" || inner.starts_with("data/");
        if !wanted {
            continue;
        }
        let span = span(file, bytes, &entry).with_context(|| format!("entry `{name}`"))?;
        match inner.strip_prefix("data/") {
            Some(key) => {
                storages.insert(format!("{folder}/{key}"), span);
            }
            None if inner == "byteorder" => byteorder = Some(span),
            None => {
                ensure!(root.is_none(), "the archive has two entries `data.pkl`");
                root = Some((folder.to_string(), span));
            }
        }
    }
    let Some((folder, span)) = root else {
        bail!("the archive has no entry `data.pkl`: not what `torch.save` writes");
    };
    if let Some(span) = byteorder {
        let order = contents(bytes, &span).context("entry `byteorder`")?;
        ensure!(
            order == b"little",
            "byte order is `{}`, expected `little`",
            String::from_utf8_lossy(&order[..order.len().min(20)])
        );
    }
    let below = format!("{folder}/");
    let storages = storages
        .into_iter()
        .filter_map(|(key, span)| Some((key.strip_prefix(&below)?.to_string(), span)))
        .collect();
    let pickle = contents(bytes, &span).context("entry `data.pkl`")?;
    let tensors = pickle::read_state_dict(pickle).context("entry `data.pkl`")?;
    join(tensors, &storages)
}

/// Where an entry's bytes lie. Only stored entries are taken, as PyTorch writes them: nothing is ever unpacked.
fn span<R: std::io::Read + ?Sized>(
    file: usize,
    bytes: &Bytes,
    entry: &zip::read::ZipFile<'_, R>,
) -> Result<Span> {
    ensure!(
        entry.compression() == CompressionMethod::Stored && !entry.encrypted(),
        "is compressed or encrypted; PyTorch stores its entries as they are"
    );
    ensure!(
        entry.size() == entry.compressed_size(),
        "is said to be {} bytes in {} bytes",
        entry.size(),
        entry.compressed_size()
    );
    let start = entry.data_start().context("has no place in the archive")?;
    // Zero is written where no checksum was computed.
    let checksum = match entry.crc32() {
        0 => Checksum::None,
        sum => Checksum::Crc32(sum),
    };
    Span::whole(
        file,
        bytes.len(),
        index(start, "offset")?,
        index(entry.size(), "size")?,
        checksum,
    )
}

fn contents<'a>(bytes: &'a Bytes, span: &Span) -> Result<&'a [u8]> {
    let data = &bytes[span.start..span.start + span.len];
    span.checksum.verify(data)?;
    Ok(data)
}
