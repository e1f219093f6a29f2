//! Lines of the synthetic runs, with numbers that can be redone on paper.

use std::collections::BTreeMap;

use super::*;
use crate::figures::Kind;
use crate::figures::RenderedFigure;
use crate::figures::curves::figure::drawn;
use crate::figures::curves::summary::CurvesSummary;
use crate::fixture;
use crate::item::Heading;
use totune_evidence::select::runs::Runs;
use totune_plot::time::Time;

#[test]
fn a_line_goes_through_the_means_of_its_runs() {
    let lines = letters();
    let last = &lines.lines[0];
    // Lengths 3, 4 and 5: runs that stopped stay with their last score and time.
    let reached: Vec<usize> = last.epochs.iter().map(|epoch| epoch.reached).collect();
    assert_eq!(reached, [3, 3, 3, 2, 1]);
    check(last.epochs[0].seconds.mean, 6.0 * 1.01);
    check(last.epochs[2].score.mean, 0.69);
    check(
        last.epochs[4].seconds.mean,
        (10.0 + 12.0 * 1.01 + 14.0 * 1.02) / 3.0,
    );
    check(last.epochs[4].score.mean, (0.68 + 0.685 + 0.695) / 3.0);
    assert_eq!(last.stops, BTreeMap::from([("plateau".to_owned(), 3)]));
    let all = &lines.lines[2];
    assert_eq!(all.lost, BTreeMap::from([("diverged".to_owned(), 1)]));
    assert_eq!(
        lines.notes(),
        ["Letters, All layers: not in the means: 1 diverged"]
    );
}

#[test]
fn an_axis_of_time_has_the_seconds_of_one_device() {
    let mut tables = totune_synthetic::tables();
    let shared = tables.runs.iter().filter(|run| run.epochs > 0);
    let ids: Vec<String> = shared.map(|run| run.run_id.clone()).collect();
    for run in &mut tables.runs {
        run.device = "cpu".into();
        if run.run_id == ids[0] {
            run.device = "cuda:0 (a GPU)".into();
        }
    }
    let runs = Runs::read(&[], std::path::Path::new("none"), tables.into()).unwrap();
    let found = lines_of(
        &runs,
        &chosen(&["last-layer", "last-two-layers", "all-layers"]),
    );
    let lost: usize = (found.lines.iter())
        .filter_map(|line| line.lost.get("on another device"))
        .sum();
    let all = |lines: &Lines| {
        lines
            .lines
            .iter()
            .map(|line| line.runs.len())
            .sum::<usize>()
    };
    assert_eq!((lost, all(&found)), (1, all(&letters()) - 1));
}

#[test]
fn seconds_of_a_shared_machine_are_not_drawn_next_to_others() {
    let mut tables = totune_synthetic::tables();
    let shared = tables.runs.iter_mut().find(|run| run.epochs > 0).unwrap();
    shared.encoder = "another".into();
    shared.cpu_seconds = Some(0.1 * shared.train_seconds);
    let runs = Runs::read(&[], std::path::Path::new("none"), tables.into()).unwrap();
    let groups = chosen(&["last-layer", "last-two-layers", "all-layers"]);
    let lost: Vec<BTreeMap<String, usize>> = lines_of(&runs, &groups)
        .lines
        .into_iter()
        .map(|line| line.lost)
        .collect();
    let of = |why: &str, n: usize| BTreeMap::from([(why.to_owned(), n)]);
    assert_eq!(
        lost,
        [of("not timed", 1), BTreeMap::new(), of("diverged", 1)]
    );
}

#[test]
fn budget_and_best_are_those_of_all_lines() {
    let lines = letters();
    check(lines.budget().unwrap(), 32.0 * 1.01);
    check(lines.best().unwrap(), 0.78);
    let summary = CurvesSummary::of(&lines);
    let times: Vec<Vec<Option<f64>>> = summary
        .groups
        .iter()
        .map(|group| group.time_to.iter().map(|time| time.seconds).collect())
        .collect();
    // 90 % of 0.78 is 0.702: never for 0.69; between 0.68 and 0.73; between 0.68 and 0.77.
    assert_eq!(times[0], [None; 3]);
    check(times[1][0].unwrap(), 1.01 * (11.0 + 4.0 * 0.022 / 0.05));
    check(times[2][0].unwrap(), 1.01 * (16.0 + 8.0 * 0.022 / 0.09));
    assert_eq!(times[1][2], None);
    let leads: Vec<&str> = summary
        .frontier
        .iter()
        .map(|lead| lead.group.as_str())
        .collect();
    assert_eq!(leads, ["last-layer", "last-two-layers", "all-layers"]);
}

