//! One run with nothing implicit, and the id that names it.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use totune_adapt::Training;
use totune_data::Split;
use totune_stats::{Features, Logistic, Solver};

use crate::search::OF_TRIALS;

mod analyses;
mod floors;
mod schema;

pub use analyses::{DivergenceWork, Information, ProbeInput, ProbeWork, ProbedStates};
pub use floors::{Floor, FloorWork, Regression};

/// Everything that decides what a run computes, in full, and the arm it belongs to. Same settings, same id; same id, same
/// run.
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
    /// Name of the arm that it is a run of, by which reports select; no part of the id. Empty in a spec of schema 1, until
    /// the experiments say which it is ([`crate::Arms`]).
    pub arm: String,
    /// Profile it was expanded for.
    pub profile: String,
    /// Name of the dataset card.
    pub dataset: String,
    /// How the examples are divided.
    pub split: Split,
    /// Which of the split's folds is the test part; 0 for a hold-out split.
    pub fold: usize,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// What is done with the parts.
    pub work: Work,
    /// Paths of the settings that a search varied or chose, such as `work.training.adaptation.lr`; a trial is a run of
    /// the experiment `<name>-search`. Runs of one cell differ in these, the seed and that suffix alone.
    #[serde(default)]
    pub search: Vec<String>,
    /// How many settings the search tried that chose this run's values; no part of the id, since a run with the same
    /// values is the same run. `None` without a search, of a trial, and where it is not known.
    #[serde(default)]
    pub search_trials: Option<usize>,
    /// The id that it was made with, where an earlier schema gave it another one.
    #[serde(skip)]
    pub(crate) made_as: Option<String>,
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
    /// How far the terms of a dataset are from those of other texts.
    Divergence(DivergenceWork),
    /// What a task gives without training an encoder.
    Floor(Box<FloorWork>),
}

/// Sparse features and logistic regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SparseWork {
    /// How a text becomes numbers.
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
    /// Steps of the optimiser, at most.
    pub max_iter: usize,
    /// Largest entry of the gradient at which it stops.
    pub tol: f64,
    /// How the minimum is looked for.
    #[serde(default)]
    pub solver: Solver,
}

