//! Cached activations in a file that many runs and processes share.
//!
//! The file is written under another name and renamed when it is whole, so that a truncated one never appears under its
//! own name. It is mapped, not read: processes share its pages, and the system may drop them when memory is short. Its
//! checksum is compared when it is mapped, once in each process.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use memmap2::Mmap;
use sha2::{Digest, Sha256};

use super::activations::{Activations, Shape};
use super::bytes::Bytes;

/// First bytes of a cache file, the last of which counts its versions.
const MAGIC: &[u8; 16] = b"totune states  2";

/// Length of the SHA-256 of everything after it.
const CHECKSUM: usize = 32;

/// Length of all before the head: the first bytes, the checksum, the length of the head.
const FRONT: usize = MAGIC.len() + CHECKSUM + 8;

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
    /// compute takes a lease first. A damaged file is written again. Where the file cannot be written, the activations
    /// stay in memory, and a note says why.
    ///
    /// # Errors
    /// Those of `compute`.
    pub fn get(&self, compute: impl FnOnce() -> Result<Activations>) -> Result<Activations> {
        match self.open() {
            Ok(activations) => return Ok(activations),
            Err(error) if self.path.exists() => eprintln!("note: {error:#}; computed again"),
            Err(_) => {}
        }
        let computed = compute()?;
        Ok(self.write(&computed).unwrap_or_else(|error| {
            let path = self.path.display();
            eprintln!("note: {path}: cannot be written: {error:#}; kept in memory");
            computed
        }))
    }

    /// Writes the file and maps it.
    fn write(&self, activations: &Activations) -> Result<Activations> {
        fs::create_dir_all(self.path.parent().unwrap_or(Path::new(".")))?;
        let own = RandomState::new().build_hasher().finish();
        let part = self.path.with_extension(format!("{own:016x}.part"));
        let written = write_to(&part, activations);
        let published = written.and_then(|()| Ok(fs::rename(&part, &self.path)?));
        if published.is_err() {
            // The error of the write matters more.
            let _ = fs::remove_file(&part);
        }
        published?;
        self.open()
    }

    fn open(&self) -> Result<Activations> {
        let path = self.path.display();
        let file = File::open(&self.path).with_context(|| format!("{path}: cannot be opened"))?;
        // SAFETY: nobody writes to a file under this name: it is renamed into place when whole. Whoever truncates it
        // by hand ends the process, as with any mapped file.
        let map =
            unsafe { Mmap::map(&file) }.with_context(|| format!("{path}: cannot be mapped"))?;
        let front = map.get(..FRONT).filter(|front| front.starts_with(MAGIC));
        let front =
            front.with_context(|| format!("{path}: not cached activations of this version"))?;
        let (expected, content) = map[MAGIC.len()..].split_at(CHECKSUM);
        ensure!(
            Sha256::digest(content).as_slice() == expected,
            "{path}: its checksum is wrong: the file is damaged"
        );
        let length = front[FRONT - 8..].try_into().expect("8 bytes");
        let length = usize::try_from(u64::from_le_bytes(length)).ok();
        let end = length.and_then(|length| length.checked_add(FRONT));
        let json = end.and_then(|end| map.get(FRONT..end));
        let json = json.with_context(|| format!("{path}: ends within its head"))?;
        let shape: Shape =
            serde_json::from_slice(json).with_context(|| format!("{path}: not a head"))?;
        let from = FRONT + json.len();
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
    let length = (head.len() as u64).to_le_bytes();
    let content = [&length[..], &head, activations.bytes.as_slice()];
    let mut hash = Sha256::new();
    content.iter().for_each(|part| hash.update(part));
    out.write_all(MAGIC)?;
    out.write_all(&hash.finalize())?;
    content.iter().try_for_each(|part| out.write_all(part))?;
    let file = out.into_inner()?;
    file.sync_all()?;
    Ok(())
}
