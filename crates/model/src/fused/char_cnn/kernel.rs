//! CPU kernel, through `char_cnn.cpp`.

use std::os::raw::{c_char, c_void};

use burn::backend::libtorch::TchTensor;
use burn::tensor::{Int, Tensor};

use crate::fused::libtorch::{Kernel, held_int};
use crate::fused::shim::{handle, written};

unsafe extern "C" {
    fn totune_char_cnn(inputs: *const *mut c_void, out: *mut *mut c_void) -> *mut c_char;
    fn totune_char_cnn_backward(inputs: *const *mut c_void, out: *mut *mut c_void) -> *mut c_char;
}

/// Table, weight and bias to the largest values.
#[derive(Debug, Clone)]
pub struct CharCnn {
    ids: TchTensor,
}

impl CharCnn {
    pub fn new(ids: &Tensor<2, Int>) -> Self {
        Self { ids: held_int(ids) }
    }
}

impl Kernel<3> for CharCnn {
    /// Table, weight, and the positions of the largest values.
    type Saved = [TchTensor; 3];

    fn forward(&self, [table, weight, bias]: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
        let inputs = [&table, &weight, &bias, &self.ids].map(|input| handle(&input.tensor));
        // SAFETY: four live tensors; the callee writes two new ones.
        let out: [_; 2] = unsafe { written(|out| totune_char_cnn(inputs.as_ptr(), out)) };
        let [found, places] = out.map(|out| out.expect("always written"));
        (found, [table, weight, places])
    }

    fn backward(
        &self,
        [table, weight, places]: Self::Saved,
        grad: TchTensor,
        _: [bool; 3],
    ) -> [Option<TchTensor>; 3] {
        let inputs = [&grad, &table, &weight, &self.ids, &places];
        let inputs = inputs.map(|input| handle(&input.tensor));
        // SAFETY: five live tensors, the last one saved by the forward pass; the callee writes three new ones.
        unsafe { written(|out| totune_char_cnn_backward(inputs.as_ptr(), out)) }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Int, Tensor, TensorData};

    use super::super::char_cnn;
    use crate::fused::compare::check;

    const LENGTH: usize = 12;
    const TABLE: usize = 9;
    const DIM: usize = 3;

    /// Words of many lengths: characters 1 to 7, then padding, 8. The last one has none, the one before no padding.
    fn words() -> Vec<i64> {
        let lengths = [1, 3, 4, 7, 11, 12, 0];
        let word = |(i, length): (usize, usize)| {
            (0..LENGTH).map(move |k| {
                if k < length {
                    1 + ((i * 5 + k * k * 3 + k) % 7) as i64
                } else {
                    8
                }
            })
        };
        lengths.into_iter().enumerate().flat_map(word).collect()
    }

    #[test]
    fn libtorch_and_plain_agree_whatever_the_width() {
        for (filters, width) in [(1, 1), (17, 2), (83, 7), (5, LENGTH)] {
            let shapes = [
                vec![TABLE * DIM],
                vec![filters * DIM * width],
                vec![filters],
            ];
            check(&shapes, 2e-6, |inputs, device| {
                let ids = words();
                let n = ids.len() / LENGTH;
                let ids: Tensor<2, Int> =
                    Tensor::from_data(TensorData::new(ids, [n, LENGTH]), device);
                char_cnn(
                    inputs[0].clone().reshape([TABLE, DIM]),
                    ids,
                    inputs[1].clone().reshape([filters, DIM, width]),
                    inputs[2].clone(),
                )
            });
        }
    }
}
