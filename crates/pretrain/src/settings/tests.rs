//! Tests of the module above.

use super::*;

#[test]
fn the_main_stage_is_the_one_with_most_wordpieces() {
    let stage = |length, tokens| Stage {
        length,
        batch_size: 1,
        tokens,
    };
    let stages = [stage(16, 3), stage(128, 70), stage(64, 70), stage(256, 10)];
    assert_eq!(Stage::main(&stages).length, 128);
}

#[test]
fn a_changed_key_is_named_by_its_path_and_free_ones_may_change() {
    let before =
        serde_json::json!({ "seed": 1, "log-every": 10, "start": { "bert": { "hidden": 8 } } });
    let mut now = before.clone();
    now["log-every"] = 20.into();
    check_unchanged(&before, &now).expect("only what is written down changed");
    now["start"]["bert"]["hidden"] = 16.into();
    let error = check_unchanged(&before, &now).expect_err("another model");
    let message = error.to_string();
    assert!(
        message.contains("`start.bert.hidden` was 8, found 16"),
        "{message}"
    );
    now = before.clone();
    now["dropout"] = 0.1.into();
    let message = check_unchanged(&before, &now)
        .expect_err("a new key")
        .to_string();
    assert!(
        message.contains("`dropout` was not set, found 0.1"),
        "{message}"
    );
}
