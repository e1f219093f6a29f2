//! `y = x Wᵀ + b` in one product, with the same products as PyTorch in the backward pass.

use burn::tensor::Tensor;

/// Applies `weight` `[out, in]` and `bias` `[out]` to `x` `[.., in]`, giving `[.., out]`.
pub fn linear<const D: usize>(x: Tensor<D>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<D> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        return super::libtorch::apply(kernel::Linear, [x.into(), weight.into(), bias.into()]);
    }
    plain(x, weight, bias)
}

fn plain<const D: usize>(x: Tensor<D>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<D> {
    let [n_out, n_in] = weight.dims();
    let mut shape = x.dims();
    let rows = shape.iter().product::<usize>() / n_in;
    let y = x.reshape([rows, n_in]).matmul(weight.transpose()) + bias.unsqueeze::<2>(); // [rows, out]
    shape[D - 1] = n_out;
    y.reshape(shape)
}

#[cfg(feature = "tch")]
mod kernel {
    use burn::backend::libtorch::TchTensor;

    use crate::fused::libtorch::Kernel;

    #[derive(Debug, Clone)]
    pub struct Linear;

    impl Kernel<3> for Linear {
        type Saved = (TchTensor, TchTensor);

        fn forward(&self, [x, weight, bias]: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
            let y = x.tensor.linear(&weight.tensor, Some(&bias.tensor));
            (TchTensor::new(y), (x, weight))
        }

        fn backward(
            &self,
            (x, weight): Self::Saved,
            grad: TchTensor,
            wanted: [bool; 3],
        ) -> [Option<TchTensor>; 3] {
            let size = weight.tensor.size();
            let (n_out, n_in) = (size[0], size[1]);
            let dy = grad.tensor.reshape([-1, n_out]); // [rows, out]
            let dx = wanted[0].then(|| dy.mm(&weight.tensor).view_as(&x.tensor));
            let dw = wanted[1].then(|| dy.tr().mm(&x.tensor.reshape([-1, n_in])));
            let db =
                wanted[2].then(|| dy.sum_dim_intlist([0i64].as_slice(), false, None::<tch::Kind>));
            [dx, dw, db].map(|grad| grad.map(TchTensor::new))
        }
    }

    #[cfg(test)]
    mod tests {
        use crate::fused::compare::check;

        #[test]
        fn libtorch_and_plain_agree() {
            check(&[vec![2, 3, 5], vec![4, 5], vec![4]], 1e-5, |inputs, _| {
                let [x, w, b] = inputs else { unreachable!() };
                super::super::linear(
                    x.clone().reshape([2, 3, 5]),
                    w.clone().reshape([4, 5]),
                    b.clone(),
                )
            });
        }
    }
}
