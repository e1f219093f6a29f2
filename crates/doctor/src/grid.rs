//! Needs of the runs of a paper's profile.

use std::collections::BTreeSet;

use anyhow::Result;
use totune_sweep::Project;

/// A profile of a paper, with the datasets and encoders of its runs.
#[derive(Debug, Clone)]
pub struct Grid {
    paper: String,
    profile: String,
    pub(crate) datasets: BTreeSet<String>,
    pub(crate) encoders: BTreeSet<String>,
}

impl Grid {
    /// The grid of `profile` of `paper`.
    ///
    /// # Errors
    /// When there is no such paper or profile, or an experiment cannot be read.
    pub fn of(project: &Project, paper: &str, profile: &str) -> Result<Self> {
        let mut grid = Self {
            paper: paper.to_string(),
            profile: profile.to_string(),
            datasets: BTreeSet::new(),
            encoders: BTreeSet::new(),
        };
        for experiment in project.experiments_with(paper, profile)? {
            for spec in experiment.expand(profile)? {
                // Random weights in the shape of an encoder are that encoder with a suffix.
                let encoder = spec.encoder();
                let named = encoder.and_then(|name| name.split('@').next());
                grid.encoders.extend(named.map(str::to_string));
                grid.datasets.insert(spec.dataset);
            }
        }
        Ok(grid)
    }

    /// `hart2020 small`.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.paper, self.profile)
    }
}
