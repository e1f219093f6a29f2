//! The three tables of a folder, written and read together.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::atomic::Pending;
use crate::cell::Row;
use crate::parquet::{decode, encode};
use crate::{EvalRow, PerplexityRow, PredictionRow, PretrainingRow, RunRow, Tables, TimingRow};

impl Tables {
    /// Writes `runs.parquet`, `evals.parquet` and `predictions.parquet` into a folder that exists.
    ///
    /// All three are written and verified under temporary names before the first is put in place, and
    /// `runs.parquet` comes last: where it exists, the others do. Rows are written sorted, whatever their
    /// order here.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let sorted = self.sorted();
        let pending = [
            prepare(dir, &sorted.predictions)?,
            prepare(dir, &sorted.evals)?,
            prepare(dir, &sorted.runs)?,
        ];
        pending.into_iter().try_for_each(Pending::publish)
    }

    /// Reads the three files of a folder, and checks that they belong together.
    pub fn read(dir: &Path) -> Result<Self> {
        let tables = Self {
            runs: read(dir)?,
            evals: read(dir)?,
            predictions: read(dir)?,
        };
        tables.check(dir)?;
        Ok(tables)
    }

    /// Reads only the runs of a folder.
    pub fn read_runs(dir: &Path) -> Result<Vec<RunRow>> {
        read(dir)
    }

    /// Adds the rows of other runs; call [`Tables::sort`] when the last have come.
    pub fn extend(&mut self, other: Self) {
        self.runs.extend(other.runs);
        self.evals.extend(other.evals);
        self.predictions.extend(other.predictions);
    }

    fn sorted(&self) -> Cow<'_, Self> {
        if self.is_sorted() {
            return Cow::Borrowed(self);
        }
        let mut tables = self.clone();
        tables.sort();
        Cow::Owned(tables)
    }

    /// Every run once, and no score or prediction of an unknown run.
    fn check(&self, dir: &Path) -> Result<()> {
        let mut known = HashSet::new();
        for run in &self.runs {
            let file = file::<RunRow>(dir);
            ensure!(
                known.insert(run.run_id.as_str()),
                "{}: found run `{}` twice",
                file.display(),
                run.run_id
            );
        }
        check_owners::<EvalRow>(
            dir,
            &known,
            self.evals.iter().map(|row| row.run_id.as_str()),
        )?;
        check_owners::<PredictionRow>(
            dir,
            &known,
            self.predictions.iter().map(|row| row.run_id.as_str()),
        )
    }
}

fn check_owners<'a, R: Row>(
    dir: &Path,
    known: &HashSet<&str>,
    mut owners: impl Iterator<Item = &'a str>,
) -> Result<()> {
    if let Some(unknown) = owners.find(|owner| !known.contains(owner)) {
        bail!(
            "{}: found rows of run `{unknown}`, which {} does not have; the files were not written together",
            file::<R>(dir).display(),
            file::<RunRow>(dir).display()
        );
    }
    Ok(())
}

/// Writes `pretraining.parquet` into a folder that exists, whole or not at all.
pub fn write_pretraining(dir: &Path, rows: &[PretrainingRow]) -> Result<()> {
    prepare(dir, rows)?.publish()
}

/// Reads `pretraining.parquet` of a folder.
pub fn read_pretraining(dir: &Path) -> Result<Vec<PretrainingRow>> {
    read(dir)
}

/// Writes `perplexity.parquet` into a folder that exists, whole or not at all.
pub fn write_perplexity(dir: &Path, rows: &[PerplexityRow]) -> Result<()> {
    prepare(dir, rows)?.publish()
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
    prepare(dir, &rows)?.publish()
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

/// Writes one table under a temporary name, after making sure that it reads back as the same rows.
fn prepare<R: Row>(dir: &Path, rows: &[R]) -> Result<Pending> {
    let path = file::<R>(dir);
    let bytes = encode(rows)?;
    // Compared as bytes, since a diverged run's NaN differs from itself.
    let again = encode(&decode::<R>(bytes.clone(), &path)?)?;
    ensure!(
        again == bytes,
        "{}: rows changed on their way through parquet",
        path.display()
    );
    Pending::write(&path, &bytes)
}

fn read<R: Row>(dir: &Path) -> Result<Vec<R>> {
    let path = file::<R>(dir);
    let bytes =
        fs::read(&path).with_context(|| format!("{}: could not be read", path.display()))?;
    decode(bytes, &path)
}
