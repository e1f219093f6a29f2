//! Levels: numbers to compare the lines of a panel with, as dashed lines with names.

use plotters::style::text_anchor::HPos;

use crate::canvas::{Canvas, Frame, MUTED, PAPER, Text};
use crate::dashed::draw_dashed;

/// A dashed line from left to right, with a text at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Position on the vertical axis.
    pub at: f64,
    /// Text above or below it.
    pub text: String,
}

/// Height of the name of a level, and the width of a letter in it, on average.
const NAME: f64 = 14.0;
const NAME_LETTER: f64 = 6.2;
/// Points that a name may cover rather than stand a row further from its line.
const FAR: usize = 8;
/// Height of its letters.
const LETTERS: f64 = 10.0;

/// The most that a level on the axis may be below the data, in heights of the data.
const REACH: f64 = 1.5;

/// The levels that an axis of `data` reaches to: one far below would press all lines into the top of the panel.
pub(crate) fn on_axis(levels: &[Level], data: impl Iterator<Item = f64>) -> Vec<f64> {
    let (low, high) = data.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let least = if high > low {
        low - REACH * (high - low)
    } else {
        f64::NEG_INFINITY
    };
    let all = levels.iter().map(|level| level.at);
    all.filter(|at| *at >= least).collect()
}

/// Draws levels, whose heights `y` gives, below the data: dashed lines, and over them their names. A name stands where it
/// meets no other one, where it is not taken for another level's, and then where it covers as little as possible of other
/// levels' lines and of `data`, the paths that are drawn later; a thin line leads from it to its level where it does not
/// stand right at it. One below the axis has a name with an arrow, and no line.
pub(crate) fn draw_levels(
    canvas: &mut dyn Canvas,
    plot: Frame,
    (levels, y): (&[Level], impl Fn(f64) -> f64),
    data: &[Vec<(f64, f64)>],
) {
    let (right, bottom) = (plot.left + plot.width, plot.top + plot.height);
    let is_below = |level: &Level| y(level.at) > bottom + 1.0;
    let shown = levels.iter().filter(|level| !is_below(level));
    let line = |level: &Level| vec![(plot.left, y(level.at)), (right, y(level.at))];
    let lines: Vec<Vec<(f64, f64)>> = shown.map(line).collect();
    for line in &lines {
        draw_dashed(canvas, line, MUTED);
    }
    let points = along(&[&lines[..], data].concat());
    let texts = levels.iter().map(|level| {
        let arrow = if is_below(level) { "\u{2193} " } else { "" };
        (y(level.at).min(bottom), format!("{arrow}{}", level.text))
    });
    let texts: Vec<(f64, String)> = texts.collect();
    let named: Vec<(f64, &str)> = texts.iter().map(|(y, text)| (*y, &**text)).collect();
    let names = names(plot, &named, &points);
    let leaders = names.iter().filter_map(|(name, _)| name.leader());
    for (from, to) in leaders.filter(|(_, to)| to.1 < bottom) {
        canvas.line(from, to, MUTED, 1.0);
    }
    for (name, of) in names {
        // It has a background, in case the line of another level runs through its letters all the same.
        let [low, high] = [name.middle - LETTERS / 2.0, name.middle + LETTERS / 2.0];
        canvas.rectangle(
            (name.begin, low),
            (name.begin + name.long, high),
            PAPER,
            PAPER,
        );
        let text = Text::note().anchored(name.anchor);
        canvas.text(name.x, name.middle, of, &text);
    }
}

