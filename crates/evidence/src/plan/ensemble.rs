//! Ensembles as declared in `report.toml`; [`crate::select::ensemble`] forms them from runs.

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use super::{Group, Plan, Where, check_id};

/// The path of a run that is an ensemble: its value is the ensemble's name.
pub const ENSEMBLE: &str = "ensemble";
/// The path of the rule that combines its members' predictions.
pub const RULE: &str = "ensemble-rule";

/// `[[ensemble]]` in `report.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EnsemblePlan {
    /// Name of the group that it becomes.
    pub(crate) id: String,
    pub(crate) title: String,
    /// One run of each of these groups, all of one seed.
    #[serde(default)]
    members: Vec<String>,
    /// Instead: `size` runs of one group, of different seeds; no run is in two ensembles.
    group: Option<String>,
    pub(crate) size: Option<usize>,
    #[serde(default)]
    pub(crate) rule: Rule,
}

/// Rule that combines the predictions of members.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rule {
    /// The class with the highest mean probability.
    #[default]
    Mean,
    /// The class that most members predict, with ties broken by the highest mean probability.
    Majority,
    /// The highest mean probability, with members weighted by their dev scores at their selected epochs.
    Weighted {
        /// The score that weighs it.
        metric: String,
    },
}

impl Rule {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Majority => "majority",
            Self::Weighted { .. } => "weighted",
        }
    }
}

impl EnsemblePlan {
    /// Names of the groups its members are of.
    pub(crate) fn groups(&self) -> &[String] {
        match &self.group {
            Some(group) => std::slice::from_ref(group),
            None => &self.members,
        }
    }

    /// Checks what the types cannot; `from` prefixes errors.
    fn check(&self, from: &str) -> Result<()> {
        let n = match (self.members.as_slice(), &self.group, self.size) {
            ([], Some(_), Some(size)) => size,
            (members @ [_, ..], None, None) => members.len(),
            _ => bail!("{from}: expected `members`, or `group` and `size`"),
        };
        ensure!(n > 1, "{from}: found {n} members, expected at least two");
        Ok(())
    }

    /// Conditions that select its runs.
    fn conditions(&self) -> Where {
        let name = toml::Value::String(self.id.clone());
        Where::from([(ENSEMBLE.to_owned(), name)])
    }
}

impl Plan {
    /// Makes a group of each ensemble; `shown` names the file.
    pub fn add_ensembles(&mut self, shown: &str) -> Result<()> {
        let mut ids = HashSet::new();
        for ensemble in &self.ensembles {
            let from = format!("{shown}: ensemble `{}`", ensemble.id);
            check_id(&ensemble.id, &from, &mut ids)?;
            ensemble.check(&from)?;
            for name in ensemble.groups() {
                self.group(name, &from)?;
            }
        }
        for ensemble in &self.ensembles {
            let group = Group {
                title: ensemble.title.clone(),
                conditions: ensemble.conditions(),
                paper_of: vec![],
            };
            let before = self.groups.insert(ensemble.id.clone(), group);
            ensure!(
                before.is_none(),
                "{shown}: ensemble `{}`: found a group of that name, expected another name",
                ensemble.id
            );
        }
        Ok(())
    }
}
