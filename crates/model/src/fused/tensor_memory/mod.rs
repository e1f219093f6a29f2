//! The bytes of all tensors that are alive at once while something runs: weights, gradients, moments and activations.
//!
//! Unlike the resident memory of a process, they do not depend on what ran before, nor on how the system hands out pages.
//! Scratch memory inside oneDNN's products is not seen.

use burn::tensor::Device;

/// A count of bytes that goes on until it is ended.
#[derive(Debug)]
pub struct TensorMemory {
    #[cfg(feature = "tch")]
    gpu: std::os::raw::c_int,
}

impl TensorMemory {
    /// Starts to count on a device: on the CPU the tensors that any thread makes from now on, on a GPU with those that it
    /// holds. `None` on a device that is not LibTorch's. A count that began before and was not ended ends here.
    ///
    /// # Panics
    /// Where LibTorch has no such device.
    pub fn begin(device: &Device) -> Option<Self> {
        #[cfg(feature = "tch")]
        {
            let gpu = kernel::gpu(device)?;
            kernel::begin(gpu);
            Some(Self { gpu })
        }
        #[cfg(not(feature = "tch"))]
        {
            let _ = device;
            None
        }
    }

    /// Ends, and returns the most bytes that were alive at once.
    pub fn end(self) -> u64 {
        #[cfg(feature = "tch")]
        return kernel::end(self.gpu);
        #[cfg(not(feature = "tch"))]
        0
    }
}

#[cfg(feature = "tch")]
mod kernel {
    use std::os::raw::{c_char, c_int};

    use burn::backend::DispatchDevice;
    use burn::backend::libtorch::LibTorchDevice;
    use burn::tensor::{Device, Tensor};

    use crate::fused::shim::check;

    unsafe extern "C" {
        fn totune_count_memory(gpu: c_int) -> *mut c_char;
        fn totune_counted_memory(gpu: c_int, bytes: *mut u64) -> *mut c_char;
    }

    /// Number of the GPU, below 0 for the CPU; `None` for a device that is not LibTorch's, or has no such count.
    pub fn gpu(device: &Device) -> Option<c_int> {
        match device.clone().inner().as_dispatch() {
            DispatchDevice::LibTorch(LibTorchDevice::Cpu) => Some(-1),
            DispatchDevice::LibTorch(LibTorchDevice::Cuda(number)) => {
                // Until a GPU has a tensor it has no statistics.
                let _ = Tensor::<1>::zeros([1], device);
                c_int::try_from(*number).ok()
            }
            _ => None,
        }
    }

    pub fn begin(gpu: c_int) {
        // SAFETY: it takes no pointer.
        check(unsafe { totune_count_memory(gpu) });
    }

    pub fn end(gpu: c_int) -> u64 {
        let mut bytes = 0;
        // SAFETY: `bytes` outlives the call.
        check(unsafe { totune_counted_memory(gpu, &mut bytes) });
        bytes
    }
}

#[cfg(all(test, feature = "tch"))]
mod tests {
    use super::*;

    use burn::tensor::Tensor;

    // The only test of this process that counts; other tests make tensors meanwhile, so that it expects no exact number.
    #[test]
    fn the_most_bytes_alive_at_once_are_counted_and_those_freed_are_not() {
        const N: usize = 4 << 20; // 16 MiB of f32
        let device = Device::libtorch();
        let before = Tensor::<1>::zeros([N], &device);
        let memory = TensorMemory::begin(&device).expect("LibTorch's device");
        drop(before); // made before, so its end takes nothing away
        for _ in 0..8 {
            let x = Tensor::<1>::ones([N], &device);
            let y = x.clone() + x; // two at once
            drop(y);
        }
        let bytes = memory.end();
        let expected = 2 * 4 * N as u64;
        assert!((expected..2 * expected).contains(&bytes), "{bytes}");
    }

    #[test]
    fn other_devices_have_no_count() {
        assert!(TensorMemory::begin(&Device::flex()).is_none());
    }
}
