//! Retraining of a run of an experiment with the settings of its spec, to save its model.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use totune_keep::check_adapter;
use totune_sweep::{Inputs, RunSpec, Work, missing};

use super::fit::{Job, Origin, Output};
use crate::context::Context;

/// Trains the run `id` again and saves its model as `folder`.
/// The same seed on the same machine gives the same model on a CPU.
pub(super) fn rerun(context: &Context, id: &str, folder: &Path, output: Output) -> Result<u8> {
    let tables = context.store.tables(id)?;
    let run = tables.runs.first();
    let run = run.with_context(|| format!("run {id}: its table of runs is empty"))?;
    let spec = RunSpec::read(&run.spec)?;
    let Work::Tune(work) = &spec.work else {
        bail!("run {id}: trains no encoder, expected a run of the kind `fine-tune`");
    };
    if let Some(message) = missing(&context.project, &context.roots, [&spec])? {
        bail!("files are missing\n\n{message}");
    }
    let machine = context.machine()?;
    let activations = context.project.root.join("runs/activations");
    let inputs = Inputs::open(context.environment(&machine), [&spec], &activations)?;
    let now = inputs.hashes(&spec)?;
    let then = [&run.dataset_hash, &run.checkpoint_hash, &run.tokenizer_hash];
    let names = ["data", "encoder", "tokenizer"];
    for (name, (now, then)) in names.iter().zip(now.iter().zip(then)) {
        ensure!(
            now == then,
            "run {id}: its {name} has changed since, from {then} to {now}; `totune sweep run` runs the experiment again with what \
             is there"
        );
    }
    let datasets = context.project.datasets()?;
    let card = datasets.find(&spec.dataset)?;
    let encoders = context.project.encoders()?;
    let encoder = encoders.find(&work.encoder)?;
    if output.adapter.is_on() {
        check_adapter(&encoder.architecture, &work.training, card.task)?;
    }
    let origin = Origin {
        spec: &spec,
        is_listed: true,
        card,
        train: &card.load(&context.roots.data)?,
        hash: &run.dataset_hash,
        encoder,
    };
    let job = Job {
        inputs: &inputs,
        origin,
        output,
    };
    job.run(context, &machine, Some(folder))
}
