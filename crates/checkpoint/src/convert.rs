//! Conversion of any checkpoint to a folder of safetensors, which all current tools read.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, ensure};
use safetensors::{Dtype as Written, View};
use totune_disk::PendingFolder;

use crate::dtype::from_f32;
use crate::names::{Change, elmo::ElmoOptions};
use crate::{Checkpoint, Dtype, Format, Naming};

/// Files that go with weights, and their names after the conversion.
const COMPANIONS: [(&str, &str); 11] = [
    ("config.json", "config.json"),
    ("bert_config.json", "config.json"),
    ("tokenizer.json", "tokenizer.json"),
    ("tokenizer_config.json", "tokenizer_config.json"),
    ("special_tokens_map.json", "special_tokens_map.json"),
    ("added_tokens.json", "added_tokens.json"),
    ("vocab.txt", "vocab.txt"),
    ("vocab.json", "vocab.json"),
    ("merges.txt", "merges.txt"),
    ("LICENSE", "LICENSE"),
    ("README.md", "README.md"),
];

/// The input and output of a conversion.
#[derive(Debug)]
pub struct Conversion<'a> {
    /// The weights.
    pub from: &'a Checkpoint,
    /// The new folder; it must not exist, or be empty.
    pub to: &'a Path,
    /// The dtype in which floats are written; integers stay as they are.
    pub dtype: Dtype,
}

/// The files written.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The file with the weights.
    pub weights: PathBuf,
    /// Its SHA-256.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
    /// Tensors in it.
    pub n_tensors: usize,
    /// Files copied next to it, by their new names.
    pub companions: Vec<String>,
}

impl Conversion<'_> {
    /// Writes `model.safetensors` and the files that go with it. The folder appears whole or not at all.
    ///
    /// # Errors
    /// When the folder has something in it, a number does not fit into the new type (the tensor is named), a tensor
    /// cannot be read, or the disk is full.
    pub fn write(&self) -> Result<Converted> {
        let to = self.to.display();
        let occupied = self.to.exists()
            && fs::read_dir(self.to)
                .with_context(|| format!("{to}: cannot be listed"))?
                .next()
                .is_some();
        ensure!(
            !occupied,
            "{to}: is not empty, expected a folder that is new"
        );
        let tensors = self.tensors()?;
        self.check_options(&tensors)?;
        let n_tensors = tensors.len();
        let unfinished = PendingFolder::create(self.to)?;
        let weights = unfinished.temporary().join("model.safetensors");
        write_tensors(&weights, tensors)?;
        let companions = self.copy_companions(unfinished.temporary())?;
        let written = Checkpoint::open(&weights)?;
        let converted = Converted {
            weights: self.to.join("model.safetensors"),
            hash: written.hash(),
            bytes: written.bytes(),
            n_tensors,
            companions,
        };
        drop(written);
        unfinished.publish()?;
        Ok(converted)
    }

    /// The tensors to write, with their names. Prefixes and heads stay: the new file has all that the old one had.
    fn tensors(&self) -> Result<Vec<(String, Lazy<'_>)>> {
        let from = self.from;
        let naming = match from.format() {
            Format::Hdf5 => Naming::Elmo,
            _ => Naming::Bert,
        };
        let mut tensors = Vec::new();
        for info in from.tensors() {
            let renamed = naming
                .published(from.format(), info.name, info.shape)
                .with_context(|| from.path().display().to_string())?;
            for published in renamed {
                let is_float = info.dtype.is_float();
                ensure!(
                    is_float || published.change == Change::None && info.dtype != Dtype::Other,
                    "{}: tensor `{}` has type {}, which cannot be converted",
                    from.path().display(),
                    info.name,
                    info.dtype
                );
                let lazy = Lazy {
                    from,
                    stored: info.name,
                    change: published.change,
                    dtype: if is_float { self.dtype } else { info.dtype },
                    shape: published.shape,
                    failed: RefCell::new(None),
                };
                tensors.push((published.name, lazy));
            }
        }
        tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
        for pair in tensors.windows(2) {
            ensure!(
                pair[0].0 != pair[1].0,
                "{}: two tensors stand for `{}`",
                from.path().display(),
                pair[0].0
            );
        }
        Ok(tensors)
    }

    /// Checks that the tensors are those that ELMo's options describe; the options have facts that the weights lack.
    fn check_options(&self, tensors: &[(String, Lazy)]) -> Result<()> {
        if self.from.format() != Format::Hdf5 {
            return Ok(());
        }
        let shown = self.from.path().display();
        let path = ElmoOptions::beside(self.from.path()).with_context(|| {
            format!("{shown}: no `options.json` beside it, which ELMo's weights need")
        })?;
        let options = ElmoOptions::read(&path)?;
        let mut expected = options.tensors();
        expected.sort();
        let found: Vec<(String, Vec<usize>)> = tensors
            .iter()
            .map(|(name, lazy)| (name.clone(), lazy.shape.clone()))
            .collect();
        let odd = expected.iter().find(|tensor| !found.contains(tensor));
        ensure!(
            odd.is_none() && found.len() == expected.len(),
            "{shown}: does not fit {}: {}",
            path.display(),
            match odd {
                Some((name, shape)) => format!("no tensor `{name}` of shape {shape:?}"),
                None => format!("{} tensors, expected {}", found.len(), expected.len()),
            }
        );
        Ok(())
    }

    fn copy_companions(&self, to: &Path) -> Result<Vec<String>> {
        let from = self.from.path();
        let mut copied: Vec<String> = Vec::new();
        let mut copy = |source: &Path, name: &str| -> Result<()> {
            if source.is_file() && !copied.iter().any(|other| other == name) {
                fs::copy(source, to.join(name)).with_context(|| {
                    format!("{}: cannot be copied to {}", source.display(), to.display())
                })?;
                copied.push(name.to_string());
            }
            Ok(())
        };
        if self.from.format() == Format::Hdf5
            && let Some(options) = ElmoOptions::beside(from)
        {
            copy(&options, "options.json")?;
        }
        for (name, new_name) in COMPANIONS {
            copy(&from.with_file_name(name), new_name)?;
        }
        Ok(copied)
    }
}

