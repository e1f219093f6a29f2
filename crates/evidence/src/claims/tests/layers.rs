//! Layers, tasks and cells of the synthetic paper of two encoders; see `fixture::probes`.

use super::{Paper, Verdict};
use totune_synthetic::probes;

use Verdict::{Contradicted, NotDecided, NotTestable, Reproduced};

fn paper() -> Paper {
    Paper::of(probes::PLAN, probes::tables())
}

#[test]
fn trends() {
    let paper = paper();
    let trend = "sides = ['pretrained']\nquantity = 'layer-trend'\nrelation = 'greater'";
    // Six layers in order: 2 of 720 orders are as strong.
    for (tasks, expected) in [
        ("tasks = ['letters']", Reproduced),
        ("tasks = ['digits']", NotDecided),
        ("tasks = ['words']", NotTestable),
    ] {
        paper.check(&[trend, tasks], expected);
    }
}

#[test]
fn one_side_above_another_at_every_layer() {
    let paper = paper();
    let (tasks, above) = ("tasks = ['letters', 'digits']", "relation = 'greater'");
    let tuned = "sides = ['tuned', 'pretrained']";
    let score = "quantity = 'layer-score'";
    paper.check(&[tuned, tasks, score, above], Reproduced);
    let pretrained = "sides = ['pretrained', 'tuned']";
    paper.check(&[pretrained, tasks, score, above], Contradicted);
}

#[test]
fn two_sides_that_are_alike_layer_by_layer() {
    let paper = paper();
    for (other, task, margin, expected) in [
        ("pretrained", "letters", 0.2, Reproduced),
        ("pretrained", "letters", 0.001, Contradicted),
        ("pretrained", "words", 0.2, NotTestable),
    ] {
        let sides = format!("sides = ['tuned', '{other}']\ntasks = ['{task}']\nmargin = {margin}");
        paper.check(
            &[
                &sides,
                "quantity = 'layer-score'",
                "relation = 'equivalent'",
            ],
            expected,
        );
    }
}

#[test]
fn what_is_flat_after_a_third_of_the_layers() {
    let flat = "sides = ['pretrained']\nquantity = { kind = 'layer-range', after = 0.33 }\nrelation = { at-most = 0.02 }";
    paper().check(&[flat, "tasks = ['digits']"], Reproduced);
    paper().check(&[flat, "tasks = ['letters']"], Contradicted);
}

#[test]
fn what_comes_late() {
    let paper = paper();
    let rise = "quantity = { kind = 'late-rise', metric = 'mi', after = 0.67 }";
    // Of the rise from layer 1 to 6, 0.38 of 0.4 comes after layer 4 for letters, 0.1 of 0.25 for digits.
    for (side, task, relation, expected) in [
        ("tuned", "letters", "at-least", Reproduced),
        ("tuned", "digits", "at-least", Contradicted),
        ("tuned", "digits", "at-most", Reproduced),
        ("pretrained", "digits", "at-most", Contradicted),
    ] {
        let sides = format!("sides = ['{side}']\ntasks = ['{task}']");
        let relation = format!("relation = {{ {relation} = 0.5 }}");
        paper.check(&[&sides, rise, &relation], expected);
    }
}

#[test]
fn what_is_next_to_nothing_everywhere() {
    let paper = paper();
    for (sides, metrics, relation, expected) in [
        // 0.001 at every layer, which is the limit itself.
        (
            "'pretrained'",
            "'mi', 'mi-random-labels'",
            "at-most = 0.001",
            Reproduced,
        ),
        ("'pretrained'", "'mi'", "at-most = 0.0009", Contradicted),
        (
            "'pretrained', 'tuned'",
            "'mi'",
            "at-most = 0.001",
            Contradicted,
        ),
        (
            "'tuned'",
            "'mi-random-labels'",
            "at-most = 0.001",
            NotTestable,
        ),
        // At its highest layer the one reaches 0.4, the other 0.3: either task decides.
        ("'tuned'", "'mi'", "at-least = 0.3", Reproduced),
        ("'tuned'", "'mi'", "at-least = 0.35", Contradicted),
        ("'pretrained'", "'mi'", "at-least = 0.35", Contradicted),
        (
            "'tuned'",
            "'mi-random-labels'",
            "at-least = 0.3",
            NotTestable,
        ),
    ] {
        let sides = format!("sides = [{sides}]\ntasks = ['letters', 'digits']");
        let quantity = format!("quantity = {{ kind = 'layer-size', metrics = [{metrics}] }}");
        let relation = format!("relation = {{ {relation} }}");
        paper.check(&[&sides, &quantity, &relation], expected);
    }
}

