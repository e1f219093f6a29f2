//! The checkout: which papers and experiments it holds.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{Experiment, suggest};

/// The folder of `experiments/` that holds pre-training runs, which belong to no paper.
const PRETRAINING: &str = "pretraining";

/// A folder with `experiments/`, `datasets/` and `encoders/` in it.
#[derive(Debug, Clone)]
pub struct Project {
    /// The folder itself.
    pub root: PathBuf,
}

impl Project {
    /// The project at `root`, which must hold `experiments/`.
    pub fn open(root: &Path) -> Result<Self> {
        if !root.join("experiments").is_dir() {
            bail!(
                "{}: no folder `experiments` in it; expected the root of a totune checkout",
                root.display()
            );
        }
        Ok(Self {
            root: root.to_path_buf(),
        })
    }

    /// The nearest project at or above `start`.
    pub fn find(start: &Path) -> Result<Self> {
        match start
            .ancestors()
            .find(|folder| folder.join("experiments").is_dir())
        {
            Some(root) => Self::open(root),
            None => bail!(
                "{}: no folder `experiments` here or above; run from a checkout or name it with --project",
                start.display()
            ),
        }
    }

    /// Names of the papers, in alphabetical order.
    pub fn papers(&self) -> Result<Vec<String>> {
        let mut papers = Vec::new();
        for entry in self.entries(&self.root.join("experiments"))? {
            if name_of(&entry) == PRETRAINING {
                continue;
            }
            if entry.is_dir() && !experiment_files(&self.entries(&entry)?).is_empty() {
                papers.push(name_of(&entry));
            }
        }
        Ok(papers)
    }

    /// The experiments of one paper, by name.
    pub fn experiments(&self, paper: &str) -> Result<Vec<Experiment>> {
        let papers = self.papers()?;
        if !papers.iter().any(|existing| existing == paper) {
            let names: Vec<&str> = papers.iter().map(String::as_str).collect();
            bail!(suggest::unknown("paper", paper, &names));
        }
        let entries = self.entries(&self.root.join("experiments").join(paper))?;
        experiment_files(&entries)
            .into_iter()
            .map(|path| Experiment::read(path))
            .collect()
    }

    /// Those of them that have the profile.
    ///
    /// # Errors
    /// When none has: the message lists the profiles that there are.
    pub fn experiments_with(&self, paper: &str, profile: &str) -> Result<Vec<Experiment>> {
        let mut experiments = self.experiments(paper)?;
        let mut profiles: Vec<&str> = experiments
            .iter()
            .flat_map(|experiment| experiment.profiles())
            .collect();
        profiles.sort_unstable();
        profiles.dedup();
        if !profiles.contains(&profile) {
            let unknown = suggest::unknown("profile", profile, &profiles);
            bail!("{paper}: {unknown}");
        }
        experiments.retain(|experiment| experiment.profiles().contains(&profile));
        Ok(experiments)
    }

    /// Where the merged tables of a paper and profile lie.
    pub fn results(&self, paper: &str, profile: &str) -> PathBuf {
        self.root.join("results").join(paper).join(profile)
    }

    /// Where the pages of a paper and profile lie.
    pub fn reports(&self, paper: &str, profile: &str) -> PathBuf {
        self.root.join("reports").join(paper).join(profile)
    }

    fn entries(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let read = || -> std::io::Result<Vec<PathBuf>> {
            std::fs::read_dir(folder)?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect()
        };
        let mut entries = read().with_context(|| format!("{}: cannot list", folder.display()))?;
        entries.sort();
        Ok(entries)
    }
}

/// The files that are no grids: `claims.toml` and `report.toml` belong to the report, `defaults.toml` to all grids.
const OTHERS: [&str; 3] = ["claims.toml", "defaults.toml", "report.toml"];

/// The files that are grids.
fn experiment_files(entries: &[PathBuf]) -> Vec<&PathBuf> {
    let is_grid = |path: &&PathBuf| {
        let name = name_of(path);
        name.ends_with(".toml") && !OTHERS.contains(&name.as_str())
    };
    entries.iter().filter(is_grid).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
