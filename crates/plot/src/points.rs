//! Scores over what they cost: a mark for each way to get one, and the best score at any cost.

use plotters::style::text_anchor::HPos;
use totune_stats::curve::Spread;
use totune_stats::number::fixed;

use crate::axes::Axes;
use crate::axis::Axis;
use crate::canvas::{Canvas, Frame, RULE, Text, series_colour};
use crate::key::{ROW, SAMPLE, columns, small};
use crate::mark::{Mark, mark};
use crate::time::{power_label, powers};

/// One panel of points over a logarithmic axis.
#[derive(Debug, Clone, Default)]
pub struct PointPanel {
    /// Title of the panel.
    pub title: String,
    /// Quantity on the vertical axis.
    pub measure: String,
    /// Quantity on the horizontal axis, with its unit.
    pub across: String,
    /// Points; those at the same place in two panels have the same mark.
    pub points: Vec<Point>,
}

/// One point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Point {
    /// Name in the key.
    pub title: String,
    /// Its place on the horizontal axis, above 0; a point without one only appears in the key, which says so.
    pub cost: Option<f64>,
    /// Its place on the vertical axis; none without runs on every task.
    pub score: Option<Spread>,
}

/// Width of the line through the best scores, which is drawn below everything, wide and pale.
const FRONT: f64 = 9.0;
/// Width of the panel, and height of the plot in it.
const WIDTH: f64 = 480.0;
const PLOT: f64 = 260.0;
/// Distance of two marks from which on neither hides the other.
const APART: f64 = 5.0;
/// Room above the points.
const ABOVE: f64 = 60.0;

impl PointPanel {
    /// Width and height: the key of many points takes its room below the plot, not from it.
    pub(crate) fn size(&self) -> (f64, f64) {
        let rows = rows(&self.key().1);
        (WIDTH, ABOVE + PLOT + Axes::below(rows + 1))
    }

    /// Names in the key, and their rows and distances from the left end.
    fn key(&self) -> (Vec<String>, Vec<(usize, f64)>) {
        let best = (self.front().len() > 1).then(|| "best at the cost".to_owned());
        let texts: Vec<String> = self.points.iter().map(Point::text).chain(best).collect();
        let shown: Vec<&str> = texts.iter().map(String::as_str).collect();
        let places = columns(&shown, WIDTH - 24.0);
        (texts, places)
    }

    /// Draws the panel into `frame`.
    pub fn draw(&self, canvas: &mut dyn Canvas, frame: Frame) {
        let (texts, key) = self.key();
        let rows = rows(&key);
        let plot = Axes::plot(frame, ABOVE, rows + 1);
        let (right, bottom) = (plot.left + plot.width, plot.top + plot.height);
        let ticks = self.ticks();
        let (first, last) = (ticks[0], ticks[ticks.len() - 1]);
        let scores = self
            .placed()
            .flat_map(|(_, _, score)| [score.low, score.high]);
        let up = Axis::around(scores, 5);
        let x = |cost: f64| plot.left + plot.width * (cost / first).ln() / (last / first).ln();
        let y = |score: f64| bottom - plot.height * up.share(score);
        let ticks = ticks.iter().map(|&tick| (x(tick), short(tick)));
        let axes = Axes {
            title: &self.title,
            measure: &self.measure,
            across: &self.across,
            rules: up.labelled(y),
            ticks: ticks.collect(),
        };
        let key_top = axes.draw(canvas, frame, plot);

        let front = self.front();
        if front.len() > 1 {
            let steps = front.windows(2).flat_map(|pair| {
                let ((from, low), (to, high)) = (pair[0], pair[1]);
                [(from, low), (to, low), (to, high)]
            });
            let path: Vec<(f64, f64)> = steps.map(|(cost, score)| (x(cost), y(score))).collect();
            canvas.path(&path, RULE, FRONT);
        }
        let places = self
            .placed()
            .map(|(_, cost, score)| (x(cost), y(score.mean)));
        let places = apart(&places.collect::<Vec<_>>(), right);
        for ((number, cost, score), at) in self.placed().zip(&places) {
            let colour = series_colour(number);
            let ends = [(at.0, y(score.low)), (at.0, y(score.high))];
            canvas.line(ends[0], ends[1], colour.faint(0.4), 4.0);
            mark(canvas, *at, number, Mark::Full);
            canvas.tip(*at, &self.points[number].told(cost, score));
        }
        let left = frame.left + 12.0;
        for (number, (text, (row, offset))) in texts.iter().zip(key).enumerate() {
            let (x, y) = (left + offset, key_top + ROW * row as f64);
            if number < self.points.len() {
                mark(canvas, (x + SAMPLE / 2.0, y), number, Mark::Full);
            } else {
                canvas.path(&[(x, y), (x + SAMPLE, y)], RULE, FRONT);
            }
            canvas.text(x + SAMPLE + 6.0, y, text, &small(HPos::Left));
        }
        let note = Text::note().anchored(HPos::Left);
        let has_ranges = self.placed().any(|(_, _, score)| score.low < score.high);
        let ranges = has_ranges.then_some("upright line: range of seeds");
        let is_moved = self.placed().zip(&places);
        let mut is_moved = is_moved.map(|((_, cost, _), at)| at.0 != x(cost));
        let moved = is_moved
            .any(|moved| moved)
            .then_some("marks at one place are side by side");
        let words: Vec<&str> = ranges.into_iter().chain(moved).collect();
        let below = key_top + ROW * rows as f64;
        canvas.text(left, below, &words.join(", "), &note);
    }

