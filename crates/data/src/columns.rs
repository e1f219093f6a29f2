//! The roles of a file's columns.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

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
    /// The label or the score; of a tagging dataset, the tags; of a multi-label dataset one column with the labels of
    /// each row, or a list with a column of 0 and 1 for each label, in the order of the card's `labels`.
    pub label: Joined,
    /// The text between the labels in a field of a multi-label dataset, such as `|`; without it, a field is a list such
    /// as `["a", "b"]`.
    #[serde(default)]
    pub label_separator: Option<String>,
    /// The column with the group a row belongs to; an empty field means no group.
    #[serde(default)]
    pub group: Option<String>,
    /// The text between joined fields; empty fields are left out.
    #[serde(default = "space")]
    pub join: String,
}

/// One column, or several: those of a text are joined, and of labels each has its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl Default for Joined {
    fn default() -> Self {
        Self::One(String::new())
    }
}

impl Joined {
    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        match self {
            Joined::One(name) => std::slice::from_ref(name),
            Joined::Several(names) => names,
        }
    }

    /// The name of the only column, or of the first one.
    pub fn first(&self) -> &str {
        self.names().first().map_or("", String::as_str)
    }
}

impl Columns {
    /// Returns whether the fields of the column `name` are lists of labels.
    pub(crate) fn is_list(&self, task: Task, name: &str) -> bool {
        let is_label = matches!(&self.label, Joined::One(label) if label == name);
        task == Task::MultiLabel && self.label_separator.is_none() && is_label
    }

    /// Refuses columns that `task` with `n_labels` labels cannot have.
    pub(crate) fn check(&self, task: Task, n_labels: usize) -> Result<()> {
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
        let Joined::Several(names) = &self.label else {
            let separator = self.label_separator.as_deref();
            ensure!(
                separator.is_none() || task == Task::MultiLabel,
                "columns.label-separator: given; expected none, since the task is not multi-label"
            );
            ensure!(
                separator != Some(""),
                "columns.label-separator: empty; expected the text between two labels, such as \"|\""
            );
            return Ok(());
        };
        ensure!(
            task == Task::MultiLabel,
            "columns.label: a list; expected the name of one column, since the task is not multi-label"
        );
        ensure!(
            names.len() == n_labels,
            "columns.label: {} columns; expected one for each of {n_labels} labels",
            names.len()
        );
        ensure!(
            self.label_separator.is_none(),
            "columns.label-separator: given; expected none, since each label has a column"
        );
        Ok(())
    }
}
