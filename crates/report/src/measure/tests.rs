//! Every kind of check over tasks and time, on made-up runs.

use crate::claims::Claims;
use crate::fixture;
use crate::judge::judge;
use crate::measure::Court;
use crate::runs::Runs;
use crate::verdict::Verdict;

use Verdict::{Contradicted, DirectionOnly, NotTestable, Reproduced, WithinNoise};

#[test]
fn made_up_runs_decide_scores_over_tasks() {
    // The made-up scores are chosen so that each verdict occurs; see `fixture::task_tables`.
    let difference = "kind = 'task-difference'\na = 'last-2'\nb = 'full'";
    check(
        difference,
        "among = 'few'\npaper = -0.02\ntolerance = 0.005",
        Reproduced,
    );
    check(
        difference,
        "among = 'few'\npaper = -0.05\ntolerance = 0.005",
        DirectionOnly,
    );
    check(
        difference,
        "among = 'few'\npaper = 0.02\ntolerance = 0.005",
        Contradicted,
    );
    check(
        difference,
        "tasks = ['sounds']\npaper = 0.001\ntolerance = 0.01",
        WithinNoise,
    );
    check(difference, "among = 'few'\nscore = 'best'", Contradicted);
    let order = "kind = 'task-difference'\na = 'full'\nb = 'last-1'";
    check(order, "among = 'few'", Reproduced);
    check(order, "tasks = ['letters', 'digits']", Reproduced);
}

#[test]
fn made_up_runs_decide_relative_losses() {
    let relative = "kind = 'task-relative'\na = 'full-hot'\nb = 'full'\ntolerance = 0.02";
    check(relative, "paper = 0.6", Reproduced);
    check(relative, "paper = 0.4", DirectionOnly);
    check(relative, "paper = -0.6", Contradicted);
}

#[test]
fn made_up_runs_decide_times() {
    let saving = "kind = 'saving'\na = 'last-2'\nb = 'full'\ntolerance = 0.05";
    // 3 epochs of 6 against 4 of 10: 55 % saved; an epoch saves 40 %.
    check(saving, "among = 'few'\npaper = 0.55", Reproduced);
    check(saving, "among = 'few'\npaper = 0.3", DirectionOnly);
    check(saving, "among = 'few'\npaper = -0.3", Contradicted);
    check(saving, "per = 'epoch'\npaper = 0.4", Reproduced);
    check(saving, "among = 'many'\npaper = 0.2", Contradicted);
    let slower = "kind = 'slower'\na = 'last-2'\nb = 'full'";
    check(slower, "among = 'many'", Reproduced);
    check(slower, "among = 'few'", Contradicted);
    let as_long = "kind = 'as-long'\nb = 'full'";
    check(as_long, "among = 'few'\na = 'last-2'", Contradicted);
}

#[test]
fn made_up_runs_decide_what_is_reached_in_a_time() {
    // Within an epoch of full tuning the last layer has finished two, and nears its score by halves.
    let early = "kind = 'same-time'\na = 'last-1'\nb = 'full'";
    check(early, "tasks = ['words']\nat = [1.0]", Reproduced);
    check(early, "tasks = ['letters']\nat = [4.0]", Contradicted);
    check(early, "tasks = ['letters']\nat = [0.5]", NotTestable);
    let sized = "kind = 'same-time'\na = 'full'\nb = 'last-1'\nepochs-of = 'a'\ntasks = ['letters']\nat = [4.0, 5.0]";
    check(sized, "paper = [0.04, 0.04]\ntolerance = 0.01", Reproduced);
    check(
        sized,
        "paper = [0.04, 0.09]\ntolerance = 0.01",
        DirectionOnly,
    );
    let budget = "kind = 'budget'\na = 'last-1'\nb = 'full'\ntasks = ['words']";
    // Within 1.2 epochs of full tuning: one epoch of it (-0.05 + 0.00625), three of the last layer (-0.0125 + 0.00625).
    check(
        budget,
        "epochs-of-b = 1.2\npaper = 0.0375\ntolerance = 0.005",
        Reproduced,
    );
    check(budget, "epochs-of-b = 1.2", Reproduced);
}

#[test]
fn made_up_runs_decide_repeats_and_shares() {
    let repeats = "kind = 'repeats'\ngroups = ['full', 'last-k']";
    check(repeats, "limit = 0.02", Reproduced);
    check(repeats, "limit = 0.0001", Contradicted);
    let share = "kind = 'share'\ngroups = ['last-1', 'last-2']\ntolerance = 0.001";
    // 421 and 821 of 4,321.
    check(share, "printed = [0.0974, 0.19]", Reproduced);
    check(share, "printed = [0.0974, 0.25]", Contradicted);
    check(
        "kind = 'share'\ngroups = ['last-3']\ntolerance = 0.001",
        "printed = [0.1, 0.2]",
        NotTestable,
    );
}

#[test]
fn a_diverged_run_takes_its_seed_along_and_is_named() {
    let text =
        claim("kind = 'task-relative'\na = 'full-hot'\nb = 'full'\ntolerance = 0.02\npaper = 0.6");
    let reasons = judged(&text).1;
    assert!(
        reasons.contains("All layers, high rate on Sounds: 1 diverged left out"),
        "{reasons}"
    );
    assert!(reasons.contains("11 pairs of seeds"), "{reasons}");
    assert!(
        reasons.contains("1 seed without a counterpart left out"),
        "{reasons}"
    );
}

#[test]
fn what_was_not_run_is_waited_for() {
    let text = claim("kind = 'task-difference'\na = 'last-3'\nb = 'full'\ntasks = ['letters']");
    let (verdict, reasons) = judged(&text);
    assert_eq!(verdict, NotTestable);
    assert!(
        reasons.contains("Last three layers on Letters: no run has work.training.adaptation.k = 3"),
        "{reasons}"
    );
}

#[test]
fn two_settings_where_one_is_meant_are_refused() {
    let text =
        claim("kind = 'task-difference'\na = 'last-2'\nb = 'any-dtype'\ntasks = ['letters']");
    let claims: Claims = toml::from_str(&text).unwrap();
    let plan = fixture::task_plan();
    let runs = Runs::new(&fixture::task_tables()).unwrap();
    let court = Court {
        plan: &plan,
        runs: &runs,
        profile: "fixture",
    };
    let error = judge(&claims, &court, "claims.toml")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "claims.toml: claim `x`: group `any-dtype` on Letters: at seed 1 found two runs that differ in \
         `work.training.dtype`, expected one; name it in the group's `where`"
    );
}

#[track_caller]
fn check(kind: &str, rest: &str, expected: Verdict) {
    let (verdict, reasons) = judged(&claim(&format!("{kind}\n{rest}")));
    assert_eq!(verdict, expected, "{reasons}");
}

fn claim(check: &str) -> String {
    format!(
        "[[claim]]\nid = 'x'\ntitle = ''\nsays = ''\nsource = ''\nby = 'authors'\n[claim.check]\n{check}\n"
    )
}

fn judged(text: &str) -> (Verdict, String) {
    let claims: Claims = toml::from_str(text).unwrap();
    let plan = fixture::task_plan();
    claims.check(&plan, "claims.toml").unwrap();
    let runs = Runs::new(&fixture::task_tables()).unwrap();
    let court = Court {
        plan: &plan,
        runs: &runs,
        profile: "fixture",
    };
    let judged = &judge(&claims, &court, "claims.toml").unwrap()[0];
    (
        judged.verdict,
        format!("{}; ours: {}", judged.reasons.join("; "), judged.ours),
    )
}
