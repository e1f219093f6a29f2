//! The training loop: one loop for every strategy, which executes what the phases say.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Device;
use rand::Rng;
use totune_data::{BatchPlan, random, stream};
use totune_model::fused::{AdamW, Rate, clip_global_norm};
use totune_model::{Classifier, Encoder, Pass};

use crate::batch::outputs;
use crate::best::Best;
use crate::cache::Start;
use crate::clock::Clock;
use crate::evaluate::{Evaluation, evaluate};
use crate::outcome::{Divergence, Outcome, Prediction, Score, Stop};
use crate::parameters::{require_gradients, sizes};
use crate::phase::{Assigned, Assignment, Moments, Phase};
use crate::stop::{StopRule, has_parted, has_stalled};
use crate::task::{Examples, TaskData};
use crate::training::{Select, Training};
use crate::watch::{EpochScores, StepEvent, Watch};

/// Puts a new head on `encoder`, trains as `training` says, and scores after every epoch.
///
/// A phase goes on with the model the one before left, and with its optimiser or a fresh one, as it says.
///
/// `device` is the plain device the encoder lies on. All chance comes from `seed`: the head's first weights, the order
/// of the examples, dropout. A loss or gradient that is not finite ends the run before its step is applied; that is
/// an outcome, not an error.
///
/// # Errors
/// When a setting is out of range for this encoder, a split is empty, or the device fails.
pub fn fit<E: Encoder>(
    encoder: E,
    task: &TaskData,
    training: &Training,
    seed: u64,
    device: &Device,
    watch: &mut dyn Watch,
) -> Result<Outcome<E>> {
    let plan = training.plan(encoder.n_layers())?;
    task.check()?;
    ensure!(
        training.head.is_tagger() == task.question.is_about_words(),
        "head: found `{}`, which {}",
        training.head.label(),
        if training.head.is_tagger() {
            "tags words; the dataset asks about whole examples"
        } else {
            "answers for whole examples; the dataset asks about words, which `kind = \"tagger\"` is for"
        }
    );
    ensure!(
        training.state.is_reset() || encoder.has_state(),
        "state: found \"carry\", which needs an encoder with recurrent layers, such as ELMo; expected \"reset\" for this one"
    );
    let head_seed = stream(seed, "head", 0).next_u64();
    let encoder = encoder
        .with_dropout(training.dropout)
        .with_precision(training.dtype.precision())
        .with_state(training.state);
    let encoder = plan.prepare(encoder, seed)?;
    let n_layers = encoder.n_layers();
    let n_outputs = task.question.n_outputs();
    let mut model = Classifier::new(encoder, &training.head, n_outputs, head_seed, device)?.train();

    let sizes = sizes(&model);
    let paths: Vec<String> = sizes.keys().cloned().collect();
    let assignments = plan.assign(&paths, n_layers)?;
    let moving = assignments.iter().flat_map(|phase| phase.parameters.keys());
    let trainable: BTreeSet<&str> = moving.map(String::as_str).collect();

    let mut run = Run::new(task, training, seed, device, watch);
    run.epochs = plan.phases.iter().map(|phase| phase.epochs).sum();
    let mut stop = Stop::Epochs;
    let mut best = Best::default();
    let mut optimizer = AdamW::new(&training.optimizer.config());
    'phases: for (phase_idx, (phase, assigned)) in plan.phases.iter().zip(&assignments).enumerate()
    {
        run.begin(phase_idx, Start::of(assigned, training, n_layers));
        model = require_gradients(model, &|path| assigned.parameters.contains_key(path));
        // Moments are kept by parameter, so that those of a parameter that moves in both phases go on.
        if phase.moments == Moments::Fresh {
            optimizer = AdamW::new(&training.optimizer.config());
        }
        stop = Stop::Epochs;
        for epoch_of_phase in 0..phase.epochs {
            let trained = run.train(model, &mut optimizer, phase, assigned, epoch_of_phase)?;
            model = trained.0;
            let mean_loss = match trained.1 {
                ControlFlow::Continue(mean_loss) => mean_loss,
                ControlFlow::Break(divergence) => {
                    stop = Stop::Diverged(divergence);
                    break 'phases;
                }
            };
            if let ControlFlow::Break(divergence) = run.score(&model.valid(), mean_loss, phase)? {
                stop = Stop::Diverged(divergence);
                break 'phases;
            }
            if training.select == Select::BestDev {
                let metric = training.stop.metric();
                let purpose = "select: the epoch with the best %s on dev is to stand for the run";
                let score = run
                    .dev(metric, purpose)?
                    .pop()
                    .expect("an epoch has been scored");
                best.offer(score, run.epoch, &model, &trainable, &run.predictions);
            }
            if let Some(reason) = run.ends(&phase.stop)? {
                stop = reason;
                break;
            }
            run.scale = phase.schedule.scale(|plateau| {
                let purpose = "schedule: the rate is to fall where %s on dev no longer rises";
                run.dev(plateau.metric.as_ref(), purpose)
            })?;
        }
    }
    match stop {
        Stop::Epochs | Stop::Plateau | Stop::Gap => {
            let mut epoch = run.epoch;
            model = match best.take(model) {
                Ok(best) => {
                    (epoch, run.predictions) = (best.0, best.2);
                    best.1
                }
                Err(last) => last,
            };
            run.stand_for(epoch);
            run.answer(&model.valid())?;
        }
        Stop::Diverged(_) => run.predictions.clear(),
    }
    Ok(Outcome {
        model,
        scores: run.scores,
        predictions: run.predictions,
        stop,
        params_total: sizes.values().sum(),
        params_trainable: trainable.into_iter().map(|path| sizes[path]).sum(),
        epochs: run.epoch,
        steps: run.step,
        train_seconds: run.train_clock.seconds(),
        cache_seconds: run.cache_seconds,
        eval_seconds: run.eval_clock.seconds(),
    })
}

