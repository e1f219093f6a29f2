//! One figure of lines for any runs, as `totune curves` writes it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::figures::curves::{CurvesSummary, Lines, drawn};
use crate::item::Heading;
use crate::page::folders;
use crate::page::output::Staged;
use crate::report_file::ReportFile;
use totune_evidence::plan::narrow;
use totune_evidence::select::panel::test;
use totune_evidence::select::runs::Runs;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::counts;
use totune_evidence::toml_file::did_you_mean;
use totune_plot::Figure;
use totune_plot::time::Time;
use totune_record::StoredTables;

mod chosen;

use chosen::{conditions, groups, task, usual_metric};

/// A request for lines.
#[derive(Debug, Clone, Default)]
pub struct CurvesRequest {
    /// Folder that holds `experiments/`, `results/` and `reports/`.
    pub project_root: PathBuf,
    /// Folder with the cards that come with the program, for what the project has no card of.
    pub shipped: Option<PathBuf>,
    /// A folder under `results/`: a paper, or runs of one's own.
    pub paper: String,
    /// A folder in that one, such as `small`.
    pub profile: String,
    /// A task of the paper's `report.toml`, or the name of a dataset that was run.
    pub task: String,
    /// Further conditions on the runs: dotted paths into spec or row, each with a value, or several set apart by
    /// commas, as in `("work.training.batch-size", "1")`. They narrow what the groups hold, but for
    /// `experiment`: the groups of a paper are then looked for in that one.
    pub conditions: Vec<(String, String)>,
    /// Groups to draw, by name. None: those of the first figure of kind `curves` in `report.toml` that shows the task;
    /// without such a figure, one per arm found in the runs, by its name such as `last-2` or, with several experiments,
    /// `table-2/last-2`. The latter names can always be requested.
    pub groups: Vec<String>,
    /// Metric; none for that of the task, or for a bare dataset the one its runs stopped by, or the first that they have
    /// of accuracy, Spearman correlation and span F1.
    pub metric: Option<String>,
    /// Split whose scores are drawn; none for `test`.
    pub split: Option<String>,
    /// Whether time runs by powers of ten along the axis.
    pub log_time: bool,
    /// Folder to write; it must not hold anything else. None: `reports/<paper>/<profile>/curves/<task>/`, which writing
    /// that report anew removes.
    pub out: Option<PathBuf>,
}

/// The folder and files that were written.
#[derive(Debug, Clone)]
pub struct CurvesWritten {
    /// The folder.
    pub folder: PathBuf,
    /// Its files: [`CURVES_FILES`].
    pub files: Vec<PathBuf>,
    /// The table with its notes, for a terminal.
    pub text: String,
    /// The same in numbers, with the means after each epoch.
    pub summary: CurvesSummary,
    /// Notes on what is missing or mixed, and on the best group by time.
    pub notes: Vec<String>,
}

/// The files of a folder of curves: the figure twice, the table as Markdown, LaTeX and CSV, and each score of each run.
pub const CURVES_FILES: [&str; 6] = [
    "curves.svg",
    "curves.png",
    "curves.md",
    "curves.tex",
    "times.csv",
    "curves.csv",
];

/// Path of a run's experiment. The groups of a paper name it too; a request overrides it.
const EXPERIMENT: &str = "experiment";

/// Draws the lines of one task from `results/<paper>/<profile>/` and writes them into a folder, whole or not at all.
///
/// # Errors
/// Where there are no results, the task, a group, a metric or the path of a condition is unknown (with the near name), no run
/// is left, none of them was scored after every epoch, or the folder to write holds something else.
pub fn curves(request: &CurvesRequest) -> Result<CurvesWritten> {
    let CurvesRequest {
        project_root,
        shipped,
        paper,
        profile,
        ..
    } = request;
    crate::check_names(paper, profile)?;
    let results = existing(&project_root.join("results"), paper, profile)?;
    let mut runs = Runs::read(
        &crate::card_folders(project_root, shipped.as_deref()),
        &results,
        StoredTables::read(&results)?,
    )?;
    let mut plan = plan(project_root, paper)?;
    let plan_shown = format!("experiments/{paper}/report.toml");
    runs.label(&plan.labels, &plan_shown)?;
    runs.choose(&mut plan.plan, &plan_shown)?;
    let scope = Scope::new(&plan, &runs, format!("curves of {paper} {profile}"));
    let (lines, mixed) = gather(request, &plan, &scope)?;
    let caveats = runs.caveats(&plan);
    let time = if request.log_time {
        Time::Log
    } else {
        Time::Linear
    };
    let heading = Heading {
        id: "curves".to_owned(),
        title: format!("{}: time against {}", lines.title, lines.unit),
        ..Heading::default()
    };
    let mut drawn = drawn(std::slice::from_ref(&lines), time, heading);
    let mut table = drawn.table.take().unwrap_or_default();
    drawn.notes.extend(mixed);
    drawn.notes.extend(runs.retimed().notes());
    drawn.notes.extend(caveats);
    table.notes.splice(0..0, drawn.notes.iter().cloned());
    let figure = Figure {
        panels: drawn.panels,
        stamp: crate::stamp(profile),
    };
    let folder = match &request.out {
        Some(out) => free(out)?,
        None => {
            let report = project_root.join("reports").join(paper).join(profile);
            report.join("curves").join(&lines.task)
        }
    };
    let mut staged = Staged::new(&folder)?;
    staged.write(CURVES_FILES[0], figure.svg()?.as_bytes())?;
    staged.write_with(CURVES_FILES[1], |path| figure.write_png(path))?;
    staged.write(CURVES_FILES[2], table.markdown().as_bytes())?;
    staged.write(CURVES_FILES[3], table.latex().as_bytes())?;
    staged.write(CURVES_FILES[4], table.csv.text().as_bytes())?;
    let points = drawn.csv.unwrap_or_default();
    staged.write(CURVES_FILES[5], points.text().as_bytes())?;
    Ok(CurvesWritten {
        files: staged.publish()?,
        folder,
        text: table.plain(),
        summary: CurvesSummary::of(&lines),
        notes: drawn.notes,
    })
}