#[test]
fn each_task_by_itself_and_tasks_against_tasks() {
    let paper = paper();
    let sides = "sides = ['full', 'frozen']\nrelation = 'greater'";
    let each = "quantity = { kind = 'task-score', over = 'each' }";
    for (tasks, expected) in [
        ("tasks = ['letters', 'digits']", Reproduced),
        // No difference on the second, which is shown to be within the margin.
        ("tasks = ['letters', 'sounds']", Contradicted),
        ("tasks = ['letters', 'signs']", Contradicted),
    ] {
        paper.check(&[sides, each, tasks], expected);
    }
    for (tasks, than, expected) in [
        ("'letters'", "'digits', 'words'", Reproduced),
        ("'words'", "'letters'", Contradicted),
    ] {
        let tasks = format!("tasks = [{tasks}]");
        let contrast = format!("quantity = {{ kind = 'task-contrast', than = [{than}] }}");
        paper.check(&[sides, &tasks, &contrast], expected);
    }
}

#[test]
fn a_spread_of_seeds() {
    let spread = "sides = ['frozen']\nquantity = 'deviation'";
    for (relation, expected) in [
        (
            "relation = { near = { paper = 0.001, tolerance = 0.01 } }",
            Reproduced,
        ),
        (
            "relation = { near = { paper = 0.05, tolerance = 0.001 } }",
            Contradicted,
        ),
    ] {
        paper().check(&[spread, relation], expected);
    }
}

#[test]
fn rows_over_columns() {
    // Differences fall with the divergence, and strongly so.
    for (y, expected) in [
        ("gain", Contradicted),
        ("absent", NotTestable),
        ("tiny-frozen", NotTestable),
    ] {
        let quantity = format!(
            "quantity = {{ kind = 'correlation', table = 'table-2', x = 'divergence', y = '{y}' }}"
        );
        paper().check(
            &[&quantity, "relation = 'equivalent'\nmargin = 0.3"],
            expected,
        );
    }
}

#[test]
fn cells_of_the_paper() {
    let paper = paper();
    for (columns, relation, expected) in [
        ("", "'greater'", Contradicted),
        ("'letters', 'digits'", "'greater'", Reproduced),
        ("'digits', 'words'", "'equivalent'", Reproduced),
        ("'signs'", "'equivalent'", NotTestable),
    ] {
        let quantity = format!(
            "quantity = {{ kind = 'printed-cells', table = 'table-2', rows = ['full'], against = 'frozen', columns = [{columns}] }}"
        );
        paper.check(&[&quantity, &format!("relation = {relation}")], expected);
    }
    // 86.0 - 80.1 is 5.9; 84.3 - 84.2 is 0.1, and 0.2 is printed.
    let printed = "quantity = { kind = 'printed-differences', table = 'table-2', rows = ['gain'] }";
    paper.check(&[printed], NotDecided);
}

#[test]
fn labelled_runs_decide_nothing() {
    let parts = [
        "sides = ['tiny-frozen', 'tiny-full']",
        "tasks = ['letters']",
        "quantity = { kind = 'task-score', over = 'each' }",
        "relation = 'greater'",
    ];
    let (verdict, reasons) = paper().verdict(&parts);
    assert_eq!(verdict, NotTestable);
    let expected = "its runs on this page are labelled: format check, not a result";
    assert_eq!(reasons, expected);
}