/// Where a run stands and what it has found so far.
struct Run<'a> {
    task: &'a TaskData,
    training: &'a Training,
    seed: u64,
    device: &'a Device,
    watch: &'a mut dyn Watch,
    batches: BatchPlan,
    lengths: Vec<usize>,
    steps_per_epoch: usize,
    /// Of all phases, at most.
    epochs: usize,
    phase: usize,
    /// Where its passes begin.
    start: Option<Start>,
    /// What a schedule that looks at scores multiplies the rate by.
    scale: f64,
    /// Some examples of train, to compare with dev.
    sample: Option<Examples>,
    /// Finished, over all phases.
    epoch: usize,
    /// Taken, over all phases.
    step: usize,
    scores: Vec<Score>,
    predictions: Vec<Prediction>,
    train_clock: Clock,
    eval_clock: Clock,
    cache_seconds: f64,
}

impl<'a> Run<'a> {
    fn new(
        task: &'a TaskData,
        training: &'a Training,
        seed: u64,
        device: &'a Device,
        watch: &'a mut dyn Watch,
    ) -> Self {
        let batches = BatchPlan {
            size: training.batch_size,
            bucketing: training.bucketing.is_on(),
        };
        let lengths = task.train.lengths();
        Self {
            steps_per_epoch: batches.shuffled(&lengths, seed, 0).len(),
            task,
            training,
            seed,
            device,
            watch,
            batches,
            lengths,
            epochs: 0,
            phase: 0,
            start: None,
            scale: 1.0,
            sample: None,
            epoch: 0,
            step: 0,
            scores: Vec::new(),
            predictions: Vec::new(),
            train_clock: Clock::new(device),
            eval_clock: Clock::new(device),
            cache_seconds: 0.0,
        }
    }

    /// Turns to a phase whose passes may begin at `start`. The first one that uses kept states pays for them.
    fn begin(&mut self, phase: usize, start: Option<Start>) {
        let paid = self.start;
        self.phase = phase;
        self.start = start;
        self.scale = 1.0;
        if let Some(kept) = self.task.train.kept(start).filter(|_| paid != start) {
            self.cache_seconds += kept.seconds();
            self.train_clock.add(kept.seconds());
        }
    }

    /// Why the phase is over, if the scores say so.
    fn ends(&self, rule: &StopRule) -> Result<Option<Stop>> {
        let purpose = "stop: training is to end where %s on dev does";
        let dev = || self.dev(rule.metric(), purpose);
        Ok(match *rule {
            StopRule::Epochs {} => None,
            StopRule::Plateau {
                patience,
                threshold,
                metric: _,
            } => has_stalled(&dev()?, patience, threshold).then_some(Stop::Plateau),
            StopRule::Gap { gap, rise, .. } => {
                let dev = dev()?;
                let train = self.of_phase("train", self.metric(rule.metric()));
                let train = *train.last().expect("scored with dev");
                has_parted(&dev, train, gap, rise).then_some(Stop::Gap)
            }
        })
    }

