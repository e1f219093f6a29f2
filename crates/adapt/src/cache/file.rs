//! Cached activations in a file that many runs and processes share.
//!
//! A file is a front with the shape of the activations, and the activations batch by batch. While it is being computed it
//! has another name, so that an unfinished one never appears under its own; a computation that ended early goes on from
//! there. A whole one is mapped, not read: processes share its pages, and the system may drop them when memory is short.
//! Its checksums are compared when it is mapped, once in each process.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use memmap2::Mmap;
use totune_model::Encoder;

use super::activations::Activations;
use super::bytes::Bytes;
use super::format::{Front, TRAILER, read_trailer};
use super::pass::FrozenPass;
use super::unfinished::UnfinishedFile;
use crate::watch::note;

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

    /// The file that its activations are in while they are being computed.
    pub fn unfinished(&self) -> PathBuf {
        self.path.with_extension("part")
    }

    /// Loads the activations from the file, or computes them with `pass` and writes the file. A pass that ended early goes
    /// on after the last batch that it wrote.
    ///
    /// If several processes need it at once, one writes it and the others compute for themselves; a caller that wants them
    /// to wait takes a lease first. A damaged file is written again. Where the file cannot be written, the activations
    /// stay in memory, and a note says why.
    ///
    /// # Errors
    /// Those of [`FrozenPass::compute`].
    pub fn get<E: Encoder>(&self, pass: &FrozenPass<E>) -> Result<Activations> {
        match self.open() {
            Ok(found) if found.shape().is_of_the_same(&pass.shape()) => return Ok(found),
            Ok(_) => note(&format!(
                "{}: is of another network or of other examples; computed again",
                self.path.display()
            )),
            Err(error) if self.path.exists() => note(&format!("{error:#}; computed again")),
            Err(_) => {}
        }
        self.write(pass).or_else(|failure| match failure {
            Failure::Pass(error) => Err(error),
            Failure::File(error) => {
                let path = self.path.display();
                note(&format!(
                    "{path}: cannot be written: {error:#}; kept in memory"
                ));
                pass.compute()
            }
        })
    }

    /// Computes what is missing of the file and maps it.
    fn write<E: Encoder>(&self, pass: &FrozenPass<E>) -> Result<Activations, Failure> {
        let shape = pass.shape();
        let mut file = UnfinishedFile::open(self.unfinished(), &shape).map_err(Failure::File)?;
        pass.run_from(file.batches(), &shape, |batch, took| {
            file.append(batch, took).map_err(Failure::File)
        })?;
        let published = file.publish(&self.path);
        published.and_then(|()| self.open()).map_err(Failure::File)
    }

    fn open(&self) -> Result<Activations> {
        let path = self.path.display();
        let file = File::open(&self.path).with_context(|| format!("{path}: cannot be opened"))?;
        // SAFETY: nobody writes to a file under this name: it is renamed into place when whole. Whoever truncates it
        // by hand ends the process, as with any mapped file.
        let map =
            unsafe { Mmap::map(&file) }.with_context(|| format!("{path}: cannot be mapped"))?;
        let Front { shape, length } = Front::read(&map).with_context(|| format!("{path}"))?;
        let mut rest = &map[length..];
        let mut seconds = 0.0;
        for (at, batch) in shape.batches.iter().enumerate() {
            let size = shape.bytes_of_batch(batch);
            let section = rest.split_at_checked(size + TRAILER);
            let found = section.and_then(|(section, after)| {
                rest = after;
                read_trailer(section)
            });
            seconds = found.with_context(|| {
                let n = shape.batches.len();
                format!("{path}: batch {} of {n} is damaged", at + 1)
            })?;
        }
        ensure!(
            rest.is_empty(),
            "{path}: {} bytes after the last batch",
            rest.len()
        );
        let bytes = Bytes::File(map, length);
        Ok(Activations::new(shape, (bytes, TRAILER), seconds))
    }
}

/// The reason for which a file was not written.
enum Failure {
    /// The activations could not be computed.
    Pass(anyhow::Error),
    /// They could not be stored.
    File(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Pass(error)
    }
}
