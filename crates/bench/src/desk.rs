//! The settings of a benchmark, and how sides start.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use totune_sweep::{Project, Roots};

use crate::comparison::{Program, SideSpec};
use crate::side::Side;

/// Starts this program as a worker with so many threads; the worker's kind and case are added.
pub type StartWorker = Box<dyn Fn(usize) -> Command>;

/// The settings of a benchmark, and its paths.
pub struct Desk {
    /// The checkout, with `bench/` and the cards.
    pub project: Project,
    /// The folders of datasets and encoders.
    pub roots: Roots,
    /// Python with the packages that a benchmark needs.
    pub python: PathBuf,
    /// The folder for results.
    pub out: PathBuf,
    /// Rounds of alternation, instead of the benchmark's.
    pub rounds: Option<usize>,
    /// Steps of each side in a round, instead of three seconds' worth.
    pub steps: Option<usize>,
    /// Threads of each side.
    pub threads: usize,
    /// The device of every side, such as `cpu` or `cuda:0`.
    pub device: String,
    /// Only cases whose name contains one of these; all if empty.
    pub only: Vec<String>,
    /// Only sides whose name contains one of these; all if empty.
    pub sides: Vec<String>,
    /// Cases that take a moment, and show no more than that everything works.
    pub tiny: bool,
    /// Starts a worker.
    pub worker: StartWorker,
}

impl Desk {
    /// Rounds of a benchmark with this default.
    pub fn rounds(&self, usual: usize) -> usize {
        self.rounds.unwrap_or(if self.tiny { 1 } else { usual })
    }

    /// Whether the sides work on a GPU.
    pub fn on_gpu(&self) -> bool {
        self.device.starts_with("cuda")
    }

    /// Starts a side.
    pub(crate) fn start(&self, spec: &SideSpec, threads: usize) -> Result<Side> {
        let mut command = match spec.program {
            Program::Ours(kind) => {
                let mut command = (self.worker)(threads);
                command.arg(kind);
                command
            }
            Program::Python(script) => {
                let mut command = Command::new(&self.python);
                command.arg(self.project.root.join("bench").join(script));
                command
            }
        };
        let mut case = spec.case.clone();
        if let (Program::Python(_), Some(case)) = (spec.program, case.as_object_mut()) {
            case.insert("device".to_string(), self.device.clone().into());
        }
        command.envs(spec.environment.iter().copied());
        command.arg(OsString::from(serde_json::to_string(&case)?));
        Side::start(&spec.name, command, threads).with_context(|| match spec.program {
            Program::Ours(kind) => format!("our worker `{kind}`"),
            Program::Python(script) => format!("bench/{script}"),
        })
    }
}
