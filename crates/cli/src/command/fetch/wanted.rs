//! Downloads that the card of a dataset or of an encoder requires.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use totune_checkpoint::Format;
use totune_data::Card;
use totune_fetch::{Fetch, Job, Settings, Sha256, Source};
use totune_model::EncoderCard;

use super::outcome::size;
use crate::context::Context;

/// Downloads that a card requires, and instructions for manual ones.
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) instructions: String,
    pub(super) jobs: Vec<Job>,
    /// The files, where all of them exist in another form, such as another layout.
    pub(super) otherwise: Option<Vec<PathBuf>>,
}

/// The message where no names were given, with what the `cards` can fetch; `None` where that is nothing. All of it is many
/// gigabytes.
pub(super) fn no_names<'a>(
    what: &str,
    cards: impl Iterator<Item = (&'a str, &'a [Fetch])>,
) -> Option<String> {
    let lines = cards.map(|(name, fetch)| {
        let sizes = fetch.iter().flat_map(Fetch::downloads).map(|one| one.size);
        let known: Option<u64> = sizes.sum();
        let known = known.map(|bytes| format!(" ({})", size(Some(bytes))));
        format!("\n  {name}{}", known.unwrap_or_default())
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| {
        format!(
            "found no names, expected those of {what} to fetch, or --all; there are:{}",
            lines.concat()
        )
    })
}

pub(super) fn of_dataset(context: &Context, settings: &Settings, card: &Card) -> Result<Wanted> {
    let files = card.layouts.iter().flat_map(|layout| layout.files.values());
    let known: BTreeMap<String, Sha256> = files
        .filter_map(|file| {
            let sha256 = Sha256::try_from(file.sha256.clone()?).ok()?;
            Some((file.path.to_str()?.to_string(), sha256))
        })
        .collect();
    let job = |download| Job {
        download,
        root: context.roots.data.clone(),
        cache: settings.hub_cache.clone(),
        folders: Vec::new(),
        known: known.clone(),
    };
    let splits: Vec<&str> = card.split_names().into_iter().collect();
    let there = splits
        .iter()
        .map(|split| Some(card.locate(&context.roots.data, split)?.1))
        .collect();
    Ok(Wanted {
        name: card.name.clone(),
        instructions: card.instructions.trim().to_string(),
        jobs: card
            .fetch
            .iter()
            .flat_map(Fetch::downloads)
            .map(job)
            .collect(),
        otherwise: there,
    })
}

pub(super) fn of_encoder(context: &Context, card: &EncoderCard) -> Wanted {
    // Downloads go into the user's folder.
    let mut places = context.roots.of_encoder(&context.project, card.fixture);
    let root = places.remove(0);
    let job = |mut download: totune_fetch::Download| {
        if let (Source::Hub { path, .. }, None) = (&download.source, &download.sha256) {
            // For weights in one file the card has the hash.
            let format = Format::ALL
                .into_iter()
                .find(|format| format.file_name() == path.as_str());
            download.sha256 = format
                .and_then(|format| card.sha256.get(&format).cloned())
                .and_then(|sha256| Sha256::try_from(sha256).ok());
        }
        Job {
            download,
            root: root.clone(),
            cache: root.clone(),
            folders: card
                .folders
                .iter()
                .map(|folder| root.join(folder))
                .collect(),
            known: BTreeMap::new(),
        }
    };
    Wanted {
        name: card.name.clone(),
        instructions: card.instructions.trim().to_string(),
        jobs: card
            .fetch
            .iter()
            .flat_map(Fetch::downloads)
            .map(job)
            .collect(),
        otherwise: card
            .locate(std::slice::from_ref(&root))
            .map(|folder| vec![folder])
            .filter(|_| card.fetch.is_empty()),
    }
}
