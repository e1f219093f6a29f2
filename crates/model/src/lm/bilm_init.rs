//! Initialisation of a new bidirectional language model.

use anyhow::{Result, bail};
use burn::tensor::TensorData;

use crate::Weights;
use crate::init::Draws;

/// Initial weights of a [`Bilm`](crate::Bilm), from the distributions of the released training code (`bilm-tf`), by the
/// names of its tensors:
///
/// | tensors | distribution |
/// |---|---|
/// | `char_embedding.weight` | uniform within ±1 |
/// | `char_cnn.<i>.weight` | uniform within ±0.05 (Kim et al. 2016) for `relu`; normal with sd 1/√(width · dim) for `tanh` |
/// | `highway.<k>.{transform, carry}.weight` | normal with sd 1/√filters |
/// | `highway.<k>.carry.bias` | +2: in the released code the opposite gate has -2, so that a layer begins by carrying 0.88 of its input |
/// | `projection.weight` | normal with sd 1/√filters |
/// | `{forward, backward}.<l>.{input, state}.weight` | Glorot uniform of the matrix that both are in TensorFlow, `[2 projection, 4 cell]`: within ±√(6 / (2 projection + 4 cell)) |
/// | `{forward, backward}.<l>.projection.weight` | Glorot uniform |
/// | `{forward, backward}.<l>.bias` | 1 for the forget gates, else 0 |
/// | `softmax.weight` | normal with sd 1/√projection |
/// | other biases | 0 |
///
/// Each tensor has its own stream of random numbers, by seed and name.
#[derive(Debug, Clone)]
pub struct BilmInit {
    seed: u64,
    tanh: bool,
}

impl BilmInit {
    /// Weights that depend on `seed`; `activation` is that after the convolution, `relu` or `tanh`.
    pub fn new(seed: u64, activation: &str) -> Self {
        Self {
            seed,
            tanh: activation == "tanh",
        }
    }
}

impl Weights for BilmInit {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let n: usize = shape.iter().product();
        let mut draws = Draws::named(self.seed, name);
        let parts: Vec<&str> = name.split('.').collect();
        let values = match (&parts[..], shape) {
            (["char_embedding", "weight"], _) => draws.uniform(n, 1.0),
            (["char_cnn", _, "weight"], [_, dim, width]) => {
                if self.tanh {
                    draws.normals(n, ((width * dim) as f64).powf(-0.5))
                } else {
                    draws.uniform(n, 0.05)
                }
            }
            (["highway", _, "carry", "bias"], _) => vec![2.0; n],
            (["highway", _, _, "weight"] | ["projection" | "softmax", "weight"], [_, inputs]) => {
                draws.normals(n, (*inputs as f64).powf(-0.5))
            }
            (["forward" | "backward", _, "input" | "state", "weight"], [gates, width]) => {
                draws.uniform(n, (6.0 / (2 * width + gates) as f64).sqrt())
            }
            (["forward" | "backward", _, "projection", "weight"], [width, cell]) => {
                draws.uniform(n, (6.0 / (width + cell) as f64).sqrt())
            }
            (["forward" | "backward", _, "bias"], [gates]) => (0..*gates)
                .map(|i| f32::from(i / (gates / 4) == 1)) // the second of the four gates forgets
                .collect(),
            ([.., "bias"], [_]) => vec![0.0; n],
            _ => bail!("{name}: no rule for a new tensor of this name and shape {shape:?}"),
        };
        Ok(TensorData::new(values, shape.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(name: &str, shape: &[usize]) -> Vec<f32> {
        let data = BilmInit::new(1, "relu").take(name, shape).expect("a rule");
        data.try_to_vec().expect("f32")
    }

    #[test]
    fn forget_gates_are_open_and_highway_layers_carry() {
        assert_eq!(
            values("forward.1.bias", &[8]),
            [0., 0., 1., 1., 0., 0., 0., 0.]
        );
        assert_eq!(values("highway.0.carry.bias", &[2]), [2.0, 2.0]);
        assert_eq!(values("highway.0.transform.bias", &[2]), [0.0, 0.0]);
    }

    #[test]
    fn spreads_are_those_of_the_table() {
        let sd = |values: &[f32]| {
            let squares: f64 = values.iter().map(|&x| f64::from(x).powi(2)).sum();
            (squares / values.len() as f64).sqrt()
        };
        for (name, shape, expected) in [
            ("char_embedding.weight", vec![261, 16], 3f64.powf(-0.5)),
            ("char_cnn.3.weight", vec![64, 16, 4], 0.05 / 3f64.sqrt()),
            ("projection.weight", vec![32, 100], 0.1),
            ("softmax.weight", vec![500, 25], 0.2),
            // A uniform number within ±b has the standard deviation b/√3.
            (
                "backward.0.state.weight",
                vec![96, 24],
                (2.0f64 / 144.0).sqrt(),
            ),
            ("forward.0.projection.weight", vec![24, 26], 0.2),
        ] {
            let values = values(name, &shape);
            let found = sd(&values);
            assert!((found / expected - 1.0).abs() < 0.05, "{name}: {found}");
        }
        assert!(
            BilmInit::new(1, "relu")
                .take("pooler.weight", &[2])
                .is_err()
        );
    }
}
