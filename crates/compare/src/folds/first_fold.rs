//! Trainings on the first fold: which settings there is time for, and which of them go on.

use anyhow::Result;

use super::Folds;
use super::candidate::{FoldCandidate, FoldTrials};
use super::selection::{Place, first_folds, going_on};
use super::sizes::sizes;
use crate::floors::FloorResult;
use crate::race::candidate::Candidate;
use crate::race::{Race, SLACK};
use crate::trial::Size;

impl Folds<'_> {
    /// Trains settings on the first fold, as many as fit next to those that go on, whose places it returns. The time that
    /// dropped ones leave is for settings that did not fit before.
    pub(super) fn on_first_fold(
        &self,
        race: &Race,
        candidates: &mut [Candidate],
        floors: &[FloorResult],
        found: &mut [FoldCandidate],
    ) -> Result<Vec<Place>> {
        let of_floors = floors.iter().filter_map(|floor| floor.on_test.as_ref());
        let of_floors: Vec<_> = of_floors.map(|all| all.part(&self.indices[0])).collect();
        // First usual learning rates of all strategies, then second ones.
        let rates = [0, 1].into_iter().flat_map(|place| {
            let of_place = candidates.iter().map(move |one| one.rates[place]);
            of_place.enumerate()
        });
        let mut untried: Vec<(usize, f64)> = rates.collect();
        let mut on = Vec::new();
        loop {
            let left = self.left_after(race, &on, found);
            let next = self.fitting_all(candidates, &mut untried, left, self.names.len());
            if next.is_empty() || !self.train_first(race, candidates, next, found)? {
                return Ok(on);
            }
            on = going_on(&race.runner.scorer, &first_folds(found), &of_floors);
        }
    }

    /// Trains strategies on the first fold alone that were not tried because all folds did not fit, in the time that is left
    /// after those that go on.
    pub(super) fn on_first_fold_alone(
        &self,
        race: &Race,
        candidates: &mut [Candidate],
        going_on: &[Place],
        found: &mut [FoldCandidate],
    ) -> Result<()> {
        let untried = (0..candidates.len()).filter(|&at| found[at].trials.is_empty());
        let mut untried: Vec<_> = untried.map(|at| (at, candidates[at].rates[0])).collect();
        let left = self.left_after(race, going_on, found);
        let next = self.fitting_all(candidates, &mut untried, left, 1);
        self.train_first(race, candidates, next, found)?;
        Ok(())
    }

    /// The seconds that are left after these settings were trained on the folds that follow the first one.
    fn left_after(&self, race: &Race, going_on: &[Place], found: &[FoldCandidate]) -> f64 {
        let on_others = going_on.iter().map(|&(at, place)| {
            let trials = &found[at].trials[place];
            trials.seconds.iter().sum::<f64>() * SLACK * (self.names.len() - 1) as f64
        });
        race.clock.left_of(self.last) - on_others.sum::<f64>()
    }

    /// Trains settings on the first fold; false if there was no time for one of them.
    fn train_first(
        &self,
        race: &Race,
        candidates: &mut [Candidate],
        settings: Vec<(usize, f64, Size)>,
        found: &mut [FoldCandidate],
    ) -> Result<bool> {
        for (at, lr, size) in settings {
            let mut trials = FoldTrials::new((lr, 1), size);
            if !self.train(race, &mut candidates[at], &mut trials, 1)? {
                return Ok(false);
            }
            found[at].trials.push(trials);
        }
        Ok(true)
    }

    /// Takes settings out of `untried` such that there is time for all of them on the first of `n_folds` folds, and on the
    /// others for those that go on; of those that do not fit, the last ones are left out first. Each is the place of a
    /// candidate, a learning rate and the size of a training.
    fn fitting_all(
        &self,
        candidates: &[Candidate],
        untried: &mut Vec<(usize, f64)>,
        left: f64,
        n_folds: usize,
    ) -> Vec<(usize, f64, Size)> {
        let mut settings = std::mem::take(untried);
        loop {
            let fitting = |at: usize, seconds| self.fitting(&candidates[settings[at].0], seconds);
            let sizes = sizes((settings.len(), n_folds), left, fitting);
            let Some(too_long) = sizes.iter().rposition(Option::is_none) else {
                let sized = settings.into_iter().zip(sizes.into_iter().flatten());
                return sized.map(|((at, lr), size)| (at, lr, size)).collect();
            };
            untried.insert(0, settings.remove(too_long));
        }
    }
}
