//! Grids of the works that train a model: sparse features, and pretrained encoders.

use anyhow::{Result, ensure};
use serde::Deserialize;
use toml::Table;
use totune_adapt::Training;
use totune_data::Split;
use totune_stats::Features;

use super::{Experiment, Place};
use crate::spec::LogisticSettings;
use crate::{RunSpec, SparseWork, TuneWork, Work};

/// Keys of a `sparse` experiment.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SparseGrid {
    /// Read before; it is here so that a typo in its name is noticed.
    #[expect(dead_code)]
    datasets: Vec<String>,
    split: Vec<Split>,
    features: Vec<Features>,
    logistic: LogisticSettings,
    #[serde(default = "one_seed")]
    seeds: Vec<u64>,
}

/// Default seeds of sparse runs: nothing in them is random, so one seed is enough unless a file says otherwise.
pub(super) fn one_seed() -> Vec<u64> {
    vec![0]
}

/// Keys of a `fine-tune` experiment, apart from the settings of its [`Training`], which refuses unknown keys.
#[derive(Deserialize)]
struct TuneGrid {
    encoders: Vec<String>,
    split: Vec<Split>,
    seeds: Vec<u64>,
}

/// Valid values of every key that has no default, see [`crate::settings::typed::SourceTexts::all`].
const SPARSE: &str = r#"
datasets = ["d"]
split = [{ kind = "hold-out", test = 0.5, seed = 0 }]
features = ["count"]
logistic = { c = 1.0, max-iter = 1, tol = 1e-4 }
"#;
const TUNE: &str = r#"
encoders = ["e"]
split = [{ kind = "hold-out", test = 0.5, seed = 0 }]
seeds = [0]
"#;
pub(super) const TRAINING: &str = r#"
head = { pooling = "mean", dropout = 0.1 }
adaptation = { kind = "frozen", lr = 1e-3, pooler = "frozen" }
optimizer = { kind = "adam-w", betas = [0.9, 0.999], epsilon = 1e-8, weight-decay = 0.0, no-decay = [] }
schedule = { kind = "constant", warmup = 0.0 }
clip = { kind = "none" }
stop = { kind = "epochs" }
batch-size = 1
evaluation-batch-size = 1
epochs = 1
max-length = 8
dropout = 0.0
frozen-dropout = "off"
bucketing = "off"
dtype = "f32"
"#;

impl Experiment {
    pub(super) fn expand_sparse(
        &self,
        place: &Place,
        grid: &Table,
    ) -> Result<Vec<RunSpec>, Vec<String>> {
        let grid: SparseGrid = self.sources.all(grid, SPARSE)?;
        let splits = folds(&grid.split);
        some_of([
            ("split", splits.is_empty()),
            ("features", grid.features.is_empty()),
            ("seeds", grid.seeds.is_empty()),
        ])?;
        let mut runs = Vec::new();
        for part in splits {
            for features in &grid.features {
                for seed in &grid.seeds {
                    let work = Work::Sparse(SparseWork {
                        features: *features,
                        logistic: grid.logistic,
                    });
                    runs.push(self.run(place, part, *seed, work));
                }
            }
        }
        Ok(runs)
    }

    pub(super) fn expand_tune(
        &self,
        place: &Place,
        grid: &Table,
    ) -> Result<Vec<RunSpec>, Vec<String>> {
        const GRID: [&str; 4] = ["datasets", "encoders", "split", "seeds"];
        let mut settings = grid.clone();
        for key in GRID {
            settings.remove(key);
        }
        let grid = self.sources.all::<TuneGrid>(grid, TUNE);
        let training = self.sources.all_of::<Training>(&settings, TRAINING, &GRID);
        let (grid, training) = match (grid, training) {
            (Ok(grid), Ok(training)) => (grid, training),
            (grid, training) => {
                let errors = [grid.err(), training.err()];
                return Err(errors.into_iter().flatten().flatten().collect());
            }
        };
        let splits = folds(&grid.split);
        some_of([
            ("encoders", grid.encoders.is_empty()),
            ("split", splits.is_empty()),
            ("seeds", grid.seeds.is_empty()),
        ])?;
        let mut runs = Vec::new();
        for encoder in &grid.encoders {
            for part in &splits {
                for seed in &grid.seeds {
                    let work = Work::Tune(Box::new(TuneWork {
                        encoder: encoder.clone(),
                        training: training.clone(),
                    }));
                    runs.push(self.run(place, *part, *seed, work));
                }
            }
        }
        Ok(runs)
    }
}

/// Each split once per fold.
pub(super) fn folds(splits: &[Split]) -> Vec<(&Split, usize)> {
    let folds = |split| (0..Split::n_folds(split)).map(move |fold| (split, fold));
    splits.iter().flat_map(folds).collect()
}

/// Refuses empty lists, naming all of them at once.
pub(super) fn some_of<const N: usize>(lists: [(&str, bool); N]) -> Result<(), Vec<String>> {
    let empty = lists.iter().filter(|(_, is_empty)| *is_empty);
    let errors: Vec<String> = empty.map(|(key, _)| is_empty(key)).collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

pub(super) fn some<T>(key: &str, values: &[T]) -> Result<()> {
    ensure!(!values.is_empty(), "{}", is_empty(key));
    Ok(())
}

fn is_empty(key: &str) -> String {
    format!("{key}: the list is empty; expected at least one")
}