impl LogisticSettings {
    /// The model with these settings.
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
            made_as: None,
        }
    }

    /// The spec as JSON with sorted keys and no spaces, with its `schema`: what is stored in rows and selected on by reports.
    pub fn canonical_json(&self) -> String {
        canonical(&self.with_schema())
    }

    /// A stored spec, of this schema or an earlier one.
    ///
    /// # Errors
    /// When it is no spec, or one of a later schema.
    pub fn read(json: &str) -> Result<Self> {
        let value = serde_json::from_str(json).context("a spec: found no JSON")?;
        let value = schema::upgrade(value)?;
        serde_json::from_value(value).context("a spec: cannot be read")
    }

    /// What names the run: the first 16 hexadecimal digits of the SHA-256 of its canonical JSON without the arm and the
    /// number of trials, or what named it when it was made under an earlier schema.
    pub fn id(&self) -> String {
        match &self.made_as {
            Some(id) => id.clone(),
            None => {
                let mut value = self.with_schema();
                let object = value.as_object_mut().expect("a spec is a table");
                object.retain(|key, _| !schema::NOT_HASHED.contains(&key.as_str()));
                id_of(&value)
            }
        }
    }

    /// The id of the same run under schema 1, whether there ever was one.
    pub fn id_of_schema_1(&self) -> String {
        id_of(&schema::downgrade(self.value(), 1))
    }

    /// The ids of the same run under each earlier schema, the newest first, whether there ever was one.
    pub fn earlier_ids(&self) -> impl Iterator<Item = String> {
        schema::earlier().map(|schema| id_of(&schema::downgrade(self.value(), schema)))
    }

    fn value(&self) -> Value {
        serde_json::to_value(self).expect("a spec has string keys and finite numbers")
    }

    fn with_schema(&self) -> Value {
        let mut value = self.value();
        value
            .as_object_mut()
            .expect("a spec is a table")
            .insert("schema".to_string(), schema::SCHEMA.into());
        value
    }

    /// What tells this run from its neighbours in the same experiment, for people.
    pub fn label(&self) -> String {
        let mut parts = vec![self.experiment.clone()];
        match &self.work {
            Work::Sparse(work) => parts.push(kebab(&work.features)),
            Work::Tune(work) => {
                parts.push(self.dataset.clone());
                parts.push(work.encoder.clone());
                let adaptation = &work.training.adaptation;
                parts.push(adaptation.label());
                parts.push(format!("lr {:e}", adaptation.lr()));
                let key = adaptation.head_lr_key();
                // One that was searched comes with the other searched values.
                let is_searched = self.searches(&format!(".adaptation.{key}"));
                if let Some(lr) = adaptation.head_lr().filter(|_| !is_searched) {
                    parts.push(format!("{key} {lr:e}"));
                }
            }
            Work::Probe(work) => {
                parts.push(self.dataset.clone());
                parts.push(work.encoder.clone());
                let (input, states) = (kebab(&work.input), kebab(&work.states));
                parts.push(format!("probe of {input}, {states}"));
            }
            Work::Divergence(work) => {
                parts.push(self.dataset.clone());
                parts.push(format!("from {}", work.texts.join(" and ")));
            }
            Work::Floor(work) => {
                parts.push(self.dataset.clone());
                parts.extend(work.encoder.clone());
                parts.push(work.floor.label());
            }
        }
        parts.extend(self.searched());
        parts.push(split_label(&self.split));
        if self.split.n_folds() > 1 {
            parts.push(format!("fold {}", self.fold));
        }
        if matches!(self.work, Work::Tune(_) | Work::Probe(_)) {
            parts.push(format!("seed {}", self.seed));
        }
        parts.join(" · ")
    }

    /// As [`RunSpec::label`], without the values that a search is still to choose.
    pub(crate) fn label_before_its_search(&self) -> String {
        let (label, mut searched) = (self.label(), self.searched());
        if let Work::Tune(work) = &self.work
            && self.searches(LR)
        {
            searched.push(format!("lr {:e}", work.training.adaptation.lr()));
        }
        let open = |part: &&str| !searched.iter().any(|searched| searched == part);
        label
            .split(" · ")
            .filter(open)
            .collect::<Vec<_>>()
            .join(" · ")
    }

    /// Whether it is a trial of a search.
    pub(crate) fn is_trial(&self) -> bool {
        self.experiment.ends_with(OF_TRIALS)
    }

    fn searches(&self, end: &str) -> bool {
        self.search.iter().any(|path| path.ends_with(end))
    }

    /// What a search varied, but for the rate that labels have anyway: `dropout 0.3`.
    fn searched(&self) -> Vec<String> {
        let mut searched = Vec::new();
        if !self.search.is_empty() {
            let json = serde_json::to_value(self).expect("a spec has string keys");
            let paths = self.search.iter();
            for path in paths.filter(|path| !path.ends_with(LR)) {
                let value = json.pointer(&format!("/{}", path.replace('.', "/")));
                let name = path.rsplit('.').next().unwrap_or(path);
                searched.push(format!("{name} {}", value.unwrap_or(&Value::Null)));
            }
        }
        searched
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

    /// What runs share that begin at the same kept states of frozen layers.
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

    /// Whether runs of this kind share the processor well: many at once, each on one thread.
    pub fn runs_in_parallel(&self) -> bool {
        match &self.work {
            Work::Sparse(_) | Work::Divergence(_) => true,
            // A probe's layers are side by side already, and so are the folds of a floor.
            Work::Tune(_) | Work::Probe(_) | Work::Floor(_) => false,
        }
    }
}

/// How the path of a setting ends that labels have anyway.
const LR: &str = ".adaptation.lr";

fn split_label(split: &Split) -> String {
    let (kind, duplicates) = match split {
        Split::Files(files) => return format!("test on {}", files.test),
        Split::HoldOut(split) => ("hold-out".to_string(), kebab(&split.duplicates)),
        Split::KFold(split) => (
            format!("{} folds by {}", split.folds, kebab(&split.by)),
            kebab(&split.duplicates),
        ),
    };
    match duplicates.as_str() {
        "keep" => kind,
        _ => format!("{kind}, duplicates together"),
    }
}

/// A closed choice as it is written in TOML.
fn kebab(choice: &impl Serialize) -> String {
    match serde_json::to_value(choice) {
        Ok(Value::String(name)) => name,
        other => unreachable!("a choice serialises as its name, not as {other:?}"),
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of the canonical JSON.
fn id_of(value: &Value) -> String {
    let digest = Sha256::digest(canonical(value).as_bytes());
    let digits = digest.iter().take(8).map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// JSON with object keys in order, whatever the map type behind `Value` does.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests;
