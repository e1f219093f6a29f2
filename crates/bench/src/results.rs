//! Measurements: `<benchmark>.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use totune_model::fused::Calls;

use crate::comparison::{Case, Comparison, Measure, Unit, titled};
use crate::machine::Machine;
use crate::target::Target;

/// Everything a page shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Heading of the page.
    pub title: String,
    /// Sentences above the table.
    pub notes: Vec<String>,
    /// Baselines: sides by whose time the others' is divided.
    pub baselines: Vec<String>,
    /// Kind of measurement: times, or calls of operators.
    #[serde(default, skip_serializing_if = "Measure::is_time")]
    pub measure: Measure,
    /// Rows and columns of the plain product that took turns with the sides.
    #[serde(default = "on_a_cpu", skip_serializing_if = "is_on_a_cpu")]
    pub square: usize,
    /// The machine.
    pub machine: Machine,
    /// Cases in the order in which they were first measured.
    pub outcomes: Vec<Outcome>,
    /// All cases of the benchmark, with their threads, whether they were measured or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// Markdown below the table.
    #[serde(default)]
    pub appendix: String,
}

/// A case with the measurements of each side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Name of the case.
    pub case: String,
    /// Threads of every side.
    pub threads: usize,
    /// The day on which it was measured, such as `2026-11-30`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub day: String,
    /// The commit of the checkout, with `+` where it had changes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Load average when it began; work of others makes timings approximate.
    #[serde(default)]
    pub load: Option<f64>,
    /// The unit of a lap's work, where it is counted.
    #[serde(default)]
    pub unit: Option<Unit>,
    /// Multiplications and additions in the matrix products of a lap, where they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flop: Option<f64>,
    /// The goals.
    #[serde(default)]
    pub targets: Vec<Target>,
    /// Timings of the sides, in the order of the case.
    pub sides: Vec<Timing>,
}

/// The measurements of a side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Name of the side.
    pub side: String,
    /// The program, with versions.
    pub version: String,
    /// Seconds of every lap after the warm-up.
    pub seconds: Vec<f64>,
    /// Peak resident memory of the process in bytes.
    pub peak_memory: u64,
    /// GFLOP/s of the machine's plain product in the dtype of the side, which took turns with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<f64>,
    /// The computed values.
    #[serde(default)]
    pub values: Vec<f64>,
    /// Other numbers that it reported.
    #[serde(default)]
    pub facts: BTreeMap<String, f64>,
    /// Operators that LibTorch dispatched in a step, where they are counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operators: BTreeMap<String, Calls>,
}

fn on_a_cpu() -> usize {
    Comparison::SQUARE
}

fn is_on_a_cpu(square: &usize) -> bool {
    *square == on_a_cpu()
}

impl Timing {
    /// The median of the laps in seconds.
    pub fn median(&self) -> f64 {
        totune_stats::quartiles(&self.seconds)[2]
    }
}

impl Outcome {
    /// The side of that name.
    pub fn side(&self, name: &str) -> Option<&Timing> {
        self.sides.iter().find(|timing| timing.side == name)
    }

    /// Its name with its threads, which selects it.
    pub fn titled(&self) -> String {
        titled(&self.case, self.threads)
    }

    /// GFLOP/s of a side, where the arithmetic of a lap is counted.
    pub fn gflops(&self, timing: &Timing) -> Option<f64> {
        Some(self.flop? / timing.median() / 1e9)
    }

    /// The figure that a goal is about; none where it was not measured.
    pub fn found(&self, target: &Target) -> Option<f64> {
        match target {
            Target::Faster { side, than, .. } => self.ratio(than, side),
            Target::Product { side, .. } => {
                let timing = self.side(side)?;
                Some(self.gflops(timing)? / timing.product?)
            }
            Target::Operators { side, of, .. } => {
                let calls = |name| {
                    let calls = Calls::total(&self.side(name)?.operators).all;
                    (calls > 0).then_some(calls as f64)
                };
                Some(calls(side)? / calls(of)?)
            }
        }
    }

