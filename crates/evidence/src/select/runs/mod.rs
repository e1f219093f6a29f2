//! The rows of a folder as runs that can be selected, and the numbers a selection has.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use totune_record::{PredictionRow, StoredTables, Tables, read_timing};

use crate::plan::{ENSEMBLE, LabelPlan, Measure, Plan, Where};
use crate::select::dev_size;
use crate::select::learned;
use crate::select::predictions::Predictions;
use crate::select::retime::{Retimed, retime};
use crate::select::sample::{NOT_YET, Sample};
use crate::select::tensor_memory::{TENSOR_MEMORY, tensor_memory};
use crate::select::training_data::TrainingData;
use crate::toml_file::did_you_mean;

mod condition;
mod missing;
mod run;

use condition::{holds, wanted};
use missing::Missing;
pub(crate) use run::facts;
pub use run::{EpochScore, Run};
use run::{Scores, took};

/// Values that runs have in place of an expected one, of which a note names so many.
const NAMED: usize = 5;

/// All runs of a page.
#[derive(Debug)]
pub struct Runs {
    runs: Vec<Run>,
    missing: Missing,
    /// Ensembles of runs; see [`crate::select::ensemble`].
    ensembles: Formed,
    /// Summary of where their seconds are from.
    retimed: Retimed,
    /// Training data of their encoders.
    training_data: TrainingData,
    /// Ids of the runs shown since caveats were last requested.
    shown: RefCell<BTreeSet<String>>,
    predictions: Predictions,
    /// Every (split, metric) that some run has a final score for.
    measured: BTreeSet<(String, String)>,
    /// Every (split, metric) that some run was scored by at any time.
    scored: BTreeSet<(String, String)>,
}

/// Ensembles as runs, and the reason why an ensemble without any has none.
#[derive(Debug, Default)]
pub(crate) struct Formed {
    pub(crate) runs: Vec<Run>,
    /// By name.
    pub(crate) notes: BTreeMap<String, String>,
}

impl Runs {
    /// The runs of `rows`, with the seconds and the memory of the timing pass, and the missing runs in the folder `results` and the
    /// encoders' cards in `card_folders`.
    ///
    /// # Errors
    /// Where the timing pass, a missing run or a card cannot be read, or a spec is not JSON.
    pub fn read(card_folders: &[&Path], results: &Path, mut rows: StoredTables) -> Result<Self> {
        let took: Vec<f64> = rows.runs.iter().map(took).collect();
        let timing = read_timing(results)?;
        let retimed = retime(&mut rows.runs, &mut rows.evals, &timing);
        let memory = tensor_memory(&rows.runs, &timing);
        let mut read = Self::of(rows)?;
        for (run, took) in read.runs.iter_mut().zip(took) {
            run.took = took;
            run.incomparable = retimed.incomparable.contains(&run.row.run_id);
            if let Some(&bytes) = memory.get(&run.row.run_id) {
                run.facts.insert(TENSOR_MEMORY.to_owned(), bytes.into());
            }
        }
        Ok(Self {
            retimed,
            missing: Missing::read(results)?,
            training_data: TrainingData::read(card_folders)?,
            ..read
        })
    }

    /// The runs of `tables`, each with its scores and its predictions on test.
    ///
    /// # Errors
    /// Where a spec is not JSON.
    pub fn new(tables: Tables) -> Result<Self> {
        Self::of(tables.into())
    }

    fn of(tables: StoredTables) -> Result<Self> {
        let mut scores = Scores::by_run(tables.evals);
        let (predictions, mut answers) = Predictions::read(tables.predictions)?;
        let runs = tables.runs.into_iter().map(|row| {
            let (facts, asked) = facts(&row)?;
            Ok(Run {
                facts,
                asked,
                scores: scores.remove(&row.run_id).unwrap_or_default(),
                labels: BTreeSet::new(),
                answers: answers.remove(&row.run_id),
                took: took(&row),
                incomparable: false,
                row,
            })
        });
        let runs = runs.collect::<Result<Vec<_>>>()?;
        let measured = runs
            .iter()
            .flat_map(|run| run.scores.finals.keys().cloned())
            .collect();
        let scored = runs
            .iter()
            .flat_map(|run| run.scores.epochs.keys().cloned())
            .collect();
        Ok(Self {
            runs,
            missing: Missing::default(),
            ensembles: Formed::default(),
            measured,
            scored,
            retimed: Retimed::default(),
            training_data: TrainingData::default(),
            predictions,
            shown: RefCell::default(),
        })
    }

    /// Returns the result of `fill`, and caveats about the runs that it shows.
    pub fn with_caveats<T>(
        &self,
        plan: &Plan,
        fill: impl FnOnce() -> Result<T>,
    ) -> Result<(T, Vec<String>)> {
        self.shown.take(); // those of what was filled before
        let filled = fill()?;
        Ok((filled, self.caveats(plan)))
    }

