//! Tests of the module above.

use super::*;
use crate::key::{GAP, LETTER};

#[test]
fn the_key_stands_in_columns_that_fit() {
    let places = |width: f64| -> Vec<(usize, f64)> {
        let key = panel(&["All layers", "Last layer", "Last two layers"]).key(width);
        key.iter().map(|item| (item.row, item.offset)).collect()
    };
    let short = SAMPLE + 6.0 + 10.0 * LETTER + GAP;
    assert_eq!(places(380.0), [(0, 0.0), (0, short), (0, 2.0 * short)]);
    let long = short + 5.0 * LETTER;
    assert_eq!(places(300.0), [(0, 0.0), (0, long), (1, 0.0)]);
    assert_eq!(places(100.0), [(0, 0.0), (1, 0.0), (2, 0.0)]);
}

#[test]
fn by_powers_of_ten_a_line_stays_straight_in_time() {
    let (across, up) = (
        TimeAxis::around([1.0, 100.0].into_iter(), Time::Log),
        Axis::around([0.0, 1.0].into_iter(), 5),
    );
    let plot = Frame {
        left: 0.0,
        top: 0.0,
        width: 200.0,
        height: 100.0,
    };
    let place = Place {
        across: &across,
        up: &up,
        plot,
    };
    let trace = place.trace(&[(1.0, 0.0), (100.0, 1.0)]);
    assert!(trace.len() > 10, "{trace:?}");
    for (x, y) in trace {
        let seconds = 10f64.powf(x / 100.0);
        assert!((100.0 - y - (seconds - 1.0) / 0.99).abs() < 1e-9, "{x} {y}");
    }
}

#[test]
fn what_marks_mean_is_said_where_it_is_seen() {
    assert_eq!(
        panel(&["a"]).words(),
        ["marker: mean of an epoch, band: range of runs"]
    );
    let mut panel = panel(&["a"]);
    panel.lines[0].epochs[0].reached = 1;
    assert_eq!(
        panel.words(),
        ["marker: mean of an epoch, hollow: some runs stopped, band: range of runs"]
    );
    panel.lines[0].runs = 1;
    assert_eq!(panel.words(), ["marker: mean of an epoch"]);
}

#[test]
fn a_tick_sits_on_the_line() {
    let points = [(2.0, 0.5), (4.0, 0.7), (8.0, 0.6)];
    let found = [1.0, 2.0, 3.0, 6.0, 9.0].map(|seconds| between(&points, seconds));
    let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
    assert!(near(found[0], 0.5) && near(found[1], 0.5) && near(found[2], 0.6));
    assert!(near(found[3], 0.65) && found[4].is_none());
    let mut panel = panel(&["a"]);
    panel.lines[0].switches.push(4.0);
    assert_eq!(panel.words()[1], "upright tick: phase 2 begins in a run");
}

fn panel(titles: &[&str]) -> LinePanel {
    let one = |value: f64| Spread::of(&[value, value]).unwrap();
    let line = |title: &&str| LineSeries {
        title: title.to_string(),
        epochs: vec![Epoch {
            seconds: one(4.0),
            score: one(0.5),
            reached: 2,
        }],
        runs: 2,
        switches: vec![],
    };
    LinePanel {
        title: "Letters".into(),
        measure: "Accuracy".into(),
        time: Time::Linear,
        lines: titles.iter().map(line).collect(),
        frontier: vec![],
        levels: vec![],
    }
}

#[test]
fn a_level_is_drawn_with_its_name_even_below_all_lines() {
    let mut panel = panel(&["a"]);
    panel.levels.push(Level {
        at: 0.1,
        text: "majority 0.100".into(),
    });
    let figure = crate::Figure {
        panels: vec![crate::Panel::Lines(panel)],
        stamp: None,
    };
    let svg = figure.svg().expect("a picture");
    assert!(svg.contains("majority 0.100"));
    // The axis begins below it.
    assert!(svg.contains("\n0.1\n"), "{svg}");
}

#[test]
fn names_of_levels_at_one_height_stand_apart() {
    let mut panel = panel(&["a"]);
    panel.levels = ["one", "two", "three", "four", "five"]
        .map(|name| Level {
            at: 0.1,
            text: format!("{name}, a floor with a long name 0.100"),
        })
        .to_vec();
    let figure = crate::Figure {
        panels: vec![crate::Panel::Lines(panel)],
        stamp: None,
    };
    let svg = figure.svg().expect("a picture");
    let texts = svg.split("<text ").skip(1);
    let texts = texts.filter(|text| text.contains("a floor"));
    let place = |text: &str| -> String {
        let x = text
            .split("x=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let y = text
            .split("y=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        format!("{x:?} {y:?}")
    };
    let places: std::collections::BTreeSet<String> = texts.map(place).collect();
    assert_eq!(places.len(), 5, "{places:?}");
}
