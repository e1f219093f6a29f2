//! `y = x Wᵀ + b` in one product, with the same products as PyTorch in the backward pass.

use burn::tensor::{DType, Device, FloatDType, Tensor};

#[cfg(feature = "tch")]
use super::products::{Bf16Products, products};

/// Precision of the operands of products; everything else is f32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// Both operands of each product are rounded to bfloat16 (8 significant bits), forward and backward; sums are f32.
    /// Weights stay f32 and are rounded anew in each step.
    ///
    /// On the CPU, [`products`](super::products()) says how the rounded operands are multiplied; as bfloat16, each
    /// result is rounded to bfloat16 once more. GPUs have units of their own.
    Bf16,
}

impl Precision {
    /// The precision at which `device` multiplies faster; f32 where neither is clearly faster.
    pub fn fastest(device: &Device) -> Self {
        #[cfg(feature = "tch")]
        if super::libtorch::owns(device) {
            let is_gpu = !super::libtorch::is_cpu(device);
            if is_gpu || products().bf16 == Bf16Products::Native {
                return Self::Bf16;
            }
        }
        let _ = device;
        Self::F32
    }
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
        let inputs: [super::libtorch::Input; 3] = [x.into(), weight.into(), bias.into()];
        let in_main_memory = inputs[0].in_main_memory();
        return match precision {
            Precision::F32 => super::libtorch::apply(kernel::Linear, inputs),
            Precision::Bf16 if in_main_memory && products().bf16 == Bf16Products::AsF32 => {
                super::libtorch::apply(kernel::RoundedLinear, inputs)
            }
            Precision::Bf16 => super::libtorch::apply(kernel::Bf16Linear, inputs),
        };
    }
    match precision {
        Precision::F32 => plain(x, weight, bias),
        Precision::Bf16 => plain(rounded(x), rounded(weight), bias),
    }
}

