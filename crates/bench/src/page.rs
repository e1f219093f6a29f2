//! The page of a benchmark as Markdown. Every figure comes from its [`Results`].

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use totune_data::TextTable;
use totune_disk::write_atomically;
use totune_stats::number::count;

use crate::comparison::{Measure, Unit};
use crate::counted;
use crate::goals;
use crate::results::{Outcome, Results, Timing};

impl Results {
    /// Writes `<benchmark>.json` and `<benchmark>.md` into `folder`, which is made where it does not exist.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
        let file = |ending: &str| folder.join(format!("{}.{ending}", self.benchmark));
        let json = format!("{}\n", serde_json::to_string_pretty(self)?);
        write_atomically(&file("json"), json.as_bytes())?;
        write_atomically(&file("md"), markdown(self).as_bytes())
    }
}

/// The page: machine and settings, a table of all cases, and the targets that were reached.
pub fn markdown(results: &Results) -> String {
    let mut text = format!("# {}\n\n", results.title);
    for line in about(results).lines() {
        let _ = writeln!(text, "- {line}");
    }
    text.push('\n');
    if results.measure == Measure::Operators {
        return text + &counted::tables(results);
    }
    text.push_str(&table(results).markdown());
    text.push_str(&goals::table(results));
    if !results.appendix.is_empty() {
        let _ = write!(text, "\n{}", results.appendix);
    }
    text
}

/// Sentences on what was measured, where and how, a line each.
fn about(results: &Results) -> String {
    let mut text = format!(
        "Written by `./justw bench {}`.\nMachine: {}.\n",
        results.benchmark, results.machine
    );
    if results.measure == Measure::Time {
        text.push_str(&threads_and_load(results));
    }
    let lines = measured(results).into_iter().chain(versions(results));
    for line in lines.chain(results.notes.iter().cloned()) {
        let _ = writeln!(text, "{line}");
    }
    if results.measure == Measure::Operators {
        return text + "A ratio below 1 means that the side of the row dispatches fewer.\n";
    }
    text.push_str(
        "Each side runs in a process of its own while the others sleep; rounds alternate; medians are over all laps after the warm-up. \
         `spread` is half of the distance between the quartiles of the laps, as a share of the median.\n\
         A ratio above 1 means that the side in the heading is faster.\n",
    );
    text.push_str(&products(results));
    text
}

