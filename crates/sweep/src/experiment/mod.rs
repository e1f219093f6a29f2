//! An experiment file: a grid as a person writes it, expanded into runs.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rayon::prelude::*;
use serde::Deserialize;
use toml::{Table, Value};
use totune_data::Split;

use crate::search::{Cell, Search};
use crate::settings::errors::ArmErrors;
use crate::settings::merge::{lay, resolve, used};
use crate::settings::suggest;
use crate::settings::typed::SourceTexts;
use crate::{RunSpec, Work};

mod analyses;
mod arms;
mod floors;
mod grids;
mod layers;
mod profile;

pub use arms::Arm;

use arms::Override;
use layers::{Layer, extended, plural, taken};

/// Kind of work that the runs of an experiment do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Sparse features and a linear model.
    Sparse,
    /// A pretrained encoder, adapted; `tune` is what it was called before.
    #[serde(rename = "fine-tune", alias = "tune")]
    Tune,
    /// Diagnostic classifiers and mutual information of every layer of an encoder.
    Probe,
    /// Divergence of the terms of a dataset from those of other texts.
    Divergence,
    /// Scores of a task without training an encoder.
    Floor,
}

/// One file `experiments/<paper>/<name>.toml`: a grid of arms, with profiles that say what differs for one purpose.
///
/// Below it lie the paper's `defaults.toml`, and of `experiments/presets.toml` the presets and the defaults of the kind of work.
/// Settings are laid over each other in this order: defaults of the kind, the paper's defaults, file, profile, `[[override]]` for some datasets, arm, the profile's changes of the arm;
/// tables merge key by key, one with a `kind` replaces. Every plural multiplies the runs: `datasets`, `encoders`, `seeds`,
/// `features`, `states`, `input`, each `[[split]]` (a k-fold split by its folds) and each `[[arm]]`. In a
/// `fine-tune` experiment every other key is a setting of the training. With `search` some settings are chosen by trials on dev.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Paper it belongs to: the folder's name.
    pub paper: String,
    /// Its own name: the file's, without `.toml`.
    pub name: String,
    /// Kind of work that its runs do.
    pub kind: Kind,
    path: PathBuf,
    sources: SourceTexts,
    /// Defaults of the kind of work, below all other settings.
    of_kind: Table,
    base: Layer,
    profiles: Vec<(String, Layer)>,
    arms: Vec<Arm>,
}

/// The keys every experiment has.
#[derive(Deserialize)]
struct Heading {
    paper: String,
    experiment: String,
    kind: Kind,
}

/// Profile, dataset and arm of some runs of the experiment.
struct Place<'a> {
    profile: &'a str,
    dataset: &'a str,
    arm: &'a str,
}

/// The settings that a paper's experiments share.
const DEFAULTS: &str = "defaults.toml";
/// The presets that all papers share, and the defaults of each kind of work.
const PRESETS: &str = "presets.toml";
/// Name of the table with these defaults.
const OF_KINDS: &str = "defaults";

impl Experiment {
    /// Reads a file; its `paper` and `experiment` must be its place in `experiments/<paper>/<experiment>.toml`. The presets are
    /// those of `experiments/presets.toml`.
    pub fn read(path: &Path) -> Result<Self> {
        let experiments = path.parent().and_then(Path::parent);
        let presets = experiments.map(|folder| folder.join(PRESETS));
        Self::read_with(path, presets.as_deref())
    }

