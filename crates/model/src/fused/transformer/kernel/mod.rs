//! CPU kernels of both sublayers, through `sublayers.cpp`.

use std::os::raw::{c_char, c_int, c_void};

use burn::backend::libtorch::TchTensor;
use burn::tensor::Tensor;

use super::{FeedForward as Settings, FeedForwardWeights, SelfAttention, SelfAttentionWeights};
use crate::fused::libtorch::{Kernel, apply_keeping, held, held_int};
use crate::fused::products::{Bf16Products, F32Products, products};
use crate::fused::shim::{handle, handle_or_null, written};
use crate::fused::{Dropout, Precision, dropout};
use crate::pass::Activations;

/// `Drop` of `passes.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Drop {
    threshold: u32,
    low: u32,
    high: u32,
    scale: f32,
}

impl Drop {
    fn new(dropout: Dropout) -> Self {
        let (low, high) = dropout::key(dropout.seed);
        Self {
            threshold: dropout::threshold(dropout.rate),
            low,
            high,
            scale: (1.0 / (1.0 - dropout.rate)) as f32,
        }
    }

    const NONE: Self = Self {
        threshold: 0,
        low: 0,
        high: 0,
        scale: 1.0,
    };
}

/// Storage format of the operands of products, as in `passes.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Format {
    F32 = 0,
    Half = 1,
    Rounded = 2,
}

impl Format {
    fn of(precision: Precision) -> Self {
        match (precision, products().bf16) {
            (Precision::F32, _) => Self::F32,
            (Precision::Bf16, Bf16Products::Native) => Self::Half,
            (Precision::Bf16, Bf16Products::AsF32) => Self::Rounded,
        }
    }
}

/// `Options` of `sublayers.cpp`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Options {
    format: Format,
    onednn: i32,
    heads: i64,
    /// Rows and columns of the batch where padding has been taken out of the input, else zeros.
    padded: [i64; 2],
    epsilon: f64,
    hidden: Drop,
    probabilities: Drop,
}

impl Options {
    fn new(precision: Precision, epsilon: f64, hidden: Dropout) -> Self {
        Self {
            format: Format::of(precision),
            onednn: i32::from(products().f32 == F32Products::OneDnn),
            heads: 0,
            padded: [0; 2],
            epsilon,
            hidden: Drop::new(hidden),
            probabilities: Drop::NONE,
        }
    }
}

type Tensors = *const *mut c_void;
type Out = *mut *mut c_void;
type Backward =
    unsafe extern "C" fn(*const Options, *mut c_void, Tensors, *const c_int, Out) -> *mut c_char;

unsafe extern "C" {
    fn totune_feed_forward(
        options: *const Options,
        inputs: Tensors,
        keep: c_int,
        out: Out,
    ) -> *mut c_char;
    fn totune_feed_forward_backward(
        options: *const Options,
        grad: *mut c_void,
        saved: Tensors,
        wanted: *const c_int,
        out: Out,
    ) -> *mut c_char;
    fn totune_self_attention(
        options: *const Options,
        inputs: Tensors,
        mask: *mut c_void,
        keep: c_int,
        out: Out,
    ) -> *mut c_char;
    fn totune_self_attention_backward(
        options: *const Options,
        grad: *mut c_void,
        saved: Tensors,
        wanted: *const c_int,
        out: Out,
    ) -> *mut c_char;
}

fn handles(tensors: &[TchTensor]) -> Vec<*mut c_void> {
    tensors
        .iter()
        .map(|tensor| handle(&tensor.tensor))
        .collect()
}

/// The result and the tensors saved for the backward pass, of those that a callee wrote. Its operands in f32 are the inputs
/// themselves, which are therefore saved behind what the backward pass reads, for burn to count them.
fn result<const N: usize>(written: [Option<TchTensor>; N]) -> (TchTensor, Vec<TchTensor>) {
    let mut all = written.into_iter().flatten();
    let y = all
        .next()
        .expect("a callee that does not fail gives a result");
    (y, all.collect())
}

fn backward<const N: usize>(
    callee: Backward,
    options: &Options,
    saved: &[TchTensor],
    grad: &TchTensor,
    wanted: [bool; N],
) -> [Option<TchTensor>; N] {
    let (grad, saved) = (handle(&grad.tensor), handles(saved));
    let wanted = wanted.map(c_int::from);
    // SAFETY: live tensors, as many as the callee reads; it writes a new tensor or null into each of N places.
    unsafe { written(|out| callee(options, grad, saved.as_ptr(), wanted.as_ptr(), out)) }
}

