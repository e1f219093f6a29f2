//! Scores over time: a line with a marker at each epoch, a band over the repeats, and the best within any time.

use plotters::style::text_anchor::HPos;
use totune_stats::curve::{Epoch, Reign, Spread};
use totune_stats::number::fixed;

use crate::axes::Axes;
use crate::axis::Axis;
use crate::canvas::{Canvas, Colour, Frame, RULE, Text, series_colour};
use crate::key::{ROW, SAMPLE, columns, small};
use crate::levels::{Level, draw_levels, on_axis};
use crate::mark::{Mark, mark};
use crate::time::{Time, TimeAxis};

/// One panel of lines over a shared axis of time.
#[derive(Debug, Clone)]
pub struct LinePanel {
    /// Title of the panel.
    pub title: String,
    /// Quantity on the vertical axis.
    pub measure: String,
    /// Scale of the time axis: linear, or by powers of ten.
    pub time: Time,
    /// Lines, drawn in this order.
    pub lines: Vec<LineSeries>,
    /// The highest of the lines at any time; empty for none.
    pub frontier: Vec<Reign>,
    /// Scores to compare all lines with.
    pub levels: Vec<Level>,
}

/// One line.
#[derive(Debug, Clone)]
pub struct LineSeries {
    /// Name in the key.
    pub title: String,
    /// Points from left to right; a line without points only appears in the key, which says so.
    pub epochs: Vec<Epoch>,
    /// Number of runs behind the line; a marker is hollow where fewer reached the epoch.
    pub runs: usize,
    /// Seconds after which a run went on to its next phase.
    pub switches: Vec<f64>,
}

/// Width of the best-within-time line, which is drawn below everything, wide and pale.
const FRONTIER: f64 = 9.0;
/// Half the height of a tick.
const TICK: f64 = 8.0;

impl LinePanel {
    /// Draws the panel into `frame`.
    pub fn draw(&self, canvas: &mut dyn Canvas, frame: Frame) {
        let key = self.key(frame.width - 24.0);
        let rows = key.last().map_or(0, |item| item.row + 1);
        let words = self.words();
        let plot = Axes::plot(frame, 60.0, rows + words.len());
        let across = TimeAxis::around(self.points().map(|epoch| epoch.seconds.mean), self.time);
        let scores = || {
            let epochs = self.points();
            epochs.flat_map(|epoch| [epoch.score.low, epoch.score.high])
        };
        let up = Axis::around(scores().chain(on_axis(&self.levels, scores())), 5);
        let place = Place {
            across: &across,
            up: &up,
            plot,
        };
        let ticks = across.ticks.iter();
        let ticks = ticks.map(|(seconds, label)| (place.x(*seconds), label.clone()));
        let axes = Axes {
            title: &self.title,
            measure: &self.measure,
            across: &across.title,
            rules: up.labelled(|score| place.y(score)),
            ticks: ticks.collect(),
        };
        let first = axes.draw(canvas, frame, plot);

        let best: Vec<(f64, f64)> = self
            .frontier
            .iter()
            .flat_map(|reign| reign.points.iter().copied())
            .collect();
        if !best.is_empty() {
            canvas.path(&place.trace(&best), RULE, FRONTIER);
        }
        let path = |line: &LineSeries| {
            let means = line
                .epochs
                .iter()
                .map(|epoch| (epoch.seconds.mean, epoch.score.mean));
            place.trace(&means.collect::<Vec<_>>())
        };
        let paths: Vec<Vec<(f64, f64)>> = self.lines.iter().map(path).collect();
        let levels = (&self.levels[..], |at| place.y(at));
        draw_levels(canvas, place.plot, levels, &paths);
        for (number, line) in self.lines.iter().enumerate() {
            line.draw_band(canvas, &place, series_colour(number));
        }
        for (number, line) in self.lines.iter().enumerate() {
            line.draw(canvas, &place, number);
        }
        let left = frame.left + 12.0;
        for item in &key {
            self.draw_key(canvas, item, (left, first + ROW * item.row as f64));
        }
        let note = Text::note().anchored(HPos::Left);
        for (row, words) in words.iter().enumerate() {
            canvas.text(left, first + ROW * (rows + row) as f64, words, &note);
        }
    }

