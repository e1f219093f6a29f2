//! The three kinds of rows, in long format.

use serde::{Deserialize, Serialize};

/// One run: its settings, its data, the code that ran it, its cost, and how it ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// First 16 hexadecimal digits of the SHA-256 of `spec` without its arm, in the schema that it was made under.
    pub run_id: String,
    /// Paper the run belongs to, such as `hart2020`.
    pub paper: String,
    /// Experiment file it came from, such as `table-2`.
    pub experiment: String,
    /// `fixture`, `small` or `paper`.
    pub profile: String,
    /// The resolved spec as canonical JSON (sorted keys); report selects rows by its fields.
    pub spec: String,
    /// Commit of the code that ran, or empty outside a checkout.
    pub code_commit: String,
    /// True if the checkout had uncommitted changes.
    pub code_dirty: bool,
    /// Dataset card name.
    pub dataset: String,
    /// SHA-256 of the dataset's files as read.
    pub dataset_hash: String,
    /// Encoder card name; empty for a run without an encoder.
    pub encoder: String,
    /// SHA-256 of the checkpoint's weights; empty for a run without an encoder.
    pub checkpoint_hash: String,
    /// SHA-256 of the tokenizer; empty for a run without an encoder.
    pub tokenizer_hash: String,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// Device the run used, such as `cpu (LibTorch 2.11.0)`.
    pub device: String,
    /// Dtype of the arithmetic, such as `f32`.
    pub dtype: String,
    /// Threads the arithmetic could use.
    pub threads: u32,
    /// Parameters of the whole model; for sparse models, features x classes plus the bias.
    pub params_total: u64,
    /// Parameters that could change in at least one phase.
    pub params_trainable: u64,
    /// Epochs finished, over all phases.
    pub epochs: u32,
    /// Optimiser steps taken, over all phases.
    pub steps: u64,
    /// The reason why training ended, such as `epochs`, `plateau`, `gap` or `diverged`; empty when the run failed before.
    pub stop_reason: String,
    /// Seconds in training steps (monotonic clock).
    pub train_seconds: f64,
    /// Seconds in evaluation.
    pub eval_seconds: f64,
    /// Seconds spent filling caches of frozen activations.
    pub cache_seconds: f64,
    /// Processor seconds of all threads of the process in the training steps that this run took itself: without cached
    /// activations, whose seconds may be another run's. `None` where nothing measured them, as in tables of version 1.
    pub cpu_seconds: Option<f64>,
    /// Load average of the machine over the minute before the run (processes that ran or waited to run); `None` when
    /// unknown.
    pub load_average: Option<f64>,
    /// Peak resident memory of the process, in bytes; 0 when unknown.
    pub peak_memory: u64,
    /// Start of the run, seconds since 1970 (wall clock; for the record only).
    pub started: u64,
    /// `ok`, `diverged`, `oom` or `failed`.
    pub status: String,
    /// The error in one line; empty when `ok`.
    pub error: String,
}

/// Suffix of the names of experiments whose runs are the trials of a search.
pub const OF_TRIALS: &str = "-search";

impl RunRow {
    /// Whether the run is a trial of a search: its score chose a setting, and no mean or line counts it.
    pub fn is_trial(&self) -> bool {
        self.experiment.ends_with(OF_TRIALS)
    }

    /// The part of the processor that training had while its clock ran: processor seconds by wall seconds times
    /// threads. Well below 1 it shared the machine, or its threads waited for each other. `None` where it is unknown.
    pub fn cpu_share(&self) -> Option<f64> {
        let wall = (self.train_seconds - self.cache_seconds) * f64::from(self.threads);
        let cpu = self.cpu_seconds.filter(|_| wall > 0.0)?;
        Some(cpu / wall)
    }
}

/// One score of one run at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalRow {
    /// Run the score belongs to.
    pub run_id: String,
    /// Training phase, counted from 0.
    pub phase: u32,
    /// Epochs finished so far, over all phases.
    pub epoch: u32,
    /// Optimiser steps taken so far.
    pub step: u64,
    /// The split that was scored: `train`, `dev`, `test`.
    pub split: String,
    /// Metric name, such as `accuracy` or `f1-positive`.
    pub metric: String,
    /// The score; proportions are between 0 and 1.
    pub value: f64,
    /// Examples (or tokens, or spans) scored.
    pub n: u64,
    /// Seconds of training up to this moment.
    pub train_seconds: f64,
    /// True for the score that is reported for the run (the final one, or the selected epoch's).
    pub is_final: bool,
}

/// One prediction of one run, enough for paired tests and ensembles without a rerun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictionRow {
    /// Run that predicted.
    pub run_id: String,
    /// The split of the example: `dev`, `test`.
    pub split: String,
    /// Example id, from the dataset.
    pub example_id: String,
    /// Word within the example for token tagging; 0 where the example is one unit.
    pub position: u32,
    /// Expected label; a number as text for regression.
    pub gold: String,
    /// Predicted label; a number as text for regression.
    pub predicted: String,
    /// Scores per label in the dataset's order (probabilities); one number for regression.
    pub scores: Vec<f32>,
}

/// The three tables of one run, or of many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tables {
    /// One row per run.
    pub runs: Vec<RunRow>,
    /// Scores over time.
    pub evals: Vec<EvalRow>,
    /// Final predictions.
    pub predictions: Vec<PredictionRow>,
}

