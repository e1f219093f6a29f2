//! The parts of a case: a comparison, a training or a floor each, done by one process and stored.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use totune_adapt::{Dtype, Strategy};
use totune_compare::{
    Clock, Reference, Request, SEPARATE, Scores, Setting, compare, usual_entrants,
};
use totune_data::{Pairs, Task};
use totune_model::EncoderCard;
use totune_sweep::Environment;
use totune_sweep::load_average;

use super::case::Case;
use crate::machine::Machine;

/// Seeds of the leaders of a comparison, and the difference that does not matter: the defaults of `totune compare`.
const MOST_SEEDS: usize = 10;
const MARGIN: f64 = 0.01;

/// Something to do for a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Job {
    /// A comparison of these strategies within a budget.
    Compare {
        /// Seconds of the budget.
        budget: u64,
        /// Names of the strategies.
        strategies: Vec<String>,
    },
    /// Logistic or ridge regression on frozen vectors.
    Vectors,
    /// Full fine-tuning with the defaults of transformers' example scripts.
    ExampleScript {
        /// Seed.
        seed: u64,
    },
    /// A training of the grid at length.
    Grid {
        /// Name of the strategy, with [`SEPARATE`] where it reads each text of a pair by itself.
        strategy: String,
        /// Peak learning rate.
        lr: f64,
        /// Seed.
        seed: u64,
    },
}

/// The dtype of parts that do not say theirs.
fn before_dtypes() -> String {
    Dtype::F32.label().to_string()
}

/// The device of parts that do not say theirs.
fn before_devices() -> String {
    "cpu (LibTorch 2.11.0)".to_string()
}

impl Job {
    /// The dtype of its trainings where others have `fastest`: that of the example scripts, and of regressions, is f32.
    fn dtype(&self, fastest: Dtype) -> Dtype {
        match self {
            Self::Compare { .. } | Self::Grid { .. } => fastest,
            Self::Vectors | Self::ExampleScript { .. } => Dtype::F32,
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Compare { budget, strategies } => {
                write!(f, "compare {budget}s {}", strategies.join(" "))
            }
            Self::Vectors => f.write_str("vectors"),
            Self::ExampleScript { seed } => write!(f, "example-script seed {seed}"),
            Self::Grid { strategy, lr, seed } => write!(f, "grid {strategy} {lr:e} seed {seed}"),
        }
    }
}

/// A job that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// The choice of a comparison; empty for other jobs, which say it themselves.
    pub setting: String,
    /// Dev score, where there is one.
    pub dev: Option<f64>,
    /// Test score; none where training diverged, or nothing could be chosen.
    pub test: Option<f64>,
    /// Test examples.
    pub n_test: usize,
    /// Seconds that it took.
    pub seconds: f64,
    /// Threads.
    pub threads: usize,
    /// Name of the device.
    #[serde(default = "before_devices")]
    pub device: String,
    /// Name of the dtype of its trainings.
    #[serde(default = "before_dtypes")]
    pub dtype: String,
    /// Load average when it began.
    pub load: Option<f64>,
    /// Commit of the program; `+` where the checkout had changes.
    pub commit: String,
    /// The machine.
    pub machine: Machine,
}

impl JobResult {
    /// The seconds that it took; none on a GPU, whose seconds are not comparable with those of the other parts.
    pub(super) fn seconds_of_cpu(&self) -> Option<f64> {
        (!self.device.starts_with("cuda")).then_some(self.seconds)
    }
}

/// The settings of all cases.
pub(super) struct Plan {
    pub encoder: EncoderCard,
    /// The usual strategies where there are none.
    pub strategies: Vec<Strategy>,
    pub budget: Duration,
    pub seeds: u64,
}

impl Plan {
    /// The jobs of a case of which `parts` are done, the short ones first. Only the better learning rate of a strategy
    /// has more than one seed, so those follow once it is known.
    pub fn jobs(&self, case: &Case, parts: &[JobResult]) -> Vec<Job> {
        let entrants = self.entrants(case);
        let name = |(strategy, pairs): &(Strategy, Pairs)| match pairs {
            Pairs::Joint => strategy.to_string(),
            Pairs::Separate => format!("{strategy}{SEPARATE}"),
        };
        let mut jobs = vec![Job::Compare {
            budget: self.budget.as_secs(),
            strategies: entrants.iter().map(name).collect(),
        }];
        if case.train.task != Task::Tagging {
            jobs.push(Job::Vectors);
        }
        jobs.extend((1..=self.seeds).map(|seed| Job::ExampleScript { seed }));
        let grid = |entrant: &(Strategy, Pairs), lr, seed| Job::Grid {
            strategy: name(entrant),
            lr,
            seed,
        };
        for entrant in &entrants {
            let rates = entrant.0.learning_rates(&self.encoder);
            jobs.extend(rates.map(|lr| grid(entrant, lr, 1)));
        }
        for entrant in &entrants {
            let rates = entrant.0.learning_rates(&self.encoder);
            if let Some(lr) = better_rate(parts, &name(entrant), rates.len()) {
                jobs.extend((2..=self.seeds).map(|seed| grid(entrant, lr, seed)));
            }
        }
        jobs
    }

