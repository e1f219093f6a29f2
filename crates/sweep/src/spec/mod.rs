//! A run with nothing implicit, and its id.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use totune_adapt::Training;
use totune_data::Split;
use totune_record::OF_TRIALS;
use totune_stats::{Features, Logistic, Solver};

mod analyses;
mod cell;
mod floors;
mod identity;
mod label;
mod schema;
mod sources;

pub use analyses::{DivergenceWork, Information, ProbeInput, ProbeWork, ProbedStates};
pub use floors::{Floor, FloorWork};
pub use sources::Stale;
pub(crate) use sources::{Sources, one_hash};

/// Everything that decides what a run computes, in full, and the arm it belongs to. Same settings, same id; same id,
/// same run.
///
/// A changed meaning of any field needs a new name for it, never a silent change: results on disk keep their ids. A new
/// setting, a new name or a new default needs a new schema, and with it a rule for older specs ([`RunSpec::read`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunSpec {
    /// Paper the run belongs to, such as `hart2020`.
    pub paper: String,
    /// Experiment file it came from, such as `table-2`.
    pub experiment: String,
    /// Name of the run's arm, by which reports select; not part of the id. Empty in a spec of schema 1 until the
    /// experiments supply it ([`crate::Arms`]).
    pub arm: String,
    /// Profile it was expanded for.
    pub profile: String,
    /// Name of the dataset card.
    pub dataset: String,
    /// Split of the examples.
    pub split: Split,
    /// Fold of the split that is the test part; 0 for a hold-out split.
    pub fold: usize,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// Work that is done with the parts.
    pub work: Work,
    /// Paths of the settings that a search varied or chose, such as `work.training.adaptation.lr`; a trial is a run of
    /// the experiment `<name>-search`. Runs of one cell differ only in these, the seed and that suffix.
    #[serde(default)]
    pub search: Vec<String>,
    /// Number of settings tried by the search that chose this run's values; not part of the id, since a run with the
    /// same values is the same run. `None` without a search, for a trial, and where it is not known.
    #[serde(default)]
    pub search_trials: Option<usize>,
    /// Id of a planned run: the one that follows from these settings; the one that it was made with, if an earlier schema
    /// gave it another one; or its new id, if something it reads has changed since.
    #[serde(skip)]
    pub(crate) known_id: Option<String>,
    /// Stale run that it replaces, since something that one read has changed.
    #[serde(skip)]
    pub(crate) replaces: Option<Stale>,
}

/// The kinds of work a run can be. The list is closed: `match` names every place a new kind has to be handled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Work {
    /// Sparse features and a linear model.
    Sparse(SparseWork),
    /// A pretrained encoder, adapted.
    #[serde(rename = "fine-tune")]
    Tune(Box<TuneWork>),
    /// Diagnostic classifiers and mutual information of every layer of an encoder.
    Probe(Box<ProbeWork>),
    /// Divergence of the terms of a dataset from those of other texts.
    Divergence(DivergenceWork),
    /// Scores of a task without training an encoder.
    Floor(Box<FloorWork>),
}

/// Sparse features and logistic regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SparseWork {
    /// Features of a text.
    pub features: Features,
    /// Settings of the logistic regression.
    pub logistic: LogisticSettings,
}

/// Settings of a logistic regression with an L2 penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LogisticSettings {
    /// Inverse strength of the penalty.
    pub c: f64,
    /// Maximum number of optimiser steps.
    pub max_iter: usize,
    /// Tolerance: the largest entry of the gradient at which the optimiser stops.
    pub tol: f64,
    /// Optimiser.
    #[serde(default)]
    pub solver: Solver,
}

impl LogisticSettings {
    /// Builds the model with these settings.
    pub fn model(&self) -> Logistic {
        Logistic {
            c: self.c,
            max_iter: self.max_iter,
            tol: self.tol,
            solver: self.solver,
        }
    }

    /// Refuses values out of range, naming the key.
    pub fn validate(&self) -> Result<()> {
        ensure!(
            self.c.is_finite() && self.c > 0.0,
            "logistic.c: found {}, expected more than 0",
            self.c
        );
        ensure!(
            self.max_iter >= 1,
            "logistic.max-iter: found {}, expected at least 1",
            self.max_iter
        );
        ensure!(
            self.tol.is_finite() && self.tol > 0.0,
            "logistic.tol: found {}, expected more than 0",
            self.tol
        );
        Ok(())
    }
}

