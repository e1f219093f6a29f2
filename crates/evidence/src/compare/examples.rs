//! Uncertainty of a difference due to the choice of test examples: the test set is resampled, the trained runs stay the
//! same.
//!
//! Seeds say how a difference varies over trainings, and more of them make that interval as narrow as one likes; the test set
//! stays the same for all of them (Dror et al. 2018, section 3.2). Both sides are scored on the same draws.

use totune_record::PredictionRow;
use totune_stats::metrics::{Kind, SpanEvaluation, parse_tag};
use totune_stats::{Interval, paired_bootstrap_of, spans};

use crate::plan::{Measure, TEST};
use crate::select::panel::Pair;
use crate::select::runs::{Run, Runs};
use crate::select::sample::LEVEL;

/// Number of resampled test sets.
const ROUNDS: usize = 2000;
/// Seed of the resampling, so that a page is the same whenever it is written.
const SEED: u64 = 13;
/// Tolerance between a recomputed score and the stored one.
const ROUNDING: f64 = 1e-6;

/// Contribution of an example to the sums that a score is a function of.
type ScoreSums = [f64; 6];
/// A score as a function of the sums.
type Score = fn(&ScoreSums) -> f64;

/// A run on the test set: one part for each example, and the score of their sum.
struct ScoredRun {
    parts: Vec<ScoreSums>,
    score: Score,
    /// Its share of the difference, negative for the second side.
    weight: f64,
}

/// The 95 % percentile interval of the difference of `metric` between both sides of `pairs`, a mean over pairs.
///
/// `None` where the predictions of a run were not stored, runs predicted other examples, or the stored score does not
/// follow from the predictions: accuracy, F1 of a class, Matthews' and Pearson's correlation and F1 of spans can be
/// computed from them.
pub(super) fn interval(pairs: &[Pair], metric: &str, runs: &Runs) -> Option<Interval> {
    let first = pairs.first()?.a.first()?;
    let of_first = runs.answered(first);
    let ids = || of_first.iter().map(|row| &row.example_id);
    let mut all = Vec::new();
    for pair in pairs {
        for (side, sign) in [(&pair.a, 1.0), (&pair.b, -1.0)] {
            for run in side {
                let rows = runs.answered(run);
                let same = ids().eq(rows.iter().map(|row| &row.example_id));
                let weight = sign / (side.len() * pairs.len()) as f64;
                all.push(same.then(|| ScoredRun::of(run, &rows, metric, weight))??);
            }
        }
    }
    let n = all[0].parts.len();
    let difference =
        |sample: &[usize]| -> f64 { all.iter().map(|run| run.weight * run.on(sample)).sum() };
    let found = paired_bootstrap_of(n, difference, ROUNDS, LEVEL, SEED)?;
    Some(found.interval)
}

impl ScoredRun {
    /// The parts whose sum reproduces the stored score.
    fn of(run: &Run, rows: &[PredictionRow], metric: &str, weight: f64) -> Option<Self> {
        let stored = run.number(&Measure::score(metric, TEST))?;
        candidates(rows, metric)
            .into_iter()
            .find_map(|(parts, score)| {
                let run = Self {
                    parts,
                    score,
                    weight,
                };
                let whole: Vec<usize> = (0..run.parts.len()).collect();
                ((run.on(&whole) - stored).abs() < ROUNDING).then_some(run)
            })
    }

    /// The score on the examples drawn.
    fn on(&self, sample: &[usize]) -> f64 {
        let mut sum = [0.0; 6];
        for &example in sample {
            for (sum, part) in sum.iter_mut().zip(&self.parts[example]) {
                *sum += part;
            }
        }
        (self.score)(&sum)
    }
}

