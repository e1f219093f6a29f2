//! Quantities measured on the sides of a claim: one file each.
//!
//! To add one, write `<name>.rs` with a struct that holds its settings and implements [`Quantity`], and name it in the
//! two lists below.

mod correlation;
mod deviation;
mod f1_bound;
mod failed_share;
mod late_rise;
mod layer_range;
mod layer_score;
mod layer_size;
mod layer_trend;
mod layers;
mod p_value;
mod power;
mod prelude;
mod printed;
mod printed_cells;
mod printed_differences;
mod printed_mean;
mod printed_share;
mod printed_sum;
mod quotes;
mod relative_score;
mod repeatability;
mod score;
mod score_at_time;
mod task_contrast;
mod task_score;
mod time_saving;
mod trainable_share;
mod trained_parameters;
mod variance;

use std::fmt::Debug;
use std::ops::{Deref, RangeInclusive};

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use super::finding::Finding;
use super::terms::Terms;
use crate::plan::Unit;
use crate::plan::Where;
use crate::select::runs::Runs;
use crate::toml_file::did_you_mean;

/// A quantity that can be measured on the sides of a claim.
pub(crate) trait Quantity: Debug {
    /// Relations, numbers of sides and source of data that it accepts.
    fn shape(&self, terms: &Terms) -> Shape;

    /// Conditions on a run beyond those of its side, one entry for each selection.
    fn selections(&self, terms: &Terms) -> Result<Vec<Where>> {
        let further = match self.shape(terms).subject {
            Subject::Tasks => {
                let tasks = terms.tasks()?;
                return Ok(tasks.iter().map(|task| task.conditions()).collect());
            }
            Subject::Runs(conditions) => vec![conditions],
            Subject::Printed => vec![],
        };
        let Terms { from, named, .. } = terms;
        ensure!(
            named.names.is_empty() && named.among.is_none(),
            "{from}: found tasks, expected none with this quantity"
        );
        Ok(further)
    }

    /// Checks what its type cannot.
    fn check(&self, _terms: &Terms) -> Result<()> {
        Ok(())
    }

    /// The smallest difference that matters, unless the claim has its own; 0 where no size does.
    fn margin(&self) -> f64 {
        POINT
    }

    /// Whether it compares what runs have learned.
    fn compares_runs(&self) -> bool {
        true
    }

    /// The paper's statement about it.
    fn stated(&self, terms: &Terms) -> Result<String>;

    /// Measures it on the runs, or computes it from the paper's own numbers.
    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding>;
}

/// Relations, numbers of sides and source of data that a quantity accepts.
pub(crate) struct Shape {
    /// Names of the relations that can hold of it.
    relations: &'static [&'static str],
    /// Numbers of sides.
    sides: RangeInclusive<usize>,
    subject: Subject,
}

/// Source of a quantity's data.
enum Subject {
    /// Runs of the sides on each task.
    Tasks,
    /// Runs of the sides that meet further conditions, whatever their task.
    Runs(Where),
    /// Tables of the page, or the paper's own numbers and words.
    Printed,
}

impl Shape {
    /// Two sides on each task.
    fn of_tasks(relations: &'static [&'static str]) -> Self {
        Self {
            relations,
            sides: 2..=2,
            subject: Subject::Tasks,
        }
    }

    /// The runs of two sides that meet `conditions`.
    fn of_runs(relations: &'static [&'static str], conditions: Where) -> Self {
        Self {
            subject: Subject::Runs(conditions),
            ..Self::of_tasks(relations)
        }
    }

    /// No runs: printed numbers of the paper, or tables of the page.
    fn printed(relations: &'static [&'static str]) -> Self {
        Self {
            subject: Subject::Printed,
            ..Self::of_tasks(relations).sides(0..=0)
        }
    }

    /// The same with other numbers of sides.
    fn sides(self, sides: RangeInclusive<usize>) -> Self {
        Self { sides, ..self }
    }
}

kinds! {
    /// Every quantity with its settings.
    Kind as Quantity {
    Correlation = correlation,
    Deviation = deviation,
    F1Bound = f1_bound,
    FailedShare = failed_share,
    LateRise = late_rise,
    LayerRange = layer_range,
    LayerScore = layer_score,
    LayerSize = layer_size,
    LayerTrend = layer_trend,
    PValue = p_value,
    Power = power,
    PrintedCells = printed_cells,
    PrintedDifferences = printed_differences,
    PrintedMean = printed_mean,
    PrintedShare = printed_share,
    PrintedSum = printed_sum,
    Quotes = quotes,
    RelativeScore = relative_score,
    Repeatability = repeatability,
    Score = score,
    ScoreAtTime = score_at_time,
    TaskContrast = task_contrast,
    TaskScore = task_score,
    TimeSaving = time_saving,
    TrainableShare = trainable_share,
    TrainedParameters = trained_parameters,
    Variance = variance,
}
}

