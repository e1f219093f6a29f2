//! Loss and gradients together, through `softmax_loss.cpp`.

use std::os::raw::{c_char, c_int, c_void};

use burn::backend::LibTorch;
use burn::backend::libtorch::TchTensor;
use burn::tensor::{Int, Tensor};

use super::Candidates;
use crate::fused::Precision;
use crate::fused::libtorch::{Kernel, held, held_int, raw};
use crate::fused::matmul::Matmul;
use crate::fused::shim::{handle, written};

unsafe extern "C" {
    fn totune_softmax_loss(
        inputs: *const *mut c_void,
        sampled: c_int,
        keep: c_int,
        way: c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
}

/// States, weight and bias to the mean loss.
#[derive(Debug, Clone)]
pub struct SoftmaxLoss {
    targets: TchTensor,
    /// Samples, and the logarithms of the expected counts of these and of the targets.
    candidates: Option<[TchTensor; 3]>,
    precision: Precision,
    tracked: bool,
}

impl SoftmaxLoss {
    pub fn new(
        targets: &Tensor<1, Int>,
        candidates: Option<&Candidates>,
        precision: Precision,
        tracked: bool,
    ) -> Self {
        let candidates = candidates.map(|candidates| {
            [
                held_int(&candidates.ids),
                held(&candidates.log_expected),
                held(&candidates.target_log_expected),
            ]
        });
        Self {
            targets: held_int(targets),
            candidates,
            precision,
            tracked,
        }
    }

    /// The losses, and, where the pass is tracked, the gradients of their mean in states, weight and bias.
    fn run(&self, inputs: [&tch::Tensor; 3]) -> [Option<TchTensor>; 4] {
        let mut all: Vec<_> = inputs.into_iter().map(handle).collect();
        all.push(handle(&self.targets.tensor));
        let candidates = self.candidates.iter().flatten();
        all.extend(candidates.map(|tensor| handle(&tensor.tensor)));
        // SAFETY: four live tensors, or seven where it is sampled; the callee writes new ones, or nothing, into four
        // places.
        unsafe {
            written(|out| {
                totune_softmax_loss(
                    all.as_ptr(),
                    c_int::from(self.candidates.is_some()),
                    c_int::from(self.tracked),
                    Matmul::of(self.precision) as c_int,
                    out,
                )
            })
        }
    }
}

impl Kernel<3> for SoftmaxLoss {
    /// The gradients of the loss.
    type Saved = Vec<TchTensor>;

    fn forward(&self, inputs: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
        let [losses, grads @ ..] = self.run(inputs.each_ref().map(|input| &input.tensor));
        let losses = losses.expect("always written").tensor;
        let loss = losses.mean(None::<tch::Kind>).reshape([1]);
        (TchTensor::new(loss), grads.into_iter().flatten().collect())
    }

    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        _: [bool; 3],
    ) -> [Option<TchTensor>; 3] {
        let scale = grad.tensor.double_value(&[0]);
        let mut saved = saved.into_iter().map(|grad| match scale {
            1.0 => grad,
            _ => TchTensor::new(grad.tensor * scale),
        });
        [(); 3].map(|()| saved.next())
    }
}

/// Kernel of [`super::softmax_losses`].
pub fn losses(
    states: &Tensor<2>,
    weight: &Tensor<2>,
    bias: &Tensor<1>,
    targets: &Tensor<1, Int>,
) -> Tensor<1> {
    let kernel = SoftmaxLoss::new(targets, None, Precision::F32, false);
    let (states, weight, bias) = (raw(states), raw(weight), raw(bias));
    let [losses, ..] = kernel.run([&states, &weight, &bias]);
    Tensor::from_primitive::<LibTorch>(losses.expect("always written"))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Int, Tensor};

    use super::super::{Candidates, Softmax, plain, softmax_loss, softmax_losses};
    use crate::fused::Precision;
    use crate::fused::compare::{check, values};

    const ROWS: usize = 70;
    const WIDTH: usize = 5;
    const VOCAB: usize = 90;

    fn shapes() -> Vec<Vec<usize>> {
        vec![vec![ROWS, WIDTH], vec![VOCAB, WIDTH], vec![VOCAB]]
    }

    fn shaped(inputs: &[Tensor<1>], precision: Precision) -> (Tensor<2>, Softmax) {
        let softmax = Softmax {
            weight: inputs[1].clone().reshape([VOCAB, WIDTH]) * 3.0,
            bias: inputs[2].clone(),
            precision,
        };
        (inputs[0].clone().reshape([ROWS, WIDTH]) * 3.0, softmax)
    }

    /// Precisions and tolerances; processors that multiply bfloat16 natively give logits of 8 bits.
    const CASES: [(Precision, f32); 2] = [(Precision::F32, 2e-6), (Precision::Bf16, 5e-2)];

    fn targets(device: &Device) -> Tensor<1, Int> {
        let targets: Vec<i64> = (0..ROWS as i64).map(|i| i * i % VOCAB as i64).collect();
        Tensor::from_data(targets.as_slice(), device)
    }

    #[test]
    fn libtorch_and_plain_agree_sampled() {
        for (samples, (precision, tolerance)) in [(1, CASES[0]), (37, CASES[0]), (37, CASES[1])] {
            check(&shapes(), tolerance, |inputs, device| {
                let (states, softmax) = shaped(inputs, precision);
                // Some targets are among these.
                let ids: Vec<i64> = (0..samples).map(|i| i * 7 % VOCAB as i64).collect();
                let inner = device.clone().inner();
                let candidates = Candidates {
                    ids: Tensor::from_data(ids.as_slice(), device),
                    log_expected: Tensor::from_data(values(ids.len(), 7).as_slice(), &inner),
                    target_log_expected: Tensor::from_data(values(ROWS, 8).as_slice(), &inner),
                };
                // Not one: the gradients are scaled.
                softmax_loss(states, softmax, targets(device), Some(candidates)) * 3.0
            });
        }
    }

    #[test]
    fn libtorch_and_plain_agree_on_the_full_softmax() {
        for (precision, tolerance) in CASES {
            check(&shapes(), tolerance, |inputs, device| {
                let (states, softmax) = shaped(inputs, precision);
                softmax_loss(states, softmax, targets(device), None)
            });
        }
    }

    #[test]
    fn losses_of_rows_are_those_of_the_plain_body() {
        let device = Device::libtorch();
        let inputs: Vec<Tensor<1>> = shapes()
            .iter()
            .zip(1..)
            .map(|(shape, seed)| {
                let n = shape.iter().product();
                Tensor::from_data(values(n, seed).as_slice(), &device)
            })
            .collect();
        let (states, softmax) = shaped(&inputs, Precision::F32);
        let targets = targets(&device);
        let found = softmax_losses(states.clone(), softmax.clone(), targets.clone());
        let expected = plain(states, softmax.weight, softmax.bias, targets, None);
        let worst: f32 = (found - expected).abs().max().into_scalar();
        assert!(worst < 1e-5, "{worst}");
    }
}
