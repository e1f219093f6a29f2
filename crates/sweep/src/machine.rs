//! What runs are executed on.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;

/// What runs are executed on, as `cli` chose it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Where tensors live; without autodiff, which training adds.
    pub device: Device,
    /// How the device is called in result rows, such as `cpu (LibTorch 2.11.0)`.
    pub device_name: String,
    /// Threads the arithmetic may use.
    pub threads: usize,
    /// Bytes that cached activations of frozen layers may take, mapped and on disk.
    pub cache_budget: u64,
    /// Set from outside to stop at the next step; a run that was begun counts as interrupted.
    pub stop: Arc<AtomicBool>,
}
