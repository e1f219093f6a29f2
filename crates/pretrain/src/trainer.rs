//! Training loop of a pre-training run.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use anyhow::{Context, Result, bail, ensure};
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Device;
use totune_adapt::{parameter_values, require_gradients};
use totune_model::fused::{
    AdamW, ParameterMoments, Rate, clip_global_norm, products, resume_products,
};
use totune_record::{PretrainingRow, read_pretraining, write_pretraining};

use crate::checkpoint::{About, Checkpoint, Folder};
use crate::objective::Objective;
use crate::settings::check_unchanged;
use crate::{Meter, Settings};

/// Ratio of the loss to that of guessing among all wordpieces above which a run counts as diverged.
const DIVERGED: f64 = 4.0;

/// Training loop of a run.
pub struct Trainer<'a, O> {
    /// Objective of the run.
    pub objective: &'a O,
    /// Settings of the run.
    pub settings: &'a Settings,
    /// Folder of checkpoints and the log.
    pub folder: &'a Folder,
    /// Device of the model, without autodiff.
    pub device: &'a Device,
    /// Metadata of the first checkpoint; its step and seconds are the starting point of training.
    pub about: About,
    /// Loss of guessing among all predictions with equal probability, in nats.
    pub guessing: f64,
}

/// Event of a run, for its watcher.
#[derive(Debug)]
pub enum Event<'e> {
    /// New row of the log.
    Row(&'e PretrainingRow),
    /// New checkpoint after this number of steps.
    Saved(usize),
}

/// Result of a run.
#[derive(Debug)]
pub struct Ended<M> {
    /// Model after the last step.
    pub model: M,
    /// Number of steps taken.
    pub step: usize,
    /// True if the run took all its steps, false if its watcher interrupted it.
    pub finished: bool,
}

