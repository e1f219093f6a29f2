//! An experiment file: a grid as a person writes it, expanded into runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};
use totune_adapt::Training;
use totune_data::Split;
use totune_stats::Features;

use crate::search::{Cell, Search};
use crate::spec::LogisticSettings;
use crate::vary::Changes;
use crate::{RunSpec, SparseWork, TuneWork, Work, profile, suggest};

mod analyses;

use analyses::{DivergenceGrid, ProbeGrid};

/// What the runs of an experiment do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Sparse features and a linear model.
    Sparse,
    /// A pretrained encoder, adapted.
    Tune,
    /// Diagnostic classifiers and mutual information of every layer of an encoder.
    Probe,
    /// How far the terms of a dataset are from those of other texts.
    Divergence,
}

/// One file `experiments/<paper>/<name>.toml`: a grid, with profiles that replace whole top-level keys.
///
/// Every plural multiplies the runs: `datasets`, `encoders`, `features`, `seeds`, and each `[[split]]` (a k-fold
/// split by its folds) and `[[adaptation]]`. In a `tune` experiment every other key is a setting of the training.
/// `[[for]]` replaces keys for some datasets, and each `[[variant]]` replaces keys once more, for all runs or for those
/// of the datasets it names. With `[search]` some settings are chosen by trials on dev.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Paper it belongs to: the folder's name.
    pub paper: String,
    /// Its own name: the file's, without `.toml`.
    pub name: String,
    /// What its runs do.
    pub kind: Kind,
    path: PathBuf,
    source: String,
    base: Table,
    profiles: Vec<(String, Table)>,
}

/// The keys every experiment has.
#[derive(Deserialize)]
struct Heading {
    paper: String,
    experiment: String,
    kind: Kind,
}

/// What every grid multiplies by.
#[derive(Deserialize)]
struct Named {
    datasets: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SparseGrid {
    /// Read before ([`Named`]); it is here so that a slip of its name is noticed.
    #[expect(dead_code)]
    datasets: Vec<String>,
    split: Vec<Split>,
    features: Vec<Features>,
    logistic: LogisticSettings,
    #[serde(default = "one_seed")]
    seeds: Vec<u64>,
}

/// Nothing in a sparse run is random, so one seed is enough unless a file says otherwise.
fn one_seed() -> Vec<u64> {
    vec![0]
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct TuneGrid {
    /// Read before ([`Named`]); it is here so that a slip of its name is noticed.
    #[expect(dead_code)]
    datasets: Vec<String>,
    encoders: Vec<String>,
    split: Vec<Split>,
    adaptation: Vec<Value>,
    seeds: Vec<u64>,
    /// The settings that all runs share; with one adaptation they make a [`Training`], which refuses unknown keys.
    #[serde(flatten)]
    training: Table,
}

impl Experiment {
    /// Reads a file; its `paper` and `experiment` must be its place in `experiments/<paper>/<experiment>.toml`.
    pub fn read(path: &Path) -> Result<Self> {
        let source = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot read", path.display()))?;
        Self::parse(path, source).map_err(|error| anyhow!("{}: {error:#}", path.display()))
    }

    fn parse(path: &Path, source: String) -> Result<Self> {
        let mut base: Table =
            toml::from_str(&source).map_err(|error| anyhow!("{}", error.to_string().trim()))?;
        let heading: Heading = typed(&base, &source)?;
        let place =
            |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let (folder, file) = (
            place(path.parent().and_then(Path::file_name)),
            place(path.file_stem()),
        );
        ensure!(
            folder.as_deref() == Some(&heading.paper)
                && file.as_deref() == Some(&heading.experiment),
            "says paper `{}`, experiment `{}`; expected the names of its folder and file",
            heading.paper,
            heading.experiment
        );
        let profiles = profile::take(&mut base)?;
        for key in ["paper", "experiment", "kind"] {
            base.remove(key);
        }
        let Heading {
            paper,
            experiment: name,
            kind,
        } = heading;
        Ok(Self {
            paper,
            name,
            kind,
            path: path.to_path_buf(),
            source,
            base,
            profiles,
        })
    }

    /// The profiles the file names, in alphabetical order.
    pub fn profiles(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .profiles
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        names
    }

    /// All runs of one profile, in the order of the file: the last plural written below varies fastest.
    ///
    /// Those of a search come last, cell by cell, the trials before the runs that wait for them; the latter have the
    /// values of the file where those of the best trial will stand.
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
        let overlay = profile::find(&self.profiles, profile)?;
        let mut grid = profile::overlay(&self.base, profile, overlay)?;
        let changes = Changes::take(&mut grid)?;
        self.check_names(&changes)?;
        // Everything else may come from `[[for]]` or a variant.
        let named = typed::<Named>(&grid, &self.source);
        if named.is_err() {
            // What the whole grid knows says better which key was meant.
            match self.kind {
                Kind::Sparse => drop(typed::<SparseGrid>(&grid, &self.source)?),
                Kind::Tune => drop(typed::<TuneGrid>(&grid, &self.source)?),
                Kind::Probe => drop(typed::<ProbeGrid>(&grid, &self.source)?),
                Kind::Divergence => drop(typed::<DivergenceGrid>(&grid, &self.source)?),
            }
        }
        let Named { datasets } = named?;
        some("datasets", &datasets)?;
        let (mut runs, mut cells) = (Vec::new(), Vec::new());
        for dataset in &datasets {
            for mut grid in changes.grids(&grid, dataset) {
                let search = Search::take(&mut grid, &self.source)?;
                let found = match self.kind {
                    Kind::Sparse => {
                        self.expand_sparse(profile, dataset, &typed(&grid, &self.source)?)?
                    }
                    Kind::Tune => {
                        self.expand_tune(profile, dataset, &typed(&grid, &self.source)?)?
                    }
                    Kind::Probe => {
                        self.expand_probe(profile, dataset, &typed(&grid, &self.source)?)?
                    }
                    Kind::Divergence => {
                        self.expand_divergence(profile, dataset, &typed(&grid, &self.source)?)?
                    }
                };
                match search {
                    None => runs.extend(found),
                    Some(search) => cells.extend(search.cells(found)?),
                }
            }
        }
        let of_cell = |cell: &'_ Cell| -> Vec<RunSpec> {
            let trials = cell.trials.iter().flat_map(|(_, runs)| runs);
            trials.chain(&cell.own).cloned().collect()
        };
        let mut seen = BTreeMap::new();
        for run in runs.iter().cloned().chain(cells.iter().flat_map(of_cell)) {
            run.validate()?;
            if let Some(first) = seen.insert(run.id(), run.label()) {
                bail!(
                    "profile {profile}: two runs are the same ({first}); expected every value of a plural once"
                );
            }
        }
        Ok((runs, cells))
    }

