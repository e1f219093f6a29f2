//! Datasets and encoders: the folders searched, and the cards whose files are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use totune_data::{Card, Catalogue, Layout, LayoutFile, sha256_hex};
use totune_sweep::{Project, Roots};

use crate::{Finding, Grid, SharedLine};

const RESTORE: &str = "correct or remove this card";

/// The data root and every dataset card, or those that `grid` needs.
pub(super) fn datasets(project: &Project, roots: &Roots, grid: Option<&Grid>) -> Vec<Finding> {
    let findings = |catalogue: Catalogue| {
        let owners = Owners::of(catalogue.cards());
        let finding = |card: &Card| {
            Files {
                name: &card.name,
                fixture: card.fixture,
                place: owners.locate(card, &roots.data),
                instructions: &card.instructions,
                fetch: (!card.fetch.is_empty()).then_some("data"),
                needed: grid.is_some(),
            }
            .finding(&roots.data)
        };
        let is_needed = |name: &str| grid.is_none_or(|grid| grid.datasets.contains(name));
        let cards = catalogue.cards().iter();
        let readable = cards.filter(|card| is_needed(&card.name)).map(finding);
        let broken = catalogue.broken().filter(|(name, _)| is_needed(name));
        readable
            .chain(broken.map(|card| unreadable(card, grid.is_some())))
            .collect()
    };
    let cards = project.datasets().map(findings);
    below_root("data root", &roots.data, "--data or TOTUNE_DATA", cards)
}

/// The SHA-256 that the cards expect of each training file. A card and that of a subset may name the same path.
struct Owners<'a>(BTreeMap<&'a Path, BTreeSet<Option<&'a str>>>);

impl<'a> Owners<'a> {
    fn of(cards: &'a [Card]) -> Self {
        let mut owners: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for file in cards.iter().flat_map(training_files) {
            let hashes = owners.entry(file.path.as_path()).or_default();
            hashes.insert(file.sha256.as_deref());
        }
        Self(owners)
    }

    /// The first training file of `card` that is there and is no other card's.
    fn locate(&self, card: &Card, root: &Path) -> Option<PathBuf> {
        let mut places = card.found(root, "train").into_iter();
        let of_card = |(layout, path): &(&Layout, PathBuf)| {
            let file = &layout.files["train"];
            let Some(expected) = self.0.get(file.path.as_path()) else {
                return true;
            };
            // Hashing is only for files that cards disagree about: others may be large, and `data check` reads them.
            if expected.len() < 2 {
                return true;
            }
            let Ok(bytes) = fs::read(path) else {
                return false;
            };
            let found = sha256_hex(&bytes);
            match &file.sha256 {
                Some(own) => *own == found,
                None => !expected.contains(&Some(found.as_str())),
            }
        };
        places.find(of_card).map(|(_, path)| path)
    }
}

fn training_files(card: &Card) -> impl Iterator<Item = &LayoutFile> {
    let layouts = card.layouts.iter();
    layouts.filter_map(|layout| layout.files.get("train"))
}

/// The encoder root and every encoder card, or those that `grid` needs.
pub(super) fn encoders(project: &Project, roots: &Roots, grid: Option<&Grid>) -> Vec<Finding> {
    let cards = || -> Result<Vec<Finding>> {
        let catalogue = project.encoders()?;
        let finding = |name: &str| {
            let card = catalogue.find(name)?;
            let places = roots.of_encoder(project, card.fixture);
            let files = Files {
                name,
                fixture: card.fixture,
                place: card.locate(&places),
                instructions: &card.instructions,
                fetch: (!card.fetch.is_empty()).then_some("encoders"),
                needed: grid.is_some(),
            };
            Ok(files.finding(&roots.encoders))
        };
        let is_needed = |name: &str| grid.is_none_or(|grid| grid.encoders.contains(name));
        let names = catalogue.names().into_iter();
        let readable = names.filter(|name| is_needed(name)).map(finding);
        let broken = catalogue.broken().filter(|(name, _)| is_needed(name));
        let broken = broken.map(|(name, error)| Ok(unreadable((name, error), grid.is_some())));
        readable.chain(broken).collect()
    };
    below_root(
        "encoder root",
        &roots.encoders,
        "--encoders or TOTUNE_ENCODERS",
        cards(),
    )
}

/// A card that cannot be read: without those of the fixtures or of the grid asked about nothing runs, without another one
/// all that does not use it.
fn unreadable((name, error): (&str, &str), needed: bool) -> Finding {
    if needed || name.starts_with("fixture-") {
        Finding::broken(name, error, RESTORE)
    } else {
        Finding::lacking(name, error, RESTORE)
    }
}

