//! One run with nothing implicit, and the id that names it.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use totune_adapt::Training;
use totune_data::Split;
use totune_stats::{Features, Logistic, Solver};

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

    /// What names the run: the first 16 hexadecimal digits of the SHA-256 of its canonical JSON without the arm, or what
    /// named it when it was made under an earlier schema.
    pub fn id(&self) -> String {
        match &self.made_as {
            Some(id) => id.clone(),
            None => {
                let mut value = self.with_schema();
                value
                    .as_object_mut()
                    .expect("a spec is a table")
                    .remove("arm");
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
                parts.push(work.training.adaptation.label());
                parts.push(format!("lr {:e}", work.training.adaptation.lr()));
                let of_head = work.training.adaptation.head_lr();
                // One that was searched comes with the other searched values.
                if let Some(lr) = of_head.filter(|_| !self.searches(HEAD_LR)) {
                    parts.push(format!("head-lr {lr:e}"));
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

/// How the paths of two settings end that labels have anyway.
const LR: &str = ".adaptation.lr";
const HEAD_LR: &str = ".adaptation.head-lr";

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
mod tests {
    use super::*;
    use totune_data::{Duplicates, FoldKind, KFold};

    fn spec() -> RunSpec {
        RunSpec {
            paper: "hart2020".to_string(),
            experiment: "table-1".to_string(),
            arm: "tf-idf".to_string(),
            profile: "paper".to_string(),
            dataset: "disaster-tweets".to_string(),
            split: Split::KFold(KFold {
                folds: 10,
                by: FoldKind::Shuffled,
                seed: Some(0),
                duplicates: Duplicates::Keep,
            }),
            fold: 3,
            seed: 0,
            work: Work::Sparse(SparseWork {
                features: Features::TfIdf,
                logistic: LogisticSettings {
                    c: 1.0,
                    max_iter: 100,
                    tol: 1e-4,
                    solver: Solver::Lbfgs,
                },
            }),
            search: Vec::new(),
            made_as: None,
        }
    }

    /// The id is what `printf '%s' '<the JSON below without its arm>' | sha256sum | cut -c1-16` prints. If this test fails,
    /// results on disk no longer mean what their ids say: give the changed meaning a new name instead.
    #[test]
    fn the_id_of_a_spec_never_changes() {
        let json = concat!(
            r#"{"arm":"tf-idf","dataset":"disaster-tweets","experiment":"table-1","fold":3,"paper":"hart2020","#,
            r#""profile":"paper","schema":5,"search":[],"seed":0,"#,
            r#""split":{"by":"shuffled","duplicates":"keep","folds":10,"kind":"k-fold","seed":0},"#,
            r#""work":{"features":"tf-idf","kind":"sparse","logistic":{"c":1.0,"max-iter":100,"solver":"lbfgs","tol":0.0001}}}"#
        );
        assert_eq!(spec().canonical_json(), json);
        assert_eq!(spec().id(), "58a470380dbf9644");
        let earlier: Vec<String> = spec().earlier_ids().collect();
        assert_eq!(
            earlier,
            [
                "0c113a4f84e17ffb",
                "8b69013e4104981a",
                "719a8f78f7d9b82b",
                "c609787a2e6c0eaf"
            ]
        );
    }

    /// As above, of a spec as schema 1 wrote it.
    #[test]
    fn a_spec_of_schema_1_is_read_in_full_and_knows_the_id_it_was_made_with() {
        let json = concat!(
            r#"{"dataset":"disaster-tweets","experiment":"table-2","fold":0,"paper":"hart2020","profile":"paper","seed":1,"#,
            r#""split":{"duplicates":"keep","kind":"hold-out","seed":13,"test":0.2},"#,
            r#""work":{"encoder":"bert-base-uncased","kind":"tune","training":{"#,
            r#""adaptation":{"embeddings":"frozen","k":2,"kind":"last-k","lr":0.00005,"pooler":"trainable"},"#,
            r#""batch-size":32,"bucketing":"off","clip":{"kind":"none"},"dropout":0.1,"dtype":"f32","epochs":3,"#,
            r#""evaluation-batch-size":64,"frozen-dropout":"on","head":{"dropout":0.1,"pooling":"pooler"},"max-length":64,"#,
            r#""optimizer":{"betas":[0.9,0.999],"epsilon":1e-8,"kind":"adam-w","no-decay":["\\.bias$","norm\\."],"weight-decay":0.01},"#,
            r#""schedule":{"end":0.0,"kind":"polynomial","power":1.0},"stop":{"kind":"epochs"}}}}"#,
        );
        let spec = RunSpec::read(json).expect("a spec");
        assert_eq!(spec.id_of_schema_1(), "5916faad31072a55");
        let earlier: Vec<String> = spec.earlier_ids().collect();
        assert_eq!(
            earlier,
            [
                "78d3345f654020be",
                "a3add02da90d1a77",
                "c5d48a441be6ceaa",
                "5916faad31072a55"
            ]
        );
        assert_eq!(spec.arm, "");
        let full = spec.canonical_json();
        for part in [
            r#""cache":{"kind":"off"}"#,
            r#""layer-decay":1.0"#,
            r#""head-lr":null"#,
            r#""head":{"dropout":0.1,"kind":"linear","layers":{"kind":"top"},"pooling":"pooler"}"#,
            r#""train-limit":null"#,
        ] {
            assert!(full.contains(part), "{part}: {full}");
        }
        assert_eq!(RunSpec::read(&full).expect("reads"), spec);
        assert_eq!(
            spec.label(),
            "table-2 · disaster-tweets · bert-base-uncased · last-2 · lr 5e-5 · hold-out · seed 1"
        );
    }

    /// What each kind of head said in schema 2, and says today.
    #[test]
    fn settings_of_heads_have_the_names_of_today_and_their_runs_the_ids_of_then() {
        for (then, today) in [
            (
                r#"{"dropout":0.1,"layers":{"kind":"top"},"pooling":"mean"}"#,
                r#""kind":"linear""#,
            ),
            (
                r#"{"boundaries":"off","dropout":0.1,"hidden":200,"init":"esim","kind":"tagger","layers":{"embeddings":true,"kind":"mix","layer-norm":false},"output":"crf","pieces":"last","projection":7,"recurrent-layers":0,"recurrent-over":"pieces"}"#,
                r#"{"boundaries":"off","dropout":0.1,"hidden":200,"init":"glorot-orthogonal","kind":"tagger","layers":{"embeddings":true,"kind":"scalar-mix","layer-norm":false},"mlp-hidden":7,"output":"crf","recurrent-layers":0,"recurrent-over":"subwords","subwords":"last"}"#,
            ),
            (
                r#"{"dropout":0.5,"hidden":3,"kind":"esim","layers":{"kind":"top"},"output":9,"projection":4}"#,
                r#""mlp-hidden":9,"projection":4"#,
            ),
            (
                r#"{"dropout":0.1,"hidden":9,"kind":"fully-connected","layers":{"kind":"top"}}"#,
                r#""mlp-hidden":9"#,
            ),
        ] {
            let json = concat!(
                r#"{"arm":"x","dataset":"d","experiment":"e","fold":0,"paper":"p","profile":"small","schema":2,"search":[],"seed":1,"#,
                r#""split":{"dev":0.0,"duplicates":"keep","kind":"hold-out","seed":13,"test":0.2,"test-limit":null,"train-limit":null},"#,
                r#""work":{"encoder":"bert","kind":"tune","training":{"#,
                r#""adaptation":{"embeddings":"frozen","k":2,"kind":"last-k","layer-decay":1.0,"lr":0.00005,"pooler":"trainable"},"#,
                r#""batch-size":32,"bucketing":"off","cache":{"kind":"off"},"clip":{"kind":"none"},"context":"sentence","dropout":0.1,"#,
                r#""dtype":"f32","epochs":3,"evaluation-batch-size":64,"frozen-dropout":"on","head":HEAD,"max-length":64,"#,
                r#""micro-batch-size":0,"optimizer":{"betas":[0.9,0.999],"epsilon":1e-8,"kind":"adam-w","no-decay":[],"weight-decay":0.01},"#,
                r#""pairs":"joint","schedule":{"end":0.0,"kind":"polynomial","power":1.0},"select":"last","state":"reset","#,
                r#""stop":{"kind":"epochs"}}}}"#,
            )
            .replace("HEAD", then);
            let spec = RunSpec::read(&json).expect("a spec of schema 2");
            let full = spec.canonical_json();
            assert!(full.contains(today), "{full}");
            assert!(full.contains(r#""schema":5"#), "{full}");
            let hashed = json.replace(r#""arm":"x","#, "");
            let id = id_of(&serde_json::from_str(&hashed).expect("JSON"));
            assert_eq!(spec.earlier_ids().nth(2), Some(id), "{full}"); // the first are of schemas 4 and 3
        }
    }

    #[test]
    fn a_head_with_a_rate_of_its_own_makes_another_run_and_says_so() {
        let json = concat!(
            r#"{"arm":"x","dataset":"d","experiment":"e","fold":0,"paper":"p","profile":"small","schema":4,"search":[],"seed":1,"#,
            r#""split":{"dev":0.0,"duplicates":"keep","kind":"hold-out","seed":13,"test":0.2,"test-limit":null,"train-limit":null},"#,
            r#""work":{"encoder":"bert","kind":"fine-tune","training":{"#,
            r#""adaptation":{"embeddings":"trainable","kind":"full","layer-decay":1.0,"lr":0.00002,"pooler":"trainable"},"#,
            r#""batch-size":32,"bucketing":"off","cache":{"kind":"off"},"clip":{"kind":"none"},"context":"sentence","dropout":0.1,"#,
            r#""dtype":"f32","epochs":3,"evaluation-batch-size":64,"frozen-dropout":"on","#,
            r#""head":{"dropout":0.1,"kind":"linear","layers":{"kind":"top"},"pooling":"mean"},"max-length":64,"#,
            r#""micro-batch-size":0,"optimizer":{"betas":[0.9,0.999],"epsilon":1e-8,"kind":"adam-w","no-decay":[],"weight-decay":0.01},"#,
            r#""pairs":"joint","schedule":{"end":0.0,"kind":"polynomial","power":1.0},"select":"last","state":"reset","#,
            r#""stop":{"kind":"epochs"}}}}"#,
        );
        let plain = RunSpec::read(json).expect("a spec of schema 4");
        let hashed = json.replace(r#""arm":"x","#, "");
        let then = id_of(&serde_json::from_str(&hashed).expect("JSON"));
        assert_eq!(plain.earlier_ids().next(), Some(then));
        assert_eq!(
            plain.label(),
            "e · d · bert · full · lr 2e-5 · hold-out · seed 1"
        );

        let path = "work.training.adaptation.head-lr".to_string();
        let setting = vec![(path.clone(), Value::from(1e-3))];
        let mut fast = crate::search::apply(&plain, &setting).expect("a setting");
        let ids: Vec<String> = fast.earlier_ids().collect();
        assert!(plain.earlier_ids().all(|id| !ids.contains(&id)));
        assert_eq!(
            fast.label(),
            "e · d · bert · full · lr 2e-5 · head-lr 1e-3 · hold-out · seed 1"
        );
        fast.search = vec![path];
        assert_eq!(
            fast.label(),
            "e · d · bert · full · lr 2e-5 · head-lr 0.001 · hold-out · seed 1"
        );
        assert_eq!(
            fast.label_before_its_search(),
            "e · d · bert · full · lr 2e-5 · hold-out · seed 1"
        );
    }

    #[test]
    fn a_spec_of_a_later_schema_is_refused() {
        let later = spec()
            .canonical_json()
            .replace("\"schema\":5", "\"schema\":9");
        let error = RunSpec::read(&later).expect_err("refused").to_string();
        assert_eq!(
            error,
            "schema: found 9, expected at most 5: the spec is from a later version"
        );
    }

    #[test]
    fn the_name_of_the_arm_is_no_part_of_the_id() {
        let mut renamed = spec();
        renamed.arm = "words".to_string();
        assert_eq!(renamed.id(), spec().id());
    }

    #[test]
    fn every_field_is_part_of_the_id() {
        let changes: [fn(&mut RunSpec); 9] = [
            |spec| spec.search.push("x".to_string()),
            |spec| spec.paper.push('x'),
            |spec| spec.experiment.push('x'),
            |spec| spec.profile.push('x'),
            |spec| spec.dataset.push('x'),
            |spec| spec.fold += 1,
            |spec| spec.seed += 1,
            |spec| {
                let Split::KFold(split) = &mut spec.split else {
                    unreachable!("a k-fold split")
                };
                split.duplicates = Duplicates::Group;
            },
            |spec| {
                let Work::Sparse(work) = &mut spec.work else {
                    unreachable!("sparse work")
                };
                work.logistic.tol = 1e-3;
            },
        ];
        let mut ids = std::collections::BTreeSet::from([spec().id()]);
        for change in changes {
            let mut changed = spec();
            change(&mut changed);
            assert!(ids.insert(changed.id()), "{changed:?}");
        }
    }

    #[test]
    fn a_spec_comes_back_from_its_json() {
        assert_eq!(
            RunSpec::read(&spec().canonical_json()).expect("reads"),
            spec()
        );
    }

    #[test]
    fn a_label_tells_a_run_from_its_neighbours() {
        assert_eq!(
            spec().label(),
            "table-1 · tf-idf · 10 folds by shuffled · fold 3"
        );
    }
}
