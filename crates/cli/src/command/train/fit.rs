//! Training of a run, and saving of its model.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use totune_adapt::{Examples, Objective, Outcome, Stop, Switch, TaskData};
use totune_data::{Card, Dataset};
use totune_keep::{DatasetFacts, LayoutFacts, Saved, TaskFacts, TrainedModel, save};
use totune_model::{AnyEncoder, EncoderCard};
use totune_sweep::{
    EndScore, Ended, Inputs, Machine, PlannedRun, Position, Prepared, Progress as _, RunSpec,
    Watched, Work,
};

use super::learned;
use super::summary::{Summary, print_saved, print_scores};
use crate::context::Context;
use crate::exit;
use crate::print;
use crate::progress::{Audience, Curves};

/// Message where training was stopped from outside.
const INTERRUPTED: &str = "interrupted; nothing was saved";

/// Origin of a saved model.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The run; it trains an encoder.
    pub spec: &'a RunSpec,
    /// True if the run belongs to an experiment.
    pub is_listed: bool,
    /// The card of the dataset.
    pub card: &'a Card,
    /// Its training file, or the part of it that was used.
    pub train: &'a Dataset,
    /// Hash of all data that the run reads.
    pub hash: &'a str,
    /// The card of the encoder.
    pub encoder: &'a EncoderCard,
}

/// A run to train.
pub(super) struct Job<'a> {
    /// Its inputs in memory.
    pub inputs: &'a Inputs,
    pub origin: Origin<'a>,
    pub output: Output<'a>,
}

/// Form of what a training leaves behind.
#[derive(Clone, Copy)]
pub(super) struct Output<'a> {
    /// Files with learning curves, if requested.
    pub curves: &'a Curves,
    /// Also saves low-rank updates in PEFT's format.
    pub adapter: Switch,
    /// Prints the result as JSON.
    pub json: bool,
}

/// Facts about the data that are needed after training.
struct Facts {
    /// Examples in train, dev and test.
    sizes: [usize; 3],
    metrics: Vec<String>,
    objective: Objective,
    /// Some test examples, to compare the saved model on.
    sample: Examples,
}

impl Facts {
    fn of(task: &TaskData) -> Self {
        // A long sentence is several rows.
        let n = |part: &Examples| part.rows.chunk_by(|a, b| a.id == b.id).count();
        let dev = task.dev.as_ref().map_or(0, n);
        Self {
            sizes: [n(&task.train), dev, n(&task.test)],
            metrics: task.metrics.clone(),
            objective: task.objective.clone(),
            sample: task.test.clone(),
        }
    }
}

impl Job<'_> {
    /// Trains on `machine`, prints the scores, and saves the model as `folder`, if one is given.
    ///
    /// # Errors
    /// When a setting does not fit the encoder or the task, or the model cannot be saved.
    pub fn run(&self, context: &Context, machine: &Machine, folder: Option<&Path>) -> Result<u8> {
        let Some(prepared) = self.inputs.prepare(self.origin.spec)? else {
            eprintln!("{INTERRUPTED}");
            return Ok(exit::STOPPED);
        };
        let facts = Facts::of(&prepared.task);
        if !context.global.quiet {
            self.note_long_texts(&prepared);
        }
        let outcome = self.fit(context, machine, prepared)?;
        match &outcome.stop {
            Stop::Interrupted => {
                eprintln!("{INTERRUPTED}");
                return Ok(exit::STOPPED);
            }
            Stop::Diverged(divergence) => {
                eprintln!(
                    "diverged: {divergence}; nothing was saved. A lower learning rate may help"
                );
                return Ok(exit::SOME_FAILED);
            }
            Stop::Epochs | Stop::EarlyStopping | Stop::GeneralisationGap => {}
        }
        // Before anything is printed: whoever reads that may go away.
        let saved = match folder {
            None => None,
            Some(folder) => {
                let loaded = self.inputs.loaded(&self.origin.encoder.name)?;
                let model = ToSave {
                    outcome: &outcome,
                    sample: &facts.sample,
                    sizes: facts.sizes,
                    metrics: &facts.metrics,
                    origin: self.origin,
                    dir: &loaded.dir,
                    checkpoint: &loaded.checkpoint_hash,
                    adapter: self.output.adapter,
                };
                Some((model.save(context, machine, folder)?, folder))
            }
        };
        let restarts = (outcome.restarts > 0).then(|| {
            format!(
                "note: attempts that learned nothing before this one: {}",
                outcome.restarts
            )
        });
        let unlearned = learned::note(&outcome, &facts.objective, &facts.metrics);
        if self.output.json {
            let model = saved.as_ref().map(|(saved, _)| saved);
            let judged = (&outcome, unlearned.is_none());
            let trained = (self.origin.spec, self.origin.encoder.name.as_str());
            print::json(&Summary::of(judged, trained, facts.sizes, model))?;
        } else {
            print_scores(&outcome, facts.sizes);
        }
        context.note([restarts, unlearned].into_iter().flatten());
        if let Some((saved, folder)) = saved.filter(|_| !self.output.json) {
            print_saved(&saved);
            if self.output.adapter.is_on() {
                println!("PEFT loads {}", folder.join("adapter").display());
            }
        }
        Ok(exit::OK)
    }

    /// Warns about texts that the model may not read to their ends.
    fn note_long_texts(&self, prepared: &Prepared) {
        let (task, most) = (&prepared.task, prepared.training.max_length);
        let parts = [Some(&task.train), task.dev.as_ref(), Some(&task.test)];
        let parts = parts.into_iter().flatten();
        let full: usize = parts.clone().map(|part| part.n_full(most)).sum();
        if full == 0 {
            return;
        }
        let n: usize = parts.map(Examples::len).sum();
        let (name, limit) = (
            &self.origin.encoder.name,
            self.origin.encoder.architecture.max_length(),
        );
        let hint = if most < limit {
            format!("--max-length sets the number of tokens, {limit} at most with `{name}`")
        } else {
            format!("`{name}` reads no more of a text, other encoders may")
        };
        eprintln!(
            "note: texts that fill the {most} tokens that the model reads: {full} of {n}; what, if anything, follows in them is not read ({hint})"
        );
    }

    /// Trains with progress output.
    fn fit(
        &self,
        context: &Context,
        machine: &Machine,
        prepared: Prepared,
    ) -> Result<Outcome<AnyEncoder>> {
        let audience = Audience::new(context, &machine.device_name, self.output.curves)?;
        let progress = audience.listeners();
        let run = PlannedRun::unplanned(self.origin.spec.clone());
        let position = Position { number: 1, of: 1 };
        progress.started(position, &run);
        let clock = Instant::now();
        let mut watch = Watched::new(self.origin.spec, machine, &progress);
        let metrics = prepared.task.metrics.clone();
        let outcome = prepared.fit(&mut watch)?;
        match &outcome.stop {
            Stop::Interrupted => progress.stopped(&run),
            stop => {
                let ended = ended(stop, &outcome, &metrics, clock.elapsed());
                progress.finished(position, &run, &ended);
            }
        }
        progress.end();
        Ok(outcome)
    }
}

