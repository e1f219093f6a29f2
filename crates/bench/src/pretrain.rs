//! `bench pretrain`: steps of both pre-training objectives next to PyTorch, in f32 and bf16.
//!
//! The masked language model has the shape of `totune-bert-mini` and is `transformers.BertForMaskedLM` on PyTorch's side;
//! the bidirectional language model is `totune-elmo-mini`, character CNN included, and `bench/bilm.py`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use totune_adapt::{Dtype, require_gradients};
use totune_data::{characters, stream};
use totune_model::fused::{AdamW, Rate};
use totune_model::{Bilm, BilmConfig, BilmInit, LogUniform, Pass, Segments};

use crate::bf16;
use crate::comparison::{Case, Comparison, SideSpec};
use crate::desk::Desk;
use crate::synthetic::Words;
use crate::transformer::{Head, Shape, Step, adam_w, updated};
use crate::worker::{Worker, answer};

/// A step of the bidirectional language model. `bench/bilm.py` reads the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BilmStep {
    /// File with words, which segments are cut from.
    text: PathBuf,
    /// Cells of an LSTM.
    cell: usize,
    /// Width of its projection.
    projection: usize,
    /// Widths and numbers of the character filters.
    filters: Vec<[usize; 2]>,
    /// Highway layers above them.
    highway: usize,
    /// LSTM layers.
    layers: usize,
    /// Words that are predicted.
    vocab: usize,
    /// Negative samples of a step.
    samples: usize,
    /// Segments of a step, all of the same length.
    segments: usize,
    /// Words of a segment.
    length: usize,
    /// Dropout of the LSTMs' inputs and of the hidden states.
    dropout: f64,
    /// Dtype of the matmuls.
    dtype: Dtype,
    /// Threads of the side.
    threads: usize,
}

const DTYPES: [(Dtype, &str); 2] = [(Dtype::F32, "f32"), (Dtype::Bf16Mixed, "bf16")];

/// A case for each objective, with ours and PyTorch's in both dtypes.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let title = "Pre-training: totune next to PyTorch";
    let mut comparison = Comparison::new(title, &["totune bf16", "totune f32"]).note(&format!(
        "A step is forward, loss, backward, clipping by the global norm and AdamW over all parameters.\n\
         Masked LM: the shape of totune-bert-mini (6 layers, 256 wide, 8,192 wordpieces), 64 sequences of 128 tokens, every {}th predicted; PyTorch's side is `transformers.BertForMaskedLM` with fused AdamW, which scores the masked tokens alone, as ours does.\n\
         biLM: totune-elmo-mini (character CNN, 2 layers, cells of 1,024, projections of 128, 50,000 words, 4,096 negative samples), 48 segments of 64 synthetic words; PyTorch's side is `bench/bilm.py` (torch.nn.LSTM with `proj_size`, no clipping of cells).\n\
         For the biLM, tokens are words. `pytorch autocast` is `torch.autocast(\"cpu\", torch.bfloat16)`.",
        Step::MASKED
    ));
    comparison.cases.push(masked_lm(desk)?);
    let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    comparison.cases.push(bilm(desk, scratch.path())?);
    comparison.scratch = Some(scratch);
    Ok(comparison)
}

fn masked_lm(desk: &Desk) -> Result<Case> {
    let (shape, batch, seq) = if desk.tiny {
        (Shape::TINY, 2, 8)
    } else {
        (Shape::BERT_MINI, 64, 128)
    };
    let step = |dtype| Step {
        head: Head::MaskedLm,
        dropout: 0.0,
        dtype,
        ..Step::training(shape, [batch, seq], desk.threads)
    };
    let sides = bf16::sides(&step(Dtype::F32), &step(Dtype::Bf16Mixed))?;
    let name = format!("masked LM, {batch} x {seq}");
    let case = Case::new(name, desk.threads, sides).counting(batch * seq, "tokens");
    Ok(case.multiplying(step(Dtype::F32).flop()))
}

