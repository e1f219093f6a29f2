//! Ids of planned runs that do not follow from their specs: those of runs made under an earlier schema of specs, which
//! keep their ids, and of runs whose data, weights or cards have changed, which get new ones.

use std::collections::HashSet;

use anyhow::{Context, Result};
use totune_record::Tables;

use crate::stale::Present;
use crate::{Places, RunSpec};

/// Facts that decide on ids in addition to a spec.
pub(crate) struct Known<'a> {
    places: Places<'a>,
    /// Ids that a paper's stored results have.
    collected: HashSet<String>,
    present: Present<'a>,
}

impl<'a> Known<'a> {
    /// Reads the ids of the collected runs of a paper and profile; none where nothing was collected.
    pub fn read(places: Places<'a>, paper: &str, profile: &str) -> Result<Self> {
        let folder = places.project.results(paper, profile);
        let runs = if folder.join("runs.parquet").is_file() {
            Tables::read_runs(&folder).context(
                "earlier results are not used as they are; where the runs are in the store, remove the file and `totune collect` writes it again",
            )?
        } else {
            Vec::new()
        };
        Ok(Self {
            places,
            collected: runs.into_iter().map(|run| run.run_id).collect(),
            present: Present::new(places),
        })
    }

    /// Gives a planned run its id: the one that it was made with under an earlier schema, if there are collected
    /// results of that id or a folder in the store, and no folder of today's id; or a new one where the run of that id
    /// is stale.
    ///
    /// # Errors
    /// When the run's inputs cannot be compared: its card is wrong, or its file differs from the card.
    pub fn adopt(&self, run: &mut RunSpec) -> Result<()> {
        if run.made_as.is_some() {
            return Ok(());
        }
        let store = self.places.store;
        if !store.folder(&run.id()).is_dir() {
            let made = |id: &String| self.collected.contains(id) || store.folder(id).is_dir();
            let id = run.earlier_ids().find(made);
            run.made_as = id;
        }
        if let Some((id, stale)) = self.present.changed(run)? {
            run.made_as = Some(id);
            run.replaces = Some(stale);
        }
        Ok(())
    }
}
