//! Mutual information by dependence graphs: the EDGE estimator (Noshad, Zeng and Hero 2019, arXiv 1801.09125), as
//! version 4.3.1 of its authors' program computes it with the settings it has by default.
//!
//! Both sides are projected at random to a few dimensions, the dimensions are cut into cells, and Î = (1/N) Σ N_ij ·
//! clip(log2(N N_ij / (N_i M_j)), 0.001, U) over the occupied pairs of cells: the plug-in estimate of the mutual
//! information of the two cells, in bits, with each term kept between a floor and a bound. Ten cuttings with other
//! widths and offsets are made, and their median taken. That is the first pass; the second one makes the cells wider or
//! narrower by the first one's estimate.
//!
//! Little information makes the second pass's cells so wide that all examples fall into one of them, and the estimate
//! is the floor: with a first pass below about 0.2 bits the estimate is 0.001 whether there is a dependence or not. So
//! both passes are returned.

use std::collections::HashMap;
use std::hash::Hash;

use crate::matrix::{Dense, Real};
use crate::random_state::RandomState;

/// Seed of the projections and of the points whose neighbours are used.
const SEED: u32 = 3334;
/// Number of points whose neighbours are used.
const POINTS: usize = 500;
/// The least a pair of cells adds for each example in it, in bits.
const FLOOR: f64 = 0.001;
/// Share of the width of a cell that each pass takes.
const SMOOTHNESS: f64 = 0.9;
/// Fewest examples that leave a dimension to project to: log2(20 / 10) = 1.
const FEWEST: usize = 20;

/// Settings of the estimator; the defaults are those of version 4.3.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Upper bound of the contribution of a pair of cells, in bits.
    pub upper: f64,
    /// Smoothness of the two sides: cells are wider for smoother densities.
    pub gamma: [f64; 2],
    /// Number of cuttings that the median is taken over.
    pub members: usize,
    /// Relative increase of the cell widths from the first cutting to the last.
    pub range: f64,
}

impl Default for Edge {
    fn default() -> Self {
        Self {
            upper: 10.0,
            gamma: [1.0, 1.0],
            members: 10,
            range: 0.1,
        }
    }
}

/// Estimates of both passes, in bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeEstimate {
    /// Estimate with cells as wide as the distances of neighbours suggest.
    pub first_pass: f64,
    /// Estimate with cells adapted to the first pass: the result of the authors' program.
    pub second_pass: f64,
}

impl Edge {
    /// Mutual information of the rows of `x` and those of `y`; `None` for fewer than 20 rows.
    ///
    /// # Panics
    /// If the numbers of rows differ, or there are no members.
    pub fn estimate<T: Real, U: Real>(&self, x: &Dense<T>, y: &Dense<U>) -> Option<EdgeEstimate> {
        assert_eq!(x.n_rows(), y.n_rows(), "both sides have as many rows");
        assert!(self.members > 0, "a median needs members");
        if x.n_rows() < FEWEST {
            return None;
        }
        let mut random = RandomState::new(SEED);
        let sides = [Side::project(x, &mut random), Side::project(y, &mut random)];
        let gamma = self.gamma.map(|gamma| gamma * SMOOTHNESS);
        let first_pass = self.pass(&sides, gamma);
        let factor = 2f64.powf(0.5 / first_pass - (2.0 * first_pass).sqrt());
        let second_pass = self.pass(&sides, gamma.map(|gamma| gamma * factor * SMOOTHNESS));
        Some(EdgeEstimate {
            first_pass,
            second_pass,
        })
    }

    /// Computes [`Edge::estimate`] with classes on one side, represented by their numbers.
    ///
    /// # Panics
    /// If there are not as many classes as rows.
    pub fn estimate_classes<T: Real>(
        &self,
        x: &Dense<T>,
        classes: &[usize],
    ) -> Option<EdgeEstimate> {
        let numbers: Vec<f64> = classes.iter().map(|&class| class as f64).collect();
        self.estimate(x, &Dense::new(&numbers, 1))
    }

    /// Median over the cuttings.
    fn pass(&self, sides: &[Side; 2], gamma: [f64; 2]) -> f64 {
        let mut members: Vec<f64> = (0..self.members)
            .map(|member| {
                let cells = [0, 1].map(|k| sides[k].cells(gamma[k], self, member));
                self.plug_in(&cells)
            })
            .collect();
        members.sort_by(f64::total_cmp);
        (members[(self.members - 1) / 2] + members[self.members / 2]) / 2.0
    }

    fn plug_in(&self, [x, y]: &[Vec<usize>; 2]) -> f64 {
        let n = x.len() as f64;
        let (of_x, of_y) = (counts(x.iter()), counts(y.iter()));
        let pairs = counts(x.iter().zip(y));
        // In a fixed order, so that the sum does not change with the order of a map.
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_unstable();
        let total: f64 = pairs
            .into_iter()
            .map(|((i, j), count)| {
                let ratio = count as f64 * n / (of_x[i] * of_y[j]) as f64;
                count as f64 * ratio.log2().min(self.upper).max(FLOOR)
            })
            .sum();
        total / n
    }
}

