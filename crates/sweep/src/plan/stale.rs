//! Detection of stale runs: comparison of what a run has read with what it would read now, in data, weights and cards.
//!
//! A run whose sources have changed is stale. It stays in the store, and the plan replaces it by another one, whose id
//! follows from the spec and the changes. Where all sources are restored, the first run counts again.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;
use totune_data::{Catalogue, Tokenizer};
use totune_model::{Architecture, EncoderCard, EncoderCatalogue, TokenizerKind};

use super::hashes::HashCache;
use crate::spec::{Sources, one_hash};
use crate::store::ended_runs::{DATASET, EndedRun, TOKENIZER, WEIGHTS};
use crate::{Places, Project, RunSpec, Stale};

const METRICS: &str = "metrics";
const ARCHITECTURE: &str = "architecture";
const TEXTS: &str = "texts";

/// The present state of all sources, each read at its first use.
pub(crate) struct CurrentSources<'a> {
    places: Places<'a>,
    datasets: OnceCell<Catalogue>,
    encoders: OnceCell<EncoderCatalogue>,
    hashes: HashCache,
    /// Sources by what they follow from.
    found: RefCell<HashMap<Read, Option<String>>>,
}

/// Everything that the present value of a source follows from: its key, its earlier value, dataset and encoder; splits; texts.
type Read = ([String; 4], Vec<String>, Vec<String>);

impl<'a> CurrentSources<'a> {
    pub fn new(places: Places<'a>) -> Self {
        Self {
            places,
            datasets: OnceCell::new(),
            encoders: OnceCell::new(),
            hashes: HashCache::open(places.roots.cache.as_deref()),
            found: RefCell::default(),
        }
    }

    /// Returns the replacement's id if the stored run with the id of `run` is stale. Sources that are missing on this
    /// machine or were not recorded by the run cannot be compared and count as unchanged.
    pub fn changed(&self, run: &RunSpec, ended: &EndedRun) -> Result<Option<(String, Stale)>> {
        let id = run.id();
        let mut changed = Sources::new();
        for (key, was) in &ended.sources {
            let now = self.now_once(run, key, was)?;
            if let Some(now) = now.filter(|now| now != was) {
                changed.insert(key.clone(), now);
            }
        }
        if changed.is_empty() {
            return Ok(None);
        }
        let why: Vec<String> = changed.keys().map(|key| why(run, key)).collect();
        let stale = Stale {
            run: id,
            why: why.join(", "),
        };
        Ok(Some((run.id_with(&changed), stale)))
    }

    /// The present value of a source, which is looked up once for all runs that read the same; `None` where it is not
    /// known.
    fn now_once(&self, run: &RunSpec, key: &str, was: &str) -> Result<Option<String>> {
        let read = (
            [key, was, &run.dataset, run.encoder().unwrap_or_default()].map(str::to_owned),
            run.split.splits().into_iter().map(str::to_owned).collect(),
            run.texts().to_vec(),
        );
        if let Some(now) = self.found.borrow().get(&read) {
            return Ok(now.clone());
        }
        let now = self.now(run, key, was)?;
        self.found.borrow_mut().insert(read, now.clone());
        Ok(now)
    }

    /// The present value of a source; `None` where it is not known.
    fn now(&self, run: &RunSpec, key: &str, was: &str) -> Result<Option<String>> {
        let encoder = run.encoder().map(|name| self.encoders()?.find(name));
        let encoder = encoder.transpose()?;
        Ok(match (key, encoder) {
            (DATASET, _) => self.dataset(run)?,
            (WEIGHTS, Some(card)) => self.weights(card, was)?,
            (TOKENIZER, Some(card)) => self.tokenizer(card)?,
            (ARCHITECTURE, Some(card)) => {
                // The JSON of an earlier program may lack settings that have a default today.
                let same = serde_json::from_str::<Architecture>(was)
                    .is_ok_and(|architecture| architecture == card.architecture);
                Some(if same {
                    was.to_string()
                } else {
                    json!(card.architecture).to_string()
                })
            }
            _ => cards(self.places.project, self.datasets()?, encoder, run)?.remove(key),
        })
    }

