//! Search for hyper-parameters: the trials of each cell of a grid, and the choice among them by scores on dev.
//!
//! A cell is one combination of everything that a grid varies, except for the seed. Its trials are ordinary runs of the
//! experiment `<name>-search`, so they are kept, resumed and collected like any other; the cell's own runs take the
//! setting of the best one. The choice depends only on final scores on dev.

use anyhow::{Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};
use totune_data::Split;

use crate::RunSpec;
use crate::settings::suggest;
use crate::settings::typed::SourceTexts;

mod budget;
mod choice;
mod range;

pub use budget::UnequalSearch;
pub(crate) use choice::{Choice, Scored};
use range::Range;
use totune_record::OF_TRIALS;

/// `[search]` of an experiment file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Search {
    trials: Trials,
    /// Seeds of each trial.
    seeds: Vec<u64>,
    /// Metric on dev; `None` for the dataset's main one.
    metric: Option<String>,
    /// Searched settings with their ranges, by paths into the spec, in alphabetical order.
    ranges: Vec<(String, Range)>,
    /// Changes of the trials' split relative to that of the cell's own runs, such as fewer training examples.
    split: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Trials {
    /// Every combination.
    Grid,
    /// A number of them, sampled with this seed.
    Random { trials: usize, seed: u64 },
}

/// `[search]` as written in the file.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Written {
    None {},
    Grid {
        seeds: Vec<u64>,
        metric: Option<String>,
        ranges: toml::Table,
        #[serde(default)]
        split: Map<String, Value>,
    },
    Random {
        trials: usize,
        seed: u64,
        seeds: Vec<u64>,
        metric: Option<String>,
        ranges: toml::Table,
        #[serde(default)]
        split: Map<String, Value>,
    },
}

/// Values by their paths into the spec.
pub(crate) type Setting = Vec<(String, Value)>;

/// One combination of everything that a grid varies except for the seed, with a search of its own.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// One list of runs, a run for each seed of the search, per setting.
    pub trials: Vec<(Setting, Vec<RunSpec>)>,
    /// The cell's own runs, with the values of the file in place of those of the best trial.
    pub own: Vec<RunSpec>,
    /// Metric on dev; `None` for the dataset's main one.
    pub metric: Option<String>,
}

impl Search {
    /// Takes `search` out of a grid; `None` where there is none, or its kind is `none`.
    pub fn take(grid: &mut toml::Table, sources: &SourceTexts) -> Result<Option<Self>> {
        let Some(written) = grid.remove("search") else {
            return Ok(None);
        };
        let written = Written::deserialize(written)
            .map_err(|error| anyhow::anyhow!("search: {}", sources.explain(&error.to_string())))?;
        let (trials, seeds, metric, ranges, split) = match written {
            Written::None {} => return Ok(None),
            Written::Grid {
                seeds,
                metric,
                ranges,
                split,
            } => (Trials::Grid, seeds, metric, ranges, split),
            Written::Random {
                trials,
                seed,
                seeds,
                metric,
                ranges,
                split,
            } => (
                Trials::Random { trials, seed },
                seeds,
                metric,
                ranges,
                split,
            ),
        };
        ensure!(
            !seeds.is_empty(),
            "search.seeds: the list is empty; expected at least one"
        );
        ensure!(
            !ranges.is_empty(),
            "search.ranges: found none; expected a path into the spec, such as \"work.training.adaptation.lr\", with values"
        );
        let mut read = Vec::new();
        for (path, value) in ranges {
            let range = Range::read(value)
                .map_err(|error| anyhow::anyhow!("search.ranges: `{path}`: {error:#}"))?;
            ensure!(
                trials != Trials::Grid || range.choices().is_some(),
                "search.ranges: `{path}`: found a range, expected a list of values; ranges are for kind = \"random\""
            );
            read.push((path, range));
        }
        let search = Self {
            trials,
            seeds,
            metric,
            ranges: read,
            split,
        };
        search.check_number()?;
        Ok(Some(search))
    }

    /// Refuses more trials than there are settings.
    fn check_number(&self) -> Result<()> {
        let Trials::Random { trials, .. } = self.trials else {
            return Ok(());
        };
        ensure!(trials >= 1, "search.trials: found 0, expected at least 1");
        let mut sizes = self.ranges.iter().map(|(_, range)| range.size());
        let all = sizes.try_fold(1usize, |all, size| all.checked_mul(size?));
        if let Some(all) = all {
            ensure!(
                trials <= all,
                "search.trials: found {trials}, expected at most {all}, the number of different settings"
            );
        }
        Ok(())
    }

