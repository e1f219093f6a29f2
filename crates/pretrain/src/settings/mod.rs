//! Settings of a pre-training run, as in `experiments/pretraining/<name>.toml`.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use totune_adapt::{Clip, Dtype, Optimizer, Schedule};
use totune_checkpoint::ElmoOptions;
use totune_model::{BertConfig, PoolerKind};
use totune_toml::{read_extended, read_extended_table};

/// Settings of a pre-training run: the encoder, its text, and its training.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// Name of the resulting encoder; also the name of the settings' file.
    pub name: String,
    /// Display name of that encoder.
    pub title: String,
    /// Seed of initial weights, the order of the text, masks and dropout.
    pub seed: u64,
    /// Cards in `datasets/texts/` whose text is trained on, and whose held-out parts are scored.
    pub texts: Vec<String>,
    /// Source of the initial weights.
    pub start: Initialisation,
    /// Pre-training objective.
    pub objective: Objective,
    /// Stages of the run, one after the other, each with its own length of sequences.
    #[serde(rename = "stage")]
    pub stages: Vec<Stage>,
    /// Peak learning rate.
    pub learning_rate: f64,
    /// Learning rate over all steps.
    pub schedule: Schedule,
    /// Optimiser and its settings.
    pub optimizer: Optimizer,
    /// Gradient clipping.
    pub clip: Clip,
    /// Dropout in the encoder; 0 where no text is seen often.
    pub dropout: f64,
    /// Dtype of the arithmetic.
    pub dtype: Dtype,
    /// Number of steps between two rows of the log.
    pub log_every: usize,
    /// Number of steps between two checkpoints.
    pub checkpoint_every: usize,
}

/// Source of the initial weights.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Initialisation {
    /// New weights, and a vocabulary made from the same text.
    New(New),
    /// A pretrained BERT and its vocabulary: continued pre-training (Gururangan et al. 2020).
    Encoder {
        /// Name of its card.
        encoder: String,
    },
}

impl Initialisation {
    /// Returns the shape of a new BERT.
    pub fn bert(&self) -> Option<&BertShape> {
        match self {
            Self::New(new) => new.bert.as_ref(),
            Self::Encoder { .. } => None,
        }
    }
}

/// A new encoder: one of `bert` and `elmo`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct New {
    /// Wordpieces of a BERT, or words that an ELMo predicts.
    pub vocabulary: VocabularySettings,
    /// The shape of a BERT.
    #[serde(default)]
    pub bert: Option<BertShape>,
    /// The shape of an ELMo, as its `options.json` has it.
    #[serde(default)]
    pub elmo: Option<ElmoOptions>,
}

/// The words or wordpieces of a new vocabulary.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VocabularySettings {
    /// Number of words or wordpieces, special tokens included.
    pub size: usize,
    /// Lower-casing and stripping of accents; never for an ELMo, which reads the case of each character.
    pub lowercase: bool,
}

/// The shape of a new BERT.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BertShape {
    /// Transformer layers.
    pub layers: usize,
    /// Width of the hidden states.
    pub hidden: usize,
    /// Attention heads.
    pub heads: usize,
    /// Width of the feed-forward layers.
    pub intermediate: usize,
    /// Longest sequence.
    pub positions: usize,
    /// Standard deviation that its matrices are initialised with; 0.02 is BERT's, for layers that are 768 wide.
    #[serde(default = "BertShape::initializer_range")]
    pub initializer_range: f64,
}

impl BertShape {
    /// Default `initializer_range`, that of the released BERT.
    pub(crate) fn initializer_range() -> f64 {
        0.02
    }

    /// Returns the configuration of such an encoder over `vocab` wordpieces, without a pooler: nothing trains one.
    ///
    /// Its dropout is the one BERT is fine-tuned with, whatever it is pre-trained with.
    pub fn config(&self, vocab: usize) -> BertConfig {
        let dropout = 0.1;
        BertConfig {
            vocab_size: vocab,
            hidden_size: self.hidden,
            num_hidden_layers: self.layers,
            num_attention_heads: self.heads,
            intermediate_size: self.intermediate,
            max_position_embeddings: self.positions,
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
            hidden_dropout_prob: dropout,
            attention_probs_dropout_prob: dropout,
            pooler: PoolerKind::None,
        }
    }
}

