//! Small data: cross-validation of a fixed grid, without elimination.
//!
//! With 100 examples to choose on, a setting that is two points better loses every third comparison, so nothing is raced
//! here: each learning rate of each strategy has the same time and the same folds, and the score of the choice is corrected
//! (Tsamardinos et al. 2018, Bootstrap Bias Corrected Cross-Validation).

use anyhow::Result;
use totune_data::{Dataset, Target};

use crate::candidate::Candidate;
use crate::comparison::Comparison;
use crate::cost::Evaluated;
use crate::dataset::DatasetSplits;
use crate::floors::{self, FloorResult};
use crate::fold_candidate::{FoldCandidate, FoldTrials};
use crate::model::Model;
use crate::predictions::Predictions;
use crate::progress::Stage;
use crate::race::{Race, SLACK};
use crate::runner::Runner;
use crate::scorer::Scorer;
use crate::sentence::sentence;
use crate::trial::{Size, Trial};

/// Share of the budget at which training has to be over, and the same if a model is kept, which is trained after that.
const LAST: f64 = 0.94;
const LAST_BEFORE_MODEL: f64 = 0.86;
/// Fewest epochs after which a strategy's score is informative.
const LEAST_EPOCHS: usize = 3;

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
            runner.insert("train", all.part(&train.collect::<Vec<_>>(), &name));
            runner.insert("test", all.part(test, &name));
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
    fn joined(&self, of_folds: Vec<Predictions>) -> Predictions {
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
            for (at, (index, target)) in indices.iter().zip(fold.predicted).enumerate() {
                predicted[*index] = target;
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
            of_folds.push(floors::all(runner, name, None)?.into_iter());
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
            let on_all = on_all.map(|predictions| self.joined(predictions));
            let mut results = results.into_iter();
            found.extend(results.next().map(|of_first| FloorResult {
                seconds: totune_stats::mean(&seconds),
                on_dev: on_all.clone(),
                on_test: on_all,
                ..of_first
            }));
        }
    }

    /// Runs all learning rates of all strategies on all folds, as many as fit; then the best ones again with other
    /// seeds.
    pub fn run(&self, race: &Race, candidates: Vec<Candidate>) -> Result<Vec<FoldCandidate>> {
        let mut found: Vec<FoldCandidate> = candidates
            .iter()
            .map(|candidate| FoldCandidate::new(candidate.entrant))
            .collect();
        // First rates of all strategies, then second ones: the end of this list is dropped first.
        let first = candidates.iter().map(|one| one.rates[0]).enumerate();
        let second = candidates.iter().map(|one| one.rates[1]).enumerate();
        let mut grid: Vec<(usize, f64)> = first.chain(second).collect();
        let size = |at: usize, n: usize| {
            let seconds = race.clock.left_of(self.last) / (n * self.names.len()) as f64;
            self.fitting(&candidates[at], seconds)
        };
        while !grid.is_empty() && grid.iter().any(|(at, _)| size(*at, grid.len()).is_none()) {
            grid.pop();
        }
        let sizes: Vec<Option<Size>> = grid.iter().map(|(at, _)| size(*at, grid.len())).collect();
        for ((at, lr), size) in grid.into_iter().zip(sizes) {
            let Some(size) = size else { continue };
            let Some(trials) = self.all_folds(race, &candidates[at], (lr, 1), size)? else {
                break;
            };
            found[at].trials.push(trials);
        }
        for one in &mut found {
            one.choose_rate(&race.runner.scorer);
        }
        self.repeat(race, &candidates, &mut found)?;
        Ok(found)
    }

    /// The two best strategies again with other seeds, as often as there is time.
    fn repeat(
        &self,
        race: &Race,
        candidates: &[Candidate],
        found: &mut [FoldCandidate],
    ) -> Result<()> {
        let scorer = &race.runner.scorer;
        let scores = found.iter().enumerate();
        let mut order: Vec<(usize, f64)> = scores
            .filter_map(|(at, one)| Some((at, one.score(scorer)?)))
            .collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        for seed in 2..=race.most_seeds as u64 {
            for &(at, _) in order.iter().take(2) {
                let best = &found[at].trials[found[at].best];
                let seconds: f64 = best.seconds.iter().sum::<f64>() * SLACK * SLACK;
                if seconds > race.clock.left_of(self.last) {
                    return Ok(());
                }
                let seeded = (best.lr, seed);
                let trials = self.all_folds(race, &candidates[at], seeded, best.size)?;
                let Some(trials) = trials else { return Ok(()) };
                let one = &mut found[at];
                one.trials[one.best].predictions.extend(trials.predictions);
            }
        }
        Ok(())
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
        let Some((entrant, best)) =
            one.and_then(|one| Some((one.entrant, one.trials.get(one.best)?)))
        else {
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
        if let (Some(model), Some(score)) = (&mut model, kept.and_then(|row| row.test)) {
            let metric = (CROSS_VALIDATION, comparison.metric.as_str());
            model.scored(metric, score.value, self.all.examples.len());
            model.sizes[2] = 0;
        }
        Ok(model.map(|model| *model))
    }

    fn fitting(&self, candidate: &Candidate, seconds: f64) -> Option<Size> {
        let n = self.all.examples.len();
        let n_test = n / self.names.len();
        let n_train = n - n_test;
        let epochs = LEAST_EPOCHS.max(*candidate.epochs.start())..=*candidate.epochs.end();
        let evaluated = Evaluated {
            dev: 0,
            test: n_test,
        };
        let limits = (&epochs, n_train, n_train);
        let size = candidate.cost.fitting(seconds / SLACK, limits, evaluated)?;
        Some(Size {
            examples: usize::MAX,
            ..size
        })
    }

    /// Runs one trial on each fold; `None` if there was no time for one of them.
    fn all_folds(
        &self,
        race: &Race,
        candidate: &Candidate,
        (lr, seed): (f64, u64),
        size: Size,
    ) -> Result<Option<FoldTrials>> {
        let (who, n) = (race.runner.name(candidate.entrant), self.names.len());
        let mut predictions = Vec::new();
        let (mut seconds, mut trained_share, mut trained) = (Vec::new(), 0.0, size);
        for (fold, name) in self.names.iter().enumerate() {
            let settings = format!("learning rate {lr:e}, seed {seed}");
            let what = format!("{who}, {settings}, fold {} of {n}", fold + 1);
            let stage = Stage::of(&what, race.clock);
            race.progress.stage(&stage);
            let trial = Trial {
                entrant: candidate.entrant,
                lr,
                seed,
                size,
                data: name,
                training: None,
                predicts_test: true,
                keeps_model: false,
                until: race.clock.end_of(self.last),
            };
            let on_step = |step: &_| race.progress.step(&stage, step);
            let Some(result) = race.runner.run(trial, &on_step)? else {
                return Ok(None);
            };
            seconds.push(result.seconds);
            trained_share = result.trained_share();
            trained = result.size;
            predictions.extend(result.on_test);
        }
        // A model that diverged on one fold has no predictions there, and so not of all examples.
        let is_whole = predictions.len() == n;
        let predictions = is_whole.then(|| self.joined(predictions));
        Ok(Some(FoldTrials {
            lr,
            predictions: predictions.into_iter().collect(),
            seconds,
            size: trained,
            trained_share,
        }))
    }
}

/// Replaces the score of the choice by one that is corrected for the choice on the same examples.
pub(crate) fn correct(
    comparison: &mut Comparison,
    scorer: &Scorer,
    (floors, candidates): (&[FloorResult], &[FoldCandidate]),
) -> Result<()> {
    let of_floors = floors.iter().filter_map(|floor| floor.on_test.as_ref());
    let trials = candidates.iter().flat_map(|one| &one.trials);
    let models: Vec<&Predictions> = of_floors
        .chain(trials.map(|trials| &trials.predictions[0]))
        .collect();
    let mut rows = comparison.rows.iter();
    let Some(at) = rows.position(|row| Some(&row.name) == comparison.chosen.as_ref()) else {
        return Ok(());
    };
    let raw = comparison.rows[at].test;
    comparison.rows[at].test = Some(scorer.of_chosen(&models)?);
    comparison.sentence = sentence(&comparison.rows, at, &comparison.metric, comparison.margin)?;
    if let Some(raw) = raw {
        comparison.notes.push(format!(
            "The score of the choice is corrected for the choice among {} settings on the same examples; without the \
             correction it is {:.3}.",
            models.len(),
            raw.value
        ));
    }
    Ok(())
}
