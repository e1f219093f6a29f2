//! What follows from scores on dev: an end, another learning rate, the epoch that a run is scored by.

use anyhow::{Result, ensure};
use totune_model::{Classifier, Encoder};

use super::Run;
use crate::best::Best;
use crate::outcome::Stop;
use crate::schedule::Schedule;
use crate::stop::{StopRule, has_stopped_improving, overfits};
use crate::training::Select;

impl Run<'_> {
    /// Why the phase is over, if the scores say so.
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
                let train = *train.last().expect("scored with dev");
                overfits(&dev, train, max_gap, min_improvement).then_some(Stop::GeneralisationGap)
            }
        })
    }

    /// What the rate is multiplied by in the epochs that follow.
    pub(super) fn scale_after(&self, schedule: &Schedule) -> Result<f64> {
        schedule.scale(|plateau| {
            let purpose = "schedule: the rate is to fall where %s on dev no longer rises";
            self.dev(plateau.metric.as_ref(), purpose)
        })
    }

    /// Keeps the model after this epoch where the best one on dev is selected and it is the best so far.
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

    /// The model of the selected epoch, whose scores become the final ones and whose predictions are kept.
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

    /// What a decision looks at: the metric it names, or the dataset's main one.
    pub(super) fn metric<'m>(&'m self, named: Option<&'m String>) -> &'m str {
        named
            .or(self.task.metrics.first())
            .map_or("the score", String::as_str)
    }

    /// The scores of this phase, in the order they were taken.
    pub(super) fn of_phase(&self, split: &str, metric: &str) -> Vec<f64> {
        let scores = self.scores.iter().filter(|score| {
            score.split == split && score.phase == self.phase && score.metric == metric
        });
        scores.map(|score| score.value).collect()
    }

    /// The scores of this phase on dev; an error that begins with `purpose` (where `%s` stands for the metric) if there
    /// are none.
    fn dev(&self, named: Option<&String>, purpose: &str) -> Result<Vec<f64>> {
        let metric = self.metric(named);
        let scores = self.of_phase("dev", metric);
        ensure!(
            !scores.is_empty(),
            "{}, but there is no dev split with such a score",
            purpose.replace("%s", metric)
        );
        Ok(scores)
    }
}
