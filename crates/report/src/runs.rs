//! The rows of a folder as runs that can be selected, and the numbers a selection has.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use totune_record::{RunRow, Tables};
use totune_stats::Curve;

use crate::label::LabelPlan;
use crate::plan::{Measure, Where};
use crate::sample::{Key, Sample};
use crate::toml_file::did_you_mean;

/// Between the name of a score and the number of the layer it is of; 0 is the embeddings.
pub(crate) const LAYER: &str = "@layer-";

/// All runs of a page.
#[derive(Debug)]
pub(crate) struct Runs {
    runs: Vec<Run>,
    /// Every (split, metric) that some run has a final score for.
    measured: BTreeSet<(String, String)>,
}

/// One run: its row, what can be asked of it, its final scores.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) row: RunRow,
    /// Values by dotted path, from the row and from the spec.
    facts: BTreeMap<String, Value>,
    /// The paths that are from the spec.
    asked: BTreeSet<String>,
    /// Final scores by (split, metric).
    finals: BTreeMap<(String, String), f64>,
    /// Scores after each epoch by (split, metric).
    epochs: BTreeMap<(String, String), Vec<EpochScore>>,
    /// What it must not be taken for; see [`LabelPlan`].
    labels: BTreeSet<String>,
}

/// A score after an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EpochScore {
    /// Epochs finished, over all phases.
    pub(crate) epoch: u32,
    /// Seconds of training until then.
    pub(crate) seconds: f64,
    pub(crate) score: f64,
}

