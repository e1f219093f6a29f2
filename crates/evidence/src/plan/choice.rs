//! Choices as declared in `report.toml`; [`crate::select::choice`] makes them from runs.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Plan;

/// `[[choice]]` in `report.toml`: a paper that trains each strategy at two learning rates and compares the better ones.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ChoicePlan {
    /// Groups whose dev scores decide, each task by its own metric, averaged over the tasks that all of them have.
    pub(crate) by: Vec<String>,
    /// Groups that the choice makes, by name: for each of `by`, the group that is meant where that one is better.
    groups: BTreeMap<String, Vec<String>>,
}

impl ChoicePlan {
    /// Checks what the types cannot; `from` prefixes errors.
    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        let n = self.by.len();
        ensure!(
            n > 1,
            "{from}: found {n} groups in `by`, expected at least two"
        );
        plan.check_groups(&self.by, from)?;
        for (name, candidates) in &self.groups {
            let found = candidates.len();
            ensure!(
                found == n,
                "{from}: `{name}`: found {found} groups, expected {n} as in `by`"
            );
            plan.check_groups(candidates, from)?;
        }
        Ok(())
    }
}

impl Plan {
    /// Makes the groups of each choice, for the time being the first of its candidates; `shown` names the file.
    pub fn add_choices(&mut self, shown: &str) -> Result<()> {
        for at in 0..self.choices.len() {
            let from = format!("{shown}: choice {}", at + 1);
            self.choices[at].check(self, &from)?;
            for name in self.choices[at].groups.keys() {
                let taken = self.groups.contains_key(name);
                ensure!(
                    !taken,
                    "{from}: found a group `{name}`, expected another name"
                );
            }
            self.take(at, 0, &from)?;
        }
        Ok(())
    }

    /// Makes the groups of a choice those of one of its candidates; both are given by their places.
    pub(crate) fn take(&mut self, choice: usize, candidate: usize, from: &str) -> Result<()> {
        for (name, candidates) in &self.choices[choice].groups {
            let chosen = self
                .groups
                .get(&candidates[candidate])
                .context(from.to_owned())?;
            let chosen = chosen.clone();
            self.groups.insert(name.clone(), chosen);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::plan;

    const PLAN: &str = "
        [groups.slow]
        title = 'Slow'
        where = { experiment = 'slow' }
        [groups.fast]
        title = 'Fast'
        where = { experiment = 'fast' }
        [tasks.task]
        title = 'Task'
        datasets = ['fixture-tweets']
        metric = 'accuracy'
        unit = 'accuracy'
        [[choice]]
        by = ['slow', 'fast']
        groups = { better = ['slow', 'fast'] }
    ";

    #[test]
    fn lists_of_unequal_length_and_names_twice_are_refused() {
        let refused = |text: &str| {
            let mut plan = plan(text).unwrap();
            plan.add_choices("report.toml").unwrap_err().to_string()
        };
        assert_eq!(
            refused(&PLAN.replace("better = ['slow', 'fast']", "better = ['slow']")),
            "report.toml: choice 1: `better`: found 1 groups, expected 2 as in `by`"
        );
        assert_eq!(
            refused(&PLAN.replace("better =", "slow =")),
            "report.toml: choice 1: found a group `slow`, expected another name"
        );
    }
}
