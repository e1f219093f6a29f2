//! One run: its row, its settings and its scores.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Context, Result};
use serde_json::Value;
use totune_record::{EvalRow, RunRow};
use totune_stats::Curve;

use crate::plan::{DEV, Measure, TEST};
use crate::select::learned::{self, TestPredictions};
use crate::select::retime::device;
use crate::select::sample::Key;
use crate::select::tensor_memory::TENSOR_MEMORY;

/// Separator between the name of a score and the number of its layer; 0 is the embeddings.
const LAYER: &str = "@layer-";

/// Metrics that a run as a whole is judged by: the first that it has.
const PRIMARY: [&str; 6] = [
    "matthews",
    "pearson",
    "span-f1",
    "quadratic-kappa",
    "accuracy",
    "f1-micro",
];

/// One run: its row, its settings by path, its final scores.
#[derive(Debug)]
pub struct Run {
    /// Its row.
    pub row: RunRow,
    /// Values by dotted path, from the row and from the spec.
    pub(super) facts: BTreeMap<String, Value>,
    /// The paths that are from the spec.
    pub(super) asked: BTreeSet<String>,
    pub(super) scores: Scores,
    /// Its labels; see [`crate::plan::LabelPlan`].
    pub(super) labels: BTreeSet<String>,
    /// Summary of its predictions on test, where they were stored.
    pub(super) answers: Option<TestPredictions>,
    /// Seconds of training and evaluation when it was made, whatever a timing pass found since.
    pub took: f64,
    /// Whether its seconds do not count; see [`crate::select::retime`].
    pub(super) incomparable: bool,
}

/// The field of the row that is the peak memory of the process. On a GPU the process holds its driver and few tensors.
const MEMORY: &str = "peak_memory";

/// Fields of the row that are seconds.
const SECONDS: [&str; 4] = [
    "train_seconds",
    "eval_seconds",
    "cache_seconds",
    "cpu_seconds",
];

/// Scores of a run.
#[derive(Debug, Default)]
pub(super) struct Scores {
    /// Final scores by (split, metric).
    pub(super) finals: BTreeMap<(String, String), f64>,
    /// Scores after each epoch by (split, metric).
    pub(super) epochs: BTreeMap<(String, String), Vec<EpochScore>>,
    /// The last epoch of each phase with the seconds of training until then, by phase.
    ends: BTreeMap<u32, (u32, f64)>,
    /// The fewest examples (or tokens, or spans) that a score is of, by split.
    fewest: BTreeMap<String, u64>,
}

impl Scores {
    /// The scores of each run, by run id.
    pub(super) fn by_run(evals: Vec<EvalRow>) -> HashMap<String, Self> {
        let mut by_run: HashMap<String, Self> = HashMap::new();
        // Rows are sorted by time within a run, so the last final score of a measure is the one that stays.
        for eval in evals {
            let scores = by_run.entry(eval.run_id).or_default();
            let fewest = scores.fewest.entry(eval.split.clone()).or_insert(eval.n);
            *fewest = eval.n.min(*fewest);
            let key = (eval.split, eval.metric);
            if eval.is_final {
                scores.finals.insert(key.clone(), eval.value);
            }
            scores.epochs.entry(key).or_default().push(EpochScore {
                epoch: eval.epoch,
                phase: eval.phase,
                seconds: eval.train_seconds,
                score: eval.value,
            });
            let end = (eval.epoch, eval.train_seconds);
            scores.ends.insert(eval.phase, end);
        }
        by_run
    }
}

/// A score after an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpochScore {
    /// Epochs finished, over all phases.
    pub epoch: u32,
    /// Phase of training, counted from 0.
    pub phase: u32,
    /// Seconds of training until then.
    pub seconds: f64,
    /// The score.
    pub score: f64,
}

