//! The product of two square matrices: how fast the machine multiplies, next to which arithmetic is timed.

use anyhow::Result;
use burn::tensor::{Distribution, FloatDType, Tensor};
use serde::{Deserialize, Serialize};
use totune_adapt::Dtype;
use totune_model::fused::product;

use crate::comparison::SideSpec;
use crate::worker::{Worker, answer};

/// A product to time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Product {
    dtype: Dtype,
    /// Rows and columns.
    width: usize,
}

impl Product {
    /// A product of square matrices with so many rows.
    pub fn new(dtype: Dtype, width: usize) -> Self {
        Self { dtype, width }
    }

    /// The dtype of both matrices.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Multiplications and additions of the product.
    pub fn flop(&self) -> f64 {
        2.0 * (self.width as f64).powi(3)
    }

    /// A smaller one that tells how long this one takes; `None` where it is small itself.
    pub fn sample(&self) -> Option<Self> {
        let width = 256;
        (self.width > width).then_some(Self { width, ..*self })
    }

    /// The side that takes such products.
    ///
    /// # Errors
    /// When the case has no form as JSON.
    pub fn side(&self) -> Result<SideSpec> {
        SideSpec::ours("plain product", "product", self)
    }
}

/// Multiplies on request, by the library inside LibTorch that is faster on this machine.
pub fn work(case: &Product, worker: &Worker) -> Result<()> {
    let device = &worker.machine.device;
    let square = |_| {
        let values = Tensor::<2>::random([case.width; 2], Distribution::Uniform(-1.0, 1.0), device);
        match case.dtype {
            Dtype::F32 => values,
            Dtype::Bf16Mixed => values.cast(FloatDType::BF16),
        }
    };
    let [a, b] = [0, 1].map(square);
    answer(&worker.machine.device_name, || {
        let c = product(a.clone(), b.clone());
        // Waits for a device that works on its own, as a step does by its loss.
        let _: f32 = c.slice([0..1, 0..1]).cast(FloatDType::F32).into_scalar();
        Ok(Vec::new())
    })
}