#[derive(Debug, Clone)]
struct FeedForward {
    options: Options,
    keep: bool,
}

/// Input, inner weight and bias, outer weight and bias, scale, shift.
impl Kernel<7> for FeedForward {
    type Saved = Vec<TchTensor>;

    fn forward(&self, inputs: [TchTensor; 7]) -> (TchTensor, Self::Saved) {
        let (all, keep) = (handles(&inputs), c_int::from(self.keep));
        // SAFETY: seven live tensors; the callee writes new tensors into up to eight places.
        let out: [_; 8] =
            unsafe { written(|out| totune_feed_forward(&self.options, all.as_ptr(), keep, out)) };
        let (y, mut saved) = result(out);
        let [x, inner, bias, outer, _, scale, _] = inputs;
        saved.extend([bias, scale]);
        if self.options.format == Format::F32 {
            saved.extend([x, inner, outer]);
        }
        (y, saved)
    }

    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        wanted: [bool; 7],
    ) -> [Option<TchTensor>; 7] {
        backward(
            totune_feed_forward_backward,
            &self.options,
            &saved,
            &grad,
            wanted,
        )
    }
}

#[derive(Debug, Clone)]
struct Attention {
    options: Options,
    mask: Option<TchTensor>,
    /// Lengths of the rows of the batch, where padding has been taken out of the input.
    lengths: Option<TchTensor>,
    keep: bool,
}

/// Input, weight and bias of queries, keys, values and output, scale, shift.
impl Kernel<11> for Attention {
    type Saved = Vec<TchTensor>;

    fn forward(&self, inputs: [TchTensor; 11]) -> (TchTensor, Self::Saved) {
        let (mask, keep) = (handle_or_null(self.mask.as_ref()), c_int::from(self.keep));
        let mut all = handles(&inputs);
        all.extend(self.lengths.iter().map(|lengths| handle(&lengths.tensor)));
        // SAFETY: eleven live tensors, the lengths if `options.padded` says so, and one or null; the callee writes new tensors
        // into up to eleven places.
        let out: [_; 11] = unsafe {
            written(|out| totune_self_attention(&self.options, all.as_ptr(), mask, keep, out))
        };
        let (y, mut saved) = result(out);
        let [x, _, _, _, _, _, _, output, _, scale, _] = inputs;
        saved.push(scale);
        saved.extend(self.lengths.clone());
        if self.options.format == Format::F32 {
            saved.extend([x, output]);
        }
        (y, saved)
    }

    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        wanted: [bool; 11],
    ) -> [Option<TchTensor>; 11] {
        backward(
            totune_self_attention_backward,
            &self.options,
            &saved,
            &grad,
            wanted,
        )
    }
}

pub(super) fn feed_forward(
    x: Tensor<3>,
    weights: FeedForwardWeights,
    settings: Settings,
) -> Tensor<3> {
    let options = Options::new(settings.precision, weights.norm.epsilon, settings.hidden);
    feed_forward_with(options, x, weights, settings.activations)
}

fn feed_forward_with(
    options: Options,
    x: Tensor<3>,
    weights: FeedForwardWeights,
    activations: Activations,
) -> Tensor<3> {
    let keep = x.is_autodiff() || weights.inner.weight.is_autodiff();
    apply_keeping(
        FeedForward { options, keep },
        weights.inputs(x),
        activations,
    )
}

pub(super) fn self_attention(
    x: Tensor<3>,
    weights: SelfAttentionWeights,
    settings: SelfAttention,
) -> Tensor<3> {
    let options = Options::new(settings.precision, weights.norm.epsilon, settings.hidden);
    self_attention_with(options, x, weights, settings)
}

fn self_attention_with(
    mut options: Options,
    x: Tensor<3>,
    weights: SelfAttentionWeights,
    settings: SelfAttention,
) -> Tensor<3> {
    options.heads = settings.heads as i64;
    options.probabilities = Drop::new(settings.probabilities);
    let keep = x.is_autodiff() || weights.projections[0].weight.is_autodiff();
    let mask = settings.mask.map(|mask| held(&mask));
    let lengths = settings.unpadding.map(|unpadding| {
        options.padded = unpadding.shape().map(|n| n as i64);
        held_int(unpadding.lengths())
    });
    let kernel = Attention {
        options,
        mask,
        lengths,
        keep,
    };
    apply_keeping(kernel, weights.inputs(x), settings.activations)
}

#[cfg(test)]
mod tests;
