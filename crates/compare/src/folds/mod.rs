//! Small data: cross-validation of a fixed grid of settings.
//!
//! With 100 examples to choose on, a setting that is two points better loses every third comparison. So of all settings,
//! which are first trained on one fold, only those that are clearly behind are dropped, the others are scored on all
//! folds, and the score of the choice is corrected (Tsamardinos et al. 2018, Bootstrap Bias Corrected Cross-Validation).

mod candidate;
mod first_fold;
mod selection;
mod sizes;
mod stages;

use anyhow::Result;
use totune_data::{Dataset, Target};

use crate::dataset::DatasetSplits;
use crate::floors::{self, FloorResult, MAJORITY};
use crate::folds::candidate::FoldCandidate;
use crate::model::Model;
use crate::predictions::Predictions;
use crate::progress::Stage;
use crate::race::Race;
use crate::result::Comparison;
use crate::result::sentence::sentence;
use crate::runner::Runner;
use crate::scorer::Scorer;
use crate::trial::{Size, Trial};

/// Share of the budget at which training has to be over, and the same if a model is kept, which is trained after that.
const LAST: f64 = 0.94;
const LAST_BEFORE_MODEL: f64 = 0.86;

/// The source of the score of a model that was trained on all examples.
const CROSS_VALIDATION: &str = "cross-validation";

/// The folds of a dataset: the name of each in the runner, whose splits are `train` and `test`.
pub(crate) struct Folds<'a> {
    all: &'a Dataset,
    names: Vec<String>,
    /// The test indices of each fold.
    indices: &'a [Vec<usize>],
    /// Share of the budget at which their training has to be over.
    last: f64,
}

impl<'a> Folds<'a> {
    /// Adds the folds of `all` to a runner.
    pub fn new(
        data: &DatasetSplits,
        (all, indices): (&'a Dataset, &'a [Vec<usize>]),
        runner: &mut Runner,
    ) -> Self {
        let mut names = Vec::new();
        for (fold, test) in indices.iter().enumerate() {
            let name = format!("{}-fold-{}", data.name, fold + 1);
            let train = (0..all.examples.len()).filter(|at| test.binary_search(at).is_err());
            runner.insert_part((&name, "train"), all, train.collect());
            runner.insert_part((&name, "test"), all, test.clone());
            names.push(name);
        }
        Self {
            all,
            names,
            indices,
            last: if runner.keeps_models {
                LAST_BEFORE_MODEL
            } else {
                LAST
            },
        }
    }

    /// The predictions of all examples from those of each fold.
    fn joined(&self, of_folds: &[Predictions]) -> Predictions {
        let n = self.all.examples.len();
        let mut predicted = vec![Target::Unknown; n];
        let mut probabilities = vec![0.0; n];
        let mut of_labels = vec![Vec::new(); n];
        let known = of_folds
            .iter()
            .all(|fold| fold.probabilities.len() == fold.len());
        let each_known = of_folds
            .iter()
            .all(|fold| fold.of_labels.len() == fold.len());
        for (indices, fold) in self.indices.iter().zip(of_folds) {
            for (at, (index, target)) in indices.iter().zip(&fold.predicted).enumerate() {
                predicted[*index] = target.clone();
                probabilities[*index] = fold.probabilities.get(at).copied().unwrap_or_default();
                of_labels[*index] = fold.of_labels.get(at).cloned().unwrap_or_default();
            }
        }
        let gold = self.all.examples.iter();
        Predictions {
            gold: gold.map(|example| example.target.clone()).collect(),
            predicted,
            probabilities: if known { probabilities } else { Vec::new() },
            of_labels: if each_known { of_labels } else { Vec::new() },
        }
    }

