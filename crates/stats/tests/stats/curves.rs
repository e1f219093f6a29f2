//! Curves of scores over time compared with numpy, scipy and pandas, from `fixtures/make/curves.py`; and properties of
//! any curve.

use proptest::prelude::*;
use serde::Deserialize;
use totune_stats::Curve;
use totune_stats::curve::{Epoch, Stopped, best_within, epochs, frontier};

#[derive(Deserialize)]
struct Fixture {
    alone: Vec<Alone>,
    together: Vec<CurveCase>,
}

#[derive(Deserialize)]
struct Alone {
    name: String,
    points: Vec<(f64, f64)>,
    seconds: Vec<f64>,
    within: Vec<Option<f64>>,
    completed: Vec<Option<f64>>,
    budgets: Vec<f64>,
    floors: Vec<f64>,
    areas: Vec<Vec<f64>>,
    levels: Vec<f64>,
    reached: Vec<Option<f64>>,
}

#[derive(Deserialize)]
struct CurveCase {
    name: String,
    curves: Vec<Vec<(f64, f64)>>,
    grid: Vec<f64>,
    highest: Vec<f64>,
    seconds: Vec<f64>,
    mean_within: Vec<Option<f64>>,
    reached: Vec<usize>,
    leaves: Vec<[f64; 4]>,
    stays: Vec<[f64; 4]>,
}

#[test]
fn the_best_within_a_time_is_that_of_numpy() {
    for case in fixture().alone {
        let curve = curve(&case.points);
        for ((&seconds, &within), &completed) in
            case.seconds.iter().zip(&case.within).zip(&case.completed)
        {
            let name = format!("{} at {seconds}", case.name);
            check(&name, curve.best_within(seconds), within, 1e-12);
            check(&name, curve.completed_within(seconds), completed, 0.0);
        }
    }
}

#[test]
fn the_area_under_a_curve_is_that_of_numpy() {
    for case in fixture().alone {
        for (&budget, areas) in case.budgets.iter().zip(&case.areas) {
            for (&floor, &area) in case.floors.iter().zip(areas) {
                let name = format!("{} until {budget} from {floor}", case.name);
                let found = curve(&case.points).area_until(budget, floor);
                check(&name, Some(found), Some(area), 1e-12);
            }
        }
    }
}

#[test]
fn the_time_to_a_score_is_where_scipy_finds_the_root() {
    for case in fixture().alone {
        let curve = curve(&case.points);
        for (&level, &expected) in case.levels.iter().zip(&case.reached) {
            let name = format!("{} to {level}", case.name);
            check(&name, curve.time_to(level), expected, 1e-9);
        }
    }
}

#[test]
fn means_over_runs_are_those_of_pandas() {
    for case in fixture().together {
        let runs = curves(&case.curves);
        for (&seconds, &mean) in case.seconds.iter().zip(&case.mean_within) {
            let found = best_within(&runs, seconds).map(|spread| spread.mean);
            check(&format!("{} at {seconds}", case.name), found, mean, 1e-12);
        }
        for (stopped, expected) in [
            (Stopped::Leaves, &case.leaves),
            (Stopped::Stays, &case.stays),
        ] {
            let found = epochs(&runs, stopped);
            let reached: Vec<usize> = found.iter().map(|epoch| epoch.reached).collect();
            assert_eq!(reached, case.reached, "{}", case.name);
            for (Epoch { seconds, score, .. }, expected) in found.iter().zip(expected) {
                let found = [seconds.mean, score.mean, score.low, score.high];
                for (found, expected) in found.into_iter().zip(*expected) {
                    check(&case.name, Some(found), Some(expected), 1e-12);
                }
            }
        }
    }
}

#[test]
fn the_frontier_is_the_highest_curve_of_a_fine_grid() {
    for case in fixture().together {
        let curves = curves(&case.curves);
        let reigns = frontier(&curves);
        for (&seconds, &highest) in case.grid.iter().zip(&case.highest) {
            let name = format!("{} at {seconds}", case.name);
            // Where one stretch ends and the next begins, the later one is the higher.
            let reign = reigns
                .iter()
                .rfind(|reign| (reign.from()..=reign.until()).contains(&seconds))
                .unwrap_or_else(|| panic!("{name}: nothing reigns"));
            let found = curves[reign.curve].best_within(seconds);
            check(&name, found, Some(highest), 1e-12);
        }
    }
}

fn points() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((0.01..5.0f64, -1.0..1.0f64), 1..10).prop_map(|steps| {
        let mut seconds = 0.0;
        let point = |(step, score)| {
            seconds += step;
            (seconds, score)
        };
        steps.into_iter().map(point).collect()
    })
}

proptest! {
    #[test]
    fn more_time_is_never_worse_and_an_epoch_too_late_is_worth_nothing(
        points in points(), a in 0.0..60.0f64, b in 0.0..60.0f64,
    ) {
        let curve = curve(&points);
        let (sooner, later) = (a.min(b), a.max(b));
        prop_assert!(curve.best_within(sooner) <= curve.best_within(later));
        prop_assert!(curve.completed_within(sooner) <= curve.best_within(sooner));
        prop_assert_eq!(curve.best_within(sooner).is_none(), sooner < curve.start());
    }

    #[test]
    fn what_is_reached_by_a_time_is_reached_within_it(points in points(), score in -1.0..1.0f64) {
        let curve = curve(&points);
        match curve.time_to(score) {
            Some(seconds) => {
                let there = curve.best_within(seconds).expect("it has begun");
                prop_assert!(there >= score - 1e-9, "{there} at {seconds}");
            }
            None => prop_assert!(curve.best() < score),
        }
    }

    #[test]
    fn an_area_lies_between_the_floor_and_the_best(points in points(), budget in 0.01..60.0f64) {
        let curve = curve(&points);
        let area = curve.area_until(budget, -1.0);
        prop_assert!((-1.0 - 1e-9..=curve.best() + 1e-9).contains(&area), "{area}");
    }

    #[test]
    fn a_frontier_has_no_gap_and_is_above_every_curve(
        all in prop::collection::vec(points(), 1..6), seconds in 0.0..60.0f64,
    ) {
        let curves = curves(&all);
        let reigns = frontier(&curves);
        for pair in reigns.windows(2) {
            prop_assert_eq!(pair[0].until(), pair[1].from());
            prop_assert_ne!(pair[0].curve, pair[1].curve);
        }
        let best = curves.iter().filter_map(|curve| curve.best_within(seconds)).fold(f64::NEG_INFINITY, f64::max);
        if let Some(reign) = reigns.iter().rfind(|reign| (reign.from()..=reign.until()).contains(&seconds)) {
            let found = curves[reign.curve].best_within(seconds).expect("it has begun");
            prop_assert!((found - best).abs() < 1e-9, "{found} instead of {best}");
        }
    }
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../../../../fixtures/stats/curves.json"))
        .expect("the fixture is readable")
}

fn curve(points: &[(f64, f64)]) -> Curve {
    Curve::new(points.to_vec()).expect("the points make a curve")
}

fn curves(all: &[Vec<(f64, f64)>]) -> Vec<Curve> {
    all.iter().map(|points| curve(points)).collect()
}

/// Equal to a share of the expected number, or both absent.
#[track_caller]
fn check(name: &str, found: Option<f64>, expected: Option<f64>, tolerance: f64) {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            let difference = (found - expected).abs();
            assert!(
                difference <= tolerance * expected.abs().max(1e-3),
                "{name}: {found}, expected {expected}"
            );
        }
        (found, expected) => assert_eq!(found, expected, "{name}"),
    }
}
