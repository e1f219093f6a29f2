//! The splits of each dataset, and the layouts in which they were found.

use super::terminal::thousands;
use crate::{Card, TextTable};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A dataset and its splits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The card's name.
    pub name: String,
    /// The display name.
    pub title: String,
    /// The task, such as `classification`.
    pub task: &'static str,
    /// True for a committed fixture.
    pub fixture: bool,
    /// Its splits by name; `train` first, then the held-out ones.
    pub splits: Vec<ListedSplit>,
}

/// A split and its possible places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedSplit {
    /// The split's name.
    pub split: String,
    /// Examples, where the card says so.
    pub rows: Option<usize>,
    /// True if its targets are published.
    pub labelled: bool,
    /// Its file in each layout that has it, in the order of preference; the first one found is read.
    pub places: Vec<Place>,
}

/// A file of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The layout's name.
    pub layout: String,
    /// The path of the file, present or not.
    pub path: PathBuf,
    /// True if the file exists.
    pub found: bool,
}

/// The splits of `card` and their paths below `root`.
pub fn listed(card: &Card, root: &Path) -> Listed {
    let mut names: Vec<&str> = card.split_names().into_iter().collect();
    names.sort_by_key(|name| (split_order(name), *name));
    let splits = names.into_iter().map(|split| {
        let facts = card.splits.get(split);
        let places = card.places(root, split).into_iter();
        ListedSplit {
            split: split.to_string(),
            rows: facts.map(|facts| facts.rows),
            labelled: facts.is_none_or(|facts| facts.labelled),
            places: places
                .map(|(layout, path)| Place {
                    layout: layout.name.clone(),
                    found: path.is_file(),
                    path,
                })
                .collect(),
        }
    });
    Listed {
        name: card.name.clone(),
        title: card.title.clone(),
        task: card.task.word(),
        fixture: card.fixture,
        splits: splits.collect(),
    }
}

/// `train` before `dev` before `test`, whatever else is in a name.
pub(crate) fn split_order(name: &str) -> usize {
    let held_out = ["train", "dev", "test"];
    let found = held_out.iter().position(|start| name.starts_with(start));
    found.unwrap_or(held_out.len())
}

/// A table with a line for each file that was found, and one for each split without any; paths as `shown` gives them.
pub fn places_table(datasets: &[Listed], shown: &dyn Fn(&Path) -> String) -> String {
    let mut table = TextTable::new(["dataset", "task", "split", "#rows", "layout", "file"]);
    for dataset in datasets {
        let mut first = true;
        for split in &dataset.splits {
            let found: Vec<&Place> = split.places.iter().filter(|place| place.found).collect();
            let absent = split.places.iter().filter(|place| !place.found);
            let absent: Vec<&str> = absent.map(|place| place.layout.as_str()).collect();
            let missing = found
                .is_empty()
                .then(|| (absent.join(", "), "missing".to_string()));
            let lines = found
                .iter()
                .map(|place| (place.layout.clone(), shown(&place.path)))
                .chain(missing);
            for (line, (layout, file)) in lines.enumerate() {
                let once = |text: &str, show: bool| {
                    if show {
                        text.to_string()
                    } else {
                        String::new()
                    }
                };
                let rows = split.rows.map_or_else(|| "?".into(), thousands);
                table.row([
                    once(&dataset.name, first),
                    once(dataset.task, first),
                    once(&split.split, line == 0),
                    once(&rows, line == 0),
                    layout,
                    file,
                ]);
                first = false;
            }
        }
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::testing::{CARD, project};

    #[test]
    fn a_split_is_listed_where_it_was_found_and_else_as_missing() {
        let project = project(CARD, &[("train.csv", "id,text,label\n1,a,yes\n")]);
        let listed = listed(&project.card(), &project.data());
        let found: Vec<(&str, Vec<bool>)> = listed
            .splits
            .iter()
            .map(|split| {
                let found = split.places.iter().map(|place| place.found);
                (split.split.as_str(), found.collect())
            })
            .collect();
        assert_eq!(
            found,
            [
                ("train", vec![true, false]),
                ("dev", vec![false]),
                ("test", vec![false])
            ]
        );
        let shown = |path: &Path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into()
        };
        assert_eq!(
            places_table(&[listed], &shown),
            "dataset    task            split  rows  layout  file\n\
             synthetic  classification  train     4  own     train.csv\n\
             \u{20}                          dev       ?  own     missing\n\
             \u{20}                          test      2  own     missing\n"
        );
    }
}
