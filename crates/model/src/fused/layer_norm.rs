//! Layer normalisation over the last dimension.

use burn::tensor::Tensor;

/// `(x - mean) / sqrt(var + epsilon) * weight + bias` over the last dimension of `x` `[.., hidden]`.
pub fn layer_norm<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        let kernel = kernel::LayerNorm { epsilon };
        return super::libtorch::apply(kernel, [x.into(), weight.into(), bias.into()]);
    }
    plain(x, weight, bias, epsilon)
}

fn plain<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    let centred = x.clone() - x.mean_dim(D - 1);
    let variance = (centred.clone() * centred.clone()).mean_dim(D - 1); // biased, as in BERT
    centred / (variance + epsilon).sqrt() * weight.unsqueeze() + bias.unsqueeze()
}

#[cfg(feature = "tch")]
mod kernel {
    use burn::backend::libtorch::TchTensor;

    use crate::fused::libtorch::Kernel;
    use crate::fused::shim;

    #[derive(Debug, Clone)]
    pub struct LayerNorm {
        pub epsilon: f64,
    }

    /// Input, scale, shift, and the mean and reciprocal deviation of each row.
    type Saved = [TchTensor; 5];

    impl Kernel<3> for LayerNorm {
        type Saved = Saved;

        fn forward(&self, [x, weight, bias]: [TchTensor; 3]) -> (TchTensor, Saved) {
            let (w, b) = (Some(&weight.tensor), Some(&bias.tensor));
            let shape = weight.tensor.size();
            let (y, mean, rstd) = x.tensor.native_layer_norm(shape, w, b, self.epsilon);
            let saved = [x, weight, bias, TchTensor::new(mean), TchTensor::new(rstd)];
            (TchTensor::new(y), saved)
        }

        fn backward(
            &self,
            saved: Saved,
            grad: TchTensor,
            wanted: [bool; 3],
        ) -> [Option<TchTensor>; 3] {
            let saved = saved.each_ref().map(|saved| &saved.tensor);
            shim::layer_norm_backward(&grad.tensor, saved, wanted)
                .map(|grad| grad.map(TchTensor::new))
        }
    }

    #[cfg(test)]
    mod tests {
        use crate::fused::compare::check;

        #[test]
        fn libtorch_and_plain_agree() {
            check(&[vec![2, 3, 7], vec![7], vec![7]], 1e-5, |inputs, _| {
                let [x, w, b] = inputs else { unreachable!() };
                super::super::layer_norm(x.clone().reshape([2, 3, 7]), w.clone(), b.clone(), 1e-12)
            });
        }
    }
}