/// `a b` outside of any graph; f32 matrices by the library that multiplies them faster on this machine.
pub fn product(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    #[cfg(feature = "tch")]
    if a.dtype() == DType::F32 && super::libtorch::owns(&a.device()) {
        return kernel::product(&a, &b);
    }
    a.matmul(b)
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
    use burn::backend::LibTorch;
    use burn::backend::libtorch::TchTensor;
    use tch::{Kind, Tensor};

    use crate::fused::libtorch::{Kernel, in_main_memory, raw};
    use crate::fused::products::{F32Products, products};
    use crate::fused::shim::{self, rounded};

    #[derive(Debug, Clone)]
    pub struct Linear;

    impl Kernel<3> for Linear {
        type Saved = (TchTensor, TchTensor);

        fn forward(&self, [x, weight, bias]: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
            let y = applied(&x.tensor, &weight.tensor, Some(&bias.tensor));
            (TchTensor::new(y), (x, weight))
        }

        fn backward(
            &self,
            (x, weight): Self::Saved,
            grad: TchTensor,
            wanted: [bool; 3],
        ) -> [Option<TchTensor>; 3] {
            let db = wanted[2].then(|| column_sums(&grad.tensor));
            let [dx, dw] = gradients(&x.tensor, &weight.tensor, &grad.tensor, wanted);
            [dx, dw, db].map(|grad| grad.map(TchTensor::new))
        }
    }

    /// The operands rounded to bfloat16, the products those of f32.
    #[derive(Debug, Clone)]
    pub struct RoundedLinear;

    impl Kernel<3> for RoundedLinear {
        /// Unrounded operands: they are shared with the rest of the graph, and rounding them again costs less than a
        /// second copy.
        type Saved = (TchTensor, TchTensor);

        fn forward(&self, [x, weight, bias]: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
            let y = applied(
                &rounded(&x.tensor),
                &rounded(&weight.tensor),
                Some(&bias.tensor),
            );
            (TchTensor::new(y), (x, weight))
        }

        fn backward(
            &self,
            (x, weight): Self::Saved,
            grad: TchTensor,
            wanted: [bool; 3],
        ) -> [Option<TchTensor>; 3] {
            let db = wanted[2].then(|| column_sums(&grad.tensor));
            let (x, weight) = (&x.tensor, &weight.tensor);
            let x = if wanted[1] { &rounded(x) } else { x };
            let weight = if wanted[0] { &rounded(weight) } else { weight };
            let [dx, dw] = gradients(x, weight, &rounded(&grad.tensor), wanted);
            [dx, dw, db].map(|grad| grad.map(TchTensor::new))
        }
    }

    /// The operands in bfloat16, for devices with units for it.
    #[derive(Debug, Clone)]
    pub struct Bf16Linear;

    impl Kernel<3> for Bf16Linear {
        /// Operands in bfloat16, half as wide as the inputs.
        type Saved = (TchTensor, TchTensor);

        fn forward(&self, [x, weight, bias]: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
            let (x, weight) = (half(&x.tensor), half(&weight.tensor));
            // The bias is added in f32, after the product.
            let mut y = applied(&x, &weight, None).to_kind(Kind::Float);
            let _ = y.g_add_(&bias.tensor);
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
            let [dx, dw] = gradients(&x.tensor, &weight.tensor, &half(&grad.tensor), wanted)
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

    /// `weight` `[out, in]` and `bias` applied to `x` `[.., in]`.
    fn applied(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
        let (n_out, n_in) = (weight.size()[0], weight.size()[1]);
        let mut shape = x.size();
        *shape.last_mut().expect("at least one dimension") = n_out;
        mm(&x.reshape([-1, n_in]), &weight.tr(), bias).view(shape.as_slice())
    }

    /// Number of multiplications below which a product takes longer to prepare than to compute.
    const SMALL: i64 = 1 << 15;

    /// `a b + bias`, by the library that is faster here.
    fn mm(a: &Tensor, b: &Tensor, bias: Option<&Tensor>) -> Tensor {
        let work = a.size()[0] * a.size()[1] * b.size()[1];
        let onednn = in_main_memory(a)
            && work >= SMALL
            && (a.kind() == Kind::BFloat16 || products().f32 == F32Products::OneDnn);
        match bias {
            _ if onednn => shim::matmul(a, b, bias),
            Some(bias) => bias.addmm(a, b),
            None => a.mm(b),
        }
    }

    pub fn product(
        a: &burn::tensor::Tensor<2>,
        b: &burn::tensor::Tensor<2>,
    ) -> burn::tensor::Tensor<2> {
        let c = mm(&raw(a), &raw(b), None);
        burn::tensor::Tensor::from_primitive::<LibTorch>(TchTensor::new(c))
    }

    /// The gradients of `x` and of `weight`.
    fn gradients(
        x: &Tensor,
        weight: &Tensor,
        grad: &Tensor,
        wanted: [bool; 3],
    ) -> [Option<Tensor>; 2] {
        let size = weight.size();
        let (n_out, n_in) = (size[0], size[1]);
        let dy = grad.reshape([-1, n_out]); // [rows, out]
        [
            wanted[0].then(|| mm(&dy, weight, None).view_as(x)),
            wanted[1].then(|| mm(&dy.tr(), &x.reshape([-1, n_in]), None)),
        ]
    }

    #[cfg(test)]
    mod tests {
        use burn::tensor::{Device, Tensor};

        use super::super::{Precision, linear, plain, rounded};
        use super::{Bf16Linear, RoundedLinear};
        use crate::fused::compare::{check, values};
        use crate::fused::libtorch::{apply, owns, raw};
        use crate::fused::shim;

        const SHAPES: [&[usize]; 3] = [&[2, 3, 5], &[4, 5], &[4]];

        fn shaped(inputs: &[Tensor<1>]) -> (Tensor<3>, Tensor<2>, Tensor<1>) {
            let [x, w, b] = inputs else { unreachable!() };
            let (x, w) = (x.clone(), w.clone());
            (x.reshape([2, 3, 5]), w.reshape([4, 5]), b.clone())
        }

        #[test]
        fn libtorch_and_plain_agree() {
            let shapes = SHAPES.map(<[usize]>::to_vec);
            for (precision, tolerance) in [(Precision::F32, 1e-5), (Precision::Bf16, 1e-2)] {
                check(&shapes, tolerance, |inputs, _| {
                    let (x, w, b) = shaped(inputs);
                    linear(x, w, b, precision)
                });
            }
        }

        /// Checks whichever of the two this processor takes.
        #[test]
        fn both_ways_to_multiply_bf16_agree_with_plain() {
            let shapes = SHAPES.map(<[usize]>::to_vec);
            // The products in bf16 are rounded once more, to 8 bits; so are those in the gradient of `rounded`.
            check(&shapes, 1e-2, |inputs, device| {
                let (x, w, b) = shaped(inputs);
                if owns(device) {
                    apply(Bf16Linear, [x.into(), w.into(), b.into()])
                } else {
                    plain(rounded(x), rounded(w), b)
                }
            });
            check(&shapes, 1e-2, |inputs, device| {
                let (x, w, b) = shaped(inputs);
                if owns(device) {
                    apply(RoundedLinear, [x.into(), w.into(), b.into()])
                } else {
                    plain(rounded(x), rounded(w), b)
                }
            });
        }

        /// oneDNN's products, of operands as they lie and of transposed views.
        #[test]
        fn onednn_and_libtorchs_default_agree() {
            if !crate::fused::products().has_onednn() {
                return; // LibTorch refuses it on this processor.
            }
            let device = Device::libtorch();
            let square = |seed| {
                let flat = Tensor::<1>::from_data(values(64 * 64, seed).as_slice(), &device);
                raw(&flat).view([64, 64])
            };
            let bias = raw(&Tensor::<1>::from_data(values(64, 3).as_slice(), &device));
            let (a, b) = (square(1), square(2));
            let worst = |found: tch::Tensor, expected: tch::Tensor| -> f64 {
                let difference: tch::Tensor = found - expected;
                difference.abs().max().double_value(&[])
            };
            let (x, w) = (a.shallow_clone(), b.tr());
            let with_bias = worst(shim::matmul(&x, &w, Some(&bias)), bias.addmm(&x, &w));
            assert!(with_bias < 1e-5, "{with_bias}");
            for (x, w) in [(&a, &b), (&a.tr(), &b), (&a, &b.tr())] {
                let without = worst(shim::matmul(x, w, None), x.mm(w));
                assert!(without < 1e-5, "{without}");
            }
        }

        #[test]
        fn rounded_factors_are_multiplied_and_summed_in_f32() {
            let device = Device::libtorch();
            let [x, w] = [1, 2].map(|seed| {
                let flat = Tensor::<1>::from_data(values(64 * 64, seed).as_slice(), &device);
                flat.reshape([64, 64])
            });
            let b = Tensor::<1>::zeros([64], &device);
            let inputs = [x.clone().into(), w.clone().into(), b.clone().into()];
            let found: Tensor<2> = apply(RoundedLinear, inputs);
            let expected = plain(rounded(x), rounded(w), b);
            let worst: f32 = (found - expected).abs().max().into_scalar();
            assert!(worst < 1e-5, "{worst}");
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
