//! Ids of planned runs that do not follow from their specs: those of runs made under an earlier schema of specs, which
//! keep their ids, and of runs whose data, weights or cards have changed, which get new ones.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use totune_data::Catalogue;
use totune_record::Tables;

use super::stale::CurrentSources;
use crate::store::ended_runs::EndedRun;
use crate::{Places, RunSpec, parallel};

/// Facts that decide on ids in addition to a spec.
pub(crate) struct RunIds<'a> {
    places: Places<'a>,
    /// Ids that the paper's stored results or the run folders have.
    made: HashSet<String>,
    /// Ids among them that no adopted run has: of earlier schemas, of searches, or of other plans.
    unexplained: HashSet<String>,
    present: CurrentSources<'a>,
    ended: EndedById,
}

/// Runs that have ended, by id, as they were when their ids were looked up.
pub(crate) type EndedById = HashMap<String, Arc<EndedRun>>;

impl<'a> RunIds<'a> {
    /// Reads the ids of the collected runs of a paper and profile and of all that have a folder.
    pub fn read(places: Places<'a>, (paper, profile): (&str, &str)) -> Result<Self> {
        let folder = places.project.results(paper, profile);
        let mut made = places.store.ids();
        if folder.join("runs.parquet").is_file() {
            made.extend(Tables::read_ids(&folder).context(
                "earlier results are not used as they are; where the runs are in the store, remove the file and `totune collect` writes it again",
            )?);
        }
        Ok(Self {
            places,
            unexplained: made.clone(),
            made,
            present: CurrentSources::new(places),
            ended: EndedById::new(),
        })
    }

    /// The known datasets, read once.
    ///
    /// # Errors
    /// When the folders of their cards cannot be listed.
    pub fn datasets(&self) -> Result<&Catalogue> {
        self.present.datasets()
    }

    /// Gives planned runs their ids: that which follows from the spec; the one that a run was made with under an earlier
    /// schema, if there are collected results of that id or a folder in the store, and none of today's id; or a new one
    /// where the run of that id is stale.
    ///
    /// # Errors
    /// When the inputs of a run cannot be compared: its card is wrong, or its file differs from the card.
    pub fn adopt(&mut self, mut runs: Vec<&mut RunSpec>) -> Result<()> {
        runs.retain(|run| run.known_id.is_none());
        let today = parallel::map(runs.iter().map(|run| &**run).collect(), RunSpec::id);
        for id in &today {
            self.unexplained.remove(id);
        }
        let (store, made, unexplained) = (self.places.store, &self.made, &self.unexplained);
        let ended = parallel::map(runs.iter_mut().zip(today).collect(), |(run, today)| {
            // An id of each earlier schema costs as much as today's, so they are only computed where one can be there.
            let is_made = unexplained.is_empty() || made.contains(&today);
            let earlier = (!is_made).then(|| run.earlier_ids());
            let known = earlier.and_then(|mut ids| ids.find(|id| unexplained.contains(id)));
            let id = run.known_id.insert(known.unwrap_or(today));
            store.ended_run(id).and_then(Result::ok)
        });
        for (run, ended) in runs.into_iter().zip(ended) {
            let Some(ended) = ended else { continue };
            if let Some((id, stale)) = self.present.changed(run, &ended)? {
                run.known_id = Some(id);
                run.replaces = Some(stale);
            } else {
                self.ended.insert(run.id(), ended);
            }
        }
        Ok(())
    }

    /// The runs among those adopted that have ended and are not stale.
    pub fn into_ended(self) -> EndedById {
        self.ended
    }
}
