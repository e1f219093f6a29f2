//! Time estimates of a plan: without files, within a bound, in words and as JSON.

use serde_json::Value;

use crate::support::{Checkout, TUNE};

#[test]
fn an_estimate_needs_no_files_and_keeps_to_its_bound() {
    // A dataset that is on nobody's machine.
    let far = TUNE.replace("\"fixture-tweets\"", "\"disaster-tweets\"");
    let checkout = Checkout::with(&[("tune", &far)]);
    let estimate = ["sweep", "plan", "trial", "fixture", "--estimate"];
    let json = |seconds: &str| -> Value {
        let said = checkout.run(&[&estimate[..], &["--seconds", seconds, "--json"]].concat());
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(
            said.err.contains("timing 2 of 2: fixture-bert · last-1"),
            "{}",
            said.err
        );
        serde_json::from_str(&said.out).expect("JSON alone on stdout")
    };
    let sizes = |found: &Value| -> Vec<u64> {
        let kinds = found["kinds"].as_array().expect("kinds").iter();
        kinds
            .map(|kind| kind["timed"]["examples"].as_u64().expect("a number"))
            .collect()
    };
    let short = json("0");
    assert_eq!(sizes(&short), [1, 1], "one example at least");
    let long = json("600");
    assert_eq!(sizes(&long), [16, 16], "a batch at most");
    for found in [short, long] {
        let hours = |value: &Value| value["hours"].as_f64().expect("hours");
        let kinds = found["kinds"].as_array().expect("kinds");
        let sum: f64 = kinds.iter().map(hours).sum();
        assert!(sum > 0.0 && (hours(&found) - sum).abs() < 1e-9);
        assert_eq!(found["absent"], serde_json::json!({ "disaster-tweets": 4 }));
    }
    let said = checkout.run(&[&estimate[..], &["--seconds", "0", "--quiet"]].concat());
    assert_eq!(said.err, "");
    for expected in [
        "1 x 1 of 16",
        "all 2 kinds, at most",
        "4  need files of `disaster-tweets`, which are missing",
    ] {
        assert!(said.out.contains(expected), "{}", said.out);
    }
}

#[test]
fn a_bound_without_an_estimate_is_refused() {
    let checkout = Checkout::with(&[("tune", TUNE)]);
    let said = checkout.run(&["sweep", "plan", "trial", "fixture", "--seconds", "5"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--estimate"), "{}", said.err);
}
