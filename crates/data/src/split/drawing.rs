//! Stratified sampling: a share of every class.

use super::label_sets;
use crate::Dataset;
use crate::random::{shuffle, stream};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The order in which dev is sampled and the limit applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DevDrawn {
    /// It is a share of the examples that the limit leaves.
    #[default]
    AfterLimit,
    /// It is a share of all examples, and the limit is for those to train on: dev is the same for every limit.
    BeforeLimit,
}

/// A share of the training examples that is held out as dev.
pub(super) struct DevOf {
    pub(super) share: f64,
    pub(super) drawn: DevDrawn,
    pub(super) seed: u64,
}

impl DevOf {
    /// The examples at `all` to train on, at most `limit`, and those of dev; both in the order of `all`.
    pub(super) fn divide(
        &self,
        dataset: &Dataset,
        all: Vec<usize>,
        limit: Option<usize>,
    ) -> (Vec<usize>, Vec<usize>) {
        let held_out = |examples: Vec<usize>| -> (Vec<usize>, Vec<usize>) {
            let dev = drawn(dataset, &examples, self.share, &mut |stratum| {
                stream(self.seed, "dev", stratum)
            });
            examples.into_iter().partition(|&index| !dev[index])
        };
        match self.drawn {
            DevDrawn::AfterLimit => held_out(limited(dataset, all, limit, self.seed)),
            DevDrawn::BeforeLimit => {
                let (train, dev) = held_out(all);
                (limited(dataset, train, limit, self.seed), dev)
            }
        }
    }
}

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

/// A mask of the examples sampled: the `share` of those at `indices`, stratified by class, or by the rarest of several
/// labels, so that a smaller sample is part of a larger one. Examples without a label form one stratum.
pub(super) fn drawn(
    dataset: &Dataset,
    indices: &[usize],
    share: f64,
    random: &mut dyn FnMut(u64) -> ChaCha8Rng,
) -> Vec<bool> {
    let mut strata: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    let of_examples = label_sets::strata(dataset);
    for &index in indices {
        strata.entry(of_examples[index]).or_default().push(index);
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

/// The number of examples held out of each stratum: the share of each rounded down, and the remainder of the rounded
/// total given to those that lost most (the largest remainder method).
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
