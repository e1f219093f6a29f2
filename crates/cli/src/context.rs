//! From what was typed to what is meant: the project, the roots, the machine, the voice.

use std::env;

use anyhow::{Context as _, Result};
use totune_sweep::{Environment, Machine, Places, Project, Roots, Store};

use crate::global::Global;
use crate::shipped;

/// What commands work with.
#[derive(Debug)]
pub struct Context {
    /// The project around the current folder or the one that was named, over what comes with the program. Outside of a
    /// project it is the current folder, without experiments and cards of its own.
    pub project: Project,
    /// Where datasets and encoders lie.
    pub roots: Roots,
    /// Where runs are written.
    pub store: Store,
    /// As typed; [`Context::machine`] makes it a device.
    pub global: Global,
}

impl Context {
    /// Resolves what was typed, and what was left out.
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

    /// The device that was asked for, and a flag that Ctrl-C sets.
    pub fn machine(&self) -> Result<Machine> {
        self.global.machine()
    }

    /// Where runs on `machine` find what they read.
    pub fn environment<'a>(&'a self, machine: &'a Machine) -> Environment<'a> {
        Environment {
            project: &self.project,
            roots: &self.roots,
            machine,
        }
    }

    /// Threads that were asked for, or one for each core.
    pub fn threads(&self) -> usize {
        self.global.threads()
    }

    /// Where experiments, runs and the files that they read lie.
    pub fn places(&self) -> Places<'_> {
        Places {
            project: &self.project,
            store: &self.store,
            roots: &self.roots,
        }
    }

    /// A path as it is shown: from the project's root where it lies below it.
    pub fn shown(&self, path: &std::path::Path) -> String {
        path.strip_prefix(&self.project.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}