    fn expand_sparse(
        &self,
        profile: &str,
        dataset: &str,
        grid: &SparseGrid,
    ) -> Result<Vec<RunSpec>> {
        some("features", &grid.features)?;
        some("seeds", &grid.seeds)?;
        let mut runs = Vec::new();
        for (split, fold) in folds(&grid.split)? {
            for features in &grid.features {
                for seed in &grid.seeds {
                    let work = Work::Sparse(SparseWork {
                        features: *features,
                        logistic: grid.logistic,
                    });
                    runs.push(self.run(profile, dataset, split, fold, *seed, work));
                }
            }
        }
        Ok(runs)
    }

    fn expand_tune(&self, profile: &str, dataset: &str, grid: &TuneGrid) -> Result<Vec<RunSpec>> {
        some("encoders", &grid.encoders)?;
        some("adaptation", &grid.adaptation)?;
        some("seeds", &grid.seeds)?;
        let mut runs = Vec::new();
        for encoder in &grid.encoders {
            for (split, fold) in folds(&grid.split)? {
                for adaptation in &grid.adaptation {
                    let training = self.training(&grid.training, adaptation)?;
                    for seed in &grid.seeds {
                        let work = Work::Tune(Box::new(TuneWork {
                            encoder: encoder.clone(),
                            training: training.clone(),
                        }));
                        runs.push(self.run(profile, dataset, split, fold, *seed, work));
                    }
                }
            }
        }
        Ok(runs)
    }

