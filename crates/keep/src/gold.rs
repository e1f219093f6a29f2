//! Labels, scores and tags of the rows of a file, as indices of a model's labels.

use anyhow::Result;
use totune_data::Target as Gold;
use totune_data::tags::{Scheme, TagSet};
use totune_toml::did_you_mean;

use crate::TaskFacts;
use crate::input::{Record, Source, quoted};

/// Whether a row has a label: its field has another value than the one that means "no label", and is not empty where
/// a row has one label or score.
pub(crate) fn has_label(task: &TaskFacts, source: &Source, record: &Record) -> Result<bool> {
    let fields = source.fields();
    match task {
        TaskFacts::Tagging { .. } => {
            let tags = fields.tags(record)?;
            let none = fields.unlabelled.as_ref();
            Ok(none.is_none_or(|none| tags.iter().any(|tag| tag != none)))
        }
        TaskFacts::MultiLabel { .. } => Ok(!fields.has_no_label(record)?),
        TaskFacts::Classification { labels, values, .. }
        | TaskFacts::Ordinal { labels, values } => {
            let mut known = labels.iter().chain(values);
            let is_name = known.any(String::is_empty);
            let is_empty = fields.label(record)?.trim().is_empty() && !is_name;
            Ok(!is_empty && !fields.has_no_label(record)?)
        }
        TaskFacts::Regression {} => {
            let is_empty = fields.label(record)?.trim().is_empty();
            Ok(!is_empty && !fields.has_no_label(record)?)
        }
    }
}

/// The gold target of a row.
///
/// # Errors
/// When its label is none of the model's; the message names the line.
pub(crate) fn target(task: &TaskFacts, source: &Source, record: &Record) -> Result<Gold> {
    let place = |name: &str, labels: &[String], word: Option<usize>| {
        let Some(place) = labels.iter().position(|label| label == name) else {
            let hint = did_you_mean(name, labels.iter().map(String::as_str));
            let known = quoted(labels);
            let problem = format!("`{name}` is no label of the model{hint}expected one of {known}");
            return Err(match word {
                Some(word) => source.fields().at_word(record, word, &problem),
                None => source.fields().at(record, &problem),
            });
        };
        Ok(place)
    };
    // What the training file had in place of the labels comes first: `0` may be the name of another label.
    let class = |name: &str, labels: &[String], values: &[String]| {
        let known = |name: &str| {
            let value = values.iter().position(|value| value == name);
            value.or_else(|| labels.iter().position(|label| label == name))
        };
        // Whole numbers have a decimal place where a program read them as numbers, some of which were missing.
        let whole = || {
            let whole = name.strip_suffix(".0")?;
            whole.parse::<i64>().ok().and_then(|_| known(whole))
        };
        known(name)
            .or_else(whole)
            .map_or_else(|| place(name, labels, None), Ok)
    };
    match task {
        TaskFacts::Classification { labels, values, .. }
        | TaskFacts::Ordinal { labels, values } => {
            let name = source.fields().label(record)?;
            Ok(Gold::Class(class(&name, labels, values)?))
        }
        TaskFacts::MultiLabel { labels, values } => {
            let found = source.fields().labels(record, labels)?;
            let found = found.iter().map(|name| class(name, labels, values));
            let mut found: Vec<usize> = found.collect::<Result<_>>()?;
            found.sort_unstable();
            found.dedup();
            Ok(Gold::Labels(found))
        }
        TaskFacts::Regression {} => {
            let text = source.fields().label(record)?;
            let value = text
                .trim()
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite());
            match value {
                Some(value) => Ok(Gold::Value(value)),
                None => Err(source
                    .fields()
                    .at(record, &format!("`{text}` is no score, expected a number"))),
            }
        }
        TaskFacts::Tagging { labels, values } => {
            let tags = named(source.fields().tags(record)?, values);
            let tags = in_bio(&tags, labels).unwrap_or(tags);
            let tags = tags.iter().enumerate();
            let tags = tags.map(|(word, tag)| place(tag, labels, Some(word)));
            Ok(Gold::Tags(tags.collect::<Result<_>>()?))
        }
    }
}

/// Tags in place of the integers that stand for them in the training file; others stay as they are.
fn named(tags: Vec<String>, values: &[String]) -> Vec<String> {
    let value = |tag: &String| values.get(tag.parse::<usize>().ok()?).cloned();
    let tags = tags.into_iter();
    tags.map(|tag| value(&tag).unwrap_or(tag)).collect()
}

/// Tags of any scheme, such as BIOES, in that of the model, whose tags are `labels`; nothing where no scheme has them. Those of
/// IOB1 are tags of the model, too, but for other places.
fn in_bio(tags: &[String], labels: &[String]) -> Option<Vec<String>> {
    let types: Vec<String> = labels
        .iter()
        .filter_map(|label| label.strip_prefix("B-").map(String::from))
        .collect();
    let bio = TagSet::new(Scheme::Bio, &types);
    let read = |scheme: Scheme| {
        let set = TagSet::new(scheme, &types);
        let tags: Result<Vec<usize>, _> = tags.iter().map(|tag| set.parse(tag)).collect();
        Some(set.convert(&tags.ok()?, &bio))
    };
    let converted = Scheme::ALL.into_iter().find_map(read)?;
    let names = converted.into_iter().map(|tag| bio.labels()[tag].clone());
    Some(names.collect())
}
