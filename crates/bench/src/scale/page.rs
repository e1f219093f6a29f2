//! The page of `bench scale` as Markdown. Every figure comes from its [`Scale`].

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use totune_disk::write_atomically;

use super::BESIDE;
use super::results::{Scale, Size, Step};

/// The number of runs that the goals are for.
const GOAL_SIZE: usize = 100_000;
/// Seconds that a step of that many runs may take.
const SECONDS: [(Step, f64); 4] = [
    (Step::PlanNone, 5.0),
    (Step::PlanDone, 5.0),
    (Step::Status, 5.0),
    (Step::Collect, 60.0),
];
/// Bytes that collecting that many runs may hold.
const COLLECT_BYTES: f64 = 1024.0 * 1024.0 * 1024.0;
/// Processor seconds that a run may take besides its arithmetic.
const OVERHEAD: f64 = 0.2;

impl Scale {
    /// Writes `scale.json` and `scale.md` into `folder`, which is made where it does not exist.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
        let json = format!("{}\n", serde_json::to_string_pretty(self)?);
        write_atomically(&folder.join("scale.json"), json.as_bytes())?;
        write_atomically(&folder.join("scale.md"), markdown(self).as_bytes())
    }
}

/// The page: machine and program, a table of steps by number of runs, and the goals.
pub fn markdown(scale: &Scale) -> String {
    let mut text = format!(
        "# Commands by the number of runs\n\nWritten by `./justw bench {}`.\nMachine: {}.\nProgram: {}.\n",
        scale.benchmark, scale.machine, scale.build
    );
    let _ = writeln!(
        text,
        "A run fits a logistic regression to the word counts of a few hundred fixture tweets, so its time is mostly that of starting, recording and publishing it.\n\
         Each command is a process of its own, with the files in the system's cache; a cell has seconds, and the peak memory of the largest process.\n\
         Every run was published once, by a single attempt.\n\
         The page of `report` summarises the scores of all runs. `reproduce` runs, collects and reports another paper, which has {} runs at every size, in the same store.\n\
         The load average is that of the minute before a size, to which the workers of an earlier size add.\n",
        BESIDE.1
    );
    table(&mut text, &scale.sizes);
    goals(&mut text, &scale.sizes);
    text
}

fn table(text: &mut String, sizes: &[Size]) {
    let mut row = |heading: &str, cell: &dyn Fn(&Size) -> String| {
        let cells: Vec<String> = sizes.iter().map(cell).collect();
        let _ = writeln!(text, "| {heading} | {} |", cells.join(" | "));
    };
    row("runs", &|size| size.runs.to_string());
    row(":---", &|_| "---:".to_string());
    row("workers at once", &|size| size.workers.to_string());
    row("load average before", &|size| {
        size.load.map_or(String::new(), |load| format!("{load:.1}"))
    });
    for step in Step::ALL {
        row(step.title(), &|size| match size.costs.get(&step) {
            Some(cost) => {
                let megabytes = cost.peak_memory as f64 / 1e6;
                format!("{:.1} s, {megabytes:.0} MB", cost.seconds)
            }
            None => String::new(),
        });
    }
    row("processor time of a run", &|size| {
        let seconds = size.cpu_seconds_of_a_run();
        seconds.map_or(String::new(), |seconds| format!("{:.0} ms", seconds * 1e3))
    });
    row("most entries of a folder", &|size| {
        size.most_entries.to_string()
    });
}

fn goals(text: &mut String, sizes: &[Size]) {
    let Some(size) = sizes.iter().find(|size| size.runs == GOAL_SIZE) else {
        return;
    };
    let _ = write!(
        text,
        "\n## Goals for {GOAL_SIZE} runs\n\n| | at most | found | reached |\n|---|---:|---:|---|\n"
    );
    let mut goal = |what: &str, unit: &str, most: f64, found: f64| {
        let reached = if found <= most { "yes" } else { "**no**" };
        let _ = writeln!(
            text,
            "| {what} | {most:.1} {unit} | {found:.2} {unit} | {reached} |"
        );
    };
    for (step, most) in SECONDS {
        if let Some(cost) = size.costs.get(&step) {
            goal(step.title(), "s", most, cost.seconds);
        }
    }
    if let Some(cost) = size.costs.get(&Step::Collect) {
        let gib = |bytes: f64| bytes / COLLECT_BYTES;
        goal(
            "memory of `collect`",
            "GiB",
            1.0,
            gib(cost.peak_memory as f64),
        );
    }
    if let Some(found) = size.cpu_seconds_of_a_run() {
        goal("processor time of a run", "s", OVERHEAD, found);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::scale::Cost;

    #[test]
    fn the_page_has_a_column_for_each_size_and_judges_the_largest() {
        let cost = |seconds| Cost {
            seconds,
            cpu_seconds: 1e4,
            peak_memory: 2 << 30,
        };
        let size = |runs, seconds| Size {
            runs,
            workers: 64,
            load: Some(0.25),
            most_entries: 400,
            costs: BTreeMap::from_iter(Step::ALL.map(|step| (step, cost(seconds)))),
        };
        let scale = Scale {
            sizes: vec![size(1000, 0.5), size(GOAL_SIZE, 4.0)],
            ..Scale::default()
        };
        let page = markdown(&scale);
        for expected in [
            "| runs | 1000 | 100000 |",
            "| `sweep plan`, none done | 0.5 s, 2147 MB | 4.0 s, 2147 MB |",
            "| `collect` | 60.0 s | 4.00 s | yes |",
            "| memory of `collect` | 1.0 GiB | 2.00 GiB | **no** |",
            "| processor time of a run | 0.2 s | 0.10 s | yes |",
        ] {
            assert!(page.contains(expected), "{expected} in\n{page}");
        }
        let small = Scale {
            sizes: vec![size(1000, 0.5)],
            ..Scale::default()
        };
        assert!(!markdown(&small).contains("Goals"));
    }
}
