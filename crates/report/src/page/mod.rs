//! The page: one self-contained HTML file, and the claims as tables.

pub(crate) mod claims;
pub(crate) mod contents;
pub(crate) mod curves;
pub(crate) mod index;
pub(crate) mod notice;
pub(crate) mod output;
pub(crate) mod provenance;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::{Deserialize, Serialize};

use self::contents::Contents;
use self::provenance::{Provenance, statuses, time};
use crate::figures::RenderedFigure;
use crate::markup::{html, markdown};
use crate::report_file::ReportFile;
use crate::tables::RenderedTable;
use totune_evidence::claims::{By, DecidedBy, Judged, Verdict};
use totune_evidence::compare::ALPHA;
use totune_evidence::select::runs::{Run, Runs};
use totune_evidence::text::{counted, fixed};
use totune_plot::Figure;

/// Heading in a paper's README whose section the page quotes.
const DIFFERENCES: &str = "Where we differ";

/// Everything a page shows.
pub(crate) struct Page<'a> {
    pub(crate) paper: &'a str,
    pub(crate) profile: &'a str,
    /// Meaning of the profile.
    pub(crate) meaning: &'a str,
    /// Notice above all results.
    pub(crate) notice: Option<&'a notice::NoticeView>,
    /// Whether to warn that nothing here is a result.
    pub(crate) fixture: bool,
    pub(crate) plan: &'a ReportFile,
    pub(crate) contents: &'a Contents,
    pub(crate) judged: &'a [Judged<'a>],
    pub(crate) runs: &'a Runs,
    /// The paper's README.
    pub(crate) readme: &'a str,
    /// Papers before and after this one, with a page of the same profile.
    pub(crate) neighbours: Option<&'a [String; 2]>,
}

impl Page<'_> {
    /// The page as one HTML file: style and figures inside, no script, nothing to fetch.
    pub(crate) fn html(&self) -> Result<String> {
        let mut environment = Environment::new();
        filters(&mut environment);
        environment.add_template("table.html", include_str!("../../templates/table.html"))?;
        environment.add_template("page.html", include_str!("../../templates/page.html"))?;
        let template = environment.get_template("page.html")?;
        let figures = self.contents.drawings.iter().map(figure);
        let figures = figures.collect::<Result<Vec<Value>>>()?;
        let all: Vec<&Run> = self.runs.all().iter().collect();
        let takeaway = self.contents.takeaway.as_ref();
        let panels = match takeaway.and_then(|(_, figure)| figure.as_ref()) {
            Some(figure) => figure.inline()?,
            None => Vec::new(),
        };
        let panels: Vec<Value> = panels.into_iter().map(Value::from_safe_string).collect();
        let page = template.render(context! {
            style => Value::from_safe_string(include_str!("../../templates/style.css").to_owned()),
            paper_id => self.paper,
            profile => self.profile,
            meaning => self.meaning,
            notice => shown(self.notice),
            notice_style => Value::from_safe_string(include_str!("../../templates/notice.css").to_owned()),
            fixture => self.fixture,
            paper => context! {
                title => self.plan.paper.title.as_str(),
                authors => self.plan.paper.authors.as_str(),
                question => self.plan.paper.question.as_str(),
            },
            takeaway => takeaway.map(|(takeaway, _)| takeaway.table.html()),
            headline => shown(takeaway.and_then(|(takeaway, _)| takeaway.headline.as_ref())),
            headline_figure => shown(panels),
            neighbours => shown(self.neighbours),
            own_study => self.is_own_study(),
            n_runs => counted(all.len(), "run"),
            statuses => statuses(&all),
            time => time(self.runs.all().iter()),
            tests => tests(self.judged),
            verdicts => shown(verdict_counts(self.judged)),
            tables => self.contents.tables.iter().map(RenderedTable::html).collect::<Vec<_>>(),
            figures => figures,
            claims => self.judged.iter().map(claim).collect::<Vec<_>>(),
            differences => section(self.readme, DIFFERENCES),
            provenance => shown(Provenance::of(self.runs)),
        });
        page.context("page: could not be rendered")
    }

    /// Whether no claim is of a paper.
    fn is_own_study(&self) -> bool {
        let mut claims = self.judged.iter().map(|judged| judged.claim);
        !self.judged.is_empty() && claims.all(|claim| claim.by == By::Project)
    }
}

/// The filters of templates: escaped text, the same with intervals that no line breaks, and Markdown.
pub(crate) fn filters(environment: &mut Environment) {
    environment.add_filter("text", |text: &str| Value::from_safe_string(html(text)));
    environment.add_filter("nowrap", |text: &str| {
        Value::from_safe_string(unbroken(&html(text)))
    });
    environment.add_filter("markdown", |text: &str| {
        Value::from_safe_string(markdown(text))
    });
}

