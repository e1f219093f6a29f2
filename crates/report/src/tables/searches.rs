//! Choices of the searches of a paper, and how often one was an end of what had been tried.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use totune_evidence::select::runs::Run;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::counted;
use totune_record::OF_TRIALS;

use super::rendered::setting_number;
use super::{Cell, Csv, RenderedTable, RowGroup};
use crate::item::Heading;

/// Experiment, arm and path of a setting that was searched.
type Searched<'a> = (&'a str, String, String);

/// Numbers that trials had, and those of the runs that followed, on one dataset.
#[derive(Default)]
struct Range {
    tried: BTreeSet<Number>,
    chosen: BTreeSet<Number>,
}

/// A number of a setting, in the order of numbers.
#[derive(Clone, Copy, PartialEq)]
struct Number(f64);

impl Eq for Number {}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Range {
    /// `lowest`, `highest`, or nothing for a number with neighbours on both sides; `None` where no run followed.
    fn end(&self) -> Option<&'static str> {
        let chosen = self.chosen.first()?;
        Some(match () {
            () if self.tried.first() == Some(chosen) => "lowest",
            () if self.tried.last() == Some(chosen) => "highest",
            () => "",
        })
    }

    fn texts(numbers: &BTreeSet<Number>) -> String {
        let texts = numbers.iter().map(|Number(value)| setting_number(*value));
        texts.collect::<Vec<_>>().join(", ")
    }
}

/// The table of every searched setting with several numbers; `None` where nothing was searched.
pub(crate) fn table(scope: &Scope) -> Option<RenderedTable> {
    let mut found: Vec<_> = ranges(scope.runs.all()).into_iter().collect();
    found.sort_by_key(|((experiment, arm, path), _)| (*experiment, parts_of(arm), path.clone()));
    let mut csv = Csv::new("experiment,arm,setting,dataset,tried,chosen,end");
    let mut parts: Vec<RowGroup> = Vec::new();
    for ((experiment, arm, path), by_dataset) in &found {
        let setting = path.rsplit('.').next().unwrap_or(path);
        for (dataset, range) in by_dataset {
            let [tried, chosen] = [&range.tried, &range.chosen].map(Range::texts);
            let end = range.end().unwrap_or_default();
            csv.line([*experiment, arm, setting, dataset, &tried, &chosen, end]);
        }
        if parts.last().is_none_or(|part| part.title != *experiment) {
            parts.push(RowGroup {
                title: (*experiment).to_owned(),
                rows: Vec::new(),
            });
        }
        let rows = parts.last_mut().map(|part| &mut part.rows)?;
        rows.push(row(title(scope, experiment, arm), setting, by_dataset));
    }
    let columns = ["Setting", "Tried", "Lowest chosen", "Highest chosen"];
    (!parts.is_empty()).then(|| RenderedTable {
        heading: Heading {
            id: "searches".to_owned(),
            title: "What the searches chose".to_owned(),
            text: "A setting is chosen on dev for each task. Where it is the lowest or the highest of those tried, one beyond it might \
                   have scored higher, for this strategy as for those it is compared with."
                .to_owned(),
            ..Heading::default()
        },
        columns: RenderedTable::columns_of("Strategy", columns.map(str::to_owned)),
        parts,
        csv,
        ..RenderedTable::default()
    })
}

/// A row: the numbers tried, and on how many datasets the choice was an end of them.
fn row(title: String, setting: &str, by_dataset: &BTreeMap<&str, Range>) -> Vec<Cell> {
    let tried: BTreeSet<Number> = by_dataset
        .values()
        .flat_map(|range| range.tried.iter().copied())
        .collect();
    let ends: Vec<&str> = by_dataset.values().filter_map(Range::end).collect();
    let of = |end: &str| {
        let n = ends.iter().filter(|other| **other == end).count();
        match (n, ends.len()) {
            (_, 0) => Cell::default().or("not run yet"),
            (n, all) => Cell::of(format!("{n} of {}", counted(all, "task"))),
        }
    };
    vec![
        Cell::of(title),
        Cell::of(setting).class("words"),
        Cell::of(Range::texts(&tried)).class("words"),
        of("lowest"),
        of("highest"),
    ]
}

/// The numbers of every searched setting, by dataset; settings that are names, or had one number only, are left out.
fn ranges(runs: &[Run]) -> BTreeMap<Searched<'_>, BTreeMap<&str, Range>> {
    let mut found: BTreeMap<Searched, BTreeMap<&str, Range>> = BTreeMap::new();
    for run in runs {
        let row = &run.row;
        let of = row.experiment.strip_suffix(OF_TRIALS);
        let arm = run.fact("arm").and_then(Value::as_str).unwrap_or_default();
        let paths = run.fact("search").and_then(Value::as_array);
        for path in paths.into_iter().flatten().filter_map(Value::as_str) {
            let Some(value) = run.fact(path).and_then(Value::as_f64) else {
                continue;
            };
            let experiment = of.unwrap_or(&row.experiment);
            let key = (experiment, arm.to_owned(), path.to_owned());
            let range = found.entry(key).or_default();
            let range = range.entry(row.dataset.as_str()).or_default();
            let numbers = match of {
                Some(_) => &mut range.tried,
                None => &mut range.chosen,
            };
            numbers.insert(Number(value));
        }
    }
    for by_dataset in found.values_mut() {
        by_dataset.retain(|_, range| range.tried.len() > 1);
    }
    found.retain(|_, by_dataset| !by_dataset.is_empty());
    found
}

/// The title of an arm, or its name.
fn title(scope: &Scope, experiment: &str, arm: &str) -> String {
    let group = scope
        .plan
        .group(&format!("{experiment}/{arm}"), &scope.from);
    group.map_or_else(|_| arm.to_owned(), |group| group.title.clone())
}

/// The parts of the name of an arm, so that `n-300` is before `n-1000`.
fn parts_of(arm: &str) -> Vec<(u64, String)> {
    let parts = arm.split('-');
    let numbered = parts.map(|part| (part.parse().unwrap_or(0), part.to_owned()));
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(tried: &[f64], chosen: Option<f64>) -> Range {
        Range {
            tried: tried.iter().copied().map(Number).collect(),
            chosen: chosen.into_iter().map(Number).collect(),
        }
    }

    #[test]
    fn a_choice_at_an_end_of_its_range_is_counted() {
        let rates = [2e-5, 1e-4, 1e-3];
        let by_dataset = BTreeMap::from([
            ("cola", range(&rates, Some(2e-5))),
            ("mrpc", range(&rates, Some(1e-4))),
            ("rte", range(&rates, Some(2e-5))),
            ("sst-2", range(&[1e-3, 1e-2], None)),
        ]);
        let row = row("All layers".to_owned(), "lr", &by_dataset);
        let texts: Vec<&str> = row.iter().map(|cell| cell.main.as_str()).collect();
        assert_eq!(
            texts,
            [
                "All layers",
                "lr",
                "2e-5, 1e-4, 1e-3, 1e-2",
                "2 of 3 tasks",
                "0 of 3 tasks"
            ]
        );
        let none = BTreeMap::from([("sst-2", range(&rates, None))]);
        let row = super::row("All layers".to_owned(), "lr", &none);
        assert_eq!(row[3].empty, "not run yet");
    }

    #[test]
    fn sizes_in_names_are_in_the_order_of_numbers() {
        let mut arms = ["full-n-1000", "frozen-n-300", "full-n-300", "frozen-all"];
        arms.sort_by_key(|arm| parts_of(arm));
        assert_eq!(
            arms,
            ["frozen-all", "frozen-n-300", "full-n-300", "full-n-1000"]
        );
    }
}
