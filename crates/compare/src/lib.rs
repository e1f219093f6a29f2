//! Which strategy for a person's own data.
//!
//! [`compare`] takes a [`Question`] (a dataset, divided) and a budget, and gives an [`Answer`]: floors first, then
//! strategies in a race by time, each with learning rates of its own; chosen on one part of the data and reported on
//! another, with intervals, and with what is not decided said to be so.
//!
//! Runs are those of `sweep`, without a store: nothing here is a paper's. This crate opens no file of data and knows no
//! command line; a [`Listener`] hears how it goes.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answer;
mod answers;
mod clock;
mod cost;
mod desk;
mod floors;
mod folds;
mod listen;
mod page;
mod question;
mod race;
mod strategies;
#[cfg(test)]
mod test_support;

use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use totune_adapt::Strategy;
use totune_data::Dataset;
use totune_sweep::Environment;

pub use answer::{Answer, LearningCurve, Row};
pub use answers::Estimate;
pub use clock::Clock;
pub use listen::{Listener, Moment};
pub use page::{Errors, page};
pub use question::{Parts, Question, SMALL};

use crate::answer::{Side, choose, sentence};
use crate::answers::{Answers, Scorer};
use crate::desk::Desk;
use crate::floors::Ground;
use crate::folds::{Folded, Folds};
use crate::race::{Entrant, Race};

/// What is asked for beside the data.
#[derive(Debug, Clone)]
pub struct Request {
    /// Name of the encoder.
    pub encoder: String,
    /// The strategies, the last of which is dropped first when time is short; the usual ones where there are none.
    pub strategies: Vec<Strategy>,
    /// The time there is.
    pub clock: Clock,
    /// Seeds of the leaders, at most.
    pub most_seeds: usize,
    /// Differences up to this one do not matter.
    pub margin: f64,
}

/// What a comparison found, and what the chosen model said of the examples that are reported on.
#[derive(Debug)]
pub struct Found {
    /// The answer.
    pub answer: Answer,
    /// Those examples, with the answers of the chosen row.
    pub reported: Option<(Dataset, Answers)>,
}

/// Shares of the budget that answering takes at most: what is decided by after an epoch, what is reported on, and what
/// floors learn from.
const DEV_SHARE: f64 = 0.008;
const TEST_SHARE: f64 = 0.016;
const FLOOR_SHARE: f64 = 0.08;

/// Answers `question`.
///
/// # Errors
/// When the encoder is missing, a setting does not fit the data, or the device fails. A budget that is too short is no
/// error: what did not fit is named.
pub fn compare(
    question: &Question,
    environment: Environment,
    request: &Request,
    listener: &dyn Listener,
) -> Result<Found> {
    let states = tempfile::tempdir().context("cannot make a temporary folder")?;
    let clock = request.clock;
    listener.hear(&Moment::of("loading the encoder", clock));
    let measured = format!("{}-measured", question.name);
    let mut parts = vec![("train".to_string(), question.parts.any().clone())];
    parts.extend(measured_parts(question, &measured));
    let mut desk = Desk::new(environment, &request.encoder, parts, states.path())?;
    let wanted = match request.strategies.as_slice() {
        [] => strategies::usual(desk.n_layers()),
        named => named.to_vec(),
    };
    let of_measured = race(&desk, (&question.name, request, listener));
    let entrants = of_measured.measured(wanted, &measured)?;
    match &question.parts {
        Parts::Three { train, dev, test } => {
            let parts = (&**train, &**dev, &**test);
            by_race(question, (request, listener), (&mut desk, entrants), parts)
        }
        Parts::Folds { all, folds } => by_folds(
            question,
            (request, listener),
            (&mut desk, entrants),
            (all, folds),
        ),
    }
}