impl<O: Objective> Trainer<'_, O> {
    /// Trains from the newest checkpoint in the folder, or from the objective's initial weights, or from `start`.
    ///
    /// `watch` is called with each row and checkpoint, and without an event after each step: when it returns
    /// [`ControlFlow::Break`], the run writes a checkpoint and ends.
    ///
    /// # Errors
    /// When the settings are not those of the checkpoint (the key is named), the loss or gradient is no number or the
    /// loss is far above guessing (the step is named; the checkpoint before stays), or a file cannot be written.
    pub fn run(
        &self,
        start: &mut dyn totune_model::Weights,
        watch: &mut dyn FnMut(Option<Event>) -> ControlFlow<()>,
    ) -> Result<Ended<O::Model>> {
        let config = self.settings.optimizer.config();
        let latest = self.folder.latest()?;
        let mut about = self.about.clone();
        let resumed = latest.as_ref();
        resume_products(resumed.and_then(|checkpoint| checkpoint.about.products.as_deref()));
        about.products = Some(products().name().to_string());
        let (mut model, mut optimizer) = match latest {
            None => {
                let model = self.objective.load(start, self.device)?;
                (trainable(model), AdamW::new(&config))
            }
            Some(checkpoint) => {
                self.about.check(&checkpoint.about)?;
                let model = trainable(self.objective.load(&mut &checkpoint, self.device)?);
                let moments = self.moments_by_path(&model, &checkpoint)?;
                about.go_on_from(&checkpoint.about);
                let optimizer = AdamW::resume(&config, &model, moments)?;
                (model, optimizer)
            }
        };
        let paths = totune_adapt::sizes(&model).into_keys();
        let decays = self.settings.optimizer.weight_decays(paths)?;
        let mut rows = self.log_until(about.step)?;
        let mut meter = Meter::new(&self.settings.name, about.seconds);
        let steps = self.objective.steps();
        while about.step < steps {
            let step = about.step;
            let (trained, loss, norm) = self.step(model, &mut optimizer, &decays, step)?;
            model = trained;
            about.step += 1;
            let tokens = self.objective.tokens_before(about.step);
            meter.add(loss, norm, tokens - self.objective.tokens_before(step));
            let last = about.step == steps;
            let mut stop = watch(None).is_break();
            if about.step.is_multiple_of(self.settings.log_every) || last || stop {
                let rate = self.learning_rate(step);
                if let Some(row) = meter.row(about.step, tokens, rate) {
                    stop |= watch(Some(Event::Row(&row))).is_break();
                    rows.push(row);
                }
            }
            if about.step.is_multiple_of(self.settings.checkpoint_every) || last || stop {
                about.seconds = meter.seconds();
                // The log first: rows after the newest checkpoint are removed when the run resumes from it.
                write_pretraining(&self.folder.path, &rows)?;
                self.folder
                    .save(self.checkpoint(&model, &optimizer, about.clone()))?;
                stop |= watch(Some(Event::Saved(about.step))).is_break();
            }
            if stop {
                break;
            }
        }
        Ok(Ended {
            model: model.valid(),
            step: about.step,
            finished: about.step >= steps,
        })
    }

    /// Takes one step; returns the model after it, the loss before it, and the norm of its gradient.
    fn step(
        &self,
        model: O::Model,
        optimizer: &mut AdamW,
        decays: &BTreeMap<String, f64>,
        step: usize,
    ) -> Result<(O::Model, f64, f64)> {
        let loss = self.objective.loss(&model, step, self.device);
        let gradients = loss.backward();
        let mut gradients = GradientsParams::from_grads(gradients, &model);
        let norm = clip_global_norm(&model, &mut gradients, self.settings.clip.max());
        let lr = self.learning_rate(step);
        let model = optimizer.step(model, gradients, &|path| {
            let weight_decay = *decays.get(path)?;
            Some(Rate { lr, weight_decay })
        });
        // Read only now, so that a device which works on its own has the whole step before it is waited for.
        let (loss, norm) = (f64::from(loss.into_scalar::<f32>()), norm.read());
        if !loss.is_finite() || !norm.is_finite() || loss > DIVERGED * self.guessing {
            bail!(
                "training diverged at step {step}: the loss is {loss:.4} and the norm of its gradient {norm:.4} at a \
                 learning rate of {:.2e}; the checkpoint before is kept, and a lower learning-rate under another name \
                 may do better",
                lr
            );
        }
        Ok((model, loss, norm))
    }

    fn learning_rate(&self, step: usize) -> f64 {
        let peak = self.settings.learning_rate;
        self.settings
            .schedule
            .rate(peak, step, self.objective.steps())
    }

    fn checkpoint(&self, model: &O::Model, optimizer: &AdamW, about: About) -> Checkpoint {
        let published = |path: &String| self.objective.published(path);
        let weights = parameter_values(model, &|_| true);
        let moments = optimizer.state(model);
        Checkpoint {
            about,
            weights: weights
                .into_iter()
                .map(|(path, data)| (published(&path), data))
                .collect(),
            moments: moments
                .into_iter()
                .map(|(path, moments)| (published(&path), moments))
                .collect(),
        }
    }

    /// The optimizer's state under the paths of `model`, as it names its own parameters.
    fn moments_by_path(
        &self,
        model: &O::Model,
        checkpoint: &Checkpoint,
    ) -> Result<BTreeMap<String, ParameterMoments>> {
        let mut moments = checkpoint.moments.clone();
        let paths = totune_adapt::sizes(model).into_keys();
        let by_path = paths.filter_map(|path| {
            let moments = moments.remove(&self.objective.published(&path))?;
            Some((path, moments))
        });
        let by_path: BTreeMap<_, _> = by_path.collect();
        ensure!(
            moments.is_empty(),
            "the checkpoint has optimizer state of `{}`, which this model lacks",
            moments.keys().next().map_or("", String::as_str)
        );
        Ok(by_path)
    }

    /// Returns the rows of the log up to `step`; later rows belong to steps that were lost and are taken again.
    fn log_until(&self, step: usize) -> Result<Vec<PretrainingRow>> {
        if step == 0 {
            return Ok(Vec::new());
        }
        let rows = read_pretraining(&self.folder.path)
            .context("the log that goes with the newest checkpoint")?;
        Ok(rows
            .into_iter()
            .filter(|row| row.step <= step as u64)
            .collect())
    }
}

impl About {
    /// Refuses a checkpoint of another run.
    ///
    /// # Errors
    /// When settings, vocabulary or text are others.
    pub fn check(&self, found: &About) -> Result<()> {
        check_unchanged(&found.settings, &self.settings)?;
        ensure!(
            found.vocabulary == self.vocabulary,
            "the vocabulary is not the one that the checkpoint was trained with"
        );
        ensure!(
            found.corpus == self.corpus,
            "the text is not the one that the checkpoint was trained on"
        );
        Ok(())
    }

    /// Continues from `before`, keeping its commits and devices.
    fn go_on_from(&mut self, before: &About) {
        self.step = before.step;
        self.seconds = before.seconds;
        let join = |before: &[String], now: &[String]| {
            let mut all = before.to_vec();
            for item in now {
                if all.last() != Some(item) {
                    all.push(item.clone());
                }
            }
            all
        };
        self.commits = join(&before.commits, &self.commits);
        self.devices = join(&before.devices, &self.devices);
    }
}

/// Requires a gradient for every parameter of the model.
fn trainable<M: Module>(model: M) -> M {
    require_gradients(model.train(), &|_| true)
}
