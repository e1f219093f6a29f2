//! The phases of a run, and the epochs of each.

use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use burn::module::Module;
use totune_model::fused::AdamW;
use totune_model::{Classifier, Encoder};

use super::freeze::GradientNorms;
use super::resume::{EpochStart, Resumed};
use super::{Run, Stage};
use crate::cache::{CachedActivations, EntryLayer};
use crate::outcome::{PhaseTime, Stop};
use crate::parameters::require_gradients;
use crate::phase::{Assignment, OptimizerState, Plan};

impl Run<'_> {
    /// Runs the phases, or those that are left of them; returns the final model, and the reason why the last one ended.
    pub(super) fn phases<E: Encoder>(
        &mut self,
        mut model: Classifier<E>,
        plan: &Plan,
        assignments: &[Assignment],
        mut resumed: Option<Resumed>,
    ) -> Result<(Classifier<E>, Stop)> {
        let n_layers = model.encoder.n_layers();
        let config = self.training.optimizer.config();
        let (mut optimizer, mut stop) = (AdamW::new(&config), Stop::Epochs);
        let first = resumed.as_ref().map_or(0, |at| at.phase);
        ensure!(
            first < plan.phases.len(),
            "phase of the checkpoint: found {first}, expected less than {}",
            plan.phases.len()
        );
        let phases = plan.phases.iter().zip(assignments).enumerate().skip(first);
        for (idx, (phase, assigned)) in phases {
            let start = self.training.entry_layer(assigned, n_layers);
            let mut assigned = assigned.clone();
            let mut epoch = EpochStart::default();
            if let Some(at) = resumed.take() {
                optimizer = at.optimizer;
                self.start = start;
                assigned = assigned.frozen_up_to(at.frozen_below);
                epoch = at.epoch;
            } else {
                // Moments are kept by parameter, so that those of a parameter that is trained in both phases go on.
                if phase.optimizer_state == OptimizerState::Reset {
                    optimizer = AdamW::new(&config);
                }
                self.begin(idx, start);
                self.norms = phase.freezing.map(|_| GradientNorms::default());
            }
            model = require_gradients(model, &|path| assigned.parameters.contains_key(path));
            let stage = Stage { phase, assigned };
            (model, stop) = self.epochs_of(model, &mut optimizer, stage, epoch)?;
            if !stop.is_an_end() {
                break;
            }
        }
        Ok((model, stop))
    }

    /// Starts a phase whose passes may enter at `start`. The time to compute cached activations counts towards the
    /// first phase that uses them, in the first attempt.
    fn begin(&mut self, phase: usize, start: Option<EntryLayer>) {
        let paid = self.start;
        self.phase = phase;
        self.start = start;
        self.scale = 1.0;
        let is_first_use = paid != start && self.failed.cache_seconds.0 == 0.0;
        let kept = self.task.train.cached(start).filter(|_| is_first_use);
        let kept = kept.map_or(0.0, CachedActivations::seconds);
        let cache_seconds = kept + std::mem::take(&mut self.probe_seconds);
        self.cache_seconds += cache_seconds;
        self.train_clock.add(cache_seconds);
        self.times.push(PhaseTime {
            cache_seconds,
            ..PhaseTime::default()
        });
    }

    /// The epochs of a phase from `start` on, until they are over or something ends them.
    fn epochs_of<E: Encoder>(
        &mut self,
        mut model: Classifier<E>,
        optimizer: &mut AdamW,
        mut stage: Stage,
        start: EpochStart,
    ) -> Result<(Classifier<E>, Stop)> {
        let others = start.epoch_of_phase + 1..stage.phase.epochs;
        for start in std::iter::once(start).chain(others.map(EpochStart::of)) {
            let trained;
            (model, trained) = self.train(model, optimizer, &stage, start)?;
            let place = match trained {
                ControlFlow::Continue(place) => place,
                ControlFlow::Break(stop) => return Ok((model, stop)),
            };
            let n_scores = self.scores.len();
            let mean_loss = place.total_loss / self.task.train.len() as f64;
            let scored = self.score(&model.valid(), mean_loss, stage.phase)?;
            if let ControlFlow::Break(stop) = scored {
                if stop == Stop::Interrupted && self.scores.len() == n_scores {
                    self.save_unscored(&model, optimizer, (&stage, place));
                }
                return Ok((model, stop));
            }
            self.offer(&model)?;
            if let Some(stop) = self.ends(&stage.phase.stop)? {
                return Ok((model, stop));
            }
            self.scale = self.scale_after(&stage.phase.schedule)?;
            model = self.freeze(model, &mut stage);
        }
        Ok((model, Stop::Epochs))
    }

    /// Freezes more layers after an epoch where the phase says so, and records how many blocks are frozen.
    fn freeze<E: Encoder>(&mut self, model: Classifier<E>, stage: &mut Stage) -> Classifier<E> {
        let Some((norms, rule)) = self.norms.as_mut().zip(stage.phase.freezing) else {
            return model;
        };
        let before = stage.assigned.frozen_below;
        let block = norms.freeze(rule, before);
        self.push(
            "train",
            "frozen-blocks",
            block as f64,
            self.task.train.len(),
        );
        if block == before {
            return model;
        }
        stage.assigned = stage.assigned.frozen_up_to(block);
        let trained = &stage.assigned.parameters;
        require_gradients(model, &|path| trained.contains_key(path))
    }
}
