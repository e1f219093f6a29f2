//! Architecture of a checkpoint, read from the files next to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use totune_checkpoint::ElmoOptions;

use crate::{Architecture, CardCheck};

/// Architecture described by the files next to some weights.
#[derive(Debug, Clone)]
pub struct Described {
    /// The network.
    pub architecture: Architecture,
    /// Name of the file that describes it.
    pub by: String,
}

impl Described {
    /// Reads `config.json`, `bert_config.json` or ELMo's options next to the file `weights`.
    ///
    /// # Errors
    /// When there is none of them, or the network it describes is not known here.
    pub fn beside(weights: &Path) -> Result<Self> {
        for name in ["config.json", "bert_config.json"] {
            let path = weights.with_file_name(name);
            if path.is_file() {
                let architecture = read_config(&path)?;
                return Ok(Self {
                    architecture,
                    by: name.to_string(),
                });
            }
        }
        let path = ElmoOptions::beside(weights).with_context(|| {
            format!(
                "{}: neither `config.json` nor `bert_config.json` nor ELMo's `options.json` beside it, which would say \
                 what network it is",
                weights.display()
            )
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            by: name.into_owned(),
            architecture: Architecture::Elmo(ElmoOptions::read(&path)?),
        })
    }
}

impl Described {
    /// Compares the checkpoint `file` with the network. Tensors outside of it (the head of a task) are not counted as
    /// differences; unexpected tensors inside of it are.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn check(&self, file: &Path) -> Result<CardCheck> {
        let network = self.architecture.tensors();
        let scope = |name: &str| name.split('.').next().unwrap_or_default().to_string();
        let scopes: BTreeSet<String> = network.iter().map(|(name, _)| scope(name)).collect();
        CardCheck::new(file, &self.architecture, |weights| {
            let outside = weights
                .tensors()
                .filter(|(name, _)| !scopes.contains(&scope(name)))
                .map(|(name, _)| name.to_string());
            outside
                .chain(["embeddings.position_ids".to_string()]) // 0, 1, 2, …: no weights
                .collect()
        })
    }
}

/// A `config.json` as Google and Hugging Face write it.
fn read_config(path: &Path) -> Result<Architecture> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))?;
    let mut values: Value =
        serde_json::from_str(&text).with_context(|| format!("{shown}: not JSON"))?;
    let keys = values
        .as_object_mut()
        .with_context(|| format!("{shown}: not the description of a network"))?;
    let kind = keys.remove("model_type").unwrap_or_else(|| "bert".into()); // Google's files leave it out
    if let Some(epsilon) = default_epsilon(&kind) {
        keys.entry("layer_norm_eps")
            .or_insert_with(|| epsilon.into());
    }
    ensure!(
        kind != "elmo",
        "{shown}: model_type: found `elmo`, expected its `options.json` instead"
    );
    let known = Architecture::LABELS.iter().copied();
    let known: Vec<&str> = known.filter(|label| *label != "elmo").collect();
    ensure!(
        known.iter().any(|label| kind == *label),
        "{shown}: model_type: found {kind}, expected one of `{}`",
        known.join("`, `")
    );
    for (key, expected) in only_variants() {
        // The shape of an ALBERT says which activation it has.
        if let Some(found) = keys.get(key)
            && !(kind == "albert" && key == "hidden_act")
        {
            ensure!(
                *found == expected,
                "{shown}: {key}: found {found}, expected {expected}, the only variant of a network that is known here"
            );
        }
    }
    keys.insert("kind".to_string(), kind.clone());
    serde_json::from_value(values).with_context(|| format!("{shown}: not the shape of a {kind}"))
}

/// `layer_norm_eps` of a family where its `config.json` leaves it out, as in transformers; Google's files do, and their
/// code has that of BERT. `None` where the family has no such key.
fn default_epsilon(kind: &Value) -> Option<f64> {
    match kind.as_str()? {
        "deberta-v2" => Some(1e-7),
        "modernbert" | "distilbert" => None,
        _ => Some(1e-12),
    }
}

/// Keys by which the code of transformers chooses among variants of a network, and the variant that is known here.
fn only_variants() -> [(&'static str, Value); 5] {
    [
        ("hidden_act", "gelu".into()),
        ("activation", "gelu".into()), // DistilBERT's
        ("position_embedding_type", "absolute".into()),
        ("is_decoder", false.into()),
        ("add_cross_attention", false.into()),
    ]
}
