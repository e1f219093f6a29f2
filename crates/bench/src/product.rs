//! The product of two square matrices: how fast the machine multiplies, next to which arithmetic is timed.

use anyhow::Result;
use burn::tensor::{Distribution, FloatDType, Tensor};
use serde::{Deserialize, Serialize};
use totune_adapt::Dtype;

use crate::comparison::SideSpec;
use crate::worker::{Worker, answer};

/// Rows and columns: more than any matrix of the encoders that are timed, so that none of them can be faster for its size.
const WIDTH: usize = 2048;

/// A product to time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Product {
    dtype: Dtype,
}

impl Product {
    /// Multiplications and additions of a product.
    pub const FLOP: f64 = 2.0 * (WIDTH * WIDTH * WIDTH) as f64;

    /// The side that takes such products.
    ///
    /// # Errors
    /// When the case has no form as JSON.
    pub fn side(dtype: Dtype) -> Result<SideSpec> {
        SideSpec::ours("plain product", "product", &Self { dtype })
    }
}

/// Multiplies on request, by LibTorch's own product.
pub fn work(product: &Product, worker: &Worker) -> Result<()> {
    let device = &worker.machine.device;
    let square = |_| {
        let values = Tensor::<2>::random([WIDTH; 2], Distribution::Uniform(-1.0, 1.0), device);
        match product.dtype {
            Dtype::F32 => values,
            Dtype::Bf16Mixed => values.cast(FloatDType::BF16),
        }
    };
    let [a, b] = [0, 1].map(square);
    answer(&worker.machine.device_name, || {
        let c = a.clone().matmul(b.clone());
        // Waits for a device that works on its own, as a step does by its loss.
        let _: f32 = c.slice([0..1, 0..1]).cast(FloatDType::F32).into_scalar();
        Ok(Vec::new())
    })
}
