//! Results of a run, published once.
//!
//! An attempt writes its tables into a folder of its own, `attempts/<name>/`, and gives the file that names the folder
//! its place with one hard link: `results/<round>`. A link never replaces a file, so of two attempts at a round one
//! publishes and the other one's tables are dropped, whatever either believed about its lease; nothing is ever replaced
//! or removed that another process could be reading. A run that failed, or whose tables are damaged, is tried again in
//! the next round, and the highest round counts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use totune_disk::{create_folder, sync_folder, unique_name, write_atomically};
use totune_record::Tables;

use super::{ended_runs, lease};

/// Folder of a run folder with the published rounds.
pub(crate) const RESULTS: &str = "results";

/// Folder of a run folder with the tables of attempts.
pub(crate) const ATTEMPTS: &str = "attempts";

/// Content of the file of a round.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// Folder of the tables, below `attempts`: `ok-…` with the status of the run.
    attempt: String,
}

impl Manifest {
    fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| format!("{}: cannot read", path.display()))?;
        serde_json::from_slice(&text)
            .with_context(|| format!("{}: expected the name of an attempt", path.display()))
    }
}

/// Number of the last published round; 0 without one.
pub(crate) fn last_round(folder: &Path) -> Result<u64> {
    let results = folder.join(RESULTS);
    let last = lease::latest(&results);
    Ok(last
        .with_context(|| format!("{}: cannot list", results.display()))?
        .unwrap_or(0))
}

/// Identity of the results that count and of other files of the run's `folder`, which neither other results have nor
/// changed ones; `None` without published results.
pub(crate) fn stamp(folder: &Path, others: &[&str]) -> Option<String> {
    let round = last_round(folder).ok().filter(|round| *round > 0)?;
    let own = published(folder).ok()??;
    stamp_of(folder, round, own.file_name()?.to_str()?, others)
}

/// Whether a run still has the results of this stamp: faster than to look for those that count.
pub(crate) fn is_still(folder: &Path, stamp: &str, others: &[&str]) -> bool {
    let mut parts = stamp.split(' ');
    let round = parts.next().and_then(|round| round.parse::<u64>().ok());
    let (Some(round), Some(attempt)) = (round, parts.next()) else {
        return false;
    };
    // Rounds have no gaps.
    let is_last = !folder.join(RESULTS).join((round + 1).to_string()).exists();
    is_last && stamp_of(folder, round, attempt, others).is_some_and(|found| found == stamp)
}

fn stamp_of(folder: &Path, round: u64, attempt: &str, others: &[&str]) -> Option<String> {
    let own = folder.join(ATTEMPTS).join(attempt);
    let mut stamp = format!("{round} {attempt}");
    for table in ["runs.parquet", "evals.parquet", "predictions.parquet"] {
        stamp = stamp + " " + &ended_runs::stamp(&own.join(table))?;
    }
    stamp = stamp + " " + &ended_runs::stamp(&folder.join(RESULTS).join(round.to_string()))?;
    for other in others {
        stamp = stamp + " " + &ended_runs::stamp(&folder.join(other)).unwrap_or_default();
    }
    Some(stamp)
}

/// The folder with the published tables of a run; `None` where it has none.
///
/// Tables that lie in the run's folder itself were written by an earlier version.
pub(crate) fn published(folder: &Path) -> Result<Option<PathBuf>> {
    let round = last_round(folder)?;
    if round == 0 {
        let is_there = folder.join("runs.parquet").is_file();
        return Ok(is_there.then(|| folder.to_path_buf()));
    }
    let path = folder.join(RESULTS).join(round.to_string());
    let attempt = Manifest::read(&path)?.attempt;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    ensure!(
        !attempt.is_empty() && attempt.chars().all(is_name),
        "{}: attempt: `{attempt}` is no name of a folder",
        path.display()
    );
    Ok(Some(folder.join(ATTEMPTS).join(attempt)))
}

/// Whether the results that count are those of a run that is done, as far as that is known without a look at its tables.
pub(crate) fn is_done(folder: &Path) -> bool {
    let Ok(Some(attempt)) = published(folder) else {
        return false;
    };
    let name = attempt.file_name().and_then(|name| name.to_str());
    let status = name.and_then(|name| name.split('-').next());
    status.is_some_and(|status| ["ok", "diverged"].contains(&status)) && attempt.is_dir()
}

