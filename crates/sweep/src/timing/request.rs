//! What a timing pass is asked for, and where it takes place.

use super::machine;
use crate::{Environment, Machine, Plan, Store};

/// What is timed, and how.
#[derive(Debug, Clone, Copy)]
pub struct TimingRequest<'a> {
    /// The grid.
    pub plan: &'a Plan,
    /// Below it lie cached activations while the pass goes on: those of earlier runs were timed with company.
    pub store: &'a Store,
    /// Where kinds find what they read, and what they are timed on.
    pub environment: Environment<'a>,
    /// Epochs of each phase that are timed, after one that warms up.
    pub epochs: usize,
    /// What is done where the machine is not quiet.
    pub noise: Noise,
    /// Whether kinds are timed that have been timed before.
    pub again: bool,
}

/// What is done where other processes take part of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Nothing is timed.
    Refused,
    /// It is timed, and its rows say so.
    Marked,
}

/// Where kinds are timed.
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
