//! Differences from a reference: a point with its interval in a row of its own for each of the others.

use plotters::style::text_anchor::HPos;
use totune_stats::number::{fixed, signed};

use crate::axis::Axis;
use crate::canvas::{Canvas, Frame, INK, PAPER, RULE, Text, series_colour};
use crate::key::{LETTER, small};

/// One panel of rows over a shared axis, with a vertical line at 0.
#[derive(Debug, Clone, Default)]
pub struct IntervalPanel {
    /// Title of the panel.
    pub title: String,
    /// Quantity on the axis.
    pub measure: String,
    /// Rows from top to bottom.
    pub rows: Vec<IntervalRow>,
    /// Number of decimal places.
    pub decimals: usize,
}

/// One row.
#[derive(Debug, Clone, Default)]
pub struct IntervalRow {
    /// Name, above the point.
    pub title: String,
    /// Note, to the right of the point.
    pub note: String,
    /// Value of the point.
    pub value: f64,
    /// Ends of the interval, if there is one.
    pub interval: Option<(f64, f64)>,
}

/// Width of a panel.
const WIDTH: f64 = 480.0;
/// Height of a row, and of the space above and below all rows.
const ROW: f64 = 46.0;
const ABOVE: f64 = 56.0;
const BELOW: f64 = 52.0;
/// Room at either side.
const SIDE: f64 = 18.0;

impl IntervalPanel {
    pub(crate) fn size(&self) -> (f64, f64) {
        (WIDTH, ABOVE + ROW * self.rows.len() as f64 + BELOW)
    }

    /// Draws the panel into `frame`.
    pub fn draw(&self, canvas: &mut dyn Canvas, frame: Frame) {
        let (left, right) = (frame.left + SIDE, frame.left + frame.width - self.gutter());
        let (top, bottom) = (frame.top + ABOVE, frame.top + self.size().1 - BELOW);
        let edge = frame.left + 12.0;
        canvas.text(edge, frame.top + 18.0, &self.title, &Text::heading());
        canvas.text(edge, frame.top + 39.0, &self.measure, &small(HPos::Left));
        let ends = self.rows.iter().flat_map(|row| {
            let (low, high) = row.interval.unwrap_or((row.value, row.value));
            [low, high, row.value]
        });
        let axis = Axis::around(ends.chain([0.0]), 5);
        let x = |value: f64| left + (right - left) * axis.share(value);
        for &tick in &axis.ticks {
            canvas.line((x(tick), top), (x(tick), bottom), RULE, 1.0);
            let label = if tick.abs() < 1e-9 {
                "0".to_owned()
            } else {
                minus(&signed(tick, axis.decimals))
            };
            // A long one at the left end stays inside the frame.
            let half = LETTER * label.chars().count() as f64 / 2.0;
            let middle = x(tick).max(frame.left + half + 4.0);
            canvas.text(middle, bottom + 14.0, &label, &small(HPos::Center));
        }
        canvas.line((x(0.0), top), (x(0.0), bottom), INK, 1.5);
        for (number, row) in self.rows.iter().enumerate() {
            let above = top + ROW * number as f64;
            let name = Text {
                colour: INK,
                ..small(HPos::Left)
            };
            // A name has a background, so that no line runs through its letters.
            let corner = left - 6.0;
            let title = cut(&row.title, frame.left + frame.width - 8.0 - corner);
            let other = (corner + LETTER * title.chars().count() as f64, above + 21.0);
            canvas.rectangle((corner, above + 5.0), other, PAPER, PAPER);
            canvas.text(corner, above + 13.0, &title, &name);
            let y = above + 33.0;
            let end = frame.left + frame.width - 8.0;
            canvas.text(end, y, &row.note, &small(HPos::Right));
            row.draw(canvas, (&x, y));
            canvas.tip((x(row.value), y), &self.text(row));
        }
        let words = Text::note().anchored(HPos::Left);
        let text = "bar: 95 % interval; filled: it excludes 0";
        canvas.text(edge, bottom + 37.0, text, &words);
    }

    /// Room for the notes, to the right of the rows.
    fn gutter(&self) -> f64 {
        let letters = self.rows.iter().map(|row| row.note.chars().count());
        SIDE + LETTER * letters.max().unwrap_or(0) as f64
    }

    /// The numbers of a row in words.
    fn text(&self, row: &IntervalRow) -> String {
        let interval = row.interval.map_or(String::new(), |(low, high)| {
            format!(
                " [{}, {}]",
                fixed(low, self.decimals),
                fixed(high, self.decimals)
            )
        });
        let value = signed(row.value, self.decimals);
        let note = if row.note.is_empty() { "" } else { ", " };
        format!("{}: {value}{interval}{note}{}", row.title, row.note)
    }

    pub(crate) fn words(&self) -> Vec<String> {
        self.rows.iter().map(|row| self.text(row)).collect()
    }
}

/// A text that is no wider than `width`; the tip of its row has all of it.
fn cut(text: &str, width: f64) -> String {
    let most = (width / LETTER) as usize;
    match text.chars().count() {
        n if n <= most => text.to_owned(),
        _ => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
    }
}

/// Replaces the hyphen by a true minus sign.
fn minus(text: &str) -> String {
    text.replace('-', "\u{2212}")
}

impl IntervalRow {
    /// Draws its interval and its point at height `y`.
    fn draw(&self, canvas: &mut dyn Canvas, (x, y): (&dyn Fn(f64) -> f64, f64)) {
        let colour = series_colour(0);
        if let Some((low, high)) = self.interval {
            canvas.line((x(low), y), (x(high), y), colour, 3.0);
            for end in [x(low), x(high)] {
                canvas.line((end, y - 5.0), (end, y + 5.0), colour, 2.0);
            }
        }
        canvas.dot((x(self.value), y), 6.0, colour);
        if !self.is_decided() {
            canvas.dot((x(self.value), y), 3.5, PAPER);
        }
    }

    /// Returns true if its interval excludes 0.
    fn is_decided(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Figure, Panel};

    #[test]
    fn each_row_has_its_name_its_numbers_and_room() {
        let row = |title: &str, value: f64, interval| IntervalRow {
            title: title.to_owned(),
            note: "50 % of the time".to_owned(),
            value,
            interval,
        };
        let panel = IntervalPanel {
            title: "A".to_owned(),
            measure: "points".to_owned(),
            rows: vec![row("few", -0.5, Some((-1.0, 0.25))), row("one", -3.0, None)],
            decimals: 2,
        };
        assert_eq!(panel.size(), (480.0, 200.0));
        assert_eq!(
            panel.words(),
            [
                "few: -0.50 [-1.00, 0.25], 50 % of the time",
                "one: -3.00, 50 % of the time"
            ]
        );
        assert!(!panel.rows[0].is_decided() && row("", 1.0, Some((0.5, 2.0))).is_decided());
        let figure = Figure {
            panels: vec![Panel::Intervals(panel)],
            stamp: None,
        };
        let svg = figure.svg().unwrap();
        for text in [
            "few",
            "one",
            "50 % of the time",
            "<title>few: -0.50 [-1.00, 0.25]",
        ] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
    }
}
