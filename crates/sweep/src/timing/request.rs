//! Request of a timing pass, and the place of its measurements.

use super::machine;
use crate::{Environment, Machine, Plan, Selection, Store};

/// Request of a timing pass.
#[derive(Debug, Clone, Copy)]
pub struct TimingRequest<'a> {
    /// The grid.
    pub plan: &'a Plan,
    /// Store, below which cached activations lie during the pass: those of earlier runs may have been timed on a busy
    /// machine.
    pub store: &'a Store,
    /// Locations of the kinds' inputs, and the machine that is timed.
    pub environment: Environment<'a>,
    /// Epochs of each phase that are timed, after one that warms up.
    pub epochs: usize,
    /// Batches of each of these epochs, which are then scaled; `None` for whole ones.
    pub batches: Option<usize>,
    /// Handling of a machine that is not quiet.
    pub noise: Noise,
    /// True to time kinds again that have been timed before.
    pub again: bool,
    /// Only kinds of its experiments and on its datasets.
    pub only: &'a Selection,
}

/// Handling of a machine that other processes use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Refuses to time.
    Refused,
    /// Times, and flags the rows.
    Marked,
}

/// Machine, device and threads of a timing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub device: String,
    pub threads: u32,
    /// Processor and cores.
    pub machine: String,
}

impl Place {
    pub fn of(machine: &Machine) -> Self {
        Self {
            device: machine.device_name.clone(),
            threads: machine.threads as u32,
            machine: machine::name(),
        }
    }
}
