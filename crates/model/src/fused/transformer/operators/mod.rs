//! Both sublayers in LibTorch's operators, through `operators.cpp`, on devices whose memory our own passes cannot read.

use std::os::raw::{c_char, c_int, c_void};
use std::ptr;

use burn::backend::libtorch::TchTensor;
use burn::tensor::Tensor;

use super::{FeedForward as Settings, FeedForwardWeights, SelfAttention, SelfAttentionWeights};
use crate::fused::libtorch::{Kernel, apply_keeping, raw};
use crate::fused::shim::{check, handle, taken};
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

fn handles<'t>(tensors: impl IntoIterator<Item = &'t TchTensor>) -> Vec<*mut c_void> {
    let tensors = tensors.into_iter();
    tensors.map(|tensor| handle(&tensor.tensor)).collect()
}

fn handle_or_null(tensor: Option<&TchTensor>) -> *mut c_void {
    tensor.map_or(ptr::null_mut(), |tensor| handle(&tensor.tensor))
}

/// Kept by the forward pass, then scale and shift; what there is not is absent.
type Saved = Vec<Option<TchTensor>>;

/// The result and what is saved, from the places that a callee filled.
///
/// # Safety
/// As for [`taken`].
unsafe fn result(places: &[*mut c_void], scale: TchTensor, shift: TchTensor) -> (TchTensor, Saved) {
    // SAFETY: passed on.
    let mut all = unsafe { taken(places) }.into_iter();
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
        let mut out = [ptr::null_mut(); 10];
        let handles = handles(&inputs);
        let [.., scale, shift] = inputs;
        // SAFETY: seven live tensors; the callee writes new tensors or null into ten places.
        unsafe {
            check(totune_operators_feed_forward(
                &self.0,
                handles.as_ptr(),
                out.as_mut_ptr(),
            ));
            result(&out, scale, shift)
        }
    }

    fn backward(&self, saved: Saved, grad: TchTensor, wanted: [bool; 7]) -> [Option<TchTensor>; 7] {
        let mut out = [ptr::null_mut(); 7];
        let saved: Vec<_> = saved
            .iter()
            .map(|one| handle_or_null(one.as_ref()))
            .collect();
        let wanted = wanted.map(c_int::from);
        // SAFETY: live tensors or null, as the forward pass left them; the callee writes new tensors or null into seven places.
        let grads = unsafe {
            check(totune_operators_feed_forward_backward(
                &self.0,
                handle(&grad.tensor),
                saved.as_ptr(),
                wanted.as_ptr(),
                out.as_mut_ptr(),
            ));
            taken(&out)
        };
        grads.try_into().expect("one for each place")
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
        let mut out = [ptr::null_mut(); 16];
        let handles = handles(&inputs);
        let [.., scale, shift] = inputs;
        // SAFETY: eleven live tensors and one or null; the callee writes new tensors or null into sixteen places.
        unsafe {
            check(totune_operators_self_attention(
                &self.options,
                handles.as_ptr(),
                handle_or_null(self.mask.as_ref()),
                out.as_mut_ptr(),
            ));
            result(&out, scale, shift)
        }
    }

    fn backward(
        &self,
        saved: Saved,
        grad: TchTensor,
        wanted: [bool; 11],
    ) -> [Option<TchTensor>; 11] {
        let mut out = [ptr::null_mut(); 11];
        let saved: Vec<_> = saved
            .iter()
            .map(|one| handle_or_null(one.as_ref()))
            .collect();
        let wanted = wanted.map(c_int::from);
        // SAFETY: as for the other sublayer, with eleven places.
        let grads = unsafe {
            check(totune_operators_self_attention_backward(
                &self.options,
                handle(&grad.tensor),
                saved.as_ptr(),
                handle_or_null(self.mask.as_ref()),
                wanted.as_ptr(),
                out.as_mut_ptr(),
            ));
            taken(&out)
        };
        grads.try_into().expect("one for each place")
    }
}

pub(super) fn feed_forward(
    x: Tensor<3>,
    weights: FeedForwardWeights,
    settings: Settings,
) -> Tensor<3> {
    let FeedForwardWeights {
        inner,
        outer,
        gelu: _,
        adapter: _,
        norm,
    } = weights;
    let options = Options {
        half: i32::from(settings.precision == Precision::Bf16),
        heads: 0,
        epsilon: norm.epsilon,
        hidden: settings.hidden.into(),
        probabilities: Share { rate: 0.0, seed: 0 },
    };
    let inputs = [
        x.into(),
        inner.weight.into(),
        inner.bias.into(),
        outer.weight.into(),
        outer.bias.into(),
        norm.weight.into(),
        norm.bias.into(),
    ];
    apply_keeping(FeedForward(options), inputs, settings.activations)
}

pub(super) fn self_attention(
    x: Tensor<3>,
    weights: SelfAttentionWeights,
    settings: SelfAttention,
) -> Tensor<3> {
    let SelfAttentionWeights {
        projections: [q, k, v],
        output,
        prefix: _,
        adapter: _,
        norm,
    } = weights;
    let options = Options {
        half: i32::from(settings.precision == Precision::Bf16),
        heads: settings.heads as i64,
        epsilon: norm.epsilon,
        hidden: settings.hidden.into(),
        probabilities: settings.probabilities.into(),
    };
    let mask = settings.mask.map(|mask| TchTensor::new(raw(&mask)));
    let inputs = [
        x.into(),
        q.weight.into(),
        q.bias.into(),
        k.weight.into(),
        k.bias.into(),
        v.weight.into(),
        v.bias.into(),
        output.weight.into(),
        output.bias.into(),
        norm.weight.into(),
        norm.bias.into(),
    ];
    apply_keeping(Attention { options, mask }, inputs, settings.activations)
}

#[cfg(test)]
mod tests;
