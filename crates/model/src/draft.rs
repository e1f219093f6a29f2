//! A card for a checkpoint that has none, from the files next to its weights.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Serialize;
use totune_checkpoint::{Format, Naming, Published};

use crate::sentence::Sentences;
use crate::{Architecture, Described, PoolerKind, SentenceVector};

/// A checkpoint that fits the description next to it, with the facts of a card.
#[derive(Debug)]
pub struct CardDraft {
    /// The network.
    pub architecture: Architecture,
    /// Name of the file that describes it.
    by: String,
    format: Format,
    hash: String,
    /// Tensors in the file that are not part of the encoder.
    ignore: BTreeSet<String>,
    sentences: Sentences,
}

/// The part of a card that TOML writes.
#[derive(Serialize)]
struct Tables<'a> {
    architecture: &'a Architecture,
}

impl CardDraft {
    /// Reads the description next to the weights in `file` and compares both.
    ///
    /// # Errors
    /// When there is no description, it is of a network that is not known here, or the tensors in `file` are others.
    pub fn new(file: &Path) -> Result<Self> {
        let mut described = Described::beside(file)?;
        let weights = Published::open(file, described.architecture.naming())?;
        // A `config.json` does not say whether there is a pooler: taggers, for one, are saved without.
        if weights.shape("pooler.dense.weight").is_none() {
            match &mut described.architecture {
                Architecture::Bert(config) => config.pooler = PoolerKind::None,
                Architecture::Albert(config) => config.pooler = PoolerKind::None,
                _ => {}
            }
        }
        let check = described.check(file)?;
        let lines = check.lines();
        ensure!(
            lines.is_empty(),
            "{}: found other tensors than {} describes\n  {}",
            file.display(),
            described.by,
            lines.join("\n  ")
        );
        let Described { architecture, by } = described;
        let network = architecture.tensors();
        let scope = |name: &str| name.split_once('.').map(|(scope, _)| format!("{scope}."));
        let scopes: BTreeSet<_> = network.iter().map(|(name, _)| scope(name)).collect();
        let names: BTreeSet<&str> = network.iter().map(|(name, _)| name.as_str()).collect();
        let outside = weights.tensors().map(|(name, _)| name);
        let outside = outside.filter(|name| !names.contains(name));
        let ignore = outside.map(|name| match scope(name) {
            found if scopes.contains(&found) => name.to_string(),
            found => found.unwrap_or_else(|| name.to_string()),
        });
        Ok(Self {
            ignore: ignore.collect(),
            architecture,
            by,
            format: check.format,
            hash: check.hash,
            sentences: Sentences::of_folder(file.parent().unwrap_or(Path::new(".")))?,
        })
    }

    /// The text of the card of the encoder `name`, whose files are in `folder` below an encoder root.
    ///
    /// # Errors
    /// When the network cannot be written as TOML.
    pub fn text(&self, name: &str, folder: &str, lowercase: bool) -> Result<String> {
        let quoted = |text: &str| toml::Value::String(text.to_string()).to_string();
        let ignore: Vec<String> = self.ignore.iter().map(|name| quoted(name)).collect();
        let ignore = match &ignore[..] {
            [] => String::new(),
            names => format!(
                "ignore   = [{}]   # not part of the encoder\n",
                names.join(", ")
            ),
        };
        let vector = match self.sentences.vector {
            Some(SentenceVector::Mean) => "sentence-vector = \"mean\"\n",
            Some(SentenceVector::First) => "sentence-vector = \"first\"\n",
            None => "",
        };
        let prefix = match &*self.sentences.prefix {
            "" => String::new(),
            prefix => format!("prefix = {}\n", quoted(prefix)),
        };
        let pooler = match self.architecture.naming() {
            Naming::Elmo => "",
            _ if self.architecture.pooler() == PoolerKind::Tanh => "",
            _ => "note     = \"It has no pooler: choose another pooling.\"\n",
        };
        let tables = toml::to_string(&Tables {
            architecture: &self.architecture,
        })?;
        let tables = tables.replacen(
            "[architecture]",
            &format!("[architecture]   # its {}", self.by),
            1,
        );
        let (name, folder) = (quoted(name), quoted(folder));
        let (format, hash, n) = (self.format, &self.hash, self.architecture.parameters());
        Ok(format!(
            "name     = {name}\n\
             title    = {name}\n\
             folders  = [{folder}]\n\
             sha256   = {{ {format} = \"{hash}\" }}\n\
             parameters = {n}\n\
             {ignore}{vector}\
             licence  = \"unknown\"\n\
             # trained-on = [\"…\"]   # datasets of yours that are part of its training data: pages flag their scores\n\
             homepage = \"\"\n\
             instructions = \"\"\n\
             {pooler}\n\
             [vocabulary]\n\
             lowercase = {lowercase}\n\
             {prefix}\n\
             {tables}"
        ))
    }
}
