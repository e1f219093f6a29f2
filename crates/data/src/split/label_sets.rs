//! Stratified division of examples of which each has several labels.

use crate::{Dataset, Target};
use std::collections::BTreeMap;

/// Divides `units`, examples that stay together, into one part for each share, so that each part has about its share of
/// the examples of every label: iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011, algorithm 1). Returns
/// the examples of each part.
///
/// The label with the fewest examples left is dealt out first, each unit of it to the part that lacks this label most,
/// and among equals to the one that lacks most examples: of a frequent label there are enough left later on to even out
/// what the rare ones have brought with them. Units come in the order of `units`, which is random where the caller has
/// shuffled it.
pub(super) fn stratified(
    dataset: &Dataset,
    units: Vec<Vec<usize>>,
    shares: &[f64],
) -> Vec<Vec<usize>> {
    let labels = |unit: &[usize]| {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for &example in unit {
            let labels = dataset.examples[example].target.labels();
            for &label in labels.unwrap_or_default() {
                *counts.entry(label).or_default() += 1;
            }
        }
        counts
    };
    let mut left: Vec<(Vec<usize>, BTreeMap<usize, usize>)> = units
        .into_iter()
        .map(|unit| {
            let labels = labels(&unit);
            (unit, labels)
        })
        .collect();
    let n: usize = left.iter().map(|(unit, _)| unit.len()).sum();
    let mut lacks = Lacks::new(dataset.labels.len(), shares, n);
    for (_, labels) in &left {
        lacks.expect(labels, shares);
    }
    let mut parts = vec![Vec::new(); shares.len()];
    while !left.is_empty() {
        let mut counts = vec![0; dataset.labels.len()];
        for (label, n) in left.iter().flat_map(|(_, labels)| labels) {
            counts[*label] += n;
        }
        let present = (0..counts.len()).filter(|&label| counts[label] > 0);
        // Once no label is left, the examples without one are dealt out.
        let rarest = present.min_by_key(|&label| counts[label]);
        let is_dealt = |labels: &BTreeMap<usize, usize>| {
            rarest.is_none_or(|label| labels.contains_key(&label))
        };
        let (dealt, others): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(_, labels)| is_dealt(labels));
        for (unit, labels) in dealt {
            let part = lacks.most(rarest);
            lacks.take(part, unit.len(), &labels);
            parts[part].extend(unit);
        }
        left = others;
    }
    parts
}

/// The examples that each part lacks.
struct Lacks {
    /// Of any label.
    examples: Vec<f64>,
    /// Of each label, by part.
    of_label: Vec<Vec<f64>>,
}

impl Lacks {
    fn new(n_labels: usize, shares: &[f64], n: usize) -> Self {
        Self {
            examples: shares.iter().map(|share| share * n as f64).collect(),
            of_label: vec![vec![0.0; n_labels]; shares.len()],
        }
    }

    /// Adds the shares of a unit's labels.
    fn expect(&mut self, labels: &BTreeMap<usize, usize>, shares: &[f64]) {
        for (of_label, share) in self.of_label.iter_mut().zip(shares) {
            for (&label, &n) in labels {
                of_label[label] += share * n as f64;
            }
        }
    }

    /// The part that lacks most examples of `label`, the first of several.
    fn most(&self, label: Option<usize>) -> usize {
        let lacks = |part: usize| {
            let of_label = label.map_or(0.0, |label| self.of_label[part][label]);
            (of_label, self.examples[part])
        };
        let mut best = 0;
        for part in 1..self.examples.len() {
            if lacks(part) > lacks(best) {
                best = part;
            }
        }
        best
    }

    fn take(&mut self, part: usize, n: usize, labels: &BTreeMap<usize, usize>) {
        self.examples[part] -= n as f64;
        for (&label, &n) in labels {
            self.of_label[part][label] -= n as f64;
        }
    }
}

/// The stratum of each example: its label; of several labels the one that the fewest examples have, the first of equals,
/// as iterative stratification deals it out. Examples without a label form one stratum, `None`.
pub(super) fn strata(dataset: &Dataset) -> Vec<Option<usize>> {
    let counts = dataset.counts();
    let stratum = |target: &Target| match target {
        Target::Class(class) => Some(*class),
        Target::Labels(labels) => labels.iter().copied().min_by_key(|&label| counts[label]),
        Target::Unknown | Target::Value(_) | Target::Tags(_) => None,
    };
    let examples = dataset.examples.iter();
    examples.map(|example| stratum(&example.target)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{shuffle, stream};
    use crate::{Example, Input, Task};

    fn dataset(sets: Vec<Vec<usize>>, n_labels: usize) -> Dataset {
        let example = |(at, labels): (usize, Vec<usize>)| Example {
            id: at.to_string(),
            input: Input::Text(format!("text {at}")),
            target: Target::Labels(labels),
            group: None,
        };
        Dataset {
            name: "sets".into(),
            loss: crate::ClassLoss::PLAIN,
            task: Task::MultiLabel,
            hash: String::new(),
            labels: (0..n_labels).map(|label| format!("l{label}")).collect(),
            positive: None,
            metrics: Vec::new(),
            examples: sets.into_iter().enumerate().map(example).collect(),
            tagging: None,
        }
    }

    #[test]
    fn the_rarest_label_is_dealt_out_first() {
        // On paper: label 1 is the rarest (2 and 3 of 6), so 0 goes to the first part and 1 to the second; of label 0,
        // each part lacks 1.5 at first and 0.5 or 1.5 then, so 2 goes to the second part and 3, where both lack 0.5, to
        // the first of the two that lack 2 examples; the examples without a label fill both up.
        let sets = vec![vec![0, 1], vec![1], vec![0], vec![0], vec![], vec![]];
        let units = (0..6).map(|at| vec![at]).collect();
        let parts = stratified(&dataset(sets, 2), units, &[0.5, 0.5]);
        assert_eq!(parts, [vec![0, 3, 4], vec![1, 2, 5]]);
    }

    #[test]
    fn every_part_has_its_share_of_every_label() {
        // Label l applies to every example whose number is a multiple of 2 + 3 l: from half of them to every 23rd.
        let sets = (0..1000usize).map(|at| {
            let labels = (0..8).filter(|label| at.is_multiple_of(2 + 3 * label));
            labels.collect::<Vec<usize>>()
        });
        let dataset = dataset(sets.collect(), 8);
        let mut units: Vec<Vec<usize>> = (0..1000).map(|at| vec![at]).collect();
        shuffle(&mut units, &mut stream(13, "test", 0));
        let shares = [0.65, 0.15, 0.2];
        let parts = stratified(&dataset, units, &shares);
        for (part, share) in parts.iter().zip(shares) {
            assert!(
                (part.len() as f64 - 1000.0 * share).abs() <= 2.0,
                "{}",
                part.len()
            );
            for label in 0..8 {
                let has = |at: &&usize| {
                    let labels = dataset.examples[**at].target.labels();
                    labels.is_some_and(|labels| labels.contains(&label))
                };
                let found = part.iter().filter(has).count() as f64;
                let expected = share * dataset.counts()[label] as f64;
                assert!(
                    (found - expected).abs() <= 2.0,
                    "{label}: {found} of {expected}"
                );
            }
        }
        let mut all = parts.concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<usize>>());
    }

    #[test]
    fn the_stratum_of_an_example_is_its_rarest_label() {
        let sets = vec![vec![0, 1], vec![0], vec![], vec![0, 2], vec![1, 2]];
        let expected = [Some(1), Some(0), None, Some(2), Some(1)];
        assert_eq!(strata(&dataset(sets, 3)), expected);
    }
}