/// Chosen on one part of the data and reported on another.
fn by_race(
    question: &Question,
    (request, listener): (&Request, &dyn Listener),
    (desk, mut entrants): (&mut Desk, Vec<Entrant>),
    (train, dev, test): (&Dataset, &Dataset, &Dataset),
) -> Result<Found> {
    let clock = request.clock;
    let mut notes = question.notes.clone();
    // The fastest of them: what others take longer for is seen in batches of this few examples alone.
    let answers = entrants.iter().map(|entrant| entrant.cost.answer);
    let answer_seconds = answers.fold(f64::INFINITY, f64::min).max(1e-9);
    let within = |share: f64| (clock.budget() * share / answer_seconds) as usize;
    for (split, part, most) in [
        ("dev", dev, within(DEV_SHARE)),
        ("test", test, within(TEST_SHARE)),
    ] {
        let used = reduced(part, most.max(100), split, &mut notes)?;
        desk.insert(split, used);
    }
    listener.hear(&Moment::of("floors", clock));
    let floors = floors::all(desk, &question.name, limit(train, within(FLOOR_SHARE)))?;
    let race = race(desk, (&question.name, request, listener));
    race.run(&mut entrants)?;
    let scorer = &desk.scorer;
    let sides = floors.iter().map(|ground| Side::of_floor(ground, scorer));
    let sides = sides
        .chain(entrants.iter().map(Side::of_strategy))
        .collect();
    let more = |name: &str| -> Result<LearningCurve> {
        let entrant = entrants.iter().find(|one| one.strategy.to_string() == name);
        entrant.map_or(Ok(Vec::new()), |entrant| race.learning_curve(entrant))
    };
    let part = desk.part(&question.name, "test");
    conclude((question, request), (desk, sides, part), notes, &more)
}

/// By cross-validation.
fn by_folds(
    question: &Question,
    (request, listener): (&Request, &dyn Listener),
    (desk, entrants): (&mut Desk, Vec<Entrant>),
    (all, places): (&Dataset, &[Vec<usize>]),
) -> Result<Found> {
    let mut names = Vec::new();
    for (fold, held_out) in places.iter().enumerate() {
        let name = format!("{}-fold-{}", question.name, fold + 1);
        let others = (0..all.examples.len()).filter(|at| held_out.binary_search(at).is_err());
        let others: Vec<usize> = others.collect();
        desk.insert("train", all.part(&others, &name));
        desk.insert("test", all.part(held_out, &name));
        names.push(name);
    }
    let folds = Folds { all, names, places };
    listener.hear(&Moment::of("floors", request.clock));
    let floors = folds.floors(desk)?;
    let folded = folds.run(&race(desk, (&question.name, request, listener)), entrants)?;
    let scorer = &desk.scorer;
    let sides = floors.iter().map(|ground| Side::of_floor(ground, scorer));
    let mut sides: Vec<Side> = sides.chain(folded.iter().map(folds::side)).collect();
    // All scores are of the same examples: there is no other part that was chosen on.
    sides.iter_mut().for_each(|side| side.row.dev = None);
    let notes = question.notes.clone();
    let mut found = conclude(
        (question, request),
        (desk, sides, Some(all)),
        notes,
        &|_| Ok(Vec::new()),
    )?;
    correct(&mut found.answer, scorer, (&floors, &folded))?;
    Ok(found)
}

/// Puts the corrected score of whatever would be chosen in place of the score of what was.
fn correct(
    answer: &mut Answer,
    scorer: &Scorer,
    (floors, folded): (&[Ground], &[Folded]),
) -> Result<()> {
    let of_floors = floors.iter().filter_map(|ground| ground.on_test.as_ref());
    let tried = folded.iter().flat_map(|one| &one.tried);
    let models: Vec<&Answers> = of_floors
        .chain(tried.map(|tried| &tried.answers[0]))
        .collect();
    let Some(at) = answer
        .rows
        .iter()
        .position(|row| Some(&row.name) == answer.chosen.as_ref())
    else {
        return Ok(());
    };
    let (raw, corrected) = (answer.rows[at].test, scorer.of_chosen(&models)?);
    answer.rows[at].test = Some(corrected);
    answer.sentence = sentence(&answer.rows, at, &answer.metric, answer.margin)?;
    if let Some(raw) = raw {
        answer.notes.push(format!(
            "The score of the choice is corrected for having been chosen among {} settings on the same examples; without that it \
             is {:.3}.",
            models.len(),
            raw.value
        ));
    }
    Ok(())
}

