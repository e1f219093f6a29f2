//! Comparisons: cases, their sides, and the tolerance within which results agree.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use totune_adapt::Dtype;

use crate::target::Target;

/// All cases of a benchmark, and the texts of its page.
pub struct Comparison {
    /// Heading of the page.
    pub title: String,
    /// Sentences above the table, a line each.
    pub notes: Vec<String>,
    /// Baselines: sides by whose time the others' is divided, a column each.
    pub baselines: Vec<String>,
    /// Kind of measurement: times, or calls of operators.
    pub measure: Measure,
    /// Cases in the order of the table.
    pub cases: Vec<Case>,
    /// Heading of a column with the mean of the values of each side.
    pub mean_value: Option<&'static str>,
    /// Markdown below the table.
    pub appendix: String,
    /// Rows and columns of the plain product that takes turns with the sides.
    pub square: usize,
    /// Files that the sides read; removed when the comparison ends.
    pub scratch: Option<tempfile::TempDir>,
}

/// The measure by which sides are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Seconds of a lap.
    #[default]
    Time,
    /// Operators that LibTorch dispatches in a step; seconds are not stored.
    Operators,
}

impl Measure {
    /// Returns true for [`Measure::Time`].
    pub fn is_time(&self) -> bool {
        *self == Self::Time
    }
}

/// Something that all sides do.
pub struct Case {
    /// Its name in the table.
    pub name: String,
    /// The sides that do it.
    pub sides: Vec<SideSpec>,
    /// The number of steps.
    pub steps: Steps,
    /// The unit of a lap's work, where it is counted.
    pub unit: Option<Unit>,
    /// Multiplications and additions in the matrix products of a lap, where they are counted.
    pub flop: Option<f64>,
    /// Threads of every side.
    pub threads: usize,
    /// The largest difference allowed between the sides' values; without one they are not compared.
    pub tolerance: Option<Tolerance>,
    /// The goals.
    pub targets: Vec<Target>,
    /// Writes what the sides read, right before they start.
    pub prepare: Option<Box<dyn Fn() -> Result<()>>>,
}

/// The number of steps that a side takes. A lap is the number of steps after which work repeats itself: one, or all
/// batches of an epoch. Medians are over laps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// Laps of one step, in each round as many as take a side about three seconds, after a warm-up.
    Timed,
    /// Rounds of one lap of this many steps, after a lap to warm up.
    Lap(usize),
    /// Rounds of one lap of this many steps, started cold, because a step is not repeatable; sides take turns every 16.
    Cold(usize),
    /// One round of a single step, started cold, because it takes long.
    Once,
}

/// A process that takes steps.
pub struct SideSpec {
    /// Name in tables.
    pub name: String,
    /// The program.
    pub program: Program,
    /// Its case, passed as JSON.
    pub case: Value,
    /// Environment variables that are set for it.
    pub environment: &'static [(&'static str, &'static str)],
    /// True if its values are compared with those of the first side.
    pub compared: bool,
}

/// The program of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// This program as the [`worker`](crate::worker()) of this kind.
    Ours(&'static str),
    /// A script of `bench/`.
    Python(&'static str),
}

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// Name in the plural, such as `tokens`.
    pub name: String,
    /// The number of units in a lap.
    pub per_lap: f64,
}

/// Values agree when they differ by at most `absolute + relative * |first side's|`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Tolerance in the units of the values.
    pub absolute: f64,
    /// Tolerance relative to the value.
    pub relative: f64,
}

impl SideSpec {
    /// This program as the worker `kind` with `case`.
    ///
    /// # Errors
    /// When `case` has no form as JSON.
    pub fn ours(name: &str, kind: &'static str, case: &impl Serialize) -> Result<Self> {
        Self::new(name, Program::Ours(kind), case)
    }

    /// The script `bench/<script>` with `case`.
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
            environment: &[],
            compared: true,
        })
    }

    /// The dtype of its matrix products: f32 where its case names none.
    pub fn dtype(&self) -> Dtype {
        let named = self.case.get("dtype").cloned();
        let named = named.and_then(|dtype| serde_json::from_value(dtype).ok());
        named.unwrap_or(Dtype::F32)
    }

    /// The same side with these environment variables.
    pub fn with(mut self, environment: &'static [(&'static str, &'static str)]) -> Self {
        self.environment = environment;
        self
    }

    /// The same side, whose values are not compared.
    pub fn not_compared(mut self) -> Self {
        self.compared = false;
        self
    }
}

/// The name of a case with its threads, which selects it.
pub fn titled(case: &str, threads: usize) -> String {
    let s = if threads == 1 { "" } else { "s" };
    format!("{case}, {threads} thread{s}")
}

impl Case {
    /// A case of [`Steps::Timed`] that counts nothing and compares nothing.
    pub fn new(name: impl Into<String>, threads: usize, sides: Vec<SideSpec>) -> Self {
        Self {
            name: name.into(),
            sides,
            steps: Steps::Timed,
            unit: None,
            flop: None,
            threads,
            tolerance: None,
            targets: Vec::new(),
            prepare: None,
        }
    }

    /// Its name with its threads, which selects it.
    pub fn titled(&self) -> String {
        titled(&self.name, self.threads)
    }

    /// The same case, with `per_lap` of `unit` in a lap.
    pub fn counting(mut self, per_lap: usize, unit: &str) -> Self {
        self.unit = Some(Unit {
            name: unit.to_string(),
            per_lap: per_lap as f64,
        });
        self
    }

    /// The same case with `flop` multiplications and additions in a lap, where they are counted.
    pub fn multiplying(mut self, flop: Option<f64>) -> Self {
        self.flop = flop;
        self
    }

    /// The same case whose sides' values must agree.
    pub fn agreeing(mut self, absolute: f64, relative: f64) -> Self {
        self.tolerance = Some(Tolerance { absolute, relative });
        self
    }
}

impl Comparison {
    /// Rows and columns of the plain product on a CPU: enough that its speed no longer rises with its size.
    pub const SQUARE: usize = 2048;
    /// Rows and columns of the plain product next to tiny cases.
    pub(crate) const TINY_SQUARE: usize = 64;

    /// A comparison without notes and cases, with the times of the others divided by those of `baselines`.
    pub fn new(title: &str, baselines: &[&str]) -> Self {
        Self {
            title: title.to_string(),
            notes: Vec::new(),
            baselines: baselines.iter().map(ToString::to_string).collect(),
            measure: Measure::Time,
            cases: Vec::new(),
            mean_value: None,
            appendix: String::new(),
            square: Self::SQUARE,
            scratch: None,
        }
    }

    /// Adds lines to the notes.
    pub fn note(mut self, lines: &str) -> Self {
        self.notes.extend(lines.lines().map(str::to_string));
        self
    }
}
