//! The numbers of one group of runs, and how two groups may be paired.

use std::collections::{BTreeMap, BTreeSet};

use totune_stats::{Estimate, Interval, mean, sd, t_interval};

use crate::plan::Unit;
use crate::text::{counted, counts};

/// Confidence of every interval on the page.
pub const LEVEL: f64 = 0.95;

/// The reason why there are no runs where they are still to be made.
pub const NOT_YET: &str = "not run yet";

/// Key of a run within its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub(crate) fold: u64,
    pub(crate) seed: u64,
}

/// One number per run of a group.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// The numbers, in the order of the files.
    pub values: Vec<f64>,
    keys: Vec<Key>,
    /// Dataset and split of the runs, as texts to compare.
    splits: BTreeSet<String>,
    /// Runs that gave no number, by status.
    pub lost: BTreeMap<String, usize>,
    /// The reason why there is none at all, if so.
    pub note: Option<String>,
    /// Whether there is none because its runs are still to be made.
    pub pending: bool,
    /// Labels of its runs.
    pub labels: BTreeSet<String>,
    /// Whether none of its runs involves randomness, so that every seed gives the same number.
    pub(crate) seedless: bool,
    /// Number of its runs that did not learn; see [`crate::select::learned`].
    pub unlearned: usize,
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
            pool.pending |= sample.pending;
            pool.labels.extend(sample.labels);
            pool.seedless &= sample.seedless;
            pool.unlearned += sample.unlearned;
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

    /// Mark of a mean if some of its runs did not learn.
    pub fn mark(&self) -> &'static str {
        if self.unlearned > 0 { "\u{2020}" } else { "" }
    }

    /// `2 of 3 runs did not learn`; empty when all did, or nobody knows.
    pub fn unlearned_text(&self) -> String {
        match self.unlearned {
            0 => String::new(),
            n => format!("\u{2020} {n} of {} did not learn", counted(self.n(), "run")),
        }
    }

    /// Number of runs that gave a number.
    pub fn n(&self) -> usize {
        self.values.len()
    }

    /// The mean; `None` without runs.
    pub fn mean(&self) -> Option<f64> {
        (self.n() > 0).then(|| mean(&self.values))
    }

    /// The standard deviation; `None` for fewer than two runs.
    pub fn sd(&self) -> Option<f64> {
        (self.n() > 1).then(|| sd(&self.values))
    }

    /// Student's interval for the mean of the seeds, or of the folds; `None` for fewer than two, where one of them lacks runs
    /// that others have, or where they all agree, since an interval of no width would pass for certainty.
    pub fn interval(&self) -> Option<Interval> {
        let unit = if self.is_folds() {
            Unit::Fold
        } else {
            Unit::Seed
        };
        let means: Vec<f64> = self.means(unit).into_values().collect();
        let distinct: BTreeSet<u64> = self.keys.iter().map(|key| unit_of(key, unit)).collect();
        if means.len() < distinct.len() {
            return None;
        }
        t_interval(&means, LEVEL).filter(|interval| interval.low < interval.high)
    }

    /// Intervals for the mean at two levels, by sampling unit: seeds, or folds of one cross-validation. `None` for
    /// fewer than two, or where they all agree.
    pub(crate) fn intervals(&self, unit: Unit, levels: [f64; 2]) -> Option<[Interval; 2]> {
        let means: Vec<f64> = self.means(unit).into_values().collect();
        let estimate = match unit {
            Unit::Fold => Estimate::of_folds(&means, 1.0 / (means.len() as f64 - 1.0)),
            _ => Estimate::of_mean(&means),
        };
        estimate.map(|estimate| levels.map(|level| estimate.interval(level)))
    }

    /// Text in the place of its numbers where there is none.
    pub fn absent(&self) -> &'static str {
        if self.pending { NOT_YET } else { "\u{2013}" }
    }

    /// `10 seeds`, `10 folds`, `30 runs (10 folds, 3 seeds)`, `none`, `not run yet`.
    pub fn unit(&self) -> String {
        let distinct =
            |field: fn(&Key) -> u64| self.keys.iter().map(field).collect::<BTreeSet<_>>().len();
        match (self.n(), distinct(|key| key.fold), distinct(|key| key.seed)) {
            (0, ..) if self.pending => NOT_YET.to_owned(),
            (0, ..) => "none".to_owned(),
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
    pub fn is_folds(&self) -> bool {
        self.keys.iter().any(|key| key.fold != self.keys[0].fold)
    }

    /// `2 diverged, 1 failed`; empty when none was lost.
    pub fn lost_text(&self) -> String {
        counts(&self.lost)
    }

    /// The means of both sides by seed or by fold, for those that are complete on both sides.
    ///
    /// Runs that share a seed or a fold, such as those of several settings, are no further samples: they are averaged. A seed
    /// that lost a run is left out, since its mean would be of other settings. A side without randomness is the same for
    /// every seed.
    pub(crate) fn matched(&self, other: &Self, unit: Unit) -> Result<(Vec<f64>, Vec<f64>), String> {
        if self.n() == 0 || other.n() == 0 {
            return Err("one side has no run".to_owned());
        }
        if unit != Unit::Fold && (self.is_folds() || other.is_folds()) {
            return Err(format!(
                "its runs are folds of one cross-validation, and its unit is the {}",
                unit.noun()
            ));
        }
        if unit == Unit::Fold && self.splits != other.splits {
            return Err("its sides are scored on different folds".to_owned());
        }
        let (left, right) = (self.means(unit), other.means(unit));
        let values = |means: &BTreeMap<u64, f64>| means.values().copied().collect::<Vec<f64>>();
        match (self.fixed(&left), other.fixed(&right)) {
            (None, Some(fixed)) => return Ok((values(&left), vec![fixed; left.len()])),
            (Some(fixed), None) => return Ok((vec![fixed; right.len()], values(&right))),
            _ => {}
        }
        let common = left
            .iter()
            .filter_map(|(key, a)| Some((*a, *right.get(key)?)));
        Ok(common.unzip())
    }

    /// Its only mean, where there is no randomness.
    fn fixed(&self, means: &BTreeMap<u64, f64>) -> Option<f64> {
        let only = means.values().next().copied();
        only.filter(|_| self.seedless && means.len() == 1)
    }

    /// The mean of each seed or fold that has as many runs as any other.
    fn means(&self, unit: Unit) -> BTreeMap<u64, f64> {
        let mut by_unit: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (key, value) in self.keys.iter().zip(&self.values) {
            by_unit.entry(unit_of(key, unit)).or_default().push(*value);
        }
        let most = by_unit.values().map(Vec::len).max().unwrap_or(0);
        by_unit.retain(|_, values| values.len() == most);
        by_unit
            .iter()
            .map(|(key, values)| (*key, mean(values)))
            .collect()
    }
}

/// The seed or the fold of a run.
fn unit_of(key: &Key, unit: Unit) -> u64 {
    match unit {
        Unit::Fold => key.fold,
        _ => key.seed,
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
        assert_eq!(sample(&[]).unit(), "none");
    }

    #[test]
    fn sides_match_by_fold_or_seed_whatever_their_order() {
        let (left, right) = (sample(&[(0, 1), (1, 1)]), sample(&[(1, 1), (0, 1)]));
        let found = left.matched(&right, Unit::Fold).unwrap();
        assert_eq!(found, (vec![0.0, 1.0], vec![1.0, 0.0]));
        let found = sample(&[(0, 1), (0, 2)]).matched(&sample(&[(0, 3), (0, 2)]), Unit::Seed);
        assert_eq!(found.unwrap(), (vec![1.0], vec![1.0]));
    }

    #[test]
    fn settings_that_share_a_seed_are_no_samples() {
        let left = sample(&[(0, 1), (0, 2), (0, 3)]);
        let pooled = Sample::pooled(vec![left.clone(), left.map(|value| value + 1.0)]);
        let (means, _) = pooled.matched(&left, Unit::Seed).unwrap();
        assert_eq!(means, [0.5, 1.5, 2.5]);
        // Nor do they make the interval narrower, or wide where seeds agree.
        assert_eq!(pooled.interval(), left.map(|value| value + 0.5).interval());
        let same = left.clone().map(|_| 1.0);
        let settings = vec![same.clone(), same.map(|value| value + 1.0)];
        assert_eq!(Sample::pooled(settings).interval(), None);
        // Where a seed lacks a setting, the mean would be of other runs than the interval.
        let fewer = Sample::pooled(vec![left.clone(), sample(&[(0, 1), (0, 2)])]);
        assert_eq!(fewer.interval(), None);
        // A seed that lost one of its settings would be a mean of others.
        let uneven = Sample::pooled(vec![left.clone(), sample(&[(0, 1), (0, 2)])]);
        assert_eq!(uneven.matched(&left, Unit::Seed).unwrap().0.len(), 2);
    }

    #[test]
    fn a_side_without_randomness_is_the_same_for_every_seed() {
        let mut floor = sample(&[(0, 0)]);
        floor.seedless = true;
        let (_, fixed) = sample(&[(0, 1), (0, 2)])
            .matched(&floor, Unit::Seed)
            .unwrap();
        assert_eq!(fixed, [0.0, 0.0]);
    }

    #[test]
    fn folds_of_other_splits_do_not_match() {
        let mut other = sample(&[(0, 1), (1, 1)]);
        other.splits = BTreeSet::from(["another".to_owned()]);
        let found = sample(&[(0, 1), (1, 1)]).matched(&other, Unit::Fold);
        assert!(found.is_err());
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
