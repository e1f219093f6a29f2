//! Datasets and encoders: where they are looked for, and whose files are there.

use std::path::Path;

use anyhow::Result;
use totune_data::Catalogue;
use totune_model::EncoderCatalogue;
use totune_sweep::{Project, Roots};

use super::Finding;

const RESTORE: &str = "run from a checkout of totune, or name one with --project";

/// The data root and every dataset card.
pub(super) fn datasets(project: &Project, roots: &Roots) -> Vec<Finding> {
    let cards = || -> Result<Vec<Finding>> {
        let catalogue = Catalogue::read(&project.root.join("datasets"))?;
        let finding = |card: &totune_data::Card| {
            card_finding(
                &card.name,
                &card.title,
                card.fixture,
                card.missing(&roots.data),
            )
        };
        Ok(catalogue.cards().iter().map(finding).collect())
    };
    below_root("data root", &roots.data, "--data or TOTUNE_DATA", cards())
}

/// The encoder root and every encoder card.
pub(super) fn encoders(project: &Project, roots: &Roots) -> Vec<Finding> {
    let cards = || -> Result<Vec<Finding>> {
        let catalogue = EncoderCatalogue::read(&project.root.join("encoders"))?;
        let finding = |name: &str| {
            let card = catalogue.find(name)?;
            let root = roots.of_encoder(project, card.fixture);
            Ok(card_finding(
                &card.name,
                &card.title,
                card.fixture,
                card.missing(&[root]),
            ))
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

/// A card whose files are there, or what is missing; without a fixture nothing runs.
fn card_finding(name: &str, title: &str, fixture: bool, missing: Option<String>) -> Finding {
    let Some(message) = missing else {
        return Finding::well(name, title);
    };
    let (what, how) = message.split_once('\n').unwrap_or((&message, ""));
    let what = what.split_once(": ").map_or(what, |(_, what)| what);
    let how: Vec<&str> = how.lines().map(str::trim).collect();
    match fixture {
        false => Finding::lacking(name, what, how.join("\n")),
        true => Finding::broken(
            name,
            what,
            "restore fixtures/, such as with `git checkout fixtures`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    #[test]
    fn a_missing_dataset_is_lacking_and_a_missing_fixture_breaks() {
        let message = || {
            Some("dataset `x`: missing `x/train.csv`\n  Get it there.\n  Put it here.".to_string())
        };
        let lacking = card_finding("x", "X", false, message());
        assert_eq!(
            (lacking.state, lacking.found.as_str()),
            (State::Lacking, "missing `x/train.csv`")
        );
        assert_eq!(
            lacking.remedy.as_deref(),
            Some("Get it there.\nPut it here.")
        );
        assert_eq!(card_finding("x", "X", true, message()).state, State::Broken);
        assert_eq!(card_finding("x", "X", true, None).state, State::Well);
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