    /// A dataset that `[[for]]` names is one of this file, in whatever profile.
    fn check_names(&self, changes: &Changes) -> Result<()> {
        let tables =
            std::iter::once(&self.base).chain(self.profiles.iter().map(|(_, table)| table));
        let mut known: Vec<&str> = tables
            .filter_map(|table| table.get("datasets")?.as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        known.sort_unstable();
        known.dedup();
        for name in changes.datasets() {
            ensure!(
                known.contains(&name),
                "[[for]]: {}",
                suggest::unknown("dataset", name, &known)
            );
        }
        Ok(())
    }

    fn training(&self, shared: &Table, adaptation: &Value) -> Result<Training> {
        let mut settings = shared.clone();
        settings.insert("adaptation".to_string(), adaptation.clone());
        typed(&settings, &self.source)
    }

    fn run(
        &self,
        profile: &str,
        dataset: &str,
        split: &Split,
        fold: usize,
        seed: u64,
        work: Work,
    ) -> RunSpec {
        RunSpec {
            paper: self.paper.clone(),
            experiment: self.name.clone(),
            arm: self.name.clone(),
            profile: profile.to_string(),
            dataset: dataset.to_string(),
            split: split.clone(),
            fold,
            seed,
            work,
            search: Vec::new(),
            made_as: None,
        }
    }
}

/// Each split once per fold.
fn folds(splits: &[Split]) -> Result<Vec<(&Split, usize)>> {
    some("split", splits)?;
    Ok(splits
        .iter()
        .flat_map(|split| (0..split.n_folds()).map(move |fold| (split, fold)))
        .collect())
}

fn some<T>(key: &str, values: &[T]) -> Result<()> {
    ensure!(
        !values.is_empty(),
        "{key}: the list is empty; expected at least one"
    );
    Ok(())
}

/// A table as a typed value; an error names the line, the key, and the nearest key that exists.
fn typed<T: DeserializeOwned>(table: &Table, source: &str) -> Result<T> {
    T::deserialize(Value::Table(table.clone()))
        .map_err(|error| anyhow!("{}", suggest::explain(&error.to_string(), source)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARSE: &str = r#"
paper = "p"
experiment = "e"
kind = "sparse"
datasets = ["a", "b"]
features = ["tf-idf", "count"]
logistic = { c = 1.0, max-iter = 100, tol = 1e-4 }

[[split]]
kind = "k-fold"
folds = 3
by = "file"

[[split]]
kind = "hold-out"
test = 0.2
seed = 13

[profiles.all]

[profiles.few]
datasets = ["a"]
"#;

    fn parse(text: &str) -> Result<Experiment> {
        Experiment::parse(Path::new("experiments/p/e.toml"), text.to_string())
    }

    pub(super) fn expand(text: &str, profile: &str) -> Result<Vec<RunSpec>> {
        parse(text)?.expand(profile)
    }

    #[test]
    fn every_plural_multiplies_the_runs() {
        // 2 datasets x (3 folds + 1 hold-out) x 2 kinds of features x 1 seed
        assert_eq!(expand(SPARSE, "all").expect("expands").len(), 16);
        let few = expand(SPARSE, "few").expect("expands");
        assert_eq!(few.len(), 8);
        assert!(
            few.iter()
                .all(|run| run.dataset == "a" && run.profile == "few")
        );
        let two_seeds = SPARSE.replace(
            "[[split]]\nkind = \"k-fold\"",
            "seeds = [1, 2]\n[[split]]\nkind = \"k-fold\"",
        );
        assert_eq!(expand(&two_seeds, "few").expect("expands").len(), 16);
    }

    #[test]
    fn the_runs_of_one_experiment_have_different_ids() {
        let ids: std::collections::BTreeSet<String> = expand(SPARSE, "all")
            .expect("expands")
            .iter()
            .map(RunSpec::id)
            .collect();
        assert_eq!(ids.len(), 16);
    }

    #[test]
    fn slips_are_named_with_their_line_and_the_near_name() {
        for (good, bad, expected) in [
            (
                "datasets = [\"a\", \"b\"]",
                "dataset = [\"a\"]",
                "line 5: unknown key `dataset`; did you mean `datasets`?",
            ),
            (
                "\"tf-idf\"",
                "\"tfidf\"",
                "line 6: unknown choice `tfidf`; did you mean `tf-idf`?",
            ),
            (
                "max-iter = 100",
                "max-iters = 100",
                "line 7: unknown key `max-iters`; did you mean `max-iter`?",
            ),
            (
                "folds = 3",
                "fold = 3",
                "line 11: unknown key `fold`; did you mean `folds`?",
            ),
            (
                "kind = \"sparse\"",
                "kind = \"spares\"",
                "line 4: unknown choice `spares`; did you mean `sparse`?",
            ),
            (
                "features = [\"tf-idf\", \"count\"]",
                "",
                "missing key `features`",
            ),
            (
                "datasets = [\"a\", \"b\"]",
                "datasets = []",
                "datasets: the list is empty",
            ),
            (
                "datasets = [\"a\", \"b\"]",
                "datasets = [\"a\", \"a\"]",
                "two runs are the same",
            ),
            (
                "c = 1.0",
                "c = 0.0",
                "logistic.c: found 0, expected more than 0",
            ),
            ("test = 0.2", "test = 1.2", "1.2"),
            (
                "paper = \"p\"",
                "paper = \"q\"",
                "expected the names of its folder and file",
            ),
            (
                "datasets = [\"a\", \"b\"]",
                "datasets = \"a\"",
                "invalid type: string \"a\", expected a sequence",
            ),
        ] {
            assert!(SPARSE.contains(good), "{good}");
            let error = expand(&SPARSE.replacen(good, bad, 1), "all").expect_err(bad);
            assert!(format!("{error:#}").contains(expected), "{bad}: {error:#}");
        }
    }

    #[test]
    fn a_dataset_that_for_misspells_is_answered_with_each_known_one_once() {
        let text = format!(
            "{}[[for]]\ndatasets = [\"charlie\"]\nseeds = [1]\n\n[profiles.all]\n\n[profiles.few]\ndatasets = [\"a\"]\n",
            SPARSE.split("[profiles.all]").next().expect("a beginning")
        );
        for profile in ["all", "few"] {
            let error = format!("{:#}", expand(&text, profile).expect_err("refused"));
            let expected = "[[for]]: unknown dataset `charlie`; there are: a, b";
            assert!(error.contains(expected), "{error}");
            let good = text.replace("[\"charlie\"]", "[\"b\"]");
            assert!(expand(&good, profile).is_ok(), "a dataset of any profile");
        }
    }

    #[test]
    fn a_slip_in_a_profile_is_found_too() {
        let error = expand(
            &SPARSE.replace("datasets = [\"a\"]\n", "datasests = [\"a\"]\n"),
            "few",
        )
        .expect_err("refused");
        assert!(
            format!("{error:#}").contains("unknown key `datasests`; did you mean `datasets`?"),
            "{error:#}"
        );
    }
}
