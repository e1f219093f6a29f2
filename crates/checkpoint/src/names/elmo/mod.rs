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
pub(crate) use self::part::Part;

/// Characters an embedding is stored for: 256 bytes, and marks of words and sentences.
const N_CHARACTERS: usize = 261;

/// What a dataset of the HDF5 file is published as.
pub(super) fn published(path: &str, shape: &[usize]) -> Result<Vec<Renamed>> {
    let as_is = |name: String| one(name, shape.to_vec(), Change::None);
    let reversed = |name: String, change: Change| {
        let &[rows, columns] = shape else {
            bail!("dataset `{path}` has shape {shape:?}, expected two dimensions");
        };
        Ok(one(name, vec![columns, rows], change))
    };
    let numbered =
        |text: &str, start: &str| -> Option<usize> { text.strip_prefix(start)?.parse().ok() };
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["char_embed"] => return Ok(as_is("char_embedding.weight".to_string())),
        ["CNN", last] => {
            if let Some(i) = numbered(last, "W_cnn_") {
                let &[1, width, dim, n] = shape else {
                    bail!(
                        "dataset `{path}` has shape {shape:?}, expected [1, width, dim, filters]"
                    );
                };
                let filters = Change::Elmo(Part::Filters);
                return Ok(one(
                    format!("char_cnn.{i}.weight"),
                    vec![n, dim, width],
                    filters,
                ));
            }
            if let Some(i) = numbered(last, "b_cnn_") {
                return Ok(as_is(format!("char_cnn.{i}.bias")));
            }
        }
        ["CNN_proj", "W_proj"] => {
            return reversed("projection.weight".to_string(), Change::Transposed);
        }
        ["CNN_proj", "b_proj"] => return Ok(as_is("projection.bias".to_string())),
        [scope, last] => {
            if let Some(k) = numbered(scope, "CNN_high_") {
                match last {
                    "W_transform" => {
                        return reversed(
                            format!("highway.{k}.transform.weight"),
                            Change::Transposed,
                        );
                    }
                    "b_transform" => return Ok(as_is(format!("highway.{k}.transform.bias"))),
                    "W_carry" => {
                        let change = Change::Elmo(Part::NegatedTransposed);
                        return reversed(format!("highway.{k}.carry.weight"), change);
                    }
                    "b_carry" => {
                        let change = Change::Elmo(Part::Negated);
                        return Ok(one(
                            format!("highway.{k}.carry.bias"),
                            shape.to_vec(),
                            change,
                        ));
                    }
                    _ => {}
                }
            }
        }
        [
            direction @ ("RNN_0" | "RNN_1"),
            "RNN",
            "MultiRNNCell",
            cell,
            "LSTMCell",
            last,
        ] => {
            let direction = if direction == "RNN_0" {
                "forward"
            } else {
                "backward"
            };
            if let Some(layer) = numbered(cell, "Cell") {
                let at = format!("{direction}.{layer}");
                match last {
                    "W_0" => return gates(path, shape, &at),
                    "B" => {
                        ensure!(
                            shape.len() == 1 && shape[0].is_multiple_of(4),
                            "dataset `{path}` has shape {shape:?}, expected [4 cell]"
                        );
                        let change = Change::Elmo(Part::GateBias);
                        return Ok(one(format!("{at}.bias"), shape.to_vec(), change));
                    }
                    "W_P_0" => {
                        return reversed(format!("{at}.projection.weight"), Change::Transposed);
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    Ok(as_is(path.to_string())) // left over, and said to be so
}

fn one(name: String, shape: Vec<usize>, change: Change) -> Vec<Renamed> {
    vec![Renamed {
        name,
        shape,
        change,
    }]
}

/// The input's and the state's weights lie in one matrix, one above the other; both are as wide as the projection.
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
        change: Change::Elmo(Part::Gates { first, rows }),
    };
    Ok(vec![part("input", 0), part("state", rows)])
}