fn threads_and_load(results: &Results) -> String {
    let mut threads: Vec<usize> = results.outcomes.iter().map(|one| one.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let threads: Vec<String> = threads.iter().map(usize::to_string).collect();
    let mut text = format!("Threads of each side: {}.\n", threads.join(" or "));
    let loads = || results.outcomes.iter().filter_map(|one| one.load);
    let (least, most) = (
        loads().fold(f64::INFINITY, f64::min),
        loads().fold(0.0, f64::max),
    );
    if least.is_finite() {
        let _ = writeln!(
            text,
            "Load average before the cases: {least:.1} to {most:.1}."
        );
    }
    // A case leaves its own load behind, so only what is there before the first one tells of other work.
    let first = results.outcomes.first().and_then(|one| one.load);
    if first.is_some_and(|load| load > 0.5) {
        text.push_str(
            "Other jobs ran on the same machine: treat the timings as approximate; ratios are less affected.\n",
        );
    }
    text
}

/// A sentence on the share of the product, with its speed.
fn products(results: &Results) -> String {
    let timings = results.outcomes.iter().flat_map(|outcome| &outcome.sides);
    let found: Vec<f64> = timings.filter_map(|timing| timing.product).collect();
    let (Some(least), Some(most)) = (
        found.iter().copied().reduce(f64::min),
        found.iter().copied().reduce(f64::max),
    ) else {
        return String::new();
    };
    let rows = count(results.square as u64);
    format!(
        "GFLOP/s count the matrix products of the network, forward and backward, and nothing else. `of the product` is their share of those of a plain \
         product of {rows} x {rows} matrices by LibTorch in the same dtype on as many threads ({least:.0} to {most:.0} GFLOP/s), which takes turns with \
         the sides.\n"
    )
}

/// Days and commits of the cases, where they were recorded, and the cases that were not measured.
fn measured(results: &Results) -> Vec<String> {
    let mut all: Vec<(String, usize)> = Vec::new();
    for outcome in results.outcomes.iter().filter(|one| !one.day.is_empty()) {
        let (hash, changed) = match outcome.commit.strip_suffix('+') {
            Some(hash) => (hash, " with changes"),
            None => (outcome.commit.as_str(), ""),
        };
        let short = hash.get(..8).unwrap_or("unknown");
        let when = format!("on {} at commit {short}{changed}", outcome.day);
        match all.iter_mut().find(|(other, _)| *other == when) {
            Some((_, cases)) => *cases += 1,
            None => all.push((when, 1)),
        }
    }
    let lines = all.into_iter().map(|(when, cases)| {
        let s = if cases == 1 { "" } else { "s" };
        format!("Measured {when}: {cases} case{s}.")
    });
    let missing = results.missing();
    let missing = (!missing.is_empty()).then(|| format!("Not measured: {}.", missing.join("; ")));
    lines.chain(missing).collect()
}

fn versions(results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    for timing in results.outcomes.iter().flat_map(|outcome| &outcome.sides) {
        let line = format!("Side: {} = {}.", timing.side, timing.version);
        if !all.contains(&line) {
            all.push(line);
        }
    }
    all
}

fn table(results: &Results) -> TextTable {
    let outcomes = &results.outcomes;
    let unit = outcomes.iter().find_map(|outcome| outcome.unit.as_ref());
    let several = outcomes
        .windows(2)
        .any(|two| two[0].threads != two[1].threads);
    let timings = || outcomes.iter().flat_map(|outcome| &outcome.sides);
    let mut facts: Vec<&String> = timings().flat_map(|timing| timing.facts.keys()).collect();
    facts.sort();
    facts.dedup();

    let mut head = vec!["case".to_string()];
    head.extend(several.then(|| "#threads".to_string()));
    head.extend(["side", "#median", "#laps", "#spread"].map(str::to_string));
    head.extend(unit.map(|unit| format!("#{}/s", unit.name)));
    let multiplies = outcomes.iter().any(|outcome| outcome.flop.is_some());
    if multiplies {
        head.extend(["#GFLOP/s", "#of the product"].map(str::to_string));
    }
    head.push("#peak memory".to_string());
    head.extend(facts.iter().map(|fact| format!("#{fact}")));
    let baselines = results.baselines.iter();
    head.extend(baselines.map(|name| format!("#side / {name}")));
    let mut table = TextTable::new(head);
    for outcome in outcomes {
        for (at, timing) in outcome.sides.iter().enumerate() {
            let mut row = vec![if at == 0 {
                outcome.case.clone()
            } else {
                String::new()
            }];
            row.extend(several.then(|| outcome.threads.to_string()));
            row.extend([timing.side.clone(), seconds(timing.median())]);
            row.extend([timing.seconds.len().to_string(), spread(&timing.seconds)]);
            if unit.is_some() {
                let rate = |unit: &Unit| format!("{:.0}", unit.per_lap / timing.median());
                row.push(outcome.unit.as_ref().map_or(String::new(), rate));
            }
            if multiplies {
                let gflops = outcome.gflops(timing);
                let share = gflops.zip(timing.product);
                let share = share.map(|(ours, product)| format!("{:.0} %", ours / product * 100.0));
                let gflops = gflops.map(|gflops| format!("{gflops:.0}"));
                row.extend([gflops, share].map(Option::unwrap_or_default));
            }
            row.push(format!("{:.0} MB", timing.peak_memory as f64 / 1e6));
            let fact = |name: &&String| timing.facts.get(*name);
            row.extend(
                facts
                    .iter()
                    .map(|name| fact(name).map_or(String::new(), number)),
            );
            let ratio = |name: &String| ratio(outcome, timing, name);
            row.extend(results.baselines.iter().map(ratio));
            table.row(row);
        }
    }
    table
}

/// Half of the distance between the quartiles of the laps, as a share of the median; empty for a single lap.
fn spread(laps: &[f64]) -> String {
    let quartiles = totune_stats::quartiles(laps);
    let half = (quartiles[3] - quartiles[1]) / 2.0;
    match laps.len() {
        0 | 1 => String::new(),
        _ => format!("{:.0} %", half / quartiles[2] * 100.0),
    }
}

/// The time of a side divided by the baseline's; empty for baselines themselves.
fn ratio(outcome: &Outcome, timing: &Timing, baseline: &str) -> String {
    let ratio = outcome.ratio(&timing.side, baseline);
    match ratio.filter(|_| timing.side != baseline) {
        Some(ratio) => format!("{ratio:.2}"),
        None => String::new(),
    }
}

/// Seconds with a unit that leaves one to four digits before the point.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 10.0 => format!("{s:.1} s"),
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 0.1 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.3} ms", s * 1e3),
    }
}

