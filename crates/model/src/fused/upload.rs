//! Numbers of a batch on their way from the host to a device.

#[cfg(feature = "tch")]
use burn::backend::LibTorch;
use burn::tensor::{Device, Int, Tensor, TensorData};

/// Puts numbers on `device`.
///
/// For a GPU they pass through page-locked memory: the copy is queued behind the kernels that run already, and the host
/// goes on with the next batch. From other memory the host would wait for the copy.
pub fn upload<const D: usize>(data: TensorData, device: &Device) -> Tensor<D> {
    #[cfg(feature = "tch")]
    if let Some(gpu) = super::libtorch::gpu(device) {
        let host = super::libtorch::raw(&Tensor::<D>::from_data(data, &Device::libtorch()));
        let queued = Tensor::from_primitive::<LibTorch>(kernel::queued(&host, gpu));
        return if device.is_autodiff() {
            queued.autodiff()
        } else {
            queued
        };
    }
    Tensor::from_data(data, device)
}

/// Puts integers on `device`, as [`upload`] does numbers.
pub fn upload_ids<const D: usize>(data: TensorData, device: &Device) -> Tensor<D, Int> {
    #[cfg(feature = "tch")]
    if let Some(gpu) = super::libtorch::gpu(device) {
        let host = Tensor::<D, Int>::from_data(data, &Device::libtorch());
        let host = super::libtorch::held_int(&host).tensor;
        let queued = Tensor::from_primitive::<LibTorch>(kernel::queued(&host, gpu));
        return if device.is_autodiff() {
            queued.autodiff()
        } else {
            queued
        };
    }
    Tensor::from_data(data, device)
}

#[cfg(feature = "tch")]
mod kernel {
    use burn::backend::libtorch::TchTensor;

    /// A copy of `host` on `device`, queued where the memory can be locked. LibTorch keeps the locked memory until the
    /// copy has been made, and uses it again.
    pub fn queued(host: &tch::Tensor, device: tch::Device) -> TchTensor {
        let locked = host.f_pin_memory(device);
        let copied =
            locked.and_then(|locked| locked.f_to_device_(device, host.kind(), true, false));
        // Where no more memory can be locked, the copy is waited for.
        TchTensor::new(copied.unwrap_or_else(|_| host.to_device(device)))
    }
}

#[cfg(all(test, feature = "tch"))]
mod tests {
    use super::*;

    /// Without a GPU no memory can be locked, so this is the other way; with one it is both.
    #[test]
    fn every_way_gives_the_same_numbers() {
        let values: Vec<f32> = (0..24).map(|i| i as f32 / 7.0).collect();
        let ids: Vec<i64> = (0..24).map(|i| i * i).collect();
        let host = tch::Tensor::from_slice(&ids);
        assert_eq!(kernel::queued(&host, tch::Device::Cpu).tensor, host);
        for device in [vec![Device::libtorch()], crate::fused::cuda_devices()].concat() {
            for device in [device.clone(), device.autodiff()] {
                let shape = [4, 6];
                let numbers = upload::<2>(TensorData::new(values.clone(), shape), &device);
                assert_eq!(numbers.dims(), shape);
                assert_eq!(numbers.device(), device);
                assert_eq!(
                    numbers.into_data().try_to_vec::<f32>().expect("f32"),
                    values
                );
                let integers = upload_ids::<2>(TensorData::new(ids.clone(), shape), &device);
                assert_eq!(integers.device(), device);
                assert_eq!(integers.into_data().try_to_vec::<i64>().expect("i64"), ids);
            }
        }
    }
}