impl Runs {
    /// The runs of `tables`, each with its final scores.
    pub(crate) fn new(tables: &Tables) -> Result<Self> {
        type Scores<T> = BTreeMap<(String, String), T>;
        let mut finals: BTreeMap<&str, Scores<f64>> = BTreeMap::new();
        let mut epochs: BTreeMap<&str, Scores<Vec<EpochScore>>> = BTreeMap::new();
        // Rows are sorted by time within a run, so the last final score of a measure is the one that stays.
        for eval in &tables.evals {
            let key = (eval.split.clone(), eval.metric.clone());
            let of_run = epochs.entry(&eval.run_id).or_default();
            of_run.entry(key.clone()).or_default().push(EpochScore {
                epoch: eval.epoch,
                seconds: eval.train_seconds,
                score: eval.value,
            });
            if eval.is_final {
                finals
                    .entry(&eval.run_id)
                    .or_default()
                    .insert(key, eval.value);
            }
        }
        let runs = tables
            .runs
            .iter()
            .map(|row| {
                let finals = finals.remove(row.run_id.as_str()).unwrap_or_default();
                let epochs = epochs.remove(row.run_id.as_str()).unwrap_or_default();
                let (facts, asked) = facts(row)?;
                Ok(Run {
                    row: row.clone(),
                    facts,
                    asked,
                    finals,
                    epochs,
                    labels: BTreeSet::new(),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let measured = runs
            .iter()
            .flat_map(|run| run.finals.keys().cloned())
            .collect();
        Ok(Self { runs, measured })
    }

    /// Gives the runs their labels; `shown` names the file that has them.
    pub(crate) fn label(&mut self, labels: &[LabelPlan], shown: &str) -> Result<()> {
        for label in labels {
            let from = format!("{shown}: label `{}`", label.text);
            let selected = self.select(&label.conditions, &from)?.runs;
            let ids: HashSet<String> = selected.iter().map(|run| run.row.run_id.clone()).collect();
            for run in &mut self.runs {
                if ids.contains(&run.row.run_id) {
                    run.labels.insert(label.text.clone());
                }
            }
        }
        Ok(())
    }

    /// All of them, sorted as in the file.
    pub(crate) fn all(&self) -> &[Run] {
        &self.runs
    }

    /// The runs that meet every condition; `from` says who asks.
    ///
    /// No run at all is a note, not an error: it may not have been run yet. A path that the runs in question
    /// do not have is an error, since it would select nothing for ever.
    pub(crate) fn select(&self, conditions: &Where, from: &str) -> Result<Selection<'_>> {
        let known: BTreeSet<&str> = self
            .runs
            .iter()
            .flat_map(|run| run.facts.keys().map(String::as_str))
            .collect();
        let mut selected: Vec<&Run> = self.runs.iter().collect();
        let mut note = self
            .runs
            .is_empty()
            .then(|| "there are no runs yet".to_owned());
        // Paths that every run has come first, so that a path only some runs have is looked for among those.
        let mut ordered: Vec<(&String, &toml::Value)> = conditions.iter().collect();
        ordered.sort_by_key(|(path, _)| !self.runs.iter().all(|run| run.facts.contains_key(*path)));
        for (path, wanted) in ordered {
            let wanted = Wanted::of(wanted).with_context(|| format!("{from}: where `{path}`"))?;
            let found: BTreeSet<String> = selected
                .iter()
                .filter_map(|run| run.facts.get(path))
                .map(Value::to_string)
                .collect();
            let unknown = found.is_empty() && !known.contains(path.as_str());
            if unknown && !selected.is_empty() && !wanted.unsaid {
                let near = did_you_mean(path, known.iter().copied());
                bail!("{from}: where: found path `{path}`, which no run's spec or row has{near}");
            }
            selected.retain(|run| wanted.holds(run.facts.get(path)));
            if selected.is_empty() && note.is_none() {
                let wanted: Vec<String> = wanted.values.iter().map(Value::to_string).collect();
                let found: Vec<String> = found.into_iter().collect();
                note = Some(format!(
                    "no run has {path} = {} (found: {})",
                    wanted.join(" or "),
                    found.join(", ")
                ));
            }
        }
        Ok(Selection {
            runs: selected,
            note,
        })
    }

    /// The numbers of the runs that meet `conditions`; `from` says who asks.
    pub(crate) fn sample(
        &self,
        conditions: &Where,
        measure: &Measure,
        from: &str,
    ) -> Result<Sample> {
        let selection = self.select(conditions, from)?;
        // Where nothing was run yet, nobody can know a metric.
        if !selection.runs.is_empty() {
            self.check_measure(measure, from)?;
        }
        let mut sample = Sample::default();
        sample.note = selection.note;
        for run in selection.runs {
            sample.labels.extend(run.labels.iter().cloned());
            if run.row.status != "ok" {
                *sample.lost.entry(run.row.status.clone()).or_default() += 1;
                continue;
            }
            match run.number(measure) {
                Some(value) if value.is_finite() => {
                    sample.push(value, run.key(), run.facts_under("split"))
                }
                Some(_) => *sample.lost.entry("not a number".to_owned()).or_default() += 1,
                None => *sample.lost.entry("not scored".to_owned()).or_default() += 1,
            }
        }
        Ok(sample)
    }

    /// Fails where no run has the measure at all, with the near name; `from` says who asks.
    pub(crate) fn check_measure(&self, measure: &Measure, from: &str) -> Result<()> {
        match measure {
            Measure::Score { metric, split } => {
                let known = &self.measured;
                if known.is_empty() || known.contains(&(split.clone(), metric.clone())) {
                    return Ok(());
                }
                let on_split: Vec<&str> = known
                    .iter()
                    .filter(|(other, _)| other == split)
                    .map(|(_, metric)| metric.as_str())
                    .collect();
                if on_split.is_empty() {
                    let splits: BTreeSet<&str> =
                        known.iter().map(|(split, _)| split.as_str()).collect();
                    let near = did_you_mean(split, splits.iter().copied());
                    bail!("{from}: no run has a final score on the split `{split}`{near}");
                }
                let near = did_you_mean(metric, on_split.iter().copied());
                bail!(
                    "{from}: no run has the metric `{metric}` on `{split}`, expected one of: {}{near}",
                    on_split.join(", ")
                );
            }
            Measure::Field { field } => match self.runs.first().map(|run| run.facts.get(field)) {
                None | Some(Some(Value::Number(_))) => Ok(()),
                Some(_) => {
                    let facts = &self.runs[0].facts;
                    let numbers = facts
                        .iter()
                        .filter(|(_, value)| value.is_number())
                        .map(|(path, _)| path.as_str());
                    let near = did_you_mean(field, numbers);
                    bail!("{from}: no run has a number called `{field}`{near}")
                }
            },
        }
    }
}

/// What a `where` selected.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    pub(crate) runs: Vec<&'a Run>,
    /// Why nothing was selected, if nothing was.
    pub(crate) note: Option<String>,
}

impl Run {
    /// A final score, or a number of the row.
    pub(crate) fn number(&self, measure: &Measure) -> Option<f64> {
        match measure {
            Measure::Score { metric, split } => {
                self.finals.get(&(split.clone(), metric.clone())).copied()
            }
            Measure::Field { field } => self.facts.get(field).and_then(Value::as_f64),
        }
    }

    /// Its scores on `split` by `metric` after each epoch, in order; empty where it was not scored so.
    pub(crate) fn epochs(&self, metric: &str, split: &str) -> &[EpochScore] {
        let key = (split.to_owned(), metric.to_owned());
        self.epochs.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The same against the seconds they took; `None` where there is no score, one is not finite, or an epoch
    /// from the first to the last has none.
    pub(crate) fn curve(&self, metric: &str, split: &str) -> Option<Curve> {
        let scores = self.epochs(metric, split);
        let every = scores
            .iter()
            .map(|score| score.epoch)
            .eq(1..=scores.len() as u32);
        let points = scores.iter().map(|score| (score.seconds, score.score));
        every.then(|| Curve::new(points.collect()))?
    }

    /// What the spec alone has, by dotted path: what was asked of the run, and nothing of how it went.
    pub(crate) fn asked(&self) -> BTreeMap<&str, &Value> {
        self.asked
            .iter()
            .filter_map(|path| Some((path.as_str(), self.facts.get(path)?)))
            .collect()
    }

    /// What it must not be taken for.
    pub(crate) fn labels(&self) -> &BTreeSet<String> {
        &self.labels
    }

    /// Final scores by layer of the metrics `<metric>@layer-<i>`.
    pub(crate) fn layers(&self, metric: &str, split: &str) -> BTreeMap<u32, f64> {
        let prefix = format!("{metric}{LAYER}");
        let scores = self.finals.iter().filter_map(|((of, name), value)| {
            let layer = name.strip_prefix(&prefix)?.parse().ok()?;
            (of == split && value.is_finite()).then_some((layer, *value))
        });
        scores.collect()
    }

    /// Which part of the dataset its test scores are of: `dev`, where that file took the place of a test file.
    pub(crate) fn scored_on(&self) -> String {
        let text = |path: &str| self.facts.get(path).and_then(Value::as_str);
        match (text("split.kind"), text("split.test")) {
            (Some("files"), Some(file)) => file.to_owned(),
            (Some("hold-out"), _) => "held out".to_owned(),
            (Some("k-fold"), _) => "folds".to_owned(),
            (kind, _) => kind.unwrap_or("test").to_owned(),
        }
    }

    /// What the spec or the row has at a dotted path.
    pub(crate) fn fact(&self, path: &str) -> Option<&Value> {
        self.facts.get(path)
    }

    pub(crate) fn key(&self) -> Key {
        let fold = self.facts.get("fold").and_then(Value::as_u64).unwrap_or(0);
        Key {
            fold,
            seed: self.row.seed,
        }
    }

    /// What was asked for: everything below `work` and `split`, by path.
    pub(crate) fn setting(&self) -> impl Iterator<Item = (&str, &Value)> {
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

/// The leaves of the row and of the spec by dotted path, where the spec wins if both have one; and the paths of the spec.
fn facts(row: &RunRow) -> Result<(BTreeMap<String, Value>, BTreeSet<String>)> {
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

fn flatten(path: &str, value: Value, facts: &mut BTreeMap<String, Value>) {
    let Value::Object(fields) = value else {
        facts.insert(path.to_owned(), value);
        return;
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

/// What a condition accepts.
struct Wanted {
    /// One value, or any of a list.
    values: Vec<Value>,
    /// Whether a run that says nothing is meant too: a setting at its default is left out of specs.
    unsaid: bool,
}

/// The key of a condition on a setting that may be left out: `{ default = "joint" }`.
const DEFAULT: &str = "default";

impl Wanted {
    fn of(wanted: &toml::Value) -> Result<Self> {
        let (wanted, unsaid) = match wanted {
            toml::Value::Table(table) if table.len() == 1 => match table.get(DEFAULT) {
                Some(value) => (value, true),
                None => (wanted, false),
            },
            _ => (wanted, false),
        };
        let values = match wanted {
            toml::Value::Array(values) => values.iter().map(plain).collect::<Result<_>>()?,
            value => vec![plain(value)?],
        };
        Ok(Self { values, unsaid })
    }

    fn holds(&self, fact: Option<&Value>) -> bool {
        match fact {
            None => self.unsaid,
            Some(fact) => self.values.iter().any(|value| same(fact, value)),
        }
    }
}

fn plain(value: &toml::Value) -> Result<Value> {
    Ok(match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(truth) => (*truth).into(),
        other => bail!(
            "found a {}, expected a text, a number, true or false, or a list of these",
            other.type_str()
        ),
    })
}

/// Whether a fact is the wanted value; 1 and 1.0 are the same.
fn same(fact: &Value, wanted: &Value) -> bool {
    match (fact.as_f64(), wanted.as_f64()) {
        (Some(fact), Some(wanted)) => fact == wanted,
        _ => fact == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn conditions_reach_rows_and_specs() {
        check(r#"experiment = "table-2""#, 30);
        check(r#""work.training.adaptation.kind" = "frozen""#, 10);
        check(
            "experiment = \"table-2\"\n\"work.training.adaptation.kind\" = [\"frozen\", \"full\"]",
            20,
        );
        check("seed = 5\n\"work.kind\" = \"tune\"", 3);
        check("seed = 5.0\n\"work.kind\" = \"tune\"", 3);
        check(r#"dataset = "made-up-letters""#, 93);
    }

    #[test]
    fn a_misspelt_path_is_an_error_that_names_the_near_one() {
        let error = select(r#""work.training.adaption.kind" = "frozen""#).unwrap_err();
        assert_eq!(
            error,
            "here: where: found path `work.training.adaption.kind`, which no run's spec or row has; \
             did you mean `work.training.adaptation.kind`?"
        );
    }

    #[test]
    fn a_value_no_run_has_selects_nothing_and_says_what_there_is() {
        let (n, note) = select("experiment = \"table-1\"\n\"work.features\" = \"tfidf\"").unwrap();
        assert_eq!(n, 0);
        assert_eq!(
            note.as_deref(),
            Some(r#"no run has work.features = "tfidf" (found: "count", "hash", "tf-idf")"#)
        );
    }

    #[test]
    fn a_default_is_met_by_runs_that_do_not_say() {
        let k = |wanted: &str| {
            let tuned = "experiment = \"table-2\"\n\"work.training.adaptation.k\"";
            select(&format!("{tuned} = {wanted}")).unwrap().0
        };
        assert_eq!(k("2"), 10);
        assert_eq!(k("{ default = 2 }"), 30);
        assert_eq!(k("{ default = 3 }"), 20);
    }

    #[test]
    fn a_condition_of_another_kind_is_refused() {
        assert!(
            select("seed = { from = 1 }")
                .unwrap_err()
                .contains("found a table")
        );
    }

    #[test]
    fn an_unknown_metric_is_named_with_the_near_one() {
        let runs = Runs::new(&fixture::tables()).unwrap();
        let error = runs
            .sample(&Where::new(), &Measure::score("acuracy", "test"), "here")
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("did you mean `accuracy`?"), "{error}");
        let error = runs
            .sample(&Where::new(), &Measure::score("accuracy", "tset"), "here")
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("did you mean `test`?"), "{error}");
    }

    #[test]
    fn runs_that_went_wrong_are_counted() {
        let mut tables = fixture::tables();
        let frozen = |row: &&mut RunRow| row.spec.contains("frozen");
        for row in tables.runs.iter_mut().filter(frozen).take(2) {
            row.status = "diverged".into();
        }
        let runs = Runs::new(&tables).unwrap();
        let conditions = toml::from_str(r#""work.training.adaptation.kind" = "frozen""#).unwrap();
        let sample = runs
            .sample(&conditions, &Measure::score("accuracy", "test"), "here")
            .unwrap();
        assert_eq!(sample.values.len(), 8);
        assert_eq!(sample.lost, BTreeMap::from([("diverged".to_owned(), 2)]));
    }

    fn select(conditions: &str) -> Result<(usize, Option<String>), String> {
        let runs = Runs::new(&fixture::tables()).unwrap();
        let selection = runs
            .select(&toml::from_str(conditions).unwrap(), "here")
            .map_err(|error| format!("{error:#}"))?;
        Ok((selection.runs.len(), selection.note))
    }

    #[track_caller]
    fn check(conditions: &str, expected: usize) {
        assert_eq!(select(conditions).unwrap().0, expected);
    }
}
