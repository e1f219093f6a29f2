//! Recognition of the tags of spans.

use std::collections::BTreeSet;

/// The type of span in a tag of any scheme: none of `O`, and `Err` where it is no such tag.
pub(super) fn span_type(tag: &str) -> Result<Option<&str>, ()> {
    match tag.split_once('-') {
        Some((place, name)) if place.len() == 1 && "BIESUL".contains(place) && !name.is_empty() => {
            Ok(Some(name))
        }
        None if tag == "O" => Ok(None),
        _ => Err(()),
    }
}

/// The types of span in these tags; nothing where one is no tag, or all are `O`.
pub(super) fn types<'t>(tags: impl Iterator<Item = &'t str>) -> Option<Vec<String>> {
    let mut types = BTreeSet::new();
    for tag in tags {
        types.extend(span_type(tag).ok()?);
    }
    (!types.is_empty()).then(|| types.into_iter().map(String::from).collect())
}