fn bilm(desk: &Desk, folder: &Path) -> Result<Case> {
    let text = folder.join("words.txt");
    let small = |full, tiny| if desk.tiny { tiny } else { full };
    let mut step = BilmStep {
        text: text.clone(),
        cell: small(1024, 12),
        projection: small(128, 4),
        filters: vec![[1, 32], [2, 32], [3, 64], [4, 128], [5, 256]],
        highway: 1,
        layers: 2,
        vocab: small(50_000, 400),
        samples: small(4096, 20),
        segments: small(48, 2),
        length: small(64, 6),
        dropout: 0.1,
        dtype: Dtype::F32,
        threads: desk.threads,
    };
    if desk.tiny {
        step.filters = vec![[1, 4], [2, 4]];
    }
    let words = step.segments * step.length;
    // Every step of a round reads other words.
    fs::write(&text, Words::new("bench pretrain").next(40 * words))?;
    let mut sides = Vec::new();
    for (dtype, name) in DTYPES {
        step.dtype = dtype;
        sides.push(SideSpec::ours(&format!("totune {name}"), "bilm", &step)?);
    }
    for (dtype, name) in [DTYPES[0], (DTYPES[1].0, "autocast")] {
        step.dtype = dtype;
        sides.push(SideSpec::python(
            &format!("pytorch {name}"),
            "bilm.py",
            &step,
        )?);
    }
    let name = format!("biLM, {} x {}", step.segments, step.length);
    Ok(Case::new(name, desk.threads, sides).counting(words, "tokens"))
}

/// Takes steps of the bidirectional language model on request.
pub fn work(step: &BilmStep, worker: &Worker) -> Result<()> {
    let text = fs::read_to_string(&step.text)
        .with_context(|| format!("{}: cannot be read", step.text.display()))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let ids = numbered(&words, step.vocab);
    let mut training = Training::new(step, worker)?;
    answer(&worker.machine.device_name, || {
        let size = step.segments * step.length;
        let first = training.taken * size % (words.len() / size * size);
        let chunk = &words[first..first + size];
        let mut batch = Segments::new(START, END);
        for segment in chunk.chunks(step.length) {
            let id = |word: &&str| *ids.get(*word).unwrap_or(&UNKNOWN);
            batch.push(
                segment
                    .iter()
                    .map(|word| (characters::spell(word), id(word))),
            );
        }
        training.step(&batch);
        Ok(Vec::new())
    })
}

/// `</S>`, `<S>` and `<UNK>`.
const END: u32 = 0;
const START: u32 = 1;
const UNKNOWN: u32 = 2;

/// Ids of the most frequent words, the most frequent first.
fn numbered<'t>(words: &[&'t str], vocab: usize) -> std::collections::HashMap<&'t str, u32> {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let mut ranked: Vec<(&str, usize)> = counts.into_iter().collect();
    ranked.sort_by_key(|&(word, count)| (std::cmp::Reverse(count), word));
    let kept = ranked.into_iter().take(vocab - 3).map(|(word, _)| word);
    kept.zip(UNKNOWN + 1..).collect()
}

struct Training {
    /// Taken and put back by each step.
    model: Option<Bilm>,
    optimizer: AdamW,
    vocab: usize,
    samples: usize,
    taken: usize,
}

impl Training {
    fn new(step: &BilmStep, worker: &Worker) -> Result<Self> {
        let encoder = json!({
            "char_cnn": {
                "activation": "relu", "embedding": { "dim": 16 }, "filters": step.filters, "n_highway": step.highway,
                "n_characters": 262, "max_characters_per_token": 50,
            },
            "lstm": {
                "dim": step.cell, "projection_dim": step.projection, "n_layers": step.layers, "cell_clip": 3.0,
                "proj_clip": 3.0, "use_skip_connections": true,
            },
        });
        let config = BilmConfig {
            encoder: serde_json::from_value(encoder)?,
            vocab: step.vocab,
        };
        let model = config.load(&mut BilmInit::new(1, "relu"), &worker.machine.device)?;
        let model = model
            .with_dropout(step.dropout)
            .with_precision(step.dtype.precision());
        Ok(Self {
            model: Some(require_gradients(
                burn::module::Module::train(model),
                &|_| true,
            )),
            optimizer: adam_w(),
            vocab: step.vocab,
            samples: step.samples,
            taken: 0,
        })
    }

    fn step(&mut self, batch: &Segments) {
        let model = self.model.take().expect("put back by the step before");
        let mut rng = stream(1, "negative samples", self.taken as u64);
        let samples = LogUniform::new(self.vocab).sample(self.samples, &mut rng);
        self.taken += 1;
        let loss = model.loss(batch, Some(&samples), &Pass::training(self.taken as u64));
        let _: f32 = loss.clone().into_scalar();
        let rate = Rate {
            lr: 1e-3,
            weight_decay: 0.0,
        };
        self.model = Some(updated(model, &loss, &mut self.optimizer, rate, 10.0));
    }
}
