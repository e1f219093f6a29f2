//! Small data: every example is answered by a model that did not learn from it, for a fixed grid and without elimination.
//!
//! At 100 examples to choose on, a setting that is two points better loses every third comparison, so nothing is raced here:
//! each rate of each strategy gets the same time and the same folds, and what is reported is corrected for the choice
//! (Tsamardinos et al. 2018, Bootstrap Bias Corrected Cross-Validation).

use anyhow::Result;
use totune_adapt::Strategy;
use totune_data::{Dataset, Target};

use crate::answer::{Row, Side};
use crate::answers::Answers;
use crate::cost::Scored;
use crate::desk::{Desk, Order, Size};
use crate::floors::{self, Ground};
use crate::listen::Moment;
use crate::race::{Entrant, Race};
use crate::strategies::recipe;

/// Share of the budget at which training has to be over.
const LAST: f64 = 0.94;
/// Fewest epochs that say something of a strategy.
const LEAST_EPOCHS: usize = 3;
/// What a run may take beyond what was measured, before it is not begun.
const SLACK: f64 = 1.15;

/// The folds of some data: the name of each, whose parts are `train` and `test`.
pub(crate) struct Folds<'a> {
    pub all: &'a Dataset,
    pub names: Vec<String>,
    /// Of each fold, the places of its examples to answer.
    pub places: &'a [Vec<usize>],
}

/// A strategy at one rate.
#[derive(Debug)]
pub(crate) struct Tried {
    pub lr: f64,
    /// Answers to all examples; one for each repeat with other seeds.
    pub answers: Vec<Answers>,
    /// Seconds of training on one fold.
    pub seconds: Vec<f64>,
    pub size: Size,
    pub trained_share: f64,
}

/// A strategy and what was tried of it.
#[derive(Debug)]
pub(crate) struct Folded {
    pub strategy: Strategy,
    pub tried: Vec<Tried>,
    /// Place of the rate with the best score in `tried`.
    pub best: usize,
    pub out: Option<String>,
}

