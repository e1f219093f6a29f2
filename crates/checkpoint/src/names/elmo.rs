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

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{Change, Renamed, transposed};
use crate::Tensor;

/// Characters an embedding is stored for: 256 bytes, and marks of words and sentences.
const N_CHARACTERS: usize = 261;

/// `options.json`, as it is published with the weights. Keys that training alone needs are passed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElmoOptions {
    /// The encoder of words.
    pub char_cnn: CharCnn,
    /// The two language models.
    pub lstm: Lstm,
}

/// A convolution over the characters of a word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CharCnn {
    /// `relu` or `tanh`.
    pub activation: String,
    /// The embedding of a character.
    pub embedding: CharEmbedding,
    /// Pairs of width and number.
    pub filters: Vec<[usize; 2]>,
    /// Highway layers above the convolution.
    pub n_highway: usize,
    /// Characters with the marks: 261 as trained, or 262 with padding.
    pub n_characters: usize,
    /// Longer words are cut.
    pub max_characters_per_token: usize,
}

/// The embedding of a character.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CharEmbedding {
    /// Its width.
    pub dim: usize,
}

/// A language model in each direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lstm {
    /// Width of the cell.
    pub dim: usize,
    /// Width of input and output.
    pub projection_dim: usize,
    /// Layers.
    pub n_layers: usize,
    /// Cells are kept within plus and minus this.
    pub cell_clip: f64,
    /// Outputs are kept within plus and minus this.
    pub proj_clip: f64,
    /// Whether each layer but the first adds its input to its output.
    #[serde(default)]
    pub use_skip_connections: bool,
}

impl ElmoOptions {
    /// Reads and checks an options file.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))?;
        let options: Self =
            serde_json::from_str(&text).with_context(|| format!("{shown}: not ELMo's options"))?;
        options.check().with_context(|| shown.to_string())?;
        Ok(options)
    }

    /// The options file that belongs to the weights at `weights`: of the same name, or `options.json`.
    pub fn beside(weights: &Path) -> Option<PathBuf> {
        let name = weights.file_name()?.to_str()?;
        let own = name
            .strip_suffix("weights.hdf5")
            .map(|stem| format!("{stem}options.json"));
        own.into_iter()
            .chain(["options.json".to_string()])
            .map(|name| weights.with_file_name(name))
            .find(|path| path.is_file())
    }

    /// Says whether the numbers can be meant.
    pub fn check(&self) -> Result<()> {
        let characters = self.char_cnn.n_characters;
        ensure!(
            characters == N_CHARACTERS || characters == N_CHARACTERS + 1,
            "char_cnn.n_characters: found {characters}, expected {N_CHARACTERS} or {}",
            N_CHARACTERS + 1
        );
        let activation = &self.char_cnn.activation;
        ensure!(
            ["relu", "tanh"].contains(&activation.as_str()),
            "char_cnn.activation: found `{activation}`, expected `relu` or `tanh`"
        );
        let longest = self.char_cnn.max_characters_per_token;
        for &[width, n] in &self.char_cnn.filters {
            ensure!(
                (1..=longest).contains(&width) && (1..=1 << 20).contains(&n),
                "char_cnn.filters: found [{width}, {n}], expected a width of 1 to {longest} and some filters"
            );
        }
        for (key, value, most) in [
            (
                "char_cnn.embedding.dim",
                self.char_cnn.embedding.dim,
                1 << 20,
            ),
            ("char_cnn.filters", self.char_cnn.filters.len(), 1000),
            ("lstm.dim", self.lstm.dim, 1 << 20),
            ("lstm.projection_dim", self.lstm.projection_dim, 1 << 20),
            ("lstm.n_layers", self.lstm.n_layers, 1000),
        ] {
            ensure!(
                (1..=most).contains(&value),
                "{key}: found {value}, expected 1 to {most}"
            );
        }
        let layers = self.char_cnn.n_highway;
        ensure!(
            layers <= 1000,
            "char_cnn.n_highway: found {layers}, expected at most 1000"
        );
        Ok(())
    }

    /// Every tensor of the network: its name here, and its shape.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (cnn, lstm) = (&self.char_cnn, &self.lstm);
        let (dim, cell, proj) = (cnn.embedding.dim, lstm.dim, lstm.projection_dim);
        let wide: usize = cnn.filters.iter().map(|[_, n]| n).sum();
        let mut tensors = vec![("char_embedding.weight".to_string(), vec![N_CHARACTERS, dim])];
        for (i, &[width, n]) in cnn.filters.iter().enumerate() {
            tensors.push((format!("char_cnn.{i}.weight"), vec![n, dim, width]));
            tensors.push((format!("char_cnn.{i}.bias"), vec![n]));
        }
        for k in 0..cnn.n_highway {
            for gate in ["transform", "carry"] {
                tensors.push((format!("highway.{k}.{gate}.weight"), vec![wide, wide]));
                tensors.push((format!("highway.{k}.{gate}.bias"), vec![wide]));
            }
        }
        tensors.push(("projection.weight".to_string(), vec![proj, wide]));
        tensors.push(("projection.bias".to_string(), vec![proj]));
        for direction in ["forward", "backward"] {
            for layer in 0..lstm.n_layers {
                let at = format!("{direction}.{layer}");
                tensors.push((format!("{at}.input.weight"), vec![4 * cell, proj]));
                tensors.push((format!("{at}.state.weight"), vec![4 * cell, proj]));
                tensors.push((format!("{at}.bias"), vec![4 * cell]));
                tensors.push((format!("{at}.projection.weight"), vec![proj, cell]));
            }
        }
        tensors
    }
}

