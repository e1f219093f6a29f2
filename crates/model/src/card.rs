//! Encoder cards: `encoders/<name>.toml` describes a checkpoint, its location and its format.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use burn::tensor::Device;
use serde::Deserialize;
use totune_checkpoint::{Checkpoint, ElmoOptions, Format, Published};
use totune_toml::{CardFile, Cards, read_toml};

use crate::{AnyEncoder, Architecture, CardCheck, TokenizerKind};

/// One pretrained checkpoint, as described by its card.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EncoderCard {
    /// Name in experiment files; the card's file name without `.toml`.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Marks a committed fixture: found below the project's `fixtures/encoders`, and labelled wherever it is shown.
    #[serde(default)]
    pub fixture: bool,
    /// Names of folders to look for below the encoder root, such as `bert-base-uncased` or
    /// `models--google-bert--bert-base-uncased` (a Hugging Face cache).
    pub folders: Vec<String>,
    /// Formats that are looked for in that folder, in this order; all when not set.
    #[serde(default = "all_formats")]
    pub formats: Vec<Format>,
    /// Hash of the weights in each format, as [`Checkpoint::hash`] defines it; checked when they are loaded. Not set
    /// where published copies differ.
    #[serde(default)]
    pub sha256: BTreeMap<Format, String>,
    /// Number of parameters of the encoder, asserted when it is loaded.
    pub parameters: u64,
    /// Tensors in the file that are not part of the encoder: names, or prefixes ending in a point.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// The vocabulary.
    pub vocabulary: Vocabulary,
    /// The vector of a text that a sentence encoder was trained on, which frozen features then are; only for those.
    #[serde(default)]
    pub sentence_vector: Option<SentenceVector>,
    /// The network and its shape.
    pub architecture: Architecture,
    /// Licence of the weights.
    pub licence: String,
    /// Web page that describes the checkpoint.
    pub homepage: String,
    /// Instructions for a manual download.
    pub instructions: String,
    /// Downloads of its files; empty where they cannot be fetched automatically.
    #[serde(default)]
    pub fetch: Vec<totune_fetch::Fetch>,
    /// Remark on this checkpoint for readers of results.
    #[serde(default)]
    pub note: Option<String>,
    /// Training data: names of datasets and texts that have cards here, and other data in words. A dataset that is part
    /// of the data, or contains part of it, is listed by its own name.
    #[serde(default)]
    pub trained_on: Vec<String>,
    /// Datasets that took texts from the same source as a part of the training data, by that part's entry in
    /// `trained_on`: the texts were seen, their labels were not.
    #[serde(default)]
    pub shares_texts: BTreeMap<String, Vec<String>>,
    /// Marks an untrained control: random weights, with the shape and the vocabulary of the checkpoint.
    #[serde(skip)]
    pub untrained: bool,
}

/// Suffix of an encoder's name that selects its untrained control: `bert-base-uncased@random`.
const RANDOM: &str = "@random";
/// The seed of all random weights.
const RANDOM_SEED: u64 = 1;

fn all_formats() -> Vec<Format> {
    Format::ALL.to_vec()
}

/// Vector of a text by a sentence encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SentenceVector {
    /// The mean over the tokens of the top layer.
    Mean,
    /// The first token of the top layer.
    First,
}

/// Vocabulary settings of a card.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Vocabulary {
    /// Lower-casing and stripping of accents before tokenization.
    pub lowercase: bool,
    /// Put before each text, as in the training of the checkpoint: `query: ` for E5. Words to be tagged do not get it.
    #[serde(default)]
    pub prefix: String,
}

/// An encoder on a device, and the files that it was loaded from.
#[derive(Debug)]
pub struct LoadedEncoder {
    /// The network.
    pub encoder: AnyEncoder,
    /// Hash of the weights: of a single file its SHA-256.
    pub checkpoint_hash: String,
    /// Folder that it was loaded from; it also holds the tokenizer.
    pub dir: PathBuf,
}

impl EncoderCard {
    /// Reads and checks one card.
    pub fn read(path: &Path) -> Result<Self> {
        let card: Self = read_toml(path)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        ensure!(
            stem == Some(card.name.as_str()),
            "{}: name: found `{}`, expected the name of the file",
            path.display(),
            card.name
        );
        ensure!(
            !card.vocabulary.lowercase || card.architecture.tokenizer() == TokenizerKind::Wordpiece,
            "{}: vocabulary.lowercase: found true, expected false: a {} is not lower-cased",
            path.display(),
            card.architecture
        );
        ensure!(
            card.vocabulary.prefix.is_empty()
                || card.architecture.tokenizer() != TokenizerKind::Characters,
            "{}: vocabulary.prefix: found `{}`, expected none: `{}` reads words by their characters",
            path.display(),
            card.vocabulary.prefix,
            card.architecture
        );
        for source in card.shares_texts.keys() {
            ensure!(
                card.trained_on.contains(source),
                "{}: shares-texts: found `{source}`, expected an entry of `trained-on`",
                path.display()
            );
        }
        Ok(card)
    }