/// One adaptation of one pretrained encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TuneWork {
    /// Name of the encoder card.
    pub encoder: String,
    /// Everything about the training that is not data, encoder or seed.
    pub training: Training,
}

impl RunSpec {
    /// A run that belongs to no experiment file, of the arm of this name.
    pub fn unlisted(arm: &str, (dataset, split): (&str, Split), seed: u64, work: Work) -> Self {
        let name = String::new;
        Self {
            paper: name(),
            experiment: name(),
            arm: arm.to_string(),
            profile: name(),
            dataset: dataset.to_string(),
            split,
            fold: 0,
            seed,
            work,
            search: Vec::new(),
            search_trials: None,
            known_id: None,
            replaces: None,
        }
    }

    /// Name of the experiment's file: for the trial of a search, of the experiment that has the search.
    pub(crate) fn experiment_file(&self) -> &str {
        let of_trial = self.experiment.strip_suffix(OF_TRIALS);
        of_trial.unwrap_or(&self.experiment)
    }

    /// Whether it is a trial of a search.
    pub(crate) fn is_trial(&self) -> bool {
        self.experiment.ends_with(OF_TRIALS)
    }

    /// Refuses values out of range, naming the key.
    pub fn validate(&self) -> Result<()> {
        self.split.check()?;
        let looks_at_dev = match &self.work {
            Work::Sparse(work) => {
                work.logistic.validate()?;
                ensure!(
                    work.logistic.solver == Solver::Lbfgs,
                    "logistic.solver: found \"preconditioned\", which is for dense features; expected \"lbfgs\""
                );
                None
            }
            Work::Tune(work) => {
                work.training.validate()?;
                work.training.looks_at_dev()
            }
            Work::Probe(work) => {
                work.validate()?;
                work.training
                    .as_ref()
                    .and_then(|training| training.looks_at_dev())
            }
            Work::Divergence(work) => {
                work.validate()?;
                None
            }
            Work::Floor(work) => {
                work.validate()?;
                None
            }
        };
        let by_search = (!self.search.is_empty()).then_some("search");
        if let Some(key) = looks_at_dev.or(by_search) {
            ensure!(
                self.split.has_dev(),
                "{key}: looks at scores on dev, but the split has no such part; expected `dev` in it, with more than 0, or `dev-split`"
            );
        }
        Ok(())
    }

    /// Name of the encoder card, where the work has one.
    pub fn encoder(&self) -> Option<&str> {
        match &self.work {
            Work::Sparse(_) | Work::Divergence(_) => None,
            Work::Tune(work) => Some(&work.encoder),
            Work::Probe(work) => Some(&work.encoder),
            Work::Floor(work) => work.encoder.as_deref(),
        }
    }

    /// Names of the cards of plain texts that the work reads.
    pub fn texts(&self) -> &[String] {
        match &self.work {
            Work::Divergence(work) => &work.texts,
            Work::Sparse(_) | Work::Tune(_) | Work::Probe(_) | Work::Floor(_) => &[],
        }
    }

    /// Sort key shared by runs that start from the same cached activations of frozen layers.
    pub(crate) fn affinity(&self) -> Vec<String> {
        match &self.work {
            Work::Sparse(_) | Work::Divergence(_) => vec![self.dataset.clone()],
            Work::Floor(work) => {
                let encoder = work.encoder.iter();
                std::iter::once(&self.dataset)
                    .chain(encoder)
                    .cloned()
                    .collect()
            }
            Work::Probe(work) => vec![
                self.dataset.clone(),
                work.encoder.clone(),
                kebab(&work.states),
            ],
            Work::Tune(work) => vec![
                self.dataset.clone(),
                work.encoder.clone(),
                work.training.adaptation.label(),
            ],
        }
    }

    /// Whether runs of this kind use the CPU best many at once, each on one thread.
    pub fn runs_in_parallel(&self) -> bool {
        match &self.work {
            Work::Sparse(_) | Work::Divergence(_) => true,
            // A probe's layers run in parallel already, and so do the folds of a floor.
            Work::Tune(_) | Work::Probe(_) | Work::Floor(_) => false,
        }
    }
}

/// A closed choice as it is written in TOML.
fn kebab(choice: &impl Serialize) -> String {
    match serde_json::to_value(choice) {
        Ok(Value::String(name)) => name,
        other => unreachable!("a choice serialises as its name, not as {other:?}"),
    }
}

#[cfg(test)]
mod tests;
