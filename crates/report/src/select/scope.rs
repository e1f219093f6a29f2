//! What tables, figures and claims are filled from.

use std::fmt::Display;

use crate::plan::Plan;
use crate::select::runs::Runs;

/// The plan and the runs, and who asks.
#[derive(Debug, Clone)]
pub(crate) struct Scope<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) runs: &'a Runs,
    /// File and item, for errors: ``experiments/hart2020/report.toml: table `table-2` ``.
    pub(crate) from: String,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(plan: &'a Plan, runs: &'a Runs, from: impl Into<String>) -> Self {
        Self {
            plan,
            runs,
            from: from.into(),
        }
    }

    /// The same, asked by a part of what asks now.
    pub(crate) fn at(&self, part: impl Display) -> Self {
        Self::new(self.plan, self.runs, format!("{}: {part}", self.from))
    }
}
