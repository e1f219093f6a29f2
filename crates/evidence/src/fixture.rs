//! Plans of the synthetic papers, without what a page shows of them.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::plan::{ChoicePlan, EnsemblePlan, Grid, Group, LabelPlan, Plan, Task};
use crate::toml_file::parse;

/// The part of a `report.toml` that this crate is about.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    profiles: BTreeMap<String, String>,
    groups: BTreeMap<String, Group>,
    #[serde(default, rename = "choice")]
    choices: Vec<ChoicePlan>,
    #[serde(default, rename = "ensemble")]
    ensembles: Vec<EnsemblePlan>,
    #[serde(default)]
    tasks: BTreeMap<String, Task>,
    #[serde(default, rename = "label")]
    labels: Vec<LabelPlan>,
    #[serde(default, rename = "table")]
    tables: Vec<toml::Table>,
}

/// The plan of a `report.toml`, with the grids of its matrices.
pub(crate) fn plan(text: &str) -> Result<Plan> {
    let written: Written = parse(text, "report.toml")?;
    let matrices = written.tables.iter().filter(|table| is_matrix(table));
    let grids = matrices.map(|table| {
        let id = table["id"].as_str().unwrap_or_default().to_owned();
        let (columns, rows) = (part(table, "column")?, part(table, "row")?);
        Ok((id, Grid { columns, rows }))
    });
    Ok(Plan {
        grids: grids.collect::<Result<_>>()?,
        profiles: written.profiles,
        groups: written.groups,
        choices: written.choices,
        ensembles: written.ensembles,
        tasks: written.tasks,
        labels: written.labels,
        cells: vec![],
    })
}

fn is_matrix(table: &toml::Table) -> bool {
    table["kind"].as_str() == Some("matrix")
}

fn part<T: DeserializeOwned>(table: &toml::Table, key: &str) -> Result<T> {
    Ok(table[key].clone().try_into()?)
}
