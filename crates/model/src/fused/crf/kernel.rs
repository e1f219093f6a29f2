//! CPU kernel: one pass over each row, rows in parallel (`crf.cpp`).
//!
//! The forward pass keeps, for each word and tag, how probable each tag of the word before is; the backward pass goes
//! through these from the end and has the marginals without another exponential.

use std::os::raw::{c_char, c_int, c_void};

use burn::backend::libtorch::TchTensor;
use burn::tensor::{Int, Tensor as BurnTensor};

use super::CrfWeights;
use crate::fused::libtorch::{Kernel, apply, held, held_int};
use crate::fused::shim::{handle, written};

unsafe extern "C" {
    fn totune_crf_forward(
        inputs: *const *mut c_void,
        keep: c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
    fn totune_crf_backward(
        saved: *const *mut c_void,
        grad: *mut c_void,
        out: *mut *mut c_void,
    ) -> *mut c_char;
}

/// Kernel of [`super::crf_log_likelihood`].
pub fn log_likelihood(
    emissions: BurnTensor<3>,
    weights: CrfWeights,
    tags: &BurnTensor<2, Int>,
    mask: &BurnTensor<2>,
) -> BurnTensor<1> {
    let tracked = emissions.is_autodiff() || weights.transitions.is_autodiff();
    let kernel = LogLikelihood {
        tags: held_int(tags),
        mask: held(mask),
        tracked,
    };
    let CrfWeights {
        transitions,
        start,
        end,
    } = weights;
    apply(
        kernel,
        [
            emissions.into(),
            transitions.into(),
            start.into(),
            end.into(),
        ],
    )
}

#[derive(Debug, Clone)]
struct LogLikelihood {
    tags: TchTensor,
    mask: TchTensor,
    tracked: bool,
}

impl Kernel<4> for LogLikelihood {
    /// Probabilities of the tag before, `[batch, words, tags, tags]`, and of the last tag, `[batch, tags]`.
    type Saved = Option<[TchTensor; 2]>;

    fn forward(&self, inputs: [TchTensor; 4]) -> (TchTensor, Self::Saved) {
        let [e, t, s, n] = &inputs;
        let all = [
            &e.tensor,
            &t.tensor,
            &s.tensor,
            &n.tensor,
            &self.tags.tensor,
            &self.mask.tensor,
        ]
        .map(handle);
        let keep = c_int::from(self.tracked);
        // SAFETY: six live tensors; the callee writes one new tensor, and two more where it keeps them.
        let [likelihood, before, last] =
            unsafe { written(|out| totune_crf_forward(all.as_ptr(), keep, out)) };
        let saved = before.zip(last).map(|(before, last)| [before, last]);
        (likelihood.expect("always written"), saved)
    }

    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        _: [bool; 4],
    ) -> [Option<TchTensor>; 4] {
        let [before, last] = saved.expect("a tracked input makes the forward pass keep them");
        let all = [
            &before.tensor,
            &last.tensor,
            &self.tags.tensor,
            &self.mask.tensor,
        ]
        .map(handle);
        // SAFETY: five live tensors; the callee writes four new ones.
        unsafe { written(|out| totune_crf_backward(all.as_ptr(), handle(&grad.tensor), out)) }
    }
}
