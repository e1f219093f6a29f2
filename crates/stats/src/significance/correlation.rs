//! Significance tests of correlations.

use crate::metrics::{pearson, spearman};
use crate::student::{normal_quantile, t_two_sided_p};
use crate::summary::Interval;

/// Number of pairs up to which every order of the ranks is tried: 8! = 40,320 of them.
const EXACT: usize = 8;

/// A correlation with its two-sided test against none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    /// Correlation coefficient, from -1 to 1.
    pub r: f64,
    /// Two-sided p-value for no correlation.
    pub p: f64,
    /// Interval by Fisher's transformation; `None` for fewer than four pairs or where `r` is 1 or -1.
    pub interval: Option<Interval>,
    /// True if `p` counts orders of the pairs, false if it is taken from Student's t.
    pub exact: bool,
}

/// Pearson's correlation with Student's test, t = r √((n - 2) / (1 - r²)), as `scipy.stats.pearsonr`; `None` for
/// fewer than three pairs, for a slice that does not vary, and for a number that is not finite.
///
/// # Panics
/// If the slices differ in length, or `level` is not between 0 and 1.
pub fn pearson_test(x: &[f64], y: &[f64], level: f64) -> Option<Correlation> {
    let r = pearson(x, y).filter(|_| x.len() > 2)?;
    Some(Correlation {
        r,
        p: student(r, x.len()),
        interval: fisher(r, x.len(), level),
        exact: false,
    })
}

/// Spearman's correlation; up to eight pairs p is the share of all orders of one side whose correlation is as far
/// from 0, beyond that Student's test as in `scipy.stats.spearmanr`. `None` as for [`pearson_test`].
///
/// The interval is Fisher's too, which for ranks is an approximation.
///
/// # Panics
/// As [`pearson_test`].
pub fn spearman_test(x: &[f64], y: &[f64], level: f64) -> Option<Correlation> {
    let r = spearman(x, y).filter(|_| x.len() > 2)?;
    let exact = x.len() <= EXACT;
    let p = if exact {
        share_of_orders(x, y, r)
    } else {
        student(r, x.len())
    };
    Some(Correlation {
        r,
        p,
        interval: fisher(r, x.len(), level),
        exact,
    })
}

fn student(r: f64, n: usize) -> f64 {
    let df = n as f64 - 2.0;
    t_two_sided_p(r * (df / (1.0 - r * r).max(0.0)).sqrt(), df)
}

/// tanh(atanh r ± z / √(n - 3)).
fn fisher(r: f64, n: usize, level: f64) -> Option<Interval> {
    crate::student::assert_level(level);
    if n < 4 || r.abs() >= 1.0 {
        return None;
    }
    let half = normal_quantile(0.5 + 0.5 * level) / (n as f64 - 3.0).sqrt();
    let centre = r.atanh();
    Some(Interval {
        low: (centre - half).tanh(),
        high: (centre + half).tanh(),
    })
}

/// The share of all orders of `y` that are correlated with `x` as much as `r` is, in either direction.
fn share_of_orders(x: &[f64], y: &[f64], r: f64) -> f64 {
    let (mut extreme, mut all) = (0u32, 0u32);
    let mut order = y.to_vec();
    each_order(&mut order, 0, &mut |order| {
        all += 1;
        // A hair below, since sums in another order round otherwise.
        if spearman(x, order).is_some_and(|other| other.abs() >= r.abs() - 1e-12) {
            extreme += 1;
        }
    });
    f64::from(extreme) / f64::from(all)
}

fn each_order(values: &mut Vec<f64>, from: usize, look: &mut impl FnMut(&[f64])) {
    if from + 1 >= values.len() {
        look(values);
        return;
    }
    for at in from..values.len() {
        values.swap(from, at);
        each_order(values, from + 1, look);
        values.swap(from, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_the_orders_of_five_are_as_strong_as_a_perfect_one() {
        let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 5.0, 7.0, 11.0]);
        let test = spearman_test(&x, &y, 0.95).expect("both sides vary");
        assert_eq!((test.r, test.interval), (1.0, None));
        assert!((test.p - 2.0 / 120.0).abs() < 1e-15);
    }

    #[test]
    fn too_few_pairs_and_flat_sides_have_no_answer() {
        assert_eq!(pearson_test(&[1.0, 2.0], &[1.0, 3.0], 0.95), None);
        assert_eq!(spearman_test(&[1.0, 2.0, 3.0], &[1.0; 3], 0.95), None);
        let three =
            pearson_test(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0], 0.95).expect("both sides vary");
        assert_eq!(three.interval, None);
    }
}
