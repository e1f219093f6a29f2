//! Predictions of runs on test: a summary of each run's, and the rows of those runs that are asked for.
//!
//! A table of 100,000 runs has gigabytes of them, of which a page needs next to nothing.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::rc::Rc;

use anyhow::{Result, ensure};
use totune_record::{PredictionRow, StoredPredictions};

use crate::plan::TEST;
use crate::select::learned::TestPredictions;

/// The predictions of all runs on test.
#[derive(Debug)]
pub(crate) struct Predictions {
    stored: StoredPredictions,
    /// First and last group with rows of a run, by run id.
    groups: HashMap<String, (usize, usize)>,
    /// Rows that were decoded so far, by run id, in order of example and position.
    decoded: RefCell<HashMap<String, Rc<[PredictionRow]>>>,
}

impl Predictions {
    /// Reads each group once; returns a summary of the predictions of each run that has enough of them, too.
    ///
    /// # Errors
    /// Where a group cannot be decoded, or rows of a run lie in groups apart.
    pub fn read(stored: StoredPredictions) -> Result<(Self, HashMap<String, TestPredictions>)> {
        let mut groups: HashMap<String, (usize, usize)> = HashMap::new();
        let mut summaries = HashMap::new();
        // Rows of the last run of the group before, which may go on in this one.
        let mut open: BTreeMap<String, Vec<PredictionRow>> = BTreeMap::new();
        for group in 0..stored.groups() {
            let mut by_run = mem::take(&mut open);
            for (run, rows) in on_test(stored.group(group)?) {
                groups.entry(run.clone()).or_insert((group, group)).1 = group;
                by_run.entry(run).or_default().extend(rows);
            }
            if group + 1 < stored.groups() {
                open.extend(by_run.pop_last());
            }
            for (run, rows) in by_run {
                let summary = TestPredictions::of(&rows);
                let before = summaries.insert(run, summary);
                ensure!(
                    before.is_none(),
                    "predictions.parquet: its rows are not in the order of runs; `totune collect` writes it again"
                );
            }
        }
        let summaries = summaries.into_iter();
        let summaries = summaries.filter_map(|(run, summary)| Some((run, summary?)));
        let summaries = summaries.collect();
        let read = Self {
            stored,
            groups,
            decoded: RefCell::default(),
        };
        Ok((read, summaries))
    }

    /// Predictions of a run, in order of example and position; none where they were not stored.
    pub fn of(&self, run: &str) -> Rc<[PredictionRow]> {
        if let Some(rows) = self.decoded.borrow().get(run) {
            return Rc::clone(rows);
        }
        let Some(&(first, last)) = self.groups.get(run) else {
            return Rc::from([]);
        };
        let mut by_run: BTreeMap<String, Vec<PredictionRow>> = BTreeMap::new();
        for group in first..=last {
            let rows = self.stored.group(group).expect("it was decoded before");
            for (run, rows) in on_test(rows) {
                by_run.entry(run).or_default().extend(rows);
            }
        }
        // Runs next to it are likely to be asked for too, and those that lie in these groups are complete.
        let is_complete = |run: &String| {
            let (from, to) = self.groups[run];
            first <= from && to <= last
        };
        let mut decoded = self.decoded.borrow_mut();
        for (run, mut rows) in by_run.into_iter().filter(|(run, _)| is_complete(run)) {
            rows.sort_by(|a, b| (&a.example_id, a.position).cmp(&(&b.example_id, b.position)));
            decoded.insert(run, rows.into());
        }
        Rc::clone(&decoded[run])
    }
}

/// The rows on test, by run id.
fn on_test(rows: Vec<PredictionRow>) -> BTreeMap<String, Vec<PredictionRow>> {
    let mut by_run: BTreeMap<String, Vec<PredictionRow>> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| row.split == TEST) {
        match by_run.get_mut(&row.run_id) {
            Some(rows) => rows.push(row),
            None => drop(by_run.insert(row.run_id.clone(), vec![row])),
        }
    }
    by_run
}

#[cfg(test)]
mod tests {
    use super::*;
    use totune_record::{GrowingTables, RunRow, StoredTables, Tables};

    fn row(run: &str, split: &str, example: usize, gold: &str) -> PredictionRow {
        PredictionRow {
            run_id: run.into(),
            split: split.into(),
            example_id: example.to_string(),
            position: 0,
            gold: gold.into(),
            predicted: "a".into(),
            scores: vec![0.5, 0.5],
        }
    }

    /// Three runs of which the second begins in one group of the file and ends in the next.
    fn three_runs() -> Tables {
        let gold = |example| if example % 3 == 0 { "b" } else { "a" };
        let of = |run: &'static str, n: usize| {
            (0..n).map(move |example| row(run, TEST, example, gold(example)))
        };
        let runs = ["one", "three", "two"].map(|run| RunRow {
            run_id: run.into(),
            spec: "{}".into(),
            ..RunRow::default()
        });
        let rows = of("one", 60_000)
            .chain(of("three", 30_000))
            .chain(of("two", 12));
        Tables {
            runs: runs.into(),
            evals: vec![],
            predictions: rows.chain([row("two", "dev", 0, "a")]).collect(),
        }
    }

    #[test]
    fn a_file_in_groups_and_rows_in_memory_give_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let mut growing = GrowingTables::begin(folder.path()).unwrap();
        growing.add(three_runs()).unwrap();
        growing.finish().unwrap();
        let stored = StoredTables::read(folder.path()).unwrap();
        assert_eq!(stored.predictions.groups(), 2);
        let (of_file, in_file) = Predictions::read(stored.predictions).unwrap();
        let (of_rows, in_rows) =
            Predictions::read(StoredTables::from(three_runs()).predictions).unwrap();
        assert_eq!(in_file, in_rows);
        assert_eq!(in_file.len(), 3);
        for (run, n) in [("two", 12), ("one", 60_000), ("three", 30_000), ("four", 0)] {
            let found = of_file.of(run);
            assert_eq!(found.len(), n, "{run}");
            assert!(found == of_rows.of(run), "{run}");
            assert!(
                found
                    .iter()
                    .all(|row| row.run_id == run && row.split == TEST)
            );
        }
    }

    #[test]
    fn rows_of_a_run_in_groups_apart_are_refused() {
        let mut tables = three_runs();
        // Another run between the parts of the first, which a file of this program never has.
        tables.predictions.retain(|row| row.run_id != "two");
        let error = {
            let (first, second) = (tables.predictions.clone(), tables.predictions);
            Predictions::read(StoredPredictions::in_groups(vec![first, second]))
        };
        let error = format!("{:#}", error.unwrap_err());
        assert!(error.contains("not in the order of runs"), "{error}");
    }
}
