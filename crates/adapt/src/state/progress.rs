//! The part of a state that is no tensor.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use totune_data::Target;

use super::Exact;
use crate::outcome::{EpochTime, PhaseTime, Prediction, Score};

/// Position of a run, its results and its clocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Progress {
    /// Attempts before this one.
    pub failed: FailedAttempts,
    /// Name of the matrix products; older checkpoints have none.
    #[serde(default)]
    pub products: Option<String>,
    pub phase: usize,
    pub epoch_of_phase: usize,
    /// Steps taken in this epoch.
    pub step_of_epoch: usize,
    /// Epochs finished, over all phases.
    pub epoch: usize,
    /// Steps taken, over all phases.
    pub step: usize,
    /// Sum of the losses of the examples of this epoch so far.
    pub total_loss: Exact,
    /// Factor of the learning rate from a schedule that depends on scores.
    pub scale: Exact,
    /// Lowest block that is still trained in this phase.
    pub frozen_below: usize,
    /// Norms of the gradients, where they decide what is frozen.
    pub norms: Option<NormProgress>,
    /// The best epoch so far, where the best one is selected.
    pub best: Option<BestProgress>,
    pub scores: Vec<ScoreRecord>,
    pub train_clock: ClockReading,
    pub eval_clock: ClockReading,
    pub cache_seconds: Exact,
    /// Reading of the clock of training when this epoch began.
    pub epoch_began: ClockReading,
    /// Seconds of cached activations, and the time of each finished epoch, of each phase.
    pub times: Vec<(Exact, Vec<ClockReading>)>,
}

/// Costs of attempts that failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct FailedAttempts {
    pub attempts: usize,
    pub train_seconds: Exact,
    pub cache_seconds: Exact,
    pub eval_seconds: Exact,
    pub cpu_seconds: Option<Exact>,
}

/// Seconds of a clock, and processor seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClockReading(pub Exact, pub Option<Exact>);

/// Squared norms of the gradients of each block: the sums of this epoch so far, and those of the epoch before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct NormProgress {
    pub squares: Vec<Option<Exact>>,
    pub before: Vec<Exact>,
}

/// The best epoch on dev.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct BestProgress {
    pub score: Exact,
    pub epoch: usize,
    predictions: Vec<PredictionRecord>,
}

/// A [`Score`]. None is final before the run ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScoreRecord {
    phase: usize,
    epoch: usize,
    step: usize,
    split: String,
    metric: String,
    value: Exact,
    n: usize,
    train_seconds: Exact,
}

/// A [`Prediction`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PredictionRecord {
    split: String,
    id: String,
    gold: TargetRecord,
    predicted: TargetRecord,
    /// Bits of each score.
    scores: Vec<u32>,
}

/// A [`Target`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum TargetRecord {
    Unknown,
    Class(usize),
    Labels(Vec<usize>),
    Value(Exact),
    Tags(Vec<usize>),
}

/// Splits that scores are of.
const SPLITS: [&str; 3] = ["train", "dev", "test"];

impl Progress {
    /// Stores the scores so far.
    pub fn set_scores(&mut self, scores: &[Score]) {
        let record = |score: &Score| ScoreRecord {
            phase: score.phase,
            epoch: score.epoch,
            step: score.step,
            split: score.split.to_string(),
            metric: score.metric.clone(),
            value: Exact(score.value),
            n: score.n,
            train_seconds: Exact(score.train_seconds),
        };
        self.scores = scores.iter().map(record).collect();
    }

    /// Returns the scores so far.
    ///
    /// # Errors
    /// When a split has a name that no score has.
    pub fn scores(&self) -> Result<Vec<Score>> {
        let score = |record: &ScoreRecord| {
            let split = SPLITS.into_iter().find(|split| *split == record.split);
            Ok(Score {
                phase: record.phase,
                epoch: record.epoch,
                step: record.step,
                split: split.with_context(|| format!("split `{}`: unknown", record.split))?,
                metric: record.metric.clone(),
                value: record.value.0,
                n: record.n,
                train_seconds: record.train_seconds.0,
                is_final: false,
            })
        };
        self.scores.iter().map(score).collect()
    }

    /// Stores the times of the phases so far.
    pub fn set_times(&mut self, times: &[PhaseTime]) {
        let reading = |time: &EpochTime| ClockReading::of(time.seconds, time.cpu_seconds);
        let phase = |time: &PhaseTime| {
            let epochs = time.epochs.iter().map(reading).collect();
            (Exact(time.cache_seconds), epochs)
        };
        self.times = times.iter().map(phase).collect();
    }

    /// Returns the times of the phases so far; that of the current one is the last.
    ///
    /// # Errors
    /// When there are not as many as phases have begun.
    pub fn times(&self) -> Result<Vec<PhaseTime>> {
        if self.times.len() != self.phase + 1 {
            bail!(
                "times: found {} phases, expected {}",
                self.times.len(),
                self.phase + 1
            );
        }
        let epoch = |reading: &ClockReading| EpochTime {
            seconds: reading.seconds(),
            cpu_seconds: reading.cpu_seconds(),
        };
        let phase = |(cache_seconds, epochs): &(Exact, Vec<ClockReading>)| PhaseTime {
            cache_seconds: cache_seconds.0,
            epochs: epochs.iter().map(epoch).collect(),
        };
        Ok(self.times.iter().map(phase).collect())
    }
}

impl ClockReading {
    pub fn of(seconds: f64, cpu_seconds: Option<f64>) -> Self {
        Self(Exact(seconds), cpu_seconds.map(Exact))
    }

    pub fn seconds(&self) -> f64 {
        self.0.0
    }

    pub fn cpu_seconds(&self) -> Option<f64> {
        self.1.map(|Exact(seconds)| seconds)
    }
}

impl BestProgress {
    pub fn new(score: f64, epoch: usize, predictions: &[Prediction]) -> Self {
        let record = |prediction: &Prediction| PredictionRecord {
            split: prediction.split.clone(),
            id: prediction.example_id.clone(),
            gold: TargetRecord::of(&prediction.gold),
            predicted: TargetRecord::of(&prediction.predicted),
            scores: prediction.scores.iter().map(|s| s.to_bits()).collect(),
        };
        Self {
            score: Exact(score),
            epoch,
            predictions: predictions.iter().map(record).collect(),
        }
    }

    pub fn predictions(&self) -> Vec<Prediction> {
        let prediction = |record: &PredictionRecord| Prediction {
            split: record.split.clone(),
            example_id: record.id.clone(),
            gold: record.gold.target(),
            predicted: record.predicted.target(),
            scores: record.scores.iter().map(|&s| f32::from_bits(s)).collect(),
        };
        self.predictions.iter().map(prediction).collect()
    }
}

impl TargetRecord {
    fn of(target: &Target) -> Self {
        match target {
            Target::Unknown => Self::Unknown,
            Target::Class(class) => Self::Class(*class),
            Target::Value(value) => Self::Value(Exact(*value)),
            Target::Labels(labels) => Self::Labels(labels.clone()),
            Target::Tags(tags) => Self::Tags(tags.clone()),
        }
    }

    fn target(&self) -> Target {
        match self {
            Self::Unknown => Target::Unknown,
            Self::Class(class) => Target::Class(*class),
            Self::Value(value) => Target::Value(value.0),
            Self::Labels(labels) => Target::Labels(labels.clone()),
            Self::Tags(tags) => Target::Tags(tags.clone()),
        }
    }
}
