//! The runs that are timed, as experiment files of a project made for them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use totune_sweep::{Experiment, Project, RunSpec, Store};

/// Profile of all experiments here.
pub const PROFILE: &str = "paper";
/// The encoder that is adapted.
pub const ENCODER: &str = "all-minilm-l6-v2";
/// Layers of that encoder.
pub const LAYERS: usize = 6;
/// Examples in a step.
pub const BATCH: usize = 32;
/// Examples in a batch that is scored.
pub const EVALUATION_BATCH: usize = 64;
/// Wordpieces of an example.
pub const MAX_LENGTH: usize = 128;
/// Rates of the sweep, those of wang2023.
pub const RATES: [f64; 2] = [2e-5, 1e-3];
/// Seeds of the sweep.
pub const SEEDS: u64 = 10;

/// What the settings of the runs are called in settings.
pub struct Grid<'a> {
    /// Paper and experiment.
    pub name: &'a str,
    /// Dataset card.
    pub dataset: &'a str,
    /// How many seeds, from 1 on.
    pub seeds: u64,
    /// Rates.
    pub rates: &'a [f64],
    /// 0 stands for `frozen`, k for `last-k`.
    pub strategies: &'a [usize],
    /// Passes over the training examples.
    pub epochs: usize,
    /// What states are kept in; none to compute them in every pass.
    pub cache: Option<&'a str>,
    /// The most training examples.
    pub train_limit: Option<usize>,
}

impl Grid<'_> {
    /// The experiment file.
    fn toml(&self) -> String {
        let Self {
            name,
            dataset,
            epochs,
            ..
        } = self;
        let seeds: Vec<u64> = (1..=self.seeds).collect();
        let limit = self.train_limit.map(|n| format!(", train-limit = {n}"));
        let limit = limit.unwrap_or_default();
        let mut text = format!(
            r#"
paper = "{name}"
experiment = "{name}"
kind = "tune"
datasets = ["{dataset}"]
encoders = ["{ENCODER}"]
seeds = {seeds:?}
split = [{{ kind = "files", test = "dev", dev = 0.0, seed = 13{limit} }}]
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
        if let Some(dtype) = self.cache {
            text += &format!("cache = {{ kind = \"on\", dtype = \"{dtype}\" }}\n");
        }
        for k in self.strategies {
            for lr in self.rates {
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
        let folder = project.root.join("experiments").join(self.name);
        fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{}.toml", self.name));
        fs::write(&file, self.toml())?;
        Experiment::read(&file)?.expand(PROFILE)
    }
}

/// A project in `folder` with the cards of `project` and no experiments, and the store of its runs.
pub fn scratch(project: &Project, folder: &Path) -> Result<(Project, Store)> {
    fs::create_dir_all(folder.join("experiments"))?;
    for kind in ["datasets", "encoders"] {
        let (from, to) = (project.root.join(kind), folder.join(kind));
        fs::create_dir_all(&to)?;
        let cards =
            fs::read_dir(&from).with_context(|| format!("{}: cannot list", from.display()))?;
        for card in cards {
            let card = card?.path();
            if let Some(name) = card.file_name().filter(|_| card.is_file()) {
                fs::copy(&card, to.join(name))?;
            }
        }
    }
    Ok((Project::open(folder)?, Store::new(folder.join("runs"))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use burn::tensor::Device;
    use totune_adapt::{Cache, StoredDtype};
    use totune_model::{Bert, BertConfig, RandomWeights};
    use totune_sweep::Work;

    use super::*;

    fn expanded(grid: &Grid) -> Vec<RunSpec> {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let project = Project::open(&root).expect("the repository");
        let (scratch, _) = scratch(&project, folder.path()).expect("a scratch project");
        grid.expand(&scratch).expect("expands")
    }

    const GRID: Grid = Grid {
        name: "bench",
        dataset: "rte",
        seeds: SEEDS,
        rates: &RATES,
        strategies: &[0, 1],
        epochs: 3,
        cache: Some("f16"),
        train_limit: None,
    };

    #[test]
    fn a_sweep_is_every_strategy_at_every_rate_and_seed() {
        let runs = expanded(&GRID);
        let ids: BTreeSet<String> = runs.iter().map(RunSpec::id).collect();
        assert_eq!((runs.len(), ids.len()), (40, 40));
    }

    /// As deep as the benchmark's, and narrow.
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
    fn runs_begin_where_their_strategy_leaves_something_fixed() {
        let grid = Grid {
            seeds: 1,
            rates: &[1e-3],
            strategies: &[0, 1, 2, 4],
            ..GRID
        };
        let starts: Vec<String> = expanded(&grid)
            .into_iter()
            .flat_map(|spec| match spec.work {
                Work::Tune(work) => {
                    let dtype = StoredDtype::F16;
                    assert_eq!(work.training.cache, Cache::On { dtype });
                    let starts = work.training.starts(&encoder()).expect("in range");
                    starts.iter().map(ToString::to_string).collect::<Vec<_>>()
                }
                _ => unreachable!("the grid tunes"),
            })
            .collect();
        assert_eq!(starts, ["Mean pooling", "block 5", "block 4", "block 2"]);
    }
}