    /// Returns the card of the untrained control, which shows the value of pre-training: the same network with the
    /// initial weights of its pre-training.
    pub fn untrained(&self) -> Self {
        Self {
            name: format!("{}{RANDOM}", self.name),
            title: format!("{}, random weights", self.title),
            note: Some("Its weights are random, as before any pre-training.".to_string()),
            sha256: BTreeMap::new(),
            fetch: Vec::new(),
            trained_on: Vec::new(),
            shares_texts: BTreeMap::new(),
            untrained: true,
            ..self.clone()
        }
    }

    /// Returns the folder with the checkpoint below one of `roots`, if it exists.
    pub fn locate(&self, roots: &[PathBuf]) -> Option<PathBuf> {
        self.find(roots).ok()?.map(|(dir, _, _)| dir)
    }

    /// Returns the folder with the checkpoint below one of `roots`, its format, and the file to open.
    ///
    /// # Errors
    /// When two files of a folder match.
    pub fn find(&self, roots: &[PathBuf]) -> Result<Option<(PathBuf, Format, PathBuf)>> {
        let below = |root: &PathBuf| {
            let folders = self.folders.iter().map(|folder| root.join(folder));
            folders.flat_map(with_snapshots).collect::<Vec<_>>()
        };
        for dir in roots.iter().flat_map(below).filter(|dir| dir.is_dir()) {
            if let Some((format, file)) = totune_checkpoint::find(&dir, &self.formats)? {
                return Ok(Some((dir, format, file)));
            }
        }
        Ok(None)
    }

    /// The hash that identifies the weights below one of `roots`, without loading them; none where they are not there.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn hash(&self, roots: &[PathBuf]) -> Result<Option<String>> {
        let found = self.find(roots)?;
        let hash = |(_, _, file): (_, _, PathBuf)| Ok(Checkpoint::open(&file)?.hash());
        found.map(hash).transpose()
    }

    /// Returns a message that says which files are missing, where to get them and where to put them; none if all exist.
    pub fn missing(&self, roots: &[PathBuf]) -> Option<String> {
        let ambiguous = match self.find(roots) {
            Ok(Some(_)) => return None,
            Ok(None) => String::new(),
            Err(error) => format!("; {error:#}"),
        };
        let places: Vec<String> = roots
            .iter()
            .map(|root| root.display().to_string())
            .collect();
        let fetch = if self.fetch.is_empty() {
            String::new()
        } else {
            format!("`totune encoders fetch {}`, or ", self.name)
        };
        let names: Vec<&str> = self
            .formats
            .iter()
            .map(|format| format.file_name())
            .collect();
        Some(format!(
            "encoder `{}` ({}): no folder `{}` with `{}` below {}{ambiguous}\n  get it: {fetch}{}",
            self.name,
            self.title,
            self.folders.join("` or `"),
            names.join("` or `"),
            places.join(" or "),
            self.instructions.trim()
        ))
    }

    /// Loads the checkpoint onto `device`.
    ///
    /// # Errors
    /// When it does not exist, its hash is not the card's, or a tensor is missing, unexpected or of another shape.
    pub fn load(&self, roots: &[PathBuf], device: &Device) -> Result<LoadedEncoder> {
        let Some((dir, format, file)) = self.find(roots)? else {
            bail!(self.missing(roots).unwrap_or_default());
        };
        if self.untrained {
            let mut initial = self.architecture.initial(RANDOM_SEED);
            return Ok(LoadedEncoder {
                encoder: self.architecture.load(&mut *initial, device)?,
                checkpoint_hash: format!("random weights of seed {RANDOM_SEED}"),
                dir,
            });
        }
        let (checkpoint, checkpoint_hash) = self.open(format, &file)?;
        let mut weights = Published::new(checkpoint, self.architecture.naming())?;
        let encoder = self.architecture.load(&mut weights, device)?;
        weights.finish(&self.ignore)?;
        let parameters = burn::module::Module::num_params(&encoder) as u64;
        ensure!(
            parameters == self.parameters,
            "{}: {parameters} parameters, but the card `{}` expects {}",
            file.display(),
            self.name,
            self.parameters
        );
        Ok(LoadedEncoder {
            encoder,
            checkpoint_hash,
            dir,
        })
    }

    /// Opens the checkpoint `file`; with its hash.
    ///
    /// # Errors
    /// When it cannot be read, or its hash is not the card's.
    pub fn open(&self, format: Format, file: &Path) -> Result<(Checkpoint, String)> {
        let checkpoint = Checkpoint::open(file)?;
        let hash = checkpoint.hash();
        if let Some(expected) = self.sha256.get(&format) {
            ensure!(
                &hash == expected,
                "{}: sha-256 is {hash}, but the card `{}` expects {expected}",
                file.display(),
                self.name
            );
        }
        Ok((checkpoint, hash))
    }

    /// Compares the checkpoint `file` with the card, without loading it: hash, names, shapes and counts.
    ///
    /// # Errors
    /// When the file cannot be read. Differences are part of the result, not errors.
    pub fn check(&self, file: &Path) -> Result<CardCheck> {
        let mut check = CardCheck::new(file, &self.architecture, |_| self.ignore.clone())?;
        check.expected_hash = self.sha256.get(&check.format).cloned();
        check.expected_parameters = Some(self.parameters);
        if let Architecture::Elmo(expected) = &self.architecture
            && let Some(path) = ElmoOptions::beside(file)
        {
            let found = ElmoOptions::read(&path)?;
            if found != *expected {
                check.other.push(format!(
                    "options     {} describes another network: {found:?}, expected {expected:?}",
                    path.display()
                ));
            }
        }
        Ok(check)
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
    // Of several snapshots, the one that the branch stands at.
    if let Ok(main) = fs::read_to_string(folder.join("refs/main")) {
        folders.sort_by_key(|snapshot| !snapshot.ends_with(main.trim()));
    }
    folders.insert(0, folder);
    folders
}

