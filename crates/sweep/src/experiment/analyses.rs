//! Grids of the works that look at an encoder or at texts.

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_adapt::Training;
use totune_data::{Pairs, Split};

use super::{Experiment, folds, one_seed, some};
use crate::spec::LogisticSettings;
use crate::{DivergenceWork, Information, ProbeInput, ProbeWork, ProbedStates, RunSpec, Work};

/// What a `probe` experiment has: `datasets`, `encoders`, `[[split]]`, `states`, `input` and `seeds` multiply.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ProbeGrid {
    /// Read before ([`super::Named`]); it is here so that a slip of its name is noticed.
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
    /// For the states that are fine-tuned.
    training: Option<Box<Training>>,
    seeds: Vec<u64>,
}

/// What a `divergence` experiment has: `datasets` and `[[split]]` multiply.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct DivergenceGrid {
    /// Read before ([`super::Named`]); it is here so that a slip of its name is noticed.
    #[expect(dead_code)]
    datasets: Vec<String>,
    split: Vec<Split>,
    texts: Vec<String>,
    terms: usize,
    #[serde(default = "one_seed")]
    seeds: Vec<u64>,
}

impl Experiment {
    pub(super) fn expand_probe(
        &self,
        profile: &str,
        dataset: &str,
        grid: &ProbeGrid,
    ) -> Result<Vec<RunSpec>> {
        some("encoders", &grid.encoders)?;
        some("states", &grid.states)?;
        some("input", &grid.input)?;
        some("seeds", &grid.seeds)?;
        ensure!(
            grid.training.is_none() || grid.states.contains(&ProbedStates::FineTuned),
            "training: given; expected none, since no states are \"fine-tuned\""
        );
        let mut runs = Vec::new();
        for encoder in &grid.encoders {
            for (split, fold) in folds(&grid.split)? {
                for &states in &grid.states {
                    for &input in &grid.input {
                        for seed in &grid.seeds {
                            let training = match states {
                                ProbedStates::Pretrained => None,
                                ProbedStates::FineTuned => grid.training.clone(),
                            };
                            let work = Work::Probe(Box::new(ProbeWork {
                                encoder: encoder.clone(),
                                states,
                                input,
                                max_length: grid.max_length,
                                pairs: grid.pairs,
                                evaluation_batch_size: grid.evaluation_batch_size,
                                logistic: grid.logistic,
                                mi: grid.mi,
                                training,
                            }));
                            runs.push(self.run(profile, dataset, split, fold, *seed, work));
                        }
                    }
                }
            }
        }
        Ok(runs)
    }

    pub(super) fn expand_divergence(
        &self,
        profile: &str,
        dataset: &str,
        grid: &DivergenceGrid,
    ) -> Result<Vec<RunSpec>> {
        some("seeds", &grid.seeds)?;
        let mut runs = Vec::new();
        for (split, fold) in folds(&grid.split)? {
            for seed in &grid.seeds {
                let work = Work::Divergence(DivergenceWork {
                    texts: grid.texts.clone(),
                    terms: grid.terms,
                });
                runs.push(self.run(profile, dataset, split, fold, *seed, work));
            }
        }
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::expand;

    const DIVERGENCE: &str = r#"
paper = "p"
experiment = "e"
kind = "divergence"
datasets = ["a", "b"]
split = [{ kind = "files", test = "dev", dev = 0.0, seed = 0 }]
texts = ["wiki", "books"]
terms = 10000

[profiles.all]
"#;

    const PROBE: &str = r#"
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
        assert_eq!(expand(DIVERGENCE, "all").expect("expands").len(), 2);
    }

    #[test]
    fn a_probe_is_multiplied_by_its_plurals() {
        let runs = expand(PROBE, "all").expect("expands");
        assert_eq!(runs.len(), 2 * 2 * 3);
        assert_eq!(
            runs[0].label(),
            "e · a · c · probe of mean, pretrained · test on dev · seed 1"
        );
    }

    #[test]
    fn what_is_out_of_place_is_named() {
        for (source, good, bad, expected) in [
            (
                PROBE,
                "\"edge\"",
                "\"edges\"",
                "unknown choice `edges`; did you mean `edge`?",
            ),
            (
                PROBE,
                "\"pretrained\"",
                "\"fine-tuned\"",
                "training: not given",
            ),
            (
                PROBE,
                "max-length = 64",
                "max-length = 3",
                "max-length: found 3",
            ),
            (
                PROBE,
                "states",
                "state",
                "unknown key `state`; did you mean `states`?",
            ),
            (DIVERGENCE, "terms = 10000", "terms = 0", "terms: found 0"),
            (
                DIVERGENCE,
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
