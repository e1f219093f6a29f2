//! Hot loops of a fit, compiled here for each dtype.
//!
//! A generic function is compiled where it is called, at the optimisation of that crate, which is low for most. A
//! method of a known type is compiled in this crate, at full optimisation.

use super::wide::{LANES, Unit};
use super::{blocks, columns, dense, gram};
use crate::matrix::{Dense, Kernels};

macro_rules! kernels {
    ($number:ty, $load:ident) => {
        impl Kernels for $number {
            #[inline(always)]
            fn load<U: Unit>(unit: U, values: &[Self; LANES]) -> U::Vector {
                unit.$load(values)
            }

            fn means(x: &Dense<Self>) -> Vec<f64> {
                columns::means(x)
            }

            fn variances(x: &Dense<Self>, means: &[f64]) -> Vec<f64> {
                columns::variances(x, means)
            }

            fn loss(
                x: &Dense<Self>,
                y: &[usize],
                outputs: usize,
                point: &[f64],
                gradient: &mut [f64],
            ) -> f64 {
                dense::loss(x, y, outputs, point, gradient)
            }

            fn products(x: &Dense<Self>, weights: &[f64], offset: f64) -> Vec<f64> {
                blocks::products(x, weights, offset)
            }

            fn add_rows(x: &Dense<Self>, factors: &[f64], sum: &mut [f64]) {
                blocks::add_rows(x, factors, sum);
            }

            fn gram(x: &Dense<Self>, means: &[f64]) -> Vec<f64> {
                gram::gram(x, means)
            }

            fn rough_gram(x: &Dense<Self>) -> Vec<f32> {
                gram::gram(x, &vec![0.0; x.n_columns()])
            }
        }
    };
}

kernels!(f32, load_single);
kernels!(f64, load);
