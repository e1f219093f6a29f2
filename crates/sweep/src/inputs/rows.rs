//! Encoded rows of datasets, and cached activations of frozen layers for them.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use anyhow::Result;
use totune_adapt::{
    Activations, Cache, CachedActivations, EntryLayer, FrozenPass, InputEncoding, Rows, StoredDtype,
};
use totune_data::{Dataset, Encoded, sha256_hex};
use totune_model::Encoder;

use super::activation_store::Key;
use super::{Inputs, Pretrained};
use crate::{CachingEvent, Progress, TuneWork};

pub(super) type RowsKey = (String, String, String, InputEncoding);

/// The origin of a split that is a part of another one.
#[derive(Debug)]
pub(super) struct Origin {
    pub dataset: String,
    pub split: String,
    pub indices: Vec<usize>,
}

/// Rows of a split whose activations are computed together, and the places of some examples among them.
#[derive(Debug)]
pub(crate) struct SharedRows<'a> {
    /// The split.
    pub dataset: &'a Dataset,
    encoding: InputEncoding,
    /// All rows of the split.
    rows: Arc<Rows>,
    /// The rows that are computed.
    used: Vec<usize>,
    /// The places of the rows of the examples among those that are computed.
    pub places: Vec<usize>,
}

impl SharedRows<'_> {
    /// The rows that are computed, in their order.
    pub fn encoded(&self) -> Vec<Encoded> {
        let used = self.used.iter();
        used.map(|&row| self.rows.encoded[row].clone()).collect()
    }

    /// The id of an example by the place of its row among those that are computed, of a dataset with one row for each.
    pub fn id(&self, place: usize) -> &str {
        &self.dataset.examples[self.used[place]].id
    }

    /// Everything that activations of these rows depend on; `computed` is the dtype of the computation.
    fn key<'a>(
        &'a self,
        pretrained: &'a Pretrained,
        (start, dtype): (EntryLayer, StoredDtype),
        computed: &'static str,
        text: Option<&'static str>,
    ) -> Key<'a> {
        Key {
            checkpoint: &pretrained.loaded.checkpoint_hash,
            architecture: &pretrained.architecture,
            tokenizer: pretrained.reader.hash(),
            dataset: &self.dataset.hash,
            rows: indices_hash(&self.used),
            encoding: &self.encoding,
            computed,
            start,
            dtype,
            text,
        }
    }
}

impl Inputs {
    /// Ends a pass over examples when the machine is to stop.
    pub(crate) fn unless_stopped(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// A split's examples as an encoder reads them, encoded at the first call.
    pub(crate) fn rows(
        &self,
        dataset: &str,
        split: &str,
        encoder: &str,
        encoding: &InputEncoding,
    ) -> Result<Arc<Rows>> {
        let key = (
            dataset.into(),
            split.into(),
            encoder.into(),
            encoding.clone(),
        );
        let mut known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = known.get(&key) {
            return Ok(rows.clone());
        }
        let reader = &self.encoder(encoder)?.reader;
        let dataset = self.dataset(dataset, split)?;
        let rows = match &self.cache {
            Some(cache) => reader.cached_rows(dataset, encoding, cache, self.threads)?,
            None => reader.rows(&dataset.examples, encoding, self.threads)?,
        };
        let rows = Arc::new(rows);
        known.insert(key, rows.clone());
        Ok(rows)
    }

    /// The rows whose activations are cached for the examples `part` of a split: those of `used` examples, of which they
    /// are some, in ascending order; or of the part alone if there are none. Of a split that is a part of another one,
    /// those of all examples of that.
    pub(crate) fn shared_rows(
        &self,
        (dataset, split): (&str, &str),
        (encoder, encoding): (&str, &InputEncoding),
        (used, part): (Option<&[usize]>, &[usize]),
    ) -> Result<SharedRows<'_>> {
        let name = (dataset.to_string(), split.to_string());
        let Some(origin) = self.origins.get(&name) else {
            return self.rows_among((dataset, split), (encoder, encoding), (used, part));
        };
        let whole = (origin.dataset.as_str(), origin.split.as_str());
        let all: Vec<usize> = (0..self.dataset(whole.0, whole.1)?.examples.len()).collect();
        let part: Vec<usize> = part.iter().map(|&at| origin.indices[at]).collect();
        self.rows_among(whole, (encoder, encoding), (Some(&all), &part))
    }

