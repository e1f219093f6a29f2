//! Equality of the number of search trials among the arms of an experiment.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::{RunSpec, Work};

/// Arms of one experiment that were searched with different numbers of trials on the same dataset, so that a difference
/// between them may be due to search effort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnequalSearch {
    /// Name of the experiment.
    pub experiment: String,
    /// The arms by their number of trials; `None` without a search, or where it is not known.
    pub arms: BTreeMap<Option<usize>, BTreeSet<String>>,
}

impl UnequalSearch {
    /// Unequal searches among the runs of a plan, by experiment. Only runs that train a model have something to search.
    pub(crate) fn among<'a>(specs: impl Iterator<Item = &'a RunSpec>) -> Vec<Self> {
        type Arms = BTreeMap<Option<usize>, BTreeSet<String>>;
        let mut cells: BTreeMap<[&str; 2], Arms> = BTreeMap::new();
        let trained = specs.filter(|spec| matches!(spec.work, Work::Tune(_)) && !spec.is_trial());
        for spec in trained {
            let arms = cells.entry([&spec.experiment, &spec.dataset]).or_default();
            let of_number = arms.entry(spec.search_trials).or_default();
            of_number.insert(spec.arm.clone());
        }
        let mut unequal: BTreeMap<&str, Arms> = BTreeMap::new();
        for ([experiment, _], arms) in cells.into_iter().filter(|(_, arms)| arms.len() > 1) {
            let all = unequal.entry(experiment).or_default();
            for (trials, names) in arms {
                all.entry(trials).or_default().extend(names);
            }
        }
        let named = unequal.into_iter();
        let named = named.map(|(experiment, arms)| Self {
            experiment: experiment.to_string(),
            arms,
        });
        named.collect()
    }
}

impl fmt::Display for UnequalSearch {
    /// `table-2: 2 trials (fine-tuned-pairs), 3 trials (features-pairs, features-texts)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.arms.iter().map(|(trials, names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let names = names.join(", ");
            match trials {
                None => format!("no search ({names})"),
                Some(1) => format!("1 trial ({names})"),
                Some(n) => format!("{n} trials ({names})"),
            }
        });
        let parts: Vec<String> = parts.collect();
        write!(f, "{}: {}", self.experiment, parts.join(", "))
    }
}
