//! Figures: the content is data ([`Figure`]), and each kind of panel is drawn by a module of its own.
//!
//! A panel draws itself in a frame of given size; this module puts panels next to each other and turns them into SVG or
//! PNG. Glyphs come from an embedded font, so a figure is the same on every machine.
//!
//! This crate knows nothing of runs, groups, papers or files of results: a panel is numbers and their titles.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod axes;
pub mod axis;
pub mod bars;
pub mod boxes;
mod canvas;
pub mod curves;
mod dashed;
mod describe;
pub mod intervals;
mod key;
pub mod levels;
pub mod lines;
mod mark;
pub mod points;
pub mod series;
pub mod steps;
pub mod time;

use std::path::Path;

use anyhow::Result;
use plotters::backend::{BitMapBackend, SVGBackend};

use crate::bars::BarPanel;
use crate::boxes::BoxPanel;
use crate::canvas::{Canvas, Frame, on_drawing_area};
use crate::curves::CurvePanel;
use crate::intervals::IntervalPanel;
use crate::lines::LinePanel;
use crate::points::PointPanel;
use crate::series::SeriesPanel;
use crate::steps::StepPanel;

/// Width and height of one panel, in the units of an SVG pixel.
const PANEL: (f64, f64) = (440.0, 400.0);
/// Width and height of a panel of lines, whose key is below it.
const LINES: (f64, f64) = (480.0, 430.0);
/// Number of panels next to each other in a file; further ones are below.
const ACROSS: usize = 4;
/// Height of the strip under the panels of a file, which holds the stamp.
const STRIP: f64 = 26.0;

/// A figure: panels next to each other, and a stamp with a warning about the picture.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Panels, from left to right, then down.
    pub panels: Vec<Panel>,
    /// A warning drawn into the picture, such as that it shows fixtures.
    pub stamp: Option<String>,
}

/// Kinds of panel; to add one, write its module and name it here.
#[derive(Debug, Clone)]
pub enum Panel {
    /// Distributions next to each other.
    Boxes(BoxPanel),
    /// Shares of a whole next to each other.
    Bars(BarPanel),
    /// Distributions as outlines over bins.
    Steps(StepPanel),
    /// Scores over time.
    Lines(LinePanel),
    /// Scores over whole numbers.
    Series(SeriesPanel),
    /// Numbers over a number.
    Curves(CurvePanel),
    /// Scores over what they cost.
    Points(PointPanel),
    /// Differences with intervals, one below the other.
    Intervals(IntervalPanel),
}

impl Panel {
    fn draw(&self, canvas: &mut dyn Canvas, frame: Frame) {
        match self {
            Self::Boxes(panel) => panel.draw(canvas, frame),
            Self::Bars(panel) => panel.draw(canvas, frame),
            Self::Steps(panel) => panel.draw(canvas, frame),
            Self::Lines(panel) => panel.draw(canvas, frame),
            Self::Series(panel) => panel.draw(canvas, frame),
            Self::Curves(panel) => panel.draw(canvas, frame),
            Self::Points(panel) => panel.draw(canvas, frame),
            Self::Intervals(panel) => panel.draw(canvas, frame),
        }
    }

    fn size(&self) -> (f64, f64) {
        match self {
            Self::Boxes(_) | Self::Bars(_) | Self::Steps(_) => PANEL,
            Self::Lines(_) | Self::Series(_) | Self::Curves(_) => LINES,
            Self::Points(panel) => panel.size(),
            Self::Intervals(panel) => panel.size(),
        }
    }
}

impl Panel {
    /// Title of the picture for screen readers.
    fn title(&self) -> String {
        let (title, measure) = match self {
            Self::Boxes(panel) => (&panel.measure, ""),
            Self::Bars(panel) => (&panel.title, "shares"),
            Self::Steps(panel) => (&panel.title, &*panel.measure),
            Self::Lines(panel) => (&panel.title, &*panel.measure),
            Self::Series(panel) => (&panel.title, &*panel.measure),
            Self::Curves(panel) => (&panel.title, &*panel.measure),
            Self::Points(panel) => (&panel.title, &*panel.measure),
            Self::Intervals(panel) => (&panel.title, &*panel.measure),
        };
        let colon = if measure.is_empty() { "" } else { ": " };
        format!("{title}{colon}{measure}")
    }

