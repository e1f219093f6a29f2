//! Dashed lines.

use crate::canvas::{Canvas, Colour};

/// Length of a dash, and of the gap after it.
const DASH: (f64, f64) = (7.0, 5.0);

/// Draws a dashed line.
pub(crate) fn draw_dashed(canvas: &mut dyn Canvas, points: &[(f64, f64)], colour: Colour) {
    for dash in dashes(points) {
        canvas.path(&dash, colour, 1.5);
    }
}

/// Drawn parts of a dashed line.
fn dashes(points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let (on, off) = DASH;
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    // Position of the line in the pattern of dash and gap.
    let mut along = 0.0;
    for pair in points.windows(2) {
        let [from, to] = [pair[0], pair[1]];
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let at = |share: f64| {
            (
                from.0 + share * (to.0 - from.0),
                from.1 + share * (to.1 - from.1),
            )
        };
        let mut gone = 0.0;
        while gone < length {
            let drawn = along < on;
            let left = if drawn { on - along } else { on + off - along };
            let next = (gone + left).min(length);
            if drawn {
                let (start, end) = (at(gone / length), at(next / length));
                match pieces.last_mut() {
                    // A dash that goes round a corner stays one.
                    Some(piece) if along > 0.0 && piece.last() == Some(&start) => piece.push(end),
                    _ => pieces.push(vec![start, end]),
                }
            }
            along = if next - gone < left {
                along + next - gone
            } else if drawn {
                on
            } else {
                0.0
            };
            gone = next;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_and_gaps_follow_each_other_round_corners() {
        // 10 to the right, then down: dash 0-7, gap 7-12 (2 of it down), dash 12-19, gap 19-24.
        let pieces = dashes(&[(0.0, 0.0), (10.0, 0.0), (10.0, 12.0)]);
        let expected = vec![vec![(0.0, 0.0), (7.0, 0.0)], vec![(10.0, 2.0), (10.0, 9.0)]];
        assert_eq!(pieces, expected);
        let round = dashes(&[(0.0, 0.0), (5.0, 0.0), (5.0, 12.0)]);
        assert_eq!(round[0], [(0.0, 0.0), (5.0, 0.0), (5.0, 2.0)]);
    }
}