    pub(crate) fn words_of_points(&self) -> Vec<String> {
        let words = |point: &Point| match point.place() {
            Some((cost, score)) => point.told(cost, score),
            None => point.text(),
        };
        self.points.iter().map(words).collect()
    }

    /// Number, cost and score of each point that has a place.
    fn placed(&self) -> impl Iterator<Item = (usize, f64, &Spread)> {
        let points = self.points.iter().enumerate();
        points.filter_map(|(number, point)| {
            let (cost, score) = point.place()?;
            Some((number, cost, score))
        })
    }

    /// Round costs around all points.
    fn ticks(&self) -> Vec<f64> {
        let ends = self.placed().map(|(_, cost, _)| cost);
        let ends = ends.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), cost| {
            (low.min(cost), high.max(cost))
        });
        match ends {
            (_, 0.0) => powers(1.0, 10.0),
            (low, high) => powers(low, high),
        }
    }

    /// Cost and score of the points that no other one beats at its cost or below, from the cheapest up.
    fn front(&self) -> Vec<(f64, f64)> {
        let mut all: Vec<(f64, f64)> = self
            .placed()
            .map(|(_, cost, score)| (cost, score.mean))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut best = f64::NEG_INFINITY;
        all.retain(|(_, score)| {
            let better = *score > best;
            best = best.max(*score);
            better
        });
        all
    }
}

/// The places of marks, each moved aside as little as uncovers the marks that come before it; not beyond `right`.
fn apart(places: &[(f64, f64)], right: f64) -> Vec<(f64, f64)> {
    let mut free: Vec<(f64, f64)> = Vec::new();
    for &(x, y) in places {
        let is_free = |x: f64| {
            let mut near = free.iter();
            !near.any(|(other, at)| (other - x).abs() < APART && (at - y).abs() < APART)
        };
        let most = APART as usize * places.len();
        let steps = (0..=most).flat_map(|n| [n as f64, -(n as f64)]);
        let mut moved = steps.map(|n| x + n);
        let place = moved.find(|x| *x <= right && is_free(*x));
        free.push((place.unwrap_or(x), y));
    }
    free
}

/// Rows of a key.
fn rows(key: &[(usize, f64)]) -> usize {
    key.last().map_or(0, |(row, _)| row + 1)
}

impl Point {
    fn place(&self) -> Option<(f64, &Spread)> {
        let cost = self.cost.filter(|cost| *cost > 0.0)?;
        Some((cost, self.score.as_ref()?))
    }

    fn text(&self) -> String {
        match (self.place(), &self.score) {
            (Some(_), _) => self.title.clone(),
            (None, None) => format!("{} (no score on some task)", self.title),
            (None, Some(_)) => format!("{} (cost not known)", self.title),
        }
    }

