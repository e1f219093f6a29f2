//! Profiles: whole top-level keys of an experiment file, replaced for one purpose.

use anyhow::{Result, bail};
use toml::{Table, Value};

use crate::suggest;

/// Takes `[profiles.*]` out of an experiment's table.
pub(crate) fn take(table: &mut Table) -> Result<Vec<(String, Table)>> {
    let Some(Value::Table(profiles)) = table.remove("profiles") else {
        bail!("expected a table [profiles.<name>] for each profile, such as [profiles.fixture]");
    };
    let mut taken = Vec::new();
    for (name, overlay) in profiles {
        let Value::Table(overlay) = overlay else {
            bail!("profiles.{name}: expected a table");
        };
        taken.push((name, overlay));
    }
    Ok(taken)
}

/// The base with every top-level key that the profile names replaced as a whole.
///
/// Nothing is merged below the top level: a profile that changes `training` inside a table states the whole table,
/// so a reader never has to combine two places.
pub(crate) fn overlay(base: &Table, name: &str, overlay: &Table) -> Result<Table> {
    let mut merged = base.clone();
    for (key, value) in overlay {
        if ["paper", "experiment", "kind"].contains(&key.as_str()) {
            bail!(
                "profiles.{name}: `{key}` says what the file is and cannot change with the profile"
            );
        }
        merged.insert(key.clone(), value.clone());
    }
    Ok(merged)
}

/// The overlay called `name`, or an error that lists what exists.
pub(crate) fn find<'a>(profiles: &'a [(String, Table)], name: &str) -> Result<&'a Table> {
    match profiles.iter().find(|(existing, _)| existing == name) {
        Some((_, overlay)) => Ok(overlay),
        None => {
            let names: Vec<&str> = profiles.iter().map(|(name, _)| name.as_str()).collect();
            bail!(suggest::unknown("profile", name, &names))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Table {
        toml::from_str(text).expect("test TOML parses")
    }

    #[test]
    fn a_profile_replaces_whole_keys_and_leaves_the_rest() {
        let mut base = parse("a = 1\nlist = [1, 2]\n[profiles.small]\nlist = [3]\nnew = true");
        let profiles = take(&mut base).expect("profiles");
        let merged =
            overlay(&base, "small", find(&profiles, "small").expect("small")).expect("overlay");
        assert_eq!(merged, parse("a = 1\nlist = [3]\nnew = true"));
    }

    #[test]
    fn a_profile_cannot_change_what_the_file_is() {
        let error =
            overlay(&parse("paper = 'p'"), "small", &parse("paper = 'q'")).expect_err("refused");
        assert!(
            error.to_string().contains("`paper` says what the file is"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_profile_lists_what_exists() {
        let profiles = vec![
            ("fixture".to_string(), Table::new()),
            ("small".to_string(), Table::new()),
        ];
        let error = find(&profiles, "smal").expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "unknown profile `smal`; did you mean `small`? there are: fixture, small"
        );
    }
}
