//! Measurements of `bench scale`: `scale.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// Everything the page shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Name of the benchmark.
    pub benchmark: String,
    /// The machine.
    pub machine: Machine,
    /// Optimisation and commit of the program.
    pub build: String,
    /// By number of runs.
    pub sizes: Vec<Size>,
}

/// The measurements of a number of runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Number of runs.
    pub runs: usize,
    /// Processes that worked on them at the same time.
    pub workers: usize,
    /// Load average when it began.
    pub load: Option<f64>,
    /// The most entries of a folder of the store.
    pub most_entries: usize,
    /// Costs of the steps.
    pub costs: BTreeMap<Step, Cost>,
}

/// Time and memory of commands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds from the start of the first to the end of the last.
    pub seconds: f64,
    /// Processor seconds of all.
    pub cpu_seconds: f64,
    /// Peak resident memory of the largest, in bytes.
    pub peak_memory: u64,
}

/// The commands, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// `sweep plan`, when nothing is done.
    PlanNone,
    /// `sweep run` of all workers.
    Work,
    /// `sweep plan`, when all is done and every table has to be read.
    PlanDoneFirst,
    /// `sweep plan` once more.
    PlanDone,
    /// `sweep status`.
    Status,
    /// `collect`.
    Collect,
    /// `report`.
    Report,
    /// `reproduce` of another paper with few runs in the same store.
    Beside,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::PlanNone,
        Self::Work,
        Self::PlanDoneFirst,
        Self::PlanDone,
        Self::Status,
        Self::Collect,
        Self::Report,
        Self::Beside,
    ];

    /// Its name on the page.
    pub fn title(self) -> &'static str {
        match self {
            Self::PlanNone => "`sweep plan`, none done",
            Self::Work => "`sweep run`, all workers",
            Self::PlanDoneFirst => "`sweep plan`, all done, without `runs/ended`",
            Self::PlanDone => "`sweep plan`, all done",
            Self::Status => "`sweep status`",
            Self::Collect => "`collect`",
            Self::Report => "`report`",
            Self::Beside => "`reproduce` of another paper",
        }
    }

    /// The words of the command, before the names of paper and profile.
    pub(super) fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::PlanNone | Self::PlanDoneFirst | Self::PlanDone => &["sweep", "plan"],
            Self::Work => &["sweep", "run"],
            Self::Status => &["sweep", "status"],
            Self::Collect => &["collect"],
            Self::Report => &["report"],
            Self::Beside => &["reproduce"],
        }
    }
}

impl Size {
    /// Processor seconds of a run, its share of starting the workers included.
    pub fn cpu_seconds_of_a_run(&self) -> Option<f64> {
        let work = self.costs.get(&Step::Work)?;
        Some(work.cpu_seconds / self.runs as f64)
    }
}

impl Scale {
    /// Adds the sizes of an earlier command with the same program on the same machine, except those of `measured`.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub(super) fn keep_other_sizes(&mut self, folder: &Path, measured: &[usize]) -> Result<()> {
        let file = folder.join("scale.json");
        if !file.is_file() {
            return Ok(());
        }
        let old = Self::read(&file)?;
        if (&old.machine, &old.build) == (&self.machine, &self.build) {
            let others = old.sizes.into_iter();
            self.sizes
                .extend(others.filter(|size| !measured.contains(&size.runs)));
        }
        Ok(())
    }

    /// Reads a file of results.
    ///
    /// # Errors
    /// When it cannot be read, or holds something else.
    pub fn read(file: &Path) -> Result<Self> {
        let shown = file.display();
        let text = fs::read_to_string(file).with_context(|| format!("{shown}: cannot be read"))?;
        serde_json::from_str(&text).with_context(|| {
            format!("{shown}: found something else, expected results of `bench scale`; remove it to start over")
        })
    }
}
