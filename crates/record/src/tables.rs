//! The three tables of a folder, written and read together.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use totune_disk::PendingFile;

use crate::cell::Row;
use crate::growing::Growing;
use crate::parquet::{decode, decode_texts, decode_with};
use crate::{EvalRow, PerplexityRow, PredictionRow, PretrainingRow, RunRow, Tables, TimingRow};
use crate::{checksum, order};

impl Tables {
    /// Writes `runs.parquet`, `evals.parquet` and `predictions.parquet` into a folder that exists, sorted, whatever the
    /// order of the rows here: what [`GrowingTables`] write.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let mut sorted = self.clone();
        sorted.sort();
        let mut tables = GrowingTables::begin(dir)?;
        tables.add_rows(sorted)?;
        tables.finish()
    }

    /// Reads the three files of a folder, and checks that they belong together.
    pub fn read(dir: &Path) -> Result<Self> {
        let (runs, evals, predictions) = read_with(dir, decode::<PredictionRow>)?;
        let owners = predictions.iter().map(|row| row.run_id.as_str());
        check_owners::<PredictionRow>(dir, &runs, owners)?;
        Ok(Self {
            runs,
            evals,
            predictions,
        })
    }

    /// Reads only the runs of a folder.
    pub fn read_runs(dir: &Path) -> Result<Vec<RunRow>> {
        read(dir)
    }

    /// Reads only the ids of the runs of a folder: a fraction of the memory of the runs.
    pub fn read_ids(dir: &Path) -> Result<Vec<String>> {
        decode_texts::<RunRow>(bytes_of::<RunRow>(dir)?, "run_id", &file::<RunRow>(dir))
    }
}

/// Reads the three files of a folder, with the predictions in the form that `decode_predictions` gives them, and checks
/// that they belong together.
pub(crate) fn read_with<P>(
    dir: &Path,
    decode_predictions: impl FnOnce(Vec<u8>, &Path) -> Result<P>,
) -> Result<(Vec<RunRow>, Vec<EvalRow>, P)> {
    let (runs, expected) = decode_with::<RunRow>(bytes_of::<RunRow>(dir)?, &file::<RunRow>(dir))?;
    let (evals, predictions) = (bytes_of::<EvalRow>(dir)?, bytes_of::<PredictionRow>(dir)?);
    let of = |bytes: &[u8]| checksum::of(bytes).unwrap_or_default().to_string();
    let found = together(&of(&evals), &of(&predictions));
    // Decoded first, so that of a damaged table its own error is told.
    let evals: Vec<EvalRow> = decode(evals, &file::<EvalRow>(dir))?;
    let predictions = decode_predictions(predictions, &file::<PredictionRow>(dir))?;
    ensure!(
        expected.is_none_or(|expected| expected == found),
        "{}: the three tables in its folder were not written together; the command that wrote them does so when run again",
        file::<RunRow>(dir).display()
    );
    let mut known = HashSet::new();
    if let Some(twice) = runs.iter().find(|run| !known.insert(&run.run_id)) {
        let file = file::<RunRow>(dir);
        bail!("{}: found run `{}` twice", file.display(), twice.run_id);
    }
    check_owners::<EvalRow>(dir, &runs, evals.iter().map(|row| row.run_id.as_str()))?;
    Ok((runs, evals, predictions))
}

/// Refuses rows of a run that is not among the `runs`.
fn check_owners<'a, R: Row>(
    dir: &Path,
    runs: &[RunRow],
    mut owners: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let known: HashSet<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
    if let Some(unknown) = owners.find(|owner| !known.contains(owner)) {
        bail!(
            "{}: found rows of run `{unknown}`, which {} does not have; the files were not written together",
            file::<R>(dir).display(),
            file::<RunRow>(dir).display()
        );
    }
    Ok(())
}

/// The three tables of a folder while runs are added to them, so that they are never in memory as a whole.
///
/// All three are written and verified under temporary names before the first is put in place, and `runs.parquet` comes
/// last: where it exists, the others do. It has their checksums, so that files of two writes are not taken for one.
/// Dropped before [`GrowingTables::finish`], nothing of them remains.
pub struct GrowingTables {
    dir: PathBuf,
    runs: Vec<RunRow>,
    evals: Growing<EvalRow>,
    predictions: Growing<PredictionRow>,
    last: String,
}

