//! Bidirectional language modelling over a corpus of words.
//!
//! A step reads segments of similar length, up to as many words as `length · batch-size` of its stage: the segments of
//! an epoch are shuffled, sorted by length within pools of a hundred batches, cut into batches, and these shuffled
//! again.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use anyhow::{Result, ensure};
use burn::tensor::{Device, Tensor};
use rand::Rng;
use totune_adapt::Dtype;
use totune_data::{characters, shuffle, stream};
use totune_model::{Bilm, BilmConfig, BilmInit, LogUniform, Pass, Segments, Weights};

use crate::Stage;
use crate::objective::{Likelihood, Objective};
use crate::words::{END, START, WordCorpus};

/// Number of batches within which segments are sorted by length.
const POOL: usize = 100;

/// Objective that predicts each word from those before it, and from those after it.
#[derive(Debug)]
pub struct BidirectionalLanguageModel<'a> {
    corpus: &'a WordCorpus,
    config: BilmConfig,
    /// Number of negative samples of a step.
    samples: usize,
    stages: Vec<Stage>,
    seed: u64,
    dropout: f64,
    dtype: Dtype,
    /// Number of batches of every epoch so far, and the latest epoch itself.
    epochs: RefCell<Epochs>,
}

/// Cached epochs of a run.
#[derive(Debug, Default)]
struct Epochs {
    latest: Option<(usize, Rc<Epoch>)>,
    /// Number of batches of epochs 0, 1, ….
    n_batches: Vec<usize>,
}

/// One pass over the text.
#[derive(Debug)]
struct Epoch {
    /// Segments in the order of the batches' ranges.
    order: Vec<u32>,
    batches: Vec<Range<u32>>,
    /// Number of words in the batches before each.
    words_before: Vec<u64>,
}

impl<'a> BidirectionalLanguageModel<'a> {
    /// Creates the objective over `corpus` for an encoder of the shape of `config`.
    ///
    /// # Errors
    /// When more samples are required than there are words, or there are several stages.
    pub fn new(
        corpus: &'a WordCorpus,
        config: BilmConfig,
        samples: usize,
        settings: &crate::Settings,
    ) -> Result<Self> {
        ensure!(
            samples < config.vocab,
            "objective.samples: found {samples}, expected fewer than the {} words of the vocabulary",
            config.vocab
        );
        ensure!(
            settings.stages.len() == 1,
            "stage: found {}, expected one: a language model over words reads segments as long as they are",
            settings.stages.len()
        );
        Ok(Self {
            corpus,
            config,
            samples,
            stages: settings.stages.clone(),
            seed: settings.seed,
            dropout: settings.dropout,
            dtype: settings.dtype,
            epochs: RefCell::default(),
        })
    }

    fn stage(&self) -> &Stage {
        &self.stages[0]
    }

    /// Returns epoch number `epoch`; all before it must have been requested.
    fn epoch(&self, epoch: usize) -> Rc<Epoch> {
        let mut epochs = self.epochs.borrow_mut();
        if let Some((number, latest)) = &epochs.latest
            && *number == epoch
        {
            return Rc::clone(latest);
        }
        let made = Rc::new(self.make_epoch(epoch));
        if epochs.n_batches.len() == epoch {
            epochs.n_batches.push(made.batches.len());
        }
        epochs.latest = Some((epoch, Rc::clone(&made)));
        made
    }

    fn make_epoch(&self, epoch: usize) -> Epoch {
        let segments = &self.corpus.train;
        let most = self.stage().tokens_per_step() as usize;
        let mut rng = stream(self.seed, "segments", epoch as u64);
        let mut order: Vec<u32> = (0..segments.len() as u32).collect();
        shuffle(&mut order, &mut rng);
        let length = |i: u32| segments.document(i as usize).len();
        let mut pool_begins = 0;
        let (mut words, mut cuts) = (0, vec![0]);
        for at in 0..order.len() {
            words += length(order[at]);
            if words >= POOL * most || at + 1 == order.len() {
                let pool = &mut order[pool_begins..at + 1];
                pool.sort_by_key(|&i| (length(i), i));
                let mut of_batch = 0;
                for (k, &i) in pool.iter().enumerate() {
                    if of_batch + length(i) > most && of_batch > 0 {
                        cuts.push((pool_begins + k) as u32);
                        of_batch = 0;
                    }
                    of_batch += length(i);
                }
                cuts.push(at as u32 + 1);
                (pool_begins, words) = (at + 1, 0);
            }
        }
        let mut batches: Vec<Range<u32>> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
        shuffle(&mut batches, &mut rng);
        let mut words_before = Vec::with_capacity(batches.len());
        let mut words = 0;
        for batch in &batches {
            words_before.push(words);
            let of_batch = order[batch.start as usize..batch.end as usize].iter();
            words += of_batch.map(|&i| length(i) as u64).sum::<u64>();
        }
        Epoch {
            order,
            batches,
            words_before,
        }
    }