    pub(crate) fn words_of_lines(&self) -> Vec<String> {
        let lines = self.lines.iter().map(|line| match line.epochs.as_slice() {
            [] => format!("{}: no run", line.title),
            [only] => line.text(only),
            [first, .., last] => format!("{}, then {}", line.text(first), told(last)),
        });
        let levels = self.levels.iter().map(|level| level.text.clone());
        lines.chain(levels).collect()
    }

    fn points(&self) -> impl Iterator<Item = &Epoch> {
        self.lines.iter().flat_map(|line| &line.epochs)
    }

    /// Explanations of the marks, in one row or two.
    fn words(&self) -> Vec<String> {
        let several = self.lines.iter().any(|line| line.runs > 1);
        let left = self.lines.iter().any(LineSeries::loses_runs);
        let phases = self.lines.iter().any(|line| !line.switches.is_empty());
        let mut words = vec!["marker: mean of an epoch"];
        words.extend(left.then_some("hollow: some runs stopped"));
        words.extend(several.then_some("band: range of runs"));
        let ticks = phases.then(|| "upright tick: phase 2 begins in a run".to_owned());
        [words.join(", ")].into_iter().chain(ticks).collect()
    }

    /// Names of the lines in as many columns as `width` has room for.
    fn key(&self, width: f64) -> Vec<KeyItem> {
        let lines = self.lines.iter().enumerate().map(|(number, line)| {
            let title = if line.epochs.is_empty() {
                format!("{} (no run)", line.title)
            } else {
                line.title.clone()
            };
            (Some(number), title)
        });
        let best = (!self.frontier.is_empty()).then(|| (None, "best within the time".to_owned()));
        let items: Vec<(Option<usize>, String)> = lines.chain(best).collect();
        let texts: Vec<&str> = items.iter().map(|(_, text)| text.as_str()).collect();
        let places = columns(&texts, width);
        let place =
            |((line, text), (row, offset)): ((Option<usize>, String), (usize, f64))| KeyItem {
                line,
                text,
                row,
                offset,
            };
        items.into_iter().zip(places).map(place).collect()
    }

    fn draw_key(&self, canvas: &mut dyn Canvas, item: &KeyItem, (left, y): (f64, f64)) {
        let left = left + item.offset;
        match item.line {
            None => canvas.path(&[(left, y), (left + SAMPLE, y)], RULE, FRONTIER),
            Some(number) => {
                let colour = series_colour(number);
                canvas.path(&[(left, y), (left + SAMPLE, y)], colour, 2.0);
                mark(canvas, (left + SAMPLE / 2.0, y), number, Mark::Full);
            }
        }
        canvas.text(left + SAMPLE + 6.0, y, &item.text, &small(HPos::Left));
    }
}

/// A name in the key.
#[derive(Debug, PartialEq)]
struct KeyItem {
    /// Index of the line; none for the best within the time.
    line: Option<usize>,
    text: String,
    row: usize,
    /// Offset from the left end of the row.
    offset: f64,
}

/// `0.712 (0.700–0.721) after 15.3 s`
fn told(epoch: &Epoch) -> String {
    let Spread { mean, low, high } = epoch.score;
    let range = if low < high {
        format!(" ({}\u{2013}{})", fixed(low, 3), fixed(high, 3))
    } else {
        String::new()
    };
    format!(
        "{}{range} after {} s",
        fixed(mean, 3),
        fixed(epoch.seconds.mean, 1)
    )
}

impl LineSeries {
    fn text(&self, epoch: &Epoch) -> String {
        format!("{}: {}", self.title, told(epoch))
    }

    fn loses_runs(&self) -> bool {
        self.epochs.iter().any(|epoch| epoch.reached < self.runs)
    }

