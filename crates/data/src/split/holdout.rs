//! A stratified test set, drawn once.

use super::{Duplicates, HoldOut};
use crate::random::{shuffle, stream};
use anyhow::{Result, ensure};
use std::collections::BTreeMap;

impl HoldOut {
    /// Which examples are held out.
    ///
    /// Examples are drawn in units: single ones, or with `duplicates = "group"` all rows of one text, which count
    /// towards the class most of them have. Each class is shuffled on its own and filled up to its quota, so the two
    /// settings draw alike until the first repeated text.
    pub(super) fn tested(&self, classes: &[usize], first: &[usize]) -> Result<Vec<bool>> {
        let mut units: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, &first) in first.iter().enumerate() {
            let unit = if self.duplicates == Duplicates::Group {
                first
            } else {
                index
            };
            units.entry(unit).or_default().push(index);
        }
        let mut strata: BTreeMap<usize, Vec<Vec<usize>>> = BTreeMap::new();
        for unit in units.into_values() {
            strata
                .entry(majority(&unit, classes))
                .or_default()
                .push(unit);
        }
        let sizes: Vec<usize> = strata
            .values()
            .map(|units| units.iter().map(Vec::len).sum())
            .collect();
        let mut tested = vec![false; classes.len()];
        for ((class, mut units), quota) in strata.into_iter().zip(quotas(&sizes, self.test)) {
            ensure!(
                quota > 0,
                "test: {} leaves no test example of class {class}; expected a larger share",
                self.test
            );
            shuffle(&mut units, &mut stream(self.seed, "hold-out", class as u64));
            let mut left = quota;
            for unit in units {
                if unit.len() <= left {
                    left -= unit.len();
                    unit.iter().for_each(|&index| tested[index] = true);
                }
            }
        }
        Ok(tested)
    }
}

/// The class most of `unit` has; the first of them when it is a draw.
fn majority(unit: &[usize], classes: &[usize]) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    unit.iter()
        .for_each(|&index| *counts.entry(classes[index]).or_default() += 1);
    let most = counts.values().copied().max().unwrap_or(0);
    counts
        .into_iter()
        .find(|&(_, count)| count == most)
        .map_or(0, |(class, _)| class)
}

/// How many of each stratum are held out: the share of each rounded down, and what is missing from the share of all,
/// rounded, given to those that lost most (the method of the largest remainder).
fn quotas(sizes: &[usize], share: f64) -> Vec<usize> {
    let exact: Vec<f64> = sizes.iter().map(|&size| size as f64 * share).collect();
    let mut quotas: Vec<usize> = exact.iter().map(|exact| exact.floor() as usize).collect();
    let total = (sizes.iter().sum::<usize>() as f64 * share).round() as usize;
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let missing = total.saturating_sub(quotas.iter().sum());
    order
        .into_iter()
        .take(missing)
        .for_each(|stratum| quotas[stratum] += 1);
    quotas
}
