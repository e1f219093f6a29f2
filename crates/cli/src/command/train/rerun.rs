//! A run of an experiment, trained again as its spec says, to keep its model.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use totune_adapt::Stop;
use totune_data::Catalogue;
use totune_keep::{ColumnNames, DatasetFacts, TaskFacts, Trained, save};
use totune_model::EncoderCatalogue;
use totune_sweep::{Inputs, RunSpec, Work, missing};

use super::{Bar, print_finals, print_saved};
use crate::context::Context;
use crate::exit;

/// Trains the run `id` again and saves its model as `folder`. The same seed on the same machine gives the same model on
/// a CPU.
pub(super) fn rerun(context: &Context, id: &str, folder: &Path) -> Result<u8> {
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
    let prepared = inputs.prepare(&spec)?;
    let (sample, metrics) = (prepared.task.test.clone(), prepared.task.metrics.clone());
    let task = &prepared.task;
    let dev = task.dev.as_ref().map_or(0, |dev| dev.len());
    let sizes = [task.train.len(), dev, task.test.len()];
    let mut bar = Bar::new(&machine, context.global.quiet);
    let outcome = prepared.fit(&mut bar)?;
    bar.bar.finish_and_clear();
    if outcome.stop == Stop::Interrupted {
        eprintln!("interrupted; nothing was saved");
        return Ok(exit::STOPPED);
    }
    ensure!(
        outcome.stop.is_an_end(),
        "run {id}: training ended as `{}`, so there is no model to save",
        outcome.stop.label()
    );
    print_finals(&outcome);
    let datasets = Catalogue::read(&context.project.root.join("datasets"))?;
    let card = datasets.find(&spec.dataset)?;
    let encoders = EncoderCatalogue::read(&context.project.root.join("encoders"))?;
    let encoder = encoders.find(&work.encoder)?;
    let roots = context.roots.of_encoder(&context.project, encoder.fixture);
    let dir = encoder
        .locate(&roots)
        .context("the encoder was just loaded")?;
    let dataset = card.load(&context.roots.data)?;
    let (layout, _) = card
        .locate(&context.roots.data, "train")
        .context("the dataset was just read")?;
    let trained = Trained {
        outcome: &outcome,
        encoder,
        dir: &dir,
        checkpoint: &run.checkpoint_hash,
        training: &work.training,
        seed: spec.seed,
        spec: Some(serde_json::from_str(&spec.canonical_json())?),
        task: TaskFacts::of(card, layout, &dataset),
        metrics,
        columns: ColumnNames::of(layout),
        dataset: DatasetFacts {
            name: card.name.clone(),
            title: card.title.clone(),
            hash: run.dataset_hash.clone(),
            licence: card.licence.clone(),
            train: sizes[0],
            dev: sizes[1],
            test: sizes[2],
        },
        sample: &sample,
    };
    print_saved(&save(&trained, folder, &machine.device)?);
    Ok(exit::OK)
}
