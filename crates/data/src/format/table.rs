//! Rows under column names, and errors in files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use totune_toml::{did_you_mean, quoted};

/// The wanted columns of a file.
///
/// Fields are borrowed from the file wherever they stand in it as they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<'a> {
    path: PathBuf,
    unit: Unit,
    columns: Vec<String>,
    /// Columns of the file that cannot be read as text, where all columns were asked for.
    unread: Vec<String>,
    lines: Vec<usize>,
    fields: Vec<Cow<'a, str>>,
}

/// One row of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'t, 'a> {
    /// The line the row starts on, counted from one; a quoted field may span several.
    pub line: usize,
    /// A field for each column of the table.
    pub fields: &'t [Cow<'a, str>],
}

/// The unit in which positions in a file are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Lines of a text.
    Line,
    /// Rows of a table that is not text.
    Row,
}

/// A problem in a file, and its position.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {} {line}: {problem}", path.display(), unit.name())]
pub struct FormatError {
    /// The file.
    pub path: PathBuf,
    /// The unit of `line`.
    pub unit: Unit,
    /// The line, counted from one.
    pub line: usize,
    /// The finding and the expectation.
    pub problem: String,
}

impl<'a> Table<'a> {
    /// A table without rows, of the columns `columns` of a file.
    pub(crate) fn new(path: &Path, unit: Unit, columns: Vec<String>) -> Self {
        Self {
            path: path.to_path_buf(),
            unit,
            columns,
            unread: Vec::new(),
            lines: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Adds a row that starts on `line`; `fields` are as many as the columns.
    pub(crate) fn push(&mut self, line: usize, fields: impl IntoIterator<Item = Cow<'a, str>>) {
        self.lines.push(line);
        self.fields.extend(fields);
        debug_assert_eq!(self.fields.len(), self.lines.len() * self.columns.len());
    }

    /// Notes columns that cannot be read as text.
    pub(crate) fn leave_unread(&mut self, columns: Vec<String>) {
        self.unread = columns;
    }

    /// `; `date` is of a type that is not read`, for errors about columns; empty where all columns were read.
    pub(crate) fn unread(&self) -> String {
        if self.unread.is_empty() {
            return String::new();
        }
        let names = quoted(self.unread.iter().map(String::as_str));
        format!("; of types that are not read, such as dates, decimals and nested ones: {names}")
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.lines.len()
    }

    /// The rows in file order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_, 'a>> {
        let fields = self.fields.chunks_exact(self.columns.len().max(1));
        let rows = self.lines.iter().zip(fields);
        rows.map(|(&line, fields)| Row { line, fields })
    }

    /// The field of `column` in each row, in file order.
    pub fn column(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows().map(move |row| row.fields[column].as_ref())
    }

    /// The index of the required column called `name`.
    pub fn index(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|column| column == name);
        found.expect("a table has the columns that were wanted")
    }

    /// An error on `line` of this file.
    pub fn error(&self, line: usize, problem: String) -> FormatError {
        FormatError {
            path: self.path.clone(),
            unit: self.unit,
            line,
            problem,
        }
    }
}

impl FormatError {
    /// An error on `line` of the text file `path`.
    pub fn on_line(path: &Path, line: usize, problem: String) -> Self {
        Self {
            path: path.to_path_buf(),
            unit: Unit::Line,
            line,
            problem,
        }
    }
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Line => "line",
            Unit::Row => "row",
        }
    }
}

/// The index of each of the columns `wanted` among `names`; all of them if none is named.
///
/// # Errors
/// A description of the problem with the names.
pub(super) fn select<N: AsRef<str>>(
    names: &[N],
    wanted: Option<&[&str]>,
) -> Result<Vec<usize>, String> {
    let Some(wanted) = wanted else {
        return Ok((0..names.len()).collect());
    };
    let names = || names.iter().map(AsRef::as_ref);
    let find = |name: &str| {
        let mut places = names().enumerate().filter(|(_, column)| *column == name);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => Err(format!("column `{name}` is named twice; expected it once")),
            (None, _) => {
                let hint = did_you_mean(name, names());
                Err(format!("no column `{name}`{hint}found {}", quoted(names())))
            }
        }
    };
    wanted.iter().map(|name| find(name)).collect()
}
