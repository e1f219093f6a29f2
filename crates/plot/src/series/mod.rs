//! Numbers over whole numbers, such as the layers of an encoder: a line with a mark at each, a band over repeats.

use plotters::style::text_anchor::HPos;
use totune_stats::curve::Spread;
use totune_stats::number::fixed;

use crate::axes::Axes;
use crate::axis::Axis;
use crate::canvas::{Canvas, Colour, Frame, MUTED, Text, series_colour};
use crate::dashed::draw_dashed;
use crate::key::{ROW, SAMPLE, columns, small};
use crate::levels::{Level, draw_levels, on_axis};
use crate::mark::{Mark, mark};

/// One panel of lines over the same whole numbers.
#[derive(Debug, Clone, Default)]
pub struct SeriesPanel {
    /// Title of the panel.
    pub title: String,
    /// Quantity on the vertical axis.
    pub measure: String,
    /// Quantity of the whole numbers, such as `Layer`.
    pub across: String,
    /// Spacing of the whole numbers.
    pub scale: Scale,
    /// Lines, drawn in this order.
    pub lines: Vec<Series>,
    /// Vertical reference lines.
    pub uprights: Vec<Upright>,
    /// Numbers to compare all lines with.
    pub levels: Vec<Level>,
    /// Explanations of strokes, one row each, below the key.
    pub words: Vec<String>,
}

/// Spacing of whole numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// Even spacing.
    #[default]
    Even,
    /// Logarithm of one more: equal distances are nearly equal ratios, and 0 has a position.
    Logarithmic,
}

impl Scale {
    fn of(self, at: f64) -> f64 {
        match self {
            Self::Even => at,
            Self::Logarithmic => at.ln_1p(),
        }
    }
}

/// A dashed line from top to bottom, with a text at its head.
#[derive(Debug, Clone, PartialEq)]
pub struct Upright {
    /// Position on the horizontal axis.
    pub at: f64,
    /// Text at its head.
    pub text: String,
}

/// One line.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Name in the key.
    pub title: String,
    /// Numbers from left to right; a line without points only appears in the key, which says so.
    pub points: Vec<(u32, Spread)>,
    /// Colour and mark: lines that belong together share them.
    pub colour: usize,
    /// Solid, or dashed for a line shown for comparison.
    pub stroke: Stroke,
    /// Single runs, drawn thin.
    pub traces: Vec<Vec<(u32, f64)>>,
    /// Positions on the traces to mark with a short vertical tick.
    pub ticks: Vec<(f64, f64)>,
}

/// Stroke of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stroke {
    /// Solid line, with a full mark at each number.
    #[default]
    Solid,
    /// Dashed line with hollow marks: a number to compare another with.
    Dashed,
}

/// Half the height of a tick.
const TICK: f64 = 8.0;
/// Number of steps at which the longest axis is labelled.
const LABELS: u32 = 13;
/// A range of whole numbers beyond which these are amounts and not layers or epochs.
const APART: u32 = 100;

