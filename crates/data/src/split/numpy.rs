//! Sums of NumPy's that scikit-learn's folds depend on, bit for bit.

/// `numpy.std` of a contiguous row.
pub(super) fn std(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = pairwise_sum(values) / n;
    let squares: Vec<f64> = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .collect();
    (pairwise_sum(&squares) / n).sqrt()
}

/// The sum in the order NumPy adds a contiguous row: one by one below 8 numbers, in eight lanes up to 128, and in
/// halves beyond.
pub(super) fn pairwise_sum(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 8 {
        return values.iter().fold(0.0, |sum, value| sum + value);
    }
    if n > 128 {
        let half = n / 2 - (n / 2) % 8;
        return pairwise_sum(&values[..half]) + pairwise_sum(&values[half..]);
    }
    let mut lanes = [0.0; 8];
    let whole = n - n % 8;
    lanes.copy_from_slice(&values[..8]);
    for chunk in values[8..whole].chunks(8) {
        lanes
            .iter_mut()
            .zip(chunk)
            .for_each(|(lane, value)| *lane += value);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    values[whole..]
        .iter()
        .fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, value| {
            sum + value
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_added_in_numpys_order() {
        // python -c "import numpy as np; print(np.sum(1 / np.arange(1, n + 1)))" for each n
        for (n, expected) in [
            (7, 2.5928571428571425),
            (30, 3.994987130920391),
            (300, 6.282663880299504),
        ] {
            let values: Vec<f64> = (1..=n).map(|value| 1.0 / f64::from(value)).collect();
            assert_eq!(pairwise_sum(&values), expected, "{n}");
        }
    }
}
