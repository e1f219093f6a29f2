//! The name somebody probably meant.

/// The candidate nearest to `name`, if it is near enough for a likely typo: at most two fifths of the letters differ
/// (two for short names), or one name is a part of the other.
pub fn near<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let slip = (wanted.chars().count() * 2 / 5).max(2);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = candidate.to_lowercase();
            let distance = strsim::damerau_levenshtein(&wanted, &other);
            let close = distance <= slip && distance < other.chars().count();
            let part = wanted.len() >= 4
                && other.len() >= 4
                && (other.contains(&wanted) || wanted.contains(&other));
            (close || part).then_some((distance, candidate))
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// `` `a`, `b` `` for use in an error.
pub fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// `` ; did you mean `x`? `` or a bare semicolon, to join an unknown name and the list of known ones.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    near(name, candidates).map_or_else(
        || "; ".to_string(),
        |near| format!("; did you mean `{near}`? "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_unless_all_are_far() {
        let names = ["labels", "columns", "fixture-tweets", "disaster-tweets"];
        for (typed, expected) in [
            ("lables", Some("labels")),
            ("label", Some("labels")),
            ("Columns", Some("columns")),
            ("disaster-tweet", Some("disaster-tweets")),
            ("disaster_tweets", Some("disaster-tweets")),
            ("disaster", Some("disaster-tweets")),
            ("licence", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(near(typed, names), expected, "{typed}");
        }
    }
}
