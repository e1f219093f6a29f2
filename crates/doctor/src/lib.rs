//! An examination of this machine: findings, what is missing, and remedies.
//!
//! Each module looks at one part of the machine and returns [`Finding`]s; an [`Examination`] puts them together and is
//! shown as a table or as JSON. All is well when the grid that is asked about can run; without one, the `fixture` profile,
//! which needs neither LibTorch nor a GPU nor anyone's data.
//!
//! This crate changes nothing on the machine, but for a folder that it makes and removes to see whether it can; and it
//! chooses no device.

// Naming the LibTorch devices is deprecated in burn 0.22, the last release that has them.
#![cfg_attr(feature = "tch", allow(deprecated))]

mod devices;
mod files;
mod grid;
mod libtorch;
mod machine;
mod memory;

use serde::Serialize;
use totune_sweep::{Project, Roots};

pub use grid::Grid;
pub use libtorch::libraries as libtorch_libraries;
#[cfg(feature = "tch")]
pub use libtorch::release as libtorch_release;

/// The state of a part of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// There, and good.
    Well,
    /// Missing or unfit; what needs it cannot run, what was asked about can.
    Lacking,
    /// Missing or unfit; what was asked about cannot run without it.
    Broken,
}

/// One line of the table.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The part of the machine.
    part: String,
    /// Its state.
    state: State,
    /// A description of what was found.
    found: String,
    /// The remedy, if one is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// The line of the table that it shares with others.
    #[serde(skip)]
    shared: Option<SharedLine>,
}

/// A line of the table for several parts that nobody asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SharedLine {
    Fixtures,
    Others,
}

impl SharedLine {
    /// The line for parts of these names.
    fn of(self, names: &[&str]) -> Finding {
        let n = names.len();
        match self {
            Self::Fixtures => Finding::well("fixtures", format!("{n} come with totune")),
            Self::Others => Finding::lacking(
                "others",
                format!("{n} are not found"),
                format!(
                    "{}. `totune doctor PAPER PROFILE` says in a checkout which of them a grid needs, and how to get them.",
                    names.join(", ")
                ),
            ),
        }
    }
}

impl Finding {
    fn well(part: &str, found: impl Into<String>) -> Self {
        Self {
            part: part.into(),
            state: State::Well,
            found: found.into(),
            remedy: None,
            shared: None,
        }
    }

    fn lacking(part: &str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            part: part.into(),
            state: State::Lacking,
            found: found.into(),
            remedy: Some(remedy.into()),
            shared: None,
        }
    }

    fn broken(part: &str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            part: part.into(),
            state: State::Broken,
            found: found.into(),
            remedy: Some(remedy.into()),
            shared: None,
        }
    }

    /// The same, in a line that it shares with others.
    fn within(self, shared: SharedLine) -> Self {
        Self {
            shared: Some(shared),
            ..self
        }
    }
}

/// Findings under one heading.
#[derive(Debug, Serialize)]
struct Section {
    title: &'static str,
    findings: Vec<Finding>,
}

impl Section {
    /// The findings as lines: those that share one are one.
    fn lines(&self) -> Vec<Finding> {
        let mut lines: Vec<Finding> = Vec::new();
        let mut put: Vec<SharedLine> = Vec::new();
        for finding in &self.findings {
            match finding.shared {
                None => lines.push(finding.clone()),
                Some(shared) if put.contains(&shared) => {}
                Some(shared) => {
                    put.push(shared);
                    let same = self.findings.iter();
                    let same = same.filter(|other| other.shared == Some(shared));
                    let names: Vec<&str> = same.map(|other| other.part.as_str()).collect();
                    lines.push(shared.of(&names));
                }
            }
        }
        lines
    }
}

/// Everything that was found.
#[derive(Debug, Serialize)]
pub struct Examination {
    /// Subject: `the fixture profile`, or a paper's grid.
    pub about: String,
    /// True if it can run.
    pub well: bool,
    sections: Vec<Section>,
}

