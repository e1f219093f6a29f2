//! The page over all reports, from the summary that each report leaves in its folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use minijinja::{Environment, context};
use serde::{Deserialize, Serialize};

use super::notice::NoticeView;
use super::{VerdictCount, filters, folders, shown, verdict_counts};
use crate::FIXTURE;
use crate::tables::takeaway::Headline;
use totune_disk::{create_folder, write_atomically};
use totune_evidence::claims::Judged;
use totune_evidence::select::runs::Runs;

/// File of a report's folder that the index is made of.
pub(crate) const SUMMARY: &str = "summary.json";

/// The summary of a report that the index shows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    paper: String,
    profile: String,
    title: String,
    /// Description of the profile.
    meaning: String,
    /// The title of its notice.
    notice: Option<String>,
    /// Whether the notice withdraws its conclusions.
    withdrawn: bool,
    headline: Option<Headline>,
    runs: usize,
    /// First and last day on which a run began (UTC).
    days: Option<(String, String)>,
    verdicts: Vec<VerdictCount>,
}

impl Summary {
    pub(crate) fn of(
        (paper, profile): (&str, &str),
        [title, meaning]: [&str; 2],
        notice: Option<&NoticeView>,
        headline: Option<&Headline>,
    ) -> Self {
        Self {
            paper: paper.to_owned(),
            profile: profile.to_owned(),
            title: title.to_owned(),
            meaning: meaning.to_owned(),
            notice: notice.map(|notice| notice.title.clone()),
            withdrawn: notice.is_some_and(|notice| notice.withdraws),
            headline: headline.cloned(),
            runs: 0,
            days: None,
            verdicts: Vec::new(),
        }
    }

    /// The same with the number and days of the runs, and the verdicts on the claims.
    pub(crate) fn with(self, runs: &Runs, judged: &[Judged]) -> Self {
        let days = runs.all().iter().filter_map(|run| day(run.row.started));
        let days: BTreeSet<String> = days.collect();
        let verdicts = verdict_counts(judged).into_iter();
        let verdicts = verdicts.map(|count| VerdictCount {
            claims: Vec::new(),
            ..count
        });
        Self {
            runs: runs.all().len(),
            days: days.first().cloned().zip(days.last().cloned()),
            verdicts: verdicts.collect(),
            ..self
        }
    }
}

/// The day of a moment in seconds since 1970, such as `2026-03-01`.
fn day(seconds: u64) -> Option<String> {
    let moment = chrono::DateTime::from_timestamp(i64::try_from(seconds).ok()?, 0)?;
    Some(moment.date_naive().to_string())
}

/// Writes `reports/index.html` from the summaries of all reports but those of fixtures; the path of the page.
///
/// # Errors
/// Where a summary cannot be read, or the page not be written.
pub fn index(project_root: &Path) -> Result<PathBuf> {
    let reports = project_root.join("reports");
    let summaries = summaries(&reports)?;
    let mut environment = Environment::new();
    filters(&mut environment);
    environment.add_template("index.html", include_str!("../../templates/index.html"))?;
    let page = environment.get_template("index.html")?.render(context! {
        style => minijinja::Value::from_safe_string(include_str!("../../templates/style.css").to_owned()),
        reports => shown(summaries),
    })?;
    let target = reports.join("index.html");
    create_folder(&reports)?;
    write_atomically(&target, page.as_bytes())?;
    Ok(target)
}

/// The summaries of `reports/<paper>/<profile>/`, in order of their names.
fn summaries(reports: &Path) -> Result<Vec<Summary>> {
    let mut found = Vec::new();
    for paper in folders(reports) {
        for profile in folders(&reports.join(&paper)) {
            let path = reports.join(&paper).join(&profile).join(SUMMARY);
            if profile == FIXTURE || !path.is_file() {
                continue;
            }
            let from = || format!("reports/{paper}/{profile}/{SUMMARY}: could not be read");
            let text = fs::read_to_string(&path).with_context(from)?;
            found.push(serde_json::from_str(&text).with_context(from)?);
        }
    }
    Ok(found)
}

/// The paper before this one and the one after it, among those with a `report.toml` and results of the same profile; the last
/// is followed by the first. Nothing where there is no other.
pub(crate) fn neighbours(project_root: &Path, paper: &str, profile: &str) -> Option<[String; 2]> {
    let papers = folders(&project_root.join("experiments"));
    let has = |paper: &String| {
        let plan = project_root
            .join("experiments")
            .join(paper)
            .join("report.toml");
        let results = project_root.join("results").join(paper).join(profile);
        plan.is_file() && results.join("runs.parquet").is_file()
    };
    let papers: Vec<String> = papers.into_iter().filter(has).collect();
    let here = papers.iter().position(|other| other == paper)?;
    let n = papers.len();
    (n > 1).then(|| [(here + n - 1) % n, (here + 1) % n].map(|at| papers[at].clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_that_of_utc() {
        assert_eq!(day(0).unwrap(), "1970-01-01");
        assert_eq!(day(1_700_000_000).unwrap(), "2023-11-14");
        assert_eq!(day(u64::MAX), None);
    }

    #[test]
    fn papers_follow_each_other_in_a_ring() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        let neighbours = |paper| neighbours(root.path(), paper, "small");
        put("experiments/a/report.toml");
        put("results/a/small/runs.parquet");
        assert_eq!(neighbours("a"), None);
        for paper in ["b", "c"] {
            put(&format!("experiments/{paper}/report.toml"));
            put(&format!("results/{paper}/small/runs.parquet"));
        }
        // Neither has both.
        put("experiments/d/report.toml");
        put("results/e/small/runs.parquet");
        assert_eq!(neighbours("a").unwrap(), ["c", "b"]);
        assert_eq!(neighbours("c").unwrap(), ["b", "a"]);
        assert_eq!(neighbours("d"), None);
    }

    #[test]
    fn the_index_has_a_line_for_each_report_and_none_for_fixtures() {
        let root = tempfile::tempdir().unwrap();
        let headline = Headline {
            advice: "Better than all: few".into(),
            compares: "Few minus all".into(),
            measured: "+0.1 points".into(),
            decided: true,
        };
        for (paper, profile, title) in [
            ("b", "small", "B & co"),
            ("a", "small", "A"),
            ("a", "fixture", "F"),
        ] {
            let folder = root.path().join("reports").join(paper).join(profile);
            fs::create_dir_all(&folder).unwrap();
            let mut summary = Summary::of((paper, profile), [title, "few"], None, Some(&headline));
            summary.days = Some(("2026-01-01".into(), "2026-01-02".into()));
            summary.withdrawn = paper == "b";
            let title = ["Not complete", "Conclusions withdrawn"][usize::from(paper == "b")];
            summary.notice = Some(title.to_owned());
            fs::write(
                folder.join(SUMMARY),
                serde_json::to_string(&summary).unwrap(),
            )
            .unwrap();
        }
        let page = fs::read_to_string(index(root.path()).unwrap()).unwrap();
        let places =
            ["a/small/index.html", "b/small/index.html"].map(|link| page.find(link).unwrap());
        assert!(places[0] < places[1]);
        for text in [
            "B &amp; co",
            "Better than all: few (+0.1 points)",
            "Not complete",
            "Conclusions withdrawn",
            "2026-01-02",
        ] {
            assert!(page.contains(text), "{text} in {page}");
        }
        // A withdrawn report gives no advice.
        assert!(page.contains("Few minus all (+0.1 points)"));
        assert!(!page.contains("fixture"));
    }
}
