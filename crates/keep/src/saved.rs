//! A model read back from its folder.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail, ensure};
use burn::tensor::Device;
use totune_adapt::{Examples, Objective, Reader, evaluate_until};
use totune_data::{Example, Input, Target};
use totune_model::{AnyEncoder, Classifier, Encoder};

use crate::manifest::Manifest;
use crate::weights;

/// Number of examples in a batch.
pub(crate) const BATCH: usize = 64;

/// A saved model, ready to predict.
#[derive(Debug)]
pub struct SavedModel {
    /// Description of the model.
    pub manifest: Manifest,
    pub(crate) model: Classifier<AnyEncoder>,
    objective: Objective,
    reader: Reader,
    threads: usize,
    /// Name of its device.
    pub(crate) device: String,
    /// Set when whoever waits for predictions no longer wants them.
    stop: Arc<AtomicBool>,
}

/// Number of tokens that an input has at least: the special ones of a pair.
const LEAST_LENGTH: usize = 4;

/// Prediction of a model for one input.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// A label, a number or a tag for each word; labels and tags as indices into those of the manifest.
    pub predicted: Target,
    /// Probability of each label, or just the number; empty for tags.
    pub scores: Vec<f32>,
    /// True if its text has at least as many tokens as the model reads; what follows them was not read.
    pub is_full: bool,
}

impl SavedModel {
    /// Reads the model in the folder `dir` onto `device`, which has no autodiff; texts are tokenized on `threads`
    /// threads.
    ///
    /// # Errors
    /// When the folder is no saved model, or a file in it differs from the one that was saved.
    pub fn open(dir: &Path, device: &Device, threads: usize) -> Result<Self> {
        let manifest = Manifest::read(dir)?;
        let model = weights::read(&manifest, dir, device)?;
        let encoder = &manifest.encoder;
        let objective = manifest.objective();
        Ok(Self {
            reader: Reader::open(
                dir,
                &encoder.architecture,
                encoder.lowercase,
                model.encoder.pad_id(),
            )?
            .with_prefix(&encoder.prefix),
            objective,
            model,
            threads,
            device: format!("{device:?}"),
            manifest,
            stop: Arc::default(),
        })
    }

    /// The same model, whose predictions of a file end at the next batch once `stop` is set.
    pub fn with_stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// The same model, which reads up to `max_length` tokens of each input instead of as many as in training.
    ///
    /// # Errors
    /// When its encoder does not read as many.
    pub fn with_max_length(mut self, max_length: usize) -> Result<Self> {
        let most = self.manifest.encoder.architecture.max_length();
        ensure!(
            (LEAST_LENGTH..=most).contains(&max_length),
            "found {max_length}, expected {LEAST_LENGTH} to {most}, which the encoder reads"
        );
        self.manifest.input.max_length = max_length;
        Ok(self)
    }

    /// Predicts each of `inputs`, in their order. Inputs of similar length are batched together.
    ///
    /// # Errors
    /// When an input is of another kind than the model was trained on.
    pub fn predict(&self, inputs: Vec<Input>) -> Result<Vec<Prediction>> {
        let found = self.predict_until(inputs, &mut || ControlFlow::Continue(()))?;
        Ok(found.expect("nothing breaks it"))
    }

    /// Executes [`SavedModel::predict`]; `None` where a stop was asked for meanwhile.
    pub(crate) fn predict_or_stop(&self, inputs: Vec<Input>) -> Result<Option<Vec<Prediction>>> {
        self.predict_until(inputs, &mut || {
            if self.stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    /// The problem with an input of another kind than those of training.
    pub(crate) fn other_kind(&self, input: &Input) -> Option<String> {
        let found = (input.second().is_some(), input.words().is_some());
        let expected = (self.manifest.input.is_pair, self.objective.is_about_words());
        (found != expected).then(|| format!("found {}, expected {}", kind(found), kind(expected)))
    }

    fn predict_until(
        &self,
        inputs: Vec<Input>,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Vec<Prediction>>> {
        let words = self.objective.is_about_words();
        let numbered = inputs.into_iter().enumerate();
        let example = |(number, input): (usize, Input)| {
            if let Some(problem) = self.other_kind(&input) {
                bail!("input {}: {problem}", number + 1);
            }
            Ok(Example {
                id: number.to_string(),
                // For words, the number of tags determines how many are predicted.
                target: match input.words() {
                    Some(words) => Target::Tags(vec![0; words.len()]),
                    None => Target::Unknown,
                },
                input,
                group: None,
            })
        };
        let examples: Vec<Example> = numbered.map(example).collect::<Result<_>>()?;
        let encoding = self.manifest.input.encoding(&examples, words);
        let rows = self.reader.rows(&examples, &encoding, self.threads)?;
        let rows = Examples {
            rows: rows.all(&examples),
            cached: Vec::new(),
        };
        let (model, batches) = (&self.model, (BATCH, None));
        let Some(found) = evaluate_until(model, &self.objective, &rows, batches, go_on)? else {
            return Ok(None);
        };
        let most = self.manifest.input.max_length;
        let mut predictions: Vec<Option<Prediction>> = vec![None; examples.len()];
        let scored = found.predicted.into_iter().zip(found.scores);
        for (row, (predicted, scores)) in rows.rows.iter().zip(scored) {
            let number: usize = row.id.parse()?;
            match (&mut predictions[number], predicted) {
                // A long sentence is split into several parts.
                (
                    Some(Prediction {
                        predicted: Target::Tags(before),
                        ..
                    }),
                    Target::Tags(tags),
                ) => {
                    before.extend(tags);
                }
                (prediction, predicted) => {
                    *prediction = Some(Prediction {
                        predicted,
                        scores,
                        // Sentences are split, and texts apart have their own limits.
                        is_full: !words && !row.encoded.apart && row.encoded.ids.len() >= most,
                    });
                }
            }
        }
        // A sentence without words has no parts.
        let none = || Prediction {
            predicted: Target::Tags(Vec::new()),
            scores: Vec::new(),
            is_full: false,
        };
        let predictions = predictions.into_iter();
        let predictions = predictions.map(|prediction| prediction.unwrap_or_else(none));
        Ok(Some(predictions.collect()))
    }
}

fn kind((pair, words): (bool, bool)) -> &'static str {
    match (pair, words) {
        (true, _) => "a pair of texts",
        (false, true) => "a list of words",
        (false, false) => "a text",
    }
}