#[test]
fn without_a_floor_there_is_no_share_of_a_gain() {
    let lines = Lines {
        lowest: None,
        ..letters()
    };
    let summary = CurvesSummary::of(&lines);
    assert_eq!(summary.floor, None);
    assert!(
        summary
            .groups
            .iter()
            .all(|group| group.time_to.is_empty() && group.area.is_none())
    );
    let lines = Lines {
        lowest: Some(0.5),
        ..letters()
    };
    // 90 % of the gain from 0.5 to 0.78 ends at 0.752, between 0.68 and 0.77.
    let times = &CurvesSummary::of(&lines).groups[2].time_to;
    check(times[0].score, 0.752);
    check(
        times[0].seconds.unwrap(),
        1.01 * (16.0 + 8.0 * 0.072 / 0.09),
    );
}

#[test]
fn a_run_is_scored_by_the_epoch_that_dev_chose_so_far() {
    let mut tables = totune_synthetic::tables();
    let of_task = |run: &&mut totune_record::RunRow| run.dataset == "synthetic-epochs";
    let run = tables.runs.iter_mut().find(of_task).unwrap();
    run.spec = run
        .spec
        .replace("\"epochs\":5", "\"epochs\":5,\"select\":\"best-dev\"");
    let id = run.run_id.clone();
    // Test: 0.59, 0.65, 0.68. Dev falls after the first epoch and says that it stays.
    let mut dev = Vec::new();
    for eval in tables.evals.iter_mut().filter(|eval| eval.run_id == id) {
        eval.is_final = eval.epoch == 1;
        dev.push(totune_record::EvalRow {
            split: "dev".into(),
            value: 0.9 - 0.1 * f64::from(eval.epoch),
            ..eval.clone()
        });
    }
    tables.evals.extend(dev);
    let lines = lines_of(&Runs::new(tables).unwrap(), &chosen(&["last-layer"]));
    let run = lines.lines[0]
        .runs
        .iter()
        .find(|run| run.run_id == id)
        .unwrap();
    let scores = |curve: &Curve| {
        curve
            .points()
            .iter()
            .map(|point| point.1)
            .collect::<Vec<_>>()
    };
    assert!(run.selects);
    assert_eq!(scores(&run.in_hand), [scores(&run.scored)[0]; 3]);
    assert!(run.scored.best() > run.in_hand.best());
    assert!(svg(&lines).contains("Accuracy (test), epoch chosen on dev, mean over runs"));
}

#[test]
fn the_best_so_far_is_the_first_of_equals() {
    let places = best_so_far([0.2, 0.1, 0.3, 0.3, f64::NAN, 0.4].into_iter());
    assert_eq!(places, [0, 0, 2, 2, 2, 5]);
}

#[test]
fn trials_of_a_search_are_in_no_line() {
    let mut tables = totune_synthetic::tables();
    let of_task = |run: &&mut totune_record::RunRow| run.dataset == "synthetic-epochs";
    let run = tables.runs.iter_mut().find(of_task).unwrap();
    run.experiment = "epochs-search".into();
    run.spec = run.spec.replace(
        "\"experiment\":\"epochs\"",
        "\"experiment\":\"epochs-search\"",
    );
    let runs = Runs::new(tables).unwrap();
    let line = |experiment: Option<&str>| {
        let mut group = Chosen {
            name: "last".into(),
            title: "Last".into(),
            conditions: Where::from([("work.training.adaptation.k".to_owned(), 1.into())]),
        };
        let named = experiment.map(|name| ("experiment".to_owned(), name.into()));
        group.conditions.extend(named);
        lines_of(&runs, &[group]).lines.remove(0).runs.len()
    };
    assert_eq!([None, Some("epochs-search")].map(line), [2, 1]);
}

#[test]
fn a_table_beside_the_figure() {
    let lines = letters();
    let heading = Heading {
        id: "times".into(),
        title: "Letters".into(),
        ..Heading::default()
    };
    let RenderedFigure { table, notes, .. } = drawn(&[lines], Time::Linear, heading);
    let (table, notes) = (table.unwrap(), notes.join("\n"));
    let (markdown, csv) = (table.markdown(), table.csv.text().to_owned());
    insta::assert_snapshot!([markdown, csv, notes].join("\n----\n"));
}

#[test]
fn a_group_without_runs_is_named_and_the_others_are_drawn() {
    let (runs, chosen) = (runs(), chosen(&["last-nine-layers", "all-layers"]));
    let lines = lines_of(&runs, &chosen);
    assert!(lines.lines[0].mean.is_none() && lines.lines[1].mean.is_some());
    assert!(lines.frontier().is_empty());
    assert!(
        lines.notes()[0].starts_with("Letters, Last nine layers: no line, because no run has"),
        "{:?}",
        lines.notes()
    );
    let svg = svg(&lines);
    assert!(svg.contains("Last nine layers (no run)"), "{svg}");
}