fn race<'a>(
    desk: &'a Desk<'a>,
    (data, request, listener): (&'a str, &Request, &'a dyn Listener),
) -> Race<'a> {
    Race {
        desk,
        data,
        clock: request.clock,
        began: request.clock.spent() / request.clock.budget(),
        most_seeds: request.most_seeds,
        listener,
    }
}

/// Chooses, and says what was found; `more` gives the learning curve of the choice.
fn conclude(
    (question, request): (&Question, &Request),
    (desk, mut sides, part): (&Desk, Vec<Side>, Option<&Dataset>),
    mut notes: Vec<String>,
    more: &dyn Fn(&str) -> Result<LearningCurve>,
) -> Result<Found> {
    let scorer = &desk.scorer;
    let chosen = choose(&mut sides, scorer, request.margin)?;
    let rows: Vec<Row> = sides.iter().map(|side| side.row.clone()).collect();
    let chosen_name = chosen.map(|at| rows[at].name.clone());
    let learning_curve = chosen_name.as_deref().map_or(Ok(Vec::new()), more)?;
    let sentence = match chosen {
        Some(at) => sentence(&rows, at, &scorer.metric, request.margin)?,
        None => "Nothing could be compared within the budget.".to_string(),
    };
    let n = part.map_or(0, |part| part.examples.len());
    notes.extend(
        rows.iter()
            .filter_map(|row| answer::what_would_decide(row, n)),
    );
    let reported = chosen.and_then(|at| {
        let answers = sides[at].on_test.first()?;
        Some((part?.clone(), (*answers).clone()))
    });
    let clock = request.clock;
    Ok(Found {
        reported,
        answer: Answer {
            dataset: question.name.clone(),
            title: question.title.clone(),
            fixture: question.fixture,
            encoder: request.encoder.clone(),
            metric: scorer.metric.clone(),
            margin: request.margin,
            sentence,
            chosen: chosen_name,
            rows,
            learning_curve,
            notes,
            budget_seconds: clock.budget(),
            spent_seconds: clock.spent(),
            stopped: desk.machine.stop.load(Ordering::Relaxed),
        },
    })
}

/// A few examples of each part, on which costs are measured before anything large is read.
fn measured_parts(question: &Question, name: &str) -> Vec<(String, Dataset)> {
    let few = |part: &Dataset, n: usize| {
        let step = (part.examples.len() / n).max(1);
        let places: Vec<usize> = (0..part.examples.len()).step_by(step).take(n).collect();
        part.part(&places, name)
    };
    let (train, dev, test) = match &question.parts {
        Parts::Three { train, dev, test } => (&**train, Some(&**dev), &**test),
        Parts::Folds { all, .. } => (&**all, None, &**all),
    };
    let parts = [
        Some(("train", train, 96)),
        dev.map(|dev| ("dev", dev, 32)),
        Some(("test", test, 8)),
    ];
    let parts = parts.into_iter().flatten();
    parts
        .map(|(split, part, n)| (split.to_string(), few(part, n)))
        .collect()
}

/// A part, or as much of it as can be answered in time.
fn reduced(part: &Dataset, most: usize, split: &str, notes: &mut Vec<String>) -> Result<Dataset> {
    let n = part.examples.len();
    ensure!(
        n > 0,
        "{}: found no examples of {split}, expected some",
        part.name
    );
    if n <= most {
        return Ok(part.clone());
    }
    let share = most as f64 / n as f64;
    let halves = part.split_by_shares(&[share, 1.0 - share], 13)?;
    notes.push(format!(
        "Of the {n} examples of {split} {} are used, which is what this budget allows.",
        halves[0].len()
    ));
    Ok(part.part(&halves[0], &part.name))
}

fn limit(train: &Dataset, most: usize) -> Option<usize> {
    (most < train.examples.len()).then_some(most.max(100))
}
