//! Row filters: the rows of a file that belong to a split.

use crate::Card;
use crate::format::{Delimited, Format, Row, Table};
use crate::hash::sha256_hex;
use crate::layout::{LayoutFile, RowList};
use anyhow::{Context, Result, ensure};
use std::collections::HashSet;
use std::path::Path;

/// The rows that a file's `only` and `except` name, by the values of their columns.
#[derive(Default)]
pub(crate) struct Lists {
    only: Option<HashSet<Vec<String>>>,
    except: Option<HashSet<Vec<String>>>,
}

/// A filter for the rows of a table that belong to the split.
pub(crate) struct Filter<'a> {
    values: Vec<(usize, &'a [String])>,
    only: Option<(Vec<usize>, &'a HashSet<Vec<String>>)>,
    except: Option<(Vec<usize>, &'a HashSet<Vec<String>>)>,
}

impl Lists {
    /// Reads the lists that `file` names below `root`.
    pub(crate) fn read(card: &Card, root: &Path, file: &LayoutFile) -> Result<Self> {
        let read = |list: &Option<RowList>| list.as_ref().map(|list| list.read(card, root));
        Ok(Self {
            only: read(&file.only).transpose()?,
            except: read(&file.except).transpose()?,
        })
    }
}

impl RowList {
    fn read(&self, card: &Card, root: &Path) -> Result<HashSet<Vec<String>>> {
        let path = card.root(root).join(&self.path);
        let bytes =
            std::fs::read(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let found = sha256_hex(&bytes);
        if let Some(expected) = &self.sha256 {
            let (path, card) = (path.display(), card.file.display());
            ensure!(
                *expected == found,
                "{path}: sha256 {found}; expected {expected} ({card})"
            );
        }
        let format = Format::Tsv(Delimited {
            header: Some(self.columns.clone()),
            ..Delimited::default()
        });
        let table = format.table(&path, &bytes, None)?;
        let key = |row: Row| row.fields.iter().map(|field| field.to_string()).collect();
        Ok(table.rows().map(key).collect())
    }
}

impl<'a> Filter<'a> {
    pub(crate) fn new(file: Option<&'a LayoutFile>, lists: &'a Lists, table: &Table) -> Self {
        let index = |name: &String| table.index(name);
        let conditions = file.into_iter().flat_map(|file| &file.r#where);
        let listed = |list: Option<&RowList>, rows: &'a Option<HashSet<Vec<String>>>| {
            let columns = list?.columns.iter().map(index).collect();
            Some((columns, rows.as_ref()?))
        };
        Self {
            values: conditions
                .map(|(column, values)| (index(column), values.values()))
                .collect(),
            only: listed(file.and_then(|file| file.only.as_ref()), &lists.only),
            except: listed(file.and_then(|file| file.except.as_ref()), &lists.except),
        }
    }

    pub(crate) fn keeps(&self, row: &Row) -> bool {
        let listed = |(columns, rows): &(Vec<usize>, &HashSet<Vec<String>>)| {
            let key: Vec<String> = columns
                .iter()
                .map(|&column| row.fields[column].to_string())
                .collect();
            rows.contains(&key)
        };
        self.values
            .iter()
            .all(|(column, values)| values.iter().any(|value| *value == row.fields[*column]))
            && self.only.as_ref().is_none_or(listed)
            && !self.except.as_ref().is_some_and(listed)
    }
}

/// The columns by which rows of `file` are filtered.
pub(crate) fn columns(file: &LayoutFile) -> impl Iterator<Item = &String> {
    let lists = file.only.iter().chain(&file.except);
    let listed = lists.flat_map(|list| &list.columns);
    file.r#where.keys().chain(listed)
}
