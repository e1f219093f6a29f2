//! Masked language modelling over a corpus.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Result, ensure};
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::Rng;
use totune_adapt::Dtype;
use totune_data::stream;
use totune_model::fused::upload_ids;
use totune_model::{MaskedLm, MaskedLmConfig, Pass, RandomWeights, TokenBatch, Weights};

use crate::masking::{Hidden, hide};
use crate::objective::{Likelihood, Objective};
use crate::packing::Packed;
use crate::settings::BertShape;
use crate::{Corpus, Masking, Stage};

/// Number of sequences that are scored at once.
const SCORED_AT_ONCE: usize = 32;

/// Objective that predicts masked wordpieces of packed text.
#[derive(Debug)]
pub struct MaskedLanguageModel<'a> {
    corpus: &'a Corpus,
    config: MaskedLmConfig,
    masking: Masking,
    stages: Vec<Stage>,
    seed: u64,
    dropout: f64,
    dtype: Dtype,
    initializer_range: f64,
    /// The epoch that the latest step read, cut into sequences; replaced when a step needs another.
    epoch: RefCell<Option<Rc<Epoch<'a>>>>,
}

/// One pass over the text at one length.
#[derive(Debug)]
struct Epoch<'a> {
    stage: usize,
    epoch: usize,
    packed: Packed<'a>,
    /// Sequences in the order they are read.
    order: Vec<u32>,
}

/// Position of a step in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    stage: usize,
    epoch: usize,
    /// Index of the batch within the epoch.
    batch: usize,
    /// Number of sequences of all steps before.
    sequences: u64,
}

/// Sequences of a batch with their masked wordpieces.
struct Batch {
    ids: Vec<i64>,
    shape: [usize; 2],
    places: Vec<i64>,
    targets: Vec<u16>,
}

impl<'a> MaskedLanguageModel<'a> {
    /// Creates the objective over `corpus` for an encoder of the shape of `config`.
    ///
    /// # Errors
    /// When the vocabulary does not fit the encoder, or the text is shorter than a batch of some stage.
    pub fn new(
        corpus: &'a Corpus,
        config: MaskedLmConfig,
        masking: Masking,
        settings: &crate::Settings,
    ) -> Result<Self> {
        let (found, expected) = (corpus.vocab_size(), config.encoder.vocab_size);
        ensure!(
            found == expected,
            "the vocabulary has {found} wordpieces, but the encoder {expected}: they do not belong together"
        );
        let objective = Self {
            corpus,
            config,
            masking,
            stages: settings.stages.clone(),
            seed: settings.seed,
            dropout: settings.dropout,
            dtype: settings.dtype,
            initializer_range: (settings.start.bert())
                .map_or_else(BertShape::initializer_range, |bert| bert.initializer_range),
            epoch: RefCell::new(None),
        };
        for (i, stage) in objective.stages.iter().enumerate() {
            ensure!(
                objective.batches_per_epoch(i) > 0,
                "stage {i}: the text has {} wordpieces, fewer than one batch of {} x {}",
                corpus.train.n_tokens(),
                stage.batch_size,
                stage.length
            );
        }
        Ok(objective)
    }

    fn batches_per_epoch(&self, stage: usize) -> usize {
        let Stage {
            length, batch_size, ..
        } = self.stages[stage];
        // A `[SEP]` follows each document.
        let stream = self.corpus.train.n_tokens() + self.corpus.train.len();
        stream / (length - 2) / batch_size
    }

    fn place(&self, step: usize) -> Place {
        let (mut within, mut sequences) = (step, 0);
        for (i, stage) in self.stages.iter().enumerate() {
            if within < stage.steps() || i + 1 == self.stages.len() {
                let batches = self.batches_per_epoch(i);
                return Place {
                    stage: i,
                    epoch: within / batches,
                    batch: within % batches,
                    sequences: sequences + (within * stage.batch_size) as u64,
                };
            }
            within -= stage.steps();
            sequences += (stage.steps() * stage.batch_size) as u64;
        }
        unreachable!("there is at least one stage")
    }