    /// The settings to try, in order: for a grid, the last path varies fastest. They depend only on the search, so that
    /// all cells try the same ones.
    pub fn settings(&self) -> Vec<Setting> {
        match self.trials {
            Trials::Grid => {
                let mut settings = vec![Setting::new()];
                for (path, range) in &self.ranges {
                    let choices = range.choices().expect("checked when it was read");
                    let with = |setting: &Setting| {
                        let setting = setting.clone();
                        choices.iter().map(move |value| {
                            let mut setting = setting.clone();
                            setting.push((path.clone(), value.clone()));
                            setting
                        })
                    };
                    settings = settings.iter().flat_map(with).collect();
                }
                settings
            }
            Trials::Random { trials, seed } => {
                let mut settings = Vec::new();
                // A setting that was sampled before is sampled again; `check_number` ensures that there are enough.
                let mut number = 0;
                while settings.len() < trials {
                    let draw = |(path, range): &(String, Range)| {
                        (path.clone(), range.draw(seed, path, number))
                    };
                    let setting: Setting = self.ranges.iter().map(draw).collect();
                    if !settings.contains(&setting) {
                        settings.push(setting);
                    }
                    number += 1;
                }
                settings
            }
        }
    }

    /// The cells of these runs, each with its trials.
    pub fn cells(&self, runs: Vec<RunSpec>) -> Result<Vec<Cell>> {
        let settings = self.settings();
        let mut cells: Vec<Vec<RunSpec>> = Vec::new();
        for mut run in runs {
            run.search = self.ranges.iter().map(|(path, _)| path.clone()).collect();
            run.search_trials = Some(settings.len());
            let same = |cell: &&mut Vec<RunSpec>| same_but_for_the_seed(&cell[0], &run);
            match cells.iter_mut().find(same) {
                Some(cell) => cell.push(run),
                None => cells.push(vec![run]),
            }
        }
        let cell = |own: Vec<RunSpec>| -> Result<Cell> {
            let mut trials = Vec::new();
            for setting in &settings {
                let mut trial = apply(&own[0], setting)?;
                trial.split = self.split_of_trials(&trial.split)?;
                trial.experiment.push_str(OF_TRIALS);
                trial.search_trials = None;
                let with_seed = |&seed| RunSpec {
                    seed,
                    ..trial.clone()
                };
                let runs = self.seeds.iter().map(with_seed).collect();
                trials.push((setting.clone(), runs));
            }
            Ok(Cell {
                trials,
                own,
                metric: self.metric.clone(),
            })
        };
        cells.into_iter().map(cell).collect()
    }

    fn split_of_trials(&self, own: &Split) -> Result<Split> {
        if self.split.is_empty() {
            return Ok(own.clone());
        }
        let mut json = serde_json::to_value(own)?;
        let keys = json
            .as_object_mut()
            .expect("a split is written as an object");
        keys.extend(self.split.clone());
        serde_json::from_value(json).map_err(|error| {
            anyhow::anyhow!("search.split: {}", suggest::explain(&error.to_string(), ""))
        })
    }
}

fn same_but_for_the_seed(a: &RunSpec, b: &RunSpec) -> bool {
    let seed = a.seed;
    *a == RunSpec { seed, ..b.clone() }
}

/// The spec with these values in it.
pub(crate) fn apply(spec: &RunSpec, setting: &Setting) -> Result<RunSpec> {
    let mut json = serde_json::to_value(spec)?;
    for (path, value) in setting {
        set(&mut json, path, value)
            .map_err(|error| anyhow::anyhow!("search.ranges: `{path}`: {error:#}"))?;
    }
    let paths: Vec<&str> = setting.iter().map(|(path, _)| path.as_str()).collect();
    serde_json::from_value(json).map_err(|error| {
        let error = suggest::explain(&error.to_string(), "");
        anyhow::anyhow!("search.ranges: {}: {error}", paths.join(", "))
    })
}

fn set(json: &mut Value, path: &str, value: &Value) -> Result<()> {
    ensure!(
        path.starts_with("work."),
        "expected a path into the work, such as `work.training.adaptation.lr`"
    );
    let (mut place, mut rest, mut above) = (json, path, String::new());
    loop {
        let Value::Object(object) = place else {
            bail!("`{above}` has no settings below it");
        };
        let Some((key, below)) = rest.split_once('.') else {
            // Serde refuses a key that does not exist.
            object.insert(rest.to_string(), value.clone());
            return Ok(());
        };
        let known: Vec<String> = object.keys().cloned().collect();
        let Some(next) = object.get_mut(key) else {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            bail!(suggest::unknown("key", key, &known));
        };
        above = if above.is_empty() {
            key.to_string()
        } else {
            format!("{above}.{key}")
        };
        (place, rest) = (next, below);
    }
}

#[cfg(test)]
mod tests;
