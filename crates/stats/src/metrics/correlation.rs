//! Scores of a regression: gold and predicted numbers in, correlations and errors out.
//!
//! A correlation of fewer than two pairs, of a slice that does not vary, or of a number that is not finite is undefined
//! and `None`; scipy gives NaN for the latter two and refuses the first.

use super::counts::assert_same_length;

/// Pearson's correlation, as `scipy.stats.pearsonr`.
///
/// # Panics
/// If the slices differ in length.
pub fn pearson(gold: &[f64], predicted: &[f64]) -> Option<f64> {
    assert_same_length(gold, predicted);
    let (gold, predicted) = (Direction::of(gold)?, Direction::of(predicted)?);
    let sum: f64 = gold.0.iter().zip(&predicted.0).map(|(g, p)| g * p).sum();
    // Rounding may carry it past the ends.
    Some(sum.clamp(-1.0, 1.0))
}

/// Spearman's correlation: Pearson's of the ranks, where equal numbers share the mean of their ranks, as
/// `scipy.stats.spearmanr`.
///
/// # Panics
/// If the slices differ in length.
pub fn spearman(gold: &[f64], predicted: &[f64]) -> Option<f64> {
    assert_same_length(gold, predicted);
    pearson(&average_ranks(gold)?, &average_ranks(predicted)?)
}

/// Spearman's correlation by the formula of textbooks, 1 - 6 Σ d² / (n (n² - 1)), d being differences of ranks.
///
/// It equals [`spearman`] where no number occurs twice, and something else where one does: with equal predictions
/// it would be 1/2, where there is no correlation to speak of. Some papers print this formula, so both are reported.
/// Equal numbers share the mean of their ranks here too. `None` where [`spearman`] is.
///
/// # Panics
/// If the slices differ in length.
pub fn spearman_textbook(gold: &[f64], predicted: &[f64]) -> Option<f64> {
    assert_same_length(gold, predicted);
    spearman(gold, predicted)?;
    let (gold, predicted) = (average_ranks(gold)?, average_ranks(predicted)?);
    let n = gold.len() as f64;
    let squares: f64 = gold
        .iter()
        .zip(&predicted)
        .map(|(g, p)| (g - p).powi(2))
        .sum();
    Some(1.0 - 6.0 * squares / (n * (n * n - 1.0)))
}

/// The mean of [`pearson`] and [`spearman`], which GLUE reports for STS-B.
///
/// # Panics
/// If the slices differ in length.
pub fn pearson_spearman(gold: &[f64], predicted: &[f64]) -> Option<f64> {
    Some((pearson(gold, predicted)? + spearman(gold, predicted)?) / 2.0)
}

/// The mean squared difference; `None` for no pairs or a number that is not finite.
///
/// # Panics
/// If the slices differ in length.
pub fn mean_squared_error(gold: &[f64], predicted: &[f64]) -> Option<f64> {
    assert_same_length(gold, predicted);
    let pairs = gold.iter().zip(predicted);
    let sum: f64 = pairs.map(|(g, p)| (g - p).powi(2)).sum();
    let mean = sum / gold.len() as f64;
    mean.is_finite().then_some(mean)
}

/// A sample minus its mean, scaled to length 1.
struct Direction(Vec<f64>);

impl Direction {
    fn of(values: &[f64]) -> Option<Self> {
        let (first, rest) = values.split_first()?;
        // Compared with each other and not with their mean, which may be rounded.
        if rest.iter().all(|value| value == first) || !values.iter().all(|v| v.is_finite()) {
            return None;
        }
        // Shares of the mean and not of the sum, and lengths in units of the largest, so that neither leaves the range
        // of numbers.
        let n = values.len() as f64;
        let mean: f64 = values.iter().map(|value| value / n).sum();
        let mut centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let largest = centred
            .iter()
            .fold(0.0f64, |largest, v| largest.max(v.abs()));
        centred.iter_mut().for_each(|value| *value /= largest);
        let length = centred
            .iter()
            .map(|value| value * value)
            .sum::<f64>()
            .sqrt();
        centred.iter_mut().for_each(|value| *value /= length);
        length.is_finite().then_some(Self(centred))
    }
}

/// The rank of each number, from 1; equal numbers share the mean of their ranks. `None` if one is not finite.
fn average_ranks(values: &[f64]) -> Option<Vec<f64>> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    // `==` joins 0 and -0, which `total_cmp` puts side by side.
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|&index| ranks[index] = rank);
        before += equal.len();
    }
    Some(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_share_the_mean_of_their_ranks() {
        assert_eq!(
            average_ranks(&[2.0, 7.0, 2.0, -0.0, 0.0, 2.0]),
            Some(vec![4.0, 6.0, 4.0, 1.5, 1.5, 4.0])
        );
    }

    #[test]
    fn without_ties_both_readings_of_spearman_agree() {
        // d = 1, -1, 1, -1, 0: 1 - 6 · 4 / (5 · 24).
        let (gold, predicted) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 4.0, 3.0, 5.0]);
        for found in [
            spearman(&gold, &predicted),
            spearman_textbook(&gold, &predicted),
        ] {
            assert!((found.expect("five pairs") - 0.8).abs() < 1e-15);
        }
    }

    #[test]
    fn with_ties_the_textbook_formula_is_another_number() {
        // Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: the former 1 - 6 · 0.5 / 60, the latter 4.5 / √(4.5 · 5).
        let (gold, predicted) = ([1.0, 2.0, 2.0, 3.0], [1.0, 3.0, 2.0, 4.0]);
        let close = |found: Option<f64>, expected: f64| {
            (found.expect("four pairs") - expected).abs() < 1e-15
        };
        assert!(close(spearman_textbook(&gold, &predicted), 0.95));
        assert!(close(spearman(&gold, &predicted), 0.9f64.sqrt()));
    }

    #[test]
    fn constants_and_numbers_that_are_not_finite_have_no_correlation() {
        let varied = [1.0, 2.0, 4.0];
        for odd in [[0.1; 3], [1.0, f64::NAN, 2.0], [1.0, f64::INFINITY, 2.0]] {
            assert_eq!(pearson(&varied, &odd), None);
            assert_eq!(spearman(&odd, &varied), None);
            assert_eq!(pearson_spearman(&odd, &varied), None);
        }
        assert_eq!(pearson(&[1.0], &[2.0]), None);
        assert_eq!(spearman_textbook(&[1.0], &[2.0]), None);
        assert_eq!(mean_squared_error(&[], &[]), None);
        assert_eq!(mean_squared_error(&[1.0], &[f64::NAN]), None);
        // Ranks 1, 2, 3 against 2, 2, 2: the formula gives 1/2, but there is no correlation.
        assert_eq!(spearman_textbook(&varied, &[0.1; 3]), None);
    }

    #[test]
    fn sizes_at_the_ends_of_the_range_do_not_matter() {
        for scale in [1e-320, 1e-160, 1e160, 1e308] {
            let found = pearson(&[1.0, 2.0, 3.0], &[0.1 * scale, 0.6 * scale, scale]);
            assert!(found.expect("varied") > 0.98, "{scale}");
        }
    }
}
