//! The table beside a figure of lines: what each strategy reaches, and how soon.

use crate::figures::curves::counts;
use crate::figures::curves::summary::{CurvesSummary, GroupSummary};
use crate::tables::grid::{Grid, GridCell, GridPart};
use crate::text::{csv_field, fixed, seconds};

/// Digits of a score.
const DIGITS: usize = 3;

/// One part per task, one row per line.
pub(crate) fn table(id: String, title: String, tasks: &[CurvesSummary]) -> Grid {
    let head = [
        "Strategy",
        "Best score",
        "s per epoch",
        "s in all",
        "Area",
        "s to 90 %",
        "s to 95 %",
        "s to 99 %",
        "Runs",
    ];
    Grid {
        id,
        title,
        head: head.map(str::to_owned).to_vec(),
        parts: tasks.iter().map(part).collect(),
        notes: vec![NOTE.to_owned()],
        csv: csv(tasks),
        ..Grid::default()
    }
}

/// How the columns are to be read.
const NOTE: &str = "Read off the mean lines. s: seconds of training, with computing kept states of frozen layers and without evaluation. \
Area: mean score in hand over the time from 0 to the end of the slowest line, 0 until the first epoch is finished; a line that ends \
before keeps its best. s to 90 %: until that share of the best score of any line is reached, by straight lines between epochs";

fn part(task: &CurvesSummary) -> GridPart {
    let mut title = format!("{} ({} on {})", task.title, task.metric, task.split);
    if let Some((budget, best)) = task.budget_seconds.zip(task.best_score) {
        title.push_str(&format!(
            ": area until {} seconds; best mean score {}",
            seconds(budget),
            fixed(best, DIGITS)
        ));
    }
    let groups = &task.groups;
    let highest = |value: fn(&GroupSummary) -> Option<f64>| {
        groups.iter().filter_map(value).max_by(f64::total_cmp)
    };
    let (best, area) = (
        highest(|group| group.best_score),
        highest(|group| group.area),
    );
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
        let number =
            |value: Option<f64>, best: Option<f64>, shown: &dyn Fn(f64) -> String| GridCell {
                main: value.map_or(String::new(), shown),
                beside: String::new(),
                best: is_best(value, best),
                ..GridCell::default()
            };
        let score = |value: f64| fixed(value, DIGITS);
        let mut cells = vec![
            GridCell::of(&group.title),
            GridCell {
                beside: group
                    .best_epoch
                    .map_or(String::new(), |epoch| format!("epoch {epoch}")),
                ..number(group.best_score, best, &score)
            },
            number(group.seconds_per_epoch, None, &seconds),
            number(group.seconds_to_end, None, &seconds),
            number(group.area, area, &score),
        ];
        cells.extend((0..3).map(|at| match group.time_to.get(at) {
            Some(time) if time.seconds.is_none() => GridCell::of("never"),
            time => number(time.and_then(|time| time.seconds), soonest(at), &seconds),
        }));
        cells.push(GridCell {
            beside: counts(&group.lost),
            ..GridCell::of(match group.runs {
                0 => "no run".to_owned(),
                runs => runs.to_string(),
            })
        });
        cells
    };
    GridPart {
        title,
        rows: groups.iter().map(row).collect(),
    }
}

fn csv(tasks: &[CurvesSummary]) -> String {
    let mut text = String::from(
        "task,group,metric,split,best_score,best_epoch,seconds_per_epoch,seconds_to_end,budget_seconds,area,seconds_to_90,\
         seconds_to_95,seconds_to_99,runs,stops,lost\n",
    );
    for task in tasks {
        for group in &task.groups {
            let number =
                |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let time = |at: usize| number(group.time_to.get(at).and_then(|time| time.seconds));
            let fields = [
                csv_field(&task.task),
                csv_field(&group.group),
                csv_field(&task.metric),
                csv_field(&task.split),
                number(group.best_score),
                group
                    .best_epoch
                    .map_or(String::new(), |epoch| epoch.to_string()),
                number(group.seconds_per_epoch),
                number(group.seconds_to_end),
                number(task.budget_seconds),
                number(group.area),
                time(0),
                time(1),
                time(2),
                group.runs.to_string(),
                csv_field(&counts(&group.stops)),
                csv_field(&counts(&group.lost)),
            ];
            text.push_str(&fields.join(","));
            text.push('\n');
        }
    }
    text
}
