//! Drawing a share of every class.

use crate::Dataset;
use crate::random::{shuffle, stream};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// At most `limit` of the examples at `all`, the same share of every class.
pub(super) fn limited(
    dataset: &Dataset,
    all: Vec<usize>,
    limit: Option<usize>,
    seed: u64,
) -> Vec<usize> {
    let Some(limit) = limit.filter(|&limit| limit < all.len()) else {
        return all;
    };
    let share = limit as f64 / all.len() as f64;
    let chosen = drawn(dataset, &all, share, &mut |stratum| {
        stream(seed, "limit", stratum)
    });
    all.into_iter().filter(|&index| chosen[index]).collect()
}

/// Which examples are among the `share` of those at `indices` that is drawn from every class. Those without a class are
/// drawn as if they had the same.
pub(super) fn drawn(
    dataset: &Dataset,
    indices: &[usize],
    share: f64,
    random: &mut dyn FnMut(u64) -> ChaCha8Rng,
) -> Vec<bool> {
    let mut strata: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for &index in indices {
        let class = dataset.examples[index].target.class();
        strata.entry(class).or_default().push(index);
    }
    let sizes: Vec<usize> = strata.values().map(Vec::len).collect();
    let mut chosen = vec![false; dataset.examples.len()];
    let quotas = quotas(&sizes, share);
    for ((stratum, (_, mut members)), quota) in (0..).zip(strata).zip(quotas) {
        shuffle(&mut members, &mut random(stratum));
        members[..quota]
            .iter()
            .for_each(|&index| chosen[index] = true);
    }
    chosen
}

/// How many of each stratum are held out: the share of each rounded down, and what is missing from the share of all,
/// rounded, given to those that lost most (the method of the largest remainder).
pub(super) fn quotas(sizes: &[usize], share: f64) -> Vec<usize> {
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
