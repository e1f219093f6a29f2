//! Cells of the paper: a number and where it is from.

use serde::Deserialize;

/// What the paper has in a cell. A cell that is left out was not recovered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum PaperCell {
    /// A number that the authors computed themselves.
    Run(f64),
    /// A number that they took from elsewhere.
    Copied(Copied),
    /// No number: the paper has a dash.
    Empty(Dash),
}

/// A number from elsewhere.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Copied {
    pub(crate) value: f64,
    /// From whom, such as `Devlin et al. 2018`.
    pub(crate) from: String,
}

/// `"-"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Dash {
    #[serde(rename = "-")]
    Dash,
}

impl PaperCell {
    /// Its number, if it has one.
    pub(crate) fn value(&self) -> Option<f64> {
        match self {
            Self::Run(value) => Some(*value),
            Self::Copied(copied) => Some(copied.value),
            Self::Empty(_) => None,
        }
    }

    /// Where it is from, for programs: `run`, `copied from …`, `none`.
    pub(crate) fn origin(&self) -> String {
        match self {
            Self::Run(_) => "run".to_owned(),
            Self::Copied(copied) => format!("copied from {}", copied.from),
            Self::Empty(_) => "none".to_owned(),
        }
    }
}
