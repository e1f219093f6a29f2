//! Tables, figures and pages of the results of a paper's runs.
//!
//! [`report`] reads the parquet tables of a paper and profile, the paper's `report.toml` (what to show) and
//! `claims.toml` (what to check), and writes one folder: a self-contained page, tables as Markdown, LaTeX and
//! CSV, figures as SVG and PNG. Every number in it is computed from rows or stands in one of the two files.
//! The same inputs give the same bytes.
//!
//! The evidence (groups of runs, comparisons, verdicts on claims) comes from [`totune_evidence`]. This crate knows
//! nothing of training: it builds without burn, and leaves missing numbers empty with a note.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arms;
mod figures;
mod generic;
mod item;
mod markup;
mod notes;
mod page;
mod report_file;
mod tables;
mod tasks;

#[cfg(test)]
mod fixture;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use totune_evidence::claims::{ClaimContext, Claims, judge};
use totune_evidence::select::runs::Runs;
use totune_evidence::select::scope::Scope;
use totune_evidence::toml_file;
use totune_record::StoredTables;

pub use crate::figures::curves::{CurvesSummary, EpochSummary, GroupSummary, LeadSummary, TimeTo};
pub use crate::figures::dataset_figure;
pub use crate::page::curves::{CURVES_FILES, CurvesRequest, CurvesWritten, curves};
pub use crate::page::index::index;

use crate::page::Page;
use crate::page::contents::Contents;
use crate::page::index::{SUMMARY, Summary, neighbours};
use crate::page::output::Staged;
use crate::report_file::ReportFile;

/// A request for a page.
#[derive(Debug, Clone)]
pub struct Request {
    /// Folder that holds `experiments/`, `results/` and `reports/`.
    pub project_root: PathBuf,
    /// Folder with the cards that come with the program, for what the project has no card of.
    pub shipped: Option<PathBuf>,
    /// Paper id, such as `hart2020`.
    pub paper: String,
    /// Profile, such as `small`.
    pub profile: String,
}

/// The files that were written.
#[derive(Debug, Clone)]
pub struct Written {
    /// The page.
    pub index: PathBuf,
    /// Every file of the folder, the page included.
    pub files: Vec<PathBuf>,
}

/// Folders with cards, the project's own before those that come with the program.
fn card_folders<'a>(project_root: &'a Path, shipped: Option<&'a Path>) -> Vec<&'a Path> {
    [project_root].into_iter().chain(shipped).collect()
}

/// Writes `reports/<paper>/<profile>/` from `results/<paper>/<profile>/` and `experiments/<paper>/`, and then
/// `reports/index.html` over all reports.
///
/// The folder appears whole or not at all: an error leaves an older one as it was.
pub fn report(request: &Request) -> Result<Written> {
    report_of(request, None)
}

