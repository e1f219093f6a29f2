//! Grids of floors.

use serde::Deserialize;
use toml::Table;
use totune_adapt::Training;
use totune_data::Split;

use super::grids::{folds, some_of};
use super::{Experiment, Place};
use crate::settings::typed::keys;
use crate::spec::Floor;
use crate::{FloorWork, RunSpec, Work};

/// Keys of a `floor` experiment. A paper's training settings below it are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FloorGrid {
    /// Read before; it is here so that a typo in its name is noticed.
    #[expect(dead_code)]
    datasets: Vec<String>,
    split: Vec<Split>,
    floor: Floor,
    #[serde(default)]
    encoders: Vec<String>,
    max_length: Option<usize>,
    evaluation_batch_size: Option<usize>,
}

/// Valid values of every key that has no default, see [`crate::settings::typed::SourceTexts::all`].
const FLOOR: &str = r#"
datasets = ["d"]
split = [{ kind = "hold-out", test = 0.5, seed = 0 }]
floor = { kind = "majority" }
"#;

/// Settings that floors share with a training.
const SHARED: [&str; 2] = ["max-length", "evaluation-batch-size"];

impl Experiment {
    pub(super) fn expand_floor(
        &self,
        place: &Place,
        grid: &Table,
    ) -> Result<Vec<RunSpec>, Vec<String>> {
        let mut grid = grid.clone();
        // Nothing in a floor is random, so it is a single run, whatever seeds other experiments have.
        grid.remove("seeds");
        for key in keys::<Training>() {
            if !SHARED.contains(key) {
                grid.remove(*key);
            }
        }
        let grid: FloorGrid = self.sources.all(&grid, FLOOR)?;
        let splits = folds(&grid.split);
        some_of([
            ("split", splits.is_empty()),
            (
                "encoders",
                grid.floor.needs_encoder() && grid.encoders.is_empty(),
            ),
        ])?;
        let encoders: Vec<Option<&String>> = if grid.floor.needs_encoder() {
            grid.encoders.iter().map(Some).collect()
        } else {
            vec![None]
        };
        let mut runs = Vec::new();
        for encoder in encoders {
            for part in &splits {
                let work = Work::Floor(Box::new(FloorWork {
                    floor: grid.floor.clone(),
                    encoder: encoder.cloned(),
                    max_length: encoder.and(grid.max_length),
                    evaluation_batch_size: encoder.and(grid.evaluation_batch_size),
                }));
                runs.push(self.run(place, *part, 0, work));
            }
        }
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::expand;

    const FLOORS: &str = r#"
paper = "p"
experiment = "e"
kind = "floor"
datasets = ["a", "b"]
encoders = ["c", "d"]
split = [{ kind = "files", test = "dev", dev = 0.0, seed = 0 }]
max-length = 64
evaluation-batch-size = 32
seeds = [1, 2, 3]
epochs = 3
stop = { metric = "accuracy" }

[presets.floor]
words = { kind = "word-counts", regression = { c = [1.0], alpha = [1.0], folds = 5, max-iter = 100, tol = 1e-4 } }

[[arm]]
name = "majority"
floor = { kind = "majority" }

[[arm]]
name = "words"
floor = "words"

[[arm]]
name = "cosine-{floor.layer}"
datasets = ["b"]
floor = { kind = "cosine", pooling = "mean" }
each = { "floor.layer" = [0, 3] }

[profiles.all]
"#;

    #[test]
    fn a_floor_is_one_run_for_each_dataset_and_encoder_that_it_uses() {
        let runs = expand(FLOORS, "all").expect("expands");
        let labels: Vec<String> = runs.iter().map(crate::RunSpec::label).collect();
        assert_eq!(
            labels,
            [
                "e · a · majority · scored on dev",
                "e · a · word counts · scored on dev",
                "e · b · majority · scored on dev",
                "e · b · word counts · scored on dev",
                "e · b · c · cosine, mean, layer 0 · scored on dev",
                "e · b · d · cosine, mean, layer 0 · scored on dev",
                "e · b · c · cosine, mean, layer 3 · scored on dev",
                "e · b · d · cosine, mean, layer 3 · scored on dev",
            ]
        );
        for run in runs {
            assert_eq!(run.seed, 0);
            let read = crate::RunSpec::read(&run.canonical_json()).expect("reads");
            assert_eq!(read, run);
        }
    }

    #[test]
    fn what_is_out_of_place_is_named() {
        for (good, bad, expected) in [
            (
                "epochs = 3",
                "epoch = 3",
                "unknown key `epoch`; expected one of `datasets`, `split`, `floor`",
            ),
            (
                "\"majority\" }",
                "\"mayority\" }",
                "unknown choice `mayority`; did you mean `majority`?",
            ),
            (
                "max-length = 64\n",
                "",
                "max-length: not given; expected one for a floor of vectors",
            ),
            (
                "[\"c\", \"d\"]",
                "[]",
                "encoders: the list is empty; expected at least one (arm cosine-0, cosine-3)",
            ),
            (
                "c = [1.0]",
                "c = [1.0, 0.0]",
                "floor.regression.c: found 0, expected more than 0",
            ),
            (
                "folds = 5",
                "folds = 1",
                "floor.regression.folds: found 1, expected at least 2",
            ),
        ] {
            assert!(FLOORS.contains(good), "{good}");
            let error = expand(&FLOORS.replacen(good, bad, 1), "all").expect_err(bad);
            assert!(format!("{error:#}").contains(expected), "{bad}: {error:#}");
        }
    }
}
