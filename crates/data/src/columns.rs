//! The roles of a file's columns.

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::task::Task;

/// The role of each column.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Columns {
    /// A unique name for the row; without it, rows are numbered.
    #[serde(default)]
    pub id: Option<String>,
    /// The number of the first row where there is no `id`. Rows that `where` leaves out have no number.
    #[serde(default = "one")]
    pub number_from: usize,
    /// The text, or several columns to be joined with `join`; of a tagging dataset, the words.
    pub text: Joined,
    /// The second text of a pair.
    #[serde(default)]
    pub second: Option<Joined>,
    /// The label or the score; of a tagging dataset, the tags.
    pub label: String,
    /// The column with the group a row belongs to; an empty field means no group.
    #[serde(default)]
    pub group: Option<String>,
    /// The text between joined fields; empty fields are left out.
    #[serde(default = "space")]
    pub join: String,
}

/// One column, or several that are joined.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Joined {
    /// The name of one column.
    One(String),
    /// Names of columns in the order they are joined in.
    Several(Vec<String>),
}

fn space() -> String {
    " ".into()
}

fn one() -> usize {
    1
}

impl Joined {
    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        match self {
            Joined::One(name) => std::slice::from_ref(name),
            Joined::Several(names) => names,
        }
    }
}

impl Columns {
    /// Refuses columns that `task` cannot have.
    pub(crate) fn check(&self, task: Task) -> Result<()> {
        for (key, joined) in [("text", Some(&self.text)), ("second", self.second.as_ref())] {
            ensure!(
                joined.is_none_or(|joined| !joined.names().is_empty()),
                "columns.{key}: an empty list; expected the name of at least one column"
            );
        }
        ensure!(
            task != Task::Tagging || self.second.is_none() && self.text.names().len() == 1,
            "columns: a tagging dataset has one column of words; expected one `text` and no `second`"
        );
        Ok(())
    }
}
