//! The distribution of lengths.

use serde::Serialize;

/// Percentiles of lengths, each the smallest length that so many percent of the rows do not exceed (nearest rank); all
/// zero without rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The shortest.
    pub min: usize,
    /// A quarter is at most as long.
    pub p25: usize,
    /// Half.
    pub p50: usize,
    /// Three quarters.
    pub p75: usize,
    /// Nine in ten.
    pub p90: usize,
    /// 95 %.
    pub p95: usize,
    /// 99 %.
    pub p99: usize,
    /// The longest.
    pub max: usize,
    /// Mean.
    pub mean: f64,
    /// Rows of each length, for a picture; ascending.
    pub histogram: Vec<(usize, usize)>,
}

impl Spread {
    /// The distribution of `lengths`.
    pub fn of(lengths: &[usize]) -> Self {
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            sorted.get(rank - 1).copied().unwrap_or(0)
        };
        let runs = sorted.chunk_by(|a, b| a == b);
        Self {
            min: sorted.first().copied().unwrap_or(0),
            p25: at(25),
            p50: at(50),
            p75: at(75),
            p90: at(90),
            p95: at(95),
            p99: at(99),
            max: at(100),
            mean: sorted.iter().sum::<usize>() as f64 / sorted.len().max(1) as f64,
            histogram: runs.map(|run| (run[0], run.len())).collect(),
        }
    }

    /// The header of [`Spread::cells`].
    pub const HEADER: [&'static str; 9] = [
        "#min", "#25 %", "#50 %", "#75 %", "#90 %", "#95 %", "#99 %", "#max", "#mean",
    ];

    /// The numbers as a row of a table.
    pub fn cells(&self) -> Vec<String> {
        let whole = [
            self.min, self.p25, self.p50, self.p75, self.p90, self.p95, self.p99, self.max,
        ];
        let mut cells: Vec<String> = whole.iter().map(usize::to_string).collect();
        cells.push(format!("{:.1}", self.mean));
        cells
    }
}

/// The number of `lengths` above `limit`.
pub(super) fn share_over(lengths: &[usize], limit: usize) -> usize {
    lengths.iter().filter(|length| **length > limit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_lengths_that_occur() {
        let lengths: Vec<usize> = (1..=200).rev().collect();
        let spread = Spread::of(&lengths);
        let found = [
            spread.min, spread.p25, spread.p50, spread.p75, spread.p90, spread.p95, spread.p99,
            spread.max,
        ];
        assert_eq!(found, [1, 50, 100, 150, 180, 190, 198, 200]);
        assert_eq!(spread.mean, 100.5);
        assert_eq!(share_over(&lengths, 128), 72);
        assert_eq!(Spread::of(&[3, 1, 3]).histogram, [(1, 1), (3, 2)]);
        assert_eq!(Spread::of(&[]).max, 0);
    }
}