/// Parts and scores that a metric of this name may mean; rows do not say which class is the positive one.
fn candidates(rows: &[PredictionRow], metric: &str) -> Vec<(Vec<ScoreSums>, Score)> {
    let each = |part: &dyn Fn(&PredictionRow) -> ScoreSums| {
        rows.iter().map(part).collect::<Vec<ScoreSums>>()
    };
    let classes = || {
        let mut classes: Vec<&str> = rows.iter().map(|row| &*row.gold).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    };
    match metric {
        "accuracy" => vec![(
            each(&|row| part(&[f(row.gold == row.predicted), 1.0])),
            share,
        )],
        "f1-positive" => (classes().into_iter())
            .map(|class| {
                (
                    each(&|row| counts([&row.gold, &row.predicted], class)),
                    f1 as Score,
                )
            })
            .collect(),
        "matthews" => match classes()[..] {
            [one, _] => vec![(
                each(&|row| confusion([&row.gold, &row.predicted], one)),
                matthews,
            )],
            _ => vec![],
        },
        "pearson" => {
            let numbers = rows.iter().map(|row| {
                let (x, y): (f64, f64) = (row.gold.parse().ok()?, row.predicted.parse().ok()?);
                Some([1.0, x, y, x * x, y * y, x * y])
            });
            let numbers = numbers.collect::<Option<Vec<ScoreSums>>>();
            numbers
                .map(|numbers| (numbers, pearson as Score))
                .into_iter()
                .collect()
        }
        "span-f1" => {
            let sentences = rows.chunk_by(|a, b| a.example_id == b.example_id);
            let sentences = sentences.map(sentence).collect::<Option<Vec<ScoreSums>>>();
            sentences
                .map(|sentences| (sentences, f1 as Score))
                .into_iter()
                .collect()
        }
        _ => vec![],
    }
}

/// A part of fewer numbers than the longest, filled up with zeros.
fn part(numbers: &[f64]) -> ScoreSums {
    let mut part = [0.0; 6];
    part[..numbers.len()].copy_from_slice(numbers);
    part
}

fn f(truth: bool) -> f64 {
    f64::from(u8::from(truth))
}

/// Twice the true positives, and the predicted plus the expected.
fn counts(answer: [&String; 2], class: &str) -> ScoreSums {
    let [expected, found] = answer.map(|label| f(label == class));
    part(&[2.0 * expected * found, expected + found])
}

/// The cells of the table of two classes.
fn confusion(answer: [&String; 2], one: &str) -> ScoreSums {
    let [expected, found] = answer.map(|label| f(label == one));
    let (not_expected, not_found) = (1.0 - expected, 1.0 - found);
    part(&[
        expected * found,
        not_expected * not_found,
        not_expected * found,
        expected * not_found,
    ])
}

/// The spans of a sentence as [`counts`] of a class; `None` where a label is no tag.
fn sentence(rows: &[PredictionRow]) -> Option<ScoreSums> {
    let found = |label: fn(&PredictionRow) -> &String| {
        let tags = rows.iter().map(|row| parse_tag(label(row)));
        let tags = tags.collect::<Option<Vec<(Kind, &str)>>>()?;
        Some(spans(tags, SpanEvaluation::Conlleval).collect::<Vec<_>>())
    };
    let (expected, found) = (found(|row| &row.gold)?, found(|row| &row.predicted)?);
    let both = found.iter().filter(|span| expected.contains(span)).count();
    let either = expected.len() + found.len();
    Some(part(&[2.0 * both as f64, either as f64]))
}

/// Accuracy.
fn share([right, n, ..]: &ScoreSums) -> f64 {
    right / n
}

/// 2 TP / (2 TP + FP + FN); 0 where nothing is expected or found.
fn f1([both, either, ..]: &ScoreSums) -> f64 {
    if *either > 0.0 { both / either } else { 0.0 }
}

/// Matthews' correlation coefficient; 0 where a class is neither expected nor found.
fn matthews([tp, tn, fp, fn_, ..]: &ScoreSums) -> f64 {
    let margins = (tp + fp) * (tp + fn_) * (tn + fp) * (tn + fn_);
    if margins > 0.0 {
        (tp * tn - fp * fn_) / margins.sqrt()
    } else {
        0.0
    }
}

