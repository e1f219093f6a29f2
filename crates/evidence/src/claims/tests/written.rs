//! Invalid claims and their error messages.

use super::{Paper, claim};

const SCORE: &str = "quantity = { kind = 'score', metric = 'accuracy' }";
const TASK: &str = "quantity = 'task-score'";

#[track_caller]
fn refused(parts: &[&str], expected: &str) {
    let paper = Paper::of_tasks();
    let error = paper.judged(&claim("x", parts), |_| ()).unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("claims.toml: ") && error.contains(expected),
        "{error}"
    );
}

#[test]
fn what_is_misspelt_is_named_with_the_near_word() {
    let sides = "sides = ['full', 'last-1']";
    refused(
        &[sides, "quantity = 'task-scor'"],
        "did you mean `task-score`?",
    );
    let metrik = "quantity = { kind = 'score', metrik = 'accuracy' }";
    refused(&[sides, metrik], "did you mean `metric`?");
    refused(
        &[sides, SCORE, "relation = 'greatr'"],
        "did you mean `greater`?",
    );
    refused(&["sides = ['ful', 'last-1']", TASK], "unknown group `ful`");
    refused(
        &["sides = ['full', 'last-one']", TASK],
        "did you mean `last-1`?",
    );
    let tasks = "tasks = ['leters']\nrelation = 'greater'";
    refused(&[sides, TASK, tasks], "did you mean `letters`?");
    let among = "among = 'fev'\nrelation = 'greater'";
    refused(
        &[sides, TASK, among],
        "no task of report.toml is among `fev`; did you mean `few`?",
    );
    let each = "quantity = { kind = 'task-score', over = 'eech' }";
    refused(&[sides, each], "did you mean `each`?");
    refused(&[sides, "quantity = 3"], "expected the name of a quantity");
    let twice = ["order = ['full', 'last-1']", sides, TASK];
    refused(&twice, "found `order` with `sides`");
}

/// Invalid claims, each with its error message.
const REFUSED: &str = "
sides = ['full']; quantity = { kind = 'score', metric = 'accuracy' }; relation = 'greater' => found 1 sides, expected at least 2
sides = ['full', 'last-1']; quantity = 'layer-trend'; relation = 'greater' => found 2 sides, expected 1
sides = ['full', 'last-1']; quantity = 'task-score' => found the relation `consistent`, expected one of: greater, near
sides = ['full', 'last-1']; quantity = 'task-score'; relation = { at-most = 0.1 } => found the relation `at-most`
order = ['full', 'last-1']; quantity = 'task-score'; among = 'few'; tasks = ['letters'] => expected one of them or neither
order = ['full', 'last-1']; quantity = { kind = 'score', metric = 'accuracy' }; among = 'few' => found tasks, expected none
sides = ['full', 'last-1']; quantity = 'task-score'; relation.near = { paper = 0.1, tolerance = 0.1 } => found a `tolerance` of a difference
sides = ['full']; quantity = { kind = 'score', metric = 'accuracy' }; relation.near = { paper = 0.1 } => found no tolerance
sides = ['full', 'last-1']; quantity = 'task-score'; relation.near = { } => found 0 values of the paper, expected 1
sides = ['full', 'last-1']; quantity = 'task-score'; relation.near = { paper = 0.0 } => the relation `equivalent` is for none
sides = ['full', 'last-1']; quantity = 'task-score'; relation = 'non-inferior'; margin = 0.0 => found margin = 0, expected more than 0
sides = ['full', 'last-1']; quantity = 'task-score'; relation = 'equivalent'; decided-by = 'permutation' => since equivalence is decided by intervals
sides = ['full', 'last-1']; quantity = 'task-score'; relation = 'greater'; scope = 'tasks-in-general'; unit = 'seed' => found a `scope` with another `unit`
sides = ['full', 'last-1']; quantity = 'task-score'; relation = 'greater'; unit = 'fold' => found a `unit` that this quantity does not have
sides = ['full', 'last-1']; quantity = { kind = 'score-at-time', at = [1, 2] }; relation.near = { paper = 0.1 } => found 1 values of the paper, expected 2
order = ['full', 'last-1']; quantity = { kind = 'score-at-time', at = [0] } => expected times above 0
order = ['full', 'last-1']; quantity = { kind = 'score-at-time', at = [1], score = 'first-epoch' } => unknown choice `first-epoch`
quantity = 'repeatability'; relation = { at-most = 0.01 } => found 0 sides, expected at least 1
sides = ['full']; quantity = 'repeatability'; relation = { at-most = 0 } => found at-most = 0, expected more than 0
sides = ['full']; quantity = 'trainable-share'; relation.near = { paper = [0.3, 0.2], tolerance = 0.01 } => the smaller one first
quantity = { kind = 'p-value', t = 1.0, df = 0 }; relation.near = { paper = 0.5 } => found df = 0
quantity = { kind = 'printed-sum', terms = [1, 2], shares = [0.5] }; relation.near = { paper = 3 } => found 1 shares
quantity = { kind = 'printed-share', parts = [1, 2], whole = 3 }; relation.near = { paper = 0.3 } => found 1 printed shares
quantity = { kind = 'printed-mean', terms = [] }; relation.near = { paper = 3 } => found no terms
";

#[test]
fn sides_relations_and_sizes_fit_the_quantity() {
    for line in REFUSED.trim().lines() {
        let (claim, expected) = line.split_once(" => ").unwrap();
        refused(&claim.split("; ").collect::<Vec<_>>(), expected);
    }
}

#[test]
fn defaults_hold_for_claims_that_say_nothing_else() {
    let paper = Paper::of_tasks();
    let defaults = "[defaults]\nby = 'copied'\nsource = 'section 1'\nquantity = 'task-score'\n";
    let claim =
        "[[claim]]\nid = 'x'\ntitle = ''\nsays = ''\nby = 'authors'\norder = ['full', 'last-1']\n";
    let judged = paper.judged(&format!("{defaults}{claim}"), |judged| {
        let words = judged.claim.by.words();
        (judged.claim.source.clone(), words, judged.paper.clone())
    });
    let (source, by, says) = judged.unwrap();
    assert_eq!((source.as_str(), by), ("section 1", "run by the authors"));
    assert_eq!(says, "All layers above Last layer");
}
