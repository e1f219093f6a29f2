//! What changes inside an experiment beside its plurals: settings that only some datasets have, and variants of all.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;
use toml::{Table, Value};

/// `[[for]]` and `[[variant]]` of a grid.
///
/// Both replace whole top-level keys, as a profile does: first `[[for]]` in the order of the file, where it names the
/// dataset, then the variant. Variants multiply the runs; one that names datasets does so for those alone.
#[derive(Debug)]
pub(crate) struct Changes {
    settings_for: Vec<For>,
    variants: Vec<Variant>,
}

/// One more comparison.
#[derive(Debug, Default, Deserialize)]
struct Variant {
    /// Which datasets it is for; all where it is left out.
    datasets: Option<Vec<String>>,
    #[serde(flatten)]
    settings: Table,
}

/// Settings of some datasets.
#[derive(Debug, Deserialize)]
struct For {
    datasets: Vec<String>,
    #[serde(flatten)]
    settings: Table,
}

/// What neither may change: what the file is, and what they hang on.
const FIXED: [&str; 5] = ["paper", "experiment", "kind", "for", "variant"];

impl Changes {
    /// Takes `[[for]]` and `[[variant]]` out of a grid.
    pub fn take(grid: &mut Table) -> Result<Self> {
        let settings_for: Vec<For> = entries(grid, "for")?;
        let mut variants: Vec<Variant> = entries(grid, "variant")?;
        let tables = settings_for.iter().map(|entry| ("for", &entry.settings));
        let of_variants = variants.iter().map(|entry| ("variant", &entry.settings));
        for (key, table) in tables.chain(of_variants) {
            if let Some(fixed) = table.keys().find(|key| FIXED.contains(&key.as_str())) {
                bail!("[[{key}]]: `{fixed}` cannot change inside an experiment");
            }
            ensure!(!table.is_empty(), "[[{key}]]: found nothing to change");
        }
        if variants.is_empty() {
            variants.push(Variant::default());
        }
        Ok(Self {
            settings_for,
            variants,
        })
    }

    /// The grids of one dataset, one per variant that is for it.
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
        let meant = move |variant: &&Variant| {
            let datasets = variant.datasets.as_ref();
            datasets.is_none_or(|names| names.iter().any(|name| name == dataset))
        };
        self.variants.iter().filter(meant).map(move |variant| {
            let mut grid = own.clone();
            grid.extend(variant.settings.clone());
            grid
        })
    }

    /// Every dataset that `[[for]]` or a variant names.
    pub fn datasets(&self) -> BTreeSet<&str> {
        let named = self.settings_for.iter().flat_map(|entry| &entry.datasets);
        let meant = self
            .variants
            .iter()
            .flat_map(|entry| &entry.datasets)
            .flatten();
        named.chain(meant).map(String::as_str).collect()
    }
}

/// The tables of a list of them.
fn entries<T: serde::de::DeserializeOwned>(grid: &mut Table, key: &str) -> Result<Vec<T>> {
    let read = |entry| {
        T::deserialize(Value::Table(entry))
            .map_err(|error| anyhow::anyhow!("[[{key}]]: {}", error.message()))
    };
    take(grid, key)?.into_iter().map(read).collect()
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
    fn a_variant_that_names_datasets_is_for_those_alone() {
        let text =
            "[[variant]]\ndatasets = ['x']\na = 1\n[[variant]]\ndatasets = ['x', 'y']\na = 2";
        let mut grid = parse(text);
        let changes = Changes::take(&mut grid).expect("changes");
        let grids = |dataset| changes.grids(&grid, dataset).collect::<Vec<_>>();
        assert_eq!(grids("x"), [parse("a = 1"), parse("a = 2")]);
        assert_eq!(grids("y"), [parse("a = 2")]);
        assert_eq!(grids("z"), [] as [Table; 0]);
        assert_eq!(changes.datasets(), BTreeSet::from(["x", "y"]));
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
                "[[variant]]\nkind = 'k'",
                "[[variant]]: `kind` cannot change inside an experiment",
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