    /// The floors, each fitted on every fold.
    pub fn floors(&self, runner: &Runner) -> Result<Vec<FloorResult>> {
        let mut of_folds = Vec::new();
        for name in &self.names {
            of_folds.push(floors::all(runner, name, None, &mut Vec::new())?.into_iter());
        }
        let mut found = Vec::new();
        loop {
            let next = of_folds.iter_mut().map(Iterator::next);
            let Some(results) = next.collect::<Option<Vec<FloorResult>>>() else {
                return Ok(found);
            };
            let seconds: Vec<f64> = results.iter().map(|result| result.seconds).collect();
            let on_test = results.iter().map(|result| result.on_test.clone());
            let on_all = on_test.collect::<Option<Vec<_>>>();
            let mut on_all = on_all.map(|predictions| self.joined(&predictions));
            if let (Some(joined), MAJORITY) = (&mut on_all, results[0].name.as_str()) {
                one_number(joined);
            }
            let mut results = results.into_iter();
            found.extend(results.next().map(|of_first| FloorResult {
                seconds: totune_stats::mean(&seconds),
                on_dev: on_all.clone(),
                on_test: on_all,
                ..of_first
            }));
        }
    }

    /// The model of [`Comparison::kept`], trained on all examples with the chosen settings; none if it was stopped from
    /// outside. Its score is that of cross-validation.
    pub fn model(
        &self,
        race: &Race,
        comparison: &Comparison,
        candidates: &[FoldCandidate],
    ) -> Result<Option<Model>> {
        let kept = comparison.kept();
        let mut named = candidates.iter();
        let one = named
            .find(|one| Some(race.runner.name(one.entrant)) == kept.map(|row| row.name.clone()));
        let Some((entrant, best)) = one.and_then(|one| Some((one.entrant, one.whole()?))) else {
            return Ok(None);
        };
        let size = Size {
            examples: self.all.examples.len(),
            ..best.size
        };
        let name = race.runner.name(entrant);
        let stage = Stage::training(&name, (best.lr, 1), size, race.clock);
        race.progress.stage(&stage);
        let trial = Trial {
            entrant,
            lr: best.lr,
            seed: 1,
            size,
            data: race.data,
            training: None,
            predicts_test: false,
            keeps_model: true,
            // Better late than untrained.
            until: race.clock.end_of(10.0),
        };
        let on_step = |step: &_| race.progress.step(&stage, step);
        let result = race.runner.run(trial, &on_step)?;
        let mut model = result.and_then(|result| result.model);
        let is_chosen = kept.is_some_and(|row| Some(&row.name) == comparison.chosen.as_ref());
        let score = if is_chosen {
            comparison.score
        } else {
            kept.and_then(|row| row.test)
        };
        if let (Some(model), Some(score)) = (&mut model, score) {
            let metric = (CROSS_VALIDATION, comparison.metric.as_str());
            model.scored(metric, score.value, self.all.examples.len());
            model.sizes[2] = 0;
        }
        Ok(model.map(|model| *model))
    }
}

/// Makes predicted numbers one, their mean. The means of the other folds are low where the scores of a fold are high, and would
/// correlate with them.
fn one_number(predictions: &mut Predictions) {
    let values = predictions.predicted.iter().map(|target| match target {
        Target::Value(value) => Some(*value),
        _ => None,
    });
    if let Some(values) = values.collect::<Option<Vec<f64>>>()
        && !values.is_empty()
    {
        predictions
            .predicted
            .fill(Target::Value(totune_stats::mean(&values)));
    }
}