/// Which part of a stored tensor is wanted, and what is done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// `[1, width, dim, n]` to `[n, dim, width]`.
    Filters,
    /// The negative.
    Negated,
    /// The negative of the transpose.
    NegatedTransposed,
    /// Rows of `W_0` from `first` on, transposed, gates reordered.
    Gates { first: usize, rows: usize },
    /// `B` with gates reordered and 1 added to the forget gate's.
    GateBias,
}

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

/// Where PyTorch's gates (input, forget, candidate, output) lie among TensorFlow's (input, candidate, forget, output).
const GATES: [usize; 4] = [0, 2, 1, 3];
/// The forget gate among PyTorch's.
const FORGET: usize = 1;

impl Part {
    pub(super) fn apply(self, tensor: &Tensor) -> Tensor {
        let negated = |tensor: Tensor| Tensor {
            values: tensor.values.iter().map(|value| -value).collect(),
            ..tensor
        };
        match self {
            Self::Negated => negated(tensor.clone()),
            Self::NegatedTransposed => negated(transposed(tensor)),
            Self::Filters => {
                let &[_, width, dim, n] = &tensor.shape[..] else {
                    unreachable!("checked when the name was mapped");
                };
                let at = |k: usize, d: usize, w: usize| tensor.values[(w * dim + d) * n + k];
                let values = (0..n)
                    .flat_map(|k| (0..dim).map(move |d| (k, d)))
                    .flat_map(|(k, d)| (0..width).map(move |w| at(k, d, w)))
                    .collect();
                Tensor {
                    shape: vec![n, dim, width],
                    values,
                }
            }
            Self::Gates { first, rows } => {
                let columns = tensor.shape[1];
                let cell = columns / 4;
                let values = GATES
                    .iter()
                    .flat_map(|gate| gate * cell..(gate + 1) * cell)
                    .flat_map(|column| {
                        (first..first + rows).map(move |row| tensor.values[row * columns + column])
                    })
                    .collect();
                Tensor {
                    shape: vec![columns, rows],
                    values,
                }
            }
            Self::GateBias => {
                let cell = tensor.shape[0] / 4;
                let values = GATES
                    .iter()
                    .enumerate()
                    .flat_map(|(ours, theirs)| {
                        let added = if ours == FORGET { 1.0 } else { 0.0 };
                        tensor.values[theirs * cell..(theirs + 1) * cell]
                            .iter()
                            .map(move |value| value + added)
                    })
                    .collect();
                Tensor {
                    shape: tensor.shape.clone(),
                    values,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_has_as_many_parameters_as_it_is_said_to() {
        let options = ElmoOptions {
            char_cnn: CharCnn {
                activation: "relu".into(),
                embedding: CharEmbedding { dim: 16 },
                filters: vec![
                    [1, 32],
                    [2, 32],
                    [3, 64],
                    [4, 128],
                    [5, 256],
                    [6, 512],
                    [7, 1024],
                ],
                n_highway: 2,
                n_characters: 262,
                max_characters_per_token: 50,
            },
            lstm: Lstm {
                dim: 4096,
                projection_dim: 512,
                n_layers: 2,
                cell_clip: 3.0,
                proj_clip: 3.0,
                use_skip_connections: true,
            },
        };
        options.check().expect("sound");
        let count = |(_, shape): (String, Vec<usize>)| shape.iter().product::<usize>();
        // Counted with the characters' 261 rows, as in the paper's code.
        assert_eq!(
            options.tensors().into_iter().map(count).sum::<usize>(),
            93_600_848
        );
    }
}
