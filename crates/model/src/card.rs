//! Encoder cards: `encoders/<name>.toml` says what a checkpoint is, where it is found, and how to read it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use serde::Deserialize;

use crate::{Bert, BertConfig, Checkpoint};

/// One pretrained checkpoint, as described by its card.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EncoderCard {
    /// Name in experiment files; the card's file name without `.toml`.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// A committed fixture: found below the project's `fixtures/encoders`, and labelled wherever it is shown.
    #[serde(default)]
    pub fixture: bool,
    /// Folder names to look for below the encoder root, such as `bert-base-uncased` or
    /// `models--google-bert--bert-base-uncased` (a Hugging Face cache).
    pub folders: Vec<String>,
    /// File with the weights, in that folder.
    pub weights: String,
    /// SHA-256 of that file; checked when it is loaded. Not set where published copies differ.
    pub sha256: Option<String>,
    /// Parameters of the encoder, asserted when it is loaded.
    pub parameters: u64,
    /// Tensors in the file that are not part of the encoder: names, or prefixes ending in a point.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// The vocabulary.
    pub vocabulary: Vocabulary,
    /// The shape of the network.
    pub architecture: BertConfig,
    /// Licence of the weights.
    pub licence: String,
    /// Where the checkpoint is described.
    pub homepage: String,
    /// How to get it by hand.
    pub instructions: String,
    /// Where its files can be fetched; nothing where they are not to be had without a person.
    #[serde(default)]
    pub fetch: Vec<totune_fetch::Fetch>,
    /// What a reader of results should know about this checkpoint.
    #[serde(default)]
    pub note: Option<String>,
}

/// What a card says about the vocabulary.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Vocabulary {
    /// Whether text is lower-cased and stripped of accents before it is cut into pieces.
    pub lowercase: bool,
}

/// An encoder on a device, and which bytes it was made of.
#[derive(Debug)]
pub struct LoadedEncoder {
    /// The network.
    pub encoder: Bert,
    /// SHA-256 of the file with the weights.
    pub checkpoint_hash: String,
    /// The folder it was loaded from; the tokenizer lies in it too.
    pub dir: PathBuf,
}

impl EncoderCard {
    /// Reads and checks one card.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("{}: cannot be read", path.display()))?;
        let card: Self =
            toml::from_str(&text).with_context(|| format!("{}: not a card", path.display()))?;
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        ensure!(
            stem == Some(card.name.as_str()),
            "{}: name: found `{}`, expected the name of the file",
            path.display(),
            card.name
        );
        Ok(card)
    }

    /// The folder with the checkpoint below one of `roots`, if it is there.
    pub fn locate(&self, roots: &[PathBuf]) -> Option<PathBuf> {
        let below = |root: &PathBuf| {
            let folders = self.folders.iter().map(|folder| root.join(folder));
            folders.flat_map(with_snapshots).collect::<Vec<_>>()
        };
        roots
            .iter()
            .flat_map(below)
            .find(|dir| dir.join(&self.weights).is_file())
    }

    /// What is missing, where to get it and where to put it; none when all is there.
    pub fn missing(&self, roots: &[PathBuf]) -> Option<String> {
        if self.locate(roots).is_some() {
            return None;
        }
        let places: Vec<String> = roots
            .iter()
            .map(|root| root.display().to_string())
            .collect();
        let fetch = match self.fetch.is_empty() {
            true => String::new(),
            false => format!("`totune encoders fetch {}`, or ", self.name),
        };
        Some(format!(
            "encoder `{}` ({}): no `{}/{}` below {}\n  get it: {fetch}{}",
            self.name,
            self.title,
            self.folders.join("` or `"),
            self.weights,
            places.join(" or "),
            self.instructions.trim()
        ))
    }

    /// Loads the checkpoint onto `device`.
    ///
    /// # Errors
    /// When it is not there, its hash is not the card's, or a tensor is missing, unexpected or of another shape.
    pub fn load(&self, roots: &[PathBuf], device: &Device) -> Result<LoadedEncoder> {
        let Some(dir) = self.locate(roots) else {
            bail!(self.missing(roots).unwrap_or_default());
        };
        let path = dir.join(&self.weights);
        let mut checkpoint = Checkpoint::open(&path, "bert.")?;
        let checkpoint_hash = checkpoint.hash();
        if let Some(expected) = &self.sha256 {
            ensure!(
                &checkpoint_hash == expected,
                "{}: sha-256 is {checkpoint_hash}, but the card `{}` expects {expected}",
                path.display(),
                self.name
            );
        }
        let encoder = self.architecture.load(&mut checkpoint, device)?;
        checkpoint.finish(&self.ignore)?;
        let parameters = burn::module::Module::num_params(&encoder) as u64;
        ensure!(
            parameters == self.parameters,
            "{}: {parameters} parameters, but the card `{}` expects {}",
            path.display(),
            self.name,
            self.parameters
        );
        Ok(LoadedEncoder {
            encoder,
            checkpoint_hash,
            dir,
        })
    }
}

/// A folder itself, and the snapshots in it if it is one of a Hugging Face cache.
fn with_snapshots(folder: PathBuf) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(folder.join("snapshots"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    folders.sort();
    folders.insert(0, folder);
    folders
}

/// All cards of a folder.
#[derive(Debug)]
pub struct EncoderCatalogue {
    cards: BTreeMap<String, EncoderCard>,
}

impl EncoderCatalogue {
    /// Reads every `*.toml` of `dir`.
    pub fn read(dir: &Path) -> Result<Self> {
        let entries =
            fs::read_dir(dir).with_context(|| format!("{}: cannot be read", dir.display()))?;
        let mut cards = BTreeMap::new();
        for entry in entries {
            let path = entry
                .with_context(|| format!("{}: cannot be read", dir.display()))?
                .path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let card = EncoderCard::read(&path)?;
                cards.insert(card.name.clone(), card);
            }
        }
        Ok(Self { cards })
    }

    /// The card called `name`.
    ///
    /// # Errors
    /// When there is none; the message lists what exists, the nearest first.
    pub fn find(&self, name: &str) -> Result<&EncoderCard> {
        self.cards.get(name).with_context(|| {
            let mut names = self.names();
            names.sort_by_key(|other| strsim::levenshtein(name, other));
            format!("unknown encoder `{name}`; there are {}", names.join(", "))
        })
    }

    /// Names of all cards, in order.
    pub fn names(&self) -> Vec<&str> {
        self.cards.keys().map(String::as_str).collect()
    }
}
