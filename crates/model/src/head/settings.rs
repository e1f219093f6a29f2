//! Settings that several networks share.

use anyhow::{Result, ensure};
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::{Pass, fused};

/// `"on"` or `"off"`: a part of a network or a setting that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// Present, or in force.
    On,
    /// Absent, or not in force.
    Off,
}

impl Switch {
    /// Returns true for [`Switch::On`].
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// Refuses sizes of zero, naming the key below `head`.
pub(super) fn check_sizes(sizes: &[(&str, usize)]) -> Result<()> {
    for (key, size) in sizes {
        ensure!(*size > 0, "head.{key}: found 0, expected at least 1");
    }
    Ok(())
}

/// Refuses rates of dropout outside `[0, 1)`, naming the key below `head`.
pub(super) fn check_rates(rates: &[(&str, f64)]) -> Result<()> {
    for (key, rate) in rates {
        ensure!(
            (0.0..1.0).contains(rate),
            "head.{key}: found {rate}, expected from 0 to less than 1"
        );
    }
    Ok(())
}

/// Dropout in training, nothing in evaluation.
pub(super) fn drop<const D: usize>(x: Tensor<D>, rate: f64, pass: &Pass) -> Tensor<D> {
    let rate = if pass.training { rate } else { 0.0 };
    fused::dropout(x, rate, pass.draw())
}

/// Variational dropout of `[batch, seq, width]`: one mask for all tokens of an example (Gal and Ghahramani 2016).
pub(super) fn drop_variational(x: Tensor<3>, rate: f64, pass: &Pass) -> Tensor<3> {
    let seed = pass.draw();
    if !pass.training || rate == 0.0 {
        return x;
    }
    let [batch, _, width] = x.dims();
    let ones = Tensor::ones([batch, 1, width], &x.device());
    x * fused::dropout(ones, rate, seed)
}
