//! `bench cache`: epochs with cached activations of the frozen layers and without, and a sweep next to PyTorch.
//!
//! [`grid`] are the runs, [`epochs`] and [`sweep`] our sides, which use the training loop and the sweep of the library,
//! and [`padding`] says how much of what is computed is real.

mod epochs;
mod grid;
mod padding;
mod sweep;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use totune_data::{Dataset, Encoded, Tokenizer};
use totune_sweep::missing;

use crate::batches::{ENCODER, TASKS};
use crate::comparison::{Case, Comparison, SideSpec, Steps};
use crate::desk::Desk;
use crate::target::Target;
use grid::{BATCH, EVALUATION_BATCH, Grid, LAYERS, MAX_LENGTH, RATES, SEEDS, scratch};

pub use epochs::work as epochs;
pub use sweep::work as sweep;

/// Scores and probabilities with the cache and without differ by no more.
const TOLERANCE: f64 = 1e-4;
/// Target speed-up by the cache of an epoch of `frozen`.
const FROZEN: f64 = 20.0;
/// An epoch of `last-k` may miss the speed-up by the arithmetic by this share.
const OFF: f64 = 0.05;
/// Target speed-up of a sweep over PyTorch.
const SWEEP: f64 = 4.0;

/// The encoder and the paths of the benchmark.
struct Setting<'a> {
    desk: &'a Desk,
    /// Encoder card, and the folder of its files.
    encoder: (&'static str, PathBuf),
    tokenizer: Tokenizer,
    folder: &'a Path,
    epochs: usize,
}

/// Epochs of three tasks under three strategies with the cache and without, a sweep of one task, and shares of padding.
pub fn comparison(desk: &Desk, rounds: usize) -> Result<Comparison> {
    let tasks: &[&str] = if desk.tiny {
        &["fixture-acceptability"]
    } else {
        &TASKS
    };
    let encoder = if desk.tiny { "fixture-bert" } else { ENCODER };
    let folder = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    let encoder_folder = files(desk, tasks, encoder, folder.path())?;
    let card = desk.project.encoders()?;
    let setting = Setting {
        desk,
        tokenizer: Tokenizer::open(&encoder_folder, card.find(encoder)?.vocabulary.lowercase)?,
        encoder: (encoder, encoder_folder),
        folder: folder.path(),
        epochs: rounds,
    };
    let mut comparison = Comparison::new("The activation cache", &["totune, cached"]).note(&format!(
        "all-MiniLM-L6-v2 ({LAYERS} layers), mean pooling, batch {BATCH} ({EVALUATION_BATCH} for evaluation), at most {MAX_LENGTH} tokens, \
         whole training files, f32, dropout 0.1 in the trainable layers and none in the frozen ones, length bucketing on our side.\n\
         Epochs: seconds of whole epochs of training, without evaluation and without filling the cache, which happens once for \
         each strategy and dataset (`fill s`, with the size of the activations in `cache MB`). Sides take turns every 16 steps.\n\
         Scores after each epoch and probabilities of the final model agree to {TOLERANCE:e} with the cache and without. \
         Cached activations are mapped files, which count as memory of the process while they are read.\n\
         Targets of `last-k`: (L + 2k) / 3k times faster for L layers of which k are trainable, a backward pass counting two \
         forward passes, less {:.0} %.\n\
         Sweep: `frozen` and `last-1` at {SEEDS} seeds and 2 learning rates, evaluated on dev after each epoch. Ours runs whole: \
         reading, encoding, filling the cache, training, evaluation, writing rows. PyTorch's epochs and evaluations were timed once \
         for each strategy and multiplied; frozen parameters have no gradients and no dropout, batches are in random order and \
         padded to their longest example, as `Trainer` and `DataCollatorWithPadding` have it; loading and encoding are left out.",
        OFF * 100.0
    ));
    for &task in tasks {
        for k in [0, 1, 2] {
            if desk.tiny && k == 2 {
                continue; // the fixture's encoder has two layers
            }
            comparison.cases.push(setting.epochs_of(task, k)?);
        }
    }
    let swept = tasks[tasks.len() - 1];
    comparison.cases.push(setting.sweep_of(swept)?);
    comparison.appendix = padding::section(&setting);
    comparison.scratch = Some(folder);
    Ok(comparison)
}

/// The folder of the encoder.
///
/// # Errors
/// When files are missing, before anything is measured.
fn files(desk: &Desk, tasks: &[&str], encoder: &str, folder: &Path) -> Result<PathBuf> {
    let (scratch, _) = scratch(&folder.join("check"))?;
    let mut specs = Vec::new();
    for task in tasks {
        let grid = Grid::new(task, encoder, &[0], 1);
        specs.extend(grid.expand(&scratch)?);
    }
    if let Some(message) = missing(&desk.project, &desk.roots, &specs)? {
        bail!("files are missing; nothing was measured\n\n{message}");
    }
    let encoders = desk.project.encoders()?;
    let card = encoders.find(encoder)?;
    let places = desk.roots.of_encoder(&desk.project, card.fixture);
    card.locate(&places).context("was just found")
}

