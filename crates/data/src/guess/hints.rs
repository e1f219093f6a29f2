//! Facts about a file that the user states.

use crate::columns::Joined;
use crate::format::Format;
use crate::layout::Layout;
use crate::tags::Scheme;
use crate::{Card, Empty, Task};

/// Facts about the file that the user states; the rest is guessed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// The dataset's name; the file's when not given.
    pub name: Option<String>,
    /// The task.
    pub task: Option<Task>,
    /// The column of the text, or of the words.
    pub text: Option<String>,
    /// The column of the second text of a pair.
    pub second: Option<String>,
    /// The column of the label, the score or the tags; of a multi-label dataset also several with commas between them.
    pub label: Option<String>,
    /// The text between the labels in a field of a multi-label dataset.
    pub label_separator: Option<String>,
    /// The labels of an ordinal dataset in their order.
    pub order: Option<Vec<String>>,
    /// The tag that each integer from 0 on stands for, of a tagging dataset whose tags are integers.
    pub tags: Option<Vec<String>>,
    /// The scheme of the tags, where none writes all of them as they are.
    pub scheme: Option<Scheme>,
    /// The column of ids.
    pub id: Option<String>,
    /// The separator of fields.
    pub separator: Option<char>,
    /// True if the first line has the names of the columns.
    pub header: Option<bool>,
    /// Handling of rows without a text.
    pub empty: Option<Empty>,
    /// The encoding of the files.
    pub encoding: Option<String>,
}

impl Hints {
    /// The options that name a column, with its name.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let options = [
            ("--text", self.text.as_ref()),
            ("--second", self.second.as_ref()),
            ("--label", self.label.as_ref()),
            ("--id", self.id.as_ref()),
        ];
        let given = options.into_iter();
        given.filter_map(|(option, name)| Some((option, name?)))
    }

    /// The first option that says something else about the files of `layout` than this card does; none where all agree,
    /// as when the command that wrote the card is repeated.
    pub fn disagreement(&self, card: &Card, layout: &Layout) -> Option<&'static str> {
        let columns = &layout.columns;
        let settings = match &layout.format {
            Format::Csv(settings) | Format::Tsv(settings) => Some(settings),
            _ => None,
        };
        let separator = settings.map(|settings| match layout.format {
            Format::Tsv(_) => settings.separator.unwrap_or('\t'),
            _ => settings.separator.unwrap_or(','),
        });
        let header = settings.map(|settings| settings.header.is_none());
        let names = |joined: &Joined| match joined {
            Joined::One(name) => name.clone(),
            Joined::Several(names) => names.join(","),
        };
        let encoding = layout.encoding.as_ref().map(|name| name.to_lowercase());
        let asked_encoding = self.encoding.as_ref().map(|name| name.to_lowercase());
        let order = self.order.as_ref();
        let order = order.map(|order| order.iter().map(|label| label.trim()));
        let differences = [
            ("--task", differs(&self.task, Some(&card.task))),
            ("--text", differs(&self.text, Some(&names(&columns.text)))),
            (
                "--second",
                differs(&self.second, columns.second.as_ref().map(names).as_ref()),
            ),
            (
                "--label",
                differs(&self.label, Some(&names(&columns.label))),
            ),
            (
                "--label-separator",
                differs(&self.label_separator, columns.label_separator.as_ref()),
            ),
            (
                "--order",
                order.is_some_and(|order| !order.eq(card.labels.iter().map(|label| label.trim()))),
            ),
            ("--tags", differs(&self.tags, Some(&layout.values))),
            ("--scheme", differs(&self.scheme, layout.scheme.as_ref())),
            ("--id", differs(&self.id, columns.id.as_ref())),
            ("--separator", differs(&self.separator, separator.as_ref())),
            ("--header", differs(&self.header, header.as_ref())),
            ("--empty", differs(&self.empty, Some(&layout.empty))),
            ("--encoding", differs(&asked_encoding, encoding.as_ref())),
        ];
        let found = differences.into_iter().find(|(_, differs)| *differs);
        found.map(|(option, _)| option)
    }
}

/// Whether something is asked for and is not what the card says.
fn differs<T: PartialEq>(asked: &Option<T>, said: Option<&T>) -> bool {
    asked.is_some() && asked.as_ref() != said
}
