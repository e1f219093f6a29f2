//! Scoring and recording after an epoch.

use std::ops::ControlFlow;

use anyhow::Result;
use totune_data::{random, stream};
use totune_model::{Classifier, Encoder};

use super::Run;
use crate::evaluate::{Evaluation, evaluate, evaluate_until};
use crate::examples::Examples;
use crate::objective::Found;
use crate::outcome::{Prediction, Score, Stop, TEST_LOSS};
use crate::phase::Phase;
use crate::stop::StopRule;
use crate::training::TestScores;
use crate::watch::EpochScores;

impl Run<'_> {
    /// Scores a snapshot of the model on dev, and on test if every epoch is scored on it, and stores its predictions.
    /// Interrupted on the way, it leaves no score.
    pub(super) fn score<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        train_loss: f64,
        phase: &Phase,
    ) -> Result<ControlFlow<Stop>> {
        let before = self.eval_clock.clone();
        self.eval_clock.start()?;
        let first_new = self.scores.len();
        self.push("train", "loss", train_loss, self.task.train.len());
        self.predictions.clear();
        let scored = self.score_all(model, phase)?;
        self.eval_clock.stop()?;
        match scored {
            ControlFlow::Break(Stop::Interrupted) => {
                self.scores.truncate(first_new);
                self.eval_clock = before;
                Ok(scored)
            }
            ControlFlow::Break(_) => Ok(scored),
            ControlFlow::Continue(()) => {
                let heard = self.watch.epoch(&EpochScores {
                    phase: self.phase,
                    epoch: self.epoch,
                    epochs: self.epochs,
                    metric: self.task.metrics.first().map(String::as_str),
                    scores: &self.scores[first_new..],
                });
                Ok(heard.map_break(|()| Stop::Interrupted))
            }
        }
    }

    fn score_all<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        phase: &Phase,
    ) -> Result<ControlFlow<Stop>> {
        let with_test = self.training.test_scores == TestScores::EachEpoch;
        let scored = self.task.scored();
        for (split, examples) in scored.filter(|(split, _)| with_test || *split != "test") {
            let Some(found) = self.evaluated(model, examples)? else {
                return Ok(ControlFlow::Break(Stop::Interrupted));
            };
            let recorded = self.record(split, examples, found);
            if recorded.is_break() {
                return Ok(recorded);
            }
        }
        match &phase.stop {
            StopRule::GeneralisationGap { metric, .. } => self.compare(model, metric.as_ref()),
            StopRule::Epochs {} | StopRule::EarlyStopping { .. } => Ok(ControlFlow::Continue(())),
        }
    }

    /// Scores the selected model on test, unless that was done after its epoch.
    pub(super) fn score_final<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
    ) -> Result<ControlFlow<Stop>> {
        if self.training.test_scores == TestScores::EachEpoch {
            return Ok(ControlFlow::Continue(()));
        }
        self.eval_clock.start()?;
        let first_new = self.scores.len();
        let test = &self.task.test;
        let found = self.evaluated_fully(model, test)?;
        let scored = self.record("test", test, found);
        self.eval_clock.stop()?;
        // The moment is that of the epoch whose model it is, which may not be the last.
        let (before, new) = self.scores.split_at_mut(first_new);
        let of_epoch = before.iter().find(|score| score.is_final);
        let of_epoch = of_epoch.expect("an epoch was selected");
        for score in new {
            let split = score.split;
            let (metric, value, n) = (std::mem::take(&mut score.metric), score.value, score.n);
            *score = Score {
                split,
                metric,
                value,
                n,
                ..of_epoch.clone()
            };
        }
        Ok(scored)
    }

    /// Records loss, metrics and predictions of a split, unless the run diverged.
    fn record(
        &mut self,
        split: &'static str,
        examples: &Examples,
        found: Evaluation,
    ) -> ControlFlow<Stop> {
        if !found.loss.is_finite() {
            let what = if split == "dev" {
                "dev loss"
            } else {
                TEST_LOSS
            };
            return ControlFlow::Break(self.diverged(what, found.loss));
        }
        self.push(split, "loss", found.loss, examples.len());
        self.push_all(split, examples, &found);
        self.keep(split, examples, found);
        ControlFlow::Continue(())
    }

    /// Scores a sample of the training examples, and records how far the score is above the one on dev.
    fn compare<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        metric: Option<&String>,
    ) -> Result<ControlFlow<Stop>> {
        let sample = self.sample.take().unwrap_or_else(|| self.sampled());
        if sample.is_empty() {
            return Ok(ControlFlow::Continue(())); // without dev, which the rule itself complains about
        }
        let Some(found) = self.evaluated(model, &sample)? else {
            return Ok(ControlFlow::Break(Stop::Interrupted));
        };
        self.push_all("train", &sample, &found);
        let last = |split| {
            let scores = self.of_phase(split, self.metric(metric));
            scores.last().copied()
        };
        if let (Some(train), Some(dev)) = (last("train"), last("dev")) {
            self.push("train", "gap", train - dev, sample.len());
        }
        self.sample = Some(sample);
        Ok(ControlFlow::Continue(()))
    }

    /// Samples as many training examples as dev has, with the run's seed.
    fn sampled(&self) -> Examples {
        let n_dev = self.task.dev.as_ref().map_or(0, Examples::len);
        let mut indices: Vec<usize> = (0..self.task.train.len()).collect();
        random::shuffle(&mut indices, &mut stream(self.seed, "gap", 0));
        indices.truncate(n_dev);
        self.task.train.part(&indices)
    }

    /// Predicts the splits on which the final model is not evaluated.
    pub(super) fn predict<E: Encoder>(&mut self, model: &Classifier<E>) -> Result<()> {
        for (split, examples) in &self.task.predict {
            let found = self.evaluated_fully(model, examples)?;
            self.keep(split, examples, found);
        }
        Ok(())
    }

    /// Evaluates the examples, unless the watcher ends the run meanwhile.
    fn evaluated<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        examples: &Examples,
    ) -> Result<Option<Evaluation>> {
        let batches = (self.training.evaluation_batch_size, self.start);
        let (objective, watch) = (&self.task.objective, &mut self.watch);
        evaluate_until(model, objective, examples, batches, &mut || watch.scoring())
    }

    /// Evaluates the examples after training, where nothing is left to resume.
    fn evaluated_fully<E: Encoder>(
        &self,
        model: &Classifier<E>,
        examples: &Examples,
    ) -> Result<Evaluation> {
        let batch_size = self.training.evaluation_batch_size;
        evaluate(
            model,
            &self.task.objective,
            examples,
            batch_size,
            self.start,
        )
    }

    /// Stores the predictions for the examples of a split.
    fn keep(&mut self, split: &str, examples: &Examples, found: Evaluation) {
        let said = found.predicted.into_iter().zip(found.scores);
        let rows = examples.rows.iter().zip(said);
        let prediction = |(row, (predicted, scores)): (&crate::examples::Row, _)| Prediction {
            split: split.to_string(),
            example_id: row.id.clone(),
            gold: row.target.clone(),
            predicted,
            scores,
        };
        self.predictions.extend(rows.map(prediction));
    }

    /// Records every metric of a split.
    fn push_all(&mut self, split: &'static str, examples: &Examples, found: &Evaluation) {
        let (objective, asked) = (&self.task.objective, &self.task.metrics);
        let found = Found {
            predicted: &found.predicted,
            scores: &found.scores,
        };
        for (metric, value) in objective.scores(examples, found, asked) {
            self.push(split, &metric, value, examples.len());
        }
    }

    pub(super) fn push(&mut self, split: &'static str, metric: &str, value: f64, n: usize) {
        self.scores.push(Score {
            phase: self.phase,
            epoch: self.epoch,
            step: self.step,
            split,
            metric: metric.to_string(),
            value,
            n,
            train_seconds: self.train_clock.seconds(),
            is_final: false,
        });
    }
}