impl SeriesPanel {
    /// Draws the panel into `frame`.
    pub fn draw(&self, canvas: &mut dyn Canvas, frame: Frame) {
        let texts: Vec<String> = self.lines.iter().map(Series::text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let key = columns(&texts, frame.width - 24.0);
        let rows = key.last().map_or(0, |(row, _)| row + 1);
        let words = self.words();
        // The texts of uprights need a row of their own below the title of the axis.
        let above = if self.uprights.is_empty() { 60.0 } else { 72.0 };
        let plot = Axes::plot(frame, above, rows + words.len().max(1));
        let scores = || {
            let spreads = self.points();
            let ends = spreads.flat_map(|(_, spread)| [spread.low, spread.high]);
            ends.chain(self.traces().map(|(_, score)| *score))
        };
        let up = Axis::around(scores().chain(on_axis(&self.levels, scores())), 5);
        let (first, last) = self.ends();
        let place = Place {
            scale: self.scale,
            first,
            last,
            up: &up,
            plot,
        };
        let ticks = self.labelled(first, last).into_iter();
        let ticks = ticks.map(|at| (place.x(f64::from(at)), at.to_string()));
        let axes = Axes {
            title: &self.title,
            measure: &self.measure,
            across: &self.across,
            rules: up.labelled(|score| place.y(score)),
            ticks: ticks.collect(),
        };
        let top = axes.draw(canvas, frame, plot);

        self.draw_rules(canvas, &place);
        for line in &self.lines {
            line.draw_band(canvas, &place);
            line.draw_traces(canvas, &place);
        }
        for line in &self.lines {
            line.draw(canvas, &place);
            for point in &line.points {
                let tip = format!("{}: {}", line.title, self.told(point));
                canvas.tip(place.at(f64::from(point.0), point.1.mean), &tip);
            }
        }
        let left = frame.left + 12.0;
        for ((line, text), (row, offset)) in self.lines.iter().zip(texts).zip(key) {
            let (x, y) = (left + offset, top + ROW * row as f64);
            line.stroke
                .draw(canvas, &[(x, y), (x + SAMPLE, y)], line.ink());
            mark(canvas, (x + SAMPLE / 2.0, y), line.colour, line.mark());
            canvas.text(x + SAMPLE + 6.0, y, text, &small(HPos::Left));
        }
        let note = Text::note().anchored(HPos::Left);
        for (row, words) in words.iter().enumerate() {
            canvas.text(left, top + ROW * (rows + row) as f64, words, &note);
        }
    }

    pub(crate) fn words_of_lines(&self) -> Vec<String> {
        let words = |line: &Series| match line.points.as_slice() {
            [] => line.text(),
            points => {
                let each = points.iter().map(|point| self.told(point));
                format!("{}: {}", line.title, each.collect::<Vec<_>>().join(", "))
            }
        };
        self.lines.iter().map(words).collect()
    }

    /// `0.712 (0.700–0.721) at layer 3`
    fn told(&self, (at, Spread { mean, low, high }): &(u32, Spread)) -> String {
        let range = if low < high {
            format!(" ({}\u{2013}{})", fixed(*low, 3), fixed(*high, 3))
        } else {
            String::new()
        };
        format!(
            "{}{range} at {} {at}",
            fixed(*mean, 3),
            self.across.to_lowercase()
        )
    }

    fn points(&self) -> impl Iterator<Item = &(u32, Spread)> {
        self.lines.iter().flat_map(|line| &line.points)
    }

    /// Whole numbers with a label: each, or every few of them; of a few numbers with wide gaps, such as 1,000 and 5,000
    /// examples, those that have points.
    fn labelled(&self, first: u32, last: u32) -> Vec<u32> {
        let mut own: Vec<u32> = self.points().map(|(at, _)| *at).collect();
        own.sort_unstable();
        own.dedup();
        if last - first > APART && own.len() as u32 <= LABELS / 2 {
            return own;
        }
        let step = (last - first).div_ceil(LABELS).max(1);
        (first..=last).step_by(step as usize).collect()
    }

    /// First and last whole number of any line; 0 and 1 if there is none, and never the same.
    fn ends(&self) -> (u32, u32) {
        let traced = || self.traces().map(|(at, _)| *at);
        let all = || self.points().map(|(at, _)| *at).chain(traced());
        let (first, last) = (all().min().unwrap_or(0), all().max().unwrap_or(1));
        (first, last.max(first + 1))
    }

    fn traces(&self) -> impl Iterator<Item = &(u32, f64)> {
        self.lines
            .iter()
            .flat_map(|line| line.traces.iter().flatten())
    }

    /// Explanations of strokes.
    fn words(&self) -> Vec<String> {
        let band = self.points().any(|(_, spread)| spread.low < spread.high);
        let band = band.then(|| "band: range of runs".to_owned());
        band.into_iter().chain(self.words.iter().cloned()).collect()
    }

    fn draw_rules(&self, canvas: &mut dyn Canvas, place: &Place) {
        let Frame { top, height, .. } = place.plot;
        for upright in &self.uprights {
            let x = place.x(upright.at);
            draw_dashed(canvas, &[(x, top), (x, top + height)], MUTED);
            canvas.text(x, top - 9.0, &upright.text, &Text::note());
        }
        let paths = self.lines.iter().flat_map(|line| {
            let means = line.points.iter().map(|(at, spread)| (*at, spread.mean));
            let placed = |points: Vec<(u32, f64)>| -> Vec<(f64, f64)> {
                let points = points.into_iter();
                points
                    .map(|(at, score)| place.at(f64::from(at), score))
                    .collect()
            };
            let traces = line.traces.iter().cloned();
            [means.collect()]
                .into_iter()
                .chain(traces)
                .map(placed)
                .collect::<Vec<_>>()
        });
        let levels = (&self.levels[..], |at| place.y(at));
        draw_levels(canvas, place.plot, levels, &paths.collect::<Vec<_>>());
    }
}

impl Series {
    fn text(&self) -> String {
        if self.points.is_empty() && self.traces.is_empty() {
            format!("{} (no run)", self.title)
        } else {
            self.title.clone()
        }
    }

