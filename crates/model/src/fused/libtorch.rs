//! Wraps a kernel written with tch as one node of burn's graph.
//!
//! A [`Kernel`] computes an output from N inputs and, given its saved tensors, the gradient of each input. [`apply`]
//! runs it on burn tensors: if an input is tracked the backward pass is recorded, otherwise only the forward pass runs.
//!
//! A kernel saves [`TchTensor`]s, never bare tch handles: their reference count tells burn that a buffer is shared and
//! must not be overwritten in place.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use burn::backend::autodiff::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::libtorch::{LibTorchDevice, TchTensor};
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchDevice, LibTorch};
use burn::tensor::{Device, Float, Int, Tensor};

use crate::pass::Activations;

type Graph = Autodiff<LibTorch, NoCheckpointing>;

/// Returns true if tensors on `device` are LibTorch's.
pub fn owns(device: &Device) -> bool {
    matches!(
        device.clone().inner().as_dispatch(),
        DispatchDevice::LibTorch(_)
    )
}

/// Returns true if tensors on `device` are LibTorch's on the CPU, where our own C++ can read them.
pub fn owns_in_main_memory(device: &Device) -> bool {
    is_cpu(device) && !CPU_KERNELS_OFF.get()
}

/// Returns true if `device` is LibTorch's CPU.
pub fn is_cpu(device: &Device) -> bool {
    matches!(
        device.clone().inner().as_dispatch(),
        DispatchDevice::LibTorch(LibTorchDevice::Cpu)
    )
}

/// LibTorch's name of `device`, if it is one of its GPUs.
pub fn gpu(device: &Device) -> Option<tch::Device> {
    match device.clone().inner().as_dispatch() {
        DispatchDevice::LibTorch(device) if *device != LibTorchDevice::Cpu => {
            Some((*device).into())
        }
        _ => None,
    }
}

/// The GPUs that LibTorch can use, all set to compute f32 in full; none without a driver, or where LibTorch has no CUDA.
pub fn cuda_devices() -> Vec<Device> {
    // Opening a CUDA device in burn where LibTorch has none panics, so LibTorch is asked first.
    if !tch::Cuda::is_available() {
        return Vec::new();
    }
    super::shim::full_f32();
    let found = usize::try_from(tch::Cuda::device_count()).unwrap_or(0);
    (0..found).map(Device::libtorch_cuda).collect()
}

/// Returns true if our own C++ can read a tensor.
pub fn in_main_memory(tensor: &tch::Tensor) -> bool {
    tensor.device() == tch::Device::Cpu && !CPU_KERNELS_OFF.get()
}

