//! Key (legend) below a panel of lines: the positions of its names.

use plotters::style::text_anchor::HPos;

use crate::canvas::Text;

/// Size of the texts of axes and key: more than a note's, since a page shrinks the picture.
const SIZE: f64 = 15.0;
/// Height of one row of the key.
pub const ROW: f64 = 20.0;
/// Width of the sample of a line in the key.
pub const SAMPLE: f64 = 26.0;
/// Width of a letter in the key, on average and with a little room.
pub const LETTER: f64 = 7.0;
/// Room between two columns of the key.
pub const GAP: f64 = 10.0;
/// Row and distance from the left end for each of `texts`, in as many columns as `width` has room for.
pub fn columns(texts: &[&str], width: f64) -> Vec<(usize, f64)> {
    let widths = |columns: usize| -> Vec<f64> {
        let wide = |column: usize| {
            let texts = texts.iter().skip(column).step_by(columns);
            let longest = texts.map(|text| text.chars().count()).max();
            SAMPLE + 6.0 + LETTER * longest.unwrap_or(0) as f64 + GAP
        };
        (0..columns).map(wide).collect()
    };
    let widths = (2..=texts.len())
        .rev()
        .map(widths)
        .find(|widths| widths.iter().sum::<f64>() <= width)
        .unwrap_or_else(|| vec![width]);
    let place = |at: usize| (at / widths.len(), widths[..at % widths.len()].iter().sum());
    (0..texts.len()).map(place).collect()
}

/// Text of axes and key.
pub fn small(across: HPos) -> Text {
    Text {
        size: SIZE,
        across,
        ..Text::note()
    }
}
