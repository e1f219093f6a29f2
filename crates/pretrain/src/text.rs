//! The text of a run as its objective reads it: wordpieces for a BERT, words for an ELMo.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::TensorData;
use totune_checkpoint::{Checkpoint as File, ElmoOptions, Naming, Published};
use totune_data::{Document, TextCatalogue, TextPart, Tokenizer};
use totune_disk::write_atomically;
use totune_model::{
    Architecture, BertConfig, BilmConfig, EncoderCatalogue, MaskedLmConfig, Weights,
};

use crate::checkpoint::{Checkpoint, Folder};
use crate::export::{self, Exported};
use crate::settings::{BertShape, Masking, Settings, VocabularySettings};
use crate::words::WordCorpus;
use crate::{BidirectionalLanguageModel, Corpus, MaskedLanguageModel, train_vocabulary};

/// Folders in which the files of a run are searched.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Folders with `datasets/`, `encoders/` and `fixtures/` in them; the first that has a file counts.
    pub card_folders: &'a [PathBuf],
    /// Base folder of the paths in text cards.
    pub data: &'a Path,
    /// Folders with pretrained encoders.
    pub encoders: &'a [PathBuf],
}

/// Text as an objective reads it, and the shape of the encoder that is trained on it.
#[derive(Debug)]
pub enum Text {
    /// Wordpieces, for a BERT.
    Wordpieces(WordpieceText),
    /// Words, for an ELMo.
    Words(Words),
}

/// Text and encoder shape of masked language modelling.
#[derive(Debug)]
pub struct WordpieceText {
    /// The text.
    pub corpus: Corpus,
    /// The wordpieces, in the order of their ids.
    pub vocabulary: Vec<String>,
    /// Lower-casing of the text.
    pub lowercase: bool,
    /// The shape of the encoder.
    pub encoder: BertConfig,
    /// Number of positions that are exported: of a new encoder those of the last stage, since only these are trained to
    /// the end.
    pub(crate) positions: usize,
    masking: Masking,
    /// File of the initial weights, if they are not new.
    start: Option<PathBuf>,
    /// Training data of these weights.
    pub(crate) before: Vec<String>,
}

/// Text and encoder shape of bidirectional language modelling.
#[derive(Debug)]
pub struct Words {
    /// The text.
    pub corpus: WordCorpus,
    /// The shape of the encoder.
    pub encoder: ElmoOptions,
    pub(crate) samples: usize,
}

/// Name of a text card, its training documents and its held-out documents.
pub(crate) type Read = (String, Vec<Document>, Vec<Document>);

impl Text {
    /// Loss of a uniform guess among everything that can be predicted, in nats.
    pub fn guessing(&self) -> f64 {
        let n = match self {
            Self::Wordpieces(pieces) => pieces.vocabulary.len(),
            Self::Words(words) => words.corpus.vocab,
        };
        (n as f64).ln()
    }

    /// Description of the text: "47.8 M words in 96,404 documents, 69.0 M wordpieces of a vocabulary of 8192".
    pub fn described(&self) -> String {
        let millions = |n: u64| format!("{:.1} M", n as f64 / 1e6);
        match self {
            Self::Wordpieces(pieces) => format!(
                "{} words in {} documents, {} wordpieces of a vocabulary of {}",
                millions(pieces.corpus.words),
                pieces.corpus.train.len(),
                millions(pieces.corpus.train.n_tokens() as u64),
                pieces.vocabulary.len()
            ),
            Self::Words(words) => format!(
                "{} words in {} segments, {} different ones, of which {} are predicted",
                millions(words.corpus.train.n_tokens() as u64),
                words.corpus.train.len(),
                words.corpus.types.len(),
                words.corpus.vocab
            ),
        }
    }
}

/// Joins `part` to each of these folders.
fn below(folders: &[PathBuf], part: &str) -> Vec<PathBuf> {
    folders.iter().map(|folder| folder.join(part)).collect()
}

/// The licences of all texts of a run, each once.
pub(crate) fn licences(settings: &Settings, places: Places) -> Result<String> {
    let cards = TextCatalogue::read_all(&below(places.card_folders, "datasets/texts"))?;
    let mut licences: Vec<String> = Vec::new();
    for name in &settings.texts {
        let licence = &cards.find(name)?.licence;
        if !licences.contains(licence) {
            licences.push(licence.clone());
        }
    }
    Ok(licences.join("; "))
}

/// Reads the documents of all texts of a run.
pub(crate) fn read(settings: &Settings, places: Places) -> Result<Vec<Read>> {
    let cards = TextCatalogue::read_all(&below(places.card_folders, "datasets/texts"))?;
    let mut texts = Vec::new();
    for name in &settings.texts {
        let card = cards.find(name)?;
        if let Some(missing) = card.missing(places.data) {
            bail!(missing);
        }
        let train = card.documents(places.data)?;
        let held_out = match card.files_of(TextPart::HeldOut).next() {
            Some(_) => card.held_out(places.data)?,
            None => Vec::new(),
        };
        texts.push((name.clone(), train, held_out));
    }
    Ok(texts)
}