    /// Returns the epoch of a step, and its batch within it.
    fn place(&self, step: usize) -> (usize, usize) {
        let (mut epoch, mut within) = (0, step);
        loop {
            let known = self.epochs.borrow().n_batches.get(epoch).copied();
            let batches = known.unwrap_or_else(|| self.epoch(epoch).batches.len());
            if within < batches {
                return (epoch, within);
            }
            within -= batches;
            epoch += 1;
        }
    }

    /// Builds a batch of segments as the model reads them.
    fn batch<'s>(&self, segments: impl Iterator<Item = &'s [u32]>) -> Segments {
        let mut batch = Segments::new(START, END);
        for segment in segments {
            batch.push(segment.iter().map(|&i| {
                let word = &self.corpus.types[i as usize];
                (characters::spell(word), self.corpus.id(i))
            }));
        }
        batch
    }
}

impl Objective for BidirectionalLanguageModel<'_> {
    type Model = Bilm;

    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<Bilm> {
        let model = self.config.load(weights, device)?;
        Ok(model
            .with_dropout(self.dropout)
            .with_precision(self.dtype.precision()))
    }

    fn initial(&self) -> Box<dyn Weights> {
        let seed = stream(self.seed, "weights", 0).next_u64();
        let activation = &self.config.encoder.char_cnn.activation;
        Box::new(BilmInit::new(seed, activation))
    }

    fn published(&self, path: &str) -> String {
        Bilm::published(path)
    }

    /// Returns the number of steps. A step reads slightly fewer words than its limit, so that the words read are
    /// slightly fewer than configured.
    fn steps(&self) -> usize {
        self.stage().steps()
    }

    fn tokens_before(&self, step: usize) -> u64 {
        let (epoch, batch) = self.place(step);
        let words = self.corpus.train.n_tokens() as u64;
        epoch as u64 * words + self.epoch(epoch).words_before[batch]
    }

    fn loss(&self, model: &Bilm, step: usize, device: &Device) -> Tensor<1> {
        let _ = device; // where the model lies, its batches are made
        let (epoch, batch) = self.place(step);
        let epoch = self.epoch(epoch);
        let Range { start, end } = epoch.batches[batch].clone();
        let segments = epoch.order[start as usize..end as usize].iter();
        let batch = self.batch(segments.map(|&i| self.corpus.train.document(i as usize)));
        let mut rng = stream(self.seed, "negative samples", step as u64);
        let samples = LogUniform::new(self.config.vocab).sample(self.samples, &mut rng);
        let seed = stream(self.seed, "dropout", step as u64).next_u64();
        model.loss(&batch, Some(&samples), &Pass::training(seed))
    }

    fn held_out(&self) -> Vec<String> {
        self.corpus.held_out.names()
    }

    /// Scores by the full softmax, over both directions. `limit` counts segments.
    fn likelihood(&self, model: &Bilm, text: &str, _device: &Device) -> Likelihood {
        let mut likelihood = Likelihood::default();
        let segments = self.corpus.held_out.text(text);
        let most = self.stage().tokens_per_step() as usize;
        let mut order: Vec<usize> = (0..segments.len()).collect();
        order.sort_by_key(|&i| segments.document(i).len());
        let mut rest = &order[..];
        while !rest.is_empty() {
            let mut words = 0;
            let fits = rest.iter().take_while(|&&i| {
                words += segments.document(i).len();
                words <= most
            });
            let (batch, left) = rest.split_at(fits.count().max(1));
            rest = left;
            let of_batch = || batch.iter().map(|&i| segments.document(i));
            let found = model.likelihood(&self.batch(of_batch()));
            likelihood.nats += found.forward + found.backward;
            likelihood.n += 2 * found.n;
            let unigram = of_batch().map(|segment| self.corpus.unigram_nats(segment));
            likelihood.unigram_nats += 2.0 * unigram.sum::<f64>();
        }
        likelihood
    }
}
