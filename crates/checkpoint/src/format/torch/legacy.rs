//! The format PyTorch wrote before 1.6: a run of pickles, then the storages one after another.

use anyhow::{Context, Result, bail, ensure};

use super::{Storages, join, pickle};
use crate::bytes::Bytes;
use crate::format::{Tensors, index};
use crate::stored::{Checksum, Span};

/// The first pickle: protocol 2, an integer of ten bytes, the end.
const MAGIC: [u8; 15] = [
    0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, b'.',
];
/// The content of the second pickle.
const VERSION: i64 = 1001;

/// Returns whether bytes begin with PyTorch's magic number.
pub(crate) fn is_legacy(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Lists the tensors of a file.
pub(super) fn read(file: usize, bytes: &Bytes) -> Result<Tensors> {
    let mut at = MAGIC.len();
    let version = pickle::read_integer(bytes, &mut at).context("the version")?;
    ensure!(
        version == VERSION,
        "version of the format is {version}, expected {VERSION}"
    );
    match pickle::read_flag(bytes, &mut at, "little_endian").context("the writer's system")? {
        Some(true) => {}
        found => bail!("the writer's system has little_endian = {found:?}, expected True"),
    }
    let (tensors, types) = pickle::read_state_dict_at(bytes, &mut at).context("the state dict")?;
    let keys = pickle::read_strings(bytes, &mut at).context("the list of storages")?;

    let mut storages = Storages::new();
    for key in keys {
        let size = types
            .get(&key)
            .and_then(|dtype| dtype.size())
            .with_context(|| format!("storage `{key}` belongs to no tensor that can be read"))?;
        let n = bytes
            .get(at..at.saturating_add(8))
            .and_then(|head| head.try_into().ok())
            .map(u64::from_le_bytes)
            .with_context(|| format!("the file ends before storage `{key}`"))?;
        let len = index(n, "count")?
            .checked_mul(size)
            .with_context(|| format!("storage `{key}` of {n} elements is more than memory"))?;
        let span = Span::whole(file, bytes.len(), at + 8, len, Checksum::None)
            .with_context(|| format!("storage `{key}`"))?;
        at = span.start + span.len;
        ensure!(
            storages.insert(key.clone(), span).is_none(),
            "storage `{key}` is there twice"
        );
    }
    ensure!(
        at == bytes.len(),
        "{} bytes follow the last storage, expected none",
        bytes.len() - at
    );
    join(tensors, &storages)
}