    /// Reads a file like [`Experiment::read`], with the presets of another file, if there is one.
    pub fn read_with(path: &Path, presets: Option<&Path>) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let source = read(path)?;
        let under = |path: Option<&Path>| match path.filter(|path| path.is_file()) {
            Some(path) => read(path),
            None => Ok(String::new()),
        };
        let defaults = under(Some(&folder.join(DEFAULTS)))?;
        let presets = under(presets)?;
        Self::parse(path, source, defaults, presets)
            .map_err(|error| anyhow!("{}: {error:#}", path.display()))
    }

    fn parse(path: &Path, source: String, defaults: String, presets: String) -> Result<Self> {
        let sources = SourceTexts::new([("", source), (DEFAULTS, defaults), (PRESETS, presets)]);
        let mut tables = sources.tables()?.into_iter();
        let mut next = || tables.next().unwrap_or_default();
        let (mut own, mut defaults, mut presets) = (next(), next(), next());
        let heading: Heading = sources.typed(&own)?;
        let of_kind = of_kind(&mut presets, &own).context(PRESETS)?;
        check_place(path, &heading)?;
        for key in ["paper", "experiment", "kind"] {
            own.remove(key);
        }
        let mut profiles = BTreeMap::new();
        for (table, shared) in [(&mut defaults, true), (&mut own, false)] {
            for (name, table) in profile::take(table)? {
                let layer =
                    Layer::take(table, shared).with_context(|| format!("profiles.{name}"))?;
                profiles
                    .entry(name)
                    .or_insert_with(Layer::default)
                    .lay(layer);
            }
        }
        ensure!(
            !profiles.is_empty(),
            "expected a table [profiles.<name>] for each profile, such as [profiles.fixture]"
        );
        let arms = arms::take_arms(&mut own, &heading.experiment)?;
        let presets = Table::from_iter([("presets".to_string(), Value::Table(presets))]);
        let mut base = Layer::take(presets, true)?;
        base.lay(Layer::take(defaults, true).context(DEFAULTS)?);
        base.lay(Layer::take(own, false)?);
        Ok(Self {
            paper: heading.paper,
            name: heading.experiment,
            kind: heading.kind,
            path: path.to_path_buf(),
            sources,
            of_kind,
            base,
            profiles: extended(profiles)?,
            arms,
        })
    }

    /// The profiles the file and its defaults name, in alphabetical order.
    pub fn profiles(&self) -> Vec<&str> {
        self.profiles
            .iter()
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// Its arms, in the order of the file; a profile may leave some out.
    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }

    /// All runs of one profile, in the order of the file: the last plural written below varies fastest.
    ///
    /// Runs of a search come last, cell by cell, the trials before the runs that wait for them; the latter have the
    /// values of the file until those of the best trial replace them.
    pub fn expand(&self, profile: &str) -> Result<Vec<RunSpec>> {
        let (mut runs, cells) = self.grid(profile)?;
        for cell in cells {
            runs.extend(cell.trials.into_iter().flat_map(|(_, runs)| runs));
            runs.extend(cell.own);
        }
        Ok(runs)
    }

    /// The runs of one profile, and the cells of those that a search decides on.
    pub(crate) fn grid(&self, profile: &str) -> Result<(Vec<RunSpec>, Vec<Cell>)> {
        self.grid_inner(profile)
            .map_err(|error| anyhow!("{}: {error:#}", self.path.display()))
    }

    fn grid_inner(&self, profile: &str) -> Result<(Vec<RunSpec>, Vec<Cell>)> {
        let named = profile::find(&self.profiles, profile)?;
        let (mut grid, mut overlay) = (self.base.table.clone(), named.table.clone());
        let settings = taken("settings", &mut grid, &mut overlay)?;
        let presets = taken("presets", &mut grid, &mut overlay)?;
        let arms = arms::of_profile(&self.arms, &mut overlay, &settings)?;
        let own = used(&grid, &settings)?;
        let mut grid = self.of_kind.clone();
        lay(&mut grid, own);
        lay(&mut grid, used(&overlay, &settings)?);
        let overrides = self.base.overrides.iter().chain(&named.overrides);
        let overrides: Vec<&Override> = overrides.collect();
        self.check_datasets(&arms, &overrides)?;
        let mut listed = grid.clone();
        plural(&mut listed);

        let mut errors = ArmErrors::new(arms.len());
        let (mut runs, mut cells) = (Vec::new(), Vec::new());
        for dataset in datasets(&listed, &self.sources)? {
            let mut of_dataset = grid.clone();
            for entry in overrides
                .iter()
                .filter(|entry| entry.datasets.contains(&dataset))
            {
                lay(&mut of_dataset, used(&entry.settings, &settings)?);
            }
            for arm in arms.iter().filter(|arm| arm.is_for(&dataset)) {
                let mut cell = of_dataset.clone();
                lay(&mut cell, arm.settings.clone());
                if let Err(error) = resolve(&mut cell, &presets) {
                    errors.add(&arm.name, vec![format!("{error:#}")]);
                    continue;
                }
                plural(&mut cell);
                let place = Place {
                    profile,
                    dataset: &dataset,
                    arm: &arm.name,
                };
                match self.cell(cell, &place) {
                    Ok((found, None)) => runs.extend(found),
                    Ok((found, Some(search))) => cells.extend(search.cells(found)?),
                    Err(found) => errors.add(&arm.name, found),
                }
            }
        }
        errors.into_result()?;
        check_different(profile, &runs, &cells)?;
        Ok((runs, cells))
    }

    /// The runs of one dataset and arm, and the search for some of their settings.
    fn cell(
        &self,
        mut grid: Table,
        place: &Place,
    ) -> Result<(Vec<RunSpec>, Option<Search>), Vec<String>> {
        let one = |error: anyhow::Error| vec![format!("{error:#}")];
        let search = Search::take(&mut grid, &self.sources).map_err(one)?;
        let runs = match self.kind {
            Kind::Sparse => self.expand_sparse(place, &grid)?,
            Kind::Tune => self.expand_tune(place, &grid)?,
            Kind::Probe => self.expand_probe(place, &grid)?,
            Kind::Divergence => self.expand_divergence(place, &grid)?,
            Kind::Floor => self.expand_floor(place, &grid)?,
        };
        runs.iter().try_for_each(RunSpec::validate).map_err(one)?;
        Ok((runs, search))
    }

    /// Checks that every dataset that `[[override]]` or an arm names is one of this file, in whatever profile.
    fn check_datasets(&self, arms: &[Arm], overrides: &[&Override]) -> Result<()> {
        let profiles = self.profiles.iter().map(|(_, layer)| &layer.table);
        let lists = std::iter::once(&self.base.table).chain(profiles);
        let lists = lists.filter_map(|table| table.get("datasets"));
        let mut known: Vec<&str> = lists
            .flat_map(|list| match list {
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                name => Vec::from_iter(name.as_str()),
            })
            .collect();
        known.sort_unstable();
        known.dedup();
        let own = overrides.iter().filter(|entry| !entry.shared);
        let named = own.flat_map(|entry| &entry.datasets);
        for name in named {
            ensure!(
                known.contains(&name.as_str()),
                "[[override]]: {}",
                suggest::unknown("dataset", name, &known)
            );
        }
        // The datasets of an arm may be those of a task in several experiments.
        for arm in arms {
            let datasets = arm.datasets.iter().flatten();
            let datasets: Vec<&String> = datasets.collect();
            ensure!(
                datasets.is_empty() || datasets.iter().any(|name| known.contains(&name.as_str())),
                "[[arm]] `{}`: {}",
                arm.name,
                suggest::unknown("dataset", datasets[0], &known)
            );
        }
        Ok(())
    }

    fn run(&self, place: &Place, (split, fold): (&Split, usize), seed: u64, work: Work) -> RunSpec {
        RunSpec {
            paper: self.paper.clone(),
            experiment: self.name.clone(),
            arm: place.arm.to_string(),
            profile: place.profile.to_string(),
            dataset: place.dataset.to_string(),
            split: split.clone(),
            fold,
            seed,
            work,
            search: Vec::new(),
            search_trials: None,
            known_id: None,
            replaces: None,
        }
    }
}

