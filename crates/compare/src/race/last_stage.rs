//! The last stage of a race: which of the leaders are trained on, and how long a trial of each is.

use std::collections::BTreeMap;

use crate::trial::Size;

/// Seeds before leaders are compared.
pub(crate) const SEEDS: usize = 3;
/// Leaders that go on where there is no time for all examples, at most.
const UNFINISHED: usize = 2;

/// The sizes of the trials of these leaders, the best one first, within `seconds`; leaders without time for one are
/// removed from the end. `n_close` of them are not significantly worse than the best.
///
/// There are as many seeds, three at most, as leave each of them a trial that `is_whole`: until then more training adds
/// more to a score than the noise of a seed takes away. Where not even one seed does, two that are close share the time.
pub(crate) fn sizes(
    (leaders, n_close): (&mut Vec<usize>, usize),
    seconds: f64,
    fitting: impl Fn(usize, f64) -> Option<Size>,
    is_whole: impl Fn(usize, Size) -> bool,
) -> BTreeMap<usize, Size> {
    while !leaders.is_empty() {
        let n = leaders.len();
        let all = |seeds: usize| {
            let share = seconds / (n * seeds) as f64;
            let sizes = leaders.iter().map(|&at| Some((at, fitting(at, share)?)));
            sizes.collect::<Option<BTreeMap<usize, Size>>>()
        };
        let whole =
            |sizes: &BTreeMap<usize, Size>| sizes.iter().all(|(at, size)| is_whole(*at, *size));
        let seeds = (1..=SEEDS).rev().filter_map(all).find(whole);
        if let Some(sizes) = seeds.or_else(|| all(1).filter(|_| n <= UNFINISHED.min(n_close))) {
            return sizes;
        }
        leaders.pop();
    }
    BTreeMap::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaders and the epochs over 100 examples that each has, or its examples where there are fewer: an example takes
    /// 1 s, and a trial needs ten of them.
    fn leading(n: usize, seconds: f64) -> Vec<(usize, usize, usize)> {
        leading_close((n, n), seconds)
    }

    fn leading_close((n, n_close): (usize, usize), seconds: f64) -> Vec<(usize, usize, usize)> {
        let fitting = |_: usize, seconds: f64| {
            let epochs = (seconds / 100.0) as usize;
            let examples = if epochs == 0 { seconds as usize } else { 100 };
            let epochs = epochs.clamp(1, 8);
            (examples >= 10).then_some(Size { examples, epochs })
        };
        let mut leaders: Vec<usize> = (0..n).collect();
        let is_whole = |_: usize, size: Size| size.is_whole(100, 3);
        let sizes = sizes((&mut leaders, n_close), seconds, fitting, is_whole);
        let found = leaders
            .iter()
            .map(|at| (*at, sizes[at].examples, sizes[at].epochs));
        found.collect()
    }

    #[test]
    fn seeds_share_the_time_where_each_has_enough() {
        let three_seeds = [(0, 100, 3), (1, 100, 3), (2, 100, 3)];
        assert_eq!(leading(3, 2700.0), three_seeds);
        // Two seeds, then one.
        assert_eq!(leading(3, 2400.0)[0], (0, 100, 4));
        assert_eq!(leading(3, 1700.0)[0], (0, 100, 5));
        assert_eq!(leading(3, 900.0), three_seeds);
    }

    #[test]
    fn two_leaders_go_on_where_there_is_no_time_for_all_examples() {
        assert_eq!(leading(3, 899.0), [(0, 100, 4), (1, 100, 4)]);
        assert_eq!(leading(3, 100.0), [(0, 50, 1), (1, 50, 1)]);
        assert_eq!(leading(3, 19.0), [(0, 19, 1)]);
        assert_eq!(leading(3, 9.0), []);
        assert_eq!(leading(1, 200.0), [(0, 100, 2)]);
        assert_eq!(leading_close((2, 1), 599.0), [(0, 100, 5)], "worse");
        assert_eq!(leading_close((2, 1), 600.0).len(), 2);
    }
}