/// Corrects the score of the choice, whose predictions are `chosen`, for the choice on the same examples: it is as much too
/// high as the highest of all scores. Where settings were trained on the first fold alone, it is that on the other folds:
/// what was best on the first one is too good there by chance. The differences of the others from the choice are corrected by
/// as much, and it is better than the most frequent answer only if it still is then. That answer itself is never too good.
pub(crate) fn correct(
    comparison: &mut Comparison,
    (scorer, chosen): (&Scorer, &Predictions),
    (floors, candidates): (&[FloorResult], &[FoldCandidate]),
    first_fold: &[usize],
) -> Result<()> {
    let of_floors = floors.iter().filter_map(|floor| floor.on_test.as_ref());
    let trials = candidates.iter().flat_map(|one| &one.trials);
    let (whole, partial): (Vec<_>, Vec<_>) = trials.partition(|trials| !trials.of_all.is_empty());
    let of_settings = whole.iter().map(|trials| &trials.of_all[0]);
    let models: Vec<&Predictions> = of_floors.chain(of_settings).collect();
    let mut rows = comparison.rows.iter();
    let Some(at) = rows.position(|row| Some(&row.name) == comparison.chosen.as_ref()) else {
        return Ok(());
    };
    if comparison.rows[at].name == MAJORITY {
        return Ok(());
    }
    let raw = comparison.rows[at].test;
    let others: Vec<usize> = (0..models[0].len())
        .filter(|at| partial.is_empty() || first_fold.binary_search(at).is_err())
        .collect();
    let on_others: Vec<Predictions> = models.iter().map(|model| model.part(&others)).collect();
    let of_best = scorer.of_chosen(&on_others.iter().collect::<Vec<_>>())?;
    let scores = on_others.iter().map(|model| scorer.score(model));
    let highest = scores.fold(f64::NEG_INFINITY, f64::max);
    // The choice may be a faster one that is about as good.
    let mut corrected = of_best.shifted(scorer.score(&chosen.part(&others)) - highest);
    // A choice on the same examples makes no score too low, though the other folds alone may be easier.
    if let Some(raw) = raw.filter(|raw| raw.value < corrected.value) {
        corrected = corrected.shifted(raw.value - corrected.value);
    }
    comparison.score = Some(corrected);
    // How much the choice gained by being chosen, whatever the examples: differences are of the same ones.
    let shift = (of_best.value - highest).min(0.0);
    let rows = comparison.rows.iter_mut();
    let differences = rows.filter_map(|row| row.difference.as_mut());
    differences.for_each(|difference| *difference = difference.shifted(-shift));
    let majority = floors.iter().find(|floor| floor.name == MAJORITY);
    if let Some(majority) = majority.and_then(|floor| floor.on_test.as_ref()) {
        let above = scorer.difference(&[chosen], &[majority])?.shifted(shift);
        let is_above = above.low > 0.0 && corrected.low > scorer.score(&majority.part(&others));
        comparison.rows[at].beats_majority &= is_above;
    }
    let score = (comparison.metric.as_str(), corrected);
    let (margin, stopped) = (comparison.margin, comparison.stopped);
    comparison.sentence = sentence(&comparison.rows, at, score, margin, stopped);
    if let Some(raw) = raw {
        let of_first_fold = match partial.len() {
            0 => String::new(),
            n => format!(
                " {n} {} trained on the first fold alone, so the correction leaves its examples out; a strategy without a \
                 setting that was trained on all folds has its score on that one.",
                if n == 1 {
                    "setting was"
                } else {
                    "settings were"
                }
            ),
        };
        comparison.notes.push(format!(
            "The score in the sentence, {:.3}, is corrected for the choice among {} settings on the same examples, and so are \
             the differences from it; the one in the table, {:.3}, is not.{of_first_fold}",
            corrected.value,
            models.len(),
            raw.value
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two folds, each predicted by the mean of the other: the higher of them has the lower prediction.
    #[test]
    fn the_mean_of_other_folds_does_not_correlate_with_the_scores() {
        let values = |values: [f64; 4]| values.map(Target::Value).to_vec();
        let mut predictions = Predictions {
            gold: values([1.0, 2.0, 3.0, 4.0]),
            predicted: values([3.5, 3.5, 1.5, 1.5]),
            probabilities: Vec::new(),
            of_labels: Vec::new(),
        };
        let mut dataset = crate::test_support::dataset(4);
        dataset.task = totune_data::Task::Regression;
        dataset.metrics = vec!["pearson".into()];
        let scorer = Scorer::of(&dataset).unwrap();
        assert!(scorer.score(&predictions) < -0.8);
        one_number(&mut predictions);
        assert_eq!(predictions.predicted, values([2.5; 4]));
        assert_eq!(scorer.score(&predictions), 0.0);
    }
}
