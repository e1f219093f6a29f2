//! Checks that the paper's own numbers or words decide.

use anyhow::{Result, ensure};
use serde::Deserialize;

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
    /// The paper's, then what stands against it.
    pub(crate) quotes: [Quote; 2],
    /// Whose words the second quotation is.
    #[serde(default)]
    pub(crate) second: Second,
    pub(crate) verdict: Reading,
    pub(crate) reason: String,
}

/// Who says what stands against the paper.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Second {
    /// The paper itself.
    #[default]
    Paper,
    /// Someone else, whom the quotation's source names.
    Elsewhere,
}

/// Words and their place.
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

/// Terms and their printed mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct MeanOf {
    pub(crate) terms: Vec<f64>,
    /// As printed.
    pub(crate) mean: f64,
    /// For a mean given in round words ("around 40 %"): how far off still counts; left out, the mean has to round
    /// to the printed one.
    pub(crate) tolerance: Option<f64>,
}

/// Parts of a whole and their printed shares.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ShareOf {
    pub(crate) parts: Vec<f64>,
    pub(crate) whole: f64,
    /// One for each part, between 0 and 1.
    pub(crate) printed: Vec<f64>,
    /// As in [`MeanOf`].
    pub(crate) tolerance: Option<f64>,
    /// What parts and whole count, such as `layers`.
    #[serde(default)]
    pub(crate) unit: String,
}

impl Arithmetic {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            self.shares.is_empty() || self.shares.len() == self.terms.len(),
            "{from}: found {} shares, expected one for each of {} terms",
            self.shares.len(),
            self.terms.len()
        );
        Ok(())
    }
}

impl F1Bound {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            0.0 < self.positives && self.positives < self.total,
            "{from}: found {} positives of {}, expected some but not all",
            self.positives,
            self.total
        );
        Ok(())
    }
}

impl PValue {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            self.df > 0.0,
            "{from}: found df = {}, expected more than 0",
            self.df
        );
        Ok(())
    }
}

impl Power {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            self.n > 1,
            "{from}: found n = {}, expected at least 2",
            self.n
        );
        ensure!(
            self.t != 0.0,
            "{from}: found t = 0, expected the t of a difference"
        );
        Ok(())
    }
}

impl MeanOf {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            !self.terms.is_empty(),
            "{from}: found no terms, expected those of the mean"
        );
        Ok(())
    }
}

impl ShareOf {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            self.whole > 0.0,
            "{from}: found whole = {}, expected more than 0",
            self.whole
        );
        ensure!(
            !self.parts.is_empty() && self.parts.len() == self.printed.len(),
            "{from}: found {} printed shares, expected one for each of {} parts",
            self.printed.len(),
            self.parts.len()
        );
        Ok(())
    }
}
