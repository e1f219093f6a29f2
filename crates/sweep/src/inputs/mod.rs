//! Inputs shared by the runs of a sweep: datasets, encoders and encoded texts, each loaded once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use totune_adapt::{DataFacts, InputEncoding, Reader, Rows, deep_copy};
use totune_data::{Dataset, Encoded, EncodedCache, Example, Pairs, WordContext};
use totune_model::{AnyEncoder, Architecture, Encoder, EncoderCard, LoadedEncoder};
use totune_stats::{Terms, count_terms};

use crate::spec::one_hash;
use crate::{Environment, Progress, RunSpec, Silent};

pub(crate) mod activation_store;
mod missing;
mod rows;

use activation_store::ActivationStore;
pub(crate) use missing::absent;
pub use missing::missing;
use missing::{names, texts};
pub(crate) use rows::SharedRows;
use rows::{Origin, RowsKey};

/// Number of training inputs whose length is measured, about.
const MEASURED_INPUTS: usize = 5000;
/// Share of unknown tokens above which a note says so.
const MUCH_UNKNOWN: f64 = 0.05;

/// Datasets, encoders and encoded texts in memory.
pub struct Inputs {
    /// Datasets by name and split.
    datasets: BTreeMap<(String, String), Dataset>,
    encoders: BTreeMap<String, Pretrained>,
    /// Number of occurrences of each term, by plain text.
    terms: BTreeMap<String, Terms>,
    /// The origins of splits that are parts of others, by dataset and split.
    origins: BTreeMap<(String, String), Origin>,
    /// Encoded rows by dataset, split, encoder and input encoding.
    rows: Mutex<BTreeMap<RowsKey, Arc<Rows>>>,
    cache: Option<EncodedCache>,
    states: ActivationStore,
    /// Whether the vectors that floors compute are cached. In a sweep they are not, so that processor seconds of a run
    /// are its own.
    caches_vectors: bool,
    threads: usize,
    /// The machine's: set from outside to stop.
    stop: Arc<AtomicBool>,
}

/// An encoder as its checkpoint has it, and the reader that tokenizes texts for it.
pub(crate) struct Pretrained {
    pub loaded: LoadedEncoder,
    pub architecture: Architecture,
    pub reader: Reader,
}

impl Pretrained {
    /// An encoder for one run to change.
    pub fn fresh(&self) -> AnyEncoder {
        deep_copy(&self.loaded.encoder)
    }
}

