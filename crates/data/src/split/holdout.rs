//! A stratified random test set.

use super::drawing::{DevOf, limited, quotas};
use super::label_sets::stratified;
use super::{Duplicates, HoldOut};
use crate::random::{shuffle, stream};
use crate::{Dataset, Task};
use anyhow::{Result, ensure};
use std::collections::BTreeMap;

impl HoldOut {
    /// A mask of the examples held out.
    ///
    /// Examples are sampled in units: single ones, or with `duplicates = "group"` all rows of one text, which count
    /// towards the class most of them have. Each class is shuffled on its own and filled up to its quota, so the two
    /// settings give the same sample until the first repeated text.
    ///
    /// Of a multi-label dataset, all units are shuffled and divided by iterative stratification.
    pub(super) fn tested(
        &self,
        dataset: &Dataset,
        classes: &[usize],
        first: &[usize],
    ) -> Result<Vec<bool>> {
        let mut units: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, &first) in first.iter().enumerate() {
            let unit = if self.duplicates == Duplicates::Group {
                first
            } else {
                index
            };
            units.entry(unit).or_default().push(index);
        }
        if dataset.task == Task::MultiLabel {
            let mut units: Vec<Vec<usize>> = units.into_values().collect();
            shuffle(&mut units, &mut stream(self.seed, "hold-out", 0));
            let parts = stratified(dataset, units, &[self.test, 1.0 - self.test]);
            let mut tested = vec![false; classes.len()];
            parts[0].iter().for_each(|&index| tested[index] = true);
            return Ok(tested);
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

    /// The examples of test, train and dev, out of those held out and the others.
    pub(super) fn limited(
        &self,
        dataset: &Dataset,
        held_out: Vec<usize>,
        others: Vec<usize>,
    ) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
        let test = limited(dataset, held_out, self.test_limit, self.seed);
        let dev = DevOf {
            share: self.dev,
            drawn: self.dev_drawn,
            seed: self.seed,
        };
        let (train, dev) = dev.divide(dataset, others, self.train_limit);
        (test, train, dev)
    }
}

/// The most frequent class of `unit`; the first of them in a tie.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DevDrawn, Example, Input, Split, Target};
    use std::collections::HashSet;

    /// 200 examples, 120 of class 0; `repeated` of them take the text of another, in turn with the other class.
    fn dataset(repeated: usize) -> Dataset {
        let examples = (0..200)
            .map(|index| Example {
                id: index.to_string(),
                input: Input::Text(if index < repeated {
                    format!("text {}", index + 113)
                } else {
                    format!("text {index}")
                }),
                target: Target::Class(usize::from(index % 5 >= 3)),
                group: None,
            })
            .collect();
        crate::split::two_classes(examples)
    }

    fn hold_out(test: f64, seed: u64) -> HoldOut {
        HoldOut {
            test,
            dev: 0.0,
            seed,
            duplicates: Duplicates::Keep,
            train_limit: None,
            dev_drawn: DevDrawn::AfterLimit,
            test_limit: None,
        }
    }

    fn divide(
        dataset: &Dataset,
        test: f64,
        seed: u64,
        duplicates: Duplicates,
    ) -> crate::SplitIndices {
        Split::HoldOut(HoldOut {
            duplicates,
            ..hold_out(test, seed)
        })
        .divide(dataset, 0)
        .expect("a division")
    }

    #[test]
    fn the_share_is_held_out_of_every_class() {
        for (test, expected) in [
            (0.2, [24, 16]),
            (0.25, [30, 20]),
            (0.5, [60, 40]),
            (0.01, [1, 1]),
            (0.333, [40, 27]),
        ] {
            let data = dataset(0);
            let parts = divide(&data, test, 1, Duplicates::Keep);
            let of = |class| {
                parts
                    .test
                    .iter()
                    .filter(|&&index| data.examples[index].target == Target::Class(class))
                    .count()
            };
            assert_eq!([of(0), of(1)], expected, "{test}");
            let both: HashSet<usize> = parts.train.iter().chain(&parts.test).copied().collect();
            assert_eq!(
                (both.len(), parts.train.len() + parts.test.len()),
                (200, 200)
            );
            assert!(parts.test.is_sorted() && parts.train.is_sorted());
        }
    }

    #[test]
    fn a_seed_gives_one_division_and_another_seed_another() {
        let data = dataset(0);
        assert_eq!(
            divide(&data, 0.2, 1, Duplicates::Keep),
            divide(&data, 0.2, 1, Duplicates::Keep)
        );
        assert_ne!(
            divide(&data, 0.2, 1, Duplicates::Keep),
            divide(&data, 0.2, 2, Duplicates::Keep)
        );
    }

    #[test]
    fn equal_texts_stay_on_one_side_when_grouped_and_leak_when_kept() {
        let data = dataset(40);
        assert!(divide(&data, 0.2, 1, Duplicates::Keep).leaked > 0);
        let parts = divide(&data, 0.2, 1, Duplicates::Group);
        assert_eq!((parts.leaked, parts.test.len()), (0, 40));
    }

    #[test]
    fn without_repeated_texts_both_settings_divide_alike() {
        let data = dataset(0);
        assert_eq!(
            divide(&data, 0.2, 1, Duplicates::Keep),
            divide(&data, 0.2, 1, Duplicates::Group)
        );
    }

    #[test]
    fn a_share_too_small_for_a_class_is_an_error() {
        let split = Split::HoldOut(hold_out(0.004, 1));
        let error = split
            .divide(&dataset(0), 0)
            .expect_err("one test example for two classes");
        assert_eq!(
            error.to_string(),
            "test: 0.004 leaves no test example of class 1; expected a larger share"
        );
    }

    #[test]
    fn a_part_to_decide_by_and_limits_leave_what_is_held_out_where_it_was() {
        let data = dataset(0);
        let whole = divide(&data, 0.2, 1, Duplicates::Keep);
        let split = Split::HoldOut(HoldOut {
            dev: 0.25,
            train_limit: Some(80),
            test_limit: Some(20),
            ..hold_out(0.2, 1)
        });
        let parts = split.divide(&data, 0).expect("a division");
        let ones = |part: &[usize]| {
            let class = |&&index: &&usize| data.examples[index].target == Target::Class(1);
            part.iter().filter(class).count()
        };
        assert_eq!((parts.train.len(), ones(&parts.train)), (60, 24));
        assert_eq!((parts.dev.len(), ones(&parts.dev)), (20, 8));
        assert_eq!((parts.test.len(), ones(&parts.test)), (20, 8));
        assert!(parts.test.iter().all(|index| whole.test.contains(index)));
        let learned: HashSet<usize> = parts.train.iter().chain(&parts.dev).copied().collect();
        assert_eq!(learned.len(), 80);
        assert!(learned.iter().all(|index| whole.train.contains(index)));
        assert!(split.has_dev());
    }
}