/// Publishes tables as a round of a run; false where another attempt has published that round.
pub(crate) fn publish(folder: &Path, round: u64, tables: &Tables) -> Result<bool> {
    let status = tables.runs.first().map_or("none", |run| &run.status);
    let attempt = format!("{status}-{}", unique_name());
    let own = folder.join(ATTEMPTS).join(&attempt);
    let (manifest, results) = (own.join("attempt.json"), folder.join(RESULTS));
    let written = || -> Result<()> {
        create_folder(&own)?;
        create_folder(&results)?;
        tables.write(&own)?;
        write_atomically(&manifest, &serde_json::to_vec(&Manifest { attempt })?)
    };
    if let Err(error) = written() {
        // Nobody refers to what is there, and the error matters more than what cannot be removed of it.
        let _ = fs::remove_dir_all(&own);
        return Err(error);
    }
    let place = results.join(round.to_string());
    let is_first = lease::link_once(&manifest, &place)
        .with_context(|| format!("{}: cannot be published", place.display()))?;
    if !is_first {
        fs::remove_dir_all(&own).with_context(|| format!("{}: cannot remove", own.display()))?;
    }
    // Its name last, with those of the folders it lies in, which another process may have made just now.
    for folder in results.ancestors().take(3) {
        sync_folder(folder)?;
    }
    Ok(is_first)
}

#[cfg(test)]
mod tests {
    use totune_record::RunRow;

    use super::*;

    fn tables(error: &str) -> Tables {
        let run = RunRow {
            run_id: "a".to_string(),
            error: error.to_string(),
            ..RunRow::default()
        };
        Tables {
            runs: vec![run],
            ..Tables::default()
        }
    }

    #[track_caller]
    fn check_error_of(folder: &Path, expected: &str) {
        let found = published(folder).expect("readable").expect("published");
        let tables = Tables::read(&found).expect("tables");
        assert_eq!(tables.runs[0].error, expected);
    }

    #[test]
    fn the_first_attempt_at_a_round_stays() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        assert_eq!(published(folder).expect("readable"), None);
        assert!(publish(folder, 1, &tables("first")).expect("published"));
        assert!(!publish(folder, 1, &tables("late")).expect("compared"));
        check_error_of(folder, "first");
        let attempts = fs::read_dir(folder.join(ATTEMPTS)).expect("attempts");
        assert_eq!(attempts.count(), 1, "the tables of the late one are gone");

        assert!(publish(folder, 2, &tables("again")).expect("published"));
        check_error_of(folder, "again");
    }

    #[test]
    fn of_many_attempts_at_once_one_publishes() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        let publish = |number: usize| publish(folder, 1, &tables(&number.to_string()));
        let won: Vec<usize> = std::thread::scope(|scope| {
            let attempts: Vec<_> = (0..16)
                .map(|number| (number, scope.spawn(move || publish(number))))
                .collect();
            let ends = attempts.into_iter().filter_map(|(number, attempt)| {
                let published = attempt.join().expect("no panic").expect("no error");
                published.then_some(number)
            });
            ends.collect()
        });
        assert_eq!(won.len(), 1, "{won:?}");
        check_error_of(folder, &won[0].to_string());
    }

    #[test]
    fn tables_of_an_earlier_version_count_until_there_are_others() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        tables("earlier").write(folder).expect("tables");
        check_error_of(folder, "earlier");
        assert!(publish(folder, 1, &tables("now")).expect("published"));
        check_error_of(folder, "now");
    }

    #[test]
    fn a_round_names_a_folder_of_its_run() {
        let folder = tempfile::tempdir().expect("temporary folder");
        fs::create_dir(folder.path().join(RESULTS)).expect("folder");
        let round = folder.path().join("results/1");
        fs::write(&round, r#"{"attempt": "../../elsewhere"}"#).expect("file");
        let error = published(folder.path()).expect_err("a path");
        assert!(
            error.to_string().contains("results/1: attempt: `../.."),
            "{error}"
        );
    }
}
