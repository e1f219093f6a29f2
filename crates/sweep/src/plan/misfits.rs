//! Settings that cannot work with the dataset or the encoder they are for, found from the cards before anything runs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use totune_adapt::Training;
use totune_data::{Card, Split, Task};
use totune_model::EncoderCard;

use crate::{Floor, Project, RunSpec, Work};

/// Everything in these runs that cannot work, one line for each file and reason; `None` where all fits.
///
/// An unknown dataset or encoder is an error that lists what exists.
///
/// # Errors
/// When a card cannot be read or is not there.
pub fn misfits<'a>(
    project: &Project,
    specs: impl IntoIterator<Item = &'a RunSpec>,
) -> Result<Option<String>> {
    let datasets = project.datasets()?;
    let encoders = project.encoders()?;
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for spec in specs {
        let dataset = datasets.find(&spec.dataset)?;
        let encoder = spec.encoder().map(|name| encoders.find(name)).transpose()?;
        let experiment = spec.experiment_file();
        let file = format!("experiments/{}/{experiment}.toml", spec.paper);
        let reasons = reasons(spec, dataset, encoder);
        if !reasons.is_empty() {
            found.entry(file).or_default().extend(reasons);
        }
    }
    let lines = found
        .into_iter()
        .flat_map(|(file, reasons)| reasons.into_iter().map(move |why| format!("{file}: {why}")));
    let lines: Vec<String> = lines.collect();
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

fn reasons(spec: &RunSpec, dataset: &Card, encoder: Option<&EncoderCard>) -> Vec<String> {
    let mut reasons = of_split(&spec.split, dataset);
    match &spec.work {
        Work::Tune(work) => {
            reasons.extend(of_head(&work.training, dataset));
            reasons.extend(of_loss(&work.training, dataset));
            reasons.extend(of_micro_batches(&work.training, dataset));
            let encoder = encoder.map(|card| (card, work.training.max_length));
            reasons.extend(encoder.and_then(of_length));
            reasons.extend(encoder.and_then(|(card, _)| of_depth(&work.training, card)));
            reasons.extend(encoder.and_then(|(card, _)| of_strategy(&work.training, card)));
            reasons.extend(encoder.and_then(|(card, _)| of_checkpointing(&work.training, card)));
        }
        Work::Probe(work) => {
            reasons.extend(of_several_labels("kind: found \"probe\"", dataset));
            reasons.extend(encoder.and_then(|card| of_length((card, work.max_length))));
        }
        Work::Floor(work) => {
            let length = encoder.zip(work.max_length);
            reasons.extend(length.and_then(of_length));
            if matches!(work.floor, Floor::Cosine { .. }) {
                reasons.extend(of_several_labels("floor: found `cosine`", dataset));
            }
            if matches!(work.floor, Floor::Cosine { .. }) && !dataset.is_of_pairs() {
                let name = &dataset.name;
                reasons.push(format!(
                    "floor: found `cosine`, which compares the texts of a pair; `{name}` has single texts"
                ));
            }
        }
        Work::Sparse(_) => reasons.extend(of_several_labels("kind: found \"sparse\"", dataset)),
        Work::Divergence(_) => {}
    }
    reasons
}

/// Work that needs one label or score for each example, on a dataset with several.
fn of_several_labels(found: &str, dataset: &Card) -> Option<String> {
    (dataset.task == Task::MultiLabel).then(|| {
        format!(
            "{found}, which is about one label or score for each example; `{}` is multi-label",
            dataset.name
        )
    })
}

/// Splits that the dataset does not have.
fn of_split(split: &Split, dataset: &Card) -> Vec<String> {
    let Split::Files(files) = split else {
        return Vec::new();
    };
    let names = dataset.split_names();
    let dev = files.dev_split.iter().map(|name| ("dev-split", name));
    let predicted = files.predict.iter().map(|name| ("predict", name));
    let named = [("test", &files.test)]
        .into_iter()
        .chain(dev)
        .chain(predicted);
    named
        .filter(|(_, name)| !names.contains(name.as_str()))
        .map(|(key, name)| {
            let there: Vec<&str> = names.iter().copied().collect();
            format!(
                "split.{key}: found `{name}`, but `{}` has {}",
                dataset.name,
                there.join(", ")
            )
        })
        .collect()
}

/// A head for another kind of task.
fn of_head(training: &Training, dataset: &Card) -> Option<String> {
    let (head, name) = (&training.head, &dataset.name);
    let found = format!("head.kind: found `{}`, which", head.label());
    match (head.is_tagger(), dataset.task == Task::Tagging) {
        (true, false) => Some(format!(
            "{found} tags words; `{name}` labels whole examples"
        )),
        (false, true) => Some(format!(
            "{found} labels whole examples; `{name}` tags words, for which there is `tagger`"
        )),
        _ if head.compares_pairs() && !dataset.is_of_pairs() => Some(format!(
            "{found} compares the texts of a pair; `{name}` has single texts"
        )),
        _ => None,
    }
}

/// A loss of labels for another kind of task.
fn of_loss(training: &Training, dataset: &Card) -> Option<String> {
    let refused = training.loss.check_for(dataset.task).err();
    refused.map(|error| format!("{error} (of `{}`)", dataset.name))
}

/// Micro-batches of a dataset whose loss they would change.
fn of_micro_batches(training: &Training, dataset: &Card) -> Option<String> {
    let refused = training.check_micro_batches(dataset.task).err()?;
    Some(format!("{refused} (dataset `{}`)", dataset.name))
}

/// Inputs longer than the encoder has positions for.
fn of_length((encoder, length): (&EncoderCard, usize)) -> Option<String> {
    let most = encoder.architecture.max_length();
    (length > most).then(|| {
        format!(
            "max-length: found {length}, but `{}` reads at most {most} tokens",
            encoder.name
        )
    })
}

/// A strategy that trains modules which the encoder lacks, or names them.
fn of_strategy(training: &Training, encoder: &EncoderCard) -> Option<String> {
    let (adaptation, architecture) = (&training.adaptation, &encoder.architecture);
    let fits = adaptation.check_architecture(architecture);
    let fits = fits.context("adaptation.kind");
    let fits = fits.and_then(|()| adaptation.check_modules(architecture));
    fits.err()
        .map(|error| format!("{error:#} (of `{}`)", encoder.name))
}

/// Gradient checkpointing of layers that do not recompute.
fn of_checkpointing(training: &Training, encoder: &EncoderCard) -> Option<String> {
    let checked = training.check_checkpointing(encoder.architecture.recomputes());
    checked
        .err()
        .map(|error| format!("{error} (of `{}`)", encoder.name))
}

/// An adaptation that needs other layers or epochs.
fn of_depth(training: &Training, encoder: &EncoderCard) -> Option<String> {
    let plan = training.plan(encoder.architecture.n_layers());
    plan.err()
        .map(|error| format!("{error} (of `{}`)", encoder.name))
}
