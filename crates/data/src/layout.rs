//! One of the layouts a dataset circulates in: a format, the roles of its columns, and its files.

use crate::columns::{Columns, Joined};
use crate::contents::{contents, decoded, encoding};
use crate::format::Format;
use crate::tags::Scheme;
use crate::task::Task;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path, PathBuf};

/// One layout of a dataset.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The layout's usual name: `glue`, `hub`, `original`.
    #[serde(default)]
    pub name: String,
    /// The format of its files.
    pub format: Format,
    /// The role of each column.
    pub columns: Columns,
    /// The value of each label in this layout, in the order of the card's `labels`; the labels' names when not given.
    /// For a tagging dataset, the tag of each integer, from 0; empty where the file has the tags themselves.
    #[serde(default)]
    pub values: Vec<String>,
    /// The value that means "no label", such as the Hub's `-1`.
    #[serde(default)]
    pub unlabelled: Option<String>,
    /// Handling of rows whose text, or second text, is empty.
    #[serde(default)]
    pub empty: Empty,
    /// The scheme that the tags of its files are in; when not given, the one that writes every tag as it is.
    #[serde(default)]
    pub scheme: Option<Scheme>,
    /// The encoding of its files by its label on the Web, such as `windows-1252`; UTF-8 when not given.
    #[serde(default)]
    pub encoding: Option<String>,
    /// True if white space at the end of texts is removed.
    #[serde(default, rename = "trim-end")]
    pub trim_end: bool,
    /// Its files, by split.
    pub files: BTreeMap<String, LayoutFile>,
}

/// A file that names rows of another one, tab-separated and without a header line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowList {
    /// Path below the data root.
    pub path: PathBuf,
    /// SHA-256 of the file.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The columns of the other file that its columns are compared with, in their order.
    pub columns: Vec<String>,
}

/// Handling of rows whose text, or second text, is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Empty {
    /// It is an error.
    #[default]
    Refuse,
    /// It is left out.
    Drop,
    /// It is an example like any other.
    Keep,
}

/// One value, or several alternatives.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum OneOf {
    /// One value.
    One(String),
    /// Several values.
    Several(Vec<String>),
}

/// One file of a layout.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutFile {
    /// Path below the data root.
    pub path: PathBuf,
    /// SHA-256 of the file; not given if the file was not available to us, and then only the split's facts are checked.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The format of this file, where it differs from the others of the layout.
    #[serde(default)]
    pub format: Option<Format>,
    /// Tags that the layout's scheme would not write for the spans they are read as; checked where given.
    #[serde(default, rename = "ill-formed")]
    pub ill_formed: Option<usize>,
    /// Columns that have another meaning in this file than in the others of the layout.
    #[serde(default)]
    pub columns: Option<Columns>,
    /// Row filter: the rows of the file that have one of these values in each of these columns belong to the split.
    #[serde(default)]
    pub r#where: BTreeMap<String, OneOf>,
    /// Of those, the ones that a second file lists.
    #[serde(default)]
    pub only: Option<RowList>,
    /// Of those, all but the ones that a second file lists.
    #[serde(default)]
    pub except: Option<RowList>,
}

impl OneOf {
    /// The values.
    pub fn values(&self) -> &[String] {
        match self {
            OneOf::One(value) => std::slice::from_ref(value),
            OneOf::Several(values) => values,
        }
    }
}

impl Layout {
    /// The columns of the file of `split`.
    pub fn columns_of(&self, split: &str) -> &Columns {
        let own = self.files.get(split).and_then(|file| file.columns.as_ref());
        own.unwrap_or(&self.columns)
    }

    /// The format of the file of `split`.
    pub fn format_of(&self, split: &str) -> &Format {
        let own = self.files.get(split).and_then(|file| file.format.as_ref());
        own.unwrap_or(&self.format)
    }

    /// The contents of the file `bytes`, which came from `path`: decompressed, and text as UTF-8.
    pub(crate) fn contents<'a>(&self, path: &Path, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        decoded(path, contents(path, bytes)?, self.encoding.as_deref())
    }

    pub(crate) fn check(&self, task: Task, n_labels: usize) -> Result<()> {
        let classes = task.has_one_label() || task == Task::MultiLabel;
        let tagging = task == Task::Tagging;
        ensure!(
            self.values.is_empty() || tagging || classes && self.values.len() == n_labels,
            "values: {} listed; expected one for each of {n_labels} labels of a classification",
            self.values.len()
        );
        ensure!(
            tagging || self.scheme.is_none(),
            "scheme: given; expected none, since the task is not tagging"
        );
        if let Some(label) = &self.encoding {
            encoding(label).context("encoding")?;
        }
        let mut seen = HashSet::new();
        if let Some(twice) = self.values.iter().find(|value| !seen.insert(*value)) {
            anyhow::bail!("values: `{twice}` is listed twice; expected once");
        }
        ensure!(
            !self.files.is_empty(),
            "files: none listed; expected at least `files.train`"
        );
        self.format.check()?;
        self.columns.check(task, n_labels)?;
        for (split, file) in &self.files {
            file.check(task, n_labels)
                .with_context(|| format!("files.{split}"))?;
            self.format_of(split)
                .check_for(self.columns_of(split), tagging)
                .with_context(|| format!("files.{split}"))?;
        }
        let own = self.files.values().filter_map(|file| file.columns.as_ref());
        let mut all = own.chain([&self.columns]);
        ensure!(
            self.values.is_empty() || all.all(|columns| matches!(columns.label, Joined::One(_))),
            "values: given; expected none, since each label has a column"
        );
        Ok(())
    }
}

impl LayoutFile {
    fn check(&self, task: Task, n_labels: usize) -> Result<()> {
        if let Some(format) = &self.format {
            format.check()?;
        }
        if let Some(columns) = &self.columns {
            columns.check(task, n_labels)?;
        }
        ensure!(
            task == Task::Tagging || self.ill_formed.is_none(),
            "ill-formed: given; expected none, since the task is not tagging"
        );
        ensure!(
            task != Task::Tagging
                || self.r#where.is_empty() && self.only.is_none() && self.except.is_none(),
            "where, only or except: given; expected none, since a tagging file is read whole"
        );
        for (column, values) in &self.r#where {
            ensure!(
                !values.values().is_empty(),
                "where.{column}: an empty list; expected at least one value"
            );
        }
        for (key, list) in [("only", &self.only), ("except", &self.except)] {
            let Some(list) = list else { continue };
            check_file(&list.path, list.sha256.as_deref()).context(key)?;
            ensure!(
                !list.columns.is_empty(),
                "{key}.columns: an empty list; expected the columns that the file lists"
            );
        }
        check_file(&self.path, self.sha256.as_deref())
    }

    /// The paths of all files that are needed.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let lists = self.only.iter().chain(&self.except);
        let lists = lists.map(|list| list.path.as_path());
        [self.path.as_path()].into_iter().chain(lists)
    }
}

fn check_file(path: &Path, sha256: Option<&str>) -> Result<()> {
    let inside = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    ensure!(
        inside,
        "path: `{}`; expected a path below the data root without `..`",
        path.display()
    );
    if let Some(sha256) = sha256 {
        let hex = sha256.len() == 64
            && sha256
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        ensure!(
            hex,
            "sha256: `{sha256}`; expected 64 lower-case hexadecimal digits"
        );
    }
    Ok(())
}