impl Inputs {
    /// Loads and verifies all that the specs read.
    pub(crate) fn load<'a>(
        environment: Environment,
        specs: impl IntoIterator<Item = &'a RunSpec>,
        states: ActivationStore,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let Environment {
            project,
            roots,
            machine,
        } = environment;
        let specs: Vec<&RunSpec> = specs.into_iter().collect();
        let (dataset_names, encoder_names) = names(specs.iter().copied());
        let mut terms = BTreeMap::new();
        for card in texts(project, &specs)? {
            progress.preparing(&format!("reading {}", card.name));
            let mut counts = Terms::new();
            for paragraph in card.paragraphs(&roots.data)? {
                count_terms(&paragraph, &mut counts);
            }
            terms.insert(card.name, counts);
        }
        let mut datasets = BTreeMap::new();
        for (name, splits) in dataset_names {
            progress.preparing(&format!("reading {name}"));
            let catalogue = project.datasets()?;
            let card = catalogue.find(name)?;
            for split in splits {
                let dataset = card.load_split(&roots.data, split)?;
                datasets.insert((name.to_string(), split.to_string()), dataset);
            }
        }
        let encoders = pretrained(environment, encoder_names, progress)?;
        Ok(Self {
            datasets,
            encoders,
            terms,
            origins: BTreeMap::new(),
            rows: Mutex::default(),
            cache: roots.cache.as_deref().map(EncodedCache::new),
            states,
            caches_vectors: false,
            threads: machine.threads,
            stop: machine.stop.clone(),
        })
    }

    /// Splits of datasets in memory, for runs on data without a card in the project, and the encoders of these names.
    ///
    /// # Errors
    /// When an encoder is missing or differs from its card.
    pub fn of(
        environment: Environment,
        datasets: impl IntoIterator<Item = (String, Dataset)>,
        encoders: &[String],
        states: &Path,
    ) -> Result<Self> {
        let datasets = datasets.into_iter();
        let named = |(split, dataset): (String, Dataset)| ((dataset.name.clone(), split), dataset);
        let encoders = encoders.iter().map(String::as_str);
        let machine = environment.machine;
        Ok(Self {
            datasets: datasets.map(named).collect(),
            encoders: pretrained(environment, encoders, &Silent)?,
            terms: BTreeMap::new(),
            origins: BTreeMap::new(),
            rows: Mutex::default(),
            cache: None,
            states: ActivationStore::new(states.to_path_buf(), machine.cache_budget),
            caches_vectors: true,
            threads: machine.threads,
            stop: machine.stop.clone(),
        })
    }

    /// Adds a split of a dataset in memory, under a name that none of these has yet.
    pub fn insert(&mut self, split: &str, dataset: Dataset) {
        let key = (dataset.name.clone(), split.to_string());
        self.datasets.insert(key, dataset);
    }

    /// Adds the examples at `indices` of `whole`, a dataset and its split, under a name that none of these has yet.
    /// Activations of frozen layers are then computed once, for all examples of the whole, and not for each of its parts.
    pub fn insert_part(
        &mut self,
        split: &str,
        part: Dataset,
        whole: (&str, &str),
        indices: Vec<usize>,
    ) {
        let key = (part.name.clone(), split.to_string());
        let origin = Origin {
            dataset: whole.0.to_string(),
            split: whole.1.to_string(),
            indices,
        };
        self.origins.insert(key, origin);
        self.insert(split, part);
    }

    /// An encoder of these, as its checkpoint has it.
    ///
    /// # Errors
    /// When it was not loaded.
    pub fn loaded(&self, name: &str) -> Result<&LoadedEncoder> {
        Ok(&self.encoder(name)?.loaded)
    }

    /// Facts that a recipe needs about the dataset of this name, whose splits are `train` and perhaps `dev`, to train
    /// `encoder` on it. The length is the 99th percentile over the training inputs.
    ///
    /// # Errors
    /// When one of them was not loaded, or an example cannot be tokenized.
    pub fn facts(&self, dataset: &str, encoder: &EncoderCard) -> Result<DataFacts> {
        let train = self.dataset(dataset, "train")?;
        let lengths = self.lengths(dataset, encoder)?;
        let at = (lengths.len() * 99 / 100).min(lengths.len().saturating_sub(1));
        Ok(DataFacts {
            task: train.task,
            loss: train.loss,
            n_train: train.examples.len(),
            has_dev: self.dataset(dataset, "dev").is_ok(),
            length: lengths.get(at).copied().unwrap_or(0),
        })
    }

    /// The numbers of tokens of the training inputs of the dataset of this name, or of a sample of them, in ascending order.
    /// Longer inputs than a recipe lets `encoder` read by default count as so long.
    ///
    /// # Errors
    /// When one of them was not loaded, or an example cannot be tokenized.
    pub fn lengths(&self, dataset: &str, encoder: &EncoderCard) -> Result<Vec<usize>> {
        let encoded = self.sample(dataset, encoder)?;
        let mut lengths: Vec<usize> = encoded.iter().map(|row| row.ids.len()).collect();
        lengths.sort_unstable();
        Ok(lengths)
    }

    /// A note where many tokens of the training inputs are not in the vocabulary of `encoder`, as of another language.
    ///
    /// # Errors
    /// The same as those of [`Inputs::lengths`].
    pub fn unknown_note(&self, dataset: &str, encoder: &EncoderCard) -> Result<Option<String>> {
        let Some(tokenizer) = self.encoder(&encoder.name)?.reader.tokenizer() else {
            return Ok(None);
        };
        let encoded = self.sample(dataset, encoder)?;
        let unknown = tokenizer.unknown_id();
        let all = encoded.iter().flat_map(|row| &row.ids).count();
        let found = encoded
            .iter()
            .flat_map(|row| &row.ids)
            .filter(|id| **id == unknown);
        let share = found.count() as f64 / all.max(1) as f64;
        Ok((share > MUCH_UNKNOWN).then(|| {
            format!(
                "{:.0} % of the tokens are not in the vocabulary of {}: is it for texts of this language?",
                100.0 * share,
                encoder.name
            )
        }))
    }

    /// Training inputs of a dataset as tokens, or a sample of them where there are many.
    fn sample(&self, dataset: &str, encoder: &EncoderCard) -> Result<Vec<Encoded>> {
        let train = self.dataset(dataset, "train")?;
        // A sample of a few thousand inputs suffices, and tokenizing all of a large dataset takes a while.
        let step = train.examples.len().div_ceil(MEASURED_INPUTS).max(1);
        let sample: Vec<Example> = train.examples.iter().step_by(step).cloned().collect();
        let encoding = InputEncoding {
            max_length: encoder.architecture.max_length().min(DataFacts::LONGEST),
            pairs: Pairs::Joint,
            tagged: train.tagging.as_ref().map(|_| WordContext::Sentence),
        };
        let reader = &self.encoder(&encoder.name)?.reader;
        Ok(reader.rows(&sample, &encoding, self.threads)?.encoded)
    }

    /// A split of a dataset that was loaded.
    pub(crate) fn dataset(&self, name: &str, split: &str) -> Result<&Dataset> {
        self.datasets
            .get(&(name.to_string(), split.to_string()))
            .with_context(|| format!("{split} of dataset `{name}` was not loaded for this sweep"))
    }

    /// The metrics of what a run reads, the main one first.
    pub(crate) fn metrics(&self, spec: &RunSpec) -> &[String] {
        let mut splits = spec.split.splits().into_iter();
        let dataset = splits.find_map(|split| self.dataset(&spec.dataset, split).ok());
        dataset.map_or(&[], |dataset| &dataset.metrics)
    }

    /// Hash of the data that a run reads: that of its only split, or one over those of all.
    pub(crate) fn dataset_hash(&self, spec: &RunSpec) -> Result<String> {
        let hashes = spec.split.splits().into_iter();
        let hashes = hashes.map(|split| Ok(self.dataset(&spec.dataset, split)?.hash.clone()));
        Ok(one_hash(&hashes.collect::<Result<Vec<_>>>()?))
    }

    /// Hashes of the data, the encoder and the tokenizer of a run, as its row has them.
    ///
    /// # Errors
    /// When its data were not loaded.
    pub fn hashes(&self, spec: &RunSpec) -> Result<[String; 3]> {
        let pretrained = spec.encoder().and_then(|name| self.encoder(name).ok());
        let checkpoint = pretrained.map(|found| found.loaded.checkpoint_hash.clone());
        let tokenizer = pretrained.map(|found| found.reader.hash().to_string());
        Ok([
            self.dataset_hash(spec)?,
            checkpoint.unwrap_or_default(),
            tokenizer.unwrap_or_default(),
        ])
    }

    /// An encoder that was loaded.
    pub(crate) fn encoder(&self, name: &str) -> Result<&Pretrained> {
        self.encoders
            .get(name)
            .with_context(|| format!("encoder `{name}` was not loaded for this sweep"))
    }

    /// Number of occurrences of each term in a text that was loaded.
    pub(crate) fn terms(&self, name: &str) -> Result<&Terms> {
        self.terms
            .get(name)
            .with_context(|| format!("text `{name}` was not loaded for this sweep"))
    }
}

/// Loads and verifies the encoders of these names.
fn pretrained<'n>(
    Environment {
        project,
        roots,
        machine,
    }: Environment,
    names: impl IntoIterator<Item = &'n str>,
    progress: &dyn Progress,
) -> Result<BTreeMap<String, Pretrained>> {
    let mut encoders = BTreeMap::new();
    for name in names {
        progress.preparing(&format!("loading {name}"));
        let catalogue = project.encoders()?;
        let card = catalogue.find(name)?;
        let places = roots.of_encoder(project, card.fixture);
        let loaded = card.load(&places, &machine.device)?;
        let (lowercase, pad_id) = (card.vocabulary.lowercase, loaded.encoder.pad_id());
        let reader = Reader::open(&loaded.dir, &card.architecture, lowercase, pad_id)?
            .with_prefix(&card.vocabulary.prefix);
        let architecture = card.architecture.clone();
        let pretrained = Pretrained {
            loaded,
            architecture,
            reader,
        };
        encoders.insert(name.to_string(), pretrained);
    }
    Ok(encoders)
}