/// Intervals and counts that no line breaks: `[79.4, 80.9]`, `n = 3`.
fn unbroken(text: &str) -> String {
    let mut inside = false;
    let kept = text.chars().map(|character| {
        match character {
            '[' => inside = true,
            ']' => inside = false,
            ' ' if inside => return '\u{a0}',
            _ => {}
        }
        character
    });
    let kept: String = kept.collect();
    kept.replace("n = ", "n\u{a0}=\u{a0}")
}

/// Folders in a folder, sorted; none where there is no such folder.
fn folders(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.path().is_dir());
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// A value for the template.
fn shown(value: impl Serialize) -> Value {
    Value::from(Serde(value))
}

/// Number of claims by verdict.
#[derive(Debug, Serialize, Deserialize)]
struct VerdictCount {
    words: String,
    class: String,
    n: usize,
    /// Their ids and titles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<(String, String)>,
}

fn verdict_counts(judged: &[Judged]) -> Vec<VerdictCount> {
    let of = |verdict: Verdict| {
        let claims: Vec<(String, String)> = judged
            .iter()
            .filter(|judged| judged.verdict == verdict)
            .map(|judged| (judged.claim.id.clone(), judged.claim.title.clone()))
            .collect();
        VerdictCount {
            words: verdict.words().to_owned(),
            class: verdict.class().to_owned(),
            n: claims.len(),
            claims,
        }
    };
    Verdict::ALL
        .into_iter()
        .map(of)
        .filter(|count| count.n > 0)
        .collect()
}

/// Number of tests, and of verdicts expected by chance; empty without a test.
fn tests(judged: &[Judged]) -> String {
    let n: usize = judged.iter().map(|judged| judged.n_tests).sum();
    let claims = judged.iter().filter(|judged| judged.n_tests > 0).count();
    let by_chance = fixed(ALPHA * claims as f64, 1);
    match claims {
        0 => String::new(),
        _ => format!(
            "{} decided by {} of runs, each claim at {ALPHA}: at most about {by_chance} false positives are expected.",
            match claims {
                1 => "1 claim is".to_owned(),
                n => format!("{n} claims are"),
            },
            counted(n, "comparison"),
        ),
    }
}

/// A figure for the template.
fn figure((drawing, figure): &(RenderedFigure, Figure)) -> Result<Value> {
    let panels = figure.inline()?.into_iter();
    Ok(context! {
        notes => drawing.notes.clone(),
        panels => panels.map(Value::from_safe_string).collect::<Vec<_>>(),
        table => drawing.table.as_ref().map(RenderedTable::html),
        ..shown(&drawing.heading)
    })
}

/// A claim for the template.
fn claim(judged: &Judged) -> Value {
    let claim = judged.claim;
    // Headings over what the paper gives and what stands against it.
    let labels = match judged.own {
        None if claim.by == By::Project => ["Claim", "Runs"],
        None => ["Paper", "Ours"],
        Some(DecidedBy::Numbers) => ["Paper", "Recomputed"],
        Some(DecidedBy::Words) => ["In one place", "In another"],
        Some(DecidedBy::OtherSource) => ["Paper", "Elsewhere"],
    };
    context! {
        id => claim.id.as_str(),
        title => claim.title.as_str(),
        says => claim.says.as_str(),
        source => claim.source.as_str(),
        by => claim.by.words(),
        note => claim.note.as_str(),
        paper => judged.paper.as_str(),
        ours => judged.ours.as_str(),
        effect => judged.effect.as_str(),
        p => judged.p.as_str(),
        detectable => judged.detectable.as_str(),
        scope => judged.scope.as_str(),
        verdict => judged.verdict.words(),
        class => judged.verdict.class(),
        own => judged.own.map(DecidedBy::words),
        labels => labels.to_vec(),
        reasons => judged.reasons.clone(),
    }
}

/// The text under a second-level heading of a Markdown file, up to the next such heading; empty if there is none.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let title = format!("## {heading}");
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        match start {
            None if line.trim_end() == title => start = Some(at + line.len()),
            Some(start) if line.starts_with("## ") || line.starts_with("# ") => {
                return text[start..at].trim();
            }
            _ => {}
        }
        at += line.len();
    }
    start.map_or("", |start| text[start..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_breaks_within_an_interval() {
        let text = "tuning [0.1, 0.2] n = 3";
        assert_eq!(unbroken(text), "tuning [0.1,\u{a0}0.2] n\u{a0}=\u{a0}3");
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_kind() {
        let text = "# T\n\n## Where we differ\n\n- a\n\n### Folds\n\nb\n\n## More\n\nc\n";
        assert_eq!(section(text, "Where we differ"), "- a\n\n### Folds\n\nb");
        assert_eq!(section(text, "More"), "c");
        assert_eq!(section(text, "Absent"), "");
    }
}
