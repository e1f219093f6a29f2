//! Scores and times over tasks; the synthetic runs are chosen so that each verdict occurs, see `fixture::task_tables`.

use super::{Paper, Verdict, claim};

use Verdict::{Contradicted, Direction, NotDecided, NotTestable, Reproduced};

/// A printed size.
fn near(paper: &str) -> String {
    format!("relation = {{ near = {{ paper = {paper} }} }}")
}

/// Printed values with their tolerance.
fn about(papers: &str, tolerance: f64) -> String {
    format!("relation = {{ near = {{ paper = {papers}, tolerance = {tolerance} }} }}")
}

#[test]
fn scores() {
    let paper = Paper::of_tasks();
    let (sides, score) = ("sides = ['last-2', 'full']", "quantity = 'task-score'");
    for (tasks, size, expected) in [
        ("among = 'few'", "-0.02", Reproduced),
        ("among = 'few'", "-0.05", Direction),
        ("among = 'few'", "0.02", Contradicted),
        // Half of 0.0004 is less than these seeds can exclude.
        ("tasks = ['sounds']", "0.0004", NotDecided),
    ] {
        paper.check(&[sides, tasks, score, &near(size)], expected);
    }
    let sides = "sides = ['full', 'last-1']";
    for tasks in ["among = 'few'", "tasks = ['letters', 'digits']"] {
        paper.check(&[sides, tasks, score, "relation = 'greater'"], Reproduced);
    }
    let back = "sides = ['last-1', 'full']\namong = 'few'\nrelation = 'greater'";
    paper.check(&[back, score], Contradicted);
}

#[test]
fn a_difference_below_the_margin_is_a_direction_only() {
    let above =
        "sides = ['full', 'last-2']\namong = 'few'\nquantity = 'task-score'\nrelation = 'greater'";
    for (margin, expected) in [(0.01, Reproduced), (0.03, Direction)] {
        Paper::of_tasks().check(&[above, &format!("margin = {margin}")], expected);
    }
}

#[test]
fn sides_that_are_alike_or_not_inferior_within_a_margin() {
    let paper = Paper::of_tasks();
    let sides = "sides = ['last-2', 'full']\nquantity = 'task-score'";
    // Two points lower on the tasks of few examples, a tenth of one higher on those of many.
    for (relation, tasks, margin, expected) in [
        ("non-inferior", "few", 0.03, Reproduced),
        ("non-inferior", "few", 0.01, Contradicted),
        ("equivalent", "few", 0.03, Reproduced),
        ("equivalent", "few", 0.01, Contradicted),
        ("equivalent", "many", 0.02, Reproduced),
        ("equivalent", "many", 0.0015, NotDecided),
    ] {
        let relation = format!("relation = '{relation}'\namong = '{tasks}'\nmargin = {margin}");
        paper.check(&[sides, &relation], expected);
    }
}

#[test]
fn what_is_not_decided_says_what_could_have_been() {
    let undecided = "sides = ['full', 'last-2']\namong = 'many'\nquantity = 'task-score'\nrelation = 'equivalent'\nmargin = 0.0015";
    let (_, reasons) = Paper::of_tasks().verdict(&[undecided]);
    assert!(
        reasons.starts_with(
            "with a power of 80 % such comparisons show that a true difference of 0 is within"
        ),
        "{reasons}"
    );
    assert!(
        reasons.contains("for 0.15 points that takes about"),
        "{reasons}"
    );
}

#[test]
fn tasks_in_general_take_more_than_four() {
    let general = "sides = ['full', 'last-2']\nquantity = 'task-score'\nrelation = 'greater'\nscope = 'tasks-in-general'";
    let (verdict, reasons) = Paper::of_tasks().verdict(&[general]);
    assert_eq!(verdict, NotTestable);
    assert!(
        reasons.starts_with("4 tasks are too few for a statement about tasks in general"),
        "{reasons}"
    );
}

#[test]
fn relative_losses() {
    let paper = Paper::of_tasks();
    for (size, expected) in [
        ("0.6", Reproduced),
        ("0.4", Direction),
        ("-0.6", Contradicted),
    ] {
        let relation = near(size);
        let parts = [
            "sides = ['full-hot', 'full']\ntasks = ['letters', 'digits', 'words']",
            "quantity = 'relative-score'",
            &relation,
        ];
        paper.check(&parts, expected);
    }
}

#[test]
fn times() {
    let paper = Paper::of_tasks();
    let sides = "sides = ['last-2', 'full']";
    // 3 epochs of 6 against 4 of 10: 55 % saved; an epoch saves 40 %.
    let epoch = "{ kind = 'time-saving', per = 'epoch' }";
    for (tasks, quantity, size, expected) in [
        ("among = 'few'", "'time-saving'", "0.54", Reproduced),
        ("among = 'few'", "'time-saving'", "0.3", Direction),
        ("among = 'few'", "'time-saving'", "-0.3", Contradicted),
        ("", epoch, "0.4", Reproduced),
        ("among = 'many'", "'time-saving'", "0.2", Contradicted),
    ] {
        let quantity = format!("quantity = {quantity}");
        paper.check(&[sides, tasks, &quantity, &near(size)], expected);
    }
    let each = "quantity = { kind = 'time-saving', over = 'each' }\nrelation = 'greater'";
    paper.check(&[sides, "among = 'few'", each], Reproduced);
    paper.check(&[sides, "among = 'many'", each], Contradicted);
    let alike = "quantity = 'time-saving'\nrelation = 'equivalent'";
    paper.check(&[sides, "among = 'few'", alike], Contradicted);
}