impl CardFile for EncoderCard {
    const KIND: &'static str = "encoder";
    const LIST: &'static str = "totune encoders list";

    fn read(path: &Path) -> Result<Self> {
        Self::read(path)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Cards of a folder, or of several.
#[derive(Debug)]
pub struct EncoderCatalogue {
    cards: Cards<EncoderCard>,
    /// The untrained control of each, in the same order.
    controls: Vec<EncoderCard>,
}

impl EncoderCatalogue {
    /// Reads every `*.toml` of `dir`.
    ///
    /// # Errors
    /// As [`Cards::read`].
    pub fn read(dir: &Path) -> Result<Self> {
        Self::read_all(&[dir.to_path_buf()])
    }

    /// Reads every `*.toml` of these folders, as [`Cards::read_all`] does.
    ///
    /// # Errors
    /// As [`Cards::read_all`].
    pub fn read_all(dirs: &[PathBuf]) -> Result<Self> {
        let cards = Cards::<EncoderCard>::read_all(dirs)?;
        let controls = cards.cards().iter().map(EncoderCard::untrained).collect();
        Ok(Self { cards, controls })
    }

    /// The name of each file that is not a valid card, with its error: path, line and key.
    pub fn broken(&self) -> impl Iterator<Item = (&str, &str)> {
        self.cards.broken()
    }

    /// The card called `name`, or the untrained control `<name>@random` of one.
    ///
    /// # Errors
    /// As [`Cards::find`].
    pub fn find(&self, name: &str) -> Result<&EncoderCard> {
        if let Some(control) = self.controls.iter().find(|card| card.name == name) {
            return Ok(control);
        }
        self.cards.find(name.strip_suffix(RANDOM).unwrap_or(name))
    }

    /// Names of all cards, in order; each also has a control with random weights, `<name>@random`.
    pub fn names(&self) -> Vec<&str> {
        self.cards.names()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_texts_are_those_of_an_entry_of_the_training_data() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../encoders");
        let text = fs::read_to_string(root.join("fixture-bert.toml")).expect("a card");
        let read = |lines: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("fixture-bert.toml");
            let text = text.replacen("licence", &format!("{lines}licence"), 1);
            fs::write(&path, text).expect("written");
            EncoderCard::read(&path)
        };
        let sharing = "shares-texts = { News = ['notes'] }\n";
        let card = read(&format!("trained-on = ['News']\n{sharing}")).expect("a card");
        assert_eq!(card.shares_texts["News"], ["notes"]);
        assert!(card.untrained().shares_texts.is_empty());
        let error = read(sharing).expect_err("an error").to_string();
        let expected = "shares-texts: found `News`, expected an entry of `trained-on`";
        assert!(error.ends_with(expected), "{error}");
    }
}
