//! The archive that PyTorch writes since 1.6: `data.pkl` and one stored entry per storage.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};

use super::directory::{self, Entry};
use super::{Storages, join, pickle};
use crate::bytes::Bytes;
use crate::format::Tensors;
use crate::stored::{Checksum, Span};

/// Returns whether bytes begin as a zip archive does.
pub(crate) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// Lists the tensors of an archive.
pub(super) fn read(file: usize, bytes: &Bytes) -> Result<Tensors> {
    let mut entries: HashMap<&str, Span> = HashMap::new();
    directory::entries(bytes, |entry| {
        // Two entries of one name are ambiguous: readers differ in which of them they return.
        ensure!(
            entries.insert(entry.name, span(file, &entry)).is_none(),
            "the archive has two entries `{}`",
            entry.name
        );
        Ok(())
    })
    .with_context(|| format!("not a whole PyTorch archive ({} bytes)", bytes.len()))?;

    // All that matters lies below one folder, whatever its name.
    let roots: Vec<&str> = entries
        .keys()
        .filter_map(|name| name.strip_suffix("/data.pkl"))
        .filter(|folder| !folder.contains('/'))
        .collect();
    let [folder] = roots[..] else {
        bail!(
            "the archive has {} `data.pkl`: not what `torch.save` writes",
            if roots.is_empty() {
                "no entry"
            } else {
                "more than one entry"
            }
        );
    };
    if let Some(span) = entries.get(format!("{folder}/byteorder").as_str()) {
        let order = contents(bytes, span).context("entry `byteorder`")?;
        ensure!(
            order == b"little",
            "byte order is `{}`, expected `little`",
            String::from_utf8_lossy(&order[..order.len().min(20)])
        );
    }
    let below = format!("{folder}/data/");
    let storages: Storages = entries
        .iter()
        .filter_map(|(name, span)| Some((name.strip_prefix(&below)?.to_string(), span.clone())))
        .collect();
    let pickle = contents(bytes, &entries[format!("{folder}/data.pkl").as_str()])
        .context("entry `data.pkl`")?;
    let tensors = pickle::read_state_dict(pickle).context("entry `data.pkl`")?;
    join(tensors, &storages)
}

/// The position of an entry's bytes; the directory's reader has checked that it is within the file.
fn span(file: usize, entry: &Entry) -> Span {
    Span {
        file,
        start: entry.start,
        len: entry.len,
        checksum: match entry.crc32 {
            0 => Checksum::None, // none was computed
            sum => Checksum::Crc32(sum),
        },
        view: None,
    }
}

fn contents<'a>(bytes: &'a Bytes, span: &Span) -> Result<&'a [u8]> {
    let data = &bytes[span.start..span.start + span.len];
    span.checksum.verify(data)?;
    Ok(data)
}
