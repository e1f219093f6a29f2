//! Types of stored numbers, and their conversion to f32.

use std::fmt;

use anyhow::{Result, bail, ensure};
use half::{bf16, f16};
use serde::Serialize;

/// The type of a stored element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Dtype {
    /// 64-bit float.
    F64,
    /// 32-bit float.
    F32,
    /// 16-bit float of IEEE 754.
    F16,
    /// The upper half of a 32-bit float.
    BF16,
    /// Signed, 64 bits.
    I64,
    /// Signed, 32 bits.
    I32,
    /// Signed, 16 bits.
    I16,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// One byte, 0 or 1.
    Bool,
    /// Anything else (text, complex or quantised numbers): listed, but never read.
    Other,
}

impl Dtype {
    /// Bytes of one element; none where that is not known.
    pub fn size(self) -> Option<usize> {
        match self {
            Self::F64 | Self::I64 => Some(8),
            Self::F32 | Self::I32 => Some(4),
            Self::F16 | Self::BF16 | Self::I16 => Some(2),
            Self::I8 | Self::U8 | Self::Bool => Some(1),
            Self::Other => None,
        }
    }

    /// Returns whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::BF16)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Other => f.pad("other"),
            named => f.pad(&format!("{named:?}")),
        }
    }
}

/// Little-endian elements as f32.
///
/// # Errors
/// When they are no floats, or a finite f64 has no finite f32.
pub(crate) fn to_f32(dtype: Dtype, data: &[u8]) -> Result<Vec<f32>> {
    let pairs = || data.chunks_exact(2).map(|b| [b[0], b[1]]);
    Ok(match dtype {
        Dtype::F32 => data
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect(),
        Dtype::F16 => pairs().map(|b| f16::from_le_bytes(b).to_f32()).collect(),
        Dtype::BF16 => pairs().map(|b| bf16::from_le_bytes(b).to_f32()).collect(),
        Dtype::F64 => data
            .chunks_exact(8)
            .map(|b| {
                let wide = f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
                let value = wide as f32;
                ensure!(
                    value.is_finite() || !wide.is_finite(),
                    "holds {wide:e}, more than an f32 can"
                );
                Ok(value)
            })
            .collect::<Result<_>>()?,
        other => bail!("has type {other}, expected F32, F16, BF16 or F64"),
    })
}

/// f32 as little-endian elements of `dtype`, rounded to the nearest.
///
/// # Errors
/// When a finite number becomes infinite, or `dtype` is no float.
pub(crate) fn from_f32(dtype: Dtype, values: &[f32]) -> Result<Vec<u8>> {
    let finite = |value: f32, kept: bool| {
        ensure!(
            kept || !value.is_finite(),
            "holds {value:e}, more than {dtype} can"
        );
        Ok(())
    };
    let mut bytes = Vec::with_capacity(values.len() * dtype.size().unwrap_or(0));
    for &value in values {
        match dtype {
            Dtype::F32 => bytes.extend(value.to_le_bytes()),
            Dtype::F16 => {
                let half = f16::from_f32(value);
                finite(value, half.is_finite())?;
                bytes.extend(half.to_le_bytes());
            }
            Dtype::BF16 => {
                let half = bf16::from_f32(value);
                finite(value, half.is_finite())?;
                bytes.extend(half.to_le_bytes());
            }
            other => bail!("weights are written as F32, F16 or BF16, not {other}"),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_too_large_for_its_new_type_is_an_error() {
        assert!(from_f32(Dtype::F16, &[65_504.0]).is_ok());
        let error = from_f32(Dtype::F16, &[1.0, 65_536.0]).expect_err("no such f16");
        assert!(error.to_string().contains("6.5536e4, more than F16"));
        assert!(from_f32(Dtype::BF16, &[f32::MAX]).is_err());
        assert!(from_f32(Dtype::BF16, &[f32::INFINITY]).is_ok());
        assert!(to_f32(Dtype::F64, &1e300f64.to_le_bytes()).is_err());
    }

    #[test]
    fn f32_survives_any_wider_type() {
        for value in [0.0, -0.0, 1.5, -3.25e-3f32] {
            let wide = f64::from(value).to_le_bytes();
            let narrow = to_f32(Dtype::F64, &wide).expect("a float");
            assert_eq!(narrow[0].to_bits(), value.to_bits());
        }
    }
}
