//! Context of commands, resolved from the arguments: the project, the roots, the machine, the output.

use std::env;

use anyhow::{Context as _, Result};
use totune_sweep::{Environment, Machine, Places, Project, Roots, Store};

use crate::global::Global;
use crate::shipped;

/// Resources of commands.
#[derive(Debug)]
pub struct Context {
    /// The project around the current folder or the named one, over the cards that come with the program. Outside of a
    /// project it is the current folder, without experiments and cards of its own.
    pub project: Project,
    /// Folders of datasets and encoders.
    pub roots: Roots,
    /// Store of the runs.
    pub store: Store,
    /// Global options; [`Context::machine`] resolves the device.
    pub global: Global,
}

impl Context {
    /// Resolves the given options and the defaults.
    pub fn new(global: Global) -> Result<Self> {
        let project = match &global.project {
            Some(root) => Project::open(root)?,
            None => Project::find(&env::current_dir().context("the current folder is gone")?),
        };
        let shipped = shipped::folder(&project.root)?;
        let project = project.over(shipped);
        let roots = global.roots(&project.root);
        let store = Store::new(project.root.join("runs"));
        Ok(Self {
            project,
            roots,
            store,
            global,
        })
    }

    /// The requested device, and a flag that Ctrl-C or a request to end sets.
    pub fn machine(&self) -> Result<Machine> {
        self.global.machine()
    }

    /// Locations of the inputs of runs on `machine`.
    pub fn environment<'a>(&'a self, machine: &'a Machine) -> Environment<'a> {
        Environment {
            project: &self.project,
            roots: &self.roots,
            machine,
        }
    }

    /// Prints notes on standard error, unless quiet is asked for.
    pub fn note(&self, notes: impl IntoIterator<Item = String>) {
        for note in notes.into_iter().filter(|_| !self.global.quiet) {
            eprintln!("{note}");
        }
    }

    /// Number of threads requested, or one for each core.
    pub fn threads(&self) -> usize {
        self.global.threads()
    }

    /// Locations of experiments, runs and the files that they read.
    pub fn places(&self) -> Places<'_> {
        Places {
            project: &self.project,
            store: &self.store,
            roots: &self.roots,
        }
    }

    /// Display form of a path: relative to the project's root where it lies below it.
    pub fn shown(&self, path: &std::path::Path) -> String {
        path.strip_prefix(&self.project.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}