#[test]
fn runs_nobody_named_become_one_line_per_arm() {
    let runs = runs();
    let conditions = fixture::plan()
        .task("letters", "here")
        .unwrap()
        .conditions();
    let selection = runs.select(&conditions, "here").unwrap();
    let (groups, notes) = auto::groups(&selection.runs);
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["full", "last-1", "last-2"]);
    assert!(notes.is_empty(), "{notes:?}");
    // Without the tasks' dataset there are two experiments.
    let (groups, notes) = auto::groups(&runs.all().iter().collect::<Vec<_>>());
    assert_eq!(groups.len(), 6);
    let frozen = groups.iter().find(|group| group.name == "table-2/frozen");
    let frozen = std::slice::from_ref(frozen.unwrap());
    let plan = fixture::plan();
    let scope = Scope::new(&plan, &runs, "here");
    let lines = Lines::gather(&scope, frozen, &Where::new(), ("accuracy", "test")).unwrap();
    assert_eq!(
        lines[0].lost,
        BTreeMap::from([("not scored after every epoch".to_owned(), 10)])
    );
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn runs_of_one_line_that_differ_in_more_than_their_repeat_are_told() {
    let mut tables = totune_synthetic::tables();
    let run = tables
        .runs
        .iter_mut()
        .find(|run| run.dataset == "synthetic-epochs")
        .unwrap();
    run.spec = run.spec.replace("\"epochs\":5", "\"epochs\":9");
    let runs = Runs::new(tables).unwrap();
    let of_task: Vec<&Run> = runs
        .all()
        .iter()
        .filter(|run| run.row.dataset == "synthetic-epochs")
        .collect();
    assert_eq!(
        auto::groups(&of_task).1,
        [
            "last-1: its runs differ in work.training.epochs (5, 9); a condition on it draws one of them"
        ]
    );
}

#[test]
fn the_picture_is_the_same_text_twice_and_holds_its_key() {
    let lines = letters();
    let picture = svg(&lines);
    assert_eq!(picture, svg(&letters()));
    for expected in [
        "Letters",
        "Accuracy (test), mean over runs",
        "Training time (seconds)",
        "Last two layers",
        "best within the time",
        "hollow: some runs stopped",
    ] {
        assert!(picture.contains(expected), "no {expected}");
    }
}

#[test]
fn every_score_of_every_run_is_in_the_csv() {
    let lines = letters();
    let mut csv = Csv::new(CSV_HEAD);
    lines.csv(&mut csv);
    let text: Vec<&str> = csv.text().lines().collect();
    assert_eq!(text.len(), 1 + 3 + 4 + 5 + 12 + 12);
    assert!(text[1].starts_with("letters,last-layer,"), "{text:?}");
    let fields = [text[0], text[1]].map(|line| line.split(',').count());
    assert_eq!(fields[0], fields[1]);
}

fn svg(lines: &Lines) -> String {
    let panels = drawn(std::slice::from_ref(lines), Time::Log, Default::default()).panels;
    totune_plot::Figure {
        panels,
        stamp: None,
    }
    .svg()
    .unwrap()
}

fn runs() -> Runs {
    Runs::new(totune_synthetic::tables()).unwrap()
}

fn chosen(names: &[&str]) -> Vec<Chosen> {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    Chosen::of_plan(&fixture::plan(), &names, &Where::new(), "here").unwrap()
}

fn lines_of(runs: &Runs, chosen: &[Chosen]) -> Lines {
    let plan = fixture::plan();
    let task = plan.task("letters", "here").unwrap();
    Lines {
        task: "letters".into(),
        title: task.title.clone(),
        unit: task.unit.clone(),
        metric: task.metric.clone(),
        split: "test".into(),
        lines: Lines::gather(
            &Scope::new(&plan, runs, "here"),
            chosen,
            &task.conditions(),
            (&task.metric, "test"),
        )
        .unwrap(),
        floors: Vec::new(),
        lowest: Some(0.0),
    }
}

/// The lines of the fixture's own figure.
fn letters() -> Lines {
    let plan = fixture::plan();
    let figure = plan.figures.iter().find_map(|figure| match &figure.kind {
        Kind::Curves(figure) => Some(figure),
        _ => None,
    });
    let names: Vec<&str> = figure.unwrap().groups.iter().map(String::as_str).collect();
    lines_of(&runs(), &chosen(&names))
}

#[track_caller]
fn check(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-9,
        "{found}, expected {expected}"
    );
}
