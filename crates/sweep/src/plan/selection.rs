//! Selection of the runs of a plan by id, experiment, arm, dataset and shard.

use std::collections::BTreeSet;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use crate::RunSpec;
use crate::settings::suggest;

/// A part of a plan.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only these run ids (or unambiguous beginnings of them); all when empty.
    pub only: Vec<String>,
    /// Only runs of these experiments, trials of their searches included; all when empty.
    pub experiments: Vec<String>,
    /// Only runs of these arms, trials of their searches included; all when empty.
    pub arms: Vec<String>,
    /// Only runs on these datasets; all when empty.
    pub datasets: Vec<String>,
    /// Only this share of the runs.
    pub shard: Option<Shard>,
    /// Worker of several on one store: all runs, beginning with its own share.
    pub worker: Option<Shard>,
    /// Rerun failed runs.
    pub retry_failed: bool,
}

/// Every N-th run, starting with the i-th: `2/4` is the second of four shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, counted from 1.
    pub index: usize,
    /// Number of shards.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || -> Option<Self> {
            let (index, of) = text.split_once('/')?;
            Some(Self {
                index: index.trim().parse().ok()?,
                of: of.trim().parse().ok()?,
            })
        };
        let shard =
            parse().with_context(|| format!("`{text}` is no shard; expected i/N such as 1/4"))?;
        ensure!(
            shard.index >= 1 && shard.index <= shard.of,
            "shard {text}: expected i between 1 and N"
        );
        Ok(shard)
    }
}

impl Selection {
    /// Whether each of these runs, given by id and spec, is selected.
    ///
    /// # Errors
    /// When a name or the beginning of an id fits no run, or that of an id several.
    pub(crate) fn of<'a>(
        &self,
        runs: impl Iterator<Item = (String, &'a RunSpec)>,
    ) -> Result<Vec<bool>> {
        let runs: Vec<(String, &RunSpec)> = runs.collect();
        for wanted in &self.only {
            let starts = |(id, _): &&(String, _)| id.starts_with(wanted.as_str());
            let found = runs.iter().filter(starts).count();
            ensure!(
                found > 0,
                "no run {wanted} in this plan; `totune sweep plan` lists the ids"
            );
            ensure!(
                found == 1,
                "{found} runs begin with {wanted}; expected more of the id"
            );
        }
        let specs = || runs.iter().map(|(_, spec)| *spec);
        refuse_unknown(
            "experiment",
            &self.experiments,
            specs().map(RunSpec::experiment_file),
        )?;
        refuse_unknown("arm", &self.arms, specs().map(|spec| spec.arm.as_str()))?;
        refuse_unknown(
            "dataset",
            &self.datasets,
            specs().map(|spec| spec.dataset.as_str()),
        )?;

        let selected = runs.iter().enumerate().map(|(at, (id, spec))| {
            let in_shard = |shard: Shard| at % shard.of == shard.index - 1;
            self.has_id(id) && self.names(spec) && self.shard.is_none_or(in_shard)
        });
        Ok(selected.collect())
    }

    /// Whether the id of a run is among those given.
    pub(crate) fn has_id(&self, id: &str) -> bool {
        let starts = |only: &String| id.starts_with(only.as_str());
        self.only.is_empty() || self.only.iter().any(starts)
    }

    /// Whether the experiment, the arm and the dataset of a run are among those named.
    pub(crate) fn names(&self, spec: &RunSpec) -> bool {
        let is_of = |wanted: &[String], name: &str| {
            wanted.is_empty() || wanted.iter().any(|wanted| wanted == name)
        };
        is_of(&self.experiments, spec.experiment_file())
            && is_of(&self.arms, &spec.arm)
            && is_of(&self.datasets, &spec.dataset)
    }
}

/// Refuses names that are not among the existing ones.
fn refuse_unknown<'a>(
    what: &str,
    wanted: &[String],
    existing: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let existing: BTreeSet<&str> = existing.collect();
    let unknown = |name: &&String| !existing.contains(name.as_str());
    if let Some(name) = wanted.iter().find(unknown) {
        let existing: Vec<&str> = existing.into_iter().collect();
        let what = format!("{what} of this plan");
        bail!("{}", suggest::unknown(&what, name, &existing));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_written_i_of_n() {
        assert_eq!(
            "2/4".parse::<Shard>().expect("parses"),
            Shard { index: 2, of: 4 }
        );
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
