//! ELMo's `options.json`, and the tensors it describes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::N_CHARACTERS;

/// `options.json`, as it is published with the weights. Keys that only training needs are skipped.
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
    /// Characters with the boundaries: 261 as trained, or 262 with padding.
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
    /// True if each layer but the first adds its input to its output.
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

    /// Checks that the numbers are possible.
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
