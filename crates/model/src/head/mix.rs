//! A learned mean over an encoder's layers.

use burn::module::{Module, Param};
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};

/// `gamma * sum_k softmax(w)_k h_k` (Peters et al. 2018, equation 1), with the layer normalisation that is optional
/// there.
#[derive(Module, Debug)]
pub struct ScalarMix {
    /// Weights of the layers before the softmax, `[layers]`; all zero at first, which gives the mean.
    pub weights: Param<Tensor<1>>,
    /// Scale of the whole, `[1]`; one at first.
    pub gamma: Param<Tensor<1>>,
}

impl ScalarMix {
    /// The mean of `n_layers` layers, before anything is learned.
    pub fn new(n_layers: usize, device: &Device) -> Self {
        Self {
            weights: Param::from_tensor(Tensor::zeros([n_layers], device)),
            gamma: Param::from_tensor(Tensor::ones([1], device)),
        }
    }

    /// Mixes the states of tokens: `[batch, seq, layers * width]` to `[batch, seq, width]`.
    ///
    /// Where a `mask` `[batch, seq]` is given, each layer is normalised before, as AllenNLP's `do_layer_norm` has it:
    /// by one mean and one variance over all real tokens of the batch and all their numbers (1e-12 is added to the
    /// variance).
    pub fn of_tokens(&self, states: Tensor<3>, mask: Option<Tensor<2>>) -> Tensor<3> {
        let [batch, seq, all] = states.dims();
        let [layers] = self.weights.dims();
        let width = all / layers;
        let states = match mask {
            None => states,
            Some(mask) => {
                let real: Tensor<4> = mask.reshape([batch, seq, 1, 1]);
                let states: Tensor<4> = states.reshape([batch, seq, layers, width]);
                let n = real.clone().sum() * width as f64; // [1]
                let n: Tensor<4> = n.reshape([1, 1, 1, 1]);
                let over = |x: Tensor<4>| x.sum_dim(0).sum_dim(1).sum_dim(3); // [1, 1, layers, 1]
                let mean = over(states.clone() * real.clone()) / n.clone();
                let apart = states - mean;
                let variance = over((apart.clone() * real).square()) / n;
                let normalised: Tensor<4> = apart / (variance + 1e-12).sqrt();
                normalised.reshape([batch, seq, all])
            }
        };
        self.forward(states.reshape([batch * seq, all]))
            .reshape([batch, seq, width])
    }

    /// Mixes the concatenated vectors of the layers: `[batch, layers * width]` to `[batch, width]`.
    ///
    /// Means over tokens and choices of one commute with it, so it may come after them; max pooling does not
    /// ([`crate::Pooling::commutes_with_a_mix`]).
    pub fn forward(&self, vectors: Tensor<2>) -> Tensor<2> {
        let [batch, all] = vectors.dims();
        let [layers] = self.weights.dims();
        let shares = softmax(self.weights.val(), 0) * self.gamma.val(); // [layers]
        let shares: Tensor<3> = shares.reshape([1, layers, 1]);
        let vectors: Tensor<3> = vectors.reshape([batch, layers, all / layers]);
        (vectors * shares).sum_dim(1).squeeze_dim(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::TensorData;

    fn tensor<const D: usize>(values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
    }

    #[test]
    fn it_begins_as_the_mean_of_its_layers() {
        let device = Device::flex();
        let vectors = tensor(&[1.0, 2.0, 3.0, 6.0, 5.0, 1.0], [1, 6], &device);
        let mixed = ScalarMix::new(3, &device).forward(vectors).into_data();
        let expected = TensorData::new(vec![3.0f32, 3.0], [1, 2]);
        mixed.assert_approx_eq::<f32>(&expected, burn::tensor::Tolerance::absolute(1e-6));
    }

    /// Compares with PyTorch 2.11 (fixtures/make/heads.py).
    #[test]
    fn normalised_layers_are_those_of_pytorch() {
        let device = Device::flex();
        let text = include_str!("../../../../fixtures/model/scalar-mix-norm.json");
        let case: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let numbers = |name: &str| -> Vec<f32> {
            let list = case[name].as_array().expect("a list");
            list.iter()
                .map(|v| v.as_f64().expect("a number") as f32)
                .collect()
        };
        let (batch, seq, layers, width) = (2, 3, 4, 3);
        let mix = ScalarMix {
            weights: Param::from_tensor(tensor(&numbers("weights"), [layers], &device)),
            gamma: Param::from_tensor(tensor(&numbers("gamma"), [1], &device)),
        };
        let states = tensor(&numbers("states"), [batch, seq, layers * width], &device);
        let mask = tensor(&numbers("mask"), [batch, seq], &device);
        let mixed = mix.of_tokens(states, Some(mask)).into_data();
        let expected = TensorData::new(numbers("mixed"), [batch, seq, width]);
        mixed.assert_approx_eq::<f32>(&expected, burn::tensor::Tolerance::absolute(1e-5));
    }

    /// Values, and gradients of their sum weighted by 1 and -2, from PyTorch 2.11 (fixtures/make/heads.py).
    #[test]
    fn values_and_gradients_are_those_of_pytorch() {
        let device = Device::flex().autodiff();
        let text = include_str!("../../../../fixtures/model/scalar-mix.json");
        let case: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let numbers = |name: &str| -> Vec<f32> {
            let list = case[name].as_array().expect("a list");
            list.iter()
                .map(|v| v.as_f64().expect("a number") as f32)
                .collect()
        };
        let (layers, width, batch) = (4, 3, 2);
        let mix = ScalarMix {
            weights: Param::from_tensor(tensor(&numbers("weights"), [layers], &device)),
            gamma: Param::from_tensor(tensor(&numbers("gamma"), [1], &device)),
        };
        let vectors = tensor(&numbers("vectors"), [batch, layers * width], &device).require_grad();
        let mixed = mix.forward(vectors.clone());
        let near = |found: TensorData, name: &str| {
            let found: Vec<f32> = found.try_to_vec().expect("f32");
            for (a, b) in found.iter().zip(numbers(name)) {
                assert!((a - b).abs() < 1e-5, "{name}: {a} instead of {b}");
            }
        };
        near(mixed.clone().into_data(), "mixed");
        let scale: Tensor<2> = tensor(&[1.0, -2.0, 1.0, -2.0, 1.0, -2.0], [batch, width], &device);
        let gradients = (mixed * scale).sum().backward();
        let of = |found: Option<TensorData>| found.expect("a gradient");
        near(
            of(vectors.grad(&gradients).map(|g| g.into_data())),
            "vectors_grad",
        );
        near(
            of(mix.weights.val().grad(&gradients).map(|g| g.into_data())),
            "weights_grad",
        );
        near(
            of(mix.gamma.val().grad(&gradients).map(|g| g.into_data())),
            "gamma_grad",
        );
    }
}
