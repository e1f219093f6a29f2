//! The only place that chooses a device. A request that cannot be met is an error, never a silent fallback.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use burn::tensor::Device;
use totune_model::fused::cuda_devices;

/// Values of `--device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceRequest {
    /// CUDA where there is one, else LibTorch on the CPU where it is built in, else flex.
    Auto,
    /// LibTorch on the CPU.
    Cpu,
    /// LibTorch on one CUDA device.
    Cuda(usize),
    /// Burn's own CPU backend, always built in.
    Flex,
}

/// A device and its name in rows.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// Device of the tensors, without autodiff.
    pub device: Device,
    /// Its name in result rows.
    pub name: String,
}

impl FromStr for DeviceRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "flex" => Ok(Self::Flex),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                let index = text
                    .strip_prefix("cuda:")
                    .and_then(|index| index.parse().ok());
                index
                    .map(Self::Cuda)
                    .ok_or_else(|| "expected auto, cpu, cuda, cuda:<n> or flex".to_string())
            }
        }
    }
}

impl fmt::Display for DeviceRequest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Auto => write!(f, "auto"),
            Self::Cpu => write!(f, "cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
            Self::Flex => write!(f, "flex"),
        }
    }
}

impl DeviceRequest {
    /// The CPU where no device was requested, LibTorch's where it is built in; otherwise the device itself.
    pub fn on_cpu(self) -> Self {
        match self {
            Self::Auto if libtorch::BUILT_IN => Self::Cpu,
            Self::Auto => Self::Flex,
            asked => asked,
        }
    }

    /// The device, or the reason why it is not available; `threads` is the number of threads on the CPU.
    pub fn choose(self, threads: usize) -> Result<Chosen> {
        match self {
            Self::Flex => Ok(flex()),
            Self::Auto if !cuda_devices().is_empty() => libtorch::cuda(0, threads),
            Self::Auto if libtorch::BUILT_IN => libtorch::cpu(threads),
            Self::Auto => Ok(flex()),
            Self::Cpu => libtorch::cpu(threads),
            Self::Cuda(index) => libtorch::cuda(index, threads),
        }
    }
}

fn flex() -> Chosen {
    Chosen {
        device: Device::flex(),
        name: "flex".to_string(),
    }
}

#[cfg(feature = "tch")]
mod libtorch {
    use super::*;
    use totune_doctor::libtorch_release;

    pub const BUILT_IN: bool = true;
    pub fn cpu(threads: usize) -> Result<Chosen> {
        set_threads(threads);
        Ok(Chosen {
            device: Device::libtorch(),
            name: format!("cpu (LibTorch {})", libtorch_release()),
        })
    }

    pub fn cuda(index: usize, threads: usize) -> Result<Chosen> {
        let found = cuda_devices();
        if found.is_empty() {
            bail!(
                "--device cuda:{index}: LibTorch finds no CUDA device; `totune doctor` says what is missing"
            );
        }
        let Some(device) = found.get(index) else {
            bail!(
                "--device cuda:{index}: there are {} CUDA devices, counted from 0",
                found.len()
            );
        };
        set_threads(threads);
        let name = match gpu_name(index) {
            Some(model) => format!("cuda:{index} ({model}, LibTorch {})", libtorch_release()),
            None => format!("cuda:{index} (LibTorch {})", libtorch_release()),
        };
        Ok(Chosen {
            device: device.clone(),
            name,
        })
    }

    fn set_threads(threads: usize) {
        tch::set_num_threads(i32::try_from(threads).unwrap_or(i32::MAX));
    }

    /// Name of a GPU from the driver; LibTorch's own interface does not provide it.
    fn gpu_name(index: usize) -> Option<String> {
        let mut command = std::process::Command::new("nvidia-smi");
        command.args([
            "--query-gpu=name",
            "--format=csv,noheader",
            "-i",
            &index.to_string(),
        ]);
        let output = command.output().ok()?;
        let name = String::from_utf8_lossy(&output.stdout).trim().to_string();
        (output.status.success() && !name.is_empty()).then_some(name)
    }
}

#[cfg(not(feature = "tch"))]
mod libtorch {
    use super::*;

    pub const BUILT_IN: bool = false;

    pub fn cpu(_threads: usize) -> Result<Chosen> {
        bail!(
            "--device cpu needs LibTorch, which this binary was built without; use --device flex, or build with ./justw"
        )
    }

    pub fn cuda(index: usize, _threads: usize) -> Result<Chosen> {
        bail!(
            "--device cuda:{index} needs LibTorch, which this binary was built without; build with ./justw"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_are_written() {
        for (text, request) in [
            ("auto", DeviceRequest::Auto),
            ("cpu", DeviceRequest::Cpu),
            ("cuda:3", DeviceRequest::Cuda(3)),
            ("flex", DeviceRequest::Flex),
        ] {
            assert_eq!(text.parse(), Ok(request));
            assert_eq!(request.to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(DeviceRequest::Cuda(0)));
        for wrong in ["gpu", "cuda:", "cuda:x", ""] {
            assert!(wrong.parse::<DeviceRequest>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let error = DeviceRequest::Cuda(99)
            .choose(1)
            .expect_err("no hundred devices");
        assert!(error.to_string().starts_with("--device cuda:99"), "{error}");
    }

    #[test]
    fn flex_is_always_there() {
        assert_eq!(
            DeviceRequest::Flex.choose(1).expect("built in").name,
            "flex"
        );
    }
}
