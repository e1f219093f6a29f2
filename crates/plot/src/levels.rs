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
/// meets no other one, where it is not taken for another level's, and then where it covers as little as possible of other
/// levels' lines and of `data`, the paths that are drawn later.
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
    let named: Vec<(f64, &str)> = levels
        .iter()
        .map(|level| (y(level.at), &*level.text))
        .collect();
    for (name, of) in names(plot, &named, &points) {
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
            (is_swapped, place.nearer(levels), place.covered(points))
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
                y,
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