#[test]
fn what_is_reached_in_a_time() {
    let paper = Paper::of_tasks();
    // Within an epoch of full tuning the last layer has finished two, and nears its score by halves.
    let sides = "sides = ['last-1', 'full']\nrelation = 'greater'";
    for (task, at, expected) in [
        ("words", "1.0", Reproduced),
        ("letters", "4.0", Contradicted),
        ("letters", "0.5", NotTestable),
    ] {
        let quantity = format!("quantity = {{ kind = 'score-at-time', at = [{at}] }}");
        let tasks = format!("tasks = ['{task}']");
        paper.check(&[sides, &tasks, &quantity], expected);
    }
    let sized = "sides = ['full', 'last-1']\ntasks = ['letters']\n\
        quantity = { kind = 'score-at-time', at = [4.0, 5.0], epochs-of = 'first' }";
    paper.check(&[sized, &near("[0.04, 0.04]")], Reproduced);
    paper.check(&[sized, &near("[0.04, 0.09]")], Direction);
    // Within 1.2 epochs of full tuning: one epoch of it (-0.05 + 0.00625), three of the last layer (-0.0125 + 0.00625).
    let budget = "sides = ['last-1', 'full']\ntasks = ['words']\n\
        quantity = { kind = 'score-at-time', at = [1.2], score = 'last-epoch' }";
    // Its 90 % interval reaches down to less than half of that.
    paper.check(&[budget, &near("0.0375")], Direction);
    paper.check(&[budget, "relation = 'greater'"], Reproduced);
}

#[test]
fn repeats_and_shares() {
    let paper = Paper::of_tasks();
    let repeats = "sides = ['full', 'last-k']\nquantity = 'repeatability'";
    paper.check(&[repeats, "relation = { at-most = 0.02 }"], Reproduced);
    paper.check(&[repeats, "relation = { at-most = 0.0001 }"], Contradicted);
    let share = "quantity = 'trainable-share'";
    let sides = "sides = ['last-1', 'last-2']";
    // 421 and 821 of 4,321.
    paper.check(&[sides, share, &about("[0.0974, 0.19]", 0.001)], Reproduced);
    paper.check(
        &[sides, share, &about("[0.0974, 0.25]", 0.001)],
        Contradicted,
    );
    let sides = "sides = ['last-3']";
    paper.check(&[sides, share, &about("[0.1, 0.2]", 0.001)], NotTestable);
    let trained = "quantity = 'trained-parameters'";
    for (order, expected) in [
        ("'full', 'last-2'", Reproduced),
        ("'last-1', 'last-2'", Contradicted),
        // The smallest of the first has to lie above the largest of the second: 421 does not.
        ("'last-k', 'last-1'", Contradicted),
        ("'full', 'last-3'", NotTestable),
    ] {
        paper.check(&[&format!("order = [{order}]"), trained], expected);
    }
}

#[test]
fn a_diverged_run_takes_its_seed_along_and_is_named() {
    let relation = near("0.6");
    let parts = [
        "sides = ['full-hot', 'full']",
        "quantity = 'relative-score'",
        &relation,
    ];
    let (verdict, reasons) = Paper::of_tasks().verdict(&parts);
    assert_eq!(verdict, NotTestable);
    for expected in [
        "Sounds: 2 seeds with both sides; at least 3 are needed",
        "All layers, high rate on Sounds: 1 diverged left out",
        "1 seed without a counterpart left out",
    ] {
        assert!(reasons.contains(expected), "{reasons}");
    }
}

#[test]
fn every_task_is_refuted_by_one_though_another_cannot_be_tested() {
    let paper = Paper::of_tasks();
    let each = "quantity = { kind = 'task-score', over = 'each' }\nrelation = 'greater'\ntasks = ['letters', 'sounds']";
    // On Sounds one of three runs at the high rate diverged.
    let untested = "Sounds: 2 seeds with both sides; at least 3 are needed";
    for (sides, expected) in [
        ("sides = ['full-hot', 'full']", Contradicted),
        ("sides = ['full', 'full-hot']", NotTestable),
    ] {
        let (verdict, reasons) = paper.verdict(&[sides, each]);
        assert_eq!(verdict, expected, "{sides}: {reasons}");
        assert!(reasons.contains(untested), "{reasons}");
    }
}

#[test]
fn what_was_not_run_is_waited_for() {
    let parts = [
        "sides = ['last-3', 'full']",
        "tasks = ['letters']",
        "quantity = 'task-score'",
        "relation = 'greater'",
    ];
    let (verdict, reasons) = Paper::of_tasks().verdict(&parts);
    assert_eq!(verdict, NotTestable);
    let expected = "Last three layers on Letters: no run has work.training.adaptation.k = 3";
    assert!(reasons.contains(expected), "{reasons}");
}

#[test]
fn two_settings_where_one_is_meant_are_refused() {
    let parts = [
        "sides = ['last-2', 'any-dtype']",
        "tasks = ['letters']",
        "quantity = 'task-score'",
        "relation = 'greater'",
    ];
    let error = Paper::of_tasks()
        .judged(&claim("x", &parts), |_| ())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "claims.toml: claim `x`: group `any-dtype` on Letters: at seed 1 found two runs that differ in \
         `work.training.dtype`, expected one; name it in the group's `where`"
    );
}
