//! Frequencies of the rule's verdicts when the truth is known, by simulation; the table of `docs/statistics.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Verdict;
use crate::claims::verdict::{Rule, Test};
use crate::compare::Comparison;
use crate::compare::strata::{in_general, unpaired};

/// Points are the unit: seeds have a standard deviation of one, and one is the margin.
const RULE: Rule = Rule {
    margin: 1.0,
    test: Test::T,
    paper_runs: 1.0,
};
/// Draws of each cell of the table.
const ROUNDS: usize = 10_000;
/// Lines of `docs/statistics.md` that enclose the tables.
const BEGIN: &str = "<!-- calibration -->\n";
const END: &str = "<!-- /calibration -->\n";

/// Numbers of tasks and seeds of a simulated comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Size {
    tasks: usize,
    seeds: usize,
}

/// For each of [`CLAIMS`] the shares of its verdicts on `rounds` draws of `size` with a true difference of `truth` on each
/// task.
fn shares(size: Size, truth: f64, rounds: usize) -> [BTreeMap<Verdict, f64>; 4] {
    let seed = (size.tasks * 100 + size.seeds) as u64;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut found = [const { BTreeMap::new() }; 4];
    for _ in 0..rounds {
        let mut side = |centre: f64| -> Vec<Vec<f64>> {
            let mut values = || {
                (0..size.seeds)
                    .map(|_| centre + normal(&mut random))
                    .collect()
            };
            (0..size.tasks).map(|_| values()).collect()
        };
        let (a, b) = (side(truth), side(0.0));
        let comparison = compared(&a, &b);
        for (claim, found) in CLAIMS.iter().zip(&mut found) {
            *found.entry((claim.verdict)(&comparison)).or_default() += 1.0 / rounds as f64;
        }
    }
    found
}

/// Both sides over the tasks, without the permutation test, which would take most of the time.
fn compared(a: &[Vec<f64>], b: &[Vec<f64>]) -> Comparison {
    let weight = 1.0 / a.len() as f64;
    let samples: Vec<(f64, &[f64])> = a
        .iter()
        .zip(b)
        .flat_map(|(a, b)| [(weight, &a[..]), (-weight, &b[..])])
        .collect();
    let estimate = totune_stats::Estimate::of_samples(&samples).unwrap();
    let mean = totune_stats::mean;
    let parts = a.iter().zip(b).map(|(a, b)| mean(a) - mean(b)).collect();
    Comparison::of(estimate, "", a[0].len() as f64, parts)
}

/// A normal number with standard deviation 1 (Box and Muller).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (radius, angle): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// A claim about a difference whose truth is known.
struct Claimed {
    title: &'static str,
    verdict: fn(&Comparison) -> Verdict,
    /// Whether the claim is true of a difference, and whether its opposite is.
    is_true: fn(f64) -> bool,
    is_false: fn(f64) -> bool,
}

const CLAIMS: [Claimed; 4] = [
    Claimed {
        title: "A is better than B",
        verdict: |found| RULE.greater(std::slice::from_ref(found)),
        is_true: |truth| truth > 0.0,
        is_false: |truth| truth <= 0.0,
    },
    Claimed {
        title: "A is better by 2 points",
        verdict: |found| RULE.near(std::slice::from_ref(found), &[2.0]),
        is_true: |truth| truth > 1.0,
        is_false: |truth| truth <= 0.0,
    },
    Claimed {
        title: "A and B are alike within 1 point",
        verdict: |found| RULE.equivalent(std::slice::from_ref(found)),
        is_true: |truth| truth.abs() < 1.0,
        is_false: |truth| truth.abs() > 1.0,
    },
    Claimed {
        title: "A is not behind by 1 point",
        verdict: |found| RULE.non_inferior(std::slice::from_ref(found)),
        is_true: |truth| truth > -1.0,
        is_false: |truth| truth < -1.0,
    },
];

