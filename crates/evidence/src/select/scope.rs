//! Source of tables, figures and claims.

use std::fmt::Display;

use crate::plan::Plan;
use crate::select::runs::Runs;

/// The plan and the runs, with the file and item that errors name.
#[derive(Debug, Clone)]
pub struct Scope<'a> {
    /// Groups and tasks.
    pub plan: &'a Plan,
    /// Runs that they select from.
    pub runs: &'a Runs,
    /// File and item, for errors: ``experiments/hart2020/report.toml: table `table-2` ``.
    pub from: String,
}

impl<'a> Scope<'a> {
    /// A plan with runs; `from` prefixes errors.
    pub fn new(plan: &'a Plan, runs: &'a Runs, from: impl Into<String>) -> Self {
        Self {
            plan,
            runs,
            from: from.into(),
        }
    }

    /// The same for a part of the current item.
    pub fn at(&self, part: impl Display) -> Self {
        Self::new(self.plan, self.runs, format!("{}: {part}", self.from))
    }
}
