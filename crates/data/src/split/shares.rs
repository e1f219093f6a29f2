//! A random split by shares: stratified, with duplicates and groups kept together.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::label_sets::stratified;
use crate::random::{shuffle, stream};
use crate::{Dataset, Input, Task, sha256_hex};

impl Dataset {
    /// Splits the examples at random into one part per share; `shares` add up to 1. Returns ascending indices, each in
    /// one part.
    ///
    /// Examples of one group, and examples with the same text, stay together. Of a classification it is stratified: each
    /// part has about the same share of every class, and of a multi-label dataset of every label ([`stratified`]). Sampled
    /// with `seed`.
    ///
    /// # Errors
    /// When a part stays empty.
    pub fn split_by_shares(&self, shares: &[f64], seed: u64) -> Result<Vec<Vec<usize>>> {
        let mut parts = match self.task {
            Task::MultiLabel => {
                let mut units = units(self);
                shuffle(&mut units, &mut stream(seed, "compare parts", 0));
                units.sort_by_key(|unit| std::cmp::Reverse(unit.len()));
                stratified(self, units, shares)
            }
            Task::Classification | Task::Ordinal | Task::Regression | Task::Tagging => {
                self.split_by_class(shares, seed)
            }
        };
        for part in &mut parts {
            part.sort_unstable();
        }
        ensure!(
            parts.iter().all(|part| !part.is_empty()),
            self.too_few(shares)
        );
        Ok(parts)
    }

    /// The error about a part that stayed empty.
    fn too_few(&self, shares: &[f64]) -> String {
        let (n, all) = (units(self).len(), self.examples.len());
        let has_groups = self.examples.iter().any(|example| example.group.is_some());
        let parts = match shares.len() {
            3 => "train, dev and test".to_string(),
            n => format!("{n} parts"),
        };
        // With as many, the smallest part gets one of them.
        let smallest = shares.iter().copied().fold(1.0, f64::min);
        let least = (1.0 / smallest).ceil();
        let groups = match self.task {
            Task::Tagging => "a document and equal sentences stay in one part",
            _ => "a group and equal texts stay in one part",
        };
        let found = if has_groups && n == 1 {
            format!("{all} examples with only 1 group ({groups})")
        } else if has_groups {
            format!("{all} examples with only {n} groups ({groups})")
        } else if n < all {
            format!("{all} examples with only {n} different texts (equal texts stay in one part)")
        } else if all == 1 {
            "1 example".to_string()
        } else {
            format!("{all} examples")
        };
        format!(
            "{}: {found}; expected at least {least} to divide into {parts}",
            self.name
        )
    }

    fn split_by_class(&self, shares: &[f64], seed: u64) -> Vec<Vec<usize>> {
        let mut strata: BTreeMap<Option<usize>, Vec<Vec<usize>>> = BTreeMap::new();
        for unit in units(self) {
            let class = most_frequent(unit.iter().map(|&at| self.examples[at].target.class()));
            strata.entry(class).or_default().push(unit);
        }
        let mut parts = vec![Vec::new(); shares.len()];
        // What rounding leaves of each part's share; else many small classes would all favour the same part. Not what a large
        // group has too much: the classes after it keep their shares.
        let mut left = vec![0.0_f64; shares.len()];
        for (number, mut units) in (0..).zip(strata.into_values()) {
            shuffle(&mut units, &mut stream(seed, "compare parts", number));
            // Large units first, while there is room for them; the order of equal ones stays that of the shuffle.
            units.sort_by_key(|unit| std::cmp::Reverse(unit.len()));
            let n: usize = units.iter().map(Vec::len).sum();
            for (left, share) in left.iter_mut().zip(shares) {
                *left = left.clamp(-1.0, 1.0) + share * n as f64;
            }
            for unit in units {
                let most = (0..shares.len()).max_by(|&a, &b| left[a].total_cmp(&left[b]));
                let part = most.unwrap_or(0);
                left[part] -= unit.len() as f64;
                parts[part].extend(unit);
            }
        }
        parts
    }

