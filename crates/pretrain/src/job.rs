//! A pre-training job, made from its settings and the files they name.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use totune_data::sha256_hex;

use crate::checkpoint::{About, Checkpoint, Folder};
use crate::export::{self, Exported};
use crate::settings::{Initialisation, Objective, Settings};
use crate::text::{Places, Text, WordpieceText, Words, licences, read};
use crate::words::WordCorpus;

/// A run with its text in memory.
#[derive(Debug)]
pub struct Job {
    /// Settings of the run.
    pub settings: Settings,
    /// Settings as JSON, as in their file.
    pub json: Value,
    /// Text in the form that the objective reads.
    pub text: Text,
    /// Licences of the texts.
    licence: String,
}

impl Job {
    /// Reads the text, and trains the vocabulary or takes it from `folder` or from the initial encoder.
    ///
    /// # Errors
    /// When a card or file is missing or damaged, or the parts do not fit together.
    pub fn prepare(
        settings: Settings,
        json: Value,
        places: Places,
        folder: &Folder,
    ) -> Result<Self> {
        let texts = read(&settings, places)?;
        let licence = licences(&settings, places)?;
        let text = match (&settings.objective, &settings.start) {
            (Objective::MaskedLm(masking), Initialisation::Encoder { encoder }) => {
                WordpieceText::of_encoder(texts, &settings, masking, (encoder, places))
                    .map(Text::Wordpieces)
            }
            (Objective::MaskedLm(masking), Initialisation::New(new)) => {
                let shape = new.bert.as_ref().context("start.bert: missing")?;
                let vocabulary = &new.vocabulary;
                let mut pieces = WordpieceText::new(texts, masking, (vocabulary, shape), folder)?;
                let last = settings.stages.last().map(|stage| stage.length);
                pieces.positions = last.unwrap_or(pieces.positions);
                Ok(Text::Wordpieces(pieces))
            }
            (Objective::Bilm(sampling), Initialisation::New(new)) => {
                let longest = settings.stages.iter().map(|stage| stage.length).max();
                let longest = longest.unwrap_or(usize::MAX);
                let corpus = WordCorpus::new(texts, new.vocabulary.size, longest)?;
                Ok(Text::Words(Words {
                    corpus,
                    encoder: new.elmo.clone().context("start.elmo: missing")?,
                    samples: sampling.samples,
                }))
            }
            (Objective::Bilm(_), Initialisation::Encoder { .. }) => {
                bail!("start: `bilm` can only begin anew")
            }
        }?;
        Ok(Self {
            settings,
            json,
            text,
            licence,
        })
    }

    /// Metadata of the run's first checkpoint.
    pub fn about(&self, commit: &str, device: &str) -> About {
        let (vocabulary, corpus): (Vec<String>, Vec<u8>) = match &self.text {
            Text::Wordpieces(pieces) => {
                let ids = pieces.corpus.train.ids().iter();
                let bytes = ids.flat_map(|id| id.to_le_bytes()).collect();
                (pieces.vocabulary.clone(), bytes)
            }
            Text::Words(words) => {
                let ids = words.corpus.train.ids().iter();
                let bytes = ids.flat_map(|id| id.to_le_bytes()).collect();
                (words.corpus.vocabulary(), bytes)
            }
        };
        About {
            step: 0,
            settings: self.json.clone(),
            vocabulary: sha256_hex((vocabulary.join("\n") + "\n").as_bytes()),
            corpus: sha256_hex(&corpus),
            seconds: 0.0,
            commits: vec![commit.to_string()],
            devices: vec![device.to_string()],
            products: None,
        }
    }
}

impl Job {
    /// Returns the card of the encoder that was written to `folder`, for `encoders/<name>.toml`.
    pub fn card(&self, checkpoint: &Checkpoint, exported: &Exported, folder: &Path) -> String {
        let about = &checkpoint.about;
        let (vocabulary, architecture) = match &self.text {
            Text::Wordpieces(pieces) => (pieces.lowercase, export::bert_card(&pieces.exported())),
            Text::Words(words) => (false, export::elmo_card(&words.encoder)),
        };
        let folder = folder.file_name().unwrap_or_default().to_string_lossy();
        let folder = match folder.as_ref() {
            "encoder" => &self.settings.name,
            other => other,
        };
        let texts = self.settings.texts.join(", ");
        let before = match &self.text {
            Text::Wordpieces(pieces) => &pieces.before[..],
            Text::Words(_) => &[],
        };
        let trained_on = [before, &self.settings.texts].concat();
        format!(
            "# Pre-trained by `totune pretrain {name}` ({step} steps, commits {commits}, {devices}).\n\
             name     = {name:?}\n\
             title    = {title:?}\n\
             folders  = [{folder:?}]\n\
             sha256   = {{ safetensors = {sha256:?} }}\n\
             parameters = {parameters}\n\
             ignore   = [\"cls.\"]   # the head of pre-training\n\
             licence  = {licence:?}\n\
             trained-on = {trained_on:?}\n\
             homepage = \"experiments/pretraining/{name}.toml\"\n\
             instructions = \"it is part of the repository, or train it: totune pretrain {name}\"\n\
             note     = \"Trained for {step} steps on {texts}; results/pretraining/{name} has its losses and perplexities.\"\n\n\
             [vocabulary]\nlowercase = {vocabulary}\n\n{architecture}",
            name = self.settings.name,
            step = about.step,
            commits = about.commits.join(", "),
            devices = about.devices.join(", "),
            title = self.settings.title,
            licence = self.licence,
            sha256 = exported.sha256,
            parameters = exported.parameters,
        )
    }
}