/// Pre-training objective.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Objective {
    /// Masked language modelling (Devlin et al. 2019, section 3.1). Masks are drawn anew for each sequence.
    MaskedLm(Masking),
    /// Bidirectional language modelling: each word is predicted from those before it and from those after it (Peters et
    /// al. 2018, section 3.1).
    Bilm(Sampling),
}

/// Sampling of a softmax over many words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sampling {
    /// Number of negative samples of a step, from the log-uniform distribution; both directions share them.
    pub samples: usize,
}

/// Selection and replacement of masked wordpieces.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Masking {
    /// Share of the wordpieces that are predicted.
    pub share: f64,
    /// Whole-word masking: all wordpieces of a word are predicted together.
    pub whole_words: bool,
    /// Share of the predicted wordpieces replaced by `[MASK]`.
    pub masked: f64,
    /// Share of the predicted wordpieces replaced by any wordpiece; the rest is left as it is.
    pub random: f64,
}

/// A stage of the run with sequences of one length.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stage {
    /// Number of wordpieces of a sequence, including `[CLS]` and `[SEP]`.
    pub length: usize,
    /// Number of sequences of a step.
    pub batch_size: usize,
    /// Number of wordpieces to train on, rounded up to whole steps.
    pub tokens: u64,
}

impl Stage {
    /// Number of wordpieces of one step.
    pub fn tokens_per_step(&self) -> u64 {
        (self.length * self.batch_size) as u64
    }

    /// Returns the stage that trains on the most wordpieces, the earliest of several: the encoder is scored at its
    /// length.
    ///
    /// # Panics
    /// When there is none, which [`Settings::read`] refuses.
    pub fn main(stages: &[Self]) -> &Self {
        let most = stages.iter().rev().max_by_key(|stage| stage.tokens);
        most.expect("settings have a stage")
    }

    /// Number of steps of the stage.
    pub fn steps(&self) -> usize {
        self.tokens.div_ceil(self.tokens_per_step()) as usize
    }

    fn check(&self, start: &Initialisation) -> Result<()> {
        let (length, batch_size, tokens) = (self.length, self.batch_size, self.tokens);
        ensure!(
            length >= 8,
            "stage.length: found {length}, expected 8 or more"
        );
        ensure!(
            batch_size > 0 && tokens > 0,
            "stage: found batch-size = {batch_size} and tokens = {tokens}, expected more than 0"
        );
        if let Some(BertShape { positions, .. }) = start.bert() {
            ensure!(
                length <= *positions,
                "stage.length: found {length}, but start.bert.positions is {positions}"
            );
        }
        Ok(())
    }
}

/// Keys that may change between a run and its resumption, because they do not affect training.
const FREE: [&str; 3] = ["title", "log-every", "checkpoint-every"];

impl Settings {
    /// Reads and checks the file `path`. The second value is the file as JSON, for checkpoints.
    ///
    /// # Errors
    /// When a key is unknown, missing or out of range: the message names file and key.
    pub fn read(path: &Path) -> Result<(Self, Value)> {
        let shown = path.display();
        let table = read_extended_table(path)?;
        let settings: Self = read_extended(path)?;
        settings.check().with_context(|| shown.to_string())?;
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        ensure!(
            stem == Some(&settings.name),
            "{shown}: name: found `{}`, expected `{}`, the name of the file",
            settings.name,
            stem.unwrap_or_default()
        );
        let json = serde_json::to_value(table).context("settings as JSON")?;
        Ok((settings, json))
    }

    fn check(&self) -> Result<()> {
        ensure!(
            !self.texts.is_empty(),
            "texts: found none, expected at least one"
        );
        ensure!(
            !self.stages.is_empty(),
            "stage: found none, expected at least one `[[stage]]`"
        );
        for stage in &self.stages {
            stage.check(&self.start)?;
        }
        for (key, every) in [
            ("log-every", self.log_every),
            ("checkpoint-every", self.checkpoint_every),
        ] {
            ensure!(every > 0, "{key}: found 0, expected 1 or more");
        }
        ensure!(
            self.learning_rate.is_finite() && self.learning_rate > 0.0,
            "learning-rate: found {}, expected more than 0",
            self.learning_rate
        );
        self.clip.validate()?;
        ensure!(
            (0.0..1.0).contains(&self.dropout),
            "dropout: found {}, expected from 0 to less than 1",
            self.dropout
        );
        self.schedule.validate()?;
        ensure!(
            !matches!(self.schedule, Schedule::Plateau(_)),
            "schedule: found `plateau`, which needs scores on dev; expected another"
        );
        self.optimizer.validate()?;
        self.check_start()
    }

