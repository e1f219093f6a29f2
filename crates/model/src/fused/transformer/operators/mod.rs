//! Both sublayers in LibTorch's operators, through `operators.cpp`, on devices whose memory our own passes cannot read.

use std::os::raw::{c_char, c_int, c_void};

use burn::backend::libtorch::TchTensor;
use burn::tensor::Tensor;

use super::{FeedForward as Settings, FeedForwardWeights, SelfAttention, SelfAttentionWeights};
use crate::fused::libtorch::{Kernel, apply_keeping, held};
use crate::fused::shim::{handle, handle_or_null, written};
use crate::fused::{Dropout, Precision};

/// `Share` of `attention.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Share {
    rate: f64,
    seed: u64,
}

impl From<Dropout> for Share {
    fn from(Dropout { rate, seed }: Dropout) -> Self {
        Self { rate, seed }
    }
}

/// `Options` of `operators.cpp`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Options {
    half: i32,
    heads: i64,
    epsilon: f64,
    hidden: Share,
    probabilities: Share,
}

type Tensors = *const *mut c_void;
type Out = *mut *mut c_void;

unsafe extern "C" {
    fn totune_operators_feed_forward(
        options: *const Options,
        inputs: Tensors,
        out: Out,
    ) -> *mut c_char;
    fn totune_operators_feed_forward_backward(
        options: *const Options,
        grad: *mut c_void,
        saved: Tensors,
        wanted: *const c_int,
        out: Out,
    ) -> *mut c_char;
    fn totune_operators_self_attention(
        options: *const Options,
        inputs: Tensors,
        mask: *mut c_void,
        out: Out,
    ) -> *mut c_char;
    fn totune_operators_self_attention_backward(
        options: *const Options,
        grad: *mut c_void,
        saved: Tensors,
        mask: *mut c_void,
        wanted: *const c_int,
        out: Out,
    ) -> *mut c_char;
}

fn handles(tensors: &[Option<TchTensor>]) -> Vec<*mut c_void> {
    let tensors = tensors.iter().map(Option::as_ref);
    tensors.map(handle_or_null).collect()
}

/// Kept by the forward pass, then scale and shift; what there is not is absent.
type Saved = Vec<Option<TchTensor>>;

/// The result and what is saved, of the tensors that a callee wrote and the inputs scale and shift.
fn result<const N: usize>(
    written: [Option<TchTensor>; N],
    [scale, shift]: [TchTensor; 2],
) -> (TchTensor, Saved) {
    let mut all = written.into_iter();
    let y = all.next().flatten();
    let y = y.expect("a callee that does not fail gives a result");
    (y, all.chain([Some(scale), Some(shift)]).collect())
}

#[derive(Debug, Clone)]
struct FeedForward(Options);

/// Input, inner weight and bias, outer weight and bias, scale, shift.
impl Kernel<7> for FeedForward {
    type Saved = Saved;

    fn forward(&self, inputs: [TchTensor; 7]) -> (TchTensor, Saved) {
        let all = inputs.each_ref().map(|input| handle(&input.tensor));
        // SAFETY: seven live tensors; the callee writes new tensors or null into ten places.
        let out: [_; 10] =
            unsafe { written(|out| totune_operators_feed_forward(&self.0, all.as_ptr(), out)) };
        let [.., scale, shift] = inputs;
        result(out, [scale, shift])
    }

    fn backward(&self, saved: Saved, grad: TchTensor, wanted: [bool; 7]) -> [Option<TchTensor>; 7] {
        let (grad, saved) = (handle(&grad.tensor), handles(&saved));
        let wanted = wanted.map(c_int::from);
        // SAFETY: live tensors or null, as the forward pass left them; the callee writes new tensors or null into seven places.
        unsafe {
            written(|out| {
                totune_operators_feed_forward_backward(
                    &self.0,
                    grad,
                    saved.as_ptr(),
                    wanted.as_ptr(),
                    out,
                )
            })
        }
    }
}

#[derive(Debug, Clone)]
struct Attention {
    options: Options,
    mask: Option<TchTensor>,
}

/// Input, weight and bias of queries, keys, values and output, scale, shift.
impl Kernel<11> for Attention {
    type Saved = Saved;

    fn forward(&self, inputs: [TchTensor; 11]) -> (TchTensor, Saved) {
        let all = inputs.each_ref().map(|input| handle(&input.tensor));
        let (all, mask) = (all.as_ptr(), handle_or_null(self.mask.as_ref()));
        // SAFETY: eleven live tensors and one or null; the callee writes new tensors or null into sixteen places.
        let out: [_; 16] = unsafe {
            written(|out| totune_operators_self_attention(&self.options, all, mask, out))
        };
        let [.., scale, shift] = inputs;
        result(out, [scale, shift])
    }

    fn backward(
        &self,
        saved: Saved,
        grad: TchTensor,
        wanted: [bool; 11],
    ) -> [Option<TchTensor>; 11] {
        let saved = handles(&saved);
        let wanted = wanted.map(c_int::from);
        // SAFETY: as for the other sublayer, with eleven places.
        unsafe {
            written(|out| {
                totune_operators_self_attention_backward(
                    &self.options,
                    handle(&grad.tensor),
                    saved.as_ptr(),
                    handle_or_null(self.mask.as_ref()),
                    wanted.as_ptr(),
                    out,
                )
            })
        }
    }
}

pub(super) fn feed_forward(
    x: Tensor<3>,
    weights: FeedForwardWeights,
    settings: Settings,
) -> Tensor<3> {
    let options = Options {
        half: i32::from(settings.precision == Precision::Bf16),
        heads: 0,
        epsilon: weights.norm.epsilon,
        hidden: settings.hidden.into(),
        probabilities: Share { rate: 0.0, seed: 0 },
    };
    let inputs = weights.inputs(x);
    apply_keeping(FeedForward(options), inputs, settings.activations)
}

pub(super) fn self_attention(
    x: Tensor<3>,
    weights: SelfAttentionWeights,
    settings: SelfAttention,
) -> Tensor<3> {
    let options = Options {
        half: i32::from(settings.precision == Precision::Bf16),
        heads: settings.heads as i64,
        epsilon: weights.norm.epsilon,
        hidden: settings.hidden.into(),
        probabilities: settings.probabilities.into(),
    };
    let mask = settings.mask.map(|mask| held(&mask));
    let kernel = Attention { options, mask };
    apply_keeping(kernel, weights.inputs(x), settings.activations)
}

#[cfg(test)]
mod tests;
