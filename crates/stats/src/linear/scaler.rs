//! Standardised features.

use crate::matrix::Matrix;

/// Brings columns to mean 0 and variance 1 on the rows it was fitted to, as scikit-learn's `StandardScaler`; columns
/// without spread are only centred.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaler {
    means: Vec<f64>,
    deviations: Vec<f64>,
}

impl Scaler {
    /// The means and standard deviations of the columns of `x`.
    pub fn fit(x: &Matrix<f32>) -> Self {
        let means = x.view().means();
        let mut deviations = x.view().deviations(&means);
        for deviation in deviations.iter_mut().filter(|deviation| **deviation == 0.0) {
            *deviation = 1.0;
        }
        Self { means, deviations }
    }

    /// The scaled columns, of a matrix with as many as the one it was fitted to.
    pub fn apply(&self, x: &Matrix<f32>) -> Matrix<f32> {
        let view = x.view();
        let values = view.rows().flat_map(|row| {
            let scales = self.means.iter().zip(&self.deviations);
            let scaled = row.iter().zip(scales);
            scaled.map(|(x, (mean, deviation))| ((f64::from(*x) - mean) / deviation) as f32)
        });
        Matrix::new(values.collect(), view.n_columns())
    }

    /// Weights and bias that give on columns as they were what `weights` and `bias` give on scaled ones.
    pub fn fold_into(&self, weights: &[f64], bias: f64) -> (Vec<f64>, f64) {
        let scaled = weights.iter().zip(&self.deviations);
        let weights: Vec<f64> = scaled.map(|(w, deviation)| w / deviation).collect();
        let shift: f64 = weights
            .iter()
            .zip(&self.means)
            .map(|(w, mean)| w * mean)
            .sum();
        (weights, bias - shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_standardised_and_those_without_spread_centred() {
        let x = Matrix::new(vec![1.0, 7.0, 3.0, 7.0], 2);
        let scaled = Scaler::fit(&x).apply(&x);
        assert_eq!(scaled, Matrix::new(vec![-1.0, 0.0, 1.0, 0.0], 2));
    }

    #[test]
    fn folded_weights_give_the_same_on_columns_as_they_were() {
        let x = Matrix::new(vec![1.0, 7.0, 3.0, 7.0, 8.0, 7.0], 2);
        let scaler = Scaler::fit(&x);
        let (weights, bias) = ([0.5, -2.0], 0.25);
        let (folded, folded_bias) = scaler.fold_into(&weights, bias);
        let product = |row: &[f32], weights: &[f64]| -> f64 {
            let both = row.iter().zip(weights);
            both.map(|(x, w)| f64::from(*x) * w).sum()
        };
        let scaled = scaler.apply(&x);
        for (row, scaled) in x.view().rows().zip(scaled.view().rows()) {
            let found = product(row, &folded) + folded_bias;
            let expected = product(scaled, &weights) + bias;
            assert!((found - expected).abs() < 1e-6, "{found}, {expected}");
        }
    }
}
