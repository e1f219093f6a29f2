//! Items of a page: a heading, and a kind with its settings.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The heading of a table or figure of any kind.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Heading {
    /// Name of its files and of its place on the page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// Its place in the paper; empty for one that the paper does not have.
    #[serde(default)]
    pub(crate) source: String,
    /// A paragraph above it.
    #[serde(default)]
    pub(crate) text: String,
}

impl Heading {
    /// The heading of a table that belongs to this one, such as that of a figure.
    pub(crate) fn of_part(&self, id: &str, title: &str) -> Self {
        Self {
            id: format!("{}{id}", self.id),
            title: format!("{}: {title}", self.title),
            ..Self::default()
        }
    }
}

/// `[[table]]` or `[[figure]]` in `report.toml`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Table", bound = "K: DeserializeOwned")]
pub(crate) struct Item<K> {
    pub(crate) heading: Heading,
    pub(crate) kind: K,
}

impl<K: DeserializeOwned> TryFrom<toml::Table> for Item<K> {
    type Error = String;

    fn try_from(mut settings: toml::Table) -> Result<Self, String> {
        let keys = ["id", "title", "source", "text"];
        let heading = keys.map(|key| settings.remove_entry(key));
        let heading: toml::Table = heading.into_iter().flatten().collect();
        let message = |error: toml::de::Error| error.message().to_owned();
        Ok(Self {
            heading: Heading::deserialize(heading).map_err(message)?,
            kind: K::deserialize(settings).map_err(message)?,
        })
    }
}
