//! An opened checkpoint, whatever its format.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use hdf5_reader::Hdf5File;

use crate::bytes::{Bytes, joint_hash};
use crate::format::{Kind, Tensors, hdf5, read_single, recognise, shards, tensorflow};
use crate::stored::{Place, Stored};
use crate::{Dtype, Format, dtype, folder};

/// Opened pretrained weights: names, shapes and types are known, and each tensor is read on request.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    format: Format,
    files: Vec<Bytes>,
    tensors: Tensors,
    hdf5: Option<Hdf5>,
}

/// The reader behind an HDF5 file.
struct Hdf5(Hdf5File);

impl std::fmt::Debug for Hdf5 {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Hdf5")
    }
}

/// A tensor's name, shape and type, known without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorInfo<'a> {
    /// Name in the file.
    pub name: &'a str,
    /// Extents, outermost first; empty for a single number.
    pub shape: &'a [usize],
    /// Type of the stored elements.
    pub dtype: Dtype,
}

/// A tensor in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// Elements in row-major order.
    pub values: Vec<f32>,
}

impl Checkpoint {
    /// Opens a file with weights, an index of shards, a TensorFlow index (or its name without `.index`), or a folder
    /// with one of these, of which the first in the order of [`Format::ALL`] is taken.
    ///
    /// # Errors
    /// When there is none, it cannot be read, is cut short or damaged, or holds what no checkpoint should.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            let (_, file) = folder::find(path, &Format::ALL)?.with_context(|| {
                format!(
                    "{}: no weights in this folder; looked for {}",
                    path.display(),
                    folder::USUAL_NAMES
                )
            })?;
            return Self::open_file(&file);
        }
        let with_index = appended(path, ".index");
        if !path.exists() && with_index.is_file() {
            return Self::open_file(&with_index);
        }
        Self::open_file(path)
    }

    fn open_file(path: &Path) -> Result<Self> {
        let bytes = Bytes::map(path)?;
        let shown = || path.display().to_string();
        match recognise(path, &bytes) {
            Kind::Shards(format) => {
                let index = shards::Index::parse(&bytes).with_context(shown)?;
                let (mut files, mut tensors) = (Vec::new(), Tensors::new());
                for name in index.files() {
                    let shard = path.with_file_name(name);
                    let bytes = Bytes::map(&shard)?;
                    let found = read_single(format, files.len(), &bytes)
                        .with_context(|| shard.display().to_string())?;
                    index.check(name, &found).with_context(shown)?;
                    tensors.extend(found);
                    files.push(bytes);
                }
                Self::new(path, format, files, tensors)
            }
            Kind::Single(Format::Tensorflow) => {
                let index = tensorflow::Index::parse(&bytes).with_context(shown)?;
                let base = path.with_extension(""); // without `.index`
                let mut files = vec![bytes];
                for end in index.data_files() {
                    files.push(Bytes::map(&appended(&base, &end))?);
                }
                let tensors = index.tensors(1, &files[1..]).with_context(shown)?;
                Self::new(path, Format::Tensorflow, files, tensors)
            }
            Kind::Single(format) => {
                let tensors = read_single(format, 0, &bytes).with_context(shown)?;
                Self::new(path, format, vec![bytes], tensors)
            }
        }
    }

    fn new(path: &Path, format: Format, files: Vec<Bytes>, tensors: Tensors) -> Result<Self> {
        let hdf5 = match format {
            Format::Hdf5 => Some(Hdf5(hdf5::read(&files[0])?.1)),
            _ => None,
        };
        Ok(Self {
            path: path.to_owned(),
            format,
            files,
            tensors,
            hdf5,
        })
    }

    /// A checkpoint of one file, from its bytes; `name` is its name in errors.
    ///
    /// # Errors
    /// The same as those of [`Checkpoint::open`].
    pub fn read(name: &str, format: Format, bytes: Vec<u8>) -> Result<Self> {
        let bytes = Bytes::from(bytes);
        let tensors = read_single(format, 0, &bytes).with_context(|| name.to_string())?;
        Self::new(Path::new(name), format, vec![bytes], tensors)
    }

    /// A TensorFlow checkpoint from the bytes of its index and of its data files.
    ///
    /// # Errors
    /// The same as those of [`Checkpoint::open`].
    pub fn read_tensorflow(name: &str, index: Vec<u8>, data: Vec<Vec<u8>>) -> Result<Self> {
        let files: Vec<Bytes> = std::iter::once(index)
            .chain(data)
            .map(Bytes::from)
            .collect();
        let tensors =
            tensorflow::read(1, &files[0], &files[1..]).with_context(|| name.to_string())?;
        Self::new(Path::new(name), Format::Tensorflow, files, tensors)
    }

    /// The file that was opened; for shards, their index.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format of the weights.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes of all files with weights.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.len() as u64).sum()
    }

    /// Identifies the weights: the SHA-256 of the file, in hexadecimal.
    ///
    /// Of several files (shards; TensorFlow's index and data) it is the SHA-256 of their hashes in hexadecimal,
    /// sorted, each followed by a line feed, so that neither their names nor the order of a listing matters. The JSON
    /// index of shards says nothing that the shards do not, and is left out. By hand:
    /// `sha256sum SHARDS | cut -c1-64 | sort | sha256sum`.
    pub fn hash(&self) -> String {
        match &self.files[..] {
            [file] => file.sha256(),
            files => joint_hash(files.iter().map(Bytes::sha256).collect()),
        }
    }

    /// All tensors by name.
    pub fn tensors(&self) -> impl Iterator<Item = TensorInfo<'_>> {
        self.tensors.iter().map(|(name, stored)| TensorInfo {
            name,
            shape: &stored.shape,
            dtype: stored.dtype,
        })
    }

    /// The shape and type of the tensor `name`, if there is one.
    pub fn info(&self, name: &str) -> Option<TensorInfo<'_>> {
        let (name, stored) = self.tensors.get_key_value(name)?;
        Some(TensorInfo {
            name,
            shape: &stored.shape,
            dtype: stored.dtype,
        })
    }

    /// Reads the tensor `name` as f32.
    ///
    /// # Errors
    /// When there is none, its elements are no floats, or its checksum does not hold.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let stored = self.stored(name)?;
        let values = self
            .elements(stored)
            .and_then(|elements| dtype::to_f32(stored.dtype, &elements))
            .with_context(|| format!("{}: tensor `{name}`", self.path.display()))?;
        Ok(Tensor {
            shape: stored.shape.clone(),
            values,
        })
    }

    /// Reads the tensor `name` as its elements are stored: in row-major order, little-endian.
    ///
    /// # Errors
    /// When there is none, its type is [`Dtype::Other`], or its checksum does not hold.
    pub fn elements_of(&self, name: &str) -> Result<Cow<'_, [u8]>> {
        let stored = self.stored(name)?;
        self.elements(stored)
            .with_context(|| format!("{}: tensor `{name}`", self.path.display()))
    }

    fn stored(&self, name: &str) -> Result<&Stored> {
        self.tensors
            .get(name)
            .with_context(|| format!("{}: checkpoint has no tensor `{name}`", self.path.display()))
    }

    fn elements(&self, stored: &Stored) -> Result<Cow<'_, [u8]>> {
        ensure!(
            stored.dtype.size().is_some(),
            "has type {}, expected F32, F16, BF16 or F64",
            stored.dtype
        );
        match &stored.place {
            Place::Span(span) => span.read(&self.files, stored.dtype, &stored.shape),
            Place::Hdf5 { path } => {
                let opened = self.hdf5.as_ref().context("no HDF5 file is open")?;
                Ok(Cow::Owned(hdf5::elements(&opened.0, path)?))
            }
        }
    }
}

/// A path with something added to the file's name.
fn appended(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