/// A place for the name of each level, of which `levels` has heights and names.
fn names<'a>(
    plot: Frame,
    levels: &[(f64, &'a str)],
    points: &[(f64, f64)],
) -> Vec<(Name, &'a str)> {
    let mut taken: Vec<(Name, &str)> = Vec::new();
    for &(y, text) in levels {
        // A name meets those of two rows at most, so that one of so many is free.
        let free = places(plot, y, text, 2 * levels.len())
            .filter(|place| !taken.iter().any(|(other, _)| place.meets(other)));
        let best = free.min_by_key(|place| {
            let is_swapped = taken.iter().any(|(other, _)| place.is_swapped(other));
            let hidden = place.covered(points) + FAR * place.row;
            (is_swapped, place.nearer(levels), hidden)
        });
        taken.extend(best.map(|name| (name, text)));
    }
    taken
}

/// A place for the name of a level.
struct Name {
    /// Position of the anchor.
    x: f64,
    anchor: HPos,
    begin: f64,
    long: f64,
    middle: f64,
    /// Height of the level.
    y: f64,
    /// Rows between it and the line.
    row: usize,
}

impl Name {
    fn meets(&self, other: &Self) -> bool {
        (self.middle - other.middle).abs() < NAME
            && other.begin < self.begin + self.long
            && self.begin < other.begin + other.long
    }

    /// Whether it stands above a name whose level is above its own, or the other way round.
    fn is_swapped(&self, other: &Self) -> bool {
        (self.middle - other.middle) * (self.y - other.y) < 0.0
    }

    /// A line from a name to its level, where it does not stand right at it.
    fn leader(&self) -> Option<((f64, f64), (f64, f64))> {
        let x = match self.anchor {
            HPos::Right => self.begin + self.long - 3.0,
            HPos::Center => self.begin + self.long / 2.0,
            HPos::Left => self.begin + 3.0,
        };
        (self.row > 0).then_some(((x, self.middle), (x, self.y)))
    }

    /// The number of levels whose lines are nearer to it than its own.
    fn nearer(&self, levels: &[(f64, &str)]) -> usize {
        let far = |y: f64| (y - self.middle).abs();
        levels.iter().filter(|(y, _)| far(*y) < far(self.y)).count()
    }

    /// The number of points that it would cover.
    fn covered(&self, points: &[(f64, f64)]) -> usize {
        let inside = |(x, y): &&(f64, f64)| {
            (self.begin..self.begin + self.long).contains(x) && (y - self.middle).abs() < NAME / 2.0
        };
        points.iter().filter(inside).count()
    }
}

/// Places for the name of a level at the height `y`, the usual one first: above and below its line, at the right, in the
/// middle and at the left, in `rows` rows.
fn places(plot: Frame, y: f64, text: &str, rows: usize) -> impl Iterator<Item = Name> {
    let (left, width) = (plot.left, plot.width);
    let long = NAME_LETTER * text.chars().count() as f64;
    let spots = [
        (left + width, HPos::Right, left + width - long),
        (
            left + width / 2.0,
            HPos::Center,
            left + (width - long) / 2.0,
        ),
        (left + 4.0, HPos::Left, left + 4.0),
    ];
    let rows = (0..rows).flat_map(move |row| {
        let far = 9.0 + NAME * row as f64;
        [(row, y - far), (row, y + far)]
    });
    let inside = plot.top..plot.top + plot.height;
    rows.filter(move |(_, middle)| inside.contains(middle) || *middle < y)
        .flat_map(move |(row, middle)| {
            spots.map(|(x, anchor, begin)| Name {
                x,
                anchor,
                begin,
                long,
                middle,
                y,
                row,
            })
        })
}

/// Points along paths, close enough that none passes through a name unseen.
fn along(paths: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let pairs = paths.iter().flat_map(|path| path.windows(2));
    let points = pairs.flat_map(|pair| {
        let [from, to] = [pair[0], pair[1]];
        let n = ((to.0 - from.0).hypot(to.1 - from.1) / 4.0).ceil().max(1.0);
        (0..=n as usize).map(move |step| {
            let share = step as f64 / n;
            (
                from.0 + share * (to.0 - from.0),
                from.1 + share * (to.1 - from.1),
            )
        })
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Frame = Frame {
        left: 0.0,
        top: 0.0,
        width: 300.0,
        height: 200.0,
    };

    #[test]
    fn a_name_stands_where_it_covers_least_of_the_data() {
        let best = |path: Vec<(f64, f64)>| {
            let (best, _) = &names(PLOT, &[(100.0, "majority 0.500")], &along(&[path]))[0];
            (best.x, best.middle)
        };
        assert_eq!(best(vec![(0.0, 10.0), (300.0, 10.0)]), (300.0, 91.0));
        // A line just above the level, at the right only, and all along.
        assert_eq!(best(vec![(200.0, 91.0), (300.0, 91.0)]), (150.0, 91.0));
        assert_eq!(best(vec![(0.0, 91.0), (300.0, 91.0)]), (300.0, 109.0));
    }

    #[test]
    fn a_level_far_below_the_data_is_not_on_their_axis() {
        let level = |at: f64| Level {
            at,
            text: "majority".to_owned(),
        };
        let levels = [level(0.65), level(0.45), level(0.0)];
        let reached = |data: &[f64]| on_axis(&levels, data.iter().copied());
        assert_eq!(reached(&[0.66, 0.80]), [0.65, 0.45]);
        // One number has no height.
        assert_eq!(reached(&[0.7]), [0.65, 0.45, 0.0]);
    }

    #[test]
    fn a_name_stays_near_its_line_if_it_covers_little() {
        // The data are above the line at the right, in the middle and at the left, for some steps each.
        let bars = [280.0, 150.0, 10.0].map(|x| vec![(x, 85.0), (x, 115.0)]);
        let points = along(&bars);
        let (best, _) = &names(PLOT, &[(100.0, "majority 0.500")], &points)[0];
        assert_eq!((best.row, best.leader()), (0, None));
    }

    #[test]
    fn a_name_that_stands_far_from_its_line_is_led_to_it() {
        // Data on both sides of the line all along, so densely that a name there could not be read.
        let heights = [82.0, 86.0, 90.0, 94.0, 106.0, 110.0, 114.0, 118.0];
        let points = along(&heights.map(|y| vec![(0.0, y), (300.0, y)]));
        let (best, _) = &names(PLOT, &[(100.0, "majority 0.500")], &points)[0];
        assert!(best.row > 0, "{}", best.row);
        let ((x, from), (same, to)) = best.leader().expect("a line");
        assert_eq!((x, from, to), (same, best.middle, 100.0));
    }

    #[test]
    fn names_of_levels_that_are_close_stand_in_the_order_of_their_lines() {
        let (upper, lower) = ((100.0, "word counts 0.825"), (106.0, "vectors 0.802"));
        for levels in [[upper, lower], [lower, upper]] {
            // The data leave room above both lines only.
            let points = along(&[vec![(0.0, 115.0), (300.0, 115.0)]]);
            let mut names = names(PLOT, &levels, &points);
            names.sort_by(|(a, _), (b, _)| a.middle.total_cmp(&b.middle));
            let order: Vec<&str> = names.into_iter().map(|(_, text)| text).collect();
            assert_eq!(order, ["word counts 0.825", "vectors 0.802"]);
        }
    }
}