/// Outcome of a training that was not interrupted.
fn ended(stop: &Stop, outcome: &Outcome<AnyEncoder>, metrics: &[String], took: Duration) -> Ended {
    let (status, error) = match stop {
        Stop::Diverged(divergence) => ("diverged", divergence.to_string()),
        _ => ("ok", String::new()),
    };
    let mut scores = outcome.scores.iter();
    let score = scores.find(|score| {
        score.is_final && score.split == "test" && metrics.first() == Some(&score.metric)
    });
    Ended {
        status: status.to_string(),
        error,
        score: score.map(|score| EndScore {
            split: score.split.to_string(),
            metric: score.metric.clone(),
            value: score.value,
        }),
        took,
    }
}

/// A trained model, with everything its folder documents.
pub(crate) struct ToSave<'a> {
    pub outcome: &'a Outcome<AnyEncoder>,
    /// Some test examples, to compare the saved model on.
    pub sample: &'a Examples,
    /// Examples in train, dev and test.
    pub sizes: [usize; 3],
    /// Metrics of the dataset, the main one first.
    pub metrics: &'a [String],
    pub origin: Origin<'a>,
    /// The folder with the encoder's tokenizer.
    pub dir: &'a Path,
    /// Identifier of the encoder's weights.
    pub checkpoint: &'a str,
    /// Also saves low-rank updates in PEFT's format.
    pub adapter: Switch,
}

impl ToSave<'_> {
    /// Saves the model as `folder`.
    ///
    /// # Errors
    /// When the folder is not empty or cannot be written, or the saved model computes something else.
    pub fn save(&self, context: &Context, machine: &Machine, folder: &Path) -> Result<Saved> {
        let [train, dev, test] = self.sizes;
        let Origin { spec, card, .. } = self.origin;
        let Work::Tune(work) = &spec.work else {
            bail!("{}: trains no encoder", spec.label());
        };
        let (layout, _) = card
            .locate(&context.roots.data, "train")
            .context("the dataset was just read")?;
        let listed = self.origin.is_listed.then(|| spec.canonical_json());
        let listed = listed.map(|json| serde_json::from_str(&json)).transpose()?;
        let trained = TrainedModel {
            outcome: self.outcome,
            encoder: self.origin.encoder,
            dir: self.dir,
            checkpoint: self.checkpoint,
            training: &work.training,
            seed: spec.seed,
            spec: listed,
            task: TaskFacts::of(card, layout, self.origin.train),
            metrics: self.metrics.to_vec(),
            layout: LayoutFacts::of(layout),
            dataset: DatasetFacts {
                name: card.name.clone(),
                title: card.title.clone(),
                hash: self.origin.hash.to_string(),
                licence: card.licence.clone(),
                train,
                dev,
                test,
            },
            adapter: self.adapter,
            sample: self.sample,
        };
        save(&trained, folder, &machine.device)
    }
}
