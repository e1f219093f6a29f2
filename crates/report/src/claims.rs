//! `claims.toml`: what the paper says, in a form that runs or arithmetic can decide.

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use crate::plan::{Plan, Where, check_id};
use crate::toml_file::did_you_mean;

/// All claims of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Claims {
    /// In the order of the page.
    #[serde(default, rename = "claim")]
    pub(crate) claims: Vec<Claim>,
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
    pub(crate) check: Check,
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

/// How a claim is decided; to add a kind, add a variant here and its case in `judge`.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Check {
    /// A group's mean is the paper's value.
    Value(Value),
    /// The means of groups come in an order.
    Order(Order),
    /// One group's mean is above another's by so much.
    Difference(Difference),
    /// Two groups' means do not differ.
    NoDifference(Pair),
    /// One group varies more than another.
    Spread(Pair),
    /// Printed terms add up to a printed total.
    Arithmetic(Arithmetic),
    /// A printed F1 is possible at the printed accuracy.
    F1Bound(F1Bound),
    /// A printed p-value follows from the printed t and degrees of freedom.
    PValue(PValue),
    /// A printed test could have seen the difference it reports on.
    Power(Power),
    /// Two places in the paper, read side by side.
    Statement(Statement),
}

/// What is measured on which runs; every check of runs has these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Value {
    pub(crate) metric: String,
    pub(crate) split: String,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
    pub(crate) group: String,
    /// The paper's value; left out, it is the one a table of `report.toml` gives for the group and metric.
    pub(crate) paper: Option<f64>,
    /// How far off still counts as the same.
    pub(crate) tolerance: f64,
}

/// Groups from the highest to the lowest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Order {
    pub(crate) metric: String,
    pub(crate) split: String,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
    pub(crate) groups: Vec<Side>,
}

/// `a - b`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Difference {
    pub(crate) metric: String,
    pub(crate) split: String,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
    pub(crate) a: Side,
    pub(crate) b: Side,
    /// The size the paper gives in words, with its sign.
    pub(crate) paper: f64,
    /// How far off still counts as the same size.
    pub(crate) tolerance: f64,
}

/// Two sides to compare.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Pair {
    pub(crate) metric: String,
    pub(crate) split: String,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
    pub(crate) a: Side,
    pub(crate) b: Side,
}

/// A group, or several whose runs are pooled.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Side {
    One(String),
    Pooled(Vec<String>),
}

/// Terms and their printed sum.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Arithmetic {
    pub(crate) terms: Vec<f64>,
    pub(crate) total: f64,
    /// Printed shares of the terms, between 0 and 1, if the paper gives them.
    #[serde(default)]
    pub(crate) shares: Vec<f64>,
}

/// An F1 of one class and the accuracy it came with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct F1Bound {
    /// The group whose F1 and accuracy the paper prints; both are read from the tables of `report.toml`.
    pub(crate) group: String,
    pub(crate) accuracy: String,
    pub(crate) f1: String,
    pub(crate) split: String,
    /// Examples of the class, and of all.
    pub(crate) positives: f64,
    pub(crate) total: f64,
    /// What averaging over runs can add to the bound, which holds for one run.
    pub(crate) slack: f64,
}

/// A printed test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PValue {
    pub(crate) t: f64,
    pub(crate) df: f64,
    pub(crate) p: f64,
}

/// A printed test and the means it compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Power {
    pub(crate) metric: String,
    pub(crate) split: String,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) t: f64,
    /// Runs on each side.
    pub(crate) n: usize,
}

/// Two quotations and what a reader makes of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Statement {
    pub(crate) quotes: [Quote; 2],
    pub(crate) verdict: Reading,
    pub(crate) reason: String,
}

/// The paper's words and their place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Quote {
    pub(crate) text: String,
    pub(crate) source: String,
}

/// What reading can decide.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reading {
    Agree,
    Contradict,
}

impl Side {
    /// Names of the groups.
    pub(crate) fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Pooled(names) => names,
        }
    }
}