/// Pearson's correlation; 0 where a side does not vary.
fn pearson([n, x, y, xx, yy, xy]: &ScoreSums) -> f64 {
    let (vx, vy) = (n * xx - x * x, n * yy - y * y);
    if vx > 0.0 && vy > 0.0 {
        (n * xy - x * y) / (vx * vy).sqrt()
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;
    use totune_record::{EvalRow, Tables};

    use super::*;
    use crate::compare::paired::{ComparedSide, PairedComparison};
    use crate::fixture;
    use crate::plan::{Side, Where};
    use crate::select::scope::Scope;

    /// Two sides of three runs each, as `fixtures/make/test_set.py` writes them: labels by example.
    #[derive(Deserialize)]
    struct Case {
        metric: String,
        gold: Vec<Vec<String>>,
        sides: [Vec<Vec<Vec<String>>>; 2],
        scores: [Vec<f64>; 2],
        interval: [f64; 2],
        /// Standard deviation over the draws.
        error: f64,
    }

    impl Case {
        fn tables(&self) -> Tables {
            let mut tables = Tables::default();
            let model = totune_synthetic::tables().runs.remove(0);
            for (name, (answers, scores)) in ["a", "b"]
                .into_iter()
                .zip(self.sides.iter().zip(&self.scores))
            {
                for (seed, (answers, &value)) in (1..).zip(answers.iter().zip(scores)) {
                    let mut row = model.clone();
                    row.run_id = format!("{name}-{seed}");
                    row.seed = seed;
                    row.dataset = "letters".into();
                    row.status = "ok".into();
                    row.spec = json!({ "work": { "side": name }, "seed": seed }).to_string();
                    tables.evals.push(EvalRow {
                        run_id: row.run_id.clone(),
                        phase: 0,
                        epoch: 1,
                        step: 1,
                        split: TEST.into(),
                        metric: self.metric.clone(),
                        value,
                        n: self.gold.len() as u64,
                        train_seconds: 1.0,
                        is_final: true,
                    });
                    for (example, (gold, found)) in self.gold.iter().zip(answers).enumerate() {
                        for (position, (gold, predicted)) in (0..).zip(gold.iter().zip(found)) {
                            tables.predictions.push(PredictionRow {
                                run_id: row.run_id.clone(),
                                split: TEST.into(),
                                example_id: format!("test-{example}"),
                                position,
                                gold: gold.clone(),
                                predicted: predicted.clone(),
                                scores: vec![],
                            });
                        }
                    }
                    tables.runs.push(row);
                }
            }
            tables
        }

        /// The interval of the first side minus the second.
        fn interval(&self, tables: Tables) -> Option<Interval> {
            let plan = fixture::plan(&format!(
                "[groups.a]\ntitle = 'A'\nwhere = {{ 'work.side' = 'a' }}\n\
                 [groups.b]\ntitle = 'B'\nwhere = {{ 'work.side' = 'b' }}\n\
                 [tasks.t]\ntitle = 'T'\ndatasets = ['letters']\nmetric = '{}'\nunit = ''\n",
                self.metric
            ));
            let (plan, runs) = (plan.unwrap(), Runs::new(tables).unwrap());
            let (sides, none) = (["a", "b"].map(|name| Side::One(name.into())), Where::new());
            let side = |at: usize| ComparedSide {
                title: "",
                side: &sides[at],
                conditions: &none,
            };
            let scope = Scope::new(&plan, &runs, "here");
            let paired = PairedComparison::new([side(0), side(1)], &[&plan.tasks["t"]], &scope);
            paired.unwrap().over_examples()[0]
        }
    }

    fn cases() -> Vec<Case> {
        let text = include_str!("../../../../fixtures/stats/test_set.json");
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn intervals_over_examples_are_those_of_scipy() {
        for case in cases() {
            let Interval { low, high } = case.interval(case.tables()).expect("an interval");
            for (ours, theirs) in [low, high].into_iter().zip(case.interval) {
                // Either end of either side varies with its draws by about 0.06 of the standard deviation.
                let off = (ours - theirs).abs() / case.error;
                assert!(off < 0.25, "{}: {ours} for {theirs}", case.metric);
            }
        }
    }

    #[test]
    fn answers_that_were_not_kept_or_give_another_score_have_no_interval() {
        let case = &cases()[0];
        let with = |change: fn(&mut Tables)| {
            let mut tables = case.tables();
            change(&mut tables);
            case.interval(tables)
        };
        assert_eq!(with(|tables| tables.predictions.clear()), None);
        assert_eq!(
            with(|tables| tables.predictions[0].example_id.push('x')),
            None
        );
        assert_eq!(with(|tables| tables.evals[0].value += 0.01), None);
        assert!(with(|_| {}).is_some());
    }
}