/// A card's files: their description and their place.
struct Files<'a> {
    name: &'a str,
    fixture: bool,
    place: Option<PathBuf>,
    instructions: &'a str,
    /// The command whose `fetch` gets them, if one does.
    fetch: Option<&'a str>,
    /// Whether what was asked about needs them.
    needed: bool,
}

impl Files<'_> {
    /// The finding: missing files are lacking, those of a fixture and those that are needed broken.
    fn finding(self, root: &Path) -> Finding {
        match (self.place, self.fixture) {
            (Some(_), true) if self.needed => Finding::well(self.name, "comes with totune"),
            (Some(_), true) => {
                Finding::well(self.name, "comes with totune").within(SharedLine::Fixtures)
            }
            (Some(place), false) => Finding::well(
                self.name,
                place
                    .strip_prefix(root)
                    .unwrap_or(&place)
                    .display()
                    .to_string(),
            ),
            (None, true) => Finding::broken(
                self.name,
                "not in fixtures/, where it belongs",
                "restore it, such as with `git checkout fixtures`",
            ),
            (None, false) => {
                let remedy = match self.fetch {
                    Some(command) => format!("`totune {command} fetch {}` gets it", self.name),
                    None => self.instructions.trim().to_string(),
                };
                if self.needed {
                    Finding::broken(self.name, "not found", remedy)
                } else {
                    Finding::lacking(self.name, "not found", remedy).within(SharedLine::Others)
                }
            }
        }
    }
}

/// The root itself, then the cards, or why they cannot be read.
fn below_root(part: &str, root: &Path, how: &str, cards: Result<Vec<Finding>>) -> Vec<Finding> {
    let first = if root.is_dir() {
        Finding::well(part, root.display().to_string())
    } else {
        Finding::lacking(
            part,
            format!("{} is no folder", root.display()),
            format!("make it, or name another with {how}"),
        )
    };
    let rest =
        cards.unwrap_or_else(|error| vec![Finding::broken("cards", format!("{error:#}"), RESTORE)]);
    [vec![first], rest].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    #[test]
    fn a_missing_dataset_is_lacking_and_a_missing_fixture_breaks() {
        let find = |place: Option<&str>, fixture| {
            let place = place.map(PathBuf::from);
            let found = Files {
                name: "x",
                fixture,
                place,
                instructions: "get it there\n",
                fetch: None,
                needed: false,
            }
            .finding(Path::new("data"));
            (found.state, found.found, found.remedy)
        };
        let there = (State::Well, "x/train.csv".to_string(), None);
        assert_eq!(find(Some("data/x/train.csv"), false), there);
        assert_eq!(find(Some("fixtures/x.csv"), true).0, State::Well);
        assert_eq!(
            find(None, false),
            (
                State::Lacking,
                "not found".into(),
                Some("get it there".into())
            )
        );
        assert_eq!(find(None, true).0, State::Broken);
    }

    #[test]
    fn a_file_is_ticked_only_for_the_card_that_means_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let card = |name: &str, sha256: Option<&str>| -> Card {
            let sha256 = sha256.map_or(String::new(), |hash| format!("sha256 = \"{hash}\""));
            let text = format!(
                "name = \"{name}\"\ntitle = \"T\"\ntask = \"classification\"\nmetrics = [\"accuracy\"]\n\
                 labels = [\"no\", \"yes\"]\n\n[[layouts]]\nformat = {{ kind = \"tsv\" }}\n\
                 columns = {{ text = \"text\", label = \"label\" }}\n\n\
                 [layouts.files.train]\npath = \"train.tsv\"\n{sha256}\n"
            );
            let path = folder.path().join(format!("{name}.toml"));
            fs::write(&path, text).expect("written");
            Card::read(&path).expect("a card")
        };
        let subset = "text\tlabel\na\tyes\n";
        let cards = [
            card("whole", None),
            card("subset", Some(&sha256_hex(subset.as_bytes()))),
        ];
        let owners = Owners::of(&cards);
        for (text, expected) in [
            (subset, [false, true]),
            ("text\tlabel\na\tyes\nb\tno\n", [true, false]),
        ] {
            fs::write(folder.path().join("train.tsv"), text).expect("written");
            let found = [0, 1].map(|at| owners.locate(&cards[at], folder.path()).is_some());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn cards_that_cannot_be_read_break() {
        let findings = below_root(
            "data root",
            Path::new("."),
            "--data",
            Err(anyhow::anyhow!("no cards")),
        );
        let states: Vec<State> = findings.iter().map(|finding| finding.state).collect();
        assert_eq!(states, [State::Well, State::Broken]);
    }
}