impl Folds<'_> {
    /// The answers to all examples from those of each fold.
    fn joined(&self, of_folds: Vec<Answers>) -> Answers {
        let n = self.all.examples.len();
        let mut said = vec![Target::Unknown; n];
        let mut sure = vec![0.0; n];
        let known = of_folds.iter().all(|fold| fold.sure.len() == fold.len());
        for (places, fold) in self.places.iter().zip(of_folds) {
            for (at, (place, answer)) in places.iter().zip(fold.said).enumerate() {
                said[*place] = answer;
                sure[*place] = fold.sure.get(at).copied().unwrap_or_default();
            }
        }
        let gold = self
            .all
            .examples
            .iter()
            .map(|example| example.target.clone());
        Answers {
            gold: gold.collect(),
            said,
            sure: if known { sure } else { Vec::new() },
        }
    }

    /// The floors, each fitted on every fold.
    pub fn floors(&self, desk: &Desk) -> Result<Vec<Ground>> {
        let mut of_folds = Vec::new();
        for name in &self.names {
            of_folds.push(floors::all(desk, name, None)?.into_iter());
        }
        let mut found = Vec::new();
        while let Some(grounds) = of_folds
            .iter_mut()
            .map(Iterator::next)
            .collect::<Option<Vec<_>>>()
        {
            let seconds =
                grounds.iter().map(|ground| ground.seconds).sum::<f64>() / grounds.len() as f64;
            let Ground {
                name,
                title,
                noun,
                examples,
                ..
            } = grounds[0];
            let answers = grounds.into_iter().map(|ground| ground.on_test);
            let answers = answers
                .collect::<Option<Vec<_>>>()
                .map(|answers| self.joined(answers));
            found.push(Ground {
                name,
                title,
                noun,
                seconds,
                examples,
                on_dev: answers.clone(),
                on_test: answers,
            });
        }
        Ok(found)
    }

    /// Each rate of each strategy on all folds, as many as fit; then the best ones again with other seeds.
    pub fn run(&self, race: &Race, entrants: Vec<Entrant>) -> Result<Vec<Folded>> {
        let folded = |entrant: &Entrant| Folded {
            strategy: entrant.strategy,
            tried: Vec::new(),
            best: 0,
            out: None,
        };
        let mut all: Vec<Folded> = entrants.iter().map(folded).collect();
        // First rates of all strategies, then second ones: what is dropped is the end of this list.
        let most = entrants
            .iter()
            .map(|entrant| entrant.rates.len())
            .max()
            .unwrap_or(0);
        let places = (0..most).flat_map(|rate| (0..entrants.len()).map(move |at| (at, rate)));
        let mut grid: Vec<(usize, f64)> = places
            .filter_map(|(at, rate)| Some((at, *entrants[at].rates.get(rate)?)))
            .collect();
        let size = |at: usize, n: usize| {
            let seconds = race.clock.left_of(LAST) / (n * self.names.len()) as f64;
            self.fitting(&entrants[at], seconds)
        };
        while !grid.is_empty() && grid.iter().any(|(at, _)| size(*at, grid.len()).is_none()) {
            grid.pop();
        }
        let sizes: Vec<Option<Size>> = grid.iter().map(|(at, _)| size(*at, grid.len())).collect();
        for ((at, lr), size) in grid.into_iter().zip(sizes) {
            let Some(size) = size else { continue };
            let Some(tried) = self.all_folds(race, &entrants[at], (lr, 1), size)? else {
                break;
            };
            all[at].tried.push(tried);
        }
        for one in &mut all {
            let diverged = one.tried.iter().any(|tried| tried.answers.is_empty());
            one.tried.retain(|tried| !tried.answers.is_empty());
            let score = |tried: &Tried| race.desk.scorer.score(&tried.answers[0]);
            let scores: Vec<f64> = one.tried.iter().map(score).collect();
            let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
            match best {
                Some(best) => one.best = best,
                None if diverged => one.out = Some("diverged at every rate".into()),
                None => one.out = Some("no time for it within the budget".into()),
            }
        }
        self.repeat(race, &entrants, &mut all)?;
        Ok(all)
    }

    /// The two best again with other seeds, as often as there is time.
    fn repeat(&self, race: &Race, entrants: &[Entrant], all: &mut [Folded]) -> Result<()> {
        let score = |one: &Folded| {
            one.tried
                .get(one.best)
                .map(|tried| race.desk.scorer.score(&tried.answers[0]))
        };
        let mut order: Vec<(usize, f64)> = all
            .iter()
            .enumerate()
            .filter_map(|(at, one)| Some((at, score(one)?)))
            .collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        for seed in 2..=race.most_seeds as u64 {
            for &(at, _) in order.iter().take(2) {
                let one = &all[at];
                let tried = &one.tried[one.best];
                let took: f64 = tried.seconds.iter().sum::<f64>() * SLACK * SLACK;
                if took > race.clock.left_of(LAST) {
                    return Ok(());
                }
                let found = self.all_folds(race, &entrants[at], (tried.lr, seed), tried.size)?;
                let Some(found) = found else { return Ok(()) };
                let best = all[at].best;
                all[at].tried[best].answers.extend(found.answers);
            }
        }
        Ok(())
    }

    fn fitting(&self, entrant: &Entrant, seconds: f64) -> Option<Size> {
        let n = self.all.examples.len();
        let of_fold = n / self.names.len();
        let epochs = LEAST_EPOCHS.max(*entrant.epochs.start())..=*entrant.epochs.end();
        let scored = Scored {
            dev: 0,
            test: of_fold,
        };
        let learned = n - of_fold;
        let size = entrant
            .cost
            .fitting(seconds / SLACK, (&epochs, learned, learned), scored)?;
        Some(Size {
            examples: usize::MAX,
            ..size
        })
    }

    /// One training on each fold.
    fn all_folds(
        &self,
        race: &Race,
        entrant: &Entrant,
        (lr, seed): (f64, u64),
        size: Size,
    ) -> Result<Option<Tried>> {
        let mut answers = Vec::new();
        let (mut seconds, mut trained_share, mut learned) = (Vec::new(), 0.0, size);
        for (fold, name) in self.names.iter().enumerate() {
            let what = format!(
                "{}, learning rate {lr:e}, seed {seed}, fold {} of {}",
                entrant.strategy,
                fold + 1,
                self.names.len()
            );
            let moment = Moment::of(&what, race.clock);
            race.listener.hear(&moment);
            let order = Order {
                strategy: entrant.strategy,
                lr,
                seed,
                size,
                data: name,
                answers_test: true,
                until: race.clock.end_of(LAST),
            };
            let run = race
                .desk
                .train(order, &|step| race.listener.step(&moment, step))?;
            let Some(run) = run else { return Ok(None) };
            seconds.push(run.wall);
            trained_share = run.params_trained as f64 / run.params_total.max(1) as f64;
            learned = run.size;
            answers.extend(run.on_test);
        }
        // A model that diverged on one fold answers nothing there, and so not all examples.
        let whole = answers.len() == self.names.len();
        let answers = whole.then(|| self.joined(answers)).into_iter().collect();
        Ok(Some(Tried {
            lr,
            answers,
            seconds,
            size: learned,
            trained_share,
        }))
    }
}

/// A strategy as a side of the answer; its score is corrected for the choice among its rates.
pub(crate) fn side(folded: &Folded) -> Side<'_> {
    let best = folded.tried.get(folded.best);
    let answers: Vec<&Answers> = best.map_or_else(Vec::new, |tried| tried.answers.iter().collect());
    Side {
        row: Row {
            name: folded.strategy.to_string(),
            title: folded.strategy.advice(),
            noun: folded.strategy.noun(),
            is_strategy: true,
            recipe: best.map(|tried| recipe(folded.strategy, tried.lr, tried.size.epochs)),
            dev: None,
            test: None,
            difference: None,
            learning_rate: best.map(|tried| tried.lr),
            seeds: answers.len(),
            epochs: best.map_or(0, |tried| tried.size.epochs),
            examples: best.map_or(0, |tried| tried.size.examples),
            train_seconds: best.map(|tried| totune_stats::quartiles(&tried.seconds)[2]),
            trained_share: best.map(|tried| tried.trained_share),
            note: folded.out.clone(),
            course: Vec::new(),
        },
        on_dev: answers.clone(),
        on_test: answers,
    }
}
