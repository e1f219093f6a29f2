//! Everything a run needs, made from its settings and the files they name.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burn::tensor::TensorData;
use serde_json::Value;
use totune_checkpoint::{Checkpoint as File, ElmoOptions, Naming, Published};
use totune_data::{Document, TextCatalogue, TextPart, Tokenizer, sha256_hex};
use totune_model::{
    Architecture, BertConfig, BilmConfig, EncoderCatalogue, MaskedLmConfig, Weights,
};
use totune_record::write_atomically;

use crate::checkpoint::{About, Checkpoint, Folder};
use crate::export::{self, Exported};
use crate::settings::{BertShape, Masking, Objective, Settings, Start, VocabularySettings};
use crate::words::WordCorpus;
use crate::{BidirectionalLanguageModel, Corpus, MaskedLanguageModel, train_vocabulary};

/// Where the files of a run are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The folder with `datasets/` and `encoders/` in it.
    pub project: &'a Path,
    /// The folder that the paths of text cards begin in.
    pub data: &'a Path,
    /// Folders with pretrained encoders.
    pub encoders: &'a [PathBuf],
}

/// A run with its text in memory.
#[derive(Debug)]
pub struct Job {
    /// What is trained, and how.
    pub settings: Settings,
    /// The same as its file has it.
    pub json: Value,
    /// The text, as the objective reads it.
    pub text: Text,
}

/// Text as an objective reads it, and the shape of the encoder that is trained on it.
#[derive(Debug)]
pub enum Text {
    /// Wordpieces, for a BERT.
    Pieces(Pieces),
    /// Words, for an ELMo.
    Words(Words),
}

/// What masked language modelling needs.
#[derive(Debug)]
pub struct Pieces {
    /// The text.
    pub corpus: Corpus,
    /// The wordpieces, in the order of their ids.
    pub vocabulary: Vec<String>,
    /// Whether text is lower-cased.
    pub lowercase: bool,
    /// The shape of the encoder.
    pub encoder: BertConfig,
    /// Positions that are exported: of a new encoder those of the last stage, since what training did not end with is not
    /// worth keeping.
    positions: usize,
    masking: Masking,
    /// The weights that training begins with, where they are not new.
    start: Option<PathBuf>,
    /// What these weights were trained on.
    before: Vec<String>,
}

/// What bidirectional language modelling needs.
#[derive(Debug)]
pub struct Words {
    /// The text.
    pub corpus: WordCorpus,
    /// The shape of the encoder.
    pub encoder: ElmoOptions,
    samples: usize,
}

/// A text card's name, what is trained on and what is held out.
type Read = (String, Vec<Document>, Vec<Document>);

impl Job {
    /// Reads the text, and trains the vocabulary or takes it from `folder` or from the encoder that training begins with.
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
        let text = match (&settings.objective, &settings.start) {
            (Objective::MaskedLm(masking), Start::Encoder { encoder }) => {
                Pieces::of_encoder(texts, &settings, masking, (encoder, places)).map(Text::Pieces)
            }
            (Objective::MaskedLm(masking), Start::New(new)) => {
                let shape = new.bert.as_ref().context("start.bert: missing")?;
                let vocabulary = &new.vocabulary;
                let mut pieces = Pieces::new(texts, masking, (vocabulary, shape), folder)?;
                let last = settings.stages.last().map(|stage| stage.length);
                pieces.positions = last.unwrap_or(pieces.positions);
                Ok(Text::Pieces(pieces))
            }
            (Objective::Bilm(sampling), Start::New(new)) => {
                let longest = settings.stages.iter().map(|stage| stage.length).max();
                let longest = longest.unwrap_or(usize::MAX);
                let corpus = WordCorpus::new(texts, new.vocabulary.size, longest)?;
                Ok(Text::Words(Words {
                    corpus,
                    encoder: new.elmo.clone().context("start.elmo: missing")?,
                    samples: sampling.samples,
                }))
            }
            (Objective::Bilm(_), Start::Encoder { .. }) => {
                bail!("start: `bilm` can only begin anew")
            }
        }?;
        Ok(Self {
            settings,
            json,
            text,
        })
    }

    /// What the first checkpoint of the run says.
    pub fn about(&self, commit: &str, device: &str) -> About {
        let (vocabulary, corpus): (Vec<String>, Vec<u8>) = match &self.text {
            Text::Pieces(pieces) => {
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
        }
    }
}

