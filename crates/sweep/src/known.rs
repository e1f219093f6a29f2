//! Ids of planned runs that do not follow from their specs: those of runs made under an earlier schema of specs, which
//! keep their ids, and of runs whose data, weights or cards have changed, which get new ones.

use std::collections::HashSet;

use anyhow::{Context, Result};
use totune_record::Tables;

use crate::stale::Present;
use crate::{Places, RunSpec, parallel};

/// Facts that decide on ids in addition to a spec.
pub(crate) struct Known<'a> {
    places: Places<'a>,
    /// Ids that a paper's stored results or the run folders have.
    made: HashSet<String>,
    present: Present<'a>,
}

impl<'a> Known<'a> {
    /// Reads the ids of the collected runs of a paper and profile and of all that have a folder.
    pub fn read(places: Places<'a>, paper: &str, profile: &str) -> Result<Self> {
        let folder = places.project.results(paper, profile);
        let collected = if folder.join("runs.parquet").is_file() {
            Tables::read_ids(&folder).context(
                "earlier results are not used as they are; where the runs are in the store, remove the file and `totune collect` writes it again",
            )?
        } else {
            Vec::new()
        };
        let mut made = places.store.ids();
        made.extend(collected);
        Ok(Self {
            places,
            made,
            present: Present::new(places),
        })
    }

    /// Gives planned runs their ids: that which follows from the spec; the one that a run was made with under an earlier
    /// schema, if there are collected results of that id or a folder in the store, and none of today's id; or a new one
    /// where the run of that id is stale.
    ///
    /// # Errors
    /// When the inputs of a run cannot be compared: its card is wrong, or its file differs from the card.
    pub fn adopt(&self, mut runs: Vec<&mut RunSpec>) -> Result<()> {
        runs.retain(|run| run.known_id.is_none());
        let (store, made) = (self.places.store, &self.made);
        let ended = parallel::map(runs.iter_mut().collect(), |run| {
            let id = id_as_made(made, run);
            let ended = store.ended_run(&id).and_then(Result::ok);
            run.known_id = Some(id);
            ended
        });
        for (run, ended) in runs.into_iter().zip(ended) {
            let changed = ended.map(|ended| self.present.changed(run, &ended));
            if let Some((id, stale)) = changed.transpose()?.flatten() {
                run.known_id = Some(id);
                run.replaces = Some(stale);
            }
        }
        Ok(())
    }
}

/// The id that a run was made with, under this schema or an earlier one; today's where it was not made.
fn id_as_made(made: &HashSet<String>, run: &RunSpec) -> String {
    let id = run.id();
    if made.is_empty() || made.contains(&id) {
        return id;
    }
    run.earlier_ids().find(|id| made.contains(id)).unwrap_or(id)
}