    fn dataset(&self, run: &RunSpec) -> Result<Option<String>> {
        let root = &self.places.roots.data;
        let card = self.datasets()?.find(&run.dataset)?;
        let splits = run.split.splits();
        if card.missing(root, &splits).is_some() {
            return Ok(None);
        }
        let hash = |split: &&str| {
            let how = format!("{split} {card:?}");
            let read = || Ok(card.load_split(root, split)?.hash);
            self.hashes.hash(&how, &card.files(root, split), read)
        };
        let hashes = splits.iter().map(hash).collect::<Result<Vec<_>>>()?;
        Ok(Some(one_hash(&hashes)))
    }

    fn weights(&self, card: &EncoderCard, was: &str) -> Result<Option<String>> {
        // A checkpoint may circulate in several formats, each with a hash of its own.
        if card.untrained || card.sha256.values().any(|pinned| pinned == was) {
            return Ok(Some(was.to_string()));
        }
        if let Some(pinned) = card.sha256.values().next() {
            return Ok(Some(pinned.clone()));
        }
        let roots = self.roots_of(card);
        let Some(dir) = card.locate(&roots) else {
            return Ok(None);
        };
        let read = || Ok(card.hash(&roots)?.unwrap_or_default());
        let how = format!("weights {:?}", card.formats);
        self.hashes.hash(&how, &files_in(&dir), read).map(Some)
    }

    fn tokenizer(&self, card: &EncoderCard) -> Result<Option<String>> {
        let folder = card.locate(&self.roots_of(card));
        let is_of_file = card.architecture.tokenizer() != TokenizerKind::Characters;
        let Some(folder) = folder.filter(|_| is_of_file) else {
            return Ok(None);
        };
        let (lowercase, prefix) = (card.vocabulary.lowercase, &card.vocabulary.prefix);
        let files = ["tokenizer.json", "vocab.txt"].map(|name| folder.join(name));
        let open = || Ok(Tokenizer::open(&folder, lowercase)?.with_prefix(prefix));
        let read = || open().map(|tokenizer| tokenizer.hash().to_string());
        let how = format!("tokenizer {lowercase}{prefix}");
        self.hashes.hash(&how, &files, read).map(Some)
    }

    fn roots_of(&self, card: &EncoderCard) -> Vec<PathBuf> {
        let Places { project, roots, .. } = self.places;
        roots.of_encoder(project, card.fixture)
    }

    pub fn datasets(&self) -> Result<&Catalogue> {
        once(&self.datasets, || self.places.project.datasets())
    }

    fn encoders(&self) -> Result<&EncoderCatalogue> {
        once(&self.encoders, || self.places.project.encoders())
    }
}

/// Facts from the cards that affect a run's scores and are in no hash of its row: the metrics, the network, and the
/// texts.
pub(crate) fn cards(
    project: &Project,
    datasets: &Catalogue,
    encoder: Option<&EncoderCard>,
    run: &RunSpec,
) -> Result<Sources> {
    let dataset = datasets.find(&run.dataset)?;
    let scores = json!({ "metrics": dataset.metrics, "positive": dataset.positive });
    let mut facts = Sources::from([(METRICS.to_string(), scores.to_string())]);
    if let Some(card) = encoder {
        let architecture = json!(card.architecture).to_string();
        facts.insert(ARCHITECTURE.to_string(), architecture);
    }
    if !run.texts().is_empty() {
        let known = project.texts()?;
        let mut files = Vec::new();
        for name in run.texts() {
            let of_text = known.find(name)?.files.iter();
            files.extend(of_text.map(|file| json!([file.path, file.sha256])));
        }
        facts.insert(TEXTS.to_string(), json!(files).to_string());
    }
    Ok(facts)
}

/// Display text of the change.
fn why(run: &RunSpec, key: &str) -> String {
    let (dataset, encoder) = (&run.dataset, run.encoder().unwrap_or_default());
    match key {
        DATASET => format!("dataset `{dataset}` has changed"),
        METRICS => format!("the card of `{dataset}` names other metrics"),
        WEIGHTS => format!("encoder `{encoder}` has other weights"),
        TOKENIZER => format!("encoder `{encoder}` has another tokenizer"),
        ARCHITECTURE => format!("the card of `{encoder}` describes another network"),
        _ => format!("text `{}` has changed", run.texts().join("` or `")),
    }
}

fn once<T>(cell: &OnceCell<T>, read: impl FnOnce() -> Result<T>) -> Result<&T> {
    if cell.get().is_none() {
        let _ = cell.set(read()?);
    }
    Ok(cell.get().expect("it was just read"))
}

/// The files of a folder, sorted.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}
