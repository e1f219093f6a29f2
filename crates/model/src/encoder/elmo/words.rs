//! ELMo's words from their characters: a convolution over the characters of each, highway layers, a projection.

use anyhow::Result;
use burn::module::{Module, Param};
use burn::tensor::activation::{relu, sigmoid};
use burn::tensor::{Device, Int, Tensor, TensorData};
use totune_checkpoint::CharCnn;

use crate::Weights;
use crate::fused::char_cnn;
use crate::layer::{Linear, parameter};

/// Number of character ids of a word.
pub const CHARACTERS: usize = 50;
/// A word as its ids: those of its bytes between a character for its beginning and one for its end, then padding.
pub type Spelling = [u16; CHARACTERS];
/// Rows of the embedding: the ids from 1 on. Id 0 is no character, and its embedding is zero.
const ROWS: usize = 261;

/// The boundary tokens `<S>` and `</S>` of a sentence, each a word of one character, `[2, 50]`.
pub fn boundaries(device: &Device) -> Tensor<2, Int> {
    // As in the paper's code, one added: the characters of a word's beginning, of the sentence, of the word's end,
    // padding.
    let word = |boundary: i64| {
        let mut ids = [261; CHARACTERS];
        ids[..3].copy_from_slice(&[259, boundary, 260]);
        ids
    };
    let ids = [word(257), word(258)].concat();
    Tensor::from_data(TensorData::new(ids, [2, CHARACTERS]), device)
}

/// Character encoder of words: one vector for each.
#[derive(Module, Debug)]
pub struct CharacterEncoder {
    characters: Param<Tensor<2>>,
    filters: Vec<Filters>,
    highway: Vec<Highway>,
    projection: Linear,
    /// Activation after the convolution: `tanh` if true, else `relu`.
    tanh: bool,
}

/// The filters of one width.
#[derive(Module, Debug)]
struct Filters {
    /// `[filters, dim, width]`.
    weight: Param<Tensor<3>>,
    bias: Param<Tensor<1>>,
}

/// `c ⊙ x + (1 - c) ⊙ relu(transform(x))`, with `c = σ(carry(x))`.
#[derive(Module, Debug)]
struct Highway {
    transform: Linear,
    carry: Linear,
}

impl CharacterEncoder {
    pub fn load(
        cnn: &CharCnn,
        width: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        let dim = cnn.embedding.dim;
        let all: usize = cnn.filters.iter().map(|[_, n]| n).sum();
        let filters = |(i, &[width, n]): (usize, &[usize; 2])| {
            Ok(Filters {
                weight: parameter(
                    weights,
                    &format!("char_cnn.{i}.weight"),
                    [n, dim, width],
                    device,
                )?,
                bias: parameter(weights, &format!("char_cnn.{i}.bias"), [n], device)?,
            })
        };
        let filters = cnn.filters.iter().enumerate().map(filters);
        let filters = filters.collect::<Result<_>>()?;
        let mut highway = Vec::with_capacity(cnn.n_highway);
        for k in 0..cnn.n_highway {
            let mut gate = |name: &str| {
                let name = format!("highway.{k}.{name}");
                Linear::load(weights, &name, [all, all], device)
            };
            highway.push(Highway {
                transform: gate("transform")?,
                carry: gate("carry")?,
            });
        }
        Ok(Self {
            characters: parameter(weights, "char_embedding.weight", [ROWS, dim], device)?,
            filters,
            highway,
            projection: Linear::load(weights, "projection", [all, width], device)?,
            tanh: cnn.activation == "tanh",
        })
    }

    /// Width of the vector of a word.
    pub fn width(&self) -> usize {
        self.projection.weight.dims()[0]
    }

    /// Device of the weights.
    pub fn device(&self) -> Device {
        self.characters.device()
    }

    /// `[words, 50]` to `[words, width]`.
    pub fn forward(&self, ids: Tensor<2, Int>) -> Tensor<2> {
        let rows = self.characters.val();
        let [_, dim] = rows.dims();
        let nothing = Tensor::zeros([1, dim], &rows.device());
        let table = Tensor::cat(vec![nothing, rows], 0);
        let filters = self.filters.iter().map(|filters| {
            let (weight, bias) = (filters.weight.val(), filters.bias.val());
            char_cnn(table.clone(), ids.clone(), weight, bias) // [words, filters]
        });
        let found = filters.collect();
        let found = Tensor::cat(found, 1); // [words, all filters]
        let mut x = if self.tanh { found.tanh() } else { relu(found) };
        for layer in &self.highway {
            let carry = sigmoid(layer.carry.forward(x.clone()));
            let new = relu(layer.transform.forward(x.clone()));
            x = carry * (x - new.clone()) + new;
        }
        self.projection.forward(x)
    }
}