impl WordpieceText {
    pub(crate) fn new(
        texts: Vec<Read>,
        masking: &Masking,
        (vocabulary, shape): (&VocabularySettings, &BertShape),
        folder: &Folder,
    ) -> Result<Self> {
        let path = folder.path.join("vocab.txt");
        // One without a checkpoint may be of other settings or another text.
        if !path.is_file() || !folder.has_checkpoint()? {
            let documents = texts.iter().flat_map(|(_, train, _)| train);
            let documents: Vec<&Document> = documents.collect();
            let pieces = train_vocabulary(&documents, vocabulary)?;
            write_atomically(&path, (pieces.join("\n") + "\n").as_bytes())?;
        }
        let tokenizer = Tokenizer::from_vocabulary(&path, vocabulary.lowercase)?;
        let found = tokenizer.vocab_size();
        if found != vocabulary.size {
            bail!(
                "{}: found {found} wordpieces, but start.vocabulary.size is {}",
                path.display(),
                vocabulary.size
            );
        }
        let encoder = shape.config(found);
        Self::with(texts, &tokenizer, (encoder, vocabulary.lowercase), masking)
    }

    pub(crate) fn of_encoder(
        texts: Vec<Read>,
        settings: &Settings,
        masking: &Masking,
        (name, places): (&str, Places),
    ) -> Result<Self> {
        let catalogue = EncoderCatalogue::read_all(&below(places.card_folders, "encoders"))?;
        let card = catalogue.find(name)?;
        let Architecture::Bert(config) = &card.architecture else {
            bail!(
                "start.encoder: `{name}` is a {}, expected a BERT",
                card.architecture
            );
        };
        let fixtures = below(places.card_folders, "fixtures/encoders");
        let roots = if card.fixture {
            &fixtures[..]
        } else {
            places.encoders
        };
        ensure!(
            !card.untrained,
            "start.encoder: found `{name}`, which has random weights, expected pretrained ones; `start.bert` begins anew"
        );
        let Some((dir, format, file)) = card.find(roots)? else {
            bail!(card.missing(roots).unwrap_or_default());
        };
        card.open(format, &file)?;
        let longest = config.max_position_embeddings;
        let lengths = settings.stages.iter().map(|stage| stage.length);
        if let Some(length) = lengths.max().filter(|&length| length > longest) {
            bail!("stage.length: found {length}, but `{name}` reads at most {longest}");
        }
        let lowercase = card.vocabulary.lowercase;
        let tokenizer = Tokenizer::open(&dir, lowercase)?;
        let mut pieces = Self::with(texts, &tokenizer, (config.clone(), lowercase), masking)?;
        pieces.start = Some(file);
        pieces.before = card.trained_on.clone();
        Ok(pieces)
    }

    fn with(
        texts: Vec<Read>,
        tokenizer: &Tokenizer,
        (encoder, lowercase): (BertConfig, bool),
        masking: &Masking,
    ) -> Result<Self> {
        let vocabulary = (0..tokenizer.vocab_size() as u32).map(|id| tokenizer.piece(id));
        Ok(Self {
            vocabulary: vocabulary.collect(),
            corpus: Corpus::new(texts, tokenizer)?,
            lowercase,
            positions: encoder.max_position_embeddings,
            encoder,
            masking: masking.clone(),
            start: None,
            before: Vec::new(),
        })
    }

    /// Returns the objective of the run.
    ///
    /// # Errors
    /// When the vocabulary does not fit the encoder, or there is too little text.
    pub fn objective(&self, settings: &Settings) -> Result<MaskedLanguageModel<'_>> {
        let config = MaskedLmConfig::new(self.encoder.clone());
        MaskedLanguageModel::new(&self.corpus, config, self.masking.clone(), settings)
    }

    /// Returns the initial weights of the run: `fresh` unless it starts from an encoder.
    ///
    /// # Errors
    /// When the initial encoder cannot be read.
    pub fn start(&self, fresh: Box<dyn Weights>) -> Result<Box<dyn Weights>> {
        let Some(file) = &self.start else {
            return Ok(fresh);
        };
        let published = Published::new(File::open(file)?, Naming::Bert)
            .with_context(|| file.display().to_string())?;
        Ok(Box::new(Continued { published, fresh }))
    }

    /// Writes the encoder: [`export::bert`].
    ///
    /// # Errors
    /// The same as there.
    pub fn export(&self, checkpoint: &Checkpoint, to: &Path) -> Result<Exported> {
        let reading = (&self.vocabulary[..], self.lowercase);
        export::bert(checkpoint, &self.exported(), reading, to)
    }

    /// Returns the shape of the exported encoder.
    pub(crate) fn exported(&self) -> BertConfig {
        BertConfig {
            max_position_embeddings: self.positions,
            ..self.encoder.clone()
        }
    }
}

impl Words {
    /// Returns the objective of the run.
    ///
    /// # Errors
    /// When more samples are required than there are words, or there are several stages.
    pub fn objective(&self, settings: &Settings) -> Result<BidirectionalLanguageModel<'_>> {
        let config = BilmConfig {
            encoder: self.encoder.clone(),
            vocab: self.corpus.vocab,
        };
        BidirectionalLanguageModel::new(&self.corpus, config, self.samples, settings)
    }

    /// Writes the encoder: [`export::elmo`].
    ///
    /// # Errors
    /// The same as there.
    pub fn export(&self, checkpoint: &Checkpoint, to: &Path) -> Result<Exported> {
        export::elmo(checkpoint, &self.encoder, to)
    }
}

/// Weights of a published BERT; the head of pre-training is initialised if the file has none.
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
