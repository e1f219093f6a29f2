//! Profiles: variations of an experiment for one purpose.

use anyhow::{Result, bail};
use toml::{Table, Value};

use crate::settings::suggest;

/// Takes `[profiles.*]` out of a table.
pub(crate) fn take(table: &mut Table) -> Result<Vec<(String, Table)>> {
    let profiles = match table.remove("profiles") {
        None => return Ok(Vec::new()),
        Some(Value::Table(profiles)) => profiles,
        Some(other) => bail!("profiles: found {other}, expected tables [profiles.<name>]"),
    };
    let mut taken = Vec::new();
    for (name, profile) in profiles {
        let Value::Table(profile) = profile else {
            bail!("profiles.{name}: expected a table");
        };
        for key in ["paper", "experiment", "kind"] {
            if profile.contains_key(key) {
                bail!(
                    "profiles.{name}: `{key}` says what the file is and cannot change with the profile"
                );
            }
        }
        taken.push((name, profile));
    }
    Ok(taken)
}

/// The profile called `name`, or an error that lists what exists.
pub(crate) fn find<'a, T>(profiles: &'a [(String, T)], name: &str) -> Result<&'a T> {
    match profiles.iter().find(|(existing, _)| existing == name) {
        Some((_, profile)) => Ok(profile),
        None => {
            let names: Vec<&str> = profiles.iter().map(|(name, _)| name.as_str()).collect();
            bail!(suggest::unknown("profile", name, &names))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_cannot_change_what_the_file_is() {
        let mut table = toml::from_str("[profiles.small]\npaper = 'q'").expect("TOML");
        let error = take(&mut table).expect_err("refused").to_string();
        let expected = "profiles.small: `paper` says what the file is";
        assert!(error.starts_with(expected), "{error}");
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
