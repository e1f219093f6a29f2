//! A checkpoint under published names, from which every tensor is taken once.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::names::{Change, Renamed};
use crate::{Checkpoint, Naming, Tensor};

/// An opened checkpoint under the names of its architecture.
#[derive(Debug)]
pub struct Published {
    checkpoint: Checkpoint,
    prefix: &'static str,
    /// The tensors not taken yet, by their names without the prefix.
    left: BTreeMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    /// Name in the file.
    stored: String,
    shape: Vec<usize>,
    change: Change,
}

/// A difference between a checkpoint and its architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A tensor is not there; perhaps another is, under a similar name.
    Missing {
        /// The name that was looked for.
        name: String,
        /// The nearest of those left over.
        nearest: Option<String>,
    },
    /// A tensor has another shape.
    Shape {
        /// Its name.
        name: String,
        /// The shape found.
        found: Vec<usize>,
        /// The shape expected.
        expected: Vec<usize>,
    },
    /// A tensor that was not requested, and that is not to be ignored.
    Unexpected {
        /// Its name in the file.
        name: String,
        /// Its shape as published.
        shape: Vec<usize>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Missing { name, nearest } => {
                write!(f, "missing     {name}")?;
                nearest
                    .iter()
                    .try_for_each(|nearest| write!(f, " (the nearest is {nearest})"))
            }
            Self::Shape {
                name,
                found,
                expected,
            } => write!(
                f,
                "shape       {name}: found {found:?}, expected {expected:?}"
            ),
            Self::Unexpected { name, shape } => write!(f, "unexpected  {name} {shape:?}"),
        }
    }
}

impl Published {
    /// Opens `path` as [`Checkpoint::open`] does, and sees it under the names of `naming`.
    pub fn open(path: &Path, naming: Naming) -> Result<Self> {
        Self::new(Checkpoint::open(path)?, naming)
    }

    /// Sees an opened checkpoint under the names of `naming`.
    ///
    /// # Errors
    /// When two tensors would have one name.
    pub fn new(checkpoint: Checkpoint, naming: Naming) -> Result<Self> {
        let path = checkpoint.path().display().to_string();
        let format = checkpoint.format();
        let mut renamed: Vec<(String, Renamed)> = Vec::new();
        for info in checkpoint.tensors() {
            for published in naming
                .published(format, info.name, info.shape)
                .with_context(|| path.clone())?
            {
                renamed.push((info.name.to_string(), published));
            }
        }
        let prefix = naming.prefix();
        let prefixed = renamed
            .iter()
            .any(|(_, published)| published.name.starts_with(prefix));
        let prefix = if prefixed { prefix } else { "" };
        let mut left = BTreeMap::new();
        for (stored, published) in renamed {
            let name = &published.name;
            let short = naming.short(name.strip_prefix(prefix).unwrap_or(name));
            let entry = Entry {
                stored,
                shape: published.shape,
                change: published.change,
            };
            if let Some(other) = left.insert(short.clone(), entry) {
                bail!(
                    "{path}: tensors `{}` and `{}` both stand for `{short}`",
                    other.stored,
                    left[&short].stored
                );
            }
        }
        Ok(Self {
            checkpoint,
            prefix,
            left,
        })
    }

    /// The checkpoint underneath.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The shape of the tensor `name`, if it is there and has not been taken.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.left.get(name).map(|entry| &entry.shape[..])
    }

    /// Names and shapes of all that has not been taken, without the prefix.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.left
            .iter()
            .map(|(name, entry)| (name.as_str(), &entry.shape[..]))
    }

    /// Takes the tensor `name`, which must have the given shape.
    ///
    /// # Errors
    /// When it is not there (the nearest name is given), or cannot be read.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let path = self.checkpoint.path().display();
        let Some(entry) = self.left.get(name) else {
            let wanted = format!("{}{name}", self.prefix);
            let near = nearest(name, self.left.keys());
            let near = near.map_or(String::new(), |near| format!("; the nearest is `{near}`"));
            bail!("{path}: checkpoint has no tensor `{wanted}`{near}");
        };
        let stored = &entry.stored;
        ensure!(
            entry.shape == shape,
            "{path}: tensor `{stored}` has shape {:?}, expected {shape:?}",
            entry.shape
        );
        let tensor = entry.change.apply(self.checkpoint.tensor(stored)?);
        self.left.remove(name);
        Ok(tensor)
    }

    /// Checks that everything wanted has been taken.
    ///
    /// # Errors
    /// When tensors are left that `ignored` (exact names, or prefixes ending in a point) does not name.
    pub fn finish(self, ignored: &[String]) -> Result<()> {
        let unexpected: Vec<&str> = self
            .left
            .iter()
            .filter(|(short, _)| !is_ignored(short, ignored))
            .map(|(_, entry)| entry.stored.as_str())
            .collect();
        ensure!(
            unexpected.is_empty(),
            "{}: unexpected tensors {}; list them under `ignore` in the encoder card if they are not part of the \
             encoder",
            self.checkpoint.path().display(),
            unexpected.join(", ")
        );
        Ok(())
    }

    /// All differences of the tensors from those `expected`, by name and shape, without reading them.
    pub fn differences(
        &self,
        expected: &[(String, Vec<usize>)],
        ignored: &[String],
    ) -> Vec<Difference> {
        let mut spare: BTreeMap<&String, &Entry> = self.left.iter().collect();
        let mut missing = Vec::new();
        let mut differences = Vec::new();
        for (name, shape) in expected {
            match spare.remove(name) {
                None => missing.push(name),
                Some(entry) if entry.shape != *shape => differences.push(Difference::Shape {
                    name: name.clone(),
                    found: entry.shape.clone(),
                    expected: shape.clone(),
                }),
                Some(_) => {}
            }
        }
        spare.retain(|name, _| !is_ignored(name, ignored));
        differences.extend(missing.into_iter().map(|name| Difference::Missing {
            name: name.clone(),
            nearest: nearest(name, spare.keys().copied()).cloned(),
        }));
        differences.extend(spare.into_values().map(|entry| Difference::Unexpected {
            name: entry.stored.clone(),
            shape: entry.shape.clone(),
        }));
        differences
    }
}

fn is_ignored(name: &str, ignored: &[String]) -> bool {
    ignored.iter().any(|pattern| {
        name == pattern || pattern.ends_with('.') && name.starts_with(pattern.as_str())
    })
}

fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    names
        .map(|candidate| (strsim::levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= 8)
        .map(|(_, candidate)| candidate)
}
