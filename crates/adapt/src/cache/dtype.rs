//! Dtypes that activations are stored in, and how numbers are written and read in them.

use bytemuck::{cast_slice, cast_slice_mut};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

// Files have the order of bytes that numbers have in memory.
const _: () = assert!(cfg!(target_endian = "little"));

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
            Self::F32 => to.copy_from_slice(cast_slice(values)),
            Self::F16 => {
                let mut halves = vec![f16::ZERO; values.len()];
                halves.convert_from_f32_slice(values);
                to.copy_from_slice(cast_slice(&halves));
            }
            Self::Bf16 => {
                let mut halves = vec![bf16::ZERO; values.len()];
                halves.convert_from_f32_slice(values);
                to.copy_from_slice(cast_slice(&halves));
            }
        }
    }

    /// Reads what [`StoredDtype::write`] wrote into `to`, which is as long.
    pub(super) fn read(self, bytes: &[u8], to: &mut [f32]) {
        // Copied as bytes first: in a mapped file they may lie at any address.
        match self {
            Self::F32 => cast_slice_mut(to).copy_from_slice(bytes),
            Self::F16 => {
                let mut halves = vec![f16::ZERO; to.len()];
                cast_slice_mut(&mut halves).copy_from_slice(bytes);
                halves.convert_to_f32_slice(to);
            }
            Self::Bf16 => {
                let mut halves = vec![bf16::ZERO; to.len()];
                cast_slice_mut(&mut halves).copy_from_slice(bytes);
                halves.convert_to_f32_slice(to);
            }
        }
    }
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