/// Four significant digits, or an exponent if that would be long.
fn number(value: &f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        a if (1e-3..1e5).contains(&a) => {
            let digits = (3 - a.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{value:.digits$}")
        }
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Comparison;
    use crate::machine::Machine;
    use crate::target::Target;

    fn timing(side: &str, seconds: &[f64]) -> Timing {
        Timing {
            side: side.to_string(),
            version: format!("{side} 1.0"),
            seconds: seconds.to_vec(),
            peak_memory: 5_000_000,
            product: Some(20.0),
            ..Timing::default()
        }
    }

    fn results() -> Results {
        let mut python = timing("python", &[0.5, 0.3, 0.4]);
        python.facts.insert("score".to_string(), 0.51234);
        let target = |at_least| Target::faster("totune", "python", at_least);
        let outcome = Outcome {
            case: "tiny".to_string(),
            threads: 2,
            day: "2026-11-30".to_string(),
            commit: format!("{:040}+", 7),
            load: Some(0.25),
            unit: Some(Unit {
                name: "tokens".to_string(),
                per_lap: 100.0,
            }),
            flop: Some(2e9),
            targets: vec![target(1.5), target(4.0), Target::product("totune", 0.4)],
            sides: vec![timing("totune", &[0.2, 0.2]), python],
        };
        Results {
            benchmark: "x".to_string(),
            title: "A title".to_string(),
            notes: vec!["A note.".to_string()],
            baselines: vec!["totune".to_string()],
            measure: Measure::Time,
            square: Comparison::SQUARE,
            machine: Machine::default(),
            outcomes: vec![outcome],
            cases: vec!["tiny, 2 threads".to_string(), "large, 1 thread".to_string()],
            appendix: String::new(),
        }
    }

    #[test]
    fn a_page_says_who_ran_how_fast_and_what_was_reached() {
        let page = markdown(&results());
        for line in [
            "# A title",
            "- Threads of each side: 2.",
            "- Load average before the cases: 0.2 to 0.2.",
            "- Measured on 2026-11-30 at commit 00000000 with changes: 1 case.",
            "- Not measured: large, 1 thread.",
            "- Side: python = python 1.0.",
            "- A note.",
            "| case | side | median | laps | spread | tokens/s | GFLOP/s | of the product | peak memory | score | side / totune |",
            "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
            "| tiny | totune | 200.0 ms | 2 | 0 % | 500 | 10 | 50 % | 5 MB |  |  |",
            "|  | python | 400.0 ms | 3 | 13 % | 250 | 5 | 25 % | 5 MB | 0.5123 | 2.00 |",
            "| tiny | 2 | totune faster than python | 1.50 | 2.00 | yes, of 2 laps |",
            "| tiny | 2 | totune faster than python | 4.00 | 2.00 | **no**, of 2 laps |",
            "| tiny | 2 | totune, share of the product | 0.40 | 0.50 | yes, of 2 laps |",
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "expected {line} in\n{page}"
            );
        }
        assert!(!page.contains("approximate"), "{page}");
        assert!(page.contains("(20 to 20 GFLOP/s)"), "{page}");
        let mut uncounted = results();
        uncounted.outcomes[0].flop = None;
        for timing in &mut uncounted.outcomes[0].sides {
            timing.product = None;
        }
        let page = markdown(&uncounted);
        assert!(!page.contains("FLOP"), "{page}");
        let row = "| tiny | 2 | totune, share of the product | 0.40 | not measured |  |";
        assert!(page.contains(row), "{page}");
    }

    #[test]
    fn a_busy_machine_is_confessed_and_threads_have_a_column_where_they_differ() {
        let mut results = results();
        results.outcomes[0].load = Some(3.0);
        let one = Outcome {
            threads: 1,
            ..results.outcomes[0].clone()
        };
        results.outcomes.push(one);
        let page = markdown(&results);
        assert!(page.contains("Threads of each side: 1 or 2."), "{page}");
        assert!(page.contains("treat the timings as approximate"), "{page}");
        assert!(page.contains("| case | threads | side |"), "{page}");
        assert!(page.contains("| tiny | 1 | totune |"), "{page}");
    }

    #[test]
    fn numbers_have_as_many_digits_as_they_mean() {
        for (value, expected) in [
            (0.0, "0"),
            (0.84301, "0.8430"),
            (148.82, "148.8"),
            (3668.0, "3668"),
            (7.2e-10, "7.2e-10"),
            (123_456.0, "1.2e5"),
        ] {
            assert_eq!(number(&value), expected);
        }
        for (value, expected) in [
            (34.871, "34.9 s"),
            (1.4662, "1.466 s"),
            (0.2935, "293.5 ms"),
            (0.00073, "0.730 ms"),
        ] {
            assert_eq!(seconds(value), expected);
        }
    }
}
