//! CPU kernel: the products with the input over all real steps at once, the recurrence in registers (`lstm.cpp`).
//!
//! Rows are independent of each other, and so are directions: threads share nothing until the weights' gradients.

use std::os::raw::{c_char, c_int, c_void};
use std::ptr;

use burn::backend::libtorch::TchTensor;

use super::layer::Layer;
use crate::fused::Precision;
use crate::fused::libtorch::Kernel;
use crate::fused::matmul::Matmul;
use crate::fused::shim::{check, handle, handle_or_null, taken, written};

unsafe extern "C" {
    fn totune_lstm_forward(
        inputs: *const *mut c_void,
        directions: c_int,
        mask: *mut c_void,
        keep: c_int,
        way: c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
    fn totune_lstm_backward(
        inputs: *const *mut c_void,
        directions: c_int,
        mask: *mut c_void,
        saved: *const *mut c_void,
        grad: *mut c_void,
        want_x: c_int,
        want_weights: c_int,
        way: c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
}

#[cfg(test)]
unsafe extern "C" {
    /// Takes other kernels of `rows.cpp` from now on, 0 those of the narrowest vectors; whether the processor has them.
    pub safe fn totune_lstm_level(level: c_int) -> c_int;
}

/// One direction or two, by the number of inputs: x and four weights for each.
#[derive(Debug, Clone)]
pub struct Rows(pub Layer);

impl Rows {
    fn mask(&self) -> *mut c_void {
        handle_or_null(self.0.mask.as_ref())
    }
}

impl<const N: usize> Kernel<N> for Rows {
    /// Inputs and intermediate results of the forward pass, none if nothing is tracked: x of the real steps, and for
    /// each direction the gates, the cells and the states of the step before.
    type Saved = Option<([TchTensor; N], Vec<TchTensor>)>;

    fn forward(&self, inputs: [TchTensor; N]) -> (TchTensor, Self::Saved) {
        let directions = (N - 1) / 4;
        let handles = inputs.each_ref().map(|input| handle(&input.tensor));
        let mut out = vec![ptr::null_mut(); 2 + 3 * directions];
        // SAFETY: live tensors, and a place for each new one.
        let mut out = unsafe {
            check(totune_lstm_forward(
                handles.as_ptr(),
                directions as c_int,
                self.mask(),
                c_int::from(self.0.tracked),
                Matmul::of(Precision::F32) as c_int,
                out.as_mut_ptr(),
            ));
            taken(&out)
        }
        .into_iter()
        .flatten();
        let states = out.next().expect("always written");
        let kept = out.collect();
        (states, self.0.tracked.then_some((inputs, kept)))
    }

    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        wanted: [bool; N],
    ) -> [Option<TchTensor>; N] {
        let (inputs, kept) = saved.expect("a tracked input makes the forward pass keep them");
        let inputs = inputs.each_ref().map(|input| handle(&input.tensor));
        let kept: Vec<_> = kept.iter().map(|kept| handle(&kept.tensor)).collect();
        // SAFETY: live tensors, and a place for each new one.
        unsafe {
            written(|out| {
                totune_lstm_backward(
                    inputs.as_ptr(),
                    (N as c_int - 1) / 4,
                    self.mask(),
                    kept.as_ptr(),
                    handle(&grad.tensor),
                    c_int::from(wanted[0]),
                    c_int::from(wanted[1..].contains(&true)),
                    Matmul::of(Precision::F32) as c_int,
                    out,
                )
            })
        }
    }
}
