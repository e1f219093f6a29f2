//! Locations of experiments, runs and the files that they read.

use std::path::PathBuf;

use crate::{Machine, Project, Store};

/// Folders with datasets and encoders; fixtures always come from the project itself.
#[derive(Debug, Clone)]
pub struct Roots {
    /// Folder with dataset files.
    pub data: PathBuf,
    /// Folder with checkpoints, such as a Hugging Face cache.
    pub encoders: PathBuf,
    /// Folder of cached encoded texts; without one they are encoded at each start.
    pub cache: Option<PathBuf>,
}

/// Locations of experiments, their runs, and the files that these read.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The experiments, cards and fixtures.
    pub project: &'a Project,
    /// The runs.
    pub store: &'a Store,
    /// The files of datasets and encoders.
    pub roots: &'a Roots,
}

/// Locations of a run's inputs, and the machine that executes it.
#[derive(Debug, Clone, Copy)]
pub struct Environment<'a> {
    /// The cards and fixtures.
    pub project: &'a Project,
    /// The files of datasets and encoders.
    pub roots: &'a Roots,
    /// The device and its limits.
    pub machine: &'a Machine,
}

impl Roots {
    /// Folders that may hold the files of an encoder card: for fixtures the project's own, for others the user's folder
    /// and then those that come with the project.
    pub fn of_encoder(&self, project: &Project, fixture: bool) -> Vec<PathBuf> {
        if fixture {
            project.in_card_folders("fixtures/encoders")
        } else {
            [
                vec![self.encoders.clone()],
                project.in_card_folders("encoders"),
            ]
            .concat()
        }
    }
}
