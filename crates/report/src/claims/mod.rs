//! `claims.toml`: what the paper says, as a quantity of sides under a relation, and what became of it.
//!
//! A claim names its `sides` (groups of runs), the [`quantity`] that is measured of them and the [`Relation`] in which
//! the paper finds it. [`judge`] measures every claim, corrects p-values over the page, and gives each its verdict.

mod finding;
mod judge;
mod quantity;
mod relation;
mod terms;
mod verdict;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use anyhow::{Result, bail};
use serde::Deserialize;

pub(crate) use self::finding::DecidedBy;
pub(crate) use self::judge::{ClaimContext, Judged, judge};
use self::quantity::Asked;
use self::relation::Relation;
use self::terms::Terms;
pub(crate) use self::verdict::Verdict;
use crate::plan::{Side, Tasks, check_id};
use crate::report_file::ReportFile;
use crate::toml_file::did_you_mean;

/// All claims of a paper.
#[derive(Debug, Deserialize)]
#[serde(try_from = "ClaimsFile")]
pub(crate) struct Claims {
    /// In the order of the page.
    pub(crate) claims: Vec<Claim>,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ClaimsFile {
    /// Settings of every claim that does not have its own.
    #[serde(default)]
    defaults: toml::Table,
    #[serde(default, rename = "claim")]
    claims: Vec<toml::Table>,
}

impl TryFrom<ClaimsFile> for Claims {
    type Error = String;

    fn try_from(file: ClaimsFile) -> Result<Self, String> {
        let claims = file.claims.into_iter().map(|mut own| {
            let id = own.get("id").and_then(toml::Value::as_str);
            let id = id.unwrap_or_default().to_owned();
            let named = |why: &str| format!("claim `{id}`: {why}");
            // `order = ["a", "b"]`: the sides, each greater than the next.
            if let Some(sides) = own.get("order").cloned() {
                if own.contains_key("sides") || own.contains_key("relation") {
                    return Err(named(
                        "found `order` with `sides` or `relation`, expected either",
                    ));
                }
                own.remove("order");
                own.insert("sides".to_owned(), sides);
                own.insert("relation".to_owned(), "greater".into());
            }
            let mut all = file.defaults.clone();
            all.extend(own);
            Claim::deserialize(all).map_err(|error| named(error.message()))
        });
        Ok(Self {
            claims: claims.collect::<Result<_, String>>()?,
        })
    }
}

/// One thing the paper says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Claim {
    pub(crate) id: String,
    /// The claim in a few words.
    pub(crate) title: String,
    /// The paper's own words.
    pub(crate) says: String,
    /// Where it says so.
    pub(crate) source: String,
    /// Who made the number.
    pub(crate) by: By,
    /// What a reader should know about how it is checked.
    #[serde(default)]
    pub(crate) note: String,
    /// Profiles whose runs can decide it; none means all. A value of BERT-base, say, is not for another encoder.
    #[serde(default)]
    pub(crate) profiles: Vec<String>,
    /// Groups of runs, the one that the paper puts higher first; none where its own numbers or words decide.
    #[serde(default)]
    sides: Vec<Side>,
    /// Names of tasks in `report.toml`.
    #[serde(default)]
    tasks: Vec<String>,
    /// Instead: the name of a set of them. Neither means all tasks.
    among: Option<String>,
    /// What is measured.
    quantity: Asked,
    /// How the sides compare by it, according to the paper; left out where its own numbers or words decide.
    #[serde(default)]
    relation: Relation,
}

/// Whether the authors ran it or took it from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum By {
    Authors,
    Copied,
}

impl By {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Authors => "run by the authors",
            Self::Copied => "copied from other work",
        }
    }
}

impl Claims {
    /// Checks what the types cannot: names that refer to groups, ids that name anchors, numbers in range.
    pub(crate) fn check(&self, plan: &ReportFile, shown: &str) -> Result<()> {
        let mut ids = HashSet::new();
        for claim in &self.claims {
            let terms = claim.terms(plan, shown);
            let from = &terms.from;
            check_id(&claim.id, from, &mut ids)?;
            for name in claim.sides.iter().flat_map(Side::names) {
                plan.group(name, from)?;
            }
            if let Some(profile) = claim
                .profiles
                .iter()
                .find(|profile| !plan.profiles.contains_key(*profile))
            {
                let near = did_you_mean(profile, plan.profiles.keys().map(String::as_str));
                bail!("{from}: unknown profile `{profile}`{near}");
            }
            claim.quantity.check(&terms)?;
        }
        Ok(())
    }
}

impl Claim {
    /// What its quantity is asked; `shown` names the file in errors.
    fn terms<'a>(&'a self, plan: &'a ReportFile, shown: &str) -> Terms<'a> {
        Terms {
            plan,
            from: format!("{shown}: claim `{}`", self.id),
            sides: &self.sides,
            named: Tasks {
                names: &self.tasks,
                among: self.among.as_ref(),
            },
            relation: &self.relation,
        }
    }
}