/// The requested lines, and notes on settings that differ within those that nobody named.
fn gather(
    request: &CurvesRequest,
    file: &ReportFile,
    scope: &Scope,
) -> Result<(Lines, Vec<String>)> {
    let Scope { runs, from, .. } = scope;
    let (name, mut task) = task(request, scope)?;
    let mut conditions = conditions(&request.conditions);
    narrow(&mut conditions, task.conditions());
    let mut selection = runs.find(&conditions, from)?;
    if !conditions.contains_key(EXPERIMENT) {
        selection.runs.retain(|run| !run.row.is_trial());
    }
    if let Some(note) = &selection.note {
        bail!("{from}: nothing to draw: {note}");
    }
    let split = request.split.clone().unwrap_or_else(test);
    if let Some(metric) = &request.metric {
        (task.metric, task.unit) = (metric.clone(), metric.clone());
    } else if task.metric.is_empty() {
        task.metric = usual_metric(&selection.runs, &split, from)?;
        task.unit = task.metric.clone();
    }
    let (mut groups, mixed) = groups(request, (file, &name), &selection.runs, scope)?;
    if conditions.contains_key(EXPERIMENT) {
        for group in &mut groups {
            group.conditions.remove(EXPERIMENT);
        }
    }
    let lines = Lines {
        lines: Lines::gather(scope, &groups, &conditions, (&task.metric, &split))?,
        title: task.title,
        unit: task.unit,
        metric: task.metric,
        task: name,
        split,
        floors: Vec::new(),
        lowest: None,
    };
    ensure!(
        lines.best().is_some(),
        "{from}: task `{}` has no line to draw: {}",
        lines.task,
        nothing(&lines)
    );
    Ok((lines, mixed))
}

/// The folder of a paper's profile, which has rows.
fn existing(results: &Path, paper: &str, profile: &str) -> Result<PathBuf> {
    let mut folder = results.to_owned();
    let mut shown = "results".to_owned();
    for name in [paper, profile] {
        if !folder.join(name).is_dir() {
            let names = folders(&folder);
            let near = did_you_mean(name, names.iter().map(String::as_str));
            bail!(
                "{shown}: there is no `{name}`, found: {}{near}",
                if names.is_empty() {
                    "nothing".to_owned()
                } else {
                    names.join(", ")
                }
            );
        }
        folder.push(name);
        shown = format!("{shown}/{name}");
    }
    ensure!(
        folder.join("runs.parquet").exists(),
        "{shown}/runs.parquet: does not exist; collect the runs first (`./justw collect {paper} {profile}`)"
    );
    Ok(folder)
}

/// The paper's `report.toml`, or an empty plan where it has none.
fn plan(project_root: &Path, paper: &str) -> Result<ReportFile> {
    let shown = format!("experiments/{paper}/report.toml");
    let path = project_root.join(&shown);
    if path.exists() {
        ReportFile::read(&path, &shown)
    } else {
        Ok(ReportFile::default())
    }
}

/// The reason why no group has a line.
fn nothing(lines: &Lines) -> String {
    let each = lines.lines.iter().map(|line| {
        let why = match &line.note {
            Some(note) => note.clone(),
            None => counts(&line.lost),
        };
        format!("{}: {why}", line.title)
    });
    each.collect::<Vec<_>>().join("; ")
}

/// A folder that may be written: none yet, or one that holds nothing but curves.
fn free(out: &Path) -> Result<PathBuf> {
    if out.exists() {
        let entries =
            fs::read_dir(out).with_context(|| format!("{}: is not a folder", out.display()))?;
        for entry in entries {
            let name = entry
                .with_context(|| format!("{}: could not be read", out.display()))?
                .file_name();
            ensure!(
                CURVES_FILES.iter().any(|file| name == *file),
                "{}: holds `{}`, expected a new folder or one with curves alone, since it is replaced whole",
                out.display(),
                name.to_string_lossy()
            );
        }
    }
    // Writing next to it needs a name: `.` has none until it is resolved.
    match out.file_name() {
        Some(_) => Ok(out.to_owned()),
        None => fs::canonicalize(out).with_context(|| format!("{}: does not exist", out.display())),
    }
}