impl Examination {
    /// Examines everything below `roots` and `project`, whose folder may not exist; of datasets and encoders those that
    /// `grid` needs, if there is one.
    pub fn new(project: &Project, roots: &Roots, grid: Option<&Grid>) -> Self {
        let section = |title, findings| Section { title, findings };
        let devices = [libtorch::findings(&project.root), devices::findings()].concat();
        let sections = vec![
            section("tools", machine::tools(&project.root)),
            section("machine", machine::machine(&project.root)),
            section("devices", devices),
            section("datasets", files::datasets(project, roots, grid)),
            section("encoders", files::encoders(project, roots, grid)),
        ];
        let mut all = sections.iter().flat_map(|section| &section.findings);
        Self {
            about: grid.map_or("the fixture profile".to_string(), Grid::title),
            well: all.all(|finding| finding.state != State::Broken),
            sections,
        }
    }

    /// The same where the files that come with the program cannot be written to the user's cache, for the reason `error`.
    #[must_use]
    pub fn without_shipped_files(mut self, error: &anyhow::Error) -> Self {
        let finding = Finding::broken(
            "own files",
            format!("{error:#}"),
            "make that folder writable, or let XDG_CACHE_HOME name one that is",
        );
        self.sections.push(Section {
            title: "files that come with totune",
            findings: vec![finding],
        });
        self.well = false;
        self
    }
}

