//! Floats that a file keeps bit for bit.

use serde::{Deserialize, Serialize};

/// A float that is written as its bits: decimal digits in JSON may come back as a neighbour, and have no infinity.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub(crate) struct Exact(pub f64);

impl From<u64> for Exact {
    fn from(bits: u64) -> Self {
        Self(f64::from_bits(bits))
    }
}

impl From<Exact> for u64 {
    fn from(Exact(value): Exact) -> Self {
        value.to_bits()
    }
}

/// Equality of bits, so that a state with a number that is none equals its copy.
impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}
