//! Results: `compare.json`, from which the page is written.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use totune_stats::mean;

use super::job::{Job, JobResult, better_rate};

/// File of the results.
pub(super) const RESULTS: &str = "compare.json";

/// Everything that the page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regret {
    /// Always `regret`.
    pub benchmark: String,
    /// Name of the encoder.
    pub encoder: String,
    /// Seconds of the budget of a comparison.
    pub budget: u64,
    /// Seeds of the grid at length.
    pub seeds: u64,
    /// The cases.
    pub cases: Vec<CaseParts>,
}

/// A case with the parts of it that are done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseParts {
    /// Name of the dataset.
    pub dataset: String,
    /// True if committed fixtures were read, so that scores mean nothing.
    pub fixture: bool,
    /// The metric of all scores.
    pub metric: String,
    /// Rows to train on.
    pub rows: usize,
    /// Test examples.
    pub n_test: usize,
    /// Parts that are not done, as far as they are known.
    pub missing: usize,
    /// Parts that are done.
    pub parts: Vec<JobResult>,
}

/// The setting that a side ends with, and its test score.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Side {
    pub setting: String,
    pub dev: Option<f64>,
    pub test: Option<f64>,
    /// Seconds of the wall clock; none where a GPU computed some of it.
    pub seconds: Option<f64>,
}

impl Side {
    /// The strategy of its setting, without the learning rate.
    pub(super) fn strategy(&self) -> &str {
        let setting = &self.setting;
        setting.rsplit_once(' ').map_or(setting, |(name, _)| name)
    }
}

/// The sides of a case, in the order of the columns.
pub(super) const SIDES: [&str; 5] = [
    "`compare`",
    "its choice, trained at length",
    "best on dev of the grid",
    "regression on frozen vectors",
    "example script's defaults",
];

impl CaseParts {
    /// The strategies of the grid, each at its better learning rate, with mean scores over seeds.
    pub(super) fn grid(&self) -> Vec<Side> {
        let mut strategies: Vec<&str> = Vec::new();
        for part in &self.parts {
            if let Job::Grid { strategy, .. } = &part.job
                && !strategies.contains(&strategy.as_str())
            {
                strategies.push(strategy);
            }
        }
        strategies
            .into_iter()
            .filter_map(|name| self.of_strategy(name))
            .collect()
    }

    fn of_strategy(&self, name: &str) -> Option<Side> {
        let mut tried = Vec::new();
        for part in &self.parts {
            if let Job::Grid { strategy, lr, seed } = &part.job
                && strategy == name
            {
                tried.push((*lr, *seed, part));
            }
        }
        let n_rates = tried.iter().filter(|(_, seed, _)| *seed == 1).count();
        let lr = better_rate(&self.parts, name, n_rates)?;
        let at_rate = || {
            tried
                .iter()
                .filter(|(of, ..)| *of == lr)
                .map(|(.., part)| part)
        };
        Some(Side {
            setting: format!("{name} {lr:e}"),
            dev: mean_of(at_rate().map(|part| part.dev)),
            test: mean_of(at_rate().map(|part| part.test)),
            seconds: tried.iter().map(|(.., part)| part.seconds_of_cpu()).sum(),
        })
    }

    /// The best strategy of the grid on test, or the regression on frozen vectors where that is better, if every part is
    /// done.
    pub(super) fn best(&self) -> Option<Side> {
        let vectors = self.of_parts(|job| *job == Job::Vectors);
        let vectors = vectors.map(|side| Side {
            setting: "vectors".to_string(),
            ..side
        });
        let all = self.grid().into_iter().chain(vectors);
        let all = all.filter(|side| side.test.is_some());
        let best = all.max_by(|a, b| or_least(a.test).total_cmp(&or_least(b.test)));
        best.filter(|_| self.missing == 0)
    }

    /// The result of each of [`SIDES`].
    pub(super) fn sides(&self) -> [Option<Side>; SIDES.len()] {
        let grid = self.grid();
        let seconds = grid.iter().map(|side| side.seconds).sum();
        let on_dev = grid
            .into_iter()
            .max_by(|a, b| or_least(a.dev).total_cmp(&or_least(b.dev)));
        let compared = self.of_parts(|job| matches!(job, Job::Compare { .. }));
        [
            compared.clone(),
            compared.map(|side| self.at_length(side)),
            on_dev.map(|side| Side { seconds, ..side }),
            self.of_parts(|job| *job == Job::Vectors),
            self.of_parts(|job| matches!(job, Job::ExampleScript { .. })),
        ]
    }

    /// The strategy that a comparison chose, at its better learning rate in the grid; a floor remains as it is.
    fn at_length(&self, compared: Side) -> Side {
        let mut grid = self.grid().into_iter();
        let found = grid.find(|side| side.strategy() == compared.strategy());
        match found {
            Some(side) => Side {
                seconds: compared.seconds.zip(side.seconds).map(|(a, b)| a + b),
                ..side
            },
            None => compared,
        }
    }

    /// Mean scores and seconds of the parts of some jobs.
    fn of_parts(&self, is_one: impl Fn(&Job) -> bool) -> Option<Side> {
        let parts: Vec<&JobResult> = self.parts.iter().filter(|part| is_one(&part.job)).collect();
        let first = parts.first()?;
        Some(Side {
            setting: first.setting.clone(),
            dev: mean_of(parts.iter().map(|part| part.dev)),
            test: mean_of(parts.iter().map(|part| part.test)),
            seconds: mean_of(parts.iter().map(|part| part.seconds_of_cpu())),
        })
    }
}

/// The mean of values; none where one of them is none.
fn mean_of(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values
        .collect::<Option<Vec<f64>>>()
        .map(|values| mean(&values))
}

fn or_least(score: Option<f64>) -> f64 {
    score.unwrap_or(f64::NEG_INFINITY)
}

impl Regret {
    /// Results in `folder` that have the same settings as these; `None` where there are none.
    ///
    /// # Errors
    /// When there is a file of results that cannot be read.
    pub(super) fn of_same_settings(&self, folder: &Path) -> Result<Option<Self>> {
        let file = folder.join(RESULTS);
        if !file.is_file() {
            return Ok(None);
        }
        let found = Self::read(&file)?;
        let same =
            (&found.encoder, found.budget, found.seeds) == (&self.encoder, self.budget, self.seeds);
        Ok(same.then_some(found))
    }

    /// The case of this dataset with this number of rows.
    pub(super) fn case(&self, dataset: &str, rows: usize) -> Option<&CaseParts> {
        let mut cases = self.cases.iter();
        cases.find(|case| case.dataset == dataset && case.rows == rows)
    }

    /// Reads a file of results.
    ///
    /// # Errors
    /// When it cannot be read, or holds something else.
    pub fn read(file: &Path) -> Result<Self> {
        let shown = file.display();
        let text = fs::read_to_string(file).with_context(|| format!("{shown}: cannot be read"))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{shown}: found something else, expected results of `regret`"))
    }
}
