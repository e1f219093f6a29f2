//! Axes of a panel: horizontal grid lines with their numbers, ticks with theirs, titles, and the plot between them.

use plotters::style::text_anchor::HPos;

use crate::canvas::{Canvas, Frame, MUTED, RULE, Text};
use crate::key::{ROW, small};

/// Axes of a panel whose key is below it; positions are those of the picture.
pub struct Axes<'a> {
    /// Title of the panel.
    pub title: &'a str,
    /// Quantity on the vertical axis, below the title.
    pub measure: &'a str,
    /// Quantity on the horizontal axis.
    pub across: &'a str,
    /// Heights of the grid lines, with their numbers.
    pub rules: Vec<(f64, String)>,
    /// Places of the ticks, with their numbers.
    pub ticks: Vec<(f64, String)>,
}

impl Axes<'_> {
    /// The plot of a panel with `above` over it, and `rows` of a key below its axis.
    pub fn plot(frame: Frame, above: f64, rows: usize) -> Frame {
        Frame {
            left: frame.left + 58.0,
            top: frame.top + above,
            width: frame.width - 58.0 - 22.0,
            height: frame.height - above - Self::below(rows),
        }
    }

    /// Room for the horizontal axis and `rows` of a key.
    pub fn below(rows: usize) -> f64 {
        55.0 + ROW * rows as f64
    }

    /// Draws titles and axes, before the data; returns the height of the first row of the key.
    pub fn draw(&self, canvas: &mut dyn Canvas, frame: Frame, plot: Frame) -> f64 {
        let (left, bottom) = (frame.left + 12.0, plot.top + plot.height);
        canvas.text(left, frame.top + 20.0, self.title, &Text::heading());
        canvas.text(left, frame.top + 41.0, self.measure, &small(HPos::Left));
        draw_rules(canvas, plot, &self.rules, &small(HPos::Right));
        draw_ticks(canvas, (bottom, 17.0), &self.ticks, &small(HPos::Center));
        let right = plot.left + plot.width;
        canvas.line((plot.left, bottom), (right, bottom), MUTED, 1.0);
        let middle = plot.left + plot.width / 2.0;
        canvas.text(middle, bottom + 37.0, self.across, &Text::label());
        bottom + 61.0
    }
}

/// Draws grid lines from left to right, with their numbers to the left of `plot`.
pub fn draw_rules(canvas: &mut dyn Canvas, plot: Frame, rules: &[(f64, String)], style: &Text) {
    for (y, label) in rules {
        canvas.line((plot.left, *y), (plot.left + plot.width, *y), RULE, 1.0);
        canvas.text(plot.left - 8.0, *y, label, style);
    }
}

/// Draws ticks below the height `bottom`, with their numbers `down` from it.
pub fn draw_ticks(
    canvas: &mut dyn Canvas,
    (bottom, down): (f64, f64),
    ticks: &[(f64, String)],
    style: &Text,
) {
    for (x, label) in ticks {
        canvas.line((*x, bottom), (*x, bottom + 5.0), MUTED, 1.0);
        canvas.text(*x, bottom + down, label, style);
    }
}
