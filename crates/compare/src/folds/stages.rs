//! The trainings of cross-validation: settings on the first fold, then the better ones on the others, and the best ones
//! again with other seeds.

use anyhow::Result;

use super::Folds;
use super::candidate::{FoldCandidate, FoldTrials};
use super::selection::{Place, is_worse};
use crate::floors::FloorResult;
use crate::progress::Stage;
use crate::race::candidate::Candidate;
use crate::race::cost::{Cost, Evaluated};
use crate::race::{Race, SLACK};
use crate::strategies::learns_late;
use crate::trial::{Size, Trial};

/// Fewest epochs after which a strategy's score is informative; twice as many of one that learns late.
const LEAST_EPOCHS: usize = 3;
/// Factor on the epochs with which a setting that goes on begins anew, where so many of the others were dropped that
/// there is time for them.
const WORTHWHILE: f64 = 1.5;

impl Folds<'_> {
    /// Runs the learning rates of all strategies on the first fold, as many as fit, and the better ones on all of them;
    /// then the best ones again with other seeds.
    pub fn run(
        &self,
        race: &Race,
        mut candidates: Vec<Candidate>,
        floors: &[FloorResult],
    ) -> Result<Vec<FoldCandidate>> {
        let mut found: Vec<FoldCandidate> = candidates
            .iter()
            .map(|candidate| FoldCandidate::new(candidate.entrant))
            .collect();
        let going_on = self.on_first_fold(race, &mut candidates, floors, &mut found)?;
        self.on_first_fold_alone(race, &mut candidates, &going_on, &mut found)?;
        self.on_other_folds(race, &mut candidates, &going_on, &mut found)?;
        self.on_first_fold_alone(race, &mut candidates, &[], &mut found)?;
        for one in &mut found {
            one.choose_rate(&race.runner.scorer);
        }
        self.repeat(race, &mut candidates, floors, &mut found)?;
        Ok(found)
    }

    /// Trains settings on the other folds, and anew on all of them where there is time for more epochs.
    fn on_other_folds(
        &self,
        race: &Race,
        candidates: &mut [Candidate],
        going_on: &[Place],
        found: &mut [FoldCandidate],
    ) -> Result<()> {
        for (done, &(at, place)) in going_on.iter().enumerate() {
            let n = going_on.len() - done;
            let seconds = race.clock.left_of(self.last) / (n * self.names.len()) as f64;
            let trials = &mut found[at].trials[place];
            let worthwhile = WORTHWHILE * trials.size.epochs as f64;
            let longer = self
                .fitting(&candidates[at], seconds)
                .filter(|(size, _)| size.epochs as f64 >= worthwhile);
            // The shorter ones are kept until the longer ones are complete.
            let mut anew = longer.map(|(size, _)| FoldTrials::new((trials.lr, trials.seed), size));
            let running = anew.as_mut().unwrap_or(trials);
            let ended = self.train(race, &mut candidates[at], running, self.names.len())?;
            if let Some(anew) = anew.filter(|anew| !anew.of_all.is_empty()) {
                found[at].trials[place] = anew;
            }
            if !ended {
                break;
            }
        }
        Ok(())
    }

    /// The two best strategies again with other seeds, as often as there is time, but for those that are significantly
    /// worse than a floor.
    fn repeat(
        &self,
        race: &Race,
        candidates: &mut [Candidate],
        floors: &[FloorResult],
        found: &mut [FoldCandidate],
    ) -> Result<()> {
        let scorer = &race.runner.scorer;
        let loses = |trials: &FoldTrials| {
            let mut of_floors = floors.iter().filter_map(|floor| floor.on_test.as_ref());
            of_floors.any(|floor| is_worse(scorer, &trials.of_all[0], floor))
        };
        let scores = found.iter().enumerate();
        let mut order: Vec<(usize, f64)> = scores
            .filter(|(_, one)| one.whole().is_some_and(|trials| !loses(trials)))
            .filter_map(|(at, one)| Some((at, one.score(scorer)?)))
            .collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        for seed in 2..=race.most_seeds as u64 {
            for &(at, _) in order.iter().take(2) {
                let one = &mut found[at];
                let best = &mut one.trials[one.best];
                let seconds: f64 = best.seconds.iter().sum::<f64>() * SLACK * SLACK;
                if seconds > race.clock.left_of(self.last) {
                    continue;
                }
                let mut again = FoldTrials::new((best.lr, seed), best.size);
                if !self.train(race, &mut candidates[at], &mut again, self.names.len())? {
                    return Ok(());
                }
                best.of_all.extend(again.of_all);
            }
        }
        Ok(())
    }

    /// Trains on the next folds, up to `end` of them or until one diverges; false if there was no time for one of them.
    pub(super) fn train(
        &self,
        race: &Race,
        candidate: &mut Candidate,
        trials: &mut FoldTrials,
        end: usize,
    ) -> Result<bool> {
        let (who, n) = (race.runner.name(candidate.entrant), self.names.len());
        for fold in trials.of_folds.len()..end {
            let settings = format!("learning rate {:e}, seed {}", trials.lr, trials.seed);
            let what = format!("{who}, {settings}, fold {} of {n}", fold + 1);
            let stage = Stage::of(&what, race.clock);
            race.progress.stage(&stage);
            let trial = Trial {
                entrant: candidate.entrant,
                lr: trials.lr,
                seed: trials.seed,
                size: Size {
                    examples: usize::MAX,
                    ..trials.size
                },
                data: &self.names[fold],
                training: None,
                predicts_test: true,
                keeps_model: false,
                until: race.clock.end_of(self.last),
            };
            let on_step = |step: &_| race.progress.step(&stage, step);
            let Some(result) = race.runner.run(trial, &on_step)? else {
                return Ok(false);
            };
            // Longer trials measure the cost of a step better than the sample did.
            candidate.cost = Cost {
                predict: candidate.cost.predict,
                ..Cost::of(&result)
            };
            trials.add(result);
            if trials.diverged {
                return Ok(true);
            }
        }
        if trials.of_folds.len() == n {
            trials.of_all.push(self.joined(&trials.of_folds));
        }
        Ok(true)
    }

    /// The size of a training that fits into these seconds, and the seconds that it will take, both with room to err.
    pub(super) fn fitting(&self, candidate: &Candidate, seconds: f64) -> Option<(Size, f64)> {
        let n = self.all.examples.len();
        let n_test = n / self.names.len();
        let n_train = n - n_test;
        let fewest = if learns_late(candidate.entrant.strategy) {
            2 * LEAST_EPOCHS
        } else {
            LEAST_EPOCHS
        };
        let epochs = fewest.max(*candidate.epochs.start())..=*candidate.epochs.end();
        let evaluated = Evaluated {
            dev: 0,
            test: n_test,
        };
        let limits = (&epochs, n_train, n_train);
        // Activations are computed once for all folds.
        let cost = Cost {
            cache: candidate.cost.cache / self.names.len() as f64,
            ..candidate.cost
        };
        let size = cost.fitting(seconds / SLACK, limits, evaluated)?;
        Some((size, cost.seconds(size, evaluated) * SLACK))
    }
}