    fn draw_band(&self, canvas: &mut dyn Canvas, place: &Place, colour: Colour) {
        if self.runs < 2 || self.epochs.len() < 2 {
            return;
        }
        let side = |score: fn(&Epoch) -> f64| -> Vec<(f64, f64)> {
            let points = self
                .epochs
                .iter()
                .map(|epoch| (epoch.seconds.mean, score(epoch)));
            place.trace(&points.collect::<Vec<_>>())
        };
        let mut corners = side(|epoch| epoch.score.high);
        corners.extend(side(|epoch| epoch.score.low).into_iter().rev());
        canvas.polygon(&corners, colour.faint(0.12));
    }

    fn draw(&self, canvas: &mut dyn Canvas, place: &Place, number: usize) {
        let points: Vec<(f64, f64)> = self
            .epochs
            .iter()
            .map(|epoch| (epoch.seconds.mean, epoch.score.mean))
            .collect();
        if points.len() > 1 {
            canvas.path(&place.trace(&points), series_colour(number), 2.0);
        }
        for &seconds in &self.switches {
            if let Some(score) = between(&points, seconds) {
                let (x, y) = place.at((seconds, score));
                canvas.line((x, y - TICK), (x, y + TICK), series_colour(number), 2.5);
            }
        }
        for (epoch, point) in self.epochs.iter().zip(points) {
            // One epoch has no band: its spread is a line through the mark.
            if self.epochs.len() == 1 && self.runs > 1 {
                let ends = [epoch.score.low, epoch.score.high];
                let ends = ends.map(|score| place.at((epoch.seconds.mean, score)));
                canvas.line(ends[0], ends[1], series_colour(number).faint(0.4), 4.0);
            }
            let kind = if epoch.reached < self.runs {
                Mark::Hollow
            } else {
                Mark::Full
            };
            mark(canvas, place.at(point), number, kind);
            canvas.tip(place.at(point), &self.text(epoch));
        }
    }
}

/// Height of a line through `points` at a time; that of its first point before it.
fn between(points: &[(f64, f64)], seconds: f64) -> Option<f64> {
    let first = points.first()?;
    let on = |pair: &[(f64, f64)]| {
        let [from, to] = [pair[0], pair[1]];
        let share = (seconds - from.0) / (to.0 - from.0);
        (0.0..=1.0)
            .contains(&share)
            .then_some(from.1 + share * (to.1 - from.1))
    };
    let found = points.windows(2).find_map(on);
    found.or_else(|| (seconds <= first.0).then_some(first.1))
}

/// Transformation from seconds and scores to the picture.
struct Place<'a> {
    across: &'a TimeAxis,
    up: &'a Axis,
    plot: Frame,
}

impl Place<'_> {
    fn x(&self, seconds: f64) -> f64 {
        self.plot.left + self.plot.width * self.across.share(seconds)
    }

    fn y(&self, score: f64) -> f64 {
        self.plot.top + self.plot.height * (1.0 - self.up.share(score))
    }

    fn at(&self, (seconds, score): (f64, f64)) -> (f64, f64) {
        (self.x(seconds), self.y(score))
    }

    /// Joins points by lines that are straight in time: on a logarithmic axis they bend, and two of them cross where
    /// their numbers do.
    fn trace(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let mut trace: Vec<(f64, f64)> = Vec::new();
        for pair in points.windows(2) {
            let [from, to] = [pair[0], pair[1]];
            let wide = self.x(to.0) - self.x(from.0);
            let parts = if self.across.is_even() {
                1
            } else {
                ((wide / 16.0).ceil() as usize).max(1)
            };
            trace.extend((0..parts).map(|part| {
                let share = part as f64 / parts as f64;
                self.at((
                    from.0 + share * (to.0 - from.0),
                    from.1 + share * (to.1 - from.1),
                ))
            }));
        }
        trace.extend(points.last().map(|&last| self.at(last)));
        trace
    }
}

#[cfg(test)]
mod tests;