impl Job {
    /// The card of the encoder that was written to `folder`, for `encoders/<name>.toml`.
    pub fn card(&self, checkpoint: &Checkpoint, exported: &Exported, folder: &Path) -> String {
        let about = &checkpoint.about;
        let (vocabulary, architecture) = match &self.text {
            Text::Pieces(pieces) => (pieces.lowercase, export::bert_card(&pieces.exported())),
            Text::Words(words) => (false, export::elmo_card(&words.encoder)),
        };
        let folder = folder.file_name().unwrap_or_default().to_string_lossy();
        let folder = match folder.as_ref() {
            "encoder" => &self.settings.name,
            other => other,
        };
        let texts = self.settings.texts.join(", ");
        let before = match &self.text {
            Text::Pieces(pieces) => &pieces.before[..],
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
             licence  = \"CC BY-SA 4.0\"\n\
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
            sha256 = exported.sha256,
            parameters = exported.parameters,
        )
    }
}

impl Text {
    /// The loss of guessing among everything that can be predicted, in nats.
    pub fn guessing(&self) -> f64 {
        let n = match self {
            Self::Pieces(pieces) => pieces.vocabulary.len(),
            Self::Words(words) => words.corpus.vocab,
        };
        (n as f64).ln()
    }

    /// "47.8 M words in 96,404 documents, 69.0 M wordpieces of a vocabulary of 8192".
    pub fn described(&self) -> String {
        let millions = |n: u64| format!("{:.1} M", n as f64 / 1e6);
        match self {
            Self::Pieces(pieces) => format!(
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

fn read(settings: &Settings, places: Places) -> Result<Vec<Read>> {
    let cards = TextCatalogue::read(&places.project.join("datasets/texts"))?;
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

impl Pieces {
    fn new(
        texts: Vec<Read>,
        masking: &Masking,
        (vocabulary, shape): (&VocabularySettings, &BertShape),
        folder: &Folder,
    ) -> Result<Self> {
        let path = folder.path.join("vocab.txt");
        if !path.is_file() {
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

    fn of_encoder(
        texts: Vec<Read>,
        settings: &Settings,
        masking: &Masking,
        (name, places): (&str, Places),
    ) -> Result<Self> {
        let catalogue = EncoderCatalogue::read(&places.project.join("encoders"))?;
        let card = catalogue.find(name)?;
        let Architecture::Bert(config) = &card.architecture else {
            bail!(
                "start.encoder: `{name}` is a {}, expected a BERT",
                card.architecture
            );
        };
        let fixtures = [places.project.join("fixtures/encoders")];
        let roots = if card.fixture {
            &fixtures[..]
        } else {
            places.encoders
        };
        let Some((dir, _, file)) = card.find(roots)? else {
            bail!(card.missing(roots).unwrap_or_default());
        };
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

    /// What the run learns.
    ///
    /// # Errors
    /// When the vocabulary does not fit the encoder, or there is too little text.
    pub fn objective(&self, settings: &Settings) -> Result<MaskedLanguageModel<'_>> {
        let config = MaskedLmConfig::new(self.encoder.clone());
        MaskedLanguageModel::new(&self.corpus, config, self.masking.clone(), settings)
    }

    /// The weights that training begins with, where they are not `fresh`.
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

    /// Writes the encoder: [`export::bert`].
    ///
    /// # Errors
    /// As there.
    pub fn export(&self, checkpoint: &Checkpoint, to: &Path) -> Result<Exported> {
        let reading = (&self.vocabulary[..], self.lowercase);
        export::bert(checkpoint, &self.exported(), reading, to)
    }

    /// The shape of the encoder that is exported.
    fn exported(&self) -> BertConfig {
        BertConfig {
            max_position_embeddings: self.positions,
            ..self.encoder.clone()
        }
    }
}

impl Words {
    /// What the run learns.
    ///
    /// # Errors
    /// When more samples are asked for than there are words, or there are several stages.
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
    /// As there.
    pub fn export(&self, checkpoint: &Checkpoint, to: &Path) -> Result<Exported> {
        export::elmo(checkpoint, &self.encoder, to)
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
