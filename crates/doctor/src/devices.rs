//! The devices, and the number types each computes with.

use std::io;
use std::panic;
use std::path::Path;
use std::process::{Command, Output};

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
    let (devices, gpus) = (cuda_devices(), gpus());
    for (index, device) in devices.iter().enumerate() {
        let name = gpus.as_ref().ok().and_then(|names| names.get(index));
        let name = name.map_or("unnamed", String::as_str);
        findings.push(Finding::well(
            &format!("cuda:{index}"),
            format!("{name}; {}", types(device)),
        ));
    }
    if devices.is_empty() {
        // Not has_cuda, which asks whether CUDA can be used here.
        findings.push(no_cuda(&gpus, tch::utils::has_cudart()));
    }
    findings
}

#[cfg(not(feature = "tch"))]
fn libtorch() -> Vec<Finding> {
    vec![no_cuda(&gpus(), false)]
}

/// The reason why there is no CUDA device; a machine without a GPU lacks nothing.
fn no_cuda(gpus: &Result<Vec<String>, String>, built_for_cuda: bool) -> Finding {
    match (gpus.as_ref().map(|names| names.first()), built_for_cuda) {
        (Ok(None), _) => Finding::well("cuda", "no NVIDIA GPU"),
        (Err(why), _) => Finding::lacking(
            "cuda",
            why.as_str(),
            "see that the NVIDIA driver is loaded and of the same version as nvidia-smi: after an update, restart the machine",
        ),
        (Ok(Some(name)), false) => Finding::lacking(
            "cuda",
            format!("{name}, but this program was built without CUDA"),
            "run ./justw setup: it puts the libtorch for GPUs in place and builds again; a bundle: ./justw bundle cuda",
        ),
        (Ok(Some(name)), true) => Finding::lacking(
            "cuda",
            format!("{name}, but LibTorch cannot use it"),
            "update the NVIDIA driver (CUDA 13 needs 580 or newer), and see that CUDA_VISIBLE_DEVICES does not hide the GPU",
        ),
    }
}

/// The GPUs of this machine as the driver names them, or why it does not.
fn gpus() -> Result<Vec<String>, String> {
    let mut command = Command::new("nvidia-smi");
    command.args(["--query-gpu=name", "--format=csv,noheader"]);
    let mut nodes = (0..16).map(|index| format!("/dev/nvidia{index}"));
    let node = nodes.find(|node| Path::new(node).exists());
    named(command.output(), node.as_deref())
}

/// The names in the output of nvidia-smi on a machine that has this device `node`, if any.
fn named(output: io::Result<Output>, node: Option<&str>) -> Result<Vec<String>, String> {
    let lines = |bytes: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty());
        lines.map(str::to_string).collect()
    };
    match (output, node) {
        (Ok(output), _) if !output.status.success() => {
            let said = [lines(&output.stdout), lines(&output.stderr)].concat();
            let said = said.first().map_or("no message", String::as_str);
            Err(format!("nvidia-smi fails: {said}"))
        }
        (Ok(output), node) => match (lines(&output.stdout), node) {
            (names, Some(node)) if names.is_empty() => {
                Err(format!("there is {node}, but nvidia-smi lists no GPU"))
            }
            (names, _) => Ok(names),
        },
        (Err(error), Some(node)) => Err(format!(
            "there is {node}, but nvidia-smi does not run: {error}"
        )),
        (Err(_), None) => Ok(Vec::new()),
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
        let gpu = Ok(vec!["H200".to_string()]);
        assert_eq!(no_cuda(&Ok(Vec::new()), false).state, State::Well);
        let broken = no_cuda(&Err("nvidia-smi fails: why".to_string()), false);
        assert_eq!(broken.state, State::Lacking);
        assert_eq!(broken.found, "nvidia-smi fails: why");
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

    #[cfg(unix)]
    #[test]
    fn a_driver_that_fails_is_not_a_machine_without_a_gpu() {
        let named = |script: &str, node: Option<&str>| {
            let mut command = Command::new("sh");
            named(command.args(["-c", script]).output(), node)
        };
        let mismatch = "Failed to initialize NVML: Driver/library version mismatch";
        let failing = format!("echo; echo '{mismatch}'; echo more; exit 18");
        let fails = Err(format!("nvidia-smi fails: {mismatch}"));
        assert_eq!(named(&failing, None), fails);
        assert_eq!(named(&format!("({failing}) >&2; exit 18"), None), fails);
        assert_eq!(
            named("echo H200; echo H100", None),
            Ok(vec!["H200".into(), "H100".into()])
        );
        assert_eq!(named("true", None), Ok(Vec::new()));
        let silent = named("true", Some("/dev/nvidia0"));
        assert!(silent.is_err_and(|why| why.contains("/dev/nvidia0")));
        let none = || Command::new("no-such-program-here").output();
        assert_eq!(super::named(none(), None), Ok(Vec::new()));
        assert!(super::named(none(), Some("/dev/nvidia3")).is_err());
    }
}
