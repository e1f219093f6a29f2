//! The machine that executes runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use burn::tensor::Device;

/// The machine that executes runs, as `cli` chose it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Device of the tensors; without autodiff, which training adds.
    pub device: Device,
    /// Name of the device in result rows, such as `cpu (LibTorch 2.11.0)`.
    pub device_name: String,
    /// Threads that computations may use.
    pub threads: usize,
    /// Bytes that cached activations of frozen layers may take, mapped and on disk.
    pub cache_budget: u64,
    /// Time between two checkpoints of a run; `None` where none are written, also not when it is stopped.
    pub checkpoint_every: Option<Duration>,
    /// Set from outside to stop at the next step; a run in progress counts as interrupted.
    pub stop: Arc<AtomicBool>,
}