/// The table: a symbol (in plain letters with `plain`), the part, the finding, and below it the remedy.
pub fn table(examination: &Examination, plain: bool) -> String {
    let sections = examination.sections.iter();
    let lines: Vec<(&str, Vec<Finding>)> = sections
        .map(|section| (section.title, section.lines()))
        .collect();
    let parts = lines.iter().flat_map(|(_, lines)| lines);
    let width = parts.map(|line| line.part.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for (title, lines) in &lines {
        text.push_str(&format!("{title}\n"));
        for Finding {
            part,
            state,
            found,
            remedy,
            shared: _,
        } in lines
        {
            text.push_str(&format!(
                "  {} {part:width$}  {found}\n",
                mark(*state, plain)
            ));
            let indent = 2 + mark(*state, plain).chars().count() + 1 + width + 2;
            for line in remedy
                .iter()
                .flat_map(|remedy| wrap(remedy, LINE - indent.min(LINE / 2)))
            {
                text.push_str(&format!("{:indent$}{line}\n", ""));
            }
        }
    }
    let findings = examination.sections.iter();
    let findings = findings.flat_map(|section| &section.findings);
    let lacking = findings.filter(|finding| finding.state == State::Lacking);
    let lacking = lacking.count();
    let about = &examination.about;
    text.push_str(&match (examination.well, lacking) {
        (true, 0) => "nothing is missing\n".to_string(),
        (true, 1) => format!("{about} can run; one thing is missing for other work\n"),
        (true, n) => format!("{about} can run; {n} things are missing for other work\n"),
        (false, _) => format!("{about} cannot run; see {}\n", mark(State::Broken, plain)),
    });
    text
}

/// Width of a line of the table with a long remedy, in columns.
const LINE: usize = 110;

/// The text in lines of at most `width` columns, but for words that are longer.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

fn mark(state: State, plain: bool) -> &'static str {
    match (state, plain) {
        (State::Well, false) => "✓",
        (State::Lacking, false) => "–",
        (State::Broken, false) => "✗",
        (State::Well, true) => "ok",
        (State::Lacking, true) => "--",
        (State::Broken, true) => "NO",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn nowhere() -> Roots {
        Roots {
            data: "no-such-folder".into(),
            encoders: "no-such-folder".into(),
            cache: None,
        }
    }

    fn examination(well: bool, findings: Vec<Finding>) -> Examination {
        Examination {
            about: "the fixture profile".to_string(),
            well,
            sections: vec![Section {
                title: "tools",
                findings,
            }],
        }
    }

    #[test]
    fn parts_are_aligned_and_a_remedy_stands_below_what_it_is_for() {
        let findings = vec![
            Finding::well("rustc", "1.95.0"),
            Finding::lacking(
                "compiler",
                "none",
                "install one, or set CXX to the one there is, wherever it is, and then try again, with the same command as before",
            ),
            Finding::broken("data", "gone", "restore it"),
        ];
        let expected = "\
tools
  ok rustc     1.95.0
  -- compiler  none
               install one, or set CXX to the one there is, wherever it is, and then try again, with the same
               command as before
  NO data      gone
               restore it
the fixture profile cannot run; see NO
";
        assert_eq!(table(&examination(false, findings), true), expected);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_a_finding() {
        let before = examination(true, vec![Finding::well("rustc", "1.95.0")]);
        let error = anyhow::anyhow!("/cache/totune: cannot be written");
        let after = before.without_shipped_files(&error);
        assert!(!after.well);
        let shown = table(&after, true);
        assert!(
            shown.contains("NO own files  /cache/totune: cannot be written"),
            "{shown}"
        );
        assert!(shown.contains("XDG_CACHE_HOME"), "{shown}");
    }

    #[test]
    fn the_last_line_counts_what_is_missing() {
        for (well, n_lacking, expected) in [
            (true, 0, "nothing is missing"),
            (
                true,
                1,
                "the fixture profile can run; one thing is missing for other work",
            ),
            (
                true,
                2,
                "the fixture profile can run; 2 things are missing for other work",
            ),
            (false, 0, "the fixture profile cannot run; see ✗"),
        ] {
            let text = table(
                &examination(well, vec![Finding::lacking("a", "b", "c"); n_lacking]),
                false,
            );
            assert_eq!(text.lines().last(), Some(expected));
        }
    }

    #[test]
    fn a_broken_card_is_named_and_only_one_of_a_fixture_is_in_the_way() {
        let folder = tempfile::tempdir().expect("temporary folder");
        for part in ["experiments", "datasets", "encoders"] {
            std::fs::create_dir(folder.path().join(part)).expect("a folder");
        }
        let project = Project::open(folder.path()).expect("a project");
        let before = Examination::new(&project, &nowhere(), None);
        assert!(before.well, "{}", table(&before, true));
        for (name, well) in [("own", true), ("fixture-mine", false)] {
            let card = folder.path().join(format!("datasets/{name}.toml"));
            std::fs::write(&card, "name = ").expect("a card");
            let examination = Examination::new(&project, &nowhere(), None);
            assert_eq!(examination.well, well);
            let table = table(&examination, true);
            assert!(table.contains(&format!("{name}.toml: line 1: ")), "{table}");
        }
    }

    #[test]
    fn this_checkout_can_run_the_fixtures() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let project = Project::open(&checkout).expect("a project");
        let all = Examination::new(&project, &nowhere(), None);
        assert!(all.well);
        let shown = table(&all, true);
        let shown: Vec<&str> = shown.split_whitespace().collect();
        let shown = shown.join(" ");
        for line in [
            "ok fixtures",
            "come with totune",
            "-- others",
            "are not found cola, conll2003,",
            "`totune doctor PAPER PROFILE` says in a checkout which of them a grid needs",
        ] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
    }

    #[test]
    fn a_grid_needs_its_own_datasets_and_encoders_alone() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let project = Project::open(&checkout).expect("a project");
        let of = |profile: &str| {
            let grid = Grid::of(&project, "hart2020", profile).expect("a grid");
            Examination::new(&project, &nowhere(), Some(&grid))
        };
        let fixture = of("fixture");
        assert!(fixture.well, "{}", table(&fixture, true));
        let small = table(&of("small"), true);
        for line in [
            "NO disaster-tweets",
            "NO all-minilm-l6-v2",
            "`totune encoders fetch all-minilm-l6-v2` gets it",
            "hart2020 small cannot run; see NO",
        ] {
            assert!(small.contains(line), "{line}: {small}");
        }
        assert!(!small.contains("cola"), "{small}");
        let error = Grid::of(&project, "hart2020", "large").expect_err("no such profile");
        assert!(error.to_string().contains("large"), "{error:#}");
    }
}
