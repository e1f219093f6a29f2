//! The numbers of one group of runs, and how two groups may be paired.

use std::collections::{BTreeMap, BTreeSet};

use totune_stats::{Interval, mean, sd, t_interval};

use crate::text::{counted, counts};

/// Confidence of every interval on the page.
pub(crate) const LEVEL: f64 = 0.95;

/// What tells the runs of a group apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) fold: u64,
    pub(crate) seed: u64,
}

/// One number per run of a group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// The numbers, in the order of the files.
    pub(crate) values: Vec<f64>,
    keys: Vec<Key>,
    /// Dataset and split of the runs, as texts to compare.
    splits: BTreeSet<String>,
    /// Runs that gave no number, by status.
    pub(crate) lost: BTreeMap<String, usize>,
    /// Why there is none at all, if so.
    pub(crate) note: Option<String>,
    /// What its runs must not be taken for.
    pub(crate) labels: BTreeSet<String>,
}

/// What two groups share run by run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shared {
    /// The same folds of the same split: the fold's difficulty is common to both sides.
    Folds,
    /// The same seeds on one split: order of data and initial head are common, which matters less.
    Seeds,
}

impl Sample {
    pub(crate) fn push(&mut self, value: f64, key: Key, split: String) {
        self.values.push(value);
        self.keys.push(key);
        self.splits.insert(split);
    }

    /// Adds a run that ended well, with a number of it if it has one.
    pub(crate) fn add(&mut self, number: Option<f64>, key: Key, split: String) {
        let lost = match number {
            Some(value) if value.is_finite() => {
                return self.push(value, key, split);
            }
            Some(_) => "not a number",
            None => "not scored",
        };
        *self.lost.entry(lost.to_owned()).or_default() += 1;
    }

    /// All runs of several groups as one.
    pub(crate) fn pooled(samples: Vec<Self>) -> Self {
        let mut samples = samples.into_iter();
        let mut pool = samples.next().unwrap_or_default();
        for sample in samples {
            pool.values.extend(sample.values);
            pool.keys.extend(sample.keys);
            pool.splits.extend(sample.splits);
            for (status, n) in sample.lost {
                *pool.lost.entry(status).or_default() += n;
            }
            pool.note = pool.note.or(sample.note);
            pool.labels.extend(sample.labels);
        }
        pool
    }