    fn rows_among(
        &self,
        (dataset, split): (&str, &str),
        (encoder, encoding): (&str, &InputEncoding),
        (used, part): (Option<&[usize]>, &[usize]),
    ) -> Result<SharedRows<'_>> {
        let rows = self.rows(dataset, split, encoder, encoding)?;
        let part = rows.rows_of(part);
        let (used, places) = match used {
            None => {
                let places = (0..part.len()).collect();
                (part, places)
            }
            Some(used) => {
                let used = rows.rows_of(used);
                let place = |row| used.binary_search(row).expect("a part of what is used");
                let places = part.iter().map(place).collect();
                (used, places)
            }
        };
        Ok(SharedRows {
            dataset: self.dataset(dataset, split)?,
            encoding: encoding.clone(),
            rows,
            used,
            places,
        })
    }

    /// Cached outputs of the frozen part of a run's model, one for each entry layer of its phases; nothing where the run's
    /// cache is off, or where it would not fit the budget.
    ///
    /// # Errors
    /// When the device fails, or [`Interrupted`](totune_adapt::Interrupted) if it was stopped from outside.
    pub(crate) fn kept(
        &self,
        work: &TuneWork,
        of: &SharedRows,
        progress: &dyn Progress,
    ) -> Result<Vec<CachedActivations>> {
        let training = &work.training;
        let Cache::On { dtype } = training.cache else {
            return Ok(Vec::new());
        };
        let pretrained = self.encoder(&work.encoder)?;
        let encoder = pretrained.loaded.encoder.clone();
        let encoder = encoder.with_precision(training.dtype.precision());
        let rows = of.encoded();
        let mut kept = Vec::new();
        for start in training.entry_layers(&encoder)? {
            let computed = training.dtype.label();
            let key = of.key(pretrained, (start, dtype), computed, None);
            let batch_size = training.evaluation_batch_size;
            let watch = |examples| {
                let of = rows.len();
                progress.caching(&CachingEvent { examples, of });
                self.unless_stopped()
            };
            let pass = FrozenPass::new(&encoder, &rows, start, dtype, batch_size).watched(&watch);
            let activations = self.states.get(&key, &pass)?;
            kept.extend(activations.map(|activations| CachedActivations {
                activations,
                places: of.places.clone(),
            }));
        }
        Ok(kept)
    }

    /// The vectors of `texts`, each of them the one called `text` of a row.
    pub(crate) fn vectors(
        &self,
        of: &SharedRows,
        (texts, text): (&[Encoded], &'static str),
        (encoder, start, batch_size): (&str, EntryLayer, usize),
    ) -> Result<Arc<Activations>> {
        let pretrained = self.encoder(encoder)?;
        let encoder = &pretrained.loaded.encoder;
        let dtype = StoredDtype::F32;
        let watch = |_| self.unless_stopped();
        let pass = FrozenPass::new(encoder, texts, start, dtype, batch_size).watched(&watch);
        if self.caches_vectors {
            let key = of.key(pretrained, (start, dtype), "f32", Some(text));
            if let Some(cached) = self.states.get(&key, &pass)? {
                return Ok(cached);
            }
        }
        Ok(Arc::new(pass.compute()?))
    }
}

fn indices_hash(indices: &[usize]) -> String {
    let bytes = indices
        .iter()
        .flat_map(|&index| (index as u64).to_le_bytes());
    sha256_hex(&bytes.collect::<Vec<u8>>())
}
