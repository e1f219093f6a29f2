//! Verdicts on the made-up paper of two encoders; see `fixture::probes`.

use super::*;
use crate::claims::Claims;
use crate::fixture::probes;
use crate::judge::judge;
use crate::verdict::Verdict::{self, Contradicted, NotTestable, Reproduced, WithinNoise};

#[test]
fn trends_over_layers() {
    let trend = "kind = 'layer-trend'\ngroup = 'pretrained'";
    // Six layers in order: 2 of 720 orders are as strong.
    check(trend, "tasks = ['letters']", Reproduced);
    check(trend, "tasks = ['digits']", WithinNoise);
    check(trend, "tasks = ['words']", NotTestable);
}

#[test]
fn one_group_above_another_at_every_layer() {
    let above = "kind = 'layers-above'\ntasks = ['letters', 'digits']";
    check(above, "a = 'tuned'\nb = 'pretrained'", Reproduced);
    check(above, "a = 'pretrained'\nb = 'tuned'", Contradicted);
    // Embeddings are the same on both sides.
    check(
        above,
        "a = 'tuned'\nb = 'pretrained'\nfrom = 0",
        Verdict::DirectionOnly,
    );
}

#[test]
fn two_groups_that_are_alike_layer_by_layer() {
    let near = "kind = 'layers-near'\na = 'tuned'\nb = 'pretrained'";
    check(
        near,
        "tasks = ['letters', 'digits']\nlimit = 0.2",
        Reproduced,
    );
    check(near, "tasks = ['letters']\nlimit = 0.001", Contradicted);
    check(near, "tasks = ['words']\nlimit = 0.2", NotTestable);
    let self_alike = "kind = 'layers-near'\na = 'tuned'\nb = 'tuned'";
    check(self_alike, "tasks = ['letters']\nlimit = 0.001", Reproduced);
}

#[test]
fn what_is_flat_after_a_third_of_the_layers() {
    let flat = "kind = 'layers-flat'\ngroup = 'pretrained'\nafter = 0.33\nlimit = 0.02";
    check(flat, "tasks = ['digits']", Reproduced);
    check(flat, "tasks = ['letters']", Contradicted);
}

#[test]
fn what_comes_late() {
    // Of the rise from layer 1 to 6, 0.38 of 0.4 comes after layer 4 for letters, 0.1 of 0.25 for digits.
    let rise = "kind = 'late-rise'\ngroup = 'tuned'\nmetric = 'mi'\nafter = 0.67";
    check(rise, "tasks = ['letters']\nat-least = 0.5", Reproduced);
    check(rise, "tasks = ['digits']\nat-least = 0.5", Contradicted);
    check(rise, "tasks = ['digits']\nat-most = 0.5", Reproduced);
    let none = "kind = 'late-rise'\ngroup = 'pretrained'\nmetric = 'mi'\nafter = 0.67";
    check(none, "tasks = ['digits']\nat-most = 0.5", Contradicted);
}

#[test]
fn what_is_next_to_nothing_everywhere() {
    let zero = "kind = 'layers-zero'\ntasks = ['letters', 'digits']\nlimit = 0.001";
    check(
        zero,
        "groups = ['pretrained']\nmetrics = ['mi', 'mi-random-labels']",
        Reproduced,
    );
    check(
        zero,
        "groups = ['pretrained', 'tuned']\nmetrics = ['mi']",
        Contradicted,
    );
    check(
        zero,
        "groups = ['tuned']\nmetrics = ['mi-random-labels']",
        NotTestable,
    );
}

#[test]
fn each_task_by_itself_and_tasks_against_tasks() {
    let each = "kind = 'each-task'\na = 'full'\nb = 'frozen'";
    check(each, "tasks = ['letters', 'digits']", Reproduced);
    check(each, "tasks = ['letters', 'sounds']", Verdict::WithinNoise);
    check(each, "tasks = ['letters', 'signs']", Contradicted);
    let contrast = "kind = 'task-contrast'\na = 'full'\nb = 'frozen'";
    check(
        contrast,
        "tasks = ['letters']\nthan = ['digits', 'words']",
        Reproduced,
    );
    check(
        contrast,
        "tasks = ['words']\nthan = ['letters']",
        Contradicted,
    );
}

#[test]
fn a_spread_of_seeds() {
    let spread = "kind = 'deviation'\ngroups = ['frozen']";
    check(spread, "paper = 0.001\ntolerance = 0.0001", Reproduced);
    check(spread, "paper = 0.05\ntolerance = 0.001", Contradicted);
}

#[test]
fn rows_over_columns() {
    // Differences fall with the divergence, and strongly so.
    let none = "kind = 'no-correlation'\ntable = 'table-2'\nx = 'divergence'";
    check(none, "y = 'gain'", Contradicted);
    check(none, "y = 'absent'", NotTestable);
    check(none, "y = 'tiny-frozen'", NotTestable);
}

#[test]
fn cells_of_the_paper() {
    let cells = "kind = 'cells'\ntable = 'table-2'\na = ['full']\nb = 'frozen'";
    check(cells, "expect = 'above'", Contradicted);
    check(
        cells,
        "expect = 'above'\ncolumns = ['letters', 'digits']",
        Reproduced,
    );
    check(
        cells,
        "expect = 'similar'\nlimit = 0.01\ncolumns = ['digits', 'words']",
        Reproduced,
    );
    check(
        cells,
        "expect = 'similar'\nlimit = 0.01\ncolumns = ['signs']",
        NotTestable,
    );
    // 86.0 - 80.1 is 5.9; 84.3 - 84.2 is 0.1, and 0.2 is printed.
    check(
        "kind = 'printed-differences'\ntable = 'table-2'",
        "rows = ['gain']",
        WithinNoise,
    );
}

#[test]
fn labelled_runs_decide_nothing() {
    let (verdict, reasons) =
        judged("kind = 'each-task'\na = 'tiny-frozen'\nb = 'tiny-full'\ntasks = ['letters']");
    assert_eq!(verdict, NotTestable);
    assert_eq!(
        reasons,
        "its runs on this page are labelled: format check, not a result"
    );
}

#[track_caller]
fn check(kind: &str, rest: &str, expected: Verdict) {
    let (verdict, reasons) = judged(&format!("{kind}\n{rest}"));
    assert_eq!(verdict, expected, "{reasons}");
}

fn judged(check: &str) -> (Verdict, String) {
    let text = format!(
        "[[claim]]\nid = 'x'\ntitle = ''\nsays = ''\nsource = ''\nby = 'authors'\n[claim.check]\n{check}\n"
    );
    let claims: Claims = toml::from_str(&text).unwrap();
    let plan = probes::plan();
    plan.check("report.toml").unwrap();
    claims.check(&plan, "claims.toml").unwrap();
    let mut runs = Runs::new(&probes::tables()).unwrap();
    runs.label(&plan.labels, "report.toml").unwrap();
    let court = Court {
        plan: &plan,
        runs: &runs,
        profile: "fixture",
    };
    let judged = &judge(&claims, &court, "claims.toml").unwrap()[0];
    (judged.verdict, judged.reasons.join("; "))
}
