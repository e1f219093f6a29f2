//! LibTorch kernel: all steps in one node of the graph, through `highway_lstm.cpp`.

use std::os::raw::{c_char, c_int, c_void};

use burn::backend::libtorch::TchTensor;

use super::{HighwayGate, Order};
use crate::fused::libtorch::{Kernel, apply, held};
use crate::fused::shim::{handle, handle_or_null, written};
use burn::tensor::Tensor;

unsafe extern "C" {
    fn totune_highway_lstm(
        inputs: *const *mut c_void,
        mask: *const c_void,
        in_place: c_int,
        way: c_int,
        reversed: c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
    fn totune_highway_lstm_backward(
        inputs: *const *mut c_void,
        mask: *const c_void,
        want_state: c_int,
        way: c_int,
        reversed: c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
}

/// Kernel of [`super::highway_lstm`].
pub fn highway_lstm(
    x: Tensor<3>,
    mask: Option<&Tensor<2>>,
    state: Tensor<2>,
    highway: HighwayGate,
    order: Order,
) -> [Tensor<3>; 2] {
    let [_, hidden] = state.dims();
    let steps = |way| Steps {
        mask: mask.map(held),
        way,
        reversed: c_int::from(order == Order::Backward),
    };
    let (x, state) = (x.into(), state.into());
    let both: Tensor<3> = match highway {
        HighwayGate::None => apply(steps(NONE), [x, state]),
        HighwayGate::Input => apply(steps(INPUT), [x, state]),
        HighwayGate::Memory { own, over, below } => apply(
            steps(MEMORY),
            [x, state, own.into(), over.into(), below.into()],
        ),
    };
    [0, hidden].map(|start| both.clone().narrow(2, start, hidden))
}

// As in the C++.
const NONE: c_int = 0;
const MEMORY: c_int = 1;
const INPUT: c_int = 2;

/// Kernel from products and state weights, and for a gate on the memory below also its weights and itself, to states
/// and memories, concatenated.
#[derive(Debug, Clone)]
struct Steps {
    mask: Option<TchTensor>,
    way: c_int,
    reversed: c_int,
}

impl Steps {
    fn mask(&self) -> *const c_void {
        handle_or_null(self.mask.as_ref()).cast_const()
    }
}

impl<const N: usize> Kernel<N> for Steps {
    /// States and memories, gates, and the inputs but the products.
    type Saved = Vec<TchTensor>;

    fn forward(&self, inputs: [TchTensor; N]) -> (TchTensor, Self::Saved) {
        // The gates take the products' place where nothing else reads those.
        let in_place = c_int::from(inputs[0].can_mut());
        let handles = inputs.each_ref().map(|input| handle(&input.tensor));
        let (handles, mask) = (handles.as_ptr(), self.mask());
        // SAFETY: live tensors whose shapes fit one another; the callee writes two new ones.
        let out: [_; 2] = unsafe {
            written(|out| {
                totune_highway_lstm(handles, mask, in_place, self.way, self.reversed, out)
            })
        };
        let mut saved: Vec<_> = out.into_iter().flatten().collect();
        saved.extend(inputs.into_iter().skip(1));
        (saved[0].clone(), saved)
    }

    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        wanted: [bool; N],
    ) -> [Option<TchTensor>; N] {
        let mut inputs = vec![handle(&grad.tensor)];
        inputs.extend(saved.iter().map(|tensor| handle(&tensor.tensor)));
        // SAFETY: the gradient and what the forward pass saved, all live; the callee writes a new tensor or nothing
        // into each place.
        unsafe {
            written(|out| {
                totune_highway_lstm_backward(
                    inputs.as_ptr(),
                    self.mask(),
                    c_int::from(wanted[1]),
                    self.way,
                    self.reversed,
                    out,
                )
            })
        }
    }
}
