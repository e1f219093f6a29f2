//! Cached activations in a file that many runs and processes share.
//!
//! The file is written under another name and renamed when it is whole, so that a truncated one never appears under its
//! own name. It is mapped, not read: processes share its pages, and the system may drop them when memory is short.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use memmap2::Mmap;

use super::activations::{Activations, Shape};
use super::bytes::Bytes;

/// First bytes of a cache file, the last of which counts its versions.
const MAGIC: &[u8; 16] = b"totune states  1";

/// A file of cached activations, named by everything they depend on.
#[derive(Debug, Clone)]
pub struct CacheFile {
    path: PathBuf,
}

impl CacheFile {
    /// The file in `folder` for activations that depend on `key` and nothing else; `key` is made of letters and digits.
    pub fn new(folder: &Path, key: &str) -> Self {
        Self {
            path: folder.join(format!("{key}.states")),
        }
    }

    /// Loads the activations from the file, or computes them with `compute` and writes the file.
    ///
    /// If several processes need it at once, each may compute it, and the last file stays; a caller that wants only one to
    /// compute takes a lease first. A damaged file is written again.
    pub fn get(&self, compute: impl FnOnce() -> Result<Activations>) -> Result<Activations> {
        if let Ok(activations) = self.open() {
            return Ok(activations);
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
        let computed = compute()?;
        self.write(&computed)
            .with_context(|| format!("{}: cannot be written", self.path.display()))?;
        self.open()
    }

    fn write(&self, activations: &Activations) -> Result<()> {
        let own = RandomState::new().build_hasher().finish();
        let part = self.path.with_extension(format!("{own:016x}.part"));
        let written = write_to(&part, activations);
        let published = written.and_then(|()| Ok(fs::rename(&part, &self.path)?));
        if published.is_err() {
            // The error of the write matters more.
            let _ = fs::remove_file(&part);
        }
        published
    }

    fn open(&self) -> Result<Activations> {
        let path = self.path.display();
        let file = File::open(&self.path).with_context(|| format!("{path}: cannot be opened"))?;
        // SAFETY: nobody writes to a file under this name: it is renamed into place when whole. Whoever truncates it
        // by hand ends the process, as with any mapped file.
        let map =
            unsafe { Mmap::map(&file) }.with_context(|| format!("{path}: cannot be mapped"))?;
        let head = map.get(16..24).filter(|_| &map[..16] == MAGIC);
        let head = head.with_context(|| format!("{path}: does not begin as cached activations"))?;
        let length = u64::from_le_bytes(head.try_into().expect("8 bytes"));
        let end = usize::try_from(length).ok().and_then(|n| n.checked_add(24));
        let json = end.and_then(|end| map.get(24..end));
        let json = json.with_context(|| format!("{path}: ends within its head"))?;
        let shape: Shape =
            serde_json::from_slice(json).with_context(|| format!("{path}: not a head"))?;
        let from = 24 + json.len();
        let (found, expected) = (map.len() - from, shape.n_bytes());
        ensure!(
            found == expected,
            "{path}: {found} bytes of activations, expected {expected}"
        );
        Ok(Activations::new(shape, Bytes::File(map, from)))
    }
}

/// Writes a whole file under a name of its own.
fn write_to(part: &Path, activations: &Activations) -> Result<()> {
    let mut out = BufWriter::new(File::create_new(part)?);
    let head = serde_json::to_vec(&activations.shape)?;
    out.write_all(MAGIC)?;
    out.write_all(&(head.len() as u64).to_le_bytes())?;
    out.write_all(&head)?;
    out.write_all(activations.bytes.as_slice())?;
    let file = out.into_inner()?;
    file.sync_all()?;
    Ok(())
}
