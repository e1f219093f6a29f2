//! Decisions based on scores on dev: early stopping, the learning rate, checkpoint selection.

use anyhow::{Result, ensure};
use totune_model::{Classifier, Encoder};

use super::Run;
use crate::best::Best;
use crate::outcome::{Score, Stop};
use crate::schedule::Schedule;
use crate::stop::{StopRule, has_stopped_improving, overfits};
use crate::training::Select;

impl Run<'_> {
    /// Returns the reason to end the phase, if the scores on dev give one.
    pub(super) fn ends(&self, rule: &StopRule) -> Result<Option<Stop>> {
        let purpose = "stop: training is to end where %s on dev does";
        let dev = || self.dev(rule.metric(), purpose);
        Ok(match *rule {
            StopRule::Epochs {} => None,
            StopRule::EarlyStopping {
                patience,
                threshold,
                metric: _,
            } => has_stopped_improving(&dev()?, patience, threshold).then_some(Stop::EarlyStopping),
            StopRule::GeneralisationGap {
                max_gap,
                min_improvement,
                ..
            } => {
                let dev = dev()?;
                let train = self.of_phase("train", self.metric(rule.metric()));
                let train = train.last().copied().unwrap_or(f64::NEG_INFINITY);
                overfits(&dev, train, max_gap, min_improvement).then_some(Stop::GeneralisationGap)
            }
        })
    }

    /// Factor of the learning rate in the epochs that follow.
    pub(super) fn scale_after(&self, schedule: &Schedule) -> Result<f64> {
        schedule.scale(|plateau| {
            let purpose = "schedule: the rate is to fall where %s on dev no longer rises";
            self.dev(plateau.metric.as_ref(), purpose)
        })
    }

    /// Stores the model after this epoch if the best one on dev is selected and it is the best so far.
    pub(super) fn offer<E: Encoder>(&mut self, model: &Classifier<E>) -> Result<()> {
        match self.training.select {
            Select::Last => Ok(()),
            Select::BestDev => {
                let metric = self.training.stop.metric();
                let purpose = "select: the epoch with the best %s on dev is to stand for the run";
                let score = *self.dev(metric, purpose)?.last().expect("just scored");
                if self.best.is_below(score) {
                    let trainable = |path: &str| self.trainable.contains(path);
                    self.best = Best::new(score, self.epoch, model, &trainable)
                        .with_predictions(&self.predictions);
                }
                Ok(())
            }
        }
    }

    /// Returns the model of the selected epoch, whose scores become the final ones and whose predictions are stored.
    pub(super) fn select<E: Encoder>(&mut self, mut model: Classifier<E>) -> Classifier<E> {
        let mut selected = self.epoch;
        if let Some(best) = std::mem::take(&mut self.best).into_found() {
            (selected, self.predictions) = (best.epoch, best.predictions);
            model = crate::parameters::restore(model, best.values);
        }
        for score in &mut self.scores {
            score.is_final = score.epoch == selected;
        }
        model
    }

    /// Metric of a decision: the one it names, or the dataset's main one.
    pub(super) fn metric<'m>(&'m self, named: Option<&'m String>) -> &'m str {
        named
            .or(self.task.metrics.first())
            .map_or("the score", String::as_str)
    }

    /// Scores of this phase, in the order they were taken.
    pub(super) fn of_phase(&self, split: &str, metric: &str) -> Vec<f64> {
        let scores = self.scores.iter().filter(|score| {
            score.split == split && score.phase == self.phase && score.metric == metric
        });
        scores.map(|score| score.value).collect()
    }

    /// Scores of this phase on dev, one for each epoch: below all others where the score is not defined, such as a
    /// correlation of predictions that are all the same. If dev has no such score, an error that starts with `purpose`
    /// (where `%s` is replaced by the metric).
    fn dev(&self, named: Option<&String>, purpose: &str) -> Result<Vec<f64>> {
        let metric = self.metric(named);
        let mut scores: Vec<(usize, f64)> = Vec::new();
        let here = |score: &&Score| score.split == "dev" && score.phase == self.phase;
        for score in self.scores.iter().filter(here) {
            if scores.last().is_none_or(|(epoch, _)| *epoch != score.epoch) {
                scores.push((score.epoch, f64::NEG_INFINITY));
            }
            if let Some((_, value)) = scores.last_mut().filter(|_| score.metric == metric) {
                *value = score.value;
            }
        }
        let is_known = scores.iter().any(|(_, value)| value.is_finite())
            || self.task.metrics.iter().any(|known| known == metric);
        ensure!(
            is_known && !scores.is_empty(),
            "{}, but there is no dev split with such a score",
            purpose.replace("%s", metric)
        );
        Ok(scores.into_iter().map(|(_, value)| value).collect())
    }
}
