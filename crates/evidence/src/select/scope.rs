//! What tables, figures and claims are filled from.

use std::fmt::Display;

use crate::plan::Plan;
use crate::select::runs::Runs;

/// The plan and the runs, and who asks.
#[derive(Debug, Clone)]
pub struct Scope<'a> {
    /// Groups and tasks.
    pub plan: &'a Plan,
    /// What they select from.
    pub runs: &'a Runs,
    /// File and item, for errors: ``experiments/hart2020/report.toml: table `table-2` ``.
    pub from: String,
}

impl<'a> Scope<'a> {
    /// A plan with runs, asked for by `from`.
    pub fn new(plan: &'a Plan, runs: &'a Runs, from: impl Into<String>) -> Self {
        Self {
            plan,
            runs,
            from: from.into(),
        }
    }

    /// The same, asked by a part of what asks now.
    pub fn at(&self, part: impl Display) -> Self {
        Self::new(self.plan, self.runs, format!("{}: {part}", self.from))
    }
}
