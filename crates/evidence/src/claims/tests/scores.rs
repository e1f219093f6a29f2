//! Means and differences of groups; the synthetic scores are chosen so that each verdict occurs, see `fixture`.

use super::{Paper, Verdict, claim};
use crate::plan::Measure;

use Verdict::{Contradicted, Direction, NotDecided, NotTestable, Reproduced};

const ACCURACY: &str = "quantity = { kind = 'score', metric = 'accuracy' }";

fn paper() -> Paper {
    let mut paper = Paper::of(totune_synthetic::PLAN, totune_synthetic::tables());
    let accuracy = Measure::score("accuracy", "test");
    paper.plan.cells = vec![("frozen".to_owned(), accuracy, 0.8)];
    paper
}

#[test]
fn synthetic_runs_decide_scores() {
    let paper = paper();
    for (sides, relation, expected) in [
        ("'full', 'frozen'", "'greater'", Reproduced),
        ("'frozen', 'full'", "'greater'", Contradicted),
        ("'full', 'last-two', 'frozen'", "'greater'", Direction),
        ("'full', 'absent'", "'equivalent'", NotTestable),
        // Five points apart with a spread of three, and two tenths with the same.
        ("'full', 'frozen'", "'equivalent'\nmargin = 0.2", Reproduced),
        (
            "'full', 'frozen'",
            "'equivalent'\nmargin = 0.001",
            Contradicted,
        ),
        ("'full', 'last-two'", "'equivalent'", NotDecided),
        ("'frozen', 'full'", "'non-inferior'", Contradicted),
        ("'full', 'frozen'", "'non-inferior'", Reproduced),
        (
            "'full', 'frozen'",
            "{ near = { paper = 0.05 } }",
            Reproduced,
        ),
        ("'full', 'frozen'", "{ near = { paper = 0.2 } }", Direction),
        (
            "'frozen', 'full'",
            "{ near = { paper = 0.05 } }",
            Contradicted,
        ),
        ("'frozen'", "{ near = { tolerance = 0.01 } }", Reproduced),
        (
            "'frozen'",
            "{ near = { paper = 0.5, tolerance = 0.01 } }",
            Contradicted,
        ),
    ] {
        let sides = format!("sides = [{sides}]");
        let relation = format!("relation = {relation}");
        paper.check(&[&sides, ACCURACY, &relation], expected);
    }
}

#[test]
fn the_first_of_several_sides_may_be_compared_with_each_of_the_others() {
    let paper = paper();
    let each = "quantity = { kind = 'score', metric = 'accuracy', compared = 'first-with-each' }";
    // All layers are above the others, of which the second is above the first.
    let sides = "sides = ['full', 'frozen', 'last-two']";
    let greater = "relation = 'greater'";
    paper.check(&[sides, ACCURACY, greater], Contradicted);
    paper.check(&[sides, each, greater], Direction);
    let sides = "sides = ['frozen', 'full', 'last-two']";
    paper.check(&[sides, each, greater], Contradicted);
}

#[test]
fn synthetic_runs_decide_variances() {
    let variance = "quantity = { kind = 'variance', metric = 'accuracy' }\nrelation = 'greater'";
    paper().check(&["sides = ['full', 'frozen']", variance], Reproduced);
    paper().check(&["sides = ['frozen', 'full']", variance], Contradicted);
}

#[test]
fn a_claim_about_another_profile_waits_for_it() {
    let parts = [
        "profiles = ['small']",
        "sides = ['frozen']",
        ACCURACY,
        "relation = { near = { tolerance = 0.01 } }",
    ];
    let (verdict, reasons) = paper().verdict(&parts);
    assert_eq!(verdict, NotTestable);
    assert_eq!(
        reasons,
        "it can only be tested in the profile small; this page shows fixture"
    );
}

#[test]
fn one_claim_more_changes_no_other() {
    let parts = [
        "sides = ['full', 'last-two']",
        ACCURACY,
        "relation = 'greater'",
    ];
    let (one, other) = (claim("x", &parts), claim("y", &parts));
    let p = |text: &str| paper().judged(text, |judged| judged.p.clone()).unwrap();
    assert_eq!(p(&one), p(&format!("{one}{other}")));
}

#[test]
fn the_test_that_a_claim_names_decides_and_the_other_stands_beside() {
    let parts = [
        "sides = ['full', 'frozen']",
        ACCURACY,
        "relation = 'greater'",
        "decided-by = 'permutation'",
    ];
    let (verdict, reasons) = paper().verdict(&parts);
    assert_eq!(verdict, Reproduced);
    assert!(
        reasons.contains("Welch's t-test") && reasons.contains("permutation test over random"),
        "{reasons}"
    );
}

#[test]
fn folds_are_compared_as_folds_of_one_cross_validation() {
    let folds = "sides = ['count', 'tf-idf']\nrelation = 'greater'\n\
        quantity = { kind = 'score', metric = 'accuracy', where = { 'split.kind' = 'k-fold', 'split.by' = 'shuffled' } }";
    let (verdict, reasons) = paper().verdict(&[folds]);
    assert_eq!(
        (verdict, reasons.contains("its runs are folds")),
        (NotTestable, true)
    );
    let (verdict, reasons) = paper().verdict(&[folds, "unit = 'fold'"]);
    assert_ne!(verdict, NotTestable);
    assert!(reasons.contains("Nadeau and Bengio"), "{reasons}");
}