    /// Caveats about the runs shown since the last call.
    pub fn caveats(&self, plan: &Plan) -> Vec<String> {
        let selected = self.shown.take();
        let all = self.runs.iter().chain(&self.ensembles.runs);
        let runs: Vec<&Run> = all
            .filter(|run| selected.contains(&run.row.run_id))
            .collect();
        let pairs = runs
            .iter()
            .map(|run| (&*run.row.dataset, &*run.row.encoder));
        let ended = runs.iter().filter(|run| run.row.status == "ok");
        let mut caveats = self.training_data.notes(pairs, plan);
        caveats.extend(learned::caveat(ended.map(|run| run.has_learned())));
        let chosen_on = runs.iter().filter_map(|run| run.n_chosen_on());
        caveats.extend(dev_size::caveat(chosen_on));
        caveats
    }

    /// Predictions of a run on test, in order of example and position; empty where they were not stored.
    pub(crate) fn answered(&self, run: &Run) -> Rc<[PredictionRow]> {
        self.predictions.of(&run.row.run_id)
    }

    /// Summary of where the seconds of the runs are from.
    pub fn retimed(&self) -> &Retimed {
        &self.retimed
    }

    /// Gives the runs their labels; `shown` names the file that has them.
    pub fn label(&mut self, labels: &[LabelPlan], shown: &str) -> Result<()> {
        for label in labels {
            let from = format!("{shown}: label `{}`", label.text);
            let selected = self.find(&label.conditions, &from)?.runs;
            let ids: HashSet<String> = selected.iter().map(|run| run.row.run_id.clone()).collect();
            for run in &mut self.runs {
                if ids.contains(&run.row.run_id) {
                    run.labels.insert(label.text.clone());
                }
            }
        }
        Ok(())
    }

    /// Adds ensembles, for selections that name them.
    pub(crate) fn set_ensembles(&mut self, formed: Formed) {
        self.ensembles = formed;
    }

    /// All that were trained, sorted as in the file.
    pub fn all(&self) -> &[Run] {
        &self.runs
    }