/// A tensor that is read and converted when it is its turn to be written, so that one is in memory at a time.
struct Lazy<'a> {
    from: &'a Checkpoint,
    stored: &'a str,
    change: Change,
    dtype: Dtype,
    shape: Vec<usize>,
    /// The error of a failed read: the library's request for bytes cannot return one, so it is kept here.
    failed: RefCell<Option<Error>>,
}

impl Lazy<'_> {
    fn bytes(&self) -> Result<Vec<u8>> {
        if !self.dtype.is_float() {
            return Ok(self.from.elements_of(self.stored)?.into_owned());
        }
        let tensor = self.change.apply(self.from.tensor(self.stored)?);
        from_f32(self.dtype, &tensor.values)
            .with_context(|| format!("{}: tensor `{}`", self.from.path().display(), self.stored))
    }
}

impl View for &Lazy<'_> {
    fn dtype(&self) -> Written {
        match self.dtype {
            Dtype::F64 => Written::F64,
            Dtype::F32 => Written::F32,
            Dtype::F16 => Written::F16,
            Dtype::BF16 => Written::BF16,
            Dtype::I64 => Written::I64,
            Dtype::I32 => Written::I32,
            Dtype::I16 => Written::I16,
            Dtype::I8 => Written::I8,
            Dtype::U8 => Written::U8,
            Dtype::Bool => Written::BOOL,
            Dtype::Other => unreachable!("refused before anything is written"),
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(self.bytes().unwrap_or_else(|error| {
            self.failed.borrow_mut().get_or_insert(error);
            vec![0; self.data_len()]
        }))
    }

    fn data_len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.size().unwrap_or(0)
    }
}

fn write_tensors(path: &Path, tensors: Vec<(String, Lazy)>) -> Result<()> {
    // PyTorch's tools require this before they read a file.
    let metadata = HashMap::from([("format".to_string(), "pt".to_string())]);
    let views = tensors.iter().map(|(name, lazy)| (name, lazy));
    let written = safetensors::serialize_to_file(views, Some(metadata), path);
    for (_, lazy) in tensors {
        if let Some(error) = lazy.failed.into_inner() {
            return Err(error);
        }
    }
    written.with_context(|| format!("{}: cannot be written", path.display()))?;
    // The library creates a file that only its owner may read; weights are for whoever may read the folder.
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .with_context(|| format!("{}: cannot be opened to others", path.display()))?;
    Ok(())
}
