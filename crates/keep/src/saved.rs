//! A model read back from its folder.

use std::path::Path;

use anyhow::{Result, ensure};
use burn::tensor::Device;
use totune_adapt::{Examples, Objective, Reader};
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
        })
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
        let (pair, words) = (self.manifest.input.is_pair, self.objective.is_about_words());
        let numbered = inputs.into_iter().enumerate();
        let example = |(number, input): (usize, Input)| {
            ensure!(
                input.words().is_some() == words && input.second().is_some() == pair,
                "input {}: found {}, expected {}",
                number + 1,
                kind(input.second().is_some(), input.words().is_some()),
                kind(pair, words)
            );
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
        let found = totune_adapt::evaluate(&self.model, &self.objective, &rows, BATCH, None)?;
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
        Ok(predictions
            .into_iter()
            .map(|prediction| prediction.unwrap_or_else(none))
            .collect())
    }
}

fn kind(pair: bool, words: bool) -> &'static str {
    match (pair, words) {
        (true, _) => "a pair of texts",
        (false, true) => "a list of words",
        (false, false) => "a text",
    }
}