    /// The runs that meet every condition, which count as shown; `from` prefixes errors.
    ///
    /// No run at all is a note, not an error: it may not have been run yet, or the profile may not ask for it. A path that
    /// the runs in question do not have is an error, since it would select nothing for ever.
    pub fn select(&self, conditions: &Where, from: &str) -> Result<Selection<'_>> {
        let found = self.find(conditions, from)?;
        self.show(&found.runs);
        Ok(found)
    }

    /// Counts runs as shown: caveats are about them.
    pub fn show(&self, runs: &[&Run]) {
        let ids = runs.iter().map(|run| run.row.run_id.clone());
        self.shown.borrow_mut().extend(ids);
    }

    /// Returns [`Runs::select`] for a caller that shows some of them at most.
    pub fn find(&self, conditions: &Where, from: &str) -> Result<Selection<'_>> {
        let (among, mut note) = match conditions.get(ENSEMBLE) {
            Some(name) => {
                let why = name
                    .as_str()
                    .and_then(|name| self.ensembles.notes.get(name));
                (&self.ensembles.runs, why.cloned())
            }
            None => (&self.runs, None),
        };
        let mut selected: Vec<&Run> = among.iter().collect();
        if among.is_empty() {
            note.get_or_insert_with(|| "there are no runs yet".to_owned());
        }
        // Paths that every run has come first, so that a path only some runs have is looked for among those. The name of
        // an arm means something within its experiment only.
        let mut ordered: Vec<(&String, &toml::Value)> = conditions.iter().collect();
        let everywhere = |path: &str| among.iter().all(|run| run.facts.contains_key(path));
        ordered.sort_by_key(|(path, _)| match path.as_str() {
            "dataset" => (0, false),
            "experiment" => (1, false),
            "arm" => (2, false),
            path => (3, !everywhere(path)),
        });
        let mut asked: Vec<(&str, Vec<Value>)> = Vec::new();
        for (path, condition) in ordered {
            let wanted = wanted(condition).with_context(|| format!("{from}: where `{path}`"))?;
            if !selected.is_empty() && !among.iter().any(|run| run.facts.contains_key(path)) {
                let paths = among.iter().flat_map(|run| run.facts.keys());
                let known: BTreeSet<&str> = paths.map(String::as_str).collect();
                let near = did_you_mean(path, known.into_iter());
                bail!("{from}: where: found path `{path}`, which no run's spec or row has{near}");
            }
            let matching = |run: &&Run| holds(run.facts.get(path), &wanted);
            let kept: Vec<&Run> = selected.iter().copied().filter(matching).collect();
            if kept.is_empty() && note.is_none() {
                let found = selected.iter().filter_map(|run| run.facts.get(path));
                let found: BTreeSet<String> = found.map(Value::to_string).collect();
                let values: Vec<String> = wanted.iter().map(Value::to_string).collect();
                note = Some(format!(
                    "no run has {path} = {}{}",
                    values.join(" or "),
                    instead(path, found)
                ));
            }
            selected = kept;
            asked.push((path, wanted));
        }
        let is_setting = |path: &str| among.iter().any(|run| run.asked.contains(path));
        let pending = selected.is_empty()
            && !conditions.contains_key(ENSEMBLE)
            && self.missing.any(&asked, is_setting);
        if pending {
            note = Some(NOT_YET.to_owned());
        }
        Ok(Selection {
            runs: selected,
            note,
            pending,
        })
    }

    /// The numbers of the runs that meet `conditions`; `from` prefixes errors.
    pub fn sample(&self, conditions: &Where, measure: &Measure, from: &str) -> Result<Sample> {
        let selection = self.select(conditions, from)?;
        // Where nothing was run yet, nobody can know a metric.
        if !selection.runs.is_empty() {
            self.check_measure(measure, from)?;
        }
        let mut sample = Sample::default();
        sample.note = selection.note;
        sample.pending = selection.pending;
        sample.seedless = selection.runs.iter().all(|run| run.is_seedless());
        for run in selection.runs {
            sample.labels.extend(run.labels.iter().cloned());
            if run.row.status != "ok" {
                *sample.lost.entry(run.row.status.clone()).or_default() += 1;
                continue;
            }
            sample.add(run.number(measure), run.key(), run.facts_under("split"));
            sample.unlearned += usize::from(run.is_unlearned(measure));
        }
        Ok(sample)
    }

    /// Fails where no run was ever scored by `metric` on `split`, with the near name; `from` prefixes errors.
    pub fn check_scored(&self, metric: &str, split: &str, from: &str) -> Result<()> {
        if self.scored.contains(&(split.to_owned(), metric.to_owned())) {
            return Ok(());
        }
        let on_split = metrics(&self.scored, split);
        let near = did_you_mean(metric, on_split.iter().copied());
        bail!(
            "{from}: no run was scored by `{metric}` on `{split}` after an epoch, expected one of: {}{near}",
            on_split.join(", ")
        )
    }

    /// Fails where no run has the measure at all, with the near name; `from` prefixes errors.
    pub fn check_measure(&self, measure: &Measure, from: &str) -> Result<()> {
        match measure {
            Measure::Score { metric, split } => {
                let known = &self.measured;
                if known.is_empty() || known.contains(&(split.clone(), metric.clone())) {
                    return Ok(());
                }
                let on_split = metrics(known, split);
                if on_split.is_empty() {
                    let splits = known.iter().map(|(split, _)| split.as_str());
                    let near = did_you_mean(split, splits);
                    bail!("{from}: no run has a final score on the split `{split}`{near}");
                }
                let near = did_you_mean(metric, on_split.iter().copied());
                bail!(
                    "{from}: no run has the metric `{metric}` on `{split}`, expected one of: {}{near}",
                    on_split.join(", ")
                );
            }
            Measure::Field { field } => {
                // Of a run that was not timed the tensors have not been counted.
                let numbers = BTreeSet::from_iter(self.runs.iter().flat_map(Run::numbers));
                if numbers.is_empty() || numbers.contains(&**field) || field == TENSOR_MEMORY {
                    return Ok(());
                }
                let near = did_you_mean(field, numbers.into_iter().chain([TENSOR_MEMORY]));
                bail!("{from}: no run has a number called `{field}`{near}")
            }
        }
    }
}

impl Selection<'_> {
    /// Labels of its runs.
    pub fn labels(&self) -> BTreeSet<&String> {
        self.runs.iter().flat_map(|run| run.labels()).collect()
    }
}

/// The values in place of one that no run has, in brackets. Names are most often of runs that are still to be made, or
/// that a row has no use for, so these are listed for settings only.
fn instead(path: &str, found: BTreeSet<String>) -> String {
    if ["dataset", "experiment", "arm"].contains(&path) {
        return String::new();
    }
    let more = found.len().saturating_sub(NAMED);
    let mut named: Vec<String> = found.into_iter().take(NAMED).collect();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    format!(" (found: {})", named.join(", "))
}

/// Metrics among pairs of split and metric.
fn metrics<'a>(known: &'a BTreeSet<(String, String)>, split: &str) -> Vec<&'a str> {
    let on_split = known.iter().filter(|(other, _)| other == split);
    on_split.map(|(_, metric)| metric.as_str()).collect()
}

/// Runs that a `where` selects.
#[derive(Debug)]
pub struct Selection<'a> {
    /// In the order of the rows.
    pub runs: Vec<&'a Run>,
    /// The reason why nothing was selected, if nothing was.
    pub note: Option<String>,
    /// Whether nothing was selected because the runs are still to be made.
    pub pending: bool,
}

#[cfg(test)]
mod tests;
