//! Errors in the arms of an experiment, each reported once.

use anyhow::{Result, bail};

/// Errors in the arms of an experiment, each reported once.
pub(crate) struct ArmErrors {
    /// Number of arms that are checked.
    arms: usize,
    found: Vec<(String, Vec<String>)>,
}

impl ArmErrors {
    pub fn new(arms: usize) -> Self {
        Self {
            arms,
            found: Vec::new(),
        }
    }

    /// Adds the errors of an arm.
    pub fn add(&mut self, arm: &str, errors: Vec<String>) {
        for error in errors {
            let place = self.found.iter().position(|(other, _)| *other == error);
            let place = place.unwrap_or_else(|| {
                self.found.push((error, Vec::new()));
                self.found.len() - 1
            });
            let arms = &mut self.found[place].1;
            if !arms.iter().any(|other| other == arm) {
                arms.push(arm.to_string());
            }
        }
    }

    /// Returns an error if there are any.
    pub fn into_result(self) -> Result<()> {
        let all = self.arms;
        let shown = |(error, arms): &(String, Vec<String>)| {
            if arms.len() == all {
                error.clone()
            } else {
                format!("{error} (arm {})", arms.join(", "))
            }
        };
        let shown: Vec<String> = self.found.iter().map(shown).collect();
        match shown.as_slice() {
            [] => Ok(()),
            [error] => bail!("{error}"),
            errors => bail!("{} errors:\n  {}", errors.len(), errors.join("\n  ")),
        }
    }
}
