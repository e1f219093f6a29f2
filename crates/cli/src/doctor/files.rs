//! Datasets and encoders: where they are looked for, and whose files are there.

use std::path::{Path, PathBuf};

use anyhow::Result;
use totune_data::Catalogue;
use totune_model::EncoderCatalogue;
use totune_sweep::{Project, Roots};

use super::Finding;

const RESTORE: &str = "run from a checkout of totune, or name one with --project";

/// The data root and every dataset card.
pub(super) fn datasets(project: &Project, roots: &Roots) -> Vec<Finding> {
    let finding = |card: &totune_data::Card| {
        Files {
            name: &card.name,
            fixture: card.fixture,
            place: card.locate(&roots.data, "train").map(|(_, path)| path),
            instructions: &card.instructions,
        }
        .finding(&roots.data)
    };
    let cards = Catalogue::read(&project.root.join("datasets"));
    let cards = cards.map(|catalogue| catalogue.cards().iter().map(finding).collect());
    below_root("data root", &roots.data, "--data or TOTUNE_DATA", cards)
}

/// The encoder root and every encoder card.
pub(super) fn encoders(project: &Project, roots: &Roots) -> Vec<Finding> {
    let cards = || -> Result<Vec<Finding>> {
        let catalogue = EncoderCatalogue::read(&project.root.join("encoders"))?;
        let finding = |name: &str| {
            let card = catalogue.find(name)?;
            let places = roots.of_encoder(project, card.fixture);
            let files = Files {
                name,
                fixture: card.fixture,
                place: card.locate(&places),
                instructions: &card.instructions,
            };
            Ok(files.finding(&roots.encoders))
        };
        catalogue.names().into_iter().map(finding).collect()
    };
    below_root(
        "encoder root",
        &roots.encoders,
        "--encoders or TOTUNE_ENCODERS",
        cards(),
    )
}

/// What a card says of its files, and where they are.
struct Files<'a> {
    name: &'a str,
    fixture: bool,
    place: Option<PathBuf>,
    instructions: &'a str,
}

impl Files<'_> {
    /// Files that are missing are lacking, those of a fixture break: without fixtures nothing runs.
    fn finding(self, root: &Path) -> Finding {
        match (self.place, self.fixture) {
            (Some(_), true) => Finding::well(self.name, "part of the checkout"),
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
            (None, false) => Finding::lacking(self.name, "not found", self.instructions.trim()),
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
    use crate::doctor::State;

    #[test]
    fn a_missing_dataset_is_lacking_and_a_missing_fixture_breaks() {
        let find = |place: Option<&str>, fixture| {
            let place = place.map(PathBuf::from);
            let found = Files {
                name: "x",
                fixture,
                place,
                instructions: "get it there\n",
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