    /// What a decision looks at: the metric it names, or the dataset's main one.
    fn metric<'m>(&'m self, named: Option<&'m String>) -> &'m str {
        named
            .or(self.task.metrics.first())
            .map_or("the score", String::as_str)
    }

    /// The scores of this phase, in the order they were taken.
    fn of_phase(&self, split: &str, metric: &str) -> Vec<f64> {
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

    /// One pass over the training examples; the mean of their losses, each taken before its step.
    fn train<E: Encoder>(
        &mut self,
        mut model: Classifier<E>,
        optimizer: &mut AdamW,
        phase: &Phase,
        assigned: &Assignment,
        epoch_of_phase: usize,
    ) -> Result<(Classifier<E>, ControlFlow<Divergence, f64>)> {
        let steps = phase.epochs * self.steps_per_epoch;
        let mut total_loss = 0.0;
        model.encoder.forget();
        self.train_clock.start()?;
        let order = self
            .batches
            .shuffled(&self.lengths, self.seed, self.epoch as u64);
        for (i, indices) in order.iter().enumerate() {
            let mut dropout_seeds = stream(self.seed, "dropout", self.step as u64);
            let mut accumulated = GradientsAccumulator::new();
            let mut mean_loss = 0.0;
            for piece in self.pieces(indices) {
                let pass = Pass::training(dropout_seeds.next_u64())
                    .frozen(assigned.frozen_below, self.training.frozen_dropout.is_on());
                let (start, device) = (self.start, self.device);
                let outputs = outputs(&model, &self.task.train, piece, start, &pass, device);
                let targets = &self.task.train.targets;
                let share = piece.len() as f64 / indices.len() as f64;
                let loss = self.task.question.loss(outputs, targets, piece, device); // [1]
                mean_loss += share * f64::from(loss.clone().into_scalar::<f32>());
                if !mean_loss.is_finite() {
                    self.train_clock.stop()?;
                    return Ok((model, ControlFlow::Break(self.diverged("loss", mean_loss))));
                }
                let loss = if share < 1.0 { loss * share } else { loss };
                let gradients = GradientsParams::from_grads(loss.backward(), &model);
                accumulated.accumulate(&model, gradients);
            }
            let mut gradients = accumulated.grads();
            let norm = clip_global_norm(&model, &mut gradients, self.training.clip.max());
            if !norm.is_finite() {
                self.train_clock.stop()?;
                return Ok((
                    model,
                    ControlFlow::Break(self.diverged("gradient norm", norm)),
                ));
            }

            let step_of_phase = epoch_of_phase * self.steps_per_epoch + i;
            let scheduled = |peak| self.scale * phase.schedule.rate(peak, step_of_phase, steps);
            model = optimizer.step(model, gradients, &|path| {
                let Assigned { lr, weight_decay } = *assigned.parameters.get(path)?;
                Some(Rate {
                    lr: scheduled(lr),
                    weight_decay,
                })
            });
            self.step += 1;
            total_loss += mean_loss * indices.len() as f64;
            self.watch.step(&StepEvent {
                phase: self.phase,
                epoch: self.epoch + 1,
                epochs: self.epochs,
                step: self.step,
                steps: self.epochs * self.steps_per_epoch,
                examples: indices.len(),
                loss: mean_loss,
                gradient_norm: norm,
                lr: scheduled(phase.groups[0].lr),
                train_seconds: self.train_clock.seconds(),
            });
        }
        self.train_clock.stop()?;
        self.epoch += 1;
        Ok((
            model,
            ControlFlow::Continue(total_loss / self.task.train.len() as f64),
        ))
    }

    /// A batch as it passes through the model: whole, or in pieces.
    fn pieces<'b>(&self, indices: &'b [usize]) -> std::slice::Chunks<'b, usize> {
        indices.chunks(match self.training.micro_batch_size {
            0 => indices.len(),
            size => size,
        })
    }

    /// Scores a snapshot of the model on everything but the training examples, and keeps its predictions.
    fn score<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        train_loss: f64,
        phase: &Phase,
    ) -> Result<ControlFlow<Divergence>> {
        self.eval_clock.start()?;
        let first_new = self.scores.len();
        self.push("train", "loss", train_loss, self.task.train.len());
        self.predictions.clear();
        for (split, examples) in self.task.scored() {
            let found = evaluate(
                model,
                &self.task.question,
                examples,
                self.training.evaluation_batch_size,
                self.start,
                self.device,
            )?;
            if !found.loss.is_finite() {
                self.eval_clock.stop()?;
                let what = if split == "dev" {
                    "dev loss"
                } else {
                    "test loss"
                };
                return Ok(ControlFlow::Break(self.diverged(what, found.loss)));
            }
            let n = examples.len();
            self.push(split, "loss", found.loss, n);
            let question = &self.task.question;
            for (metric, value) in question.scores(examples, &found.predicted, &self.task.metrics) {
                self.push(split, &metric, value, n);
            }
            self.keep(split, examples, found);
        }
        if let StopRule::Gap { metric, .. } = &phase.stop {
            self.compare(model, metric.as_ref())?;
        }
        self.eval_clock.stop()?;
        self.watch.epoch(&EpochScores {
            phase: self.phase,
            epoch: self.epoch,
            epochs: self.epochs,
            scores: &self.scores[first_new..],
        });
        Ok(ControlFlow::Continue(()))
    }

    /// Scores some examples of train, and says how far the score lies above the one on dev.
    fn compare<E: Encoder>(
        &mut self,
        model: &Classifier<E>,
        metric: Option<&String>,
    ) -> Result<()> {
        let (task, seed) = (self.task, self.seed);
        let n_dev = task.dev.as_ref().map_or(0, Examples::len);
        let sample = self.sample.take().unwrap_or_else(|| {
            let mut indices: Vec<usize> = (0..task.train.len()).collect();
            random::shuffle(&mut indices, &mut stream(seed, "gap", 0));
            indices.truncate(n_dev);
            task.train.part(&indices)
        });
        if sample.is_empty() {
            return Ok(()); // without dev, which the rule itself complains about
        }
        let question = &task.question;
        let (batch_size, start) = (self.training.evaluation_batch_size, self.start);
        let found = evaluate(model, question, &sample, batch_size, start, self.device)?;
        let n = sample.len();
        for (metric, value) in question.scores(&sample, &found.predicted, &task.metrics) {
            self.push("train", &metric, value, n);
        }
        let last = |split| {
            let scores = self.of_phase(split, self.metric(metric));
            scores.last().copied()
        };
        if let (Some(train), Some(dev)) = (last("train"), last("dev")) {
            self.push("train", "gap", train - dev, n);
        }
        self.sample = Some(sample);
        Ok(())
    }

    /// Answers what the final model is to answer without being judged.
    fn answer<E: Encoder>(&mut self, model: &Classifier<E>) -> Result<()> {
        let task = self.task;
        for (split, examples) in &task.predict {
            let (batch_size, start) = (self.training.evaluation_batch_size, self.start);
            let question = &task.question;
            let found = evaluate(model, question, examples, batch_size, start, self.device)?;
            self.keep(split, examples, found);
        }
        Ok(())
    }

    /// Keeps what the model said about the examples of a split.
    fn keep(&mut self, split: &str, examples: &Examples, found: Evaluation) {
        let answers = found.predicted.into_iter().zip(found.scores);
        let rows = examples.ids.iter().zip(&examples.targets).zip(answers);
        self.predictions
            .extend(rows.map(|((id, gold), (predicted, scores))| Prediction {
                split: split.to_string(),
                example_id: id.clone(),
                gold: gold.clone(),
                predicted,
                scores,
            }));
    }

    fn push(&mut self, split: &'static str, metric: &str, value: f64, n: usize) {
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

    fn diverged(&self, what: &'static str, value: f64) -> Divergence {
        Divergence {
            what,
            value,
            phase: self.phase,
            epoch: self.epoch,
            step: self.step,
        }
    }

    fn stand_for(&mut self, epoch: usize) {
        for score in &mut self.scores {
            score.is_final = score.epoch == epoch;
        }
    }
}
