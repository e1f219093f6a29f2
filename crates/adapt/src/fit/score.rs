//! Scoring and recording after an epoch.

use std::ops::ControlFlow;

use anyhow::Result;
use totune_data::{random, stream};
use totune_model::{Classifier, Encoder};

use super::Run;
use crate::evaluate::{Evaluation, evaluate};
use crate::examples::Examples;
use crate::outcome::{Prediction, Score, Stop};
use crate::phase::Phase;
use crate::stop::StopRule;
use crate::training::TestScores;
use crate::watch::EpochScores;

impl Run<'_> {
    /// Scores a snapshot of the model on dev, and on test if every epoch is scored on it, and stores its predictions.
    pub(super) fn score<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        train_loss: f64,
        phase: &Phase,
    ) -> Result<ControlFlow<Stop>> {
        self.eval_clock.start()?;
        let first_new = self.scores.len();
        self.push("train", "loss", train_loss, self.task.train.len());
        self.predictions.clear();
        let with_test = self.training.test_scores == TestScores::EachEpoch;
        let scored = self.task.scored();
        for (split, examples) in scored.filter(|(split, _)| with_test || *split != "test") {
            let scored = self.score_split(model, split, examples)?;
            if scored.is_break() {
                self.eval_clock.stop()?;
                return Ok(scored);
            }
        }
        if let StopRule::GeneralisationGap { metric, .. } = &phase.stop {
            self.compare(model, metric.as_ref())?;
        }
        self.eval_clock.stop()?;
        let heard = self.watch.epoch(&EpochScores {
            phase: self.phase,
            epoch: self.epoch,
            epochs: self.epochs,
            scores: &self.scores[first_new..],
        });
        Ok(heard.map_break(|()| Stop::Interrupted))
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
        let scored = self.score_split(model, "test", &self.task.test)?;
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
    fn score_split<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        split: &'static str,
        examples: &Examples,
    ) -> Result<ControlFlow<Stop>> {
        let found = self.evaluated(model, examples)?;
        if !found.loss.is_finite() {
            let what = if split == "dev" {
                "dev loss"
            } else {
                "test loss"
            };
            return Ok(ControlFlow::Break(self.diverged(what, found.loss)));
        }
        self.push(split, "loss", found.loss, examples.len());
        self.push_all(split, examples, &found);
        self.keep(split, examples, found);
        Ok(ControlFlow::Continue(()))
    }

    /// Scores a sample of the training examples, and records how far the score is above the one on dev.
    fn compare<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        metric: Option<&String>,
    ) -> Result<()> {
        let sample = self.sample.take().unwrap_or_else(|| self.sampled());
        if sample.is_empty() {
            return Ok(()); // without dev, which the rule itself complains about
        }
        let found = self.evaluated(model, &sample)?;
        self.push_all("train", &sample, &found);
        let last = |split| {
            let scores = self.of_phase(split, self.metric(metric));
            scores.last().copied()
        };
        if let (Some(train), Some(dev)) = (last("train"), last("dev")) {
            self.push("train", "gap", train - dev, sample.len());
        }
        self.sample = Some(sample);
        Ok(())
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
            let found = self.evaluated(model, examples)?;
            self.keep(split, examples, found);
        }
        Ok(())
    }

    fn evaluated<E: Encoder>(
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
        for (metric, value) in objective.scores(examples, &found.predicted, asked) {
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
