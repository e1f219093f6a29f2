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
    made: Made,
    present: Present<'a>,
}

/// Ids that a paper's stored results or the run folders have.
struct Made {
    ids: HashSet<String>,
    /// Ids among them that no run of the grids has today: of earlier schemas, of searches, or of other plans.
    unexplained: HashSet<String>,
}

impl<'a> Known<'a> {
    /// Reads the ids of the collected runs of a paper and profile and of all that have a folder; `grids` are the runs of
    /// the plan.
    pub fn read<'g>(
        places: Places<'a>,
        (paper, profile): (&str, &str),
        grids: impl Iterator<Item = &'g RunSpec>,
    ) -> Result<Self> {
        let folder = places.project.results(paper, profile);
        let collected = if folder.join("runs.parquet").is_file() {
            Tables::read_ids(&folder).context(
                "earlier results are not used as they are; where the runs are in the store, remove the file and `totune collect` writes it again",
            )?
        } else {
            Vec::new()
        };
        let mut ids = places.store.ids();
        ids.extend(collected);
        let mut unexplained = ids.clone();
        if !ids.is_empty() {
            for id in parallel::map(grids.collect(), RunSpec::id) {
                unexplained.remove(&id);
            }
        }
        Ok(Self {
            places,
            made: Made { ids, unexplained },
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
            let id = made.id_of(run);
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

impl Made {
    /// The id that a run was made with, under this schema or an earlier one; today's where it was not made.
    ///
    /// An id of each earlier schema costs as much as today's, so they are only computed where one of them can be among
    /// those made.
    fn id_of(&self, run: &RunSpec) -> String {
        let id = run.id();
        if self.unexplained.is_empty() || self.ids.contains(&id) {
            return id;
        }
        let mut earlier = run.earlier_ids();
        let known = earlier.find(|id| self.unexplained.contains(id));
        known.unwrap_or(id)
    }
}
