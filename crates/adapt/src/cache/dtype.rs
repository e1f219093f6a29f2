//! Dtypes that activations are stored in, and how numbers are written and read in them.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

/// Dtype that activations are stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredDtype {
    /// 32-bit floats, without rounding.
    F32,
    /// 11 significant bits, up to 65,504.
    F16,
    /// 8 significant bits, the range of f32.
    Bf16,
}

impl StoredDtype {
    /// Bytes per number.
    pub fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Writes `values` in this dtype into `to`, which is as long as they are.
    pub(super) fn write(self, values: &[f32], to: &mut [u8]) {
        match self {
            Self::F32 => {
                for (value, to) in values.iter().zip(to.chunks_exact_mut(4)) {
                    to.copy_from_slice(&value.to_le_bytes());
                }
            }
            Self::F16 => {
                let mut halves = vec![f16::ZERO; values.len()];
                halves.convert_from_f32_slice(values);
                for (half, to) in halves.iter().zip(to.chunks_exact_mut(2)) {
                    to.copy_from_slice(&half.to_le_bytes());
                }
            }
            Self::Bf16 => {
                let mut halves = vec![bf16::ZERO; values.len()];
                halves.convert_from_f32_slice(values);
                for (half, to) in halves.iter().zip(to.chunks_exact_mut(2)) {
                    to.copy_from_slice(&half.to_le_bytes());
                }
            }
        }
    }

    /// Reads what [`StoredDtype::write`] wrote into `to`, whose length determines the number of values.
    pub(super) fn read(self, bytes: &[u8], to: &mut [f32]) {
        match self {
            Self::F32 => {
                for (value, bytes) in to.iter_mut().zip(bytes.chunks_exact(4)) {
                    *value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                }
            }
            Self::F16 => {
                let halves: Vec<f16> = pairs(bytes).map(f16::from_le_bytes).collect();
                halves.convert_to_f32_slice(to);
            }
            Self::Bf16 => {
                let halves: Vec<bf16> = pairs(bytes).map(bf16::from_le_bytes).collect();
                halves.convert_to_f32_slice(to);
            }
        }
    }
}

fn pairs(bytes: &[u8]) -> impl Iterator<Item = [u8; 2]> + '_ {
    bytes.chunks_exact(2).map(|b| [b[0], b[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_as_their_type_has_them() {
        let values = [0.0, 1.0, -2.5, 1e-3, 3.0e4];
        for (dtype, relative) in [
            (StoredDtype::F32, 0.0),
            (StoredDtype::F16, 0.5f32.powi(11)),
            (StoredDtype::Bf16, 0.5f32.powi(8)),
        ] {
            let mut bytes = vec![0; values.len() * dtype.size()];
            dtype.write(&values, &mut bytes);
            let mut read = [0.0; 5];
            dtype.read(&bytes, &mut read);
            for (a, b) in values.iter().zip(read) {
                assert!(
                    (a - b).abs() <= relative * a.abs(),
                    "{dtype:?}: {a} became {b}"
                );
            }
        }
    }
}
