//! Checkpoints of a run: its state between two steps, and how it resumes from one.

use anyhow::{Result, ensure};
use burn::tensor::TensorData;
use totune_model::fused::{AdamW, products};
use totune_model::{Classifier, Encoder};

use super::freeze::GradientNorms;
use super::{Run, Stage};
use crate::best::{Best, Found};
use crate::clock::Clock;
use crate::parameters::{Values, copy, restore};
use crate::state::{BestProgress, ClockReading, Exact, Progress, TrainingState};

/// The beginning of an epoch, or the place within one where a run resumes.
#[derive(Default)]
pub(super) struct EpochStart {
    pub epoch_of_phase: usize,
    /// Steps taken before.
    pub step_of_epoch: usize,
    /// Sum of the losses of their examples.
    pub total_loss: f64,
    /// Reading of the clock of training at the beginning of the epoch, if that was before.
    pub began: Option<ClockReading>,
    /// States that a recurrent encoder has carried along.
    pub carried: Values,
}

/// Place and state of the optimizer with which a run resumes.
pub(super) struct Resumed {
    pub phase: usize,
    pub optimizer: AdamW,
    /// Lowest block that is trained.
    pub frozen_below: usize,
    pub epoch: EpochStart,
}

/// Place within an epoch.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub epoch_of_phase: usize,
    /// Steps taken.
    pub step_of_epoch: usize,
    /// Sum of the losses of their examples, each taken before its step.
    pub total_loss: f64,
    /// Reading of the clock of training at the beginning of the epoch.
    pub began: ClockReading,
}

/// State that changes with a step: the model, the optimizer, and the norms of the gradients where they count.
type Changing<'s, E> = (&'s Classifier<E>, &'s AdamW, Option<&'s GradientNorms>);

impl EpochStart {
    /// The beginning of an epoch.
    pub fn of(epoch_of_phase: usize) -> Self {
        Self {
            epoch_of_phase,
            ..Self::default()
        }
    }
}

impl Run<'_> {
    /// Saves the state after a step. The clock of training stands still meanwhile.
    pub(super) fn save<E: Encoder>(
        &mut self,
        changing: Changing<E>,
        place: (&Stage, Place),
    ) -> Result<()> {
        self.train_clock.stop()?;
        let state = self.state(changing, place);
        self.checkpoints.save(state);
        self.train_clock.start()
    }

    /// Saves the state at the end of an epoch whose evaluation was interrupted and is made again.
    pub(super) fn save_unscored<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        optimizer: &AdamW,
        place: (&Stage, Place),
    ) {
        self.epoch -= 1; // it ends again
        let times = self.times.last_mut().expect("an epoch is of a phase");
        times.epochs.pop();
        if self.checkpoints.is_due(true) {
            let state = self.state((model, optimizer, self.norms.as_ref()), place);
            self.checkpoints.save(state);
        }
    }

    fn state<E: Encoder>(
        &self,
        (model, optimizer, norms): Changing<E>,
        (stage, place): (&Stage, Place),
    ) -> TrainingState {
        let best = self.best.found();
        let mut progress = Progress {
            failed: self.failed.clone(),
            products: Some(products().name().to_string()),
            phase: self.phase,
            epoch_of_phase: place.epoch_of_phase,
            step_of_epoch: place.step_of_epoch,
            epoch: self.epoch,
            step: self.step,
            total_loss: Exact(place.total_loss),
            scale: Exact(self.scale),
            frozen_below: stage.assigned.frozen_below,
            norms: norms.map(GradientNorms::progress),
            best: best.map(|best| BestProgress::new(best.score, best.epoch, &best.predictions)),
            train_clock: self.train_clock.reading(),
            eval_clock: self.eval_clock.reading(),
            cache_seconds: Exact(self.cache_seconds),
            epoch_began: place.began,
            ..Progress::default()
        };
        progress.set_scores(&self.scores);
        progress.set_times(&self.times);
        TrainingState {
            progress,
            weights: copy(model, &|path| self.changes(path)),
            moments: optimizer.state(model),
            best: best.map_or_else(Values::new, |best| best.values.clone()),
            carried: model.encoder.carried_state(),
        }
    }

    /// Returns true if training or a linear probe may have changed a parameter.
    fn changes(&self, path: &str) -> bool {
        // The head may be the optimum of a linear probe.
        self.trainable.contains(path) || path.starts_with("head.")
    }

    /// Puts the run and its model into a state.
    ///
    /// # Errors
    /// When the state is that of another model or of other settings.
    pub(super) fn resume<E: Encoder>(
        &mut self,
        model: Classifier<E>,
        state: TrainingState,
    ) -> Result<(Classifier<E>, Resumed)> {
        let TrainingState {
            progress,
            weights,
            moments,
            best,
            carried,
        } = state;
        let now = copy(&model, &|path| self.changes(path));
        let is_same = |(path, data): (&String, &TensorData)| {
            let found = weights.get(path).map(|found| found.shape());
            found == Some(data.shape())
        };
        ensure!(
            now.len() == weights.len() && now.iter().all(is_same),
            "the weights of the checkpoint are not those that this run trains"
        );
        let model = restore(model, weights);
        self.phase = progress.phase;
        self.epoch = progress.epoch;
        self.step = progress.step;
        self.scale = progress.scale.0;
        self.scores = progress.scores()?;
        self.times = progress.times()?;
        self.cache_seconds = progress.cache_seconds.0;
        self.train_clock = Clock::at(self.device, &progress.train_clock)?;
        self.eval_clock = Clock::at(self.device, &progress.eval_clock)?;
        let norms = progress.norms.as_ref();
        self.norms = norms.map(|norms| GradientNorms::resumed(norms, self.device));
        self.best = Best::resumed(progress.best.map(|found| Found {
            score: found.score.0,
            epoch: found.epoch,
            predictions: found.predictions(),
            values: best,
        }));
        let config = self.training.optimizer.config();
        let resumed = Resumed {
            phase: progress.phase,
            optimizer: AdamW::resume(&config, &model, moments)?,
            frozen_below: progress.frozen_below,
            epoch: EpochStart {
                epoch_of_phase: progress.epoch_of_phase,
                step_of_epoch: progress.step_of_epoch,
                total_loss: progress.total_loss.0,
                began: Some(progress.epoch_began),
                carried,
            },
        };
        Ok((model, resumed))
    }
}
