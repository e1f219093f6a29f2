//! Matrix products of fused operations on the CPU.

use super::Precision;
use super::products::{Bf16Products, F32Products, products};

/// Library and precision of a matrix product; the numbers are those of `products.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matmul {
    /// f32, by LibTorch's choice.
    Default = 0,
    /// f32, by oneDNN.
    OneDnn = 1,
    /// Rounded to bfloat16, by oneDNN.
    Half = 2,
}

impl Matmul {
    /// Returns the fastest for `precision`: f32 operands stay f32 if bfloat16 ones are not multiplied as such.
    pub fn of(precision: Precision) -> Self {
        let products = products();
        match (precision, products.bf16, products.f32) {
            (Precision::Bf16, Bf16Products::Native, _) => Self::Half,
            (_, _, F32Products::OneDnn) => Self::OneDnn,
            (_, _, F32Products::Default) => Self::Default,
        }
    }
}