    /// The examples at `indices` as a dataset of their own, under `name`.
    pub fn part(&self, indices: &[usize], name: &str) -> Self {
        let places = indices.iter().flat_map(|&at| (at as u64).to_le_bytes());
        let bytes: Vec<u8> = self.hash.bytes().chain(places).collect();
        Self {
            name: name.to_string(),
            hash: sha256_hex(&bytes),
            examples: indices
                .iter()
                .map(|&at| self.examples[at].clone())
                .collect(),
            ..self.clone()
        }
    }
}

/// Units that have to stay together: examples of one group, examples with the same text, and examples linked through
/// others.
fn units(dataset: &Dataset) -> Vec<Vec<usize>> {
    let n = dataset.examples.len();
    let mut parent: Vec<usize> = (0..n).collect();
    let mut of_text: BTreeMap<&Input, usize> = BTreeMap::new();
    let mut of_group: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, example) in dataset.examples.iter().enumerate() {
        let first = *of_text.entry(&example.input).or_insert(at);
        join(&mut parent, first, at);
        if let Some(group) = &example.group {
            let first = *of_group.entry(group).or_insert(at);
            join(&mut parent, first, at);
        }
    }
    let mut units: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..n {
        units.entry(root(&mut parent, at)).or_default().push(at);
    }
    units.into_values().collect()
}

fn join(parent: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parent, a), root(parent, b));
    // The lower index leads, so that the order of units is that of their first examples.
    parent[a.max(b)] = a.min(b);
}

fn root(parent: &mut [usize], mut at: usize) -> usize {
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}

