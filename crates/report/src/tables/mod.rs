//! Tables: each kind fills a [`RenderedTable`], which is written to Markdown and a terminal, LaTeX, CSV and HTML by one file
//! each.
//!
//! To add a kind, write `<name>.rs` with a struct that holds its settings and implements [`TableKind`], and name it in the
//! list below.

mod empty_columns;
pub(crate) mod epochs;
pub(crate) mod guidelines;
pub(crate) mod html;
mod latex;
mod markdown;
pub(crate) mod matrix;
pub(crate) mod means;
pub(crate) mod paired;
pub(crate) mod ranks;
pub(crate) mod rendered;
pub(crate) mod searches;
pub(crate) mod takeaway;

use std::fmt::Debug;

use anyhow::Result;
use totune_evidence::claims::Judged;
use totune_evidence::kinds;
use totune_evidence::plan::Plan;
use totune_evidence::select::scope::Scope;

pub(crate) use self::rendered::{Cell, Column, Csv, RenderedTable, RowGroup};
use crate::item::{Heading, Item};
use crate::notes::merged;

/// A kind of table.
pub(crate) trait TableKind: Debug {
    /// Checks what its type cannot; `from` prefixes errors.
    fn check(&self, plan: &Plan, from: &str) -> Result<()>;

    /// Fills it from the runs, or from the verdicts on the claims; the caller sets the heading.
    fn render(&self, heading: &Heading, scope: &Scope, judged: &[Judged]) -> Result<RenderedTable>;
}

kinds! {
    /// Every kind of table with its settings.
    Kind as TableKind {
        Means = means,
        Matrix = matrix,
        Guidelines = guidelines,
        Epochs = epochs,
        Paired = paired,
        Ranks = ranks,
    }
}

impl Item<Kind> {
    /// Its name in errors.
    pub(crate) fn place(&self) -> String {
        format!("table `{}`", self.heading.id)
    }

    /// Fills the table.
    pub(crate) fn render(&self, scope: &Scope, judged: &[Judged]) -> Result<RenderedTable> {
        let (heading, scope) = (self.heading.clone(), &scope.at(self.place()));
        let fill = || self.kind.get().render(&heading, scope, judged);
        let (mut table, caveats) = scope.runs.with_caveats(scope.plan, fill)?;
        table = table.without_empty_columns();
        table.notes = merged(table.notes);
        table.notes.extend(caveats);
        Ok(RenderedTable { heading, ..table })
    }
}