    /// The strategies that a comparison tries on a case, each with its encoding of pairs.
    fn entrants(&self, case: &Case) -> Vec<(Strategy, Pairs)> {
        match self.strategies.as_slice() {
            [] => usual_entrants(&self.encoder.architecture, &case.train),
            named => named.iter().map(|one| (*one, Pairs::Joint)).collect(),
        }
    }

    /// Does a job; `None` if it was stopped from outside.
    pub fn perform(&self, job: &Job, case: &Case, at: Environment) -> Result<Option<JobResult>> {
        let load = load_average();
        let test = (&case.train, &case.test);
        let dtype = Dtype::fastest(&at.machine.device);
        let reference = || Reference::new(at, &self.encoder.name, test, dtype);
        let of_job = |scores| (String::new(), case.test.examples.len(), scores);
        let done = match job {
            Job::Compare { .. } => self.compare(case, at, dtype)?,
            Job::Vectors => reference()?.run(Setting::Floor("vectors"), 1)?.map(of_job),
            Job::ExampleScript { seed } => {
                let scores = reference()?.run(Setting::ExampleScript, *seed)?;
                scores.map(of_job)
            }
            Job::Grid { strategy, lr, seed } => {
                let (strategy, pairs) = match strategy.strip_suffix(SEPARATE) {
                    Some(strategy) => (strategy, Pairs::Separate),
                    None => (strategy.as_str(), Pairs::Joint),
                };
                let setting = Setting::AtLength(strategy.parse()?, pairs, *lr);
                let scores = reference()?.run(setting, *seed)?;
                scores.map(of_job)
            }
        };
        Ok(done.map(|(setting, n_test, scores)| JobResult {
            job: job.clone(),
            setting,
            dev: scores.dev,
            test: scores.test,
            n_test,
            seconds: scores.seconds,
            threads: at.machine.threads,
            device: at.machine.device_name.clone(),
            dtype: job.dtype(dtype).label().to_string(),
            load,
            commit: totune_sweep::code(&at.project.root),
            machine: Machine::here(),
        }))
    }

    /// A comparison within the budget. What cross-validation chose is trained on all rows and scored on test.
    fn compare(&self, case: &Case, at: Environment, dtype: Dtype) -> Result<Option<Done>> {
        let request = Request {
            encoders: vec![self.encoder.name.clone()],
            pairs: None,
            dtype,
            strategies: self.strategies.clone(),
            clock: Clock::new(Instant::now(), self.budget),
            most_seeds: MOST_SEEDS,
            margin: MARGIN,
            keeps_model: true,
        };
        let outcome = compare(&case.splits()?, at, &request, &())?;
        let seconds = request.clock.spent();
        let comparison = &outcome.comparison;
        if comparison.stopped {
            return Ok(None);
        }
        let mut rows = comparison.rows.iter();
        let chosen = rows.find(|row| Some(&row.name) == comparison.chosen.as_ref());
        let Some(row) = chosen else {
            let none = Scores {
                dev: None,
                test: None,
                seconds,
            };
            return Ok(Some(("nothing".to_string(), 0, none)));
        };
        let setting = match row.learning_rate {
            Some(lr) => format!("{} {lr:e}", row.name),
            None => row.name.clone(),
        };
        let (n_test, test) = if case.is_small() {
            let test = (&case.train, &case.test);
            let reference = Reference::new(at, &self.encoder.name, test, dtype)?;
            let chosen = match &row.recipe {
                Some(recipe) => Setting::Recipe(recipe),
                None => Setting::Floor(&row.name),
            };
            let Some(scores) = reference.run(chosen, 1)? else {
                return Ok(None);
            };
            (case.test.examples.len(), scores.test)
        } else {
            let (test, _) = outcome.test.as_ref().context("a choice has predictions")?;
            (test.examples.len(), row.test.map(|test| test.value))
        };
        let dev = row.dev;
        Ok(Some((setting, n_test, Scores { dev, test, seconds })))
    }
}

/// The choice, the number of test examples, and the scores.
type Done = (String, usize, Scores);

/// The learning rate of a strategy of the grid with the best dev score at the first seed, once all `n` are done.
pub(super) fn better_rate(parts: &[JobResult], strategy: &str, n: usize) -> Option<f64> {
    let of_first_seed = parts.iter().filter_map(|part| match &part.job {
        Job::Grid {
            strategy: of,
            lr,
            seed: 1,
        } if of == strategy => Some((*lr, part.dev.unwrap_or(f64::NEG_INFINITY))),
        _ => None,
    });
    let mut rates: Vec<(f64, f64)> = of_first_seed.collect();
    // The usual learning rate is the lower one; it wins a tie.
    rates.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.total_cmp(&b.0)));
    rates
        .first()
        .filter(|_| rates.len() == n)
        .map(|best| best.0)
}
