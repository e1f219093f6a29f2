//! The table next to a figure of lines: the scores and times of each strategy.

use totune_evidence::text::{counts, fixed, seconds};

use super::summary::{CurvesSummary, GroupSummary};
use crate::figures::DIGITS;
use crate::tables::rendered::{Cell, Csv, RenderedTable, RowGroup, number};

/// One part per task, one row per line.
pub(super) fn table(tasks: &[CurvesSummary]) -> RenderedTable {
    let titles = [
        "Score",
        "s per epoch",
        "s in all",
        "Area",
        "s to 90 %",
        "s to 95 %",
        "s to 99 %",
        "Runs",
    ];
    RenderedTable {
        columns: RenderedTable::columns_of("Strategy", titles.map(str::to_owned)),
        parts: tasks.iter().map(part).collect(),
        notes: vec![NOTE.to_owned()],
        csv: csv(tasks),
        ..RenderedTable::default()
    }
}

/// Explanation of the columns.
const NOTE: &str = "Score: mean of the runs' own final scores, with the epoch chosen on dev where the runs choose one, and never by a score on test. \
A mark of a curve is what a run would score if it ended there, by the same rule. \
s: seconds of training, with the time to fill the cache of frozen layers and without evaluation. \
Area: mean score in hand over the time from 0 to the end of the slowest curve, the floor until the first epoch is finished. \
s to 90 %: until that share of the best score's gain over the floor is first reached, interpolated linearly between epochs; the floor \
is the first dashed line, or guessing (the share of the most frequent class; 0 for correlations, Matthews' coefficient and spans), \
and without one there is no area and no share";

fn part(task: &CurvesSummary) -> RowGroup {
    let mut title = format!("{} ({} on {})", task.title, task.metric, task.split);
    if let Some((budget, best)) = task.budget_seconds.zip(task.best_score) {
        title.push_str(&format!(
            ": area until {} seconds; best mean score {}",
            seconds(budget),
            fixed(best, DIGITS)
        ));
    }
    if let Some(floor) = task.floor {
        title.push_str(&format!("; floor {}", fixed(floor, DIGITS)));
    }
    let groups = &task.groups;
    let highest = |value: fn(&GroupSummary) -> Option<f64>| {
        groups.iter().filter_map(value).max_by(f64::total_cmp)
    };
    let (best, area) = (highest(|group| group.score), highest(|group| group.area));
    let soonest = |at: usize| {
        let times = groups
            .iter()
            .filter_map(move |group| group.time_to.get(at)?.seconds);
        times.min_by(f64::total_cmp)
    };
    // With one line there is nothing to be better than.
    let is_best = |value: Option<f64>, best: Option<f64>| {
        groups.len() > 1 && value.is_some() && value == best
    };
    let row = |group: &GroupSummary| {
        let number = |value: Option<f64>, best: Option<f64>, shown: fn(f64) -> String| Cell {
            best: is_best(value, best),
            ..Cell::of(value.map_or(String::new(), shown))
        };
        let score = |value: f64| fixed(value, DIGITS);
        let mut cells = vec![
            Cell::of(&group.title),
            number(group.score, best, score),
            number(group.seconds_per_epoch, None, seconds),
            number(group.seconds_to_end, None, seconds),
            number(group.area, area, score),
        ];
        cells.extend((0..3).map(|at| match group.time_to.get(at) {
            Some(time) if time.seconds.is_none() => Cell::of("never"),
            time => number(time.and_then(|time| time.seconds), soonest(at), seconds),
        }));
        let runs = match group.runs {
            0 => "no run".to_owned(),
            runs => runs.to_string(),
        };
        cells.push(Cell::of(runs).detail(counts(&group.lost)));
        cells
    };
    RowGroup {
        title,
        rows: groups.iter().map(row).collect(),
    }
}

fn csv(tasks: &[CurvesSummary]) -> Csv {
    let mut csv = Csv::new(
        "task,group,metric,split,score,floor,seconds_per_epoch,seconds_to_end,budget_seconds,area,seconds_to_90,\
         seconds_to_95,seconds_to_99,runs,stops,lost",
    );
    for task in tasks {
        for group in &task.groups {
            let time = |at: usize| group.time_to.get(at).and_then(|time| time.seconds);
            let names = [&task.task, &group.group, &task.metric, &task.split].map(String::clone);
            let best = [group.score, task.floor].map(number);
            let seconds = [
                group.seconds_per_epoch,
                group.seconds_to_end,
                task.budget_seconds,
            ];
            let times = [group.area, time(0), time(1), time(2)];
            let numbers = seconds.into_iter().chain(times).map(number);
            let runs = [
                group.runs.to_string(),
                counts(&group.stops),
                counts(&group.lost),
            ];
            csv.line(names.into_iter().chain(best).chain(numbers).chain(runs));
        }
    }
    csv
}