thread_local! {
    static CPU_KERNELS_OFF: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` with LibTorch's operators in place of our own C++ for tensors on the CPU, as on a GPU, and without
/// reading numbers where a GPU would be waited for.
///
/// One thread at a time does so, since dropout then draws from the generator of the process.
///
/// # Panics
/// Where `work` does the same.
pub fn without_cpu_kernels<T>(work: impl FnOnce() -> T) -> T {
    struct BackOn;
    impl Drop for BackOn {
        fn drop(&mut self) {
            CPU_KERNELS_OFF.set(false);
        }
    }
    static ONE: Mutex<()> = Mutex::new(());
    assert!(!CPU_KERNELS_OFF.get(), "CPU kernels are off already");
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _back_on = BackOn;
    CPU_KERNELS_OFF.set(true);
    work()
}

/// One operation with N differentiable inputs.
pub trait Kernel<const N: usize>: Clone + Send + std::fmt::Debug + 'static {
    /// State saved for the backward pass.
    type Saved: Clone + Send + std::fmt::Debug + 'static;

    /// Computes the output, and the state to save for the backward pass.
    fn forward(&self, inputs: [TchTensor; N]) -> (TchTensor, Self::Saved);

    /// The gradient of each input; one that is not `wanted` may be left out.
    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        wanted: [bool; N],
    ) -> [Option<TchTensor>; N];
}

/// A tensor of any rank on its way into a kernel.
pub struct Input {
    value: FloatTensor<Graph>,
    autodiff: bool,
}

impl Input {
    /// Returns true if our own C++ can read the tensor.
    pub fn in_main_memory(&self) -> bool {
        in_main_memory(&self.value.primitive().tensor)
    }
}

impl<const D: usize> From<Tensor<D>> for Input {
    fn from(tensor: Tensor<D>) -> Self {
        let autodiff = tensor.is_autodiff();
        let value = tensor
            .autodiff()
            .try_into_primitive::<Graph>()
            .expect("the device was checked to be LibTorch");
        Self { value, autodiff }
    }
}

/// Runs `kernel` on `inputs`; the result is part of the graph if one of them is.
pub fn apply<const N: usize, const D: usize, K: Kernel<N>>(
    kernel: K,
    inputs: [Input; N],
) -> Tensor<D> {
    let autodiff = inputs.iter().any(|input| input.autodiff);
    let mut nodes = Vec::with_capacity(N);
    let values = inputs.map(|input| {
        let (value, node) = input.value.into_parts();
        nodes.push(node);
        value
    });
    let (out, saved) = kernel.forward(values);
    if !autodiff {
        return Tensor::<D, Float>::from_primitive::<LibTorch>(out);
    }
    let nodes = nodes
        .try_into()
        .unwrap_or_else(|_| unreachable!("one node per input"));
    let out = match Node(kernel)
        .prepare::<NoCheckpointing>(nodes)
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(prep) => prep.finish(saved, out),
        OpsKind::UnTracked(prep) => prep.finish(out),
    };
    Tensor::<D, Float>::from_primitive::<Graph>(out)
}

/// Runs `kernel` on `inputs` like [`apply`]; the state saved for the backward pass is kept, or computed again from the
/// inputs when it is needed.
pub fn apply_keeping<const N: usize, const D: usize, K: Kernel<N>>(
    kernel: K,
    inputs: [Input; N],
    activations: Activations,
) -> Tensor<D> {
    match activations {
        Activations::Kept => apply(kernel, inputs),
        Activations::Recomputed => apply(Recomputed(kernel), inputs),
    }
}

/// The same operation, of which only the inputs are saved for the backward pass. The forward pass is made a second time
/// there, with the same dropout, so that the gradients are the same numbers.
#[derive(Debug, Clone)]
struct Recomputed<K>(K);

impl<const N: usize, K: Kernel<N>> Kernel<N> for Recomputed<K> {
    type Saved = [TchTensor; N];

    fn forward(&self, inputs: [TchTensor; N]) -> (TchTensor, Self::Saved) {
        let (out, _) = self.0.forward(inputs.clone());
        (out, inputs)
    }

    fn backward(
        &self,
        inputs: Self::Saved,
        grad: TchTensor,
        wanted: [bool; N],
    ) -> [Option<TchTensor>; N] {
        let (_, saved) = self.0.forward(inputs);
        self.0.backward(saved, grad, wanted)
    }
}

#[derive(Debug)]
struct Node<K>(K);

impl<const N: usize, K: Kernel<N>> Backward<LibTorch, N> for Node<K> {
    type State = K::Saved;

    fn backward(
        self,
        ops: Ops<K::Saved, N>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let grad = grads.consume::<LibTorch>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let results = self.0.backward(ops.state, grad, wanted);
        for (parent, result) in ops.parents.into_iter().zip(results) {
            if let (Some(parent), Some(result)) = (parent, result) {
                grads.register::<LibTorch>(parent.id, result);
            }
        }
    }
}

/// Returns the tch tensor behind a burn tensor, sharing its storage; the graph is dropped. burn does not know of it: what is
/// kept for the backward pass is [`held`].
pub fn raw<const D: usize>(tensor: &Tensor<D>) -> tch::Tensor {
    held(tensor).tensor
}

/// The tensor behind a burn tensor, which burn counts as one more owner of the storage; the graph is dropped.
pub fn held<const D: usize>(tensor: &Tensor<D>) -> TchTensor {
    tensor
        .clone()
        .inner()
        .try_into_primitive::<LibTorch>()
        .expect("the device was checked to be LibTorch")
}

/// The same of integers.
pub fn held_int<const D: usize>(tensor: &Tensor<D, Int>) -> TchTensor {
    tensor
        .clone()
        .inner()
        .try_into_primitive::<LibTorch>()
        .expect("the device was checked to be LibTorch")
}
