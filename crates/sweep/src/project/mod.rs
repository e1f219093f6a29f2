//! The project: its papers, experiments and cards.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use totune_data::{Catalogue, TextCatalogue};
use totune_model::EncoderCatalogue;

use crate::Experiment;
use crate::settings::suggest;

mod places;

pub use places::{Environment, Places, Roots};

/// The folder of `experiments/` that holds pre-training runs, which belong to no paper.
const PRETRAINING: &str = "pretraining";
/// Folder that marks a project.
const EXPERIMENTS: &str = "experiments";
/// Presets, below a folder of cards.
const PRESETS: &str = "experiments/presets.toml";

/// A folder with `experiments/` in it, and the cards that are known in it.
#[derive(Debug, Clone)]
pub struct Project {
    /// The folder itself.
    pub root: PathBuf,
    /// Folders with `datasets/`, `encoders/`, `fixtures/` and `experiments/presets.toml`: the project's own before the
    /// one that comes with the program. Of files in several of them the first counts.
    pub card_folders: Vec<PathBuf>,
}

impl Project {
    /// The project at `root`, which must hold `experiments/`, with its own cards.
    pub fn open(root: &Path) -> Result<Self> {
        ensure!(
            root.join(EXPERIMENTS).is_dir(),
            "{}: no folder `{EXPERIMENTS}` in it; expected the root of a project or of a checkout of totune; `totune init` \
             makes a project",
            root.display()
        );
        Ok(Self {
            root: root.to_path_buf(),
            card_folders: vec![root.to_path_buf()],
        })
    }

    /// The nearest project at or above `start`; where there is none, `start` itself, without cards of its own.
    pub fn find(start: &Path) -> Self {
        let mut above = start.ancestors();
        let root = above.find(|folder| folder.join(EXPERIMENTS).is_dir());
        Self {
            root: root.unwrap_or(start).to_path_buf(),
            card_folders: root.map(Path::to_path_buf).into_iter().collect(),
        }
    }

    /// Adds the cards and presets in the folder `shipped`.
    #[must_use]
    pub fn over(mut self, shipped: Option<PathBuf>) -> Self {
        self.card_folders.extend(shipped);
        self
    }

    /// The folder that comes with the program, unless it is the project itself.
    pub fn shipped(&self) -> Option<PathBuf> {
        let mut folders = self.card_folders.iter();
        folders.find(|folder| **folder != self.root).cloned()
    }