impl GrowingTables {
    /// Tables without rows, for a folder that exists.
    pub fn begin(dir: &Path) -> Result<Self> {
        Ok(Self {
            dir: dir.to_path_buf(),
            runs: Vec::new(),
            evals: Growing::begin(&file::<EvalRow>(dir), None)?,
            predictions: Growing::begin(&file::<PredictionRow>(dir), None)?,
            last: String::new(),
        })
    }

    /// Adds runs with their rows; their ids have to come after those of all runs before.
    pub fn add(&mut self, mut tables: Tables) -> Result<()> {
        tables.sort();
        let ids = || tables.runs.iter().map(|run| &run.run_id);
        if let Some(early) = ids().find(|id| **id <= self.last) {
            bail!("run `{early}` came after run `{}`", self.last);
        }
        if let Some(last) = ids().max() {
            self.last.clone_from(last);
        }
        self.add_rows(tables)
    }

    fn add_rows(&mut self, tables: Tables) -> Result<()> {
        self.runs.extend(tables.runs);
        self.evals.add(tables.evals)?;
        self.predictions.add(tables.predictions)
    }

    /// Puts the tables in place.
    pub fn finish(self) -> Result<()> {
        let (predictions, of_predictions) = self.predictions.finish()?;
        let (evals, of_evals) = self.evals.finish()?;
        let checksums = together(&of_evals, &of_predictions);
        let mut sorted = self.runs;
        order::sort_runs(&mut sorted);
        let (runs, _) = prepare(&self.dir, sorted, Some(&checksums))?;
        let pending = [predictions, evals, runs];
        pending.into_iter().try_for_each(PendingFile::publish)
    }
}

/// Writes `pretraining.parquet` into a folder that exists, whole or not at all.
pub fn write_pretraining(dir: &Path, rows: &[PretrainingRow]) -> Result<()> {
    prepare(dir, rows.to_vec(), None)?.0.publish()
}

/// Reads `pretraining.parquet` of a folder.
pub fn read_pretraining(dir: &Path) -> Result<Vec<PretrainingRow>> {
    read(dir)
}

/// Writes `perplexity.parquet` into a folder that exists, whole or not at all.
pub fn write_perplexity(dir: &Path, rows: &[PerplexityRow]) -> Result<()> {
    prepare(dir, rows.to_vec(), None)?.0.publish()
}

/// Reads `perplexity.parquet` of a folder.
pub fn read_perplexity(dir: &Path) -> Result<Vec<PerplexityRow>> {
    read(dir)
}

/// Writes `timing.parquet` into a folder that exists, whole or not at all, sorted by kind of run and phase.
pub fn write_timing(dir: &Path, rows: &[TimingRow]) -> Result<()> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| {
        let key = |row: &TimingRow| {
            [
                &row.paper,
                &row.experiment,
                &row.dataset,
                &row.encoder,
                &row.arm,
            ]
            .map(String::clone)
        };
        key(a).cmp(&key(b)).then(a.phase.cmp(&b.phase))
    });
    prepare(dir, rows, None)?.0.publish()
}

/// Reads `timing.parquet` of a folder; no rows where there is none.
pub fn read_timing(dir: &Path) -> Result<Vec<TimingRow>> {
    if file::<TimingRow>(dir).is_file() {
        read(dir)
    } else {
        Ok(Vec::new())
    }
}

fn file<R: Row>(dir: &Path) -> PathBuf {
    dir.join(format!("{}.parquet", R::TABLE))
}

/// The checksums that runs carry of the tables written together with them.
fn together(evals: &str, predictions: &str) -> String {
    format!("evals {evals} predictions {predictions}")
}

/// Writes one table under a temporary name; returns its checksum too.
fn prepare<R: Row>(
    dir: &Path,
    rows: Vec<R>,
    checksums: Option<&str>,
) -> Result<(PendingFile, String)> {
    let mut table = Growing::begin(&file::<R>(dir), checksums)?;
    table.add(rows)?;
    table.finish()
}

fn read<R: Row>(dir: &Path) -> Result<Vec<R>> {
    decode(bytes_of::<R>(dir)?, &file::<R>(dir))
}

fn bytes_of<R: Row>(dir: &Path) -> Result<Vec<u8>> {
    let path = file::<R>(dir);
    fs::read(&path).with_context(|| format!("{}: could not be read", path.display()))
}
