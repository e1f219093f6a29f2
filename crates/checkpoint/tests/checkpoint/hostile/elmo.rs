//! The options of an ELMo.

use super::*;

#[test]
fn elmos_options_are_held_against_reason() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let whole = fs::read_to_string(fixture("elmo/tiny_options.json")).expect("options");
    let path = dir.path().join("options.json");
    for (from, to, expected) in [
        (
            "\"n_characters\": 262",
            "\"n_characters\": 500",
            "found 500, expected 261 or 262",
        ),
        (
            "\"relu\"",
            "\"gelu\"",
            "found `gelu`, expected `relu` or `tanh`",
        ),
        ("\"dim\": 6", "\"dim\": 0", "lstm.dim: found 0"),
        ("\"dim\": 6", "\"dim\": 1e9", "not ELMo's options"),
        (
            "\"dim\": 6",
            "\"dim\": 18446744073709551615",
            "lstm.dim: found 18446744073709551615",
        ),
        (
            "\"n_layers\": 2",
            "\"n_layers\": 1000000000",
            "lstm.n_layers: found 1000000000",
        ),
        (
            "\"n_highway\": 2",
            "\"n_highway\": -1",
            "not ELMo's options",
        ),
        ("\"proj_clip\": 3,", "", "missing field `proj_clip`"),
    ] {
        assert!(whole.contains(from), "{from}");
        fs::write(&path, whole.replace(from, to)).expect("a file");
        let found = totune_checkpoint::ElmoOptions::read(&path).expect_err("no such ELMo");
        let found = format!("{found:#}");
        assert!(found.contains(expected), "`{expected}` is not in: {found}");
    }
}
