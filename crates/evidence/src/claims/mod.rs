//! `claims.toml`: what the paper says, as a quantity of sides under a relation, and what became of it.
//!
//! A claim names its `sides` (groups of runs), the [`quantity`] that is measured of them and the [`Relation`] in which
//! the paper finds it, and settles before any run is looked at what difference matters, what is drawn anew and which test
//! decides. [`judge`] measures every claim and gives it its verdict.

mod explain;
mod finding;
mod gates;
mod judge;
mod quantity;
mod relation;
mod terms;
mod verdict;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

pub use self::finding::DecidedBy;
pub use self::judge::{ClaimContext, Judged, judge};
use self::quantity::QuantitySetting;
use self::relation::Relation;
use self::terms::Terms;
pub use self::verdict::Verdict;
use self::verdict::{Rule, Test};
use crate::plan::{Plan, Side, Tasks, Unit, check_id};
use crate::toml_file::did_you_mean;

/// All claims of a paper.
#[derive(Debug, Deserialize)]
#[serde(try_from = "ClaimsFile")]
pub struct Claims {
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
pub struct Claim {
    /// Its anchor on the page.
    pub id: String,
    /// The claim in a few words.
    pub title: String,
    /// The paper's own words.
    pub says: String,
    /// Section or page of those words.
    pub source: String,
    /// Origin of the number.
    pub by: By,
    /// Remark on the check, for readers.
    #[serde(default)]
    pub note: String,
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
    /// Measured quantity.
    quantity: QuantitySetting,
    /// Relation of the sides according to the paper; left out where its own numbers or words decide.
    #[serde(default)]
    relation: Relation,
    /// The smallest difference that matters, in units of the quantity; left out, it is the quantity's: a point of a score.
    margin: Option<f64>,
    /// Scope of the claim: tasks by name, or tasks in general, of which they are a sample.
    #[serde(default)]
    scope: ScopeOfClaim,
    /// Source of variation between values: seeds, folds or examples.
    unit: Option<Unit>,
    /// Test whose p-value decides; the other one is shown too.
    #[serde(default)]
    decided_by: Test,
    /// Runs behind each number of the paper.
    #[serde(default = "one")]
    paper_runs: usize,
    /// Whether runs that learn nothing are what it is about.
    #[serde(default)]
    about_failure: bool,
    /// Whether a search is what it is about, so that sides of which one was searched more can be compared.
    #[serde(default)]
    about_search: bool,
}

/// Scope of a claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScopeOfClaim {
    #[default]
    TheseTasks,
    TasksInGeneral,
}

fn one() -> usize {
    1
}

/// Origin of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The authors ran it.
    Authors,
    /// They took it from elsewhere.
    Copied,
    /// No paper says it: a claim of this project.
    Project,
}

impl By {
    /// In words, behind the source of a claim.
    pub fn words(self) -> &'static str {
        match self {
            Self::Authors => "run by the authors",
            Self::Copied => "copied from other work",
            Self::Project => "stated by this project",
        }
    }
}

impl Claims {
    /// Checks what the types cannot: names that refer to groups, ids that name anchors, numbers in range.
    pub fn check(&self, plan: &Plan, shown: &str) -> Result<()> {
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
            claim.check_rule(from)?;
            claim.quantity.check_all(&terms)?;
        }
        Ok(())
    }
}

impl Claim {
    /// Terms of its quantity; `shown` names the file in errors.
    fn terms<'a>(&'a self, plan: &'a Plan, shown: &str) -> Terms<'a> {
        Terms {
            plan,
            from: format!("{shown}: claim `{}`", self.id),
            sides: &self.sides,
            named: Tasks {
                names: &self.tasks,
                among: self.among.as_ref(),
            },
            relation: &self.relation,
            margin: self.margin(),
            unit: self.unit(),
        }
    }

    fn margin(&self) -> f64 {
        self.margin.unwrap_or(self.quantity.margin())
    }

    fn unit(&self) -> Unit {
        match (self.unit, self.scope) {
            (Some(unit), _) => unit,
            (None, ScopeOfClaim::TheseTasks) => Unit::Seed,
            (None, ScopeOfClaim::TasksInGeneral) => Unit::Dataset,
        }
    }

    /// Test that decides comparisons of `n` values a side.
    fn rule(&self, n: f64) -> Rule {
        Rule {
            margin: self.margin(),
            test: self.decided_by,
            // The paper has as many tasks as we.
            paper_runs: match self.unit() {
                Unit::Dataset => n,
                _ => self.paper_runs as f64,
            },
        }
    }

    fn check_rule(&self, from: &str) -> Result<()> {
        let margin = self.margin();
        let needs = matches!(self.relation, Relation::Equivalent | Relation::NonInferior);
        ensure!(
            margin >= 0.0 && margin.is_finite() && (margin > 0.0 || !needs),
            "{from}: found margin = {margin}, expected more than 0"
        );
        ensure!(
            self.test_fits(),
            "{from}: found `decided-by = \"permutation\"`, expected it with the relations `greater` and `near` only, \
             since equivalence is decided by intervals"
        );
        ensure!(
            (self.scope == ScopeOfClaim::TasksInGeneral) == (self.unit() == Unit::Dataset),
            "{from}: found a `scope` with another `unit`, expected `unit = \"dataset\"` with `tasks-in-general` and \
             nowhere else"
        );
        ensure!(
            self.paper_runs > 0,
            "{from}: found paper-runs = 0, expected at least 1"
        );
        Ok(())
    }

    fn test_fits(&self) -> bool {
        let shown = matches!(self.relation, Relation::Greater | Relation::Near(_));
        self.decided_by == Test::T || shown
    }
}
