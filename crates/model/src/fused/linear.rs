//! `y = x Wᵀ + b` in one product, with the same products as PyTorch in the backward pass.

use burn::tensor::{DType, FloatDType, Tensor};

/// The numbers that products are made of; everything else is f32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// Both factors are rounded to bfloat16 (8 significant bits) before each product, forward and backward; sums are
    /// f32. Weights stay f32 and are rounded anew in each step.
    Bf16,
}

/// Applies `weight` `[out, in]` and `bias` `[out]` to `x` `[.., in]`, giving `[.., out]`.
pub fn linear<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    precision: Precision,
) -> Tensor<D> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        let inputs = [x.into(), weight.into(), bias.into()];
        return match precision {
            Precision::F32 => super::libtorch::apply(kernel::Linear, inputs),
            Precision::Bf16 => super::libtorch::apply(kernel::Bf16Linear, inputs),
        };
    }
    match precision {
        Precision::F32 => plain(x, weight, bias),
        Precision::Bf16 => plain(rounded(x), rounded(weight), bias),
    }
}

/// The nearest bfloat16 numbers, as f32.
fn rounded<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    debug_assert_eq!(x.dtype(), DType::F32);
    x.cast(FloatDType::BF16).cast(FloatDType::F32)
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
    use tch::{Kind, Tensor};

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
            let db = wanted[2].then(|| column_sums(&grad.tensor));
            let [dx, dw] = products(&x.tensor, &weight.tensor, &grad.tensor, wanted);
            [dx, dw, db].map(|grad| grad.map(TchTensor::new))
        }
    }

    #[derive(Debug, Clone)]
    pub struct Bf16Linear;

    impl Kernel<3> for Bf16Linear {
        /// Half as wide as they came.
        type Saved = (TchTensor, TchTensor);

        fn forward(&self, [x, weight, bias]: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
            let (x, weight) = (half(&x.tensor), half(&weight.tensor));
            // The bias is added in f32, after the product.
            let y = x.linear(&weight, None::<Tensor>).to_kind(Kind::Float) + &bias.tensor;
            let saved = (TchTensor::new(x), TchTensor::new(weight));
            (TchTensor::new(y), saved)
        }

        fn backward(
            &self,
            (x, weight): Self::Saved,
            grad: TchTensor,
            wanted: [bool; 3],
        ) -> [Option<TchTensor>; 3] {
            let db = wanted[2].then(|| column_sums(&grad.tensor));
            let [dx, dw] = products(&x.tensor, &weight.tensor, &half(&grad.tensor), wanted)
                .map(|grad| grad.map(|grad| grad.to_kind(Kind::Float)));
            [dx, dw, db].map(|grad| grad.map(TchTensor::new))
        }
    }

    fn half(x: &Tensor) -> Tensor {
        x.to_kind(Kind::BFloat16)
    }

    /// `[.., n]` to `[n]`.
    fn column_sums(grad: &Tensor) -> Tensor {
        let n = *grad.size().last().expect("at least one dimension");
        grad.reshape([-1, n])
            .sum_dim_intlist([0i64].as_slice(), false, None::<Kind>)
    }

    /// The gradients of `x` and of `weight`.
    fn products(
        x: &Tensor,
        weight: &Tensor,
        grad: &Tensor,
        wanted: [bool; 3],
    ) -> [Option<Tensor>; 2] {
        let size = weight.size();
        let (n_out, n_in) = (size[0], size[1]);
        let dy = grad.reshape([-1, n_out]); // [rows, out]
        [
            wanted[0].then(|| dy.mm(weight).view_as(x)),
            wanted[1].then(|| dy.tr().mm(&x.reshape([-1, n_in]))),
        ]
    }

    #[cfg(test)]
    mod tests {
        use super::super::{Precision, linear};
        use crate::fused::compare::check;

        #[test]
        fn libtorch_and_plain_agree() {
            // In bf16 each product is rounded once more on LibTorch, to 8 bits.
            for (precision, tolerance) in [(Precision::F32, 1e-5), (Precision::Bf16, 1e-2)] {
                check(
                    &[vec![2, 3, 5], vec![4, 5], vec![4]],
                    tolerance,
                    |inputs, _| {
                        let [x, w, b] = inputs else { unreachable!() };
                        linear(
                            x.clone().reshape([2, 3, 5]),
                            w.clone().reshape([4, 5]),
                            b.clone(),
                            precision,
                        )
                    },
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn bf16_rounds_what_is_multiplied_and_not_what_is_added() {
        let device = Device::flex();
        let [x, w] = [[[1.0 + 1.0 / 512.0, 3.0]], [[2.0, 0.0]]]
            .map(|values: [[f32; 2]; 1]| Tensor::<2>::from_data(values, &device));
        let b = Tensor::<1>::from_data([1.0f32 / 512.0], &device);
        let y = |precision| {
            let y = linear(x.clone(), w.clone(), b.clone(), precision);
            y.into_scalar::<f32>()
        };
        assert_eq!(y(Precision::F32), 2.0 + 3.0 / 512.0);
        assert_eq!(y(Precision::Bf16), 2.0 + 1.0 / 512.0); // 1 + 1/512 is between 1 and 1 + 1/128
    }
}
