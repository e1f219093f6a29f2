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
    let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
    if let Some(tagging) = &dataset.tagging {
        let counts = dataset.span_counts();
        let spans: usize = counts.iter().sum();
        facts.push(("words".to_string(), dataset.n_words().to_string()));
        facts.push(("spans".to_string(), spans.to_string()));
        for (name, &count) in tagging.set.types().iter().zip(&counts) {
            let value = format!("{count} ({:.1} %)", share(count, spans));
            facts.push((format!("spans {name}"), value));
        }
        let (scheme, ill_formed) = (tagging.file.name(), tagging.ill_formed);
        let value = format!("{scheme}, {ill_formed} ill-formed");
        facts.push(("tags of the file".to_string(), value));
    } else {
        for (label, count) in dataset.labels.iter().zip(dataset.counts()) {
            let value = format!("{count} ({:.1} %)", share(count, rows));
            facts.push((format!("label {label}"), value));
        }
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
