//! Standardised scores: a regression learns scores of mean 0 and standard deviation 1, and predicts them as they were.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use burn::tensor::TensorData;
use totune_data::Target;
use totune_model::{Classifier, Encoder};
use totune_stats::mean;

use crate::examples::Examples;
use crate::objective::Objective;
use crate::outcome::Outcome;
use crate::parameters::{Values, copy, restore};
use crate::task::TaskData;
use crate::training::Training;

/// Mean and standard deviation of the scores of the training examples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standard {
    mean: f64,
    sd: f64,
}

/// The mean in standard deviations from which single precision no longer holds the scores: it rounds them to about a
/// hundredth of their deviation there.
const FAR: f64 = 1e5;

impl Standard {
    /// Mean and deviation for a regression whose settings ask for standardised scores. Scores that are all alike keep their
    /// scale.
    ///
    /// # Errors
    /// When the scores are so far from 0 that a model in single precision would predict the same for all.
    pub fn of(task: &TaskData, training: &Training) -> Result<Option<Self>> {
        let asked =
            training.standardise_scores.is_on() && matches!(task.objective, Objective::Score {});
        let scores = task.train.rows.iter().filter_map(|row| row.target.value());
        let scores: Vec<f64> = scores.collect();
        if !asked || scores.is_empty() {
            return Ok(None);
        }
        Self::of_scores(&scores).map(Some)
    }

    fn of_scores(scores: &[f64]) -> Result<Self> {
        let mean = mean(scores);
        let squares = scores.iter().map(|score| (score - mean).powi(2));
        let sd = (squares.sum::<f64>() / scores.len() as f64).sqrt();
        if scores.iter().all(|score| *score == scores[0]) {
            return Ok(Self { mean, sd: 1.0 });
        }
        ensure!(
            mean.abs() <= FAR * sd,
            "found scores around {mean} that differ by {sd:.3e} (standard deviation), which a model in single precision \
             cannot tell apart; subtract a number near {mean} from all of them"
        );
        Ok(Self { mean, sd })
    }

    /// The task with standardised scores in every split.
    pub fn task(&self, task: &TaskData) -> TaskData {
        let mut task = task.clone();
        let splits = task.predict.iter_mut().map(|(_, examples)| examples);
        let splits = splits.chain([&mut task.train, &mut task.test]);
        for examples in splits.chain(&mut task.dev) {
            self.change(examples);
        }
        task
    }

    fn change(&self, examples: &mut Examples) {
        for row in &mut examples.rows {
            if let Target::Value(score) = &mut row.target {
                *score = (*score - self.mean) / self.sd;
            }
        }
    }

    /// An outcome of the standardised task as one of `task` itself: the last layer of the head gives scores as they
    /// were, and so do predictions; errors are in their unit. Correlations stay what they are.
    ///
    /// # Errors
    /// When the head does not end in a linear layer with one output.
    pub fn outcome<E: Encoder>(
        &self,
        mut outcome: Outcome<E>,
        task: &TaskData,
    ) -> Result<Outcome<E>> {
        for score in &mut outcome.scores {
            match &*score.metric {
                "loss" | "mse" => score.value *= self.sd.powi(2),
                "mae" => score.value *= self.sd,
                _ => {}
            }
        }
        // As they are written in the data: a division and its inverse may differ in the last digit.
        let mut splits: Vec<(&str, &Examples)> = task.scored().collect();
        splits.extend(
            task.predict
                .iter()
                .map(|(split, rows)| (split.as_str(), rows)),
        );
        let mut gold = HashMap::new();
        for (split, examples) in splits {
            let rows = examples.rows.iter();
            gold.extend(rows.map(|row| ((split, row.id.as_str()), &row.target)));
        }
        for prediction in &mut outcome.predictions {
            if let Some(target) =
                gold.get(&(prediction.split.as_str(), prediction.example_id.as_str()))
            {
                prediction.gold = (*target).clone();
            }
            if let Target::Value(score) = &mut prediction.predicted {
                *score = *score * self.sd + self.mean;
            }
            for score in &mut prediction.scores {
                *score = (f64::from(*score) * self.sd + self.mean) as f32;
            }
        }
        outcome.model = self.model(outcome.model)?;
        Ok(outcome)
    }

    fn model<E: Encoder>(&self, model: Classifier<E>) -> Result<Classifier<E>> {
        let of_output =
            |path: &str| path.ends_with("output.weight") || path.ends_with("output.bias");
        let outputs = copy(&model.head, &of_output);
        // Those of layers within the head are deeper in it.
        let depth = |path: &str| path.matches('.').count();
        let least = outputs.keys().map(|path| depth(path)).min().unwrap_or(0);
        let last: Values = outputs
            .into_iter()
            .filter(|(path, _)| depth(path) == least)
            .collect();
        let n_outputs = last.iter().find(|(path, _)| path.ends_with("bias"));
        ensure!(
            last.len() == 2 && n_outputs.is_some_and(|(_, bias)| bias.shape().num_elements() == 1),
            "standardise-scores: found a head that does not end in a linear layer with one output, expected one or `off`"
        );
        let scaled = last.into_iter().map(|(path, data)| {
            let shift = if path.ends_with("bias") {
                self.mean
            } else {
                0.0
            };
            let shape = data.shape().clone();
            let numbers = data.iter::<f64>().map(|x| (x * self.sd + shift) as f32);
            let numbers: Vec<f32> = numbers.collect();
            (path, TensorData::new(numbers, shape))
        });
        let values: Values = scaled.collect();
        let head = restore(model.head, values);
        Ok(Classifier { head, ..model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_single_precision_cannot_tell_apart_are_refused() {
        let standard = |scores: &[f64]| Standard::of_scores(scores);
        let found = standard(&[1000.0, 1001.0, 1002.0]).expect("near enough");
        assert_eq!((found.mean, found.sd > 0.8), (1001.0, true));
        let error = standard(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]).expect_err("too far");
        assert!(
            error
                .to_string()
                .contains("subtract a number near 1000000002 from"),
            "{error}"
        );
        for alike in [1e9, 0.1] {
            assert_eq!(standard(&[alike; 3]).expect("alike").sd, 1.0);
        }
    }
}