impl Claims {
    /// Checks what the types cannot: names that refer to groups, ids that name anchors, numbers in range.
    pub(crate) fn check(&self, plan: &Plan, shown: &str) -> Result<()> {
        let mut ids = HashSet::new();
        for claim in &self.claims {
            let from = format!("{shown}: claim `{}`", claim.id);
            check_id(&claim.id, &from, &mut ids)?;
            for name in claim.check.groups() {
                plan.group(name, &from)?;
            }
            if let Some(profile) = claim
                .profiles
                .iter()
                .find(|profile| !plan.profiles.contains_key(*profile))
            {
                let near = did_you_mean(profile, plan.profiles.keys().map(String::as_str));
                bail!("{from}: unknown profile `{profile}`{near}");
            }
            match &claim.check {
                Check::Order(order) => {
                    ensure!(
                        order.groups.len() > 1,
                        "{from}: found {} groups, expected at least two",
                        order.groups.len()
                    );
                }
                Check::Difference(difference) => {
                    ensure!(
                        difference.paper != 0.0,
                        "{from}: found paper = 0, expected a difference; use `no-difference`"
                    );
                }
                Check::Arithmetic(sum) => ensure!(
                    sum.shares.is_empty() || sum.shares.len() == sum.terms.len(),
                    "{from}: found {} shares, expected one for each of {} terms",
                    sum.shares.len(),
                    sum.terms.len()
                ),
                Check::F1Bound(bound) => ensure!(
                    0.0 < bound.positives && bound.positives < bound.total,
                    "{from}: found {} positives of {}, expected some but not all",
                    bound.positives,
                    bound.total
                ),
                Check::PValue(test) => {
                    ensure!(
                        test.df > 0.0,
                        "{from}: found df = {}, expected more than 0",
                        test.df
                    );
                }
                Check::Power(test) => {
                    ensure!(
                        test.n > 1,
                        "{from}: found n = {}, expected at least 2",
                        test.n
                    );
                    ensure!(
                        test.t != 0.0,
                        "{from}: found t = 0, expected the t of a difference"
                    );
                }
                Check::Value(_)
                | Check::NoDifference(_)
                | Check::Spread(_)
                | Check::Statement(_) => {}
            }
        }
        Ok(())
    }
}

impl Check {
    fn groups(&self) -> Vec<&String> {
        match self {
            Self::Value(check) => vec![&check.group],
            Self::Order(check) => check.groups.iter().flat_map(Side::names).collect(),
            Self::Difference(check) => check.a.names().iter().chain(check.b.names()).collect(),
            Self::NoDifference(check) | Self::Spread(check) => {
                check.a.names().iter().chain(check.b.names()).collect()
            }
            Self::F1Bound(check) => vec![&check.group],
            Self::Power(check) => vec![&check.a, &check.b],
            Self::Arithmetic(_) | Self::PValue(_) | Self::Statement(_) => vec![],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::toml_file::parse;

    #[test]
    fn what_is_misspelt_is_named_with_the_near_word() {
        check("kind = \"ordr\"", "did you mean `order`?");
        check(
            "kind = \"value\"\nmetrik = \"accuracy\"",
            "did you mean `metric`?",
        );
        check(&order("[\"ful\", \"frozen\"]"), "unknown group `ful`");
        check(&order("[\"full\", \"frozn\"]"), "did you mean `frozen`?");
    }

    #[test]
    fn what_cannot_be_decided_is_refused() {
        check(
            &order("[\"full\"]"),
            "found 1 groups, expected at least two",
        );
        let difference = "kind = \"difference\"\nmetric = \"accuracy\"\nsplit = \"test\"\na = \"full\"\nb = \"frozen\"\ntolerance = 0.01";
        check(&format!("{difference}\npaper = 0.0"), "use `no-difference`");
        check(
            "kind = \"p-value\"\nt = 1.0\ndf = 0\np = 0.5",
            "found df = 0",
        );
        check(
            "kind = \"arithmetic\"\nterms = [1, 2]\ntotal = 3\nshares = [0.5]",
            "found 1 shares",
        );
    }

    fn order(groups: &str) -> String {
        format!("kind = \"order\"\nmetric = \"accuracy\"\nsplit = \"test\"\ngroups = {groups}")
    }

    #[track_caller]
    fn check(check: &str, expected: &str) {
        let text = format!(
            "[[claim]]\nid = \"x\"\ntitle = \"\"\nsays = \"\"\nsource = \"\"\nby = \"authors\"\n[claim.check]\n{check}\n"
        );
        let read = parse::<Claims>(&text, "claims.toml");
        let error = read
            .and_then(|claims| claims.check(&fixture::plan(), "claims.toml"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("claims.toml: ") && error.contains(expected),
            "{error}"
        );
    }
}