    /// `LoRA: 0.712 (0.700–0.721) at 98 K`
    fn told(&self, cost: f64, Spread { mean, low, high }: &Spread) -> String {
        let range = if low < high {
            format!(" ({}\u{2013}{})", fixed(*low, 3), fixed(*high, 3))
        } else {
            String::new()
        };
        let (mean, cost) = (fixed(*mean, 3), exact(cost));
        format!("{}: {mean}{range} at {cost}", self.title)
    }
}

/// Three digits of a number below 1,000, and others as [`short`] has them.
fn exact(number: f64) -> String {
    if number >= 999.5 || number <= 0.0 {
        return short(number);
    }
    let whole = number.log10().floor() as i32 + 1;
    fixed(number, (3 - whole).max(0) as usize)
}

/// Thousands, millions and billions, by which an axis stays readable: `98 K`, `22.7 M`.
fn short(number: f64) -> String {
    let units = [(1e9, " G"), (1e6, " M"), (1e3, " K")];
    // 1,000 MB need no other unit.
    let mut units = units.into_iter().filter(|_| number >= 1e4);
    let (unit, name) = units.find(|(unit, _)| number >= *unit).unwrap_or((1.0, ""));
    let scaled = number / unit;
    let digits = if scaled >= 100.0 { 0 } else { 1 };
    match name {
        "" => power_label(number),
        _ if scaled.fract() < 0.05 => format!("{}{name}", fixed(scaled, 0)),
        _ => format!("{}{name}", fixed(scaled, digits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Figure, Panel};

    fn point(title: &str, cost: f64, scores: &[f64]) -> Point {
        Point {
            title: title.to_owned(),
            cost: Some(cost),
            score: Spread::of(scores),
        }
    }

    fn panel(points: Vec<Point>) -> PointPanel {
        PointPanel {
            title: "Cost".to_owned(),
            measure: "Score".to_owned(),
            across: "Trained parameters".to_owned(),
            points,
        }
    }

    #[test]
    fn the_front_has_what_nothing_cheaper_beats() {
        let points = vec![
            point("full", 22e6, &[0.9, 0.8]),
            point("frozen", 800.0, &[0.7]),
            point("lora", 98e3, &[0.86]),
            point("biases", 98e3, &[0.8]),
            point("last", 3e6, &[0.84]),
        ];
        assert_eq!(panel(points).front(), [(800.0, 0.7), (98e3, 0.86)]);
    }

    #[test]
    fn every_point_is_in_the_picture_and_in_the_key() {
        let lost = Point {
            title: "bitfit".to_owned(),
            ..Point::default()
        };
        let untimed = Point {
            cost: None,
            ..point("adapters", 1.0, &[0.5])
        };
        let points = vec![
            point("full", 22_713_600.0, &[0.9, 0.8]),
            point("frozen", 770.0, &[0.7]),
            lost,
            untimed,
        ];
        let figure = Figure {
            panels: vec![Panel::Points(panel(points))],
            stamp: None,
        };
        let svg = figure.svg().expect("a picture");
        for text in [
            "full: 0.850 (0.800–0.900) at 22.7 M",
            "frozen: 0.700 at 770",
            "bitfit (no score on some task)",
            "adapters (cost not known)",
            "best at the cost",
            "upright line: range of seeds",
        ] {
            assert!(svg.contains(text), "{text}\n{svg}");
        }
    }

    #[test]
    fn marks_at_one_place_stand_side_by_side() {
        let places = [(90.0, 50.0), (90.0, 52.0), (95.0, 90.0), (91.0, 49.0)];
        let found = apart(&places, 100.0);
        assert_eq!(found[..3], [(90.0, 50.0), (95.0, 52.0), (95.0, 90.0)]);
        assert_eq!(found[3], (85.0, 49.0));
    }

    #[test]
    fn costs_are_short() {
        let found = [1.0, 50.0, 0.5, 1000.0, 98_304.0, 22_713_600.0, 5e8, 2e9].map(short);
        let expected = [
            "1", "50", "0.5", "1,000", "98.3 K", "22.7 M", "500 M", "2 G",
        ];
        assert_eq!(found, expected);
        let found = [2.4987, 0.794643282, 98.33, 770.0, 0.0, 98_304.0].map(exact);
        assert_eq!(found, ["2.50", "0.795", "98.3", "770", "0", "98.3 K"]);
    }
}
