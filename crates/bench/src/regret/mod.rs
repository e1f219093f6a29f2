//! `bench regret`: how far the choice of a comparison within a budget is from the best of a grid that is trained at
//! length, next to what a person would do without it.
//!
//! It times no steps, so it is no [`Benchmark`](crate::Benchmark): its parts are whole trainings, stored one by one.

mod case;
mod job;
mod page;
mod results;
mod store;
mod summary;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use totune_adapt::Strategy;
use totune_sweep::Environment;

pub use case::Rows;
pub use job::{Job, JobResult};
pub use page::markdown;
pub use results::{CaseParts, Regret};

use self::case::Case;
use self::job::Plan;
use self::store::Store;

/// Its name.
pub const NAME: &str = "regret";
/// Its name, a one-line description, and its needs.
pub const LISTED: [&str; 3] = [
    NAME,
    "the choice of `totune compare` next to a grid trained at length",
    "SST-2, CoNLL-2003, STS-B and the tweets; hours",
];
/// The datasets by default.
pub const DATASETS: [&str; 4] = ["sst-2", "conll2003", "sts-b", "disaster-tweets"];

/// The settings.
#[derive(Debug, Clone)]
pub struct RegretRequest {
    /// Names of datasets.
    pub datasets: Vec<String>,
    /// Numbers of rows; every dataset is cut to each.
    pub rows: Vec<Rows>,
    /// Budget of a comparison.
    pub budget: Duration,
    /// Name of the encoder.
    pub encoder: String,
    /// Strategies; the usual ones where there are none.
    pub strategies: Vec<Strategy>,
    /// Seeds of the grid at length.
    pub seeds: u64,
    /// The folder for parts.
    pub work: PathBuf,
    /// The folder for results.
    pub out: PathBuf,
}

/// Does what is not done yet, and writes the results after each part; the path of the page, or `None` if it was stopped
/// from outside. Several processes may do the same at once.
///
/// # Errors
/// When a dataset or the encoder is missing, a training fails, or a file cannot be written.
pub fn run(request: &RegretRequest, environment: Environment) -> Result<Option<PathBuf>> {
    ensure!(
        request.budget.subsec_nanos() == 0,
        "--budget: found parts of a second, expected whole seconds"
    );
    let encoder = environment
        .project
        .encoders()?
        .find(&request.encoder)?
        .clone();
    let folder = request.work.join(&encoder.name);
    let plan = Plan {
        encoder,
        strategies: request.strategies.clone(),
        budget: request.budget,
        seeds: request.seeds,
    };
    let datasets = environment.project.datasets()?;
    let mut cases = Vec::new();
    for name in &request.datasets {
        for rows in &request.rows {
            let case = Case::read(datasets.find(name)?, &environment.roots.data, *rows)?;
            let store = Store::open(&folder.join(case.name()))?;
            cases.push((case, store));
        }
    }
    restore(request, &plan, &cases)?;
    write(request, &plan, &cases)?;
    for (case, store) in &cases {
        loop {
            let jobs = plan.jobs(case, &store.parts(&plan.jobs(case, &[]))?);
            let mut free = jobs.iter().map(|job| anyhow::Ok((job, store.lock(job)?)));
            let next = free.find(|found| !matches!(found, Ok((_, None))));
            let Some((job, lock)) = next.transpose()? else {
                break;
            };
            let Some(part) = plan.perform(job, case, environment)? else {
                return Ok(None);
            };
            let test = part
                .test
                .map_or("diverged".to_string(), |test| format!("{test:.3}"));
            eprintln!("{}: {job}: {test}, {:.0} s", case.name(), part.seconds);
            store.write(&part)?;
            drop(lock);
            write(request, &plan, &cases)?;
        }
    }
    Ok(Some(request.out.join("compare.md")))
}

/// Stores what the results have of cases without parts, as where the folder of parts is gone.
fn restore(request: &RegretRequest, plan: &Plan, cases: &[(Case, Store)]) -> Result<()> {
    let Some(before) = no_cases(plan).of_same_settings(&request.out)? else {
        return Ok(());
    };
    for (case, store) in cases {
        let known = before.case(&case.card.name, case.train.examples.len());
        if let Some(known) = known.filter(|_| store.is_empty().unwrap_or(false)) {
            known.parts.iter().try_for_each(|part| store.write(part))?;
        }
    }
    Ok(())
}

/// Results of these settings before anything is done.
fn no_cases(plan: &Plan) -> Regret {
    Regret {
        benchmark: NAME.to_string(),
        encoder: plan.encoder.name.clone(),
        budget: plan.budget.as_secs(),
        seeds: plan.seeds,
        cases: Vec::new(),
    }
}

/// Writes the results of all parts that are done, with the cases of the same settings that others have written.
fn write(request: &RegretRequest, plan: &Plan, cases: &[(Case, Store)]) -> Result<()> {
    let mut results = no_cases(plan);
    let before = results.of_same_settings(&request.out)?;
    let is_wanted = |found: &CaseParts| {
        let mut wanted = cases.iter().map(|(case, _)| case);
        wanted.any(|case| {
            (&case.card.name, case.train.examples.len()) == (&found.dataset, found.rows)
        })
    };
    let others = before.into_iter().flat_map(|before| before.cases);
    results.cases.extend(others.filter(|case| !is_wanted(case)));
    for (case, store) in cases {
        let known = store.parts(&plan.jobs(case, &[]))?;
        let jobs = plan.jobs(case, &known);
        let parts = store.parts(&jobs)?;
        results.cases.push(CaseParts {
            dataset: case.card.name.clone(),
            fixture: case.card.fixture,
            metric: case.metric()?,
            rows: case.train.examples.len(),
            n_test: case.test.examples.len(),
            missing: jobs.len() - parts.len(),
            parts,
        });
    }
    let place = |case: &CaseParts| (case.dataset.clone(), case.rows);
    results.cases.sort_by_key(place);
    results.write(&request.out)
}

#[cfg(test)]
mod tests;
