//! The steps of an epoch.

use std::ops::ControlFlow;

use anyhow::Result;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Tensor;
use rand::Rng;
use totune_data::stream;
use totune_model::fused::{AdamW, GradientNorm, Rate, clip_global_norm, reads_at_once};
use totune_model::{Classifier, Encoder, Pass, WordRows};

use super::freeze::GradientNorms;
use super::resume::{EpochStart, Place};
use super::{Run, Stage};
use crate::batch::Batches;
use crate::outcome::{EpochTime, Stop};
use crate::phase::{Assigned, Assignment};
use crate::state::ClockReading;
use crate::watch::StepEvent;

/// Loss and gradient of a batch before its step is taken.
struct Gradient {
    gradients: GradientsParams,
    progress: Progress,
}

/// Numbers to tell of a step, on the device until they are read.
struct Progress {
    /// Mean losses of micro-batches, `[1]` each, with their shares of the batch.
    losses: Vec<(f64, Tensor<1>)>,
    /// Norm before clipping.
    norm: GradientNorm,
}

impl Progress {
    /// Mean loss over the examples, and the norm of its gradient; waits for the device.
    fn read(&self) -> (f64, f64) {
        let read =
            |(share, loss): &(f64, Tensor<1>)| share * f64::from(loss.clone().into_scalar::<f32>());
        (self.losses.iter().map(read).sum(), self.norm.read())
    }
}