    fn epoch(&self, stage: usize, epoch: usize) -> Rc<Epoch<'a>> {
        let mut cached = self.epoch.borrow_mut();
        if let Some(found) = cached.as_ref()
            && (found.stage, found.epoch) == (stage, epoch)
        {
            return Rc::clone(found);
        }
        let length = self.stages[stage].length;
        let key = (self.seed, stage, epoch);
        let packed = Packed::shuffled(&self.corpus.train, self.corpus.marks, length, key);
        let mut order: Vec<u32> = (0..packed.len() as u32).collect();
        let name = format!("sequences of stage {stage}");
        totune_data::shuffle(&mut order, &mut stream(self.seed, &name, epoch as u64));
        let made = Rc::new(Epoch {
            stage,
            epoch,
            packed,
            order,
        });
        *cached = Some(Rc::clone(&made));
        made
    }

    /// Sequences of a step, with their masked wordpieces.
    fn batch(&self, step: usize) -> Batch {
        let place = self.place(step);
        let epoch = self.epoch(place.stage, place.epoch);
        let Stage {
            length, batch_size, ..
        } = self.stages[place.stage];
        let sequences = &epoch.order[place.batch * batch_size..][..batch_size];
        let mut batch = Batch::new(length, batch_size);
        for (row, &sequence) in sequences.iter().enumerate() {
            let mut rng = stream(self.seed, "masks", place.sequences + row as u64);
            let mut ids = Vec::with_capacity(length);
            epoch.packed.sequence(sequence as usize, &mut ids);
            let hidden = hide(&mut ids, &self.corpus.pieces, &self.masking, &mut rng);
            batch.push(&ids, hidden);
        }
        batch
    }
}

impl Batch {
    fn new(length: usize, rows: usize) -> Self {
        Self {
            ids: Vec::with_capacity(length * rows),
            shape: [0, length],
            places: Vec::new(),
            targets: Vec::new(),
        }
    }

    fn push(&mut self, ids: &[u16], hidden: Hidden) {
        let begins = self.ids.len();
        let places = hidden.places.iter().map(|place| (begins + place) as i64);
        self.places.extend(places);
        self.targets.extend(hidden.targets);
        self.ids.extend(ids.iter().map(|&id| i64::from(id)));
        self.shape[0] += 1;
    }

    fn tensors(self, device: &Device) -> (TokenBatch, Tensor<1, Int>, Tensor<1, Int>) {
        let n = self.ids.len();
        let batch = TokenBatch::new(self.ids, vec![0; n], &vec![true; n], self.shape, device);
        let ints = |values: Vec<i64>| {
            let n = values.len();
            upload_ids(TensorData::new(values, [n]), device)
        };
        let targets = self.targets.iter().map(|&id| i64::from(id)).collect();
        (batch, ints(self.places), ints(targets))
    }
}

impl Objective for MaskedLanguageModel<'_> {
    type Model = MaskedLm;

    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<MaskedLm> {
        let model = self.config.load(weights, device)?;
        Ok(model
            .with_dropout(self.dropout)
            .with_precision(self.dtype.precision()))
    }

    fn initial(&self) -> Box<dyn Weights> {
        let seed = stream(self.seed, "weights", 0).next_u64();
        Box::new(RandomWeights::new(seed, self.initializer_range))
    }

    fn published(&self, path: &str) -> String {
        MaskedLm::published(path)
    }

    fn steps(&self) -> usize {
        self.stages.iter().map(Stage::steps).sum()
    }

    fn tokens_before(&self, step: usize) -> u64 {
        let (mut left, mut tokens) = (step, 0);
        for stage in &self.stages {
            let steps = left.min(stage.steps());
            tokens += steps as u64 * stage.tokens_per_step();
            left -= steps;
        }
        tokens
    }

    fn loss(&self, model: &MaskedLm, step: usize, device: &Device) -> Tensor<1> {
        let (batch, places, targets) = self.batch(step).tensors(device);
        let seed = stream(self.seed, "dropout", step as u64).next_u64();
        model.loss(&batch, places, targets, &Pass::training(seed))
    }

    fn held_out(&self) -> Vec<String> {
        self.corpus.held_out.names()
    }

    /// Scores in sequences as long as those of most of the training. Masks depend only on the number of the sequence;
    /// every masked wordpiece is replaced by `[MASK]`.
    fn likelihood(&self, model: &MaskedLm, text: &str, device: &Device) -> Likelihood {
        let mut likelihood = Likelihood::default();
        let documents = self.corpus.held_out.text(text);
        let length = Stage::main(&self.stages).length;
        let packed = Packed::in_order(documents, self.corpus.marks, length);
        let how = Masking {
            masked: 1.0,
            random: 0.0,
            ..self.masking.clone()
        };
        let sequences: Vec<usize> = (0..packed.len()).collect();
        for share in sequences.chunks(SCORED_AT_ONCE) {
            let mut batch = Batch::new(length, share.len());
            for &sequence in share {
                let mut ids = Vec::with_capacity(length);
                packed.sequence(sequence, &mut ids);
                let mut rng = stream(0, "held-out masks", sequence as u64);
                let hidden = hide(&mut ids, &self.corpus.pieces, &how, &mut rng);
                batch.push(&ids, hidden);
            }
            for &target in &batch.targets {
                likelihood.unigram_nats += self.corpus.unigram_nats(target);
                likelihood.n += 1;
            }
            let (batch, places, targets) = batch.tensors(device);
            let log_p = model.log_likelihoods(&batch, places, targets);
            likelihood.nats -= f64::from(log_p.sum().into_scalar::<f32>());
        }
        likelihood
    }
}
