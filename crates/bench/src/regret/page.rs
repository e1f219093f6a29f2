//! The page of `bench regret` as Markdown. Every figure comes from its results.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use totune_disk::write_atomically;

use super::job::{Job, JobResult};
use super::results::{CaseParts, RESULTS, Regret, SIDES, Side};
use super::summary::{regret, summary};

impl Regret {
    /// Writes `compare.json` and `compare.md` into `folder`, which is made where it does not exist.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
        let json = format!("{}\n", serde_json::to_string_pretty(self)?);
        write_atomically(&folder.join(RESULTS), json.as_bytes())?;
        write_atomically(&folder.join("compare.md"), markdown(self).as_bytes())
    }
}

/// The page: settings, a table of all cases, and a summary.
pub fn markdown(results: &Regret) -> String {
    let mut text = head(results);
    let whole = || results.cases.iter().filter(|case| case.missing == 0);
    cases(&mut text, whole());
    summary(&mut text, whole());
    let open = results.cases.iter().filter(|case| case.missing > 0);
    let open = open.map(|case| {
        let all = case.parts.len() + case.missing;
        format!(
            "- {}: {} of {all} parts are done\n",
            titled(case),
            case.parts.len()
        )
    });
    let open: String = open.collect();
    if !open.is_empty() {
        let _ = write!(text, "\n## Cases that are not complete\n\n{open}");
    }
    text
}

fn head(results: &Regret) -> String {
    let Regret {
        encoder,
        budget,
        seeds,
        cases,
        ..
    } = results;
    let mut text = format!(
        "# The choice of `totune compare` next to a grid trained at length\n\n\
         Written by `./justw bench {}`.\n",
        results.benchmark
    );
    let parts = || cases.iter().flat_map(|case| &case.parts);
    let mut each = |heading: &str, of: &dyn Fn(&JobResult) -> String| {
        let found: BTreeSet<String> = parts().map(of).filter(|one| !one.is_empty()).collect();
        if !found.is_empty() {
            let found: Vec<String> = found.into_iter().collect();
            let _ = writeln!(text, "{heading}: {}.", found.join(" or "));
        }
    };
    each("Machine", &|part| part.machine.to_string());
    each("Threads of each process", &|part| part.threads.to_string());
    each("Device of the parts", &|part| part.device.clone());
    each("Dtype of the parts", &|part| part.dtype.clone());
    each("Commit", &|part| part.commit.clone());
    let loads = || parts().filter_map(|part| part.load);
    if let (Some(least), Some(most)) = (loads().reduce(f64::min), loads().reduce(f64::max)) {
        let _ = writeln!(
            text,
            "Load average before the parts: {least:.1} to {most:.1}. Seconds are of the wall clock: a part that ran next to other \
             jobs, or was paused for them, took longer than it takes alone. Mean seconds are of the cases that a CPU computed."
        );
    }
    if cases.iter().any(|case| case.fixture) {
        text.push_str("Some datasets are committed fixtures: their scores mean nothing.\n");
    }
    let _ = write!(
        text,
        "Encoder: {encoder}. Seeds of the grid and of the example script: {seeds}.\n\
         Every side has the same rows and is scored on the same test examples, which none of them sees.\n\
         The grid trains every strategy that is compared with both of its learning rates, for its usual number of epochs, for more where \
         rows are few, and for fewer where they are more than 20,000; the learning rate, and but for scores the epoch, are chosen on 15 % of the rows (at most 1,000), which are held out as dev.\n\
         Its best strategy on test, or the regression on frozen vectors where that is better, is what a perfect choice would give. Regret is \
         its score minus that of a side, in points; it is below 0 where the side is better than all of them.\n\
         The best of several scores on test is too high by chance, so a side that is as good as all others still has some regret.\n\
         `compare`: the choice of `totune compare` within {budget} s. Below 1,000 rows it chooses by cross-validation; its choice is then trained on \
         all rows.\n\
         Its choice, trained at length: the grid's score of that strategy at the better of its learning rates on dev, so that what remains is the \
         regret of the choice and not that of a short training; a floor remains as it is.\n\
         Best on dev of the grid: the choice of a person with the time for all of it.\n\
         Regression on frozen vectors: logistic regression, or ridge regression for scores, fitted on all rows; there is none for tags.\n\
         Example script's defaults: full fine-tuning by our training loop with the settings that transformers' `run_glue.py` and `run_ner.py` have by \
         default (AdamW, 5e-5, linear decay without warm-up, no weight decay, batches of 8, 3 epochs, 128 tokens), on all rows.\n"
    );
    text
}

/// A line for each case: the test score, the setting and the regret of each side.
fn cases<'a>(text: &mut String, cases: impl Iterator<Item = &'a CaseParts>) {
    let _ = write!(
        text,
        "\n## Cases\n\nTest scores in points, with the regret in brackets and the setting.\n\n\
         | dataset | rows | test examples | metric | best of all | {} |\n|---|--:|--:|---|---|{}\n",
        SIDES.join(" | "),
        "---|".repeat(SIDES.len())
    );
    let mut notes = String::new();
    let mut conditions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in cases {
        let best = case.best();
        let sides = case.sides().map(|side| match &side {
            Some(side) => cell(side, best.as_ref()),
            None => String::new(),
        });
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            case.dataset,
            case.rows,
            case.n_test,
            case.metric,
            best.as_ref().map_or(String::new(), |best| cell(best, None)),
            sides.join(" | ")
        );
        let mut parts = case.parts.iter();
        let Some(part) = parts.find(|part| matches!(part.job, Job::Compare { .. })) else {
            continue;
        };
        let condition = format!("`--threads {}`, {}", part.threads, part.dtype);
        conditions.entry(condition).or_default().push(titled(case));
        if part.test.is_some() && part.n_test < case.n_test {
            let _ = writeln!(
                notes,
                "{}: the budget of `compare` sufficed for {} of the test examples.",
                titled(case),
                part.n_test
            );
        }
    }
    for (condition, cases) in conditions {
        let _ = writeln!(notes, "`compare` with {condition}: {}.", cases.join("; "));
    }
    if !notes.is_empty() {
        let _ = write!(text, "\n{notes}");
    }
}

fn titled(case: &CaseParts) -> String {
    format!("{}, {} rows", case.dataset, case.rows)
}

fn cell(side: &Side, best: Option<&Side>) -> String {
    let regret = best.and_then(|best| regret(best, side));
    let regret = regret.map_or(String::new(), |regret| format!(" ({regret:.1})"));
    let test = side.test.map_or("no score".to_string(), |test| {
        format!("{:.1}", test * 100.0)
    });
    let setting = match side.setting.as_str() {
        "" => String::new(),
        setting => format!(", {setting}"),
    };
    format!("{test}{regret}{setting}")
}
