//! Grids of the works that look at an encoder or at texts.

use serde::Deserialize;
use toml::Table;
use totune_adapt::Training;
use totune_data::{Pairs, Split};

use super::grids::{folds, one_seed, some_of};
use super::{Experiment, Place};
use crate::spec::LogisticSettings;
use crate::{DivergenceWork, Information, ProbeInput, ProbeWork, ProbedStates, RunSpec, Work};

/// Keys of a `probe` experiment.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ProbeGrid {
    /// Read before; it is here so that a typo in its name is noticed.
    #[expect(dead_code)]
    datasets: Vec<String>,
    encoders: Vec<String>,
    split: Vec<Split>,
    states: Vec<ProbedStates>,
    input: Vec<ProbeInput>,
    max_length: usize,
    #[serde(default)]
    pairs: Pairs,
    evaluation_batch_size: usize,
    logistic: LogisticSettings,
    mi: Information,
    /// Training of the fine-tuned states.
    training: Option<Box<Training>>,
    seeds: Vec<u64>,
}

/// Keys of a `divergence` experiment.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct DivergenceGrid {
    /// Read before; it is here so that a typo in its name is noticed.
    #[expect(dead_code)]
    datasets: Vec<String>,
    split: Vec<Split>,
    texts: Vec<String>,
    terms: usize,
    #[serde(default = "one_seed")]
    seeds: Vec<u64>,
}

/// Valid values of every key that has no default, see [`crate::settings::typed::SourceTexts::all`].
const PROBE: &str = r#"
datasets = ["d"]
encoders = ["e"]
split = [{ kind = "hold-out", test = 0.5, seed = 0 }]
states = ["pretrained"]
input = ["mean"]
max-length = 8
evaluation-batch-size = 1
logistic = { c = 1.0, max-iter = 1, tol = 1e-4 }
mi = "off"
seeds = [0]
"#;
const DIVERGENCE: &str = r#"
datasets = ["d"]
split = [{ kind = "files", test = "dev", dev = 0.0, seed = 0 }]
texts = ["t"]
terms = 1
"#;

impl Experiment {
    pub(super) fn expand_probe(
        &self,
        place: &Place,
        grid: &Table,
    ) -> Result<Vec<RunSpec>, Vec<String>> {
        let grid: ProbeGrid = self.sources.all(grid, PROBE)?;
        let splits = folds(&grid.split);
        some_of([
            ("encoders", grid.encoders.is_empty()),
            ("split", splits.is_empty()),
            ("states", grid.states.is_empty()),
            ("input", grid.input.is_empty()),
            ("seeds", grid.seeds.is_empty()),
        ])?;
        let mut runs = Vec::new();
        for encoder in &grid.encoders {
            for part in &splits {
                for &states in &grid.states {
                    for &input in &grid.input {
                        for seed in &grid.seeds {
                            let work = grid.work(encoder, states, input);
                            let work = Work::Probe(Box::new(work));
                            runs.push(self.run(place, *part, *seed, work));
                        }
                    }
                }
            }
        }
        Ok(runs)
    }

    pub(super) fn expand_divergence(
        &self,
        place: &Place,
        grid: &Table,
    ) -> Result<Vec<RunSpec>, Vec<String>> {
        let grid: DivergenceGrid = self.sources.all(grid, DIVERGENCE)?;
        let splits = folds(&grid.split);
        some_of([
            ("split", splits.is_empty()),
            ("seeds", grid.seeds.is_empty()),
        ])?;
        let mut runs = Vec::new();
        for part in splits {
            for seed in &grid.seeds {
                let work = Work::Divergence(DivergenceWork {
                    texts: grid.texts.clone(),
                    terms: grid.terms,
                });
                runs.push(self.run(place, part, *seed, work));
            }
        }
        Ok(runs)
    }
}

impl ProbeGrid {
    fn work(&self, encoder: &str, states: ProbedStates, input: ProbeInput) -> ProbeWork {
        ProbeWork {
            encoder: encoder.to_string(),
            states,
            input,
            max_length: self.max_length,
            pairs: self.pairs,
            evaluation_batch_size: self.evaluation_batch_size,
            logistic: self.logistic,
            mi: self.mi,
            training: match states {
                ProbedStates::Pretrained => None,
                ProbedStates::FineTuned => self.training.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::expand;

    const DISTANCES: &str = r#"
paper = "p"
experiment = "e"
kind = "divergence"
datasets = ["a", "b"]
split = [{ kind = "files", test = "dev", dev = 0.0, seed = 0 }]
texts = ["wiki", "books"]
terms = 10000

[profiles.all]
"#;

    const PROBES: &str = r#"
paper = "p"
experiment = "e"
kind = "probe"
datasets = ["a", "b"]
encoders = ["c"]
split = [{ kind = "files", test = "dev", dev = 0.0, seed = 0 }]
states = ["pretrained"]
input = ["mean", "first"]
max-length = 64
evaluation-batch-size = 32
logistic = { c = 1.0, max-iter = 100, tol = 1e-4 }
mi = "edge"
seeds = [1, 2, 3]

[profiles.all]
"#;

    #[test]
    fn a_divergence_is_one_run_for_each_dataset() {
        assert_eq!(expand(DISTANCES, "all").expect("expands").len(), 2);
    }

    #[test]
    fn a_probe_is_multiplied_by_its_plurals() {
        let runs = expand(PROBES, "all").expect("expands");
        assert_eq!(runs.len(), 2 * 2 * 3);
        assert_eq!(
            runs[0].label(),
            "e · a · c · probe of mean, pretrained · scored on dev · seed 1"
        );
    }

    #[test]
    fn what_is_out_of_place_is_named() {
        for (source, good, bad, expected) in [
            (
                PROBES,
                "\"edge\"",
                "\"edges\"",
                "unknown choice `edges`; did you mean `edge`?",
            ),
            (
                PROBES,
                "\"pretrained\"",
                "\"fine-tuned\"",
                "training: not given",
            ),
            (
                PROBES,
                "max-length = 64",
                "max-length = 3",
                "max-length: found 3",
            ),
            (
                PROBES,
                "states",
                "state",
                "unknown key `state`; did you mean `states`?",
            ),
            (DISTANCES, "terms = 10000", "terms = 0", "terms: found 0"),
            (
                DISTANCES,
                "[\"wiki\", \"books\"]",
                "[]",
                "texts: the list is empty",
            ),
        ] {
            assert!(source.contains(good), "{good}");
            let error = expand(&source.replacen(good, bad, 1), "all").expect_err(bad);
            assert!(format!("{error:#}").contains(expected), "{bad}: {error:#}");
        }
    }
}
