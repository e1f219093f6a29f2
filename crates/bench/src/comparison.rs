//! What a benchmark is: cases, their sides, and what counts as agreement.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All cases of a benchmark, and what its page says of them.
pub struct Comparison {
    /// Heading of the page.
    pub title: String,
    /// Sentences above the table, a line each.
    pub notes: Vec<String>,
    /// Sides whose time the others' is divided by, a column each.
    pub baselines: Vec<String>,
    /// Cases in the order of the table.
    pub cases: Vec<Case>,
    /// Heading of a column with the mean of the values of each side.
    pub mean_value: Option<&'static str>,
    /// Markdown below the table.
    pub appendix: String,
    /// Files that the sides read; removed when the comparison ends.
    pub scratch: Option<tempfile::TempDir>,
}

/// Something that all sides do.
pub struct Case {
    /// Its name in the table.
    pub name: String,
    /// Who does it.
    pub sides: Vec<SideSpec>,
    /// How many steps are taken.
    pub steps: Steps,
    /// What a lap works through, where it is counted.
    pub unit: Option<Unit>,
    /// Threads of every side.
    pub threads: usize,
    /// How far apart the values of the sides may be; without one they are not compared.
    pub tolerance: Option<Tolerance>,
    /// What is to be reached.
    pub targets: Vec<Target>,
    /// Writes what the sides read, right before they start.
    pub prepare: Option<Box<dyn Fn() -> Result<()>>>,
}

/// How many steps a side takes. A lap is the number of steps after which work repeats itself: one, or all batches of an
/// epoch. Medians are over laps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// As many laps of one step in a round as take a side about three seconds, after a warm-up.
    Timed,
    /// Rounds of one lap of this many steps, after a lap to warm up.
    Lap(usize),
    /// Rounds of one lap of this many steps, begun cold, because a step is not repeatable; sides take turns every 16.
    Cold(usize),
    /// One round of a single step, begun cold, because it takes long.
    Once,
}

/// A process that takes steps.
pub struct SideSpec {
    /// Name in tables.
    pub name: String,
    /// What runs.
    pub program: Program,
    /// What it is told, as JSON.
    pub case: Value,
    /// Whether its values are compared with those of the first side.
    pub compared: bool,
}

/// What a side runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// This program as the [`worker`](crate::worker()) of this kind.
    Ours(&'static str),
    /// A script of `bench/`.
    Python(&'static str),
}

/// What is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// In the plural, such as `tokens`.
    pub name: String,
    /// How many a lap has.
    pub per_lap: f64,
}

/// Values agree when they differ by at most `absolute + relative * |first side's|`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// In the units of the values.
    pub absolute: f64,
    /// As a share.
    pub relative: f64,
}

/// A speed-up that is to be reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The side that is to be faster.
    pub side: String,
    /// Than this one.
    pub than: String,
    /// By this factor.
    pub at_least: f64,
}

impl SideSpec {
    /// This program as the worker `kind`, told `case`.
    ///
    /// # Errors
    /// When `case` has no form as JSON.
    pub fn ours(name: &str, kind: &'static str, case: &impl Serialize) -> Result<Self> {
        Self::new(name, Program::Ours(kind), case)
    }

    /// The script `bench/<script>`, told `case`.
    ///
    /// # Errors
    /// When `case` has no form as JSON.
    pub fn python(name: &str, script: &'static str, case: &impl Serialize) -> Result<Self> {
        Self::new(name, Program::Python(script), case)
    }

    fn new(name: &str, program: Program, case: &impl Serialize) -> Result<Self> {
        Ok(Self {
            name: name.to_string(),
            program,
            case: serde_json::to_value(case)?,
            compared: true,
        })
    }

    /// The same side, whose values are not compared.
    pub fn not_compared(mut self) -> Self {
        self.compared = false;
        self
    }
}

impl Case {
    /// A case of [`Steps::Timed`] that counts nothing and compares nothing.
    pub fn new(name: impl Into<String>, threads: usize, sides: Vec<SideSpec>) -> Self {
        Self {
            name: name.into(),
            sides,
            steps: Steps::Timed,
            unit: None,
            threads,
            tolerance: None,
            targets: Vec::new(),
            prepare: None,
        }
    }

    /// The same case, a lap of which works through so many of `unit`.
    pub fn counting(mut self, per_lap: usize, unit: &str) -> Self {
        self.unit = Some(Unit {
            name: unit.to_string(),
            per_lap: per_lap as f64,
        });
        self
    }

    /// The same case whose sides' values must agree.
    pub fn agreeing(mut self, absolute: f64, relative: f64) -> Self {
        self.tolerance = Some(Tolerance { absolute, relative });
        self
    }
}

impl Comparison {
    /// A comparison without notes and cases, with the times of the others divided by those of `baselines`.
    pub fn new(title: &str, baselines: &[&str]) -> Self {
        Self {
            title: title.to_string(),
            notes: Vec::new(),
            baselines: baselines.iter().map(ToString::to_string).collect(),
            cases: Vec::new(),
            mean_value: None,
            appendix: String::new(),
            scratch: None,
        }
    }

    /// Adds lines to the notes.
    pub fn note(mut self, lines: &str) -> Self {
        self.notes.extend(lines.lines().map(str::to_string));
        self
    }
}