impl Run {
    /// A final score, or a number of the row.
    pub fn number(&self, measure: &Measure) -> Option<f64> {
        match measure {
            Measure::Score { metric, split } => self
                .scores
                .finals
                .get(&(split.clone(), metric.clone()))
                .copied(),
            Measure::Field { field } if self.incomparable && SECONDS.contains(&&**field) => None,
            Measure::Field { field } if field == MEMORY && !self.is_on_cpu() => None,
            Measure::Field { field } => self.facts.get(field).and_then(Value::as_f64),
        }
    }

    /// Paths of its numbers, of the row and the spec, and of values that it lacks.
    pub(super) fn numbers(&self) -> impl Iterator<Item = &str> {
        let facts = self.facts.iter();
        let numbers = facts.filter(|(_, value)| value.is_number() || value.is_null());
        numbers.map(|(path, _)| path.as_str())
    }

    /// The most bytes of tensors that were alive at once, where a timing pass counted them.
    pub fn tensor_memory(&self) -> Option<f64> {
        self.facts.get(TENSOR_MEMORY).and_then(Value::as_f64)
    }

    fn is_on_cpu(&self) -> bool {
        self.row.device.starts_with("cpu")
    }

    /// Whether a final score on test shows that it learned; `None` where that is unknown, and for a floor, which trains
    /// nothing.
    pub(crate) fn learned(&self, measure: &Measure) -> Option<bool> {
        let is_floor = self.fact("work.kind").is_some_and(|kind| kind == "floor");
        match measure {
            Measure::Score { metric, split } if split == TEST && !is_floor => {
                let score = self.number(measure)?;
                let n = self.scores.fewest.get(TEST).copied();
                let by_score = learned::by_score(metric, score, n);
                match &self.answers {
                    Some(answers) => answers.learned(metric, by_score),
                    None => by_score.or(self.misses_a_class(metric).then_some(false)),
                }
            }
            _ => None,
        }
    }

    /// Whether a score on test is that of a run that did not learn. The run is judged, by the first of its metrics that
    /// can tell: one that Matthews' coefficient shows to have learned may be no more accurate than guessing.
    pub(crate) fn is_unlearned(&self, measure: &Measure) -> bool {
        self.learned(measure).is_some() && !self.has_learned()
    }

    /// Score of guessing: 0 by correlations, Matthews' coefficient and spans, and by accuracy on test the share of the
    /// most frequent class; `None` where that is unknown.
    pub fn guess(&self, measure: &Measure) -> Option<f64> {
        match measure {
            Measure::Score { metric, .. } if learned::is_zero_for_guesses(metric) => Some(0.0),
            Measure::Score { metric, split } if metric == "accuracy" && split == TEST => {
                Some(self.answers.as_ref()?.majority())
            }
            _ => None,
        }
    }

    /// Whether a metric counts correct classes, and the run has an F1 of 0 for one of two.
    fn misses_a_class(&self, metric: &str) -> bool {
        let none = |f1: &str| self.number(&Measure::score(f1, TEST)) == Some(0.0);
        learned::is_of_classes(metric) && ["f1-positive", "f1-negative"].into_iter().any(none)
    }

    /// Whether its score is evidence about how it was trained: it ended well, and nothing shows that it did not learn.
    pub(crate) fn has_learned(&self) -> bool {
        let measures = PRIMARY.iter().map(|metric| Measure::score(metric, TEST));
        let judged = measures.filter_map(|measure| self.learned(&measure)).next();
        self.row.status == "ok" && judged.unwrap_or(true)
    }