fn counts<K: Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut counts = HashMap::new();
    for key in keys {
        *counts.entry(key).or_insert(0) += 1;
    }
    counts
}

/// One side of the data, projected.
struct Side {
    /// `[dimensions, rows]`
    values: Vec<Vec<f64>>,
    /// The width of cells in each dimension, before any factor.
    widths: Vec<f64>,
}

impl Side {
    fn project<T: Real>(x: &Dense<T>, random: &mut RandomState) -> Self {
        let (n, from) = (x.n_rows(), x.n_columns());
        // Written as the program does, whose rounding decides at 10 times a power of 2.
        let most = ((n as f64 / 10.0).ln() / 2f64.ln()).floor() as usize;
        let to = from.min(most);
        let spread = x.deviations(&x.means());
        let mut weights = vec![Vec::with_capacity(from); to];
        for spread in spread {
            let spread = if spread < 0.0001 { 1.0 } else { spread };
            let scale = 1.0 / (spread * (from as f64).sqrt());
            for weights in &mut weights {
                weights.push(scale * random.normal());
            }
        }
        let values: Vec<Vec<f64>> = weights
            .iter()
            .map(|weights| T::products(x, weights, 0.0))
            .collect();
        let widths = values
            .iter()
            .map(|values| (neighbour_distance(values, to) + 0.0001) * 3.0 * to as f64)
            .collect();
        Self { values, widths }
    }

    /// The number of each row's cell in one cutting.
    fn cells(&self, gamma: f64, settings: &Edge, member: usize) -> Vec<usize> {
        let last = settings.members - 1;
        let wider = if member == last && last > 0 {
            1.0 + settings.range
        } else {
            1.0 + member as f64 * (settings.range / last.max(1) as f64)
        };
        let mut cells = vec![0; self.values[0].len()];
        for (values, width) in self.values.iter().zip(&self.widths) {
            let width = width * gamma * wider;
            let shift = member as f64 * (1.0 / settings.members as f64) * width;
            // A cell of so many dimensions is the cell of one less and a place in this one.
            let mut numbers = HashMap::new();
            for (cell, value) in cells.iter_mut().zip(values) {
                let place = ((value + shift) / width).floor() as i64;
                let next = numbers.len();
                *cell = *numbers.entry((*cell, place)).or_insert(next);
            }
        }
        cells
    }
}

/// The mean distance of some points to their k-th neighbour, themselves being the first.
fn neighbour_distance(values: &[f64], dimensions: usize) -> f64 {
    let (n, d) = (values.len() as f64, dimensions as f64);
    let exponent = 2.0 / 3.0 + 0.17 * (d / (d + 1.0));
    let k = (0.43 * n.powf(exponent) * (-1.0 / d.powi(4).max(10_000.0)).exp()).floor() as usize;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut random = RandomState::new(SEED);
    let total: f64 = (0..POINTS)
        .map(|_| kth_distance(&sorted, values[random.below(values.len())], k))
        .sum();
    total / POINTS as f64
}

/// The distance of `point` to the k-th nearest of `sorted`, for k from 1 to their number.
fn kth_distance(sorted: &[f64], point: f64, k: usize) -> f64 {
    // The k nearest lie side by side. Of the windows of k the first whose right end is as far as its left end, or
    // farther, or the one before it, has the nearer far end.
    let far = |left: usize| (point - sorted[left]).max(sorted[left + k - 1] - point);
    let (mut low, mut high) = (0, sorted.len() - k);
    while low < high {
        let middle = (low + high) / 2;
        if sorted[middle + k - 1] - point >= point - sorted[middle] {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    far(low).min(far(low.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kth_neighbour_is_found_by_its_window() {
        let sorted = [-3.0, -1.0, -1.0, 0.5, 2.0, 7.0, 7.0];
        for point in sorted.into_iter().chain([0.0, 100.0, -9.0]) {
            let mut distances = sorted.map(|value: f64| (value - point).abs());
            distances.sort_by(f64::total_cmp);
            for k in 1..=sorted.len() {
                assert_eq!(
                    kth_distance(&sorted, point, k),
                    distances[k - 1],
                    "{point} {k}"
                );
            }
        }
    }

    #[test]
    fn two_cells_that_are_their_classes_tell_a_bit() {
        let edge = Edge::default();
        let classes = vec![0, 1, 0, 1];
        assert_eq!(edge.plug_in(&[classes.clone(), classes.clone()]), 1.0);
        assert_eq!(edge.plug_in(&[classes, vec![0, 0, 1, 1]]), FLOOR);
    }

    #[test]
    fn nineteen_rows_are_too_few() {
        let values = [0.0; 19];
        assert_eq!(
            Edge::default().estimate_classes(&Dense::new(&values, 1), &[0; 19]),
            None
        );
    }
}
