//! New random weights in the top of an encoder (Zhang et al. 2021).

use std::ops::Range;

use burn::module::Param;
use burn::tensor::{Tensor, TensorData};

use super::Encoder;
use crate::by_path::{PathMapper, map_by_path};
use crate::init::{Draws, INIT_SD};

/// Returns the encoder with the pooler and these layers as before pre-training: weights normal with the standard
/// deviation of the released BERT, truncated at two of them, biases zero, and normalisations without effect. Each tensor
/// has a random stream of its own, by `seed` and path.
pub fn reinitialise<E: Encoder>(encoder: E, layers: Range<usize>, seed: u64) -> E {
    map_by_path(encoder, &mut Reinitialise { layers, seed })
}

struct Reinitialise {
    layers: Range<usize>,
    seed: u64,
}

impl Reinitialise {
    fn is_meant(&self, path: &str) -> bool {
        let mut names = path.split('.');
        match names.next() {
            Some("pooler") => true,
            Some("layers") => {
                let index = names.next().and_then(|index| index.parse().ok());
                index.is_some_and(|index| self.layers.contains(&index))
            }
            _ => false,
        }
    }
}

impl PathMapper for Reinitialise {
    fn map<const D: usize>(&mut self, path: &str, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !self.is_meant(path) {
            return param;
        }
        let seed = self.seed;
        param.map(|value| {
            let (shape, n) = (value.dims(), value.shape().num_elements());
            let values = match D {
                // The only vectors but biases are the scales of normalisations.
                1 if path.ends_with("weight") => vec![1.0; n],
                1 => vec![0.0; n],
                _ => Draws::named(seed, path).truncated_normals(n, INIT_SD),
            };
            let required = value.is_require_grad();
            let device = value.inner().device();
            let new = Tensor::from_data(TensorData::new(values, shape), &device);
            Tensor::from_inner(new).set_require_grad(required)
        })
    }
}