    /// The time of the side `name` divided by that of `other`.
    pub fn ratio(&self, name: &str, other: &str) -> Option<f64> {
        Some(self.side(name)?.median() / self.side(other)?.median())
    }
}

impl Results {
    /// The results of a new run, with those in `folder` of other cases that were measured on the same machine.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn begin(benchmark: &str, comparison: &Comparison, folder: &Path) -> Result<Self> {
        let new = Self {
            benchmark: benchmark.to_string(),
            title: comparison.title.clone(),
            notes: comparison.notes.clone(),
            baselines: comparison.baselines.clone(),
            measure: comparison.measure,
            square: comparison.square,
            machine: Machine::here(),
            outcomes: Vec::new(),
            cases: comparison.cases.iter().map(Case::titled).collect(),
            appendix: comparison.appendix.clone(),
        };
        let file = folder.join(format!("{benchmark}.json"));
        if !file.is_file() {
            return Ok(new);
        }
        let old = Self::read(&file)?;
        let outcomes = if old.machine.is_same(&new.machine) {
            old.outcomes
        } else {
            Vec::new()
        };
        Ok(Self { outcomes, ..new })
    }

    /// Reads a file of results.
    ///
    /// # Errors
    /// When it cannot be read, or holds something else.
    pub fn read(file: &Path) -> Result<Self> {
        let shown = file.display();
        let text = fs::read_to_string(file).with_context(|| format!("{shown}: cannot be read"))?;
        serde_json::from_str(&text).with_context(|| {
            format!("{shown}: found something else, expected results of this benchmark; remove it to start over")
        })
    }

    /// The cases that were not measured on this machine.
    pub fn missing(&self) -> Vec<&str> {
        let measured: Vec<String> = self.outcomes.iter().map(Outcome::titled).collect();
        let cases = self.cases.iter().filter(|case| !measured.contains(case));
        cases.map(String::as_str).collect()
    }

    /// Puts an outcome in the place of an earlier one of the same case, or behind all others.
    pub fn add(&mut self, outcome: Outcome) {
        let same = |old: &&mut Outcome| old.case == outcome.case && old.threads == outcome.threads;
        match self.outcomes.iter_mut().find(same) {
            Some(old) => *old = outcome,
            None => self.outcomes.push(outcome),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(case: &str, seconds: f64) -> Outcome {
        let timing = |side: &str, seconds: &[f64]| Timing {
            side: side.to_string(),
            seconds: seconds.to_vec(),
            ..Timing::default()
        };
        Outcome {
            case: case.to_string(),
            sides: vec![
                timing("totune", &[seconds, 9.0, seconds]),
                timing("python", &[3.0]),
            ],
            ..Outcome::default()
        }
    }

    #[test]
    fn a_case_that_is_measured_again_replaces_the_earlier_one_of_the_same_machine() {
        let folder = tempfile::tempdir().expect("a folder");
        let comparison = Comparison::new("A comparison", &["totune"]);
        let write = |results: &Results| {
            let json = serde_json::to_vec(results).expect("plain data");
            fs::write(folder.path().join("x.json"), json).expect("written");
        };
        let begin = || Results::begin("x", &comparison, folder.path());
        let mut results = begin().expect("nothing there");
        results.add(outcome("a", 1.0));
        results.add(outcome("b", 1.0));
        write(&results);
        let mut again = begin().expect("reads");
        assert_eq!(again, results);
        again.add(outcome("a", 1.5));
        let cases: Vec<&str> = again.outcomes.iter().map(|o| o.case.as_str()).collect();
        assert_eq!(cases, ["a", "b"]);
        assert_eq!(again.outcomes[0].ratio("python", "totune"), Some(2.0));
        assert_eq!(again.outcomes[0].ratio("python", "burn"), None);

        again.machine.model = "another".to_string();
        write(&again);
        assert!(begin().expect("reads").outcomes.is_empty());
        fs::write(folder.path().join("x.json"), "[]").expect("written");
        let error = begin().expect_err("refused");
        assert!(error.to_string().contains("remove it"), "{error}");
    }
}
