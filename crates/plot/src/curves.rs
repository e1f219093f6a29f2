//! Numbers over a number, such as a loss over the tokens read: lines without marks, for hundreds of points each.

use plotters::style::text_anchor::HPos;
use totune_stats::number::fixed;

use crate::axes::Axes;
use crate::axis::Axis;
use crate::canvas::{Canvas, Frame, series_colour};
use crate::key::{ROW, SAMPLE, columns, small};
use crate::levels::{Level, draw_levels};

/// One panel of lines over a shared axis.
#[derive(Debug, Clone, Default)]
pub struct CurvePanel {
    /// Title of the panel.
    pub title: String,
    /// Quantity on the vertical axis.
    pub measure: String,
    /// Quantity on the horizontal axis.
    pub across: String,
    /// Lines, drawn in this order.
    pub curves: Vec<Curve>,
    /// Numbers to compare all lines with.
    pub levels: Vec<Level>,
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Name in the key.
    pub title: String,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
}

impl CurvePanel {
    pub(crate) fn words_of_curves(&self) -> Vec<String> {
        let end = |(x, y): &(f64, f64)| format!("{} at {}", fixed(*y, 3), fixed(*x, 1));
        let words = |curve: &Curve| match curve.points.as_slice() {
            [first, .., last] => format!("{}: from {} to {}", curve.title, end(first), end(last)),
            [only] => format!("{}: {}", curve.title, end(only)),
            [] => format!("{}: nothing", curve.title),
        };
        self.curves.iter().map(words).collect()
    }

    /// Draws the panel into `frame`.
    pub fn draw(&self, canvas: &mut dyn Canvas, frame: Frame) {
        let titles: Vec<&str> = self.curves.iter().map(|each| each.title.as_str()).collect();
        let key = columns(&titles, frame.width - 24.0);
        let rows = key.last().map_or(0, |(row, _)| row + 1);
        let plot = Axes::plot(frame, 60.0, rows);
        let bottom = plot.top + plot.height;
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let across = Axis::around(points().map(|(x, _)| *x).chain([0.0]), 5);
        let levels = self.levels.iter().map(|level| level.at);
        let up = Axis::around(points().map(|(_, y)| *y).chain(levels), 5);
        let x = |value: f64| plot.left + plot.width * across.share(value);
        let y = |value: f64| bottom - plot.height * up.share(value);
        let axes = Axes {
            title: &self.title,
            measure: &self.measure,
            across: &self.across,
            rules: up.labelled(y),
            ticks: across.labelled(x),
        };
        let top = axes.draw(canvas, frame, plot);
        let path = |curve: &Curve| -> Vec<(f64, f64)> {
            let points = curve.points.iter();
            points.map(|&(a, b)| (x(a), y(b))).collect()
        };
        let paths: Vec<Vec<(f64, f64)>> = self.curves.iter().map(path).collect();
        draw_levels(canvas, plot, (&self.levels, y), &paths);
        for (number, path) in paths.iter().enumerate() {
            if path.len() > 1 {
                canvas.path(path, series_colour(number), 2.0);
            }
        }
        for (number, (title, (row, offset))) in titles.iter().zip(key).enumerate() {
            let (x, y) = (frame.left + 12.0 + offset, top + ROW * row as f64);
            canvas.line((x, y), (x + SAMPLE, y), series_colour(number), 2.5);
            canvas.text(x + SAMPLE + 6.0, y, title, &small(HPos::Left));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Figure, Panel};

    #[test]
    fn lines_levels_and_names_are_in_the_picture() {
        let curve = |title: &str, by: f64| Curve {
            title: title.to_string(),
            points: (1..=50)
                .map(|n| (f64::from(n), by / f64::from(n)))
                .collect(),
        };
        let svg = |curves: Vec<Curve>| {
            let panel = CurvePanel {
                title: "Loss".to_string(),
                measure: "nats".to_string(),
                across: "Tokens (millions)".to_string(),
                curves,
                levels: vec![Level {
                    at: 4.0,
                    text: "unigrams".to_string(),
                }],
            };
            let figure = Figure {
                panels: vec![Panel::Curves(panel)],
                stamp: None,
            };
            figure.svg().expect("a picture")
        };
        let both = svg(vec![curve("one", 6.0), curve("two", 3.0)]);
        for text in [
            "Loss",
            "nats",
            "Tokens (millions)",
            "one",
            "two",
            "unigrams",
        ] {
            assert!(both.contains(text), "{text}");
        }
        // A curve is the only stroke through fifty points.
        let corners = |line: &str| line.matches(',').count();
        let long = |svg: &str| {
            let strokes = svg.split("points=\"").skip(1);
            let strokes = strokes.map(|rest| rest.split('"').next().unwrap_or_default());
            strokes.filter(|points| corners(points) == 50).count()
        };
        assert_eq!(long(&both), 2);
        assert_eq!(long(&svg(vec![curve("one", 6.0)])), 1);
    }
}