impl Run<'_> {
    /// Trains one epoch from `start` on; returns the place at its end.
    pub(super) fn train<E: Encoder>(
        &mut self,
        model: Classifier<E>,
        optimizer: &mut AdamW,
        stage: &Stage,
        start: EpochStart,
    ) -> Result<(Classifier<E>, ControlFlow<Stop, Place>)> {
        let began = start.began.unwrap_or_else(|| self.train_clock.reading());
        self.train_clock.start()?;
        let trained = self.steps(model, optimizer, stage, start, began)?;
        optimizer.settle();
        self.train_clock.stop()?;
        if trained.1.is_continue() {
            self.note_epoch(began);
            self.epoch += 1;
        }
        Ok(trained)
    }

    /// Takes the steps of an epoch; some rows of the word embeddings may lack steps at their end.
    fn steps<E: Encoder>(
        &mut self,
        mut model: Classifier<E>,
        optimizer: &mut AdamW,
        stage: &Stage,
        start: EpochStart,
        began: ClockReading,
    ) -> Result<(Classifier<E>, ControlFlow<Stop, Place>)> {
        let steps = stage.phase.epochs * self.steps_per_epoch;
        model.encoder.reset_state();
        model.encoder.restore_state(start.carried, self.device);
        let mut place = Place {
            epoch_of_phase: start.epoch_of_phase,
            step_of_epoch: start.step_of_epoch,
            total_loss: start.total_loss,
            began,
        };
        let mut norms = self.norms.take();
        let order = self
            .batches
            .shuffled(&self.lengths, self.seed, self.epoch as u64);
        for (i, indices) in order.iter().enumerate().skip(start.step_of_epoch) {
            let Gradient {
                gradients,
                progress,
            } = self.gradient(&model, optimizer, indices, &stage.assigned, norms.as_mut());
            // Where numbers are at hand, a step that cannot be right is not taken. Elsewhere they are read after it, so that a
            // device which works on its own has the whole step before it is waited for; the run ends all the same.
            let known = reads_at_once(self.device).then(|| progress.read());
            if let Some(stop) = known.and_then(|numbers| self.ended_by(numbers)) {
                return Ok((model, ControlFlow::Break(stop)));
            }
            let step_of_phase = place.epoch_of_phase * self.steps_per_epoch + i;
            let schedule = &stage.phase.schedule;
            let scheduled = |peak| self.scale * schedule.rate(peak, step_of_phase, steps);
            model = optimizer.step(model, gradients, &|path| {
                let Assigned { lr, weight_decay } = *stage.assigned.parameters.get(path)?;
                Some(Rate {
                    lr: scheduled(lr),
                    weight_decay,
                })
            });
            let lr = scheduled(stage.phase.groups[0].lr);
            let (loss, norm) = known.unwrap_or_else(|| progress.read());
            if let Some(stop) = self.ended_by((loss, norm)) {
                return Ok((model, ControlFlow::Break(stop)));
            }
            self.step += 1;
            place.step_of_epoch += 1;
            place.total_loss += loss * indices.len() as f64;
            let heard = self.watch.step(&StepEvent {
                phase: self.phase,
                epoch: self.epoch + 1,
                epochs: self.epochs,
                step: self.step,
                steps: self.epochs * self.steps_per_epoch,
                examples: indices.len(),
                loss,
                gradient_norm: norm,
                lr,
                train_seconds: self.train_clock.seconds(),
            });
            if self.checkpoints.is_due(heard.is_break()) {
                optimizer.settle();
                let state = (&model, &*optimizer, norms.as_ref());
                self.save(state, (stage, place))?;
            }
            if heard.is_break() {
                return Ok((model, ControlFlow::Break(Stop::Interrupted)));
            }
        }
        self.norms = norms;
        Ok((model, ControlFlow::Continue(place)))
    }

    /// Records the time of the epoch that started when the clock stood at `began`.
    fn note_epoch(&mut self, began: ClockReading) {
        let now = self.train_clock.reading();
        let cpu_seconds = now.cpu_seconds().zip(began.cpu_seconds());
        let time = EpochTime {
            seconds: now.seconds() - began.seconds(),
            cpu_seconds: cpu_seconds.map(|(now, began)| now - began),
        };
        let phase = self.times.last_mut().expect("an epoch is of a phase");
        phase.epochs.push(time);
    }

    /// The clipped gradient of the mean loss over the examples at `indices`, summed over micro-batches if there are
    /// any. `norms` gets the gradient before clipping.
    fn gradient<E: Encoder>(
        &self,
        model: &Classifier<E>,
        optimizer: &mut AdamW,
        indices: &[usize],
        assigned: &Assignment,
        norms: Option<&mut GradientNorms>,
    ) -> Gradient {
        let mut dropout_seeds = stream(self.seed, "dropout", self.step as u64);
        let mut accumulated = GradientsAccumulator::new();
        let mut losses = Vec::new();
        let examples = &self.task.train;
        let rows = self.word_rows(model, indices, assigned);
        let reader = rows
            .as_ref()
            .and_then(|rows| model.with_word_rows(rows, optimizer));
        let rows = rows.filter(|_| reader.is_some());
        let model = reader.as_ref().unwrap_or(model);
        let batches = Batches::new(examples, self.start, self.device).reading(rows.as_ref());
        for piece in self.pieces(indices) {
            let pass = Pass::training(dropout_seeds.next_u64())
                .frozen(assigned.frozen_below, self.training.frozen_dropout.is_on())
                .with(self.training.activations());
            let (objective, weighting) = (&self.task.objective, self.weighting.as_ref());
            let wanted = objective.wanted(&examples.targets(piece), weighting, self.device);
            let share = piece.len() as f64 / indices.len() as f64;
            let loss = wanted.loss(batches.outputs(model, piece, &pass)); // [1]
            losses.push((share, loss.clone().inner()));
            let loss = if share < 1.0 { loss * share } else { loss };
            let gradients = GradientsParams::from_grads(loss.backward(), model);
            accumulated.accumulate(model, gradients);
        }
        let mut gradients = accumulated.grads();
        if let Some(pretrained) = &self.pretrained {
            pretrained.pull(model, &mut gradients);
        }
        if let Some(norms) = norms {
            norms.add(model, &gradients);
        }
        let norm = clip_global_norm(model, &mut gradients, self.training.clip.max());
        Gradient {
            gradients,
            progress: Progress { losses, norm },
        }
    }

    /// Rows of the word embeddings that a batch reads; none where its gradient has all rows, or it reads cached activations.
    fn word_rows<E: Encoder>(
        &self,
        model: &Classifier<E>,
        indices: &[usize],
        assigned: &Assignment,
    ) -> Option<WordRows> {
        let trains_words = self.start.is_none() && assigned.frozen_below == 0;
        let reads_some = trains_words && self.pretrained.is_none() && reads_at_once(self.device);
        reads_some.then(|| {
            let rows = indices.iter().map(|&i| &self.task.train.rows[i].encoded);
            let ids = rows.flat_map(|row| row.ids.iter().copied());
            let ids = ids.chain([model.encoder.pad_id()]);
            WordRows::new(ids.map(i64::from))
        })
    }

    /// A divergence if the loss or the norm of its gradient is not finite.
    fn ended_by(&self, (loss, norm): (f64, f64)) -> Option<Stop> {
        let mut numbers = [("loss", loss), ("gradient norm", norm)].into_iter();
        let (what, value) = numbers.find(|(_, value)| !value.is_finite())?;
        Some(self.diverged(what, value))
    }

    /// Micro-batches of a batch, or the whole batch.
    fn pieces<'b>(&self, indices: &'b [usize]) -> std::slice::Chunks<'b, usize> {
        indices.chunks(match self.training.micro_batch_size {
            0 => indices.len(),
            size => size,
        })
    }
}