/// The quantity of a claim: its name, or a table with its `kind` and settings.
#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) struct QuantitySetting(Kind);

impl TryFrom<toml::Value> for QuantitySetting {
    type Error = String;

    fn try_from(written: toml::Value) -> Result<Self, String> {
        let table = match written {
            toml::Value::String(_) => toml::Table::from_iter([("kind".to_owned(), written)]),
            toml::Value::Table(table) => table,
            other => {
                return Err(format!(
                    "found {}, expected the name of a quantity or a table with its `kind`",
                    other.type_str()
                ));
            }
        };
        let read = Kind::deserialize(table);
        read.map(Self).map_err(|error| error.message().to_owned())
    }
}

impl QuantitySetting {
    /// Checks that sides, tasks and relation fit the quantity.
    pub(crate) fn check_all(&self, terms: &Terms) -> Result<()> {
        let quantity = self.0.get();
        let (from, found) = (&terms.from, terms.relation.name());
        let shape = quantity.shape(terms);
        let known = shape.relations;
        if !known.contains(&found) {
            let near = did_you_mean(found, known.iter().copied());
            bail!(
                "{from}: found the relation `{found}`, expected one of: {}{near}",
                known.join(", ")
            );
        }
        terms.relation.check(from)?;
        let expected = shape.sides;
        ensure!(
            expected.contains(&terms.sides.len()),
            "{from}: found {} sides, expected {}",
            terms.sides.len(),
            match (*expected.start(), *expected.end()) {
                (least, most) if least == most => least.to_string(),
                (least, usize::MAX) => format!("at least {least}"),
                (least, most) => format!("from {least} to {most}"),
            }
        );
        let fits = match (terms.unit, shape.subject) {
            (Unit::Seed, _) => true,
            (Unit::Fold, subject) => matches!(subject, Subject::Runs(_)),
            (Unit::Dataset, subject) => matches!(subject, Subject::Tasks),
        };
        ensure!(
            fits,
            "{from}: found a `unit` that this quantity does not have: folds are of runs of one dataset, datasets of tasks"
        );
        quantity.selections(terms)?;
        quantity.check(terms)
    }
}

impl Deref for QuantitySetting {
    type Target = dyn Quantity;

    fn deref(&self) -> &Self::Target {
        self.0.get()
    }
}

/// Relations that can hold of a difference of scores.
const DIFFERENCES: &[&str] = &["greater", "near", "equivalent", "non-inferior"];

/// A share of the time of a run that is worth saving.
const TIME: f64 = 0.05;

/// A point of a score.
const POINT: f64 = 0.01;

/// Any number of sides, from `least` on.
fn at_least(least: usize) -> RangeInclusive<usize> {
    least..=usize::MAX
}

/// Checks a quantity whose sides are compared: printed sizes are not 0, there are as many of them as comparisons, and
/// none has a tolerance, since its uncertainty is that of the runs.
fn sized(terms: &Terms, comparisons: usize) -> Result<()> {
    let (from, papers) = (&terms.from, terms.relation.papers());
    if terms.relation.name() != "near" {
        return Ok(());
    }
    ensure!(
        papers.len() == comparisons,
        "{from}: found {} values of the paper, expected {comparisons}",
        papers.len()
    );
    ensure!(
        terms.relation.tolerance().is_none(),
        "{from}: found a `tolerance` of a difference, expected none: the uncertainty of the runs decides"
    );
    ensure!(
        !papers.contains(&0.0),
        "{from}: found paper = 0, expected a difference; the relation `equivalent` is for none"
    );
    Ok(())
}

/// Checks a quantity that is compared with a printed value: there is at most one, with a tolerance.
fn with_tolerance(terms: &Terms) -> Result<()> {
    ensure!(
        terms.relation.papers().len() < 2 && terms.relation.tolerance().is_some(),
        "{}: found no tolerance, or several values, expected one value at most and its tolerance",
        terms.from
    );
    Ok(())
}
