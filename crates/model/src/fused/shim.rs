//! LibTorch functions that tch does not expose, through a few lines of C++ (`shim.cpp`) compiled against the same
//! libtorch.

use std::ffi::CStr;
use std::os::raw::{c_char, c_double, c_int, c_void};
use std::ptr;

use burn::backend::libtorch::TchTensor;
use tch::Tensor;

unsafe extern "C" {
    fn totune_layer_norm_backward(
        grad: *mut c_void,
        saved: *const *mut c_void,
        wanted: *const c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
    fn totune_round_bf16(x: *mut c_void, out: *mut *mut c_void) -> *mut c_char;
    fn totune_matmul(
        a: *mut c_void,
        b: *mut c_void,
        bias: *mut c_void,
        out: *mut *mut c_void,
    ) -> *mut c_char;
    fn totune_time_products(operations: *mut c_double, seconds: *mut c_double) -> *mut c_char;
    fn totune_norm(n: c_int, tensors: *const *mut c_void, norm: *mut c_double) -> *mut c_char;
    fn totune_clip(
        n: c_int,
        grads: *const *mut c_void,
        most: *const c_double,
        out: *mut *mut c_void,
        norm: *mut *mut c_void,
    ) -> *mut c_char;
    fn totune_adamw(
        n: c_int,
        params: *const *mut c_void,
        grads: *const *mut c_void,
        firsts: *const *mut c_void,
        seconds: *const *mut c_void,
        steps: *const *mut c_void,
        numbers: *const c_double,
    ) -> *mut c_char;
    fn totune_full_f32();
    fn totune_warn(shown: bool);
}

/// Panics with libtorch's message, as tch's own methods do (out of memory, most often).
pub fn check(message: *mut c_char) {
    if !message.is_null() {
        // SAFETY: the shim returns null or a string of its own.
        let message = unsafe { CStr::from_ptr(message) }.to_string_lossy();
        panic!("libtorch: {message}");
    }
}

/// Returns the handle as the C++ functions take it.
pub fn handle(tensor: &Tensor) -> *mut c_void {
    tensor.as_ptr().cast_mut().cast()
}

/// The handle, null where there is no tensor.
pub fn handle_or_null(tensor: Option<&TchTensor>) -> *mut c_void {
    tensor.map_or(ptr::null_mut(), |tensor| handle(&tensor.tensor))
}

/// The new tensors that `callee` writes into the places it is given, none where it leaves null.
///
/// # Safety
/// As for [`taken`].
pub unsafe fn written<const N: usize>(
    callee: impl FnOnce(*mut *mut c_void) -> *mut c_char,
) -> [Option<TchTensor>; N] {
    let mut places = [ptr::null_mut(); N];
    check(callee(places.as_mut_ptr()));
    // SAFETY: passed on.
    let tensors = unsafe { taken(&places) };
    tensors.try_into().expect("one for each place")
}

/// Takes ownership of the new tensors written by a callee.
///
/// # Safety
/// Each place is null or a tensor that nothing else owns.
pub unsafe fn taken(places: &[*mut c_void]) -> Vec<Option<TchTensor>> {
    let tensor = |place: &*mut c_void| {
        // SAFETY: as said above.
        (!place.is_null()).then(|| TchTensor::new(unsafe { Tensor::from_ptr(place.cast()) }))
    };
    places.iter().map(tensor).collect()
}

fn handles(tensors: &[Tensor]) -> Vec<*mut c_void> {
    tensors.iter().map(handle).collect()
}

/// The gradients of layer normalisation in its input, scale and shift.
///
/// `saved` is input, scale, shift, and the mean and reciprocal deviation that the forward pass returned.
pub fn layer_norm_backward(
    grad: &Tensor,
    saved: [&Tensor; 5],
    wanted: [bool; 3],
) -> [Option<Tensor>; 3] {
    let saved = saved.map(handle);
    let wanted = wanted.map(c_int::from);
    let mut out = [ptr::null_mut(); 3];
    // SAFETY: all handles are live tch tensors; the callee writes a new tensor or null into each of three places.
    unsafe {
        check(totune_layer_norm_backward(
            handle(grad),
            saved.as_ptr(),
            wanted.as_ptr(),
            out.as_mut_ptr(),
        ));
        out.map(|tensor| (!tensor.is_null()).then(|| Tensor::from_ptr(tensor.cast())))
    }
}

/// A new tensor: the nearest bfloat16 numbers to those of `x`, ties to even, as f32. `x` is f32 on the CPU.
pub fn rounded(x: &Tensor) -> Tensor {
    let mut out = ptr::null_mut();
    // SAFETY: `x` is a live tensor; the callee writes a new one.
    unsafe {
        check(totune_round_bf16(handle(x), &mut out));
        Tensor::from_ptr(out.cast())
    }
}

/// `a b + bias` by oneDNN: `a` `[m, k]` and `b` `[k, n]` are f32 or bfloat16 on the CPU and may be transposed views,
/// `bias` is `[n]`. Sums are f32; the result has the type of `a` and `b`.
pub fn matmul(a: &Tensor, b: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let mut out = ptr::null_mut();
    // SAFETY: `a`, `b` and `bias` are live tensors or null; the callee writes a new one.
    unsafe {
        let bias = bias.map_or(ptr::null_mut(), handle);
        check(totune_matmul(handle(a), handle(b), bias, &mut out));
        Tensor::from_ptr(out.cast())
    }
}

/// Times small products on one thread, the fastest of five each, in 10⁹ operations per second: of f32 by default and by
/// oneDNN, and of bfloat16; 0 for oneDNN's where libtorch refuses them, as on processors without AVX-512.
pub fn product_speeds() -> Option<[f64; 3]> {
    let mut operations = 0.0;
    let mut seconds = [0.0; 3];
    // SAFETY: one number and three are written; a message is a string of the shim's, leaked once per process.
    let message = unsafe { totune_time_products(&mut operations, seconds.as_mut_ptr()) };
    let speeds = seconds.map(|seconds| operations / seconds / 1e9);
    message.is_null().then_some(speeds)
}

/// The norm of f32 tensors on the CPU together.
pub fn norm(tensors: &[Tensor]) -> f64 {
    let mut norm = 0.0;
    // SAFETY: live tensors; one number is written.
    unsafe {
        let handles = handles(tensors);
        check(totune_norm(
            tensors.len() as c_int,
            handles.as_ptr(),
            &mut norm,
        ));
    }
    norm
}

/// The norm of gradients together, `[1]`, and with `max` the gradients times the factor that brings the norm down to it,
/// at most one; the device computes it, and nothing waits for it.
pub fn clipped(grads: &[Tensor], max: Option<f64>) -> (Tensor, Vec<Tensor>) {
    let mut out = vec![ptr::null_mut(); grads.len()];
    let mut norm = ptr::null_mut();
    // SAFETY: live tensors; the callee writes the norm and, where there is a maximum, as many new tensors as there are
    // gradients.
    unsafe {
        check(totune_clip(
            grads.len() as c_int,
            handles(grads).as_ptr(),
            max.as_ref().map_or(ptr::null(), ptr::from_ref),
            out.as_mut_ptr(),
            &mut norm,
        ));
        let scaled = out.into_iter().filter(|tensor| !tensor.is_null());
        let scaled = scaled.map(|tensor| Tensor::from_ptr(tensor.cast()));
        (Tensor::from_ptr(norm.cast()), scaled.collect())
    }
}

/// Parameters with one rate, their gradients and their moments.
#[derive(Default)]
pub struct Bundle {
    pub params: Vec<Tensor>,
    pub grads: Vec<Tensor>,
    pub firsts: Vec<Tensor>,
    pub seconds: Vec<Tensor>,
    /// Steps taken, counting this one, as f32 scalars.
    pub steps: Vec<Tensor>,
    /// The number in the last of them.
    pub last_steps: f32,
}

/// Lets cuDNN compute in f32 throughout, as cuBLAS does by itself.
pub fn full_f32() {
    // SAFETY: sets a flag of the process.
    unsafe { totune_full_f32() }
}

/// Runs `work` without showing LibTorch's warnings.
pub fn without_warnings<T>(work: impl FnOnce() -> T) -> T {
    struct BackOn;
    impl Drop for BackOn {
        fn drop(&mut self) {
            // SAFETY: sets the handler of this thread.
            unsafe { totune_warn(true) }
        }
    }
    let _back_on = BackOn;
    // SAFETY: as above.
    unsafe { totune_warn(false) }
    work()
}

/// One AdamW step over a bundle, in place.
pub fn adamw(bundle: &Bundle, lr: f64, betas: [f64; 2], weight_decay: f64, epsilon: f64) {
    let numbers = [lr, betas[0], betas[1], weight_decay, epsilon];
    let [params, grads, firsts, seconds, steps] = [
        &bundle.params,
        &bundle.grads,
        &bundle.firsts,
        &bundle.seconds,
        &bundle.steps,
    ]
    .map(|tensors| handles(tensors));
    // SAFETY: five lists of equally many live tensors, and five numbers.
    unsafe {
        check(totune_adamw(
            params.len() as c_int,
            params.as_ptr(),
            grads.as_ptr(),
            firsts.as_ptr(),
            seconds.as_ptr(),
            steps.as_ptr(),
            numbers.as_ptr(),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn totune_threads(threads: *mut c_int) -> *mut c_char;
    }

    /// Compiled without OpenMP they would run on one, and nothing but their speed would tell.
    #[test]
    fn loops_of_our_own_are_divided_among_threads() {
        let before = tch::get_num_threads();
        tch::set_num_threads(2);
        let mut threads = 0;
        // SAFETY: one number is written.
        unsafe { check(totune_threads(&mut threads)) }
        tch::set_num_threads(before);
        assert_eq!(threads, 2);
    }

    // Only GPUs are given to `clipped` elsewhere.
    #[test]
    fn gradients_are_clipped_by_a_norm_whose_square_overflows() {
        let [a, b] = [[3e30_f32, 0.0], [0.0, -4e30]].map(|grad| Tensor::from_slice(&grad));
        let grads = [a, b];
        assert!((norm(&grads) / 5e30 - 1.0).abs() < 1e-6);
        let (norm, scaled) = clipped(&grads, Some(1.0));
        assert!((norm.double_value(&[0]) / 5e30 - 1.0).abs() < 1e-6);
        let scaled = Tensor::cat(&scaled, 0);
        for (at, expected) in (0..).zip([0.6, 0.0, 0.0, -0.8]) {
            let found = scaled.double_value(&[at]);
            assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
        }
    }

    #[test]
    fn a_norm_in_main_memory_is_libtorchs() {
        let tensors = [70_001, 5, 1, 32_768, 0].map(|n| {
            let all = Tensor::arange(n, (tch::Kind::Float, tch::Device::Cpu));
            (all * 0.37).sin()
        });
        let is_libtorchs = |tensors: &[Tensor]| {
            let all: Vec<_> = tensors.iter().map(|tensor| tensor.reshape([-1])).collect();
            let expected = Tensor::cat(&all, 0).to_kind(tch::Kind::Double).norm();
            let ratio = norm(tensors) / expected.double_value(&[]);
            assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
        };
        is_libtorchs(&tensors);
        // Matrices that are not laid out row by row.
        let matrix = tensors[3].view([128, 256]);
        is_libtorchs(&[matrix.tr(), matrix.narrow(1, 0, 100)]);
        assert!(norm(&[Tensor::from_slice(&[1.0_f32, f32::INFINITY])]).is_infinite());
    }
}