/// The time of an epoch of one phase of one kind of run (arm, dataset, encoder), measured by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimingRow {
    /// Paper of the kind of run, such as `hart2020`.
    pub paper: String,
    /// Experiment file it came from, such as `table-2`.
    pub experiment: String,
    /// Arm of the experiment.
    pub arm: String,
    /// Dataset card name.
    pub dataset: String,
    /// Encoder card name.
    pub encoder: String,
    /// Identifier of the timed settings: the first 16 hexadecimal digits of their SHA-256, without the seed and the
    /// choices of a search.
    pub settings: String,
    /// Phase of training, counted from 0.
    pub phase: u32,
    /// Epochs timed, after one that warmed up.
    pub epochs: u32,
    /// Batches that each timed epoch was made of, whose seconds were scaled to whole ones; `None` where it had all.
    pub batches: Option<u32>,
    /// Median seconds of an epoch's training steps (monotonic clock).
    pub epoch_seconds: f64,
    /// The fastest of them.
    pub fastest: f64,
    /// The slowest of them.
    pub slowest: f64,
    /// Median processor seconds of an epoch, of all threads of the process; `None` when unknown.
    pub cpu_seconds: Option<f64>,
    /// Seconds it took to compute the cached activations that the phase begins with; 0 where it uses none.
    pub cache_seconds: f64,
    /// The most bytes of tensors that were alive at once while all phases were timed: weights, gradients, moments and
    /// activations; `None` when unknown.
    pub tensor_memory: Option<u64>,
    /// Processor seconds of other processes per second of these epochs; `None` when unknown.
    pub others: Option<f64>,
    /// True if the machine was quiet.
    pub quiet: bool,
    /// Load average of the machine over the minute before; `None` when unknown.
    pub load_average: Option<f64>,
    /// Threads the arithmetic could use.
    pub threads: u32,
    /// Device, such as `cpu (LibTorch 2.11.0)`.
    pub device: String,
    /// Processor of the machine and its number of cores.
    pub machine: String,
    /// Commit of the code that ran, or empty outside a checkout.
    pub code_commit: String,
    /// True if the checkout had uncommitted changes.
    pub code_dirty: bool,
    /// Start of the timing, seconds since 1970 (wall clock; for the record only).
    pub started: u64,
}

impl TimingRow {
    /// Processor seconds by wall seconds times threads; `None` when unknown.
    pub fn cpu_share(&self) -> Option<f64> {
        let wall = self.epoch_seconds * f64::from(self.threads);
        let cpu = self.cpu_seconds.filter(|_| wall > 0.0)?;
        Some(cpu / wall)
    }
}

/// Some steps of a pre-training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PretrainingRow {
    /// Name of the run.
    pub run: String,
    /// Optimizer steps taken so far.
    pub step: u64,
    /// Units (wordpieces, or words of a language model over words) read so far.
    pub tokens: u64,
    /// Mean loss of the steps since the last row, in nats.
    pub loss: f64,
    /// Mean norm of the gradient over these steps, before clipping.
    pub gradient_norm: f64,
    /// Learning rate of the last of them.
    pub learning_rate: f64,
    /// Seconds of training so far.
    pub seconds: f64,
    /// Units a second over these steps.
    pub tokens_per_second: f64,
}

/// The perplexity of one model on one held-out text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerplexityRow {
    /// Name of the run.
    pub run: String,
    /// Card of the held-out text.
    pub text: String,
    /// `trained`, `random-weights` or `unigram`.
    pub model: String,
    /// Optimizer steps the model has taken.
    pub step: u64,
    /// Units it has been trained on.
    pub tokens: u64,
    /// Predictions scored.
    pub n: u64,
    /// Mean negative log-probability of a prediction, in nats.
    pub nats: f64,
    /// Its exponential.
    pub perplexity: f64,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of four threads.
    pub(crate) fn run() -> RunRow {
        RunRow {
            run_id: "00".into(),
            paper: "synthetic".into(),
            experiment: "table-9".into(),
            profile: "fixture".into(),
            spec: "{}".into(),
            dataset: "letters".into(),
            encoder: "tiny".into(),
            seed: 1,
            device: "cpu".into(),
            dtype: "f32".into(),
            threads: 4,
            params_total: 10,
            params_trainable: 10,
            epochs: 1,
            steps: 1,
            stop_reason: "epochs".into(),
            train_seconds: 12.0,
            cache_seconds: 2.0,
            status: "ok".into(),
            ..RunRow::default()
        }
    }

    /// A score on test.
    pub(crate) fn eval() -> EvalRow {
        EvalRow {
            run_id: "00".into(),
            phase: 0,
            epoch: 1,
            step: 2,
            split: "test".into(),
            metric: "accuracy".into(),
            value: 0.5,
            n: 4,
            train_seconds: 0.25,
            is_final: true,
        }
    }

    #[test]
    fn the_share_of_the_processor_leaves_out_what_the_cache_took() {
        let share = |cpu_seconds, train_seconds| {
            let row = RunRow {
                cpu_seconds,
                train_seconds,
                ..run()
            };
            row.cpu_share()
        };
        assert_eq!(share(None, 12.0), None);
        assert_eq!(share(Some(30.0), 12.0), Some(0.75)); // 30 s of 10 s x 4 threads
        assert_eq!(share(Some(0.0), 2.0), None, "no training of its own");
    }
}
