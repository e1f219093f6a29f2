//! Tests of the module above.

use super::*;
use crate::{Figure, Panel};

#[test]
fn a_line_without_points_stands_in_the_key_and_says_so() {
    let panel = panel(vec![
        series("Pretrained", &[]),
        series("Tuned", &[(3, 0.5)]),
    ]);
    let svg = Figure {
        panels: vec![Panel::Series(panel)],
        stamp: None,
    }
    .svg()
    .unwrap();
    assert!(svg.contains("Pretrained (no run)"), "{svg}");
    assert!(!svg.contains("band:"), "{svg}");
}

#[test]
fn the_ends_are_those_of_all_lines() {
    let lines = vec![series("a", &[(1, 0.5), (6, 0.6)]), series("b", &[(0, 0.4)])];
    assert_eq!(panel(lines).ends(), (0, 6));
    assert_eq!(panel(vec![series("a", &[(2, 0.5)])]).ends(), (2, 3));
    assert_eq!(panel(vec![]).ends(), (0, 1));
}

fn series(title: &str, points: &[(u32, f64)]) -> Series {
    let spread = |value: f64| Spread::of(&[value]).unwrap();
    Series {
        title: title.to_owned(),
        points: points
            .iter()
            .map(|(at, value)| (*at, spread(*value)))
            .collect(),
        ..Series::default()
    }
}

fn panel(lines: Vec<Series>) -> SeriesPanel {
    SeriesPanel {
        title: "Letters".into(),
        measure: "Accuracy".into(),
        across: "Layer".into(),
        lines,
        ..SeriesPanel::default()
    }
}

#[test]
fn amounts_are_labelled_where_they_have_points() {
    let of = |points: &[(u32, f64)]| panel(vec![series("a", points)]);
    let examples = of(&[(1272, 0.5), (2545, 0.6), (5090, 0.7)]);
    assert_eq!(examples.labelled(1272, 5090), [1272, 2545, 5090]);
    assert_eq!(of(&[(0, 0.5), (4, 0.6)]).labelled(0, 4), [0, 1, 2, 3, 4]);
}
