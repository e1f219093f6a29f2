//! Marks on lines.

use crate::canvas::{Canvas, PAPER, series_colour};

/// Fill of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Full,
    Hollow,
}

/// Draws the mark of line `number`: its shape distinguishes it where its colour does not.
pub fn mark(canvas: &mut dyn Canvas, (x, y): (f64, f64), number: usize, kind: Mark) {
    let colour = series_colour(number);
    let shape = |radius: f64| -> Vec<(f64, f64)> {
        let around: &[(f64, f64)] = match number % 5 {
            1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            2 => &[(0.0, -1.25), (1.2, 0.9), (-1.2, 0.9)],
            3 => &[(0.0, -1.35), (1.35, 0.0), (0.0, 1.35), (-1.35, 0.0)],
            4 => &[(0.0, 1.25), (1.2, -0.9), (-1.2, -0.9)],
            _ => &[],
        };
        around
            .iter()
            .map(|(across, down)| (x + across * radius, y + down * radius))
            .collect()
    };
    for (radius, fill) in [(4.0, colour), (2.2, PAPER)] {
        if fill == PAPER && kind == Mark::Full {
            continue;
        }
        match shape(radius) {
            corners if corners.is_empty() => canvas.dot((x, y), radius, fill),
            corners => canvas.polygon(&corners, fill),
        }
    }
}
