//! Operations that a backend can do in one go: forward and backward as single nodes of the graph.
//!
//! Each file holds one operation: its public function, the plain burn body that every device can run, and, with
//! the feature `tch`, a [`libtorch`] kernel. Only the device of the tensors decides which one runs. A test in
//! each file compares both in value and gradient.
//!
//! This is the only place in the project that names a backend.

mod adamw;
mod attention;
mod char_cnn;
mod crf;
mod cross_entropy;
mod dropout;
mod highway_lstm;
mod layer_norm;
#[cfg(feature = "tch")]
mod libtorch;
mod linear;
mod lstm;
#[cfg(feature = "tch")]
mod matmul;
mod observer;
mod prefix;
mod products;
mod projected_lstm;
#[cfg(feature = "tch")]
mod shim;
mod softmax_loss;
mod tensor_memory;
mod transformer;
mod unpadding;
mod upload;

pub use adamw::{
    AdamW, AdamWConfig, GradientNorm, ParameterMoments, Rate, clip_global_norm, reads_at_once,
};
pub use attention::attention;
pub use char_cnn::char_cnn;
pub use crf::{CrfWeights, crf_log_likelihood};
pub use cross_entropy::cross_entropy;
pub use dropout::{Dropout, dropout};
pub use highway_lstm::{HighwayGate, Order, highway_lstm};
pub use layer_norm::layer_norm;
#[cfg(feature = "tch")]
pub use libtorch::{cuda_devices, without_cpu_kernels};
pub use linear::{Precision, linear, product};
pub use lstm::{LstmWeights, bilstm, lstm};
pub use observer::{Call, Calls, observed};
pub use prefix::PrefixWeights;
pub(crate) use prefix::prefixed_attention;
pub use products::{
    Bf16Products, F32Products, OneDnnSpeeds, Products, Speeds, check_environment, products,
    resume_products,
};
pub use projected_lstm::{
    Clip, Direction, Memory, projected_bilstm, projected_lstm, projected_lstm_from,
};
pub use softmax_loss::{Candidates, Softmax, softmax_loss, softmax_losses};
pub use tensor_memory::TensorMemory;
pub use transformer::{
    AdapterWeights, Affine, FeedForward, FeedForwardWeights, Gelu, NormWeights, SelfAttention,
    SelfAttentionWeights, feed_forward, self_attention,
};
pub(crate) use transformer::{adapted, merged};
pub use unpadding::Unpadding;
pub(crate) use unpadding::{padded, unpadded};
pub use upload::{upload, upload_ids};

/// No GPU is used without LibTorch.
#[cfg(not(feature = "tch"))]
pub fn cuda_devices() -> Vec<burn::tensor::Device> {
    Vec::new()
}

/// Runs `work`: without LibTorch there are no kernels of our own to leave out.
#[cfg(not(feature = "tch"))]
pub fn without_cpu_kernels<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(all(test, feature = "tch"))]
mod compare {
    //! Runs an operation on LibTorch and on flex with the same inputs and compares values and gradients; on each GPU of
    //! the machine as well.

    use burn::tensor::{Device, Tensor, TensorData};

    /// Deterministic numbers that look random, between -1 and 1.
    pub fn values(n: usize, seed: u64) -> Vec<f32> {
        (0..n as u64)
            .map(|i| {
                (crate::pass::mix(seed.wrapping_mul(1000) + i) >> 40) as f32 / (1u64 << 23) as f32
                    - 1.0
            })
            .collect()
    }

    /// The output and the gradient of `sum(op(inputs) * weights)` in each input, flat.
    fn trace<const D: usize>(
        device: Device,
        shapes: &[Vec<usize>],
        op: &dyn Fn(&[Tensor<1>], &Device) -> Tensor<D>,
    ) -> Vec<Vec<f32>> {
        let device = device.autodiff();
        let flat = |t: Tensor<1>| t.into_data().try_to_vec::<f32>().expect("f32");
        let inputs: Vec<Tensor<1>> = shapes
            .iter()
            .enumerate()
            .map(|(i, shape)| {
                let n: usize = shape.iter().product();
                Tensor::from_data(TensorData::new(values(n, i as u64 + 1), [n]), &device)
                    .require_grad()
            })
            .collect();
        let out = op(&inputs, &device);
        let n = out.dims().iter().product::<usize>();
        let weights = Tensor::<1>::from_data(TensorData::new(values(n, 99), [n]), &device);
        let out = out.reshape([n]);
        let grads = (out.clone() * weights).sum().backward();
        let mut all = vec![flat(out.inner())];
        for input in &inputs {
            all.push(flat(
                input.grad(&grads).expect("every input has a gradient"),
            ));
        }
        all
    }

    /// Asserts that all devices agree to `tolerance`, relative to the largest value of each tensor.
    #[track_caller]
    pub fn check<const D: usize>(
        shapes: &[Vec<usize>],
        tolerance: f32,
        op: impl Fn(&[Tensor<1>], &Device) -> Tensor<D>,
    ) {
        let plain = trace(Device::flex(), shapes, &op);
        for device in [vec![Device::libtorch()], super::cuda_devices()].concat() {
            let what = format!("{device:?}");
            let fused = trace(device, shapes, &op);
            for (i, (a, b)) in fused.iter().zip(&plain).enumerate() {
                let scale = b.iter().fold(1e-3f32, |m, x| m.max(x.abs()));
                let worst = a.iter().zip(b).fold(0f32, |m, (x, y)| m.max((x - y).abs()));
                assert!(
                    a.len() == b.len() && worst <= tolerance * scale,
                    "{what}, {}: differs by {worst} where the largest value is {scale}",
                    if i == 0 {
                        "value".into()
                    } else {
                        format!("gradient of input {}", i - 1)
                    }
                );
            }
        }
    }
}