/// Does the same as [`report`] from these rows instead of those on disk, such as rows of an earlier schema that were
/// upgraded.
pub fn report_of(request: &Request, rows: Option<StoredTables>) -> Result<Written> {
    let Request {
        project_root,
        shipped,
        paper,
        profile,
    } = request;
    let card_folders = card_folders(project_root, shipped.as_deref());
    check_names(paper, profile)?;
    let results = project_root.join("results").join(paper).join(profile);
    let rows = match rows {
        Some(rows) => Ok(rows),
        None => {
            check_results(&results, (paper, profile)).and_then(|()| StoredTables::read(&results))
        }
    };
    let Experiments {
        mut plan,
        plan_shown,
        claims,
        claims_shown,
        readme,
    } = Experiments::read(request, &card_folders, rows.as_ref())?;
    if !plan.profiles.contains_key(profile) {
        let known = plan.profiles.keys().map(String::as_str);
        return Err(toml_file::unknown([&plan_shown, "profile", profile], known));
    }
    let notice = page::notice::notice(project_root, paper, profile)?;
    let neighbours = neighbours(project_root, paper, profile);
    let mut runs = Runs::read(&card_folders, &results, rows?)?;
    runs.label(&plan.labels, &plan_shown)?;
    runs.choose(&mut plan.plan, &plan_shown)?;
    runs.form(&plan, &plan_shown)?;

    let context = ClaimContext {
        plan: &plan,
        runs: &runs,
        profile,
    };
    let judged = judge(&claims, context, &claims_shown)?;
    let scope = Scope::new(&plan, &runs, plan_shown);
    let contents = Contents::build(&plan, &scope, &judged, stamp(profile))?;
    let meaning = &*plan.profiles[profile];
    let page = Page {
        paper,
        profile,
        meaning,
        notice: notice.as_ref(),
        fixture: profile == FIXTURE,
        plan: &plan,
        contents: &contents,
        judged: &judged,
        runs: &runs,
        readme: &readme,
        neighbours: neighbours.as_ref(),
    };
    let headline = contents.takeaway.as_ref();
    let headline = headline.and_then(|(takeaway, _)| takeaway.headline.as_ref());
    let texts = [&*plan.paper.title, meaning];
    let summary = Summary::of((paper, profile), texts, notice.as_ref(), headline);
    let summary = serde_json::to_string_pretty(&summary.with(&runs, &judged))?;

    let target = project_root.join("reports").join(paper).join(profile);
    let mut staged = Staged::new(&target)?;
    staged.write("index.html", page.html()?.as_bytes())?;
    contents.stage(&mut staged)?;
    staged.write_table(&page::claims::table(&judged))?;
    staged.write(SUMMARY, format!("{summary}\n").as_bytes())?;
    let files = staged.publish()?;
    index(project_root)?;
    Ok(Written {
        index: target.join("index.html"),
        files,
    })
}

/// The parts of `experiments/<paper>/` that a page needs.
struct Experiments {
    plan: ReportFile,
    plan_shown: String,
    claims: Claims,
    claims_shown: String,
    readme: String,
}

impl Experiments {
    /// A file that is not there is empty; for `report.toml` a generic one is made from `rows`.
    fn read(
        request: &Request,
        card_folders: &[&Path],
        rows: Result<&StoredTables, &anyhow::Error>,
    ) -> Result<Self> {
        let Request { paper, profile, .. } = request;
        let folder = request.project_root.join("experiments").join(paper);
        let shown = |name: &str| format!("experiments/{paper}/{name}");
        let [plan_shown, claims_shown] = ["report.toml", "claims.toml"].map(shown);
        let plan = match folder.join("report.toml") {
            file if file.is_file() => ReportFile::read(&file, &plan_shown)?,
            _ => {
                let rows = rows.map_err(|error| anyhow!("{error:#}"))?;
                let generic = generic::report_file(card_folders, (paper, profile), rows)?;
                ReportFile::parse(&generic, &plan_shown)?
            }
        };
        let claims: Claims = match folder.join("claims.toml") {
            file if file.is_file() => toml_file::read(&file, &claims_shown)?,
            _ => toml_file::parse("", &claims_shown)?,
        };
        claims.check(&plan, &claims_shown)?;
        let readme = match folder.join("README.md") {
            file if file.is_file() => fs::read_to_string(file)
                .with_context(|| format!("{}: could not be read", shown("README.md")))?,
            _ => String::new(),
        };
        Ok(Self {
            plan,
            plan_shown,
            claims,
            claims_shown,
            readme,
        })
    }
}

/// The profile whose pages carry a warning.
const FIXTURE: &str = "fixture";

/// The stamp on the pictures of a profile.
fn stamp(profile: &str) -> Option<String> {
    (profile == FIXTURE).then(|| "FIXTURE: synthetic data, not a result".to_owned())
}

fn check_results(results: &Path, (paper, profile): (&str, &str)) -> Result<()> {
    ensure!(
        results.join("runs.parquet").exists(),
        "results/{paper}/{profile}/runs.parquet: does not exist; run the experiments first (`./justw reproduce {paper} {profile}`)"
    );
    Ok(())
}

/// Names become folders, so they are plain.
fn check_names(paper: &str, profile: &str) -> Result<()> {
    for (what, name) in [("paper", paper), ("profile", profile)] {
        let plain = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        ensure!(
            plain,
            "{what}: found `{name}`, expected letters, digits, hyphens and underscores"
        );
    }
    Ok(())
}
