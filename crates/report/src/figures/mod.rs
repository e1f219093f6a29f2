//! Figures: each kind fills panels of `totune_plot`, with the table of its numbers.
//!
//! To add a kind, write `<name>.rs` with a struct that holds its settings and implements [`FigureKind`], and name it in the
//! list below.

pub(crate) mod boxes;
mod by_number;
pub(crate) mod curves;
pub mod dataset_figure;
pub(crate) mod layers;
pub(crate) mod learning_curve;
pub(crate) mod phases;
pub(crate) mod search;
pub(crate) mod trade_off;

use std::collections::HashSet;
use std::fmt::Debug;

use anyhow::Result;
use totune_evidence::kinds;
use totune_evidence::plan::Plan;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::fixed;
use totune_plot::Panel;
use totune_stats::curve::Spread;

use crate::item::{Heading, Item};
use crate::notes::merged;
use crate::tables::rendered::{Cell, Csv, RenderedTable};

/// Digits of a score.
const DIGITS: usize = 3;

/// A figure with its heading, notes and table.
#[derive(Debug, Default)]
pub(crate) struct RenderedFigure {
    pub(crate) heading: Heading,
    /// Nothing is drawn without any.
    pub(crate) panels: Vec<Panel>,
    /// Notes on what is missing from the picture.
    pub(crate) notes: Vec<String>,
    /// The table next to it, if it has one; its CSV has every number of the picture.
    pub(crate) table: Option<RenderedTable>,
    /// Every number of the picture, if the table does not have them.
    pub(crate) csv: Option<Csv>,
}

/// A kind of figure.
pub(crate) trait FigureKind: Debug {
    /// The suffix that turns the id of the figure into that of its table, if it has a table.
    fn table_suffix(&self) -> Option<&'static str>;

    /// Checks what its type cannot; `from` prefixes errors.
    fn check(&self, plan: &Plan, from: &str) -> Result<()>;

    /// Fills it from the runs; the caller sets the heading.
    fn draw(&self, heading: &Heading, scope: &Scope) -> Result<RenderedFigure>;
}

kinds! {
    /// Every kind of figure with its settings.
    Kind as FigureKind {
        Box = boxes,
        Curves = curves,
        Layers = layers,
        LearningCurve = learning_curve,
        Phases = phases,
        Search = search,
        TradeOff = trade_off,
    }
}

impl Item<Kind> {
    /// Its name in errors.
    pub(crate) fn place(&self) -> String {
        format!("figure `{}`", self.heading.id)
    }

    /// Fills panels and table.
    pub(crate) fn draw(&self, scope: &Scope) -> Result<RenderedFigure> {
        let (heading, scope) = (self.heading.clone(), &scope.at(self.place()));
        let fill = || self.kind.get().draw(&heading, scope);
        let (mut drawing, caveats) = scope.runs.with_caveats(scope.plan, fill)?;
        drawing.notes = merged(drawing.notes);
        drawing.notes.extend(caveats);
        Ok(RenderedFigure { heading, ..drawing })
    }
}

/// Notes, each once.
fn once(notes: &mut Vec<String>) {
    let mut seen = HashSet::new();
    notes.retain(|note| seen.insert(note.clone()));
}

/// A mean, with the lowest and the highest where they differ.
fn spread_cell(spread: &Spread) -> Cell {
    let [low, high] = [spread.low, spread.high].map(|end| fixed(end, DIGITS));
    let cell = Cell::of(fixed(spread.mean, DIGITS));
    if spread.low < spread.high {
        // Not in brackets, which are for intervals.
        cell.detail(format!("{low}\u{2013}{high}"))
    } else {
        cell
    }
}
