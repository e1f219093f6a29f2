//! The costs of all entrants, measured before the race.

use anyhow::Result;
use totune_adapt::Strategy;

use super::Race;
use super::candidate::Candidate;
use super::cost::measure;
use crate::progress::Stage;
use crate::strategies::Entrant;

/// Share of the budget at which costs have to be measured.
const MEASURED: f64 = 0.25;

/// The entrants whose cost could be measured in time, on a sample of the data, and those without time for that. A strategy
/// that trains all layers in the end takes no longer for a step than full fine-tuning, and is not measured again.
pub(crate) fn measured(
    race: &Race,
    entrants: Vec<Entrant>,
    sample: &str,
) -> Result<(Vec<Candidate>, Vec<Entrant>)> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut entrants = entrants.into_iter();
    while let Some(entrant) = entrants.next() {
        let as_full = Entrant {
            strategy: Strategy::Full,
            ..entrant
        };
        let is_as_dear = matches!(entrant.strategy, Strategy::TwoPhase | Strategy::Gradual);
        let mut known = candidates.iter();
        let full = known.find(|candidate| is_as_dear && candidate.entrant == as_full);
        let cost = match full {
            Some(full) => Some(full.cost),
            None => {
                let name = race.runner.name(entrant);
                race.progress.stage(&Stage::measuring(&name, race.clock));
                measure(race.runner, entrant, sample, race.clock.end_of(MEASURED))?
            }
        };
        match cost {
            Some(cost) => candidates.push(Candidate::new(entrant, cost, race.runner)),
            None => return Ok((candidates, [entrant].into_iter().chain(entrants).collect())),
        }
    }
    Ok((candidates, Vec::new()))
}