    /// Refuses a folder without experiments, for commands about experiments and commands that write cards.
    ///
    /// # Errors
    /// Where there is no project: the message says how to make one.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.root.join(EXPERIMENTS).is_dir(),
            "{}: no folder `{EXPERIMENTS}` here or above; `totune init` makes a project here, --project names another",
            self.root.display()
        );
        Ok(())
    }

    /// The known datasets.
    ///
    /// # Errors
    /// When a card cannot be read.
    pub fn datasets(&self) -> Result<Catalogue> {
        Catalogue::read_all(&self.in_card_folders("datasets"))
    }

    /// The known texts.
    ///
    /// # Errors
    /// When a card cannot be read.
    pub fn texts(&self) -> Result<TextCatalogue> {
        TextCatalogue::read_all(&self.in_card_folders("datasets/texts"))
    }

    /// The known encoders.
    ///
    /// # Errors
    /// When a card cannot be read.
    pub fn encoders(&self) -> Result<EncoderCatalogue> {
        EncoderCatalogue::read_all(&self.in_card_folders("encoders"))
    }

    /// The file of presets and defaults that its experiments share.
    pub fn presets(&self) -> Option<PathBuf> {
        let mut files = self.in_card_folders(PRESETS).into_iter();
        files.find(|file| file.is_file())
    }

    /// `part` of each folder with cards, whether it is there or not.
    pub(crate) fn in_card_folders(&self, part: &str) -> Vec<PathBuf> {
        let folders = self.card_folders.iter();
        folders.map(|folder| folder.join(part)).collect()
    }

    /// Names of the papers, in alphabetical order.
    pub fn papers(&self) -> Result<Vec<String>> {
        self.check()?;
        let mut papers = Vec::new();
        for entry in self.entries(&self.root.join(EXPERIMENTS))? {
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
    ///
    /// # Errors
    /// When the paper is unknown, or files of it are wrong: the message names what is wrong in each of them.
    pub fn experiments(&self, paper: &str) -> Result<Vec<Experiment>> {
        let (experiments, wrong) = self.read_experiments(paper)?;
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(experiments)
    }

    /// The experiments of one paper, by name, and the errors in the files that could not be read.
    ///
    /// # Errors
    /// When the paper is unknown.
    pub fn read_experiments(&self, paper: &str) -> Result<(Vec<Experiment>, Vec<String>)> {
        let papers = self.papers()?;
        if !papers.iter().any(|existing| existing == paper) {
            let names: Vec<&str> = papers.iter().map(String::as_str).collect();
            bail!(suggest::unknown("paper", paper, &names));
        }
        let entries = self.entries(&self.root.join(EXPERIMENTS).join(paper))?;
        let presets = self.presets();
        let (mut experiments, mut wrong) = (Vec::new(), Vec::new());
        for path in experiment_files(&entries) {
            match Experiment::read_with(path, presets.as_deref()) {
                Ok(experiment) => experiments.push(experiment),
                Err(error) => wrong.push(format!("{error:#}")),
            }
        }
        Ok((experiments, wrong))
    }

    /// The experiments of one paper that have the profile.
    ///
    /// # Errors
    /// When none has: the message lists the profiles that there are.
    pub fn experiments_with(&self, paper: &str, profile: &str) -> Result<Vec<Experiment>> {
        let mut experiments = self.experiments(paper)?;
        let profiles = profiles(&experiments);
        if !profiles.contains(&profile) {
            let unknown = suggest::unknown("profile", profile, &profiles);
            bail!("{paper}: {unknown}");
        }
        experiments.retain(|experiment| experiment.profiles().contains(&profile));
        Ok(experiments)
    }

    /// The profiles of one paper, in alphabetical order.
    ///
    /// # Errors
    /// When the paper is unknown, or an experiment cannot be read.
    pub fn profiles(&self, paper: &str) -> Result<Vec<String>> {
        let experiments = self.experiments(paper)?;
        let profiles = profiles(&experiments);
        Ok(profiles.into_iter().map(str::to_string).collect())
    }

    /// The profiles of one paper that have results, in alphabetical order.
    pub fn profiles_with_results(&self, paper: &str) -> Vec<String> {
        let entries = self.entries(&self.root.join("results").join(paper));
        let entries = entries.unwrap_or_default().into_iter();
        let with_rows = entries.filter(|entry| entry.join("runs.parquet").is_file());
        let mut names: Vec<String> = with_rows.map(|entry| name_of(&entry)).collect();
        names.sort_unstable();
        names
    }

    /// Folder of the merged tables of a paper and profile.
    pub fn results(&self, paper: &str, profile: &str) -> PathBuf {
        self.root.join("results").join(paper).join(profile)
    }

    /// Folder of the pages of a paper and profile.
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

/// Files in a paper's folder that are not grids: `claims.toml` and `report.toml` belong to the report, `defaults.toml`
/// to all grids.
const OTHERS: [&str; 3] = ["claims.toml", "defaults.toml", "report.toml"];

/// The files that are grids.
fn experiment_files(entries: &[PathBuf]) -> Vec<&PathBuf> {
    let is_grid = |path: &&PathBuf| {
        let name = name_of(path);
        name.ends_with(".toml") && !OTHERS.contains(&name.as_str())
    };
    entries.iter().filter(is_grid).collect()
}

/// The profiles of experiments, each once, in alphabetical order.
fn profiles(experiments: &[Experiment]) -> Vec<&str> {
    let profiles = experiments.iter().flat_map(|one| one.profiles());
    let mut profiles: Vec<&str> = profiles.collect();
    profiles.sort_unstable();
    profiles.dedup();
    profiles
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
