//! How large a difference is, apart from how sure we are of it.

use crate::summary::{mean, variance};

/// Cohen's d: (ā - b̄) over the pooled standard deviation,
/// √(((nₐ - 1) sₐ² + (n_b - 1) s_b²) / (nₐ + n_b - 2)) (Cohen 1988, section 2.5).
///
/// `None` where a sample has fewer than two values or neither varies.
pub fn cohens_d(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (df_a, df_b) = (a.len() as f64 - 1.0, b.len() as f64 - 1.0);
    let pooled = ((df_a * variance(a) + df_b * variance(b)) / (df_a + df_b)).sqrt();
    (pooled > 0.0).then(|| (mean(a) - mean(b)) / pooled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_standard_deviation_apart_is_one() {
        assert_eq!(cohens_d(&[2.0, 3.0, 4.0], &[1.0, 2.0, 3.0]), Some(1.0));
    }

    #[test]
    fn without_spread_there_is_no_effect_size() {
        assert_eq!(cohens_d(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(cohens_d(&[1.0], &[2.0, 3.0]), None);
    }
}