    /// Its scores on `split` by `metric` after each epoch, in order; empty where it was not scored so.
    pub fn epochs(&self, metric: &str, split: &str) -> &[EpochScore] {
        let key = (split.to_owned(), metric.to_owned());
        self.scores.epochs.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The last of these after `epoch` epochs.
    pub fn score_at(&self, metric: &str, split: &str, epoch: u32) -> Option<f64> {
        let scores = self.epochs(metric, split).iter();
        let mut at = scores.filter(|score| score.epoch == epoch);
        at.next_back().map(|score| score.score)
    }

    /// Epochs and seconds of training after which a further phase began.
    pub fn switches(&self) -> Vec<(u32, f64)> {
        let all_but_last = self.scores.ends.len().saturating_sub(1);
        self.scores
            .ends
            .values()
            .copied()
            .take(all_but_last)
            .collect()
    }

    /// Seconds of training, in all; `None` where it took none, or they do not count.
    pub(crate) fn seconds(&self) -> Option<f64> {
        let counts = !self.incomparable && self.row.train_seconds > 0.0;
        counts.then_some(self.row.train_seconds)
    }

    /// The kind of device, such as `cuda (NVIDIA H200)`, where its seconds count in no comparison; a line over time may have
    /// those of one kind all the same.
    pub fn device_of_seconds(&self) -> Option<String> {
        self.incomparable.then(|| device(&self.row))
    }

    /// The same over the seconds of training as they were measured, whether they count or not; `None` where there is no
    /// score, one is not finite, or an epoch from the first to the last has none.
    pub fn curve(&self, metric: &str, split: &str) -> Option<Curve> {
        let scores = self.epochs(metric, split);
        let every = scores
            .iter()
            .map(|score| score.epoch)
            .eq(1..=scores.len() as u32);
        let points = scores.iter().map(|score| (score.seconds, score.score));
        every.then(|| Curve::new(points.collect()))?
    }

    /// Values from the spec, without the row's, by dotted path: the settings of the run, and nothing of how it went.
    pub fn asked(&self) -> BTreeMap<&str, &Value> {
        self.asked
            .iter()
            .filter_map(|path| Some((path.as_str(), self.facts.get(path)?)))
            .collect()
    }

    /// Whether it involves no randomness, as with a fit that converges, a floor or a probe of pretrained layers: every
    /// seed would give the same scores.
    pub(crate) fn is_seedless(&self) -> bool {
        let solved = ["converged", "max-iter"].contains(&self.row.stop_reason.as_str());
        self.row.steps == 0 || solved
    }

    /// Number of trained models behind its predictions: the members of an ensemble, otherwise 1.
    pub(crate) fn n_models(&self) -> usize {
        let members = self.facts.get("members").and_then(Value::as_array);
        members.map_or(1, Vec::len)
    }

    /// Number of settings tried to choose its own: 0 without a search, `None` where a search is not known in full.
    pub(crate) fn n_trials(&self) -> Option<u64> {
        let paths = self.facts.get("search").and_then(Value::as_array);
        if paths.is_some_and(|paths| !paths.is_empty()) {
            self.facts.get("search-trials").and_then(Value::as_u64)
        } else {
            Some(0)
        }
    }

    /// The dev examples that its settings were chosen on; `None` where nothing was searched or its dev set is not known.
    pub(crate) fn n_chosen_on(&self) -> Option<u64> {
        let n_dev = self.scores.fewest.get(DEV).copied();
        n_dev.filter(|_| self.n_trials() != Some(0))
    }

    /// Its labels.
    pub fn labels(&self) -> &BTreeSet<String> {
        &self.labels
    }

    /// Final scores by layer of the metrics `<metric>@layer-<i>`.
    pub(crate) fn layers(&self, metric: &str, split: &str) -> BTreeMap<u32, f64> {
        let prefix = format!("{metric}{LAYER}");
        let scores = self.scores.finals.iter().filter_map(|((of, name), value)| {
            let layer = name.strip_prefix(&prefix)?.parse().ok()?;
            (of == split && value.is_finite()).then_some((layer, *value))
        });
        scores.collect()
    }

    /// Part of the dataset that its test scores are of: `dev`, where that file took the place of a test file.
    pub(crate) fn scored_on(&self) -> String {
        let text = |path: &str| self.facts.get(path).and_then(Value::as_str);
        match (text("split.kind"), text("split.test")) {
            (Some("files"), Some(file)) => file.to_owned(),
            (Some("hold-out"), _) => "held out".to_owned(),
            (Some("k-fold"), _) => "folds".to_owned(),
            (kind, _) => kind.unwrap_or("test").to_owned(),
        }
    }

    /// A run with the facts of this one and another row, without scores.
    pub(crate) fn standing_for(&self, row: RunRow, labels: BTreeSet<String>) -> Self {
        Self {
            took: took(&row),
            row,
            facts: self.facts.clone(),
            asked: self.asked.clone(),
            scores: Scores::default(),
            labels,
            answers: None,
            incomparable: self.incomparable,
        }
    }

    /// Drops the facts that `keep` rejects.
    pub(crate) fn keep_facts(&mut self, keep: impl Fn(&str, &Value) -> bool) {
        self.facts.retain(|path, value| keep(path, value));
        self.asked.retain(|path| self.facts.contains_key(path));
    }

    pub(crate) fn set_fact(&mut self, path: &str, value: Value) {
        self.facts.insert(path.to_owned(), value);
    }

    pub(crate) fn set_final(&mut self, split: &str, metric: &str, value: f64) {
        let key = (split.to_owned(), metric.to_owned());
        self.scores.finals.insert(key, value);
    }

    /// The value at a dotted path of the spec or the row.
    pub fn fact(&self, path: &str) -> Option<&Value> {
        self.facts.get(path)
    }

    /// Its fold and seed, which tell it from the other runs of its group.
    pub fn key(&self) -> Key {
        let fold = self.facts.get("fold").and_then(Value::as_u64).unwrap_or(0);
        Key {
            fold,
            seed: self.row.seed,
        }
    }

    /// Its settings: everything below `work` and `split`, by path.
    pub fn setting(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.facts
            .iter()
            .filter(|(path, _)| path.starts_with("work.") || path.starts_with("split."))
            .map(|(path, value)| (path.as_str(), value))
    }

    /// Dataset and everything below `path`, as one text that is equal where all of it is.
    pub(crate) fn facts_under(&self, path: &str) -> String {
        let below = self
            .facts
            .iter()
            .filter(|(key, _)| key.split('.').next() == Some(path));
        let parts: Vec<String> = below.map(|(key, value)| format!("{key}={value}")).collect();
        format!("{} {}", self.row.dataset_hash, parts.join(" "))
    }
}

/// Seconds of training, which include caching, and of evaluation.
pub(super) fn took(row: &RunRow) -> f64 {
    row.train_seconds + row.eval_seconds
}

/// The leaves of the row and of the spec by dotted path, where the spec wins if both have one; and the paths of the spec.
pub(crate) fn facts(row: &RunRow) -> Result<(BTreeMap<String, Value>, BTreeSet<String>)> {
    let from = || format!("runs.parquet: run `{}`", row.run_id);
    let mut facts = BTreeMap::new();
    let mut row_value = serde_json::to_value(row).with_context(from)?;
    if let Some(fields) = row_value.as_object_mut() {
        fields.remove("spec");
    }
    flatten("", row_value, &mut facts);
    let spec: Value =
        serde_json::from_str(&row.spec).with_context(|| format!("{}: spec is not JSON", from()))?;
    let mut asked = BTreeMap::new();
    flatten("", spec, &mut asked);
    let paths = asked.keys().cloned().collect();
    facts.extend(asked);
    Ok((facts, paths))
}

pub(super) fn flatten(path: &str, value: Value, facts: &mut BTreeMap<String, Value>) {
    let fields = match value {
        Value::Object(fields) => fields,
        // A setting that is not in force.
        Value::Null => return,
        value => {
            facts.insert(path.to_owned(), value);
            return;
        }
    };
    for (key, value) in fields {
        let path = if path.is_empty() {
            key
        } else {
            format!("{path}.{key}")
        };
        flatten(&path, value, facts);
    }
}
