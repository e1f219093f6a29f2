//! What a person wants to know about a dataset at a glance.

use crate::{Card, Dataset};
use std::collections::HashSet;

/// The facts of `dataset` as pairs of a caption and a value, in the order to print them.
pub fn describe(card: &Card, dataset: &Dataset) -> Vec<(String, String)> {
    let rows = dataset.examples.len();
    let mut facts = vec![
        ("name".to_string(), card.name.clone()),
        ("title".to_string(), card.title.clone()),
        ("licence".to_string(), card.licence.clone()),
        ("rows".to_string(), rows.to_string()),
    ];
    for (label, count) in dataset.labels.iter().zip(dataset.counts()) {
        let share = 100.0 * count as f64 / rows.max(1) as f64;
        facts.push((format!("label {label}"), format!("{count} ({share:.1} %)")));
    }
    let repeats = dataset.repeats();
    let repeated = format!(
        "{} rows of {} texts, {} with different labels",
        repeats.rows, repeats.texts, repeats.contradicting
    );
    facts.push(("repeated texts".to_string(), repeated));
    let groups: HashSet<&str> = dataset
        .examples
        .iter()
        .filter_map(|example| example.group.as_deref())
        .collect();
    let without = dataset
        .examples
        .iter()
        .filter(|example| example.group.is_none())
        .count();
    facts.push((
        "groups".to_string(),
        format!("{}, and {without} rows without", groups.len()),
    ));
    let length = |text: &str| text.chars().count();
    let longest = dataset
        .examples
        .iter()
        .map(|example| example.input.texts().into_iter().map(length).sum::<usize>())
        .max();
    facts.push((
        "longest text".to_string(),
        format!("{} characters", longest.unwrap_or(0)),
    ));
    facts
}