    /// Refuses an objective that cannot train from the initial weights.
    fn check_start(&self) -> Result<()> {
        if let Some(range) = self.start.bert().map(|bert| bert.initializer_range) {
            ensure!(
                range.is_finite() && range > 0.0,
                "start.bert.initializer-range: found {range}, expected more than 0"
            );
        }
        match (&self.objective, &self.start) {
            (Objective::MaskedLm(masking), Initialisation::Encoder { .. }) => masking.check(),
            (Objective::MaskedLm(masking), Initialisation::New(new)) => {
                ensure!(
                    new.bert.is_some() && new.elmo.is_none(),
                    "start: found {}, expected `bert` alone, which `masked-lm` trains",
                    new.found()
                );
                masking.check()
            }
            (Objective::Bilm(_), Initialisation::New(new)) => {
                ensure!(
                    new.elmo.is_some() && new.bert.is_none(),
                    "start: found {}, expected `elmo` alone, which `bilm` trains",
                    new.found()
                );
                ensure!(
                    !new.vocabulary.lowercase,
                    "start.vocabulary.lowercase: found true, but an ELMo reads text as it is written"
                );
                Ok(())
            }
            (Objective::Bilm(_), Initialisation::Encoder { encoder }) => bail!(
                "start.encoder: found `{encoder}`, but `bilm` can only begin anew: published ELMos have no softmax to \
                 go on with"
            ),
        }
    }
}

impl New {
    fn found(&self) -> &str {
        match (&self.bert, &self.elmo) {
            (Some(_), Some(_)) => "`bert` and `elmo`",
            (Some(_), None) => "`bert`",
            (None, Some(_)) => "`elmo`",
            (None, None) => "neither `bert` nor `elmo`",
        }
    }
}

impl Masking {
    fn check(&self) -> Result<()> {
        ensure!(
            self.share > 0.0 && self.share < 1.0,
            "objective.share: found {}, expected more than 0 and less than 1",
            self.share
        );
        let parts = [self.masked, self.random];
        ensure!(
            parts.iter().all(|part| (0.0..=1.0).contains(part))
                && parts.iter().sum::<f64>() <= 1.0 + 1e-9,
            "objective.masked, objective.random: found {} and {}, expected shares that sum to at most 1",
            self.masked,
            self.random
        );
        Ok(())
    }
}

/// Refuses to resume a run whose settings were `before` with those of `now`, naming the first key that differs.
pub fn check_unchanged(before: &Value, now: &Value) -> Result<()> {
    if let Some((key, was, is)) = difference("", before, now) {
        bail!(
            "settings changed since the run began: `{key}` was {was}, found {is}; \
             put it back, or begin a new run under another name"
        );
    }
    Ok(())
}

/// Returns the first key whose values differ, with both.
fn difference(at: &str, before: &Value, now: &Value) -> Option<(String, String, String)> {
    if let (Value::Object(before), Value::Object(now)) = (before, now) {
        let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
        keys.sort();
        keys.dedup();
        return keys.into_iter().find_map(|key| {
            if at.is_empty() && FREE.contains(&key.as_str()) {
                return None;
            }
            let path = match at {
                "" => key.clone(),
                _ => format!("{at}.{key}"),
            };
            let none = Value::Null;
            let (a, b) = (
                before.get(key).unwrap_or(&none),
                now.get(key).unwrap_or(&none),
            );
            difference(&path, a, b)
        });
    }
    let shown = |value: &Value| match value {
        Value::Null => "not set".to_string(),
        value => value.to_string(),
    };
    (before != now).then(|| (at.to_string(), shown(before), shown(now)))
}

#[cfg(test)]
mod tests;
