//! Where everything lies that runs are about.

use std::path::PathBuf;

use crate::{Machine, Project, Store};

/// Where datasets and encoders are looked for; fixtures always come from the project itself.
#[derive(Debug, Clone)]
pub struct Roots {
    /// Folder with dataset files.
    pub data: PathBuf,
    /// Folder with checkpoints, such as a Hugging Face cache.
    pub encoders: PathBuf,
    /// Folder where encoded texts are kept for the next start; without one they are encoded each time.
    pub cache: Option<PathBuf>,
}

/// Where experiments, their runs, and the files that these read lie.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The experiments, cards and fixtures.
    pub project: &'a Project,
    /// The runs.
    pub store: &'a Store,
    /// The files of datasets and encoders.
    pub roots: &'a Roots,
}

/// Where runs find what they read, and what they are executed on.
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
    /// Where the files of an encoder card are looked for: fixtures in the project's own, others in the user's folder and
    /// then among those that come with the project.
    pub fn of_encoder(&self, project: &Project, fixture: bool) -> Vec<PathBuf> {
        match fixture {
            true => project.in_card_folders("fixtures/encoders"),
            false => [
                vec![self.encoders.clone()],
                project.in_card_folders("encoders"),
            ]
            .concat(),
        }
    }
}