    /// The same runs with other numbers.
    pub(crate) fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            values: self.values.iter().copied().map(change).collect(),
            ..self.clone()
        }
    }

    /// Number of runs that gave a number.
    pub(crate) fn n(&self) -> usize {
        self.values.len()
    }

    /// `None` without runs.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.n() > 0).then(|| mean(&self.values))
    }

    /// `None` for fewer than two runs.
    pub(crate) fn sd(&self) -> Option<f64> {
        (self.n() > 1).then(|| sd(&self.values))
    }

    /// Student's interval for the mean; `None` for fewer than two runs, or where they all agree, since an
    /// interval of no width would pass for certainty.
    pub(crate) fn interval(&self) -> Option<Interval> {
        t_interval(&self.values, LEVEL).filter(|interval| interval.low < interval.high)
    }

    /// `10 seeds`, `10 folds`, `30 runs (10 folds, 3 seeds)`, `no run`.
    pub(crate) fn unit(&self) -> String {
        let distinct =
            |field: fn(&Key) -> u64| self.keys.iter().map(field).collect::<BTreeSet<_>>().len();
        match (self.n(), distinct(|key| key.fold), distinct(|key| key.seed)) {
            (0, ..) => "no run".to_owned(),
            (1, ..) => "1 run".to_owned(),
            (n, folds, _) if n == folds => counted(n, "fold"),
            (n, _, seeds) if n == seeds => counted(n, "seed"),
            (n, folds, seeds) => {
                let several = [(folds, "fold"), (seeds, "seed")]
                    .into_iter()
                    .filter(|(n, _)| *n > 1);
                let parts: Vec<String> = several.map(|(n, noun)| counted(n, noun)).collect();
                let detail = if parts.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", parts.join(", "))
                };
                format!("{}{detail}", counted(n, "run"))
            }
        }
    }

    /// Whether the runs are folds of one another's data, so that their numbers are not independent.
    pub(crate) fn is_folds(&self) -> bool {
        self.keys.iter().any(|key| key.fold != self.keys[0].fold)
    }

    /// `2 diverged, 1 failed`; empty when none was lost.
    pub(crate) fn lost_text(&self) -> String {
        counts(&self.lost)
    }

    /// Both sides' numbers run by run, where every run of one has its counterpart in the other.
    ///
    /// That takes one dataset and one split on both sides, and the same (fold, seed) on each, once.
    pub(crate) fn paired_with(&self, other: &Self) -> Option<(Vec<f64>, Vec<f64>, Shared)> {
        if self.splits != other.splits || self.splits.len() != 1 || self.n() != other.n() {
            return None;
        }
        let by_key = |sample: &Self| -> BTreeMap<Key, f64> {
            sample
                .keys
                .iter()
                .copied()
                .zip(sample.values.iter().copied())
                .collect()
        };
        let (left, right) = (by_key(self), by_key(other));
        if left.len() != self.n() || !left.keys().eq(right.keys()) {
            return None;
        }
        let shared = if self.is_folds() {
            Shared::Folds
        } else {
            Shared::Seeds
        };
        Some((
            left.into_values().collect(),
            right.into_values().collect(),
            shared,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_says_what_its_runs_are() {
        assert_eq!(sample(&[(0, 1), (0, 2), (0, 3)]).unit(), "3 seeds");
        assert_eq!(sample(&[(0, 1), (1, 1), (2, 1)]).unit(), "3 folds");
        assert_eq!(
            sample(&[(0, 1), (1, 1), (0, 2), (1, 2)]).unit(),
            "4 runs (2 folds, 2 seeds)"
        );
        assert_eq!(
            sample(&[(0, 1), (0, 2), (0, 1), (0, 2)]).unit(),
            "4 runs (2 seeds)"
        );
        assert_eq!(sample(&[(0, 1), (0, 1)]).unit(), "2 runs");
        assert_eq!(sample(&[(0, 1)]).unit(), "1 run");
        assert_eq!(sample(&[]).unit(), "no run");
    }

    #[test]
    fn runs_pair_by_fold_and_seed_whatever_their_order() {
        let (left, right) = (sample(&[(0, 1), (1, 1)]), sample(&[(1, 1), (0, 1)]));
        let (a, b, shared) = left.paired_with(&right).unwrap();
        assert_eq!(
            (a, b, shared),
            (vec![0.0, 1.0], vec![1.0, 0.0], Shared::Folds)
        );
    }

    #[test]
    fn runs_without_a_counterpart_do_not_pair() {
        let left = sample(&[(0, 1), (0, 2)]);
        assert!(left.paired_with(&sample(&[(0, 1), (0, 3)])).is_none());
        assert!(left.paired_with(&sample(&[(0, 1)])).is_none());
        let pooled = Sample::pooled(vec![left.clone(), left.clone()]);
        assert!(pooled.paired_with(&pooled).is_none());
    }

    #[test]
    fn runs_on_different_splits_do_not_pair() {
        let mut other = sample(&[(0, 1), (0, 2)]);
        other.splits = BTreeSet::from(["another".to_owned()]);
        assert!(sample(&[(0, 1), (0, 2)]).paired_with(&other).is_none());
    }

    /// Runs with the given folds and seeds, numbered from 0 in the order given.
    fn sample(keys: &[(u64, u64)]) -> Sample {
        let mut sample = Sample::default();
        for (number, &(fold, seed)) in keys.iter().enumerate() {
            sample.push(number as f64, Key { fold, seed }, "one split".to_owned());
        }
        sample
    }
}
