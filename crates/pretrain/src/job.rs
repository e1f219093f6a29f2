//! Everything a run needs, made from its settings and the files they name.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::TensorData;
use serde_json::Value;
use totune_checkpoint::{Checkpoint as File, Naming, Published};
use totune_data::{Document, TextCatalogue, TextPart, Tokenizer, sha256_hex};
use totune_model::{
    Architecture, BertConfig, EncoderCatalogue, MaskedLmConfig, RandomWeights, Weights,
};
use totune_record::write_atomically;

use crate::checkpoint::{About, Folder};
use crate::settings::{Objective, Settings, Start};
use crate::{Corpus, MaskedLanguageModel, train_vocabulary};

/// Where the files of a run are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The folder with `datasets/` and `encoders/` in it.
    pub project: &'a Path,
    /// The folder that the paths of text cards begin in.
    pub data: &'a Path,
    /// Folders with pretrained encoders.
    pub encoders: &'a [std::path::PathBuf],
}

/// A run with its text and its vocabulary in memory.
#[derive(Debug)]
pub struct Job {
    /// What is trained, and how.
    pub settings: Settings,
    /// The same as its file has it.
    pub json: Value,
    /// The text.
    pub corpus: Corpus,
    /// The wordpieces, in the order of their ids.
    pub vocabulary: Vec<String>,
    /// Whether text is lower-cased.
    pub lowercase: bool,
    /// The shape of the encoder.
    pub encoder: BertConfig,
    /// The encoder that training begins with, where it is not a new one.
    start: Option<std::path::PathBuf>,
}

impl Job {
    /// Reads the text, and trains the vocabulary or takes it from `folder` or from the encoder that training begins with.
    ///
    /// # Errors
    /// When a card or file is missing or damaged, or the pieces do not fit together.
    pub fn prepare(
        settings: Settings,
        json: Value,
        places: Places,
        folder: &Folder,
    ) -> Result<Self> {
        let cards = TextCatalogue::read(&places.project.join("datasets/texts"))?;
        let mut texts = Vec::new();
        for name in &settings.texts {
            let card = cards.find(name)?;
            if let Some(missing) = card.missing(places.data) {
                bail!(missing);
            }
            let train = card.documents(places.data)?;
            let held_out = match card.files_of(TextPart::HeldOut).next().is_some() {
                true => card.held_out(places.data)?,
                false => Vec::new(),
            };
            texts.push((name.clone(), train, held_out));
        }
        let (tokenizer, lowercase, encoder, start) = match &settings.start {
            Start::New { vocabulary, bert } => {
                let path = folder.path.join("vocab.txt");
                if !path.is_file() {
                    let documents = texts.iter().flat_map(|(_, train, _)| train);
                    let documents: Vec<&Document> = documents.collect();
                    let pieces = train_vocabulary(&documents, vocabulary)?;
                    write_atomically(&path, (pieces.join("\n") + "\n").as_bytes())?;
                }
                let tokenizer = Tokenizer::from_vocabulary(&path, vocabulary.lowercase)?;
                let found = tokenizer.vocab_size();
                ensure!(
                    found == vocabulary.size,
                    "{}: found {found} wordpieces, but start.vocabulary.size is {}",
                    path.display(),
                    vocabulary.size
                );
                let encoder = bert.config(found, settings.dropout);
                (tokenizer, vocabulary.lowercase, encoder, None)
            }
            Start::Encoder { encoder } => {
                let catalogue = EncoderCatalogue::read(&places.project.join("encoders"))?;
                let card = catalogue.find(encoder)?;
                let Architecture::Bert(config) = &card.architecture else {
                    bail!(
                        "start.encoder: `{encoder}` is a {}, expected a BERT",
                        card.architecture
                    );
                };
                let Some((dir, _, file)) = card.find(places.encoders)? else {
                    bail!(card.missing(places.encoders).unwrap_or_default());
                };
                let lowercase = card.vocabulary.lowercase;
                let tokenizer = Tokenizer::open(&dir, lowercase)?;
                let longest = config.max_position_embeddings;
                for stage in &settings.stages {
                    ensure!(
                        stage.length <= longest,
                        "stage.length: found {}, but `{encoder}` reads at most {longest}",
                        stage.length
                    );
                }
                (tokenizer, lowercase, config.clone(), Some(file))
            }
        };
        let corpus = Corpus::new(texts, &tokenizer)?;
        let vocabulary = (0..tokenizer.vocab_size() as u32).map(|id| tokenizer.piece(id));
        Ok(Self {
            vocabulary: vocabulary.collect(),
            settings,
            json,
            corpus,
            lowercase,
            encoder,
            start,
        })
    }

    /// What the run learns.
    ///
    /// # Errors
    /// When the vocabulary does not fit the encoder, or there is too little text.
    pub fn objective(&self) -> Result<MaskedLanguageModel<'_>> {
        let Objective::MaskedLm(masking) = &self.settings.objective;
        let config = MaskedLmConfig::new(self.encoder.clone());
        MaskedLanguageModel::new(&self.corpus, config, masking.clone(), &self.settings)
    }

    /// The weights that training begins with.
    ///
    /// # Errors
    /// When the encoder it begins with cannot be read.
    pub fn start(&self, fresh: Box<dyn Weights>) -> Result<Box<dyn Weights>> {
        let Some(file) = &self.start else {
            return Ok(fresh);
        };
        let published = Published::new(File::open(file)?, Naming::Bert)
            .with_context(|| file.display().to_string())?;
        Ok(Box::new(Continued { published, fresh }))
    }

    /// What the first checkpoint of the run says.
    pub fn about(&self, commit: &str, device: &str) -> About {
        let ids = self.corpus.train.ids();
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        About {
            step: 0,
            settings: self.json.clone(),
            vocabulary: sha256_hex((self.vocabulary.join("\n") + "\n").as_bytes()),
            corpus: sha256_hex(&bytes),
            seconds: 0.0,
            commits: vec![commit.to_string()],
            devices: vec![device.to_string()],
        }
    }

    /// The loss of guessing among all wordpieces, in nats.
    pub fn guessing(&self) -> f64 {
        (self.vocabulary.len() as f64).ln()
    }

    /// Removes what is left of a run that is to begin anew.
    ///
    /// # Errors
    /// When the folder cannot be emptied.
    pub fn clear(folder: &Folder) -> Result<()> {
        fs::remove_dir_all(&folder.path)
            .with_context(|| format!("{}: cannot be removed", folder.path.display()))?;
        Folder::open(&folder.path).map(|_| ())
    }
}

/// The weights of a published BERT; the head of pre-training is fresh where the file has none.
struct Continued {
    published: Published,
    fresh: Box<dyn Weights>,
}

impl Weights for Continued {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let short = name.strip_prefix("bert.").unwrap_or(name);
        if short == name && self.published.shape(name).is_none() {
            return self.fresh.take(name, shape);
        }
        Weights::take(&mut self.published, short, shape)
    }
}

/// Fresh weights of a BERT, as its released code begins.
pub(crate) fn fresh(seed: u64) -> Box<dyn Weights> {
    /// `initializer_range`.
    const SD: f64 = 0.02;
    Box::new(RandomWeights::new(seed, SD))
}