/// Takes the defaults of all kinds out of the presets and returns those of the experiment's kind.
fn of_kind(presets: &mut Table, own: &Table) -> Result<Table> {
    let mut kinds = match presets.remove(OF_KINDS) {
        Some(Value::Table(kinds)) => kinds,
        Some(other) => bail!("{OF_KINDS}: found {other}, expected a table for each kind of work"),
        None => Table::new(),
    };
    let kind = own.get("kind").and_then(Value::as_str).unwrap_or_default();
    match kinds.remove(kind) {
        Some(Value::Table(settings)) => Ok(settings),
        Some(other) => bail!("{OF_KINDS}.{kind}: found {other}, expected a table"),
        None => Ok(Table::new()),
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))
}

fn check_place(path: &Path, heading: &Heading) -> Result<()> {
    let name =
        |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let folder = name(path.parent().and_then(Path::file_name));
    let file = name(path.file_stem());
    ensure!(
        folder.as_deref() == Some(&heading.paper) && file.as_deref() == Some(&heading.experiment),
        "says paper `{}`, experiment `{}`; expected the names of its folder and file",
        heading.paper,
        heading.experiment
    );
    Ok(())
}

fn datasets(grid: &Table, sources: &SourceTexts) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Named {
        datasets: Vec<String>,
    }
    let Named { datasets } = sources.typed(grid).map_err(|error| {
        // A misspelt key is a likely reason, and nothing else has been looked at.
        match grid
            .keys()
            .find(|key| totune_toml::near(key, ["datasets"]).is_some())
        {
            Some(key) if key != "datasets" => {
                anyhow!(sources.explain(&format!("unknown field `{key}`, expected `datasets`")))
            }
            _ => error,
        }
    })?;
    grids::some("datasets", &datasets)?;
    Ok(datasets)
}

fn check_different(profile: &str, runs: &[RunSpec], cells: &[Cell]) -> Result<()> {
    let of_cells = cells.iter().flat_map(|cell| {
        let trials = cell.trials.iter().flat_map(|(_, runs)| runs);
        trials.chain(&cell.own)
    });
    let of_cells: Vec<&RunSpec> = of_cells.collect();
    // The others were checked where they were made, before a search changed any of their settings.
    of_cells.iter().try_for_each(|run| run.validate())?;
    let all: Vec<&RunSpec> = runs.iter().chain(of_cells).collect();
    let ids: Vec<String> = all.par_iter().map(|run| run.id()).collect();
    let mut seen = HashMap::new();
    for (run, id) in all.into_iter().zip(ids) {
        if let Some(first) = seen.insert(id, run) {
            let arms = if first.arm == run.arm {
                format!("arm {}", run.arm)
            } else {
                format!("arms {} and {}", first.arm, run.arm)
            };
            bail!(
                "profile {profile}: two runs are the same ({}, {arms}); expected every value of a plural once, and arms that differ",
                run.label()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
