//! What changes inside an experiment beside its plurals: settings that only some datasets have, and variants of all.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;
use toml::{Table, Value};

/// `[[for]]` and `[[variant]]` of a grid.
///
/// Both replace whole top-level keys, as a profile does: first `[[for]]` in the order of the file, where it names the
/// dataset, then the variant. Variants multiply the runs.
#[derive(Debug)]
pub(crate) struct Changes {
    settings_for: Vec<For>,
    variants: Vec<Table>,
}

/// Settings of some datasets.
#[derive(Debug, Deserialize)]
struct For {
    datasets: Vec<String>,
    #[serde(flatten)]
    settings: Table,
}

/// What neither may change: what the file is, and what they hang on.
const FIXED: [&str; 6] = ["paper", "experiment", "kind", "datasets", "for", "variant"];

impl Changes {
    /// Takes `[[for]]` and `[[variant]]` out of a grid.
    pub fn take(grid: &mut Table) -> Result<Self> {
        let settings_for = take(grid, "for")?
            .into_iter()
            .map(|entry| {
                For::deserialize(Value::Table(entry))
                    .map_err(|error| anyhow::anyhow!("[[for]]: {}", error.message()))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut variants = take(grid, "variant")?;
        let tables = settings_for.iter().map(|entry| ("for", &entry.settings));
        for (key, table) in tables.chain(variants.iter().map(|table| ("variant", table))) {
            if let Some(fixed) = table.keys().find(|key| FIXED.contains(&key.as_str())) {
                bail!("[[{key}]]: `{fixed}` cannot change inside an experiment");
            }
            ensure!(!table.is_empty(), "[[{key}]]: found nothing to change");
        }
        if variants.is_empty() {
            variants.push(Table::new());
        }
        Ok(Self {
            settings_for,
            variants,
        })
    }

    /// The grids of one dataset, one per variant.
    pub fn grids<'a>(
        &'a self,
        grid: &'a Table,
        dataset: &'a str,
    ) -> impl Iterator<Item = Table> + 'a {
        let named = |entry: &&For| entry.datasets.iter().any(|name| name == dataset);
        let mut own = grid.clone();
        for entry in self.settings_for.iter().filter(named) {
            own.extend(entry.settings.clone());
        }
        self.variants.iter().map(move |variant| {
            let mut grid = own.clone();
            grid.extend(variant.clone());
            grid
        })
    }

    /// Every dataset that `[[for]]` names.
    pub fn datasets(&self) -> BTreeSet<&str> {
        let names = self.settings_for.iter().flat_map(|entry| &entry.datasets);
        names.map(String::as_str).collect()
    }
}

fn take(grid: &mut Table, key: &str) -> Result<Vec<Table>> {
    match grid.remove(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(entries)) => entries
            .into_iter()
            .map(|entry| match entry {
                Value::Table(table) => Ok(table),
                other => bail!("{key}: found {other}, expected tables [[{key}]]"),
            })
            .collect(),
        Some(other) => bail!("{key}: found {other}, expected tables [[{key}]]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Table {
        toml::from_str(text).expect("test TOML parses")
    }

    #[test]
    fn settings_of_a_dataset_come_before_a_variant_and_after_the_rest() {
        let mut grid = parse(
            "a = 1\nb = 1\nc = 1\n[[for]]\ndatasets = ['x']\nb = 2\nc = 2\n[[variant]]\nc = 3\n[[variant]]\nd = 3",
        );
        let changes = Changes::take(&mut grid).expect("changes");
        let grids = |dataset| changes.grids(&grid, dataset).collect::<Vec<_>>();
        assert_eq!(
            grids("x"),
            [
                parse("a = 1\nb = 2\nc = 3"),
                parse("a = 1\nb = 2\nc = 2\nd = 3")
            ]
        );
        assert_eq!(
            grids("y"),
            [
                parse("a = 1\nb = 1\nc = 3"),
                parse("a = 1\nb = 1\nc = 1\nd = 3")
            ]
        );
        assert_eq!(changes.datasets(), BTreeSet::from(["x"]));
    }

    #[test]
    fn without_changes_there_is_one_grid() {
        let mut grid = parse("a = 1");
        let changes = Changes::take(&mut grid).expect("changes");
        assert_eq!(
            changes.grids(&grid, "x").collect::<Vec<_>>(),
            [grid.clone()]
        );
    }

    #[test]
    fn what_the_file_is_cannot_change_inside_it() {
        for (text, expected) in [
            (
                "[[for]]\ndatasets = ['x']\npaper = 'p'",
                "[[for]]: `paper` cannot change inside an experiment",
            ),
            (
                "[[variant]]\ndatasets = ['x']",
                "[[variant]]: `datasets` cannot change inside an experiment",
            ),
            ("[[for]]\nepochs = 1", "[[for]]: missing field `datasets`"),
            ("[[variant]]", "[[variant]]: found nothing to change"),
            (
                "variant = 1",
                "variant: found 1, expected tables [[variant]]",
            ),
        ] {
            let error = Changes::take(&mut parse(text)).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
