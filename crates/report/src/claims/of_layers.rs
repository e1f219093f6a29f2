//! Checks of scores by layer, metrics named `<metric>@layer-<i>`, and of two numbers over several tasks.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::of_tasks::Tasks;
use crate::curves::test;

/// Which runs, on which tasks, by which metric: what every check of layers has. Layer 0 is the embeddings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerTrend {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) group: String,
    /// Left out, it is each task's own.
    pub(crate) metric: Option<String>,
    #[serde(default = "test")]
    pub(crate) split: String,
    /// The lowest layer that counts.
    #[serde(default = "one")]
    pub(crate) from: u32,
}

/// `a` above `b` at every layer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayersAbove {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) metric: Option<String>,
    #[serde(default = "test")]
    pub(crate) split: String,
    #[serde(default = "one")]
    pub(crate) from: u32,
}

/// `a` and `b` alike, layer by layer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayersNear {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) metric: Option<String>,
    #[serde(default = "test")]
    pub(crate) split: String,
    #[serde(default = "one")]
    pub(crate) from: u32,
    /// The largest distance, in the mean over layers, that still is alike.
    pub(crate) limit: f64,
}

/// How scores move in a part of the layers: no more than so far, or so much of the whole way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayersFlat {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) group: String,
    pub(crate) metric: Option<String>,
    #[serde(default = "test")]
    pub(crate) split: String,
    /// Where the part begins, as a share of the depth: the paper's fourth of twelve layers is a third.
    pub(crate) after: f64,
    /// The largest range of scores that still is flat.
    pub(crate) limit: f64,
}

/// How much of the way from the lowest layer to the highest is left after some layer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LateRise {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) group: String,
    pub(crate) metric: Option<String>,
    #[serde(default = "test")]
    pub(crate) split: String,
    #[serde(default = "one")]
    pub(crate) from: u32,
    /// As in [`LayersFlat`].
    pub(crate) after: f64,
    /// The share of the rise that has to come later ("sharply in the last layers"), or
    pub(crate) at_least: Option<f64>,
    /// the share that may ("gradually").
    pub(crate) at_most: Option<f64>,
}

/// A number that is next to nothing at every layer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayersZero {
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    /// All of them.
    pub(crate) groups: Vec<String>,
    /// All of them.
    pub(crate) metrics: Vec<String>,
    #[serde(default = "test")]
    pub(crate) split: String,
    #[serde(default = "one")]
    pub(crate) from: u32,
    /// The largest that still is nothing.
    pub(crate) limit: f64,
}

/// Two rows of a table over its tasks, which the paper finds uncorrelated.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct NoCorrelation {
    /// The id of a matrix.
    pub(crate) table: String,
    /// Names of its rows.
    pub(crate) x: String,
    pub(crate) y: String,
}

/// Layers start here unless a claim says otherwise: the embeddings are below the first.
fn one() -> u32 {
    1
}

macro_rules! tasks_of {
    ($($check:ty),*) => {
        $(impl $check {
            pub(crate) fn tasks(&self) -> Tasks<'_> {
                Tasks { names: &self.tasks, among: self.among.as_ref() }
            }
        })*
    };
}

tasks_of!(
    LayerTrend,
    LayersAbove,
    LayersNear,
    LayersFlat,
    LateRise,
    LayersZero
);

impl LayersNear {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        above_zero(self.limit, from)
    }
}

impl LayersFlat {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        share_of_depth(self.after, from)?;
        above_zero(self.limit, from)
    }
}

impl LateRise {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        share_of_depth(self.after, from)?;
        ensure!(
            self.at_least.is_some() != self.at_most.is_some(),
            "{from}: expected one of `at-least` and `at-most`"
        );
        Ok(())
    }
}

impl LayersZero {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            !self.groups.is_empty() && !self.metrics.is_empty(),
            "{from}: found no groups or no metrics, expected at least one of each"
        );
        above_zero(self.limit, from)
    }
}

fn share_of_depth(after: f64, from: &str) -> Result<()> {
    ensure!(
        (0.0..1.0).contains(&after),
        "{from}: found after = {after}, expected a share of the depth, from 0 to less than 1"
    );
    Ok(())
}

fn above_zero(limit: f64, from: &str) -> Result<()> {
    ensure!(
        limit > 0.0 && limit.is_finite(),
        "{from}: found limit = {limit}, expected more than 0"
    );
    Ok(())
}
