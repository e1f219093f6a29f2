//! Means and differences of groups; the synthetic scores are chosen so that each verdict occurs, see `fixture`.

use super::{Paper, Verdict, claim};
use crate::fixture;

use Verdict::{Contradicted, DirectionOnly, NotTestable, Reproduced, WithinNoise};

const ACCURACY: &str = "quantity = { kind = 'score', metric = 'accuracy' }";

fn paper() -> Paper {
    Paper {
        plan: fixture::plan(),
        tables: fixture::tables(),
    }
}

#[test]
fn made_up_runs_decide_scores() {
    let paper = paper();
    for (sides, relation, expected) in [
        ("'full', 'frozen'", "'greater'", Reproduced),
        ("'frozen', 'full'", "'greater'", Contradicted),
        ("'full', 'last-two', 'frozen'", "'greater'", DirectionOnly),
        ("'full', 'last-two'", "'null'", Reproduced),
        ("'full', 'frozen'", "'null'", Contradicted),
        ("'full', 'absent'", "'null'", NotTestable),
        ("'frozen', 'full'", "'non-superior'", Reproduced),
        ("'full', 'frozen'", "'non-superior'", Contradicted),
        ("'full', 'frozen'", "{ equivalent = 0.2 }", Reproduced),
        ("'full', 'frozen'", "{ equivalent = 0.001 }", Contradicted),
        ("'full', 'last-two'", "{ equivalent = 0.0001 }", WithinNoise),
        (
            "'full', 'frozen'",
            "{ near = { paper = 0.05, tolerance = 0.01 } }",
            Reproduced,
        ),
        (
            "'full', 'frozen'",
            "{ near = { paper = 0.2, tolerance = 0.01 } }",
            DirectionOnly,
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
fn made_up_runs_decide_variances() {
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
        "it takes the profile small; this page shows fixture"
    );
}

#[test]
fn one_claim_more_makes_every_other_harder() {
    let parts = [
        "sides = ['full', 'last-two']",
        ACCURACY,
        "relation = 'null'",
    ];
    let (one, other) = (claim("x", &parts), claim("y", &parts));
    let p = |text: &str| {
        let p = paper().judged(text, |judged| judged.p.clone());
        p.unwrap().parse::<f64>().unwrap()
    };
    let (one, two) = (p(&one), p(&format!("{one}{other}")));
    assert!(two > one, "{two} against {one}");
}
