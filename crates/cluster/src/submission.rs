//! The record of what was submitted, in the folder of its scripts and logs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use totune_disk::write_atomically;

/// File of a submission's folder with the record.
const RECORD: &str = "submission.json";

/// Jobs that were submitted together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Submission {
    /// Name that all its jobs begin with.
    pub name: String,
    /// Paper.
    pub paper: String,
    /// Profile.
    pub profile: String,
    /// Date and time of the submission, of the clock of the machine that submitted.
    pub submitted: String,
    /// Ids of the arrays, in the order in which they run.
    pub arrays: Vec<String>,
    /// Id of the job that collects.
    pub collect: Option<String>,
    /// Whether it was cancelled by `totune sweep cancel`.
    #[serde(default)]
    pub cancelled: bool,
}

impl Submission {
    /// Writes the record, whole at any time; the folder exists.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        write_atomically(&folder.join(RECORD), text.as_bytes())
    }

    /// The submissions of a paper and profile below `root`, by name, which begins with the date, with their folders.
    pub fn all(root: &Path, paper: &str, profile: &str) -> Result<Vec<(PathBuf, Self)>> {
        let mut found = Vec::new();
        let Ok(entries) = fs::read_dir(root) else {
            return Ok(found);
        };
        for entry in entries {
            let folder = entry.with_context(|| root.display().to_string())?.path();
            let path = folder.join(RECORD);
            let Ok(text) = fs::read_to_string(&path) else {
                // A submission that was refused leaves its scripts and no record.
                continue;
            };
            let submission: Self = serde_json::from_str(&text)
                .with_context(|| format!("{}: is no record of a submission", path.display()))?;
            // The record is there before the first job is.
            let has_jobs = submission.jobs().next().is_some();
            if has_jobs && submission.paper == paper && submission.profile == profile {
                found.push((folder, submission));
            }
        }
        found.sort_by(|(_, a), (_, b)| a.submitted.cmp(&b.submitted));
        Ok(found)
    }

    /// Ids of all its jobs.
    pub fn jobs(&self) -> impl DoubleEndedIterator<Item = &str> {
        let ids = self.arrays.iter().chain(&self.collect);
        ids.map(String::as_str).filter(|id| !id.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submission(paper: &str, submitted: &str) -> Submission {
        Submission {
            name: format!("totune-{paper}"),
            paper: paper.to_string(),
            profile: "small".to_string(),
            submitted: submitted.to_string(),
            arrays: vec!["12".to_string(), "13".to_string()],
            collect: Some("14".to_string()),
            cancelled: false,
        }
    }

    #[test]
    fn submissions_of_a_paper_are_found_in_order() {
        let root = tempfile::tempdir().expect("temporary folder");
        for (folder, paper, submitted) in [
            ("b", "hart2020", "2026-01-01T00:00:00Z"),
            ("a", "hart2020", "2026-01-02T00:00:00Z"),
            ("c", "wang2023", "2026-01-01T00:00:00Z"),
        ] {
            let folder = root.path().join(folder);
            fs::create_dir(&folder).expect("folder");
            let record = submission(paper, submitted);
            record.write(&folder).expect("written");
        }
        fs::create_dir(root.path().join("refused")).expect("folder");
        let all = |paper: &str| Submission::all(root.path(), paper, "small").expect("records");
        let folders: Vec<PathBuf> = all("hart2020")
            .into_iter()
            .map(|(folder, _)| folder)
            .collect();
        assert_eq!(folders, ["b", "a"].map(|folder| root.path().join(folder)));
        let (_, record) = all("wang2023").remove(0);
        assert_eq!(record.jobs().collect::<Vec<_>>(), ["12", "13", "14"]);
        assert_eq!(all("peters2019"), []);
    }

    #[test]
    fn a_damaged_record_is_named() {
        let root = tempfile::tempdir().expect("temporary folder");
        let folder = root.path().join("a");
        fs::create_dir(&folder).expect("folder");
        fs::write(folder.join(RECORD), "{").expect("file");
        let error = Submission::all(root.path(), "hart2020", "small").expect_err("damaged");
        assert!(error.to_string().contains("a/submission.json"), "{error}");
    }
}
