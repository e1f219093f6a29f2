//! Settings in layers: those of the file, of its profiles, of some datasets.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use super::arms::{self, Override};
use super::profile;
use crate::settings::merge::lay;

/// Keys whose values multiply the runs; a single value counts as a list of one.
const PLURALS: [&str; 7] = [
    "datasets", "encoders", "split", "seeds", "states", "input", "features",
];
/// Key of a profile that names another one, whose settings apply where it has none.
const EXTENDS: &str = "extends";

/// Settings that are laid over others, with the overrides for some datasets.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    pub(super) table: Table,
    pub(super) overrides: Vec<Override>,
}

impl Layer {
    pub(super) fn take(mut table: Table, shared: bool) -> Result<Self> {
        let mut overrides = arms::take_overrides(&mut table)?;
        for entry in &mut overrides {
            entry.shared = shared;
        }
        Ok(Self { table, overrides })
    }

    pub(super) fn lay(&mut self, over: Self) {
        lay(&mut self.table, over.table);
        self.overrides.extend(over.overrides);
    }
}

/// Lays each profile with `extends = "<profile>"` over the one that it names.
pub(super) fn extended(profiles: BTreeMap<String, Layer>) -> Result<Vec<(String, Layer)>> {
    let named: Vec<(String, Layer)> = profiles.into_iter().collect();
    let complete = |(name, layer): &(String, Layer)| {
        let Some(other) = layer.table.get(EXTENDS) else {
            return Ok((name.clone(), layer.clone()));
        };
        let at = || format!("profiles.{name}: {EXTENDS}");
        let Value::String(other) = other else {
            bail!("{}: found {other}, expected the name of a profile", at());
        };
        let mut under = profile::find(&named, other).with_context(at)?.clone();
        ensure!(
            !under.table.contains_key(EXTENDS),
            "{}: found `{other}`, which extends another profile itself; expected one that does not",
            at()
        );
        let mut own = layer.clone();
        own.table.remove(EXTENDS);
        under.lay(own);
        Ok((name.clone(), under))
    };
    named.iter().map(complete).collect()
}

/// The table under a key of the file, with that of the profile over it.
pub(super) fn taken(key: &str, base: &mut Table, profile: &mut Table) -> Result<Table> {
    let mut all = Table::new();
    for table in [base, profile] {
        match table.remove(key) {
            None => {}
            Some(Value::Table(found)) => lay(&mut all, found),
            Some(other) => bail!("{key}: found {other}, expected tables [{key}.<name>]"),
        }
    }
    Ok(all)
}

/// Turns each plural key with a single value into a list.
pub(super) fn plural(grid: &mut Table) {
    for key in PLURALS {
        if let Some(value) = grid.get_mut(key)
            && !value.is_array()
        {
            *value = Value::Array(vec![value.clone()]);
        }
    }
}