fn most_frequent(classes: impl Iterator<Item = Option<usize>>) -> Option<usize> {
    let mut counts: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for class in classes {
        *counts.entry(class).or_default() += 1;
    }
    let most = counts
        .iter()
        .max_by_key(|(class, n)| (**n, std::cmp::Reverse(**class)));
    most.and_then(|(class, _)| *class)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{Example, Target};

    /// `n` texts, every `third` of class 1; `group` gives the group of each.
    pub(in crate::split) fn dataset(n: usize, group: impl Fn(usize) -> Option<String>) -> Dataset {
        let example = |at: usize| Example {
            id: at.to_string(),
            input: Input::Text(format!("text {at}")),
            target: Target::Class(usize::from(at.is_multiple_of(3))),
            group: group(at),
        };
        Dataset {
            name: "own".into(),
            loss: crate::ClassLoss::PLAIN,
            task: Task::Classification,
            hash: "00".into(),
            labels: vec!["a".into(), "b".into()],
            positive: None,
            examples: (0..n).map(example).collect(),
            metrics: vec!["accuracy".into()],
            tagging: None,
        }
    }

    #[test]
    fn parts_have_their_shares_of_every_class_and_each_example_once() {
        let dataset = dataset(300, |_| None);
        let parts = dataset.split_by_shares(&[0.6, 0.2, 0.2], 1).expect("parts");
        let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
        assert_eq!(sizes, [180, 60, 60]);
        let ones = |part: &[usize]| part.iter().filter(|at| at.is_multiple_of(3)).count();
        assert_eq!(
            parts.iter().map(|part| ones(part)).collect::<Vec<_>>(),
            [60, 20, 20]
        );
        let mut all: Vec<usize> = parts.concat();
        all.sort_unstable();
        assert_eq!(all, (0..300).collect::<Vec<_>>());
        assert_eq!(
            parts,
            dataset.split_by_shares(&[0.6, 0.2, 0.2], 1).expect("parts")
        );
        assert_ne!(
            parts,
            dataset.split_by_shares(&[0.6, 0.2, 0.2], 2).expect("parts")
        );
    }

    #[test]
    fn groups_and_equal_texts_stay_together() {
        let mut dataset = dataset(100, |at| Some(format!("writer {}", at / 5)));
        dataset.examples[99].input = dataset.examples[0].input.clone();
        let parts = dataset.split_by_shares(&[0.5, 0.5], 3).expect("parts");
        let part_of = |at: usize| usize::from(parts[1].contains(&at));
        for at in 0..100 {
            assert_eq!(part_of(at), part_of(at / 5 * 5), "{at}");
        }
        assert_eq!(part_of(0), part_of(99));
        assert!(parts.iter().all(|part| part.len() >= 40), "{parts:?}");
    }

    #[test]
    fn too_few_groups_are_an_error() {
        let dataset = dataset(10, |_| Some("one".into()));
        let error = dataset
            .split_by_shares(&[0.5, 0.5], 1)
            .expect_err("one group")
            .to_string();
        assert_eq!(
            error,
            "own: 10 examples with only 1 group (a group and equal texts stay in one part); expected at least 2 to \
             divide into 2 parts"
        );
        let mut dataset = super::tests::dataset(6, |_| None);
        for at in 2..6 {
            dataset.examples[at].input = dataset.examples[at % 2].input.clone();
        }
        let error = dataset
            .split_by_shares(&[0.65, 0.15, 0.2], 1)
            .expect_err("two texts");
        assert_eq!(
            error.to_string(),
            "own: 6 examples with only 2 different texts (equal texts stay in one part); expected at least 7 to divide \
             into train, dev and test"
        );
    }

    #[test]
    fn a_large_group_takes_nothing_from_other_classes() {
        let mut dataset = dataset(1100, |at| (at < 1000).then(|| "one".to_string()));
        for (at, example) in dataset.examples.iter_mut().enumerate() {
            example.target = Target::Class(usize::from(at >= 1000));
        }
        let parts = dataset
            .split_by_shares(&[0.65, 0.15, 0.2], 1)
            .expect("parts");
        let of_second = parts
            .iter()
            .map(|part| part.iter().filter(|&&at| at >= 1000).count());
        let of_second: Vec<usize> = of_second.collect();
        assert!(of_second[0] >= 60 && of_second[1] >= 13, "{of_second:?}");
    }

    #[test]
    fn fewer_examples_than_parts_are_an_error() {
        let error = dataset(3, |_| None).split_by_shares(&[0.25; 4], 1);
        assert_eq!(
            error.expect_err("too few").to_string(),
            "own: 3 examples; expected at least 4 to divide into 4 parts"
        );
    }

    #[test]
    fn a_part_has_a_hash_of_its_own() {
        let dataset = dataset(10, |_| None);
        let (one, other) = (dataset.part(&[1, 2], "x"), dataset.part(&[1, 3], "x"));
        assert_ne!(one.hash, other.hash);
        assert_eq!(one.examples.len(), 2);
        assert_eq!(one.name, "x");
    }

    #[test]
    fn many_small_classes_make_equal_parts() {
        for (classes, of_each, shares, expected) in [
            (22, 7, [0.2; 5].as_slice(), [31, 31, 31, 31, 30].as_slice()),
            (15, 4, &[0.2; 5], &[12; 5]),
            (20, 3, &[0.2; 5], &[12; 5]),
            (300, 4, &[0.65, 0.15, 0.2], &[780, 180, 240]),
        ] {
            let mut dataset = dataset(classes * of_each, |_| None);
            dataset.labels = (0..classes).map(|label| label.to_string()).collect();
            for (at, example) in dataset.examples.iter_mut().enumerate() {
                example.target = Target::Class(at % classes);
            }
            let parts = dataset.split_by_shares(shares, 1).expect("parts");
            for (part, expected) in parts.iter().zip(expected) {
                let found = part.len();
                assert!(
                    found.abs_diff(*expected) <= 1,
                    "{classes} x {of_each}: {found} {expected}"
                );
            }
        }
    }
}
