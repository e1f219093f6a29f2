//! Sweeps on several devices and nodes: `totune sweep submit`, `status` and `cancel`, and `sweep run --devices`.

mod devices;
mod jobs;
mod status;
mod submit;

use std::path::PathBuf;

use crate::context::Context;

pub use devices::Devices;
pub use status::{CancelArgs, StatusArgs};
pub use submit::SubmitArgs;

/// The folder of submissions: scripts, logs and records.
fn submissions(context: &Context) -> PathBuf {
    context.project.root.join("runs/slurm")
}
