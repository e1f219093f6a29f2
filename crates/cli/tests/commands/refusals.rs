//! Refusals before any work: wrong usage, and places that cannot take a result or hold something else.

use std::fs;
use std::process::Command;

use crate::support::Checkout;

/// clap takes the value of a variable for a given option, which must not show in the help or in the usage.
#[test]
fn variables_change_neither_the_help_nor_the_usage() {
    let said = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_totune"));
        let output = command.args(arguments).env("TOTUNE_DATA", "/data").output();
        String::from_utf8(output.expect("the program runs").stderr).expect("UTF-8")
    };
    let help = said(&[]);
    assert!(help.contains("totune compare reviews.csv"), "{help}");
    let usage = said(&["compare"]);
    assert!(usage.contains("Usage: totune compare <WHAT>"), "{usage}");
}

#[test]
fn a_file_of_data_is_never_replaced_and_a_card_of_another_one_not_used() {
    let checkout = Checkout::new();
    let rows = |labels: [&str; 2]| {
        let rows = (0..60).map(|i| format!("text number {i},{}\n", labels[i % 2]));
        format!("text,label\n{}", rows.collect::<String>())
    };
    let (csv, tsv) = (
        rows(["good", "bad"]),
        rows(["yes", "no"]).replace(',', "\t"),
    );
    checkout.write("reviews.csv", &csv);
    checkout.write("reviews.tsv", &tsv);
    let file = |name: &str| checkout.path(name).to_str().expect("UTF-8").to_string();
    let (csv_file, tsv_file) = (file("reviews.csv"), file("reviews.tsv"));
    let over = ["data", "new", &csv_file, "--out", &csv_file, "--replace"];
    let said = checkout.run(&over);
    assert!(
        said.err.contains("expected a name that ends in .toml"),
        "{}",
        said.err
    );
    assert_eq!(fs::read_to_string(&csv_file).expect("the file"), csv);
    checkout.succeed(&["data", "new", &csv_file]);
    for (arguments, expected) in [
        (
            vec!["compare", &tsv_file],
            "reviews.toml: is the card of another file than ",
        ),
        (
            vec!["compare", &csv_file, "--margin", "5"],
            "--margin: found 5, expected 0 or more and less than 1",
        ),
        (
            vec!["compare", &csv_file, "--out", &tsv_file],
            "reviews.tsv: is a file, expected a folder",
        ),
        (
            vec![
                "train",
                "reviews.toml",
                "--save",
                &format!("{tsv_file}/model"),
            ],
            "reviews.tsv: is a file, expected a folder",
        ),
    ] {
        let said = checkout.run(&arguments);
        assert!(said.err.contains(expected), "{arguments:?}: {}", said.err);
        assert_eq!(said.code, Some(2), "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(&tsv_file).expect("the file"), tsv);
}