/// True differences of the table; 1 is the margin and half of the claimed size.
const TRUTHS: [f64; 5] = [0.0, 1.0, 2.0, 3.0, -2.0];
/// True differences at which a verdict can be false, with the edges of every claim.
const FALSE: [f64; 5] = [0.0, 1.0, 3.0, -1.0, -2.0];

/// The largest share of a false verdict over all claims, truths and sizes, with where it was.
fn worst(rounds: usize, sizes: &[Size]) -> (f64, String) {
    let mut worst = (0.0, String::new());
    for (&size, truth) in sizes
        .iter()
        .flat_map(|size| FALSE.map(|truth| (size, truth)))
    {
        for (claim, found) in CLAIMS.iter().zip(shares(size, truth, rounds)) {
            let share = |verdict| found.get(&verdict).copied().unwrap_or(0.0);
            for (verdict, is_right) in [
                (Verdict::Reproduced, claim.is_true),
                (Verdict::Contradicted, claim.is_false),
            ] {
                if !is_right(truth) && share(verdict) > worst.0 {
                    let place = format!("{}, {size:?}, truth {truth}: {verdict:?}", claim.title);
                    worst = (share(verdict), place);
                }
            }
        }
    }
    worst
}

fn sizes() -> Vec<Size> {
    let each = |tasks| [3, 5, 10].map(|seeds| Size { tasks, seeds });
    [1, 4, 8].into_iter().flat_map(each).collect()
}

/// Verdicts in the order of a cell, and the shares of them that `fixtures/make/verdicts.py` finds with a rule of its own.
#[derive(serde::Deserialize)]
struct Reference {
    tasks: usize,
    seeds: usize,
    truth: f64,
    shares: [[f64; 4]; 4],
}

#[test]
fn another_simulation_of_the_rule_comes_to_the_same_shares() {
    let text = include_str!("../../../../../fixtures/stats/verdicts.json");
    let cases: Vec<Reference> = serde_json::from_str(text).unwrap();
    let rounds = 400;
    for case in cases {
        let Reference {
            tasks,
            seeds,
            truth,
            shares: expected,
        } = case;
        let found = shares(Size { tasks, seeds }, truth, rounds);
        for (claim, (found, expected)) in CLAIMS.iter().zip(found.iter().zip(expected)) {
            for (verdict, expected) in Verdict::ALL.iter().zip(expected) {
                let found = found.get(verdict).copied().unwrap_or(0.0);
                // Four and a half standard errors and a little for shares near 0, of 400 comparisons here.
                let slack = 4.5 * (expected * (1.0 - expected) / rounds as f64).sqrt() + 0.01;
                assert!(
                    (found - expected).abs() < slack,
                    "{}, {tasks} x {seeds}, truth {truth}: {verdict:?} {found}, expected {expected}",
                    claim.title
                );
            }
        }
    }
}

/// Three standard errors of a share of 5 %.
fn slack(rounds: usize) -> f64 {
    3.0 * (0.05 * 0.95 / rounds as f64).sqrt()
}

#[test]
fn false_verdicts_stay_within_five_percent_on_every_build() {
    let sizes = [Size { tasks: 1, seeds: 3 }, Size { tasks: 4, seeds: 3 }];
    let rounds = 2000;
    let (share, place) = worst(rounds, &sizes);
    assert!(share <= 0.05 + slack(rounds), "{place}: {share}");
}

#[test]
#[ignore = "takes a minute"]
fn false_verdicts_are_at_most_five_percent() {
    let (share, place) = worst(ROUNDS, &sizes());
    assert!(share <= 0.05 + slack(ROUNDS), "{place}: {share}");
}

#[test]
#[ignore = "writes docs/statistics.md"]
fn write_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/statistics.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let table = format!("{before}{BEGIN}{}{END}{after}", table(ROUNDS));
    std::fs::write(path, table).unwrap();
}

