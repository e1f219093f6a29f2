//! Runs that were made under an earlier schema of specs, and keep the ids they have.

use std::collections::HashSet;

use anyhow::Result;
use totune_record::Tables;

use crate::{Project, RunSpec, Store};

/// Ids that a paper's stored results have.
pub(crate) struct Known {
    collected: HashSet<String>,
}

impl Known {
    /// The ids of the collected runs of a paper and profile; none where nothing was collected.
    pub fn read(project: &Project, paper: &str, profile: &str) -> Result<Self> {
        let folder = project.results(paper, profile);
        let runs = match folder.join("runs.parquet").is_file() {
            true => Tables::read_runs(&folder)?,
            false => Vec::new(),
        };
        Ok(Self {
            collected: runs.into_iter().map(|run| run.run_id).collect(),
        })
    }

    /// Gives a planned run the id that it was made with under an earlier schema, if it was: if there are collected results
    /// of that id or a folder in the store, and no folder of today's id.
    pub fn adopt(&self, store: &Store, run: &mut RunSpec) {
        if store.folder(&run.id()).is_dir() {
            return;
        }
        let made = |id: &String| self.collected.contains(id) || store.folder(id).is_dir();
        let id = run.earlier_ids().find(made);
        run.made_as = id;
    }
}
