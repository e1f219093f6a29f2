//! ELMo (Peters et al. 2018): from the names and conventions of its HDF5 file to ours.
//!
//! The file is TensorFlow's: matrices are `[in, out]`, gates come in the order input, candidate, forget, output, and
//! what the graph added while it ran (1 to the bias of the forget gate, a minus before the carry gate) is not in the
//! numbers. Published here, they are what a network computes with directly:
//!
//! | HDF5 | here | shape |
//! |---|---|---|
//! | `char_embed` | `char_embedding.weight` | `[261, dim]`; row `i` is the character `i + 1`, 0 is padding and all zero |
//! | `CNN/W_cnn_<i>`, `CNN/b_cnn_<i>` | `char_cnn.<i>.weight`, `.bias` | `[filters, dim, width]`, `[filters]` |
//! | `CNN_high_<k>/W_transform`, `b_transform` | `highway.<k>.transform.weight`, `.bias` | `[all filters, all filters]` |
//! | `CNN_high_<k>/W_carry`, `b_carry`, negated | `highway.<k>.carry.weight`, `.bias` | the same |
//! | `CNN_proj/W_proj`, `b_proj` | `projection.weight`, `.bias` | `[proj, all filters]` |
//! | `RNN_0/RNN/MultiRNNCell/Cell<l>/LSTMCell/W_0`, upper rows | `forward.<l>.input.weight` | `[4 cell, proj]` |
//! | the same, lower rows | `forward.<l>.state.weight` | `[4 cell, proj]` |
//! | `…/B`, 1 added to the forget gate's | `forward.<l>.bias` | `[4 cell]` |
//! | `…/W_P_0` | `forward.<l>.projection.weight` | `[proj, cell]` |
//! | `RNN_1/…` | `backward.<l>.…` | the same |
//!
//! A highway layer is `c * x + (1 - c) * relu(transform(x))` with `c = sigmoid(carry(x))`. Gates are in PyTorch's
//! order: input, forget, candidate, output.

use anyhow::{Result, bail, ensure};

use super::{Change, Renamed};

mod options;
mod part;

pub use self::options::{CharCnn, ElmoOptions, Lstm};
pub(crate) use self::part::TensorPart;

/// Characters that have an embedding: 256 bytes, and boundaries of words and sentences.
const N_CHARACTERS: usize = 261;

/// The published tensors of a dataset of the HDF5 file.
pub(super) fn published(path: &str, shape: &[usize]) -> Result<Vec<Renamed>> {
    let found = Found { path, shape };
    let parts: Vec<&str> = path.split('/').collect();
    let renamed = match parts[..] {
        ["char_embed"] => Some(found.as_is("char_embedding.weight")),
        ["CNN", last] => found.convolution(last)?,
        ["CNN_proj", "W_proj"] => Some(found.reversed("projection.weight", Change::Transposed)?),
        ["CNN_proj", "b_proj"] => Some(found.as_is("projection.bias")),
        [scope, last] => match numbered(scope, "CNN_high_") {
            Some(k) => found.highway(k, last)?,
            None => None,
        },
        [direction, "RNN", "MultiRNNCell", cell, "LSTMCell", last] => {
            let direction = match direction {
                "RNN_0" => Some("forward"),
                "RNN_1" => Some("backward"),
                _ => None,
            };
            match direction.zip(numbered(cell, "Cell")) {
                Some((direction, layer)) => found.lstm(&format!("{direction}.{layer}"), last)?,
                None => None,
            }
        }
        _ => None,
    };
    // What is left over keeps its name, and is said to be left over.
    Ok(renamed.unwrap_or_else(|| found.as_is(path)))
}

/// The number behind `start`.
fn numbered(text: &str, start: &str) -> Option<usize> {
    text.strip_prefix(start)?.parse().ok()
}

/// A dataset of the file.
struct Found<'a> {
    path: &'a str,
    shape: &'a [usize],
}

impl Found<'_> {
    fn as_is(&self, name: &str) -> Vec<Renamed> {
        self.changed(name, Change::None)
    }

    fn changed(&self, name: &str, change: Change) -> Vec<Renamed> {
        one(name.to_string(), self.shape.to_vec(), change)
    }

    /// A matrix whose dimensions change places.
    fn reversed(&self, name: &str, change: Change) -> Result<Vec<Renamed>> {
        let Self { path, shape } = self;
        let &[rows, columns] = *shape else {
            bail!("dataset `{path}` has shape {shape:?}, expected two dimensions");
        };
        Ok(one(name.to_string(), vec![columns, rows], change))
    }

    fn convolution(&self, last: &str) -> Result<Option<Vec<Renamed>>> {
        if let Some(i) = numbered(last, "W_cnn_") {
            let Self { path, shape } = self;
            let &[1, width, dim, n] = *shape else {
                bail!("dataset `{path}` has shape {shape:?}, expected [1, width, dim, filters]");
            };
            let name = format!("char_cnn.{i}.weight");
            let filters = Change::Elmo(TensorPart::Filters);
            return Ok(Some(one(name, vec![n, dim, width], filters)));
        }
        let bias = numbered(last, "b_cnn_");
        Ok(bias.map(|i| self.as_is(&format!("char_cnn.{i}.bias"))))
    }

    fn highway(&self, k: usize, last: &str) -> Result<Option<Vec<Renamed>>> {
        let name = |part: &str| format!("highway.{k}.{part}");
        Ok(Some(match last {
            "W_transform" => self.reversed(&name("transform.weight"), Change::Transposed)?,
            "b_transform" => self.as_is(&name("transform.bias")),
            "W_carry" => {
                let change = Change::Elmo(TensorPart::NegatedTransposed);
                self.reversed(&name("carry.weight"), change)?
            }
            "b_carry" => self.changed(&name("carry.bias"), Change::Elmo(TensorPart::Negated)),
            _ => return Ok(None),
        }))
    }

    fn lstm(&self, at: &str, last: &str) -> Result<Option<Vec<Renamed>>> {
        let Self { path, shape } = self;
        Ok(Some(match last {
            "W_0" => gates(path, shape, at)?,
            "B" => {
                ensure!(
                    shape.len() == 1 && shape[0].is_multiple_of(4),
                    "dataset `{path}` has shape {shape:?}, expected [4 cell]"
                );
                self.changed(&format!("{at}.bias"), Change::Elmo(TensorPart::GateBias))
            }
            "W_P_0" => self.reversed(&format!("{at}.projection.weight"), Change::Transposed)?,
            _ => return Ok(None),
        }))
    }
}

fn one(name: String, shape: Vec<usize>, change: Change) -> Vec<Renamed> {
    vec![Renamed {
        name,
        shape,
        change,
    }]
}

/// The gates' weights of the input and of the state, which are stored in one matrix, one above the other; both are as
/// wide as the projection.
fn gates(path: &str, shape: &[usize], at: &str) -> Result<Vec<Renamed>> {
    let &[rows, columns] = shape else {
        bail!("dataset `{path}` has shape {shape:?}, expected two dimensions");
    };
    ensure!(
        rows.is_multiple_of(2) && columns.is_multiple_of(4),
        "dataset `{path}` has shape {shape:?}, expected [2 projection, 4 cell]"
    );
    let rows = rows / 2;
    let part = |name: &str, first: usize| Renamed {
        name: format!("{at}.{name}.weight"),
        shape: vec![columns, rows],
        change: Change::Elmo(TensorPart::Gates { first, rows }),
    };
    Ok(vec![part("input", 0), part("state", rows)])
}
