//! The devices, and the number types each computes with.

use std::panic;

use burn::tensor::{DType, Device, FloatDType, Tensor};

#[cfg(feature = "tch")]
use totune_model::fused::cuda_devices;

use crate::Finding;

/// One finding per device, and one for the GPU that cannot be used.
pub(super) fn findings() -> Vec<Finding> {
    let mut findings = vec![Finding::well("flex", types(&Device::flex()))];
    findings.extend(libtorch());
    findings
}

#[cfg(feature = "tch")]
fn libtorch() -> Vec<Finding> {
    let mut findings = vec![Finding::well("cpu", types(&Device::libtorch()))];
    let (devices, names) = (cuda_devices(), gpus());
    for (index, device) in devices.iter().enumerate() {
        let name = names.get(index).map_or("unnamed", String::as_str);
        findings.push(Finding::well(
            &format!("cuda:{index}"),
            format!("{name}; {}", types(device)),
        ));
    }
    if devices.is_empty() {
        findings.push(no_cuda(&names, tch::utils::has_cuda()));
    }
    findings
}

#[cfg(not(feature = "tch"))]
fn libtorch() -> Vec<Finding> {
    vec![no_cuda(&gpus(), false)]
}

/// The reason why there is no CUDA device; a machine without a GPU lacks nothing.
fn no_cuda(names: &[String], built_for_cuda: bool) -> Finding {
    match (names.first(), built_for_cuda) {
        (None, _) => Finding::well("cuda", "no NVIDIA GPU"),
        (Some(name), false) => Finding::lacking(
            "cuda",
            format!("{name}, but this program was built without CUDA"),
            "run ./justw setup: it puts the libtorch for GPUs in place and builds again; a bundle: ./justw bundle cuda",
        ),
        (Some(name), true) => Finding::lacking(
            "cuda",
            format!("{name}, but LibTorch cannot use it"),
            "update the NVIDIA driver (CUDA 13 needs 580 or newer), and see that CUDA_VISIBLE_DEVICES does not hide the GPU",
        ),
    }
}

/// The GPUs of this machine as the driver names them.
fn gpus() -> Vec<String> {
    let mut command = std::process::Command::new("nvidia-smi");
    let output = command
        .args(["--query-gpu=name", "--format=csv,noheader"])
        .output();
    match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(|line| line.trim().to_string())
            .collect(),
        _ => Vec::new(),
    }
}

/// The floating-point types in which a device multiplies two matrices correctly.
fn types(device: &Device) -> String {
    let candidates = [
        ("f64", FloatDType::F64),
        ("f32", FloatDType::F32),
        ("bf16", FloatDType::BF16),
        ("f16", FloatDType::F16),
    ];
    // A type that is not supported may panic; the message would only disturb the table.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let able: Vec<&str> = candidates
        .iter()
        .filter(|(_, dtype)| multiplies(device, *dtype))
        .map(|(name, _)| *name)
        .collect();
    panic::set_hook(hook);
    able.join(" ")
}

fn multiplies(device: &Device, dtype: FloatDType) -> bool {
    let device = device.clone();
    let product = panic::catch_unwind(panic::AssertUnwindSafe(move || {
        let threes = Tensor::<2>::full([4, 4], 3.0, &device).cast(dtype);
        let product = threes.clone().matmul(threes);
        (
            product.dtype(),
            product
                .cast(FloatDType::F32)
                .into_data()
                .try_to_vec::<f32>(),
        )
    }));
    // 3 * 3 * 4 = 36 is exact in every type.
    matches!(product, Ok((found, Ok(values))) if found == DType::from(dtype) && values == [36.0; 16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    #[test]
    fn every_device_computes_in_single_precision() {
        for finding in findings().iter().filter(|finding| finding.part != "cuda") {
            assert!(
                finding.found.contains("f32"),
                "{}: {}",
                finding.part,
                finding.found
            );
        }
    }

    #[test]
    fn a_gpu_that_cannot_be_used_has_a_remedy_and_no_gpu_needs_none() {
        let gpu = ["H200".to_string()];
        assert_eq!(no_cuda(&[], false).state, State::Well);
        assert!(
            no_cuda(&gpu, false)
                .remedy
                .is_some_and(|remedy| remedy.contains("./justw setup"))
        );
        assert!(
            no_cuda(&gpu, true)
                .remedy
                .is_some_and(|remedy| remedy.contains("driver"))
        );
    }
}