impl Setting<'_> {
    /// Epochs of one run whose last `k` layers (0: only the head) are trained.
    fn epochs_of(&self, task: &str, k: usize) -> Result<Case> {
        let grid = Grid::new(task, self.encoder.0, &[k], self.epochs);
        let run = |cache: Option<&str>| -> Result<epochs::Case> {
            let grid = Grid {
                cache: cache.map(str::to_string),
                ..grid.clone()
            };
            let (scratch, _) = scratch(&self.folder.join("epochs"))?;
            let spec = grid.expand(&scratch)?.into_iter().next();
            Ok(epochs::Case {
                spec: spec.context("a grid of one run")?,
                activations: self.folder.join("activations"),
            })
        };
        let (dataset, texts) = self.encoded(task, "train")?;
        let sides = vec![
            SideSpec::ours("totune, cached", "epochs", &run(Some("f32"))?)?,
            SideSpec::ours("totune, not cached", "epochs", &run(None)?)?,
        ];
        let name = format!("{task}, {}", strategy(k));
        let mut case = Case::new(name, self.desk.threads, sides).agreeing(TOLERANCE, 0.0);
        case.steps = Steps::Cold(dataset.examples.len().div_ceil(BATCH));
        let tokens = texts.iter().map(|text| text.ids.len()).sum();
        let at_least = expected(LAYERS, k).map_or(FROZEN, |faster| faster * (1.0 - OFF));
        let target = Target::faster("totune, cached", "totune, not cached", at_least);
        case.targets = vec![target];
        Ok(case.counting(tokens, "tokens"))
    }

    /// A whole sweep, and PyTorch's.
    fn sweep_of(&self, task: &str) -> Result<Case> {
        let tiny = self.desk.tiny;
        let grid = Grid {
            seeds: if tiny { 1 } else { SEEDS },
            rates: RATES.to_vec(),
            cache: Some("f32".to_string()),
            ..Grid::new(task, self.encoder.0, &[0, 1], self.epochs)
        };
        let runs = grid.strategies.len() * grid.rates.len() * grid.seeds as usize;
        let rows = self.folder.join(format!("{task}.json"));
        sweep::write_rows(self, task, &rows)?;
        let peer = sweep::Peer {
            encoder: self.encoder.1.clone(),
            rows,
            strategies: grid.strategies.clone(),
            times: runs / grid.strategies.len() * grid.epochs,
            evaluation_batch: EVALUATION_BATCH,
            lr: RATES[0],
            threads: self.desk.threads,
        };
        let ours = sweep::Case {
            grid,
            folder: self.folder.join("sweep"),
        };
        let sides = vec![
            SideSpec::ours("totune, cached", "sweep", &ours)?,
            SideSpec::python("pytorch", "cache.py", &peer)?,
        ];
        let name = format!("{task}, sweep of {runs} runs of {} epochs", self.epochs);
        let mut case = Case::new(name, self.desk.threads, sides);
        case.steps = Steps::Once;
        case.targets = vec![Target::faster("totune, cached", "pytorch", SWEEP)];
        Ok(case)
    }

    /// A split, and its texts as the encoder's tokenizer cuts them.
    fn encoded(&self, task: &str, split: &str) -> Result<(Dataset, Vec<Encoded>)> {
        let catalogue = self.desk.project.datasets()?;
        let data = &self.desk.roots.data;
        let dataset = catalogue.find(task)?.load_split(data, split)?;
        let threads = self.desk.threads;
        let texts = self
            .tokenizer
            .encode_all(&dataset.examples, MAX_LENGTH, threads)?;
        Ok((dataset, texts))
    }
}

/// The name of a strategy that trains `k` layers.
fn strategy(k: usize) -> String {
    match k {
        0 => "frozen".to_string(),
        k => format!("last-{k}"),
    }
}

/// The speed-up of an epoch of `layers` layers of which `k` are trainable: a forward pass of a layer counts one, its
/// backward pass two. None where only the head is trainable.
fn expected(layers: usize, k: usize) -> Option<f64> {
    let (layers, k) = (layers as f64, k as f64);
    (k > 0.0).then(|| (layers + 2.0 * k) / (3.0 * k))
}

#[cfg(test)]
mod tests {
    use super::expected;

    #[test]
    fn the_arithmetic_counts_a_backward_pass_twice() {
        for (k, faster) in [
            (0, None),
            (1, Some(8.0 / 3.0)),
            (2, Some(10.0 / 6.0)),
            (6, Some(1.0)),
        ] {
            assert_eq!(expected(6, k), faster, "k = {k}");
        }
    }
}
