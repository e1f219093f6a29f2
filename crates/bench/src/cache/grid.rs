//! The runs that are timed, as experiment files of a project made for them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use totune_sweep::{Experiment, Project, RunSpec, Store};

/// Profile of all experiments here.
pub const PROFILE: &str = "paper";
/// Paper and experiment of all of them.
pub const PAPER: &str = "bench";
/// Layers of the encoder that is adapted, all-MiniLM-L6-v2.
pub const LAYERS: usize = 6;
/// Examples in a step.
pub const BATCH: usize = 32;
/// Examples in a batch that is scored.
pub const EVALUATION_BATCH: usize = 64;
/// Wordpieces of an example.
pub const MAX_LENGTH: usize = 128;
/// Learning rates of the sweep, those of wang2023.
pub const RATES: [f64; 2] = [2e-5, 1e-3];
/// Seeds of the sweep.
pub const SEEDS: u64 = 10;

/// The settings in which the grids differ.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Grid {
    /// Dataset card.
    pub dataset: String,
    /// Encoder card.
    pub encoder: String,
    /// The number of seeds, from 1 on.
    pub seeds: u64,
    /// Learning rates.
    pub rates: Vec<f64>,
    /// Numbers of trainable layers: 0 for `frozen`, k for `last-k`.
    pub strategies: Vec<usize>,
    /// Passes over the training examples.
    pub epochs: usize,
    /// Dtype of the cached activations; none to compute them in every pass.
    pub cache: Option<String>,
}

impl Grid {
    /// One seed and one learning rate of `strategies`, without a cache.
    pub fn new(dataset: &str, encoder: &str, strategies: &[usize], epochs: usize) -> Self {
        Self {
            dataset: dataset.to_string(),
            encoder: encoder.to_string(),
            seeds: 1,
            rates: RATES[..1].to_vec(),
            strategies: strategies.to_vec(),
            epochs,
            cache: None,
        }
    }

    /// The experiment file.
    fn toml(&self) -> String {
        let Self {
            dataset,
            encoder,
            epochs,
            ..
        } = self;
        let seeds: Vec<u64> = (1..=self.seeds).collect();
        let mut text = format!(
            r#"
paper = "{PAPER}"
experiment = "{PAPER}"
kind = "tune"
datasets = ["{dataset}"]
encoders = ["{encoder}"]
seeds = {seeds:?}
split = [{{ kind = "files", test = "dev", dev = 0.0, seed = 13 }}]
batch-size = {BATCH}
evaluation-batch-size = {EVALUATION_BATCH}
max-length = {MAX_LENGTH}
epochs = {epochs}
dropout = 0.1
frozen-dropout = "off"
bucketing = "on"
dtype = "f32"
head = {{ pooling = "mean", dropout = 0.1 }}
optimizer = {{ kind = "adam-w", betas = [0.9, 0.999], epsilon = 1e-8, weight-decay = 0.01, no-decay = ['\.bias$', 'norm\.'] }}
schedule = {{ kind = "constant", warmup = 0.0 }}
stop = {{ kind = "epochs" }}
clip = {{ kind = "global-norm", max = 1.0 }}
"#
        );
        if let Some(dtype) = &self.cache {
            text += &format!("cache = {{ kind = \"on\", dtype = \"{dtype}\" }}\n");
        }
        for k in &self.strategies {
            for lr in &self.rates {
                text += &match k {
                    0 => format!(
                        "\n[[arm]]\nname = \"frozen-{lr:e}\"\nadaptation = {{ kind = \"frozen\", lr = {lr}, pooler = \"frozen\" }}\n"
                    ),
                    k => format!(
                        "\n[[arm]]\nname = \"last-{k}-{lr:e}\"\nadaptation = {{ kind = \"last-k\", k = {k}, lr = {lr}, pooler = \"frozen\", embeddings = \"frozen\" }}\n"
                    ),
                };
            }
        }
        text + &format!("\n[profiles.{PROFILE}]\n")
    }

    /// Puts the experiment into a project and expands it.
    pub fn expand(&self, project: &Project) -> Result<Vec<RunSpec>> {
        let folder = project.root.join("experiments").join(PAPER);
        fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{PAPER}.toml"));
        fs::write(&file, self.toml())?;
        Experiment::read(&file)?.expand(PROFILE)
    }
}

/// A project in `folder` without experiments yet, and the store of its runs.
pub fn scratch(folder: &Path) -> Result<(Project, Store)> {
    fs::create_dir_all(folder.join("experiments"))
        .with_context(|| format!("{}: cannot be made", folder.display()))?;
    Ok((Project::open(folder)?, Store::new(folder.join("runs"))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use burn::tensor::Device;
    use totune_adapt::{Cache, StoredDtype};
    use totune_model::{Bert, BertConfig, RandomWeights, Shape};
    use totune_sweep::Work;

    use super::*;

    fn expanded(grid: &Grid) -> Vec<RunSpec> {
        let folder = tempfile::tempdir().expect("a folder");
        let (scratch, _) = scratch(folder.path()).expect("a scratch project");
        grid.expand(&scratch).expect("expands")
    }

    fn grid() -> Grid {
        Grid {
            dataset: "rte".to_string(),
            encoder: "all-minilm-l6-v2".to_string(),
            seeds: SEEDS,
            rates: RATES.to_vec(),
            strategies: vec![0, 1],
            epochs: 3,
            cache: Some("f16".to_string()),
        }
    }

    #[test]
    fn a_sweep_is_every_strategy_at_every_rate_and_seed() {
        let runs = expanded(&grid());
        let ids: BTreeSet<String> = runs.iter().map(RunSpec::id).collect();
        assert_eq!((runs.len(), ids.len()), (40, 40));
    }

    /// An encoder as deep as the benchmark's, and narrow.
    fn encoder() -> Bert {
        let config = serde_json::json!({
            "vocab_size": 3, "hidden_size": 2, "num_hidden_layers": LAYERS, "num_attention_heads": 1,
            "intermediate_size": 2, "max_position_embeddings": 2, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
            "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0
        });
        let config: BertConfig = serde_json::from_value(config).expect("a shape");
        let loaded = config.load(&mut RandomWeights::new(1, 0.02), &Device::flex());
        loaded.expect("random weights have every shape")
    }

    #[test]
    fn runs_begin_where_their_strategy_leaves_something_frozen() {
        let grid = Grid {
            seeds: 1,
            rates: vec![1e-3],
            strategies: vec![0, 1, 2, 4],
            ..grid()
        };
        let starts: Vec<String> = expanded(&grid)
            .into_iter()
            .flat_map(|spec| match spec.work {
                Work::Tune(work) => {
                    let dtype = StoredDtype::F16;
                    assert_eq!(work.training.cache, Cache::On { dtype });
                    let starts = work.training.entry_layers(&encoder()).expect("in range");
                    starts.iter().map(ToString::to_string).collect::<Vec<_>>()
                }
                _ => unreachable!("the grid tunes"),
            })
            .collect();
        assert_eq!(starts, ["Mean pooling", "block 5", "block 4", "block 2"]);
    }
}