    /// Numbers of the panel in words, one entry for each thing drawn.
    fn words(&self) -> Vec<String> {
        match self {
            Self::Boxes(panel) => panel.words_of_boxes(),
            Self::Bars(panel) => panel.words_of_bars(),
            Self::Steps(panel) => panel.words_of_outlines(),
            Self::Lines(panel) => panel.words_of_lines(),
            Self::Series(panel) => panel.words_of_lines(),
            Self::Curves(panel) => panel.words_of_curves(),
            Self::Points(panel) => panel.words_of_points(),
            Self::Intervals(panel) => panel.words(),
        }
    }
}

/// Width and height of panels next to each other.
fn row_size(row: &[Panel]) -> (f64, f64) {
    let sizes = || row.iter().map(Panel::size);
    let width = sizes().map(|(width, _)| width).sum();
    let height = sizes().map(|(_, height)| height).fold(0.0, f64::max);
    (width, height)
}

impl Figure {
    fn size(&self) -> (f64, f64) {
        let rows = self.panels.chunks(ACROSS).map(row_size);
        let (width, height) = rows.fold((0.0, 0.0), |(width, height), row| {
            (f64::max(width, row.0), height + row.1)
        });
        (width, height + STRIP)
    }

    fn draw(&self, canvas: &mut dyn Canvas) {
        canvas.background();
        let mut top = 0.0;
        for row in self.panels.chunks(ACROSS) {
            let mut left = 0.0;
            for panel in row {
                let (width, height) = panel.size();
                let frame = Frame {
                    left,
                    top,
                    width,
                    height,
                };
                panel.draw(canvas, frame);
                left += width;
            }
            top += row_size(row).1;
        }
        self.draw_stamp(canvas, self.size().1 - STRIP / 2.0);
    }

    fn draw_stamp(&self, canvas: &mut dyn Canvas, y: f64) {
        if let Some(stamp) = &self.stamp {
            canvas.text(12.0, y, stamp, &canvas::Text::stamp());
        }
    }

    /// Renders the whole figure as an SVG file.
    pub fn svg(&self) -> Result<String> {
        svg(self.size(), &self.panels, |canvas| self.draw(canvas))
    }

    /// Renders each panel as an SVG of its own, for a page that stacks them on narrow screens.
    ///
    /// Ink, rules and paper take the colours of the page.
    pub fn inline(&self) -> Result<Vec<String>> {
        let strip = if self.stamp.is_some() { STRIP } else { 0.0 };
        self.panels
            .iter()
            .map(|panel| {
                let (width, height) = panel.size();
                let frame = Frame {
                    left: 0.0,
                    top: 0.0,
                    width,
                    height,
                };
                let panels = std::slice::from_ref(panel);
                let text = svg((width, height + strip), panels, |canvas| {
                    panel.draw(canvas, frame);
                    self.draw_stamp(canvas, height + STRIP / 2.0);
                })?;
                Ok(canvas::adopt_page_colours(&text))
            })
            .collect()
    }

    /// Writes the whole figure as a PNG file.
    pub fn write_png(&self, path: &Path) -> Result<()> {
        let size = self.size();
        let pixels = canvas::PNG.pixels(size);
        on_drawing_area(BitMapBackend::new(path, pixels), canvas::PNG, |canvas| {
            self.draw(canvas)
        })?;
        Ok(())
    }
}

/// Renders a picture that describes itself: its role, a title, its numbers in words, and a tooltip at each point.
fn svg(size: (f64, f64), panels: &[Panel], draw: impl FnOnce(&mut dyn Canvas)) -> Result<String> {
    let mut text = String::new();
    let tips = on_drawing_area(
        SVGBackend::with_string(&mut text, canvas::SVG.pixels(size)),
        canvas::SVG,
        draw,
    )?;
    let titles: Vec<String> = panels.iter().map(Panel::title).collect();
    let words: Vec<String> = panels.iter().flat_map(Panel::words).collect();
    Ok(describe::described(
        &text,
        [&titles.join("; "), &words.join(". ")],
        &tips,
    ))
}