/// Per cent reproduced / in direction / not decided / contradicted, for every claim, size and truth.
fn table(rounds: usize) -> String {
    let heads = TRUTHS
        .map(|truth| format!(" true difference {truth} |"))
        .concat();
    let rules = "---|".repeat(TRUTHS.len());
    let mut texts = CLAIMS.each_ref().map(|claim| {
        format!(
            "\n{}:\n\n| tasks × seeds |{heads}\n|---|{rules}\n",
            claim.title
        )
    });
    for size in sizes() {
        let found = TRUTHS.map(|truth| shares(size, truth, rounds));
        for (at, text) in texts.iter_mut().enumerate() {
            let cells = found.each_ref().map(|found| cell(&found[at]));
            let Size { tasks, seeds } = size;
            writeln!(text, "| {tasks} × {seeds} | {} |", cells.join(" | ")).unwrap();
        }
    }
    texts.concat() + "\n"
}

fn cell(shares: &BTreeMap<Verdict, f64>) -> String {
    let each = Verdict::ALL[..4].iter().map(|verdict| {
        let share = shares.get(verdict).copied().unwrap_or(0.0);
        format!("{:.0}", 100.0 * share)
    });
    each.collect::<Vec<_>>().join(" / ")
}

/// The table of power in `docs/statistics.md`: seeds a side, the difference detected and the margin shown in 80 % of cases.
const POWERS: [(usize, f64, f64); 3] = [(3, 3.5, 3.2), (5, 2.1, 2.1), (10, 1.3, 1.4)];

#[test]
fn the_documented_power_is_that_of_the_test() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for (seeds, detected, margin) in POWERS {
        let mut side = || -> Vec<f64> { (0..seeds).map(|_| normal(&mut random)).collect() };
        let (mut differences, mut margins): (Vec<f64>, Vec<f64>) = (0..4000)
            .map(|_| {
                let found = compared(&[side()], &[side()]);
                // The true difference at which the 95 % interval would exclude 0, and the margin that the 90 % interval
                // would lie within.
                let high = found.interval.high - 2.0 * found.difference;
                (high, found.narrow.high.max(-found.narrow.low))
            })
            .unzip();
        for (values, expected) in [(&mut differences, detected), (&mut margins, margin)] {
            values.sort_by(f64::total_cmp);
            let found = values[values.len() * 4 / 5];
            assert!(
                (found - expected).abs() < 0.12,
                "{seeds} seeds: {found}, documented {expected}"
            );
        }
        let line = format!("| {seeds} | {detected} | {margin} |");
        assert!(
            include_str!("../../../../../docs/statistics.md").contains(&line),
            "{line}"
        );
    }
}

#[test]
fn pooled_runs_would_not_hold_what_means_over_tasks_do() {
    // Eight tasks whose true differences have a standard deviation of two and a mean of 0: what is true of tasks in general.
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let (mut pooled, mut clustered) = (0, 0);
    let rounds = 1000;
    for _ in 0..rounds {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..8 {
            let centre = 2.0 * normal(&mut random);
            a.push(
                (0..3)
                    .map(|_| centre + normal(&mut random))
                    .collect::<Vec<f64>>(),
            );
            b.push((0..3).map(|_| normal(&mut random)).collect::<Vec<f64>>());
        }
        let (all_a, all_b) = (a.concat(), b.concat());
        pooled += usize::from(unpaired(&[(1.0, &all_a, &all_b)]).unwrap().p < 0.05);
        let mean = totune_stats::mean;
        let means = a.iter().zip(&b).map(|(a, b)| mean(a) - mean(b)).collect();
        clustered += usize::from(in_general(means).unwrap().p < 0.05);
    }
    let share = |n: usize| n as f64 / f64::from(rounds);
    assert!(share(pooled) > 0.15, "{}", share(pooled));
    assert!(share(clustered) < 0.05 + 0.021, "{}", share(clustered));
}