    fn ink(&self) -> Colour {
        series_colour(self.colour)
    }

    fn mark(&self) -> Mark {
        match self.stroke {
            Stroke::Solid => Mark::Full,
            Stroke::Dashed => Mark::Hollow,
        }
    }

    fn draw_band(&self, canvas: &mut dyn Canvas, place: &Place) {
        if self.points.len() < 2 || self.points.iter().all(|(_, each)| each.low == each.high) {
            return;
        }
        let upper = self
            .points
            .iter()
            .map(|(at, each)| place.at(f64::from(*at), each.high));
        let lower = self.points.iter().rev();
        let lower = lower.map(|(at, each)| place.at(f64::from(*at), each.low));
        let corners: Vec<(f64, f64)> = upper.chain(lower).collect();
        canvas.polygon(&corners, self.ink().faint(0.12));
    }

    fn draw_traces(&self, canvas: &mut dyn Canvas, place: &Place) {
        for trace in self.traces.iter().filter(|trace| trace.len() > 1) {
            let points = trace
                .iter()
                .map(|(at, score)| place.at(f64::from(*at), *score));
            canvas.path(&points.collect::<Vec<_>>(), self.ink().faint(0.45), 1.0);
        }
        for &(at, score) in &self.ticks {
            let (x, y) = place.at(at, score);
            canvas.line((x, y - TICK), (x, y + TICK), self.ink(), 2.5);
        }
    }

    fn draw(&self, canvas: &mut dyn Canvas, place: &Place) {
        let points = self
            .points
            .iter()
            .map(|(at, each)| place.at(f64::from(*at), each.mean));
        let points: Vec<(f64, f64)> = points.collect();
        if points.len() > 1 {
            self.stroke.draw(canvas, &points, self.ink());
        }
        for point in points {
            mark(canvas, point, self.colour, self.mark());
        }
    }
}

impl Stroke {
    fn draw(self, canvas: &mut dyn Canvas, points: &[(f64, f64)], colour: Colour) {
        match self {
            Self::Solid => canvas.path(points, colour, 2.0),
            Self::Dashed => draw_dashed(canvas, points, colour),
        }
    }
}

/// Transformation from whole numbers and scores to the picture.
struct Place<'a> {
    scale: Scale,
    first: u32,
    last: u32,
    up: &'a Axis,
    plot: Frame,
}

impl Place<'_> {
    fn x(&self, at: f64) -> f64 {
        // A little room keeps the first and the last mark off the edges.
        let [at, first, last] =
            [at, f64::from(self.first), f64::from(self.last)].map(|at| self.scale.of(at));
        let share = (at - first) / (last - first);
        self.plot.left + 8.0 + (self.plot.width - 16.0) * share
    }

    fn y(&self, score: f64) -> f64 {
        self.plot.top + self.plot.height * (1.0 - self.up.share(score))
    }

    fn at(&self, at: f64, score: f64) -> (f64, f64) {
        (self.x(at), self.y(score))
    }
}

#[cfg(test)]
mod tests;
