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
/// Height of its letters.
const LETTERS: f64 = 10.0;

/// Draws levels, whose heights `y` gives, below the data: dashed lines, and over them their names. A name stands where it
/// meets no other one and as little as possible of other levels' lines and of `data`, the paths that are drawn later.
pub(crate) fn draw_levels(
    canvas: &mut dyn Canvas,
    plot: Frame,
    (levels, y): (&[Level], impl Fn(f64) -> f64),
    data: &[Vec<(f64, f64)>],
) {
    let right = plot.left + plot.width;
    let line = |level: &Level| vec![(plot.left, y(level.at)), (right, y(level.at))];
    let lines: Vec<Vec<(f64, f64)>> = levels.iter().map(line).collect();
    for line in &lines {
        draw_dashed(canvas, line, MUTED);
    }
    let points = along(&[&lines[..], data].concat());
    let mut taken: Vec<Name> = Vec::new();
    for level in levels {
        let places = places(plot, y(level.at), level, levels.len());
        let free = places.filter(|place| !taken.iter().any(|other| place.meets(other)));
        // There are as many rows as names, so that one is free.
        if let Some(name) = free.min_by_key(|place| place.covered(&points)) {
            // It has a background, in case the line of another level runs through its letters all the same.
            let [low, high] = [name.middle - LETTERS / 2.0, name.middle + LETTERS / 2.0];
            canvas.rectangle(
                (name.begin, low),
                (name.begin + name.long, high),
                PAPER,
                PAPER,
            );
            let text = Text::note().anchored(name.anchor);
            canvas.text(name.x, name.middle, &level.text, &text);
            taken.push(name);
        }
    }
}

/// A place for the name of a level.
struct Name {
    /// Position of the anchor.
    x: f64,
    anchor: HPos,
    begin: f64,
    long: f64,
    middle: f64,
}

impl Name {
    fn meets(&self, other: &Self) -> bool {
        (self.middle - other.middle).abs() < NAME
            && other.begin < self.begin + self.long
            && self.begin < other.begin + other.long
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
fn places(plot: Frame, y: f64, level: &Level, rows: usize) -> impl Iterator<Item = Name> {
    let (left, width) = (plot.left, plot.width);
    let long = NAME_LETTER * level.text.chars().count() as f64;
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
        [y - far, y + far]
    });
    rows.filter(move |middle| (plot.top..plot.top + plot.height).contains(middle) || *middle < y)
        .flat_map(move |middle| {
            spots.map(|(x, anchor, begin)| Name {
                x,
                anchor,
                begin,
                long,
                middle,
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

    #[test]
    fn a_name_stands_where_it_covers_least_of_the_data() {
        let plot = Frame {
            left: 0.0,
            top: 0.0,
            width: 300.0,
            height: 200.0,
        };
        let level = Level {
            at: 0.5,
            text: "majority 0.500".into(),
        };
        let best = |path: Vec<(f64, f64)>| {
            let points = along(&[path]);
            let best = places(plot, 100.0, &level, 1).min_by_key(|place| place.covered(&points));
            let best = best.expect("a place");
            (best.x, best.middle)
        };
        assert_eq!(best(vec![(0.0, 10.0), (300.0, 10.0)]), (300.0, 91.0));
        // A line just above the level, at the right only, and all along.
        assert_eq!(best(vec![(200.0, 91.0), (300.0, 91.0)]), (150.0, 91.0));
        assert_eq!(best(vec![(0.0, 91.0), (300.0, 91.0)]), (300.0, 109.0));
    }
}
