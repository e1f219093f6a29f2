//! What the runs of a sweep share: datasets, encoders and encoded texts, each loaded once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor};
use totune_data::{Catalogue, Dataset, Encoded, Tokenizer};
use totune_model::{Bert, EncoderCatalogue, LoadedEncoder};

use crate::{Progress, Project, RunSpec};

/// Where datasets and encoders are looked for; fixtures always come from the project itself.
#[derive(Debug, Clone)]
pub struct Roots {
    /// Folder with dataset files.
    pub data: PathBuf,
    /// Folder with checkpoints, such as a Hugging Face cache.
    pub encoders: PathBuf,
}

impl Roots {
    /// Where the files of an encoder card are looked for.
    pub fn of_encoder(&self, project: &Project, fixture: bool) -> PathBuf {
        if fixture {
            project.root.join("fixtures/encoders")
        } else {
            self.encoders.clone()
        }
    }
}

/// Everything that runs of these specs read and that is not there, as one message; `None` when all is there.
///
/// An unknown dataset or encoder is an error that lists what exists.
pub fn missing<'a>(
    project: &Project,
    roots: &Roots,
    specs: impl IntoIterator<Item = &'a RunSpec>,
) -> Result<Option<String>> {
    let (datasets, encoders) = names(specs);
    let mut messages = Vec::new();
    if !datasets.is_empty() {
        let catalogue = Catalogue::read(&project.root.join("datasets"))?;
        for name in datasets {
            messages.extend(catalogue.find(name)?.missing(&roots.data, &["train"]));
        }
    }
    if !encoders.is_empty() {
        let catalogue = EncoderCatalogue::read(&project.root.join("encoders"))?;
        for name in encoders {
            let card = catalogue.find(name)?;
            messages.extend(card.missing(&[roots.of_encoder(project, card.fixture)]));
        }
    }
    Ok((!messages.is_empty()).then(|| messages.join("\n\n")))
}

/// The names of the datasets and encoders that specs read, each once.
fn names<'a>(
    specs: impl IntoIterator<Item = &'a RunSpec>,
) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
    let mut datasets = BTreeSet::new();
    let mut encoders = BTreeSet::new();
    for spec in specs {
        datasets.insert(spec.dataset.as_str());
        encoders.extend(spec.encoder());
    }
    (datasets, encoders)
}

/// Datasets, encoders and encoded texts in memory.
pub struct Inputs {
    datasets: BTreeMap<String, Dataset>,
    encoders: BTreeMap<String, Pretrained>,
    encoded: Mutex<BTreeMap<(String, String, usize), Texts>>,
    threads: usize,
}

/// The examples of a dataset as an encoder's tokenizer cuts them, in the dataset's order.
type Texts = Arc<Vec<Encoded>>;

/// An encoder as its checkpoint has it, and its tokenizer.
pub(crate) struct Pretrained {
    pub loaded: LoadedEncoder,
    pub tokenizer: Tokenizer,
}

impl Pretrained {
    /// An encoder for one run to change.
    ///
    /// Clones of a module share their parameters, and the fused optimiser changes parameters in place; without a
    /// copy of every number, the second run would start where the first one ended.
    pub fn fresh(&self) -> Bert {
        self.loaded.encoder.clone().map(&mut Copy)
    }
}

struct Copy;

impl ModuleMapper for Copy {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|value| Tensor::from_data(value.to_data(), &value.device()))
    }
}

impl Inputs {
    /// Loads and verifies all that the specs read.
    pub fn load<'a>(
        project: &Project,
        roots: &Roots,
        specs: impl IntoIterator<Item = &'a RunSpec>,
        device: &Device,
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (dataset_names, encoder_names) = names(specs);
        let mut datasets = BTreeMap::new();
        for name in dataset_names {
            progress.preparing(&format!("reading {name}"));
            let catalogue = Catalogue::read(&project.root.join("datasets"))?;
            datasets.insert(name.to_string(), catalogue.find(name)?.load(&roots.data)?);
        }
        let mut encoders = BTreeMap::new();
        for name in encoder_names {
            progress.preparing(&format!("loading {name}"));
            let catalogue = EncoderCatalogue::read(&project.root.join("encoders"))?;
            let card = catalogue.find(name)?;
            let loaded = card.load(&[roots.of_encoder(project, card.fixture)], device)?;
            let tokenizer = Tokenizer::open(&loaded.dir, card.vocabulary.lowercase)?;
            encoders.insert(name.to_string(), Pretrained { loaded, tokenizer });
        }
        Ok(Self {
            datasets,
            encoders,
            encoded: Mutex::default(),
            threads,
        })
    }

    /// A dataset that was loaded.
    pub(crate) fn dataset(&self, name: &str) -> Result<&Dataset> {
        self.datasets
            .get(name)
            .with_context(|| format!("dataset `{name}` was not loaded for this sweep"))
    }

    /// An encoder that was loaded.
    pub(crate) fn encoder(&self, name: &str) -> Result<&Pretrained> {
        self.encoders
            .get(name)
            .with_context(|| format!("encoder `{name}` was not loaded for this sweep"))
    }

    /// A dataset's examples for an encoder at a maximum length, encoded the first time they are asked for.
    pub(crate) fn encoded(&self, dataset: &str, encoder: &str, max_length: usize) -> Result<Texts> {
        let key = (dataset.to_string(), encoder.to_string(), max_length);
        let mut encoded = self.encoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(texts) = encoded.get(&key) {
            return Ok(texts.clone());
        }
        let tokenizer = &self.encoder(encoder)?.tokenizer;
        let texts = Arc::new(tokenizer.encode_all(
            &self.dataset(dataset)?.examples,
            max_length,
            self.threads,
        )?);
        encoded.insert(key, texts.clone());
        Ok(texts)
    }
}
