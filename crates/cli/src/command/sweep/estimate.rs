//! An estimate of the time of runs, from a few steps of each kind.

use std::sync::atomic::Ordering;

use anyhow::Result;
use totune_sweep::{Estimate, KindCost, Plan, Timing};

use crate::context::Context;
use crate::exit;
use crate::print;

/// Times each kind of run of `plan` for `seconds` and prints what the plan will take, as JSON if `json`.
pub(super) fn run(context: &Context, plan: &Plan, seconds: f64, json: bool) -> Result<u8> {
    let quiet = context.global.quiet;
    let progress = |timing: &Timing| {
        if !quiet {
            eprintln!("{}", progress_line(timing));
        }
    };
    let machine = context.machine()?;
    let environment = context.environment(&machine);
    let estimate = totune_sweep::estimate(plan, environment, seconds, &progress)?;
    if json {
        print::json(&estimate)?;
    } else {
        print(&estimate);
    }
    Ok(if machine.stop.load(Ordering::Relaxed) {
        exit::STOPPED
    } else {
        exit::OK
    })
}

fn progress_line(timing: &Timing) -> String {
    match timing {
        Timing::Begins { number, of, label } => format!("timing {number} of {of}: {label}"),
        Timing::Ends(kind) => format!(
            "  {:.3} s a step (timed {}), {:.2} hours for {} runs",
            kind.seconds_per_step,
            timed(kind),
            kind.hours,
            kind.runs
        ),
    }
}

/// Formats the timed steps: `2 x 32`, or `2 x 4 of 32` where a step of a whole batch was too long.
fn timed(kind: &KindCost) -> String {
    let (steps, examples) = (kind.timed.steps, kind.timed.examples);
    if examples < kind.batch_size {
        format!("{steps} x {examples} of {}", kind.batch_size)
    } else {
        format!("{steps} x {examples}")
    }
}

fn print(estimate: &Estimate) {
    println!(
        "{:>6}  {:>9}  {:>10}  {:>12}  {:>9}  kind (on {})",
        "runs", "steps", "s a step", "timed", "hours", estimate.device
    );
    for kind in &estimate.kinds {
        println!(
            "{:>6}  {:>9}  {:>10.3}  {:>12}  {:>9.2}  {}",
            kind.runs,
            kind.steps,
            kind.seconds_per_step,
            timed(kind),
            kind.hours,
            kind.label
        );
    }
    println!(
        "{:>6}  {:>9}  {:>10}  {:>12}  {:>9.2}  all {} kinds, at most: all epochs, 30 tokens a text, evaluation included, no restarts",
        estimate.kinds.iter().map(|kind| kind.runs).sum::<usize>(),
        estimate.kinds.iter().map(|kind| kind.steps).sum::<u64>(),
        "",
        "",
        estimate.hours,
        estimate.kinds.len()
    );
    for (why, runs) in &estimate.left_out {
        println!("{runs:>6}  left out: {why}");
    }
    for (name, runs) in &estimate.absent {
        println!("{runs:>6}  need files of `{name}`, which are missing");
    }
}
