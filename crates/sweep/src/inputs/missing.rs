//! Inputs of runs that are missing on this machine.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use totune_data::TextCard;

use crate::{Project, Roots, RunSpec};

/// Everything that runs of these specs read and that is missing, as one message; `None` when all is there.
///
/// An unknown dataset or encoder is an error that lists what exists.
pub fn missing<'a>(
    project: &Project,
    roots: &Roots,
    specs: impl IntoIterator<Item = &'a RunSpec>,
) -> Result<Option<String>> {
    let messages = messages(project, roots, specs)?;
    let messages: Vec<String> = messages.into_values().collect();
    Ok((!messages.is_empty()).then(|| messages.join("\n\n")))
}

/// Names of missing inputs, with the number of runs that read each.
pub(crate) fn absent<'a>(
    project: &Project,
    roots: &Roots,
    specs: impl IntoIterator<Item = &'a RunSpec>,
) -> Result<BTreeMap<String, usize>> {
    let specs: Vec<&RunSpec> = specs.into_iter().collect();
    let missing = messages(project, roots, specs.iter().copied())?;
    let reads = |spec: &RunSpec, name: &String| {
        spec.dataset == *name || spec.encoder() == Some(name) || spec.texts().contains(name)
    };
    let counted = missing.into_keys().map(|(_, name)| {
        let runs = specs.iter().filter(|spec| reads(spec, &name)).count();
        (name, runs)
    });
    Ok(counted.collect())
}

/// Messages about missing inputs, by their place in the whole message (texts, datasets, encoders) and name; each says
/// what the input is and how to get it.
fn messages<'a>(
    project: &Project,
    roots: &Roots,
    specs: impl IntoIterator<Item = &'a RunSpec>,
) -> Result<BTreeMap<(usize, String), String>> {
    let specs: Vec<&RunSpec> = specs.into_iter().collect();
    let (datasets, encoders) = names(specs.iter().copied());
    let mut messages = BTreeMap::new();
    for card in texts(project, &specs)? {
        let missing = card.missing(&roots.data);
        messages.extend(missing.map(|message| ((0, card.name), message)));
    }
    if !datasets.is_empty() {
        let catalogue = project.datasets()?;
        for (name, splits) in datasets {
            let splits: Vec<&str> = splits.into_iter().collect();
            let missing = catalogue.find(name)?.missing(&roots.data, &splits);
            messages.extend(missing.map(|message| ((1, name.to_string()), message)));
        }
    }
    if !encoders.is_empty() {
        let catalogue = project.encoders()?;
        for name in encoders {
            let card = catalogue.find(name)?;
            let missing = card.missing(&roots.of_encoder(project, card.fixture));
            messages.extend(missing.map(|message| ((2, name.to_string()), message)));
        }
    }
    Ok(messages)
}

/// The cards of the plain texts that specs read, each once.
pub(super) fn texts(project: &Project, specs: &[&RunSpec]) -> Result<Vec<TextCard>> {
    let names: BTreeSet<&String> = specs.iter().flat_map(|spec| spec.texts()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let known = project.texts()?;
    let card = |name: &String| known.find(name).cloned();
    names.into_iter().map(card).collect()
}

/// The splits of each dataset and the encoders that specs read.
pub(super) fn names<'a>(
    specs: impl IntoIterator<Item = &'a RunSpec>,
) -> (BTreeMap<&'a str, BTreeSet<&'a str>>, BTreeSet<&'a str>) {
    let mut datasets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut encoders = BTreeSet::new();
    for spec in specs {
        let splits = datasets.entry(&spec.dataset).or_default();
        splits.extend(spec.split.splits());
        encoders.extend(spec.encoder());
    }
    (datasets, encoders)
}
