//! The order in which one of several workers takes the runs of a plan.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Forecast, Plan, PlannedRun, Shard, State};

impl Plan {
    /// The runs of a worker that would run now and take a device each: those that start from the same cached
    /// activations one after the other, so that these are made and mapped once.
    ///
    /// Of several workers each begins with a share of its own, made of whole groups of such runs, and takes what is left
    /// of the others' shares when it has done that; no run is left to a worker that never starts.
    pub(crate) fn in_order<'a>(&self, mut runs: Vec<&'a PlannedRun>) -> Vec<&'a PlannedRun> {
        let Some(Shard { index, of }) = self.worker else {
            runs.sort_by_cached_key(|run| run.spec.affinity());
            return runs;
        };
        let shares = self.shares(of);
        runs.sort_by_cached_key(|run| {
            let group = run.spec.affinity();
            let share = shares.get(&group).copied().unwrap_or(0);
            // The next worker's share comes second, so that not all help the same one.
            ((share + of - (index - 1)) % of, group)
        });
        // Another worker's share is taken from its end, of which its owner is farthest.
        let own = |run: &&PlannedRun| shares.get(&run.spec.affinity()) == Some(&(index - 1));
        let begin_of_others = runs.iter().position(|run| !own(run)).unwrap_or(runs.len());
        runs[begin_of_others..].reverse();
        runs
    }

    /// The runs of a worker that share the machine.
    pub(crate) fn beginning_apart<'a>(&self, runs: Vec<&'a PlannedRun>) -> Vec<&'a PlannedRun> {
        from_place_of(self.worker, runs)
    }

    /// The share, from 0, of each group of runs with the same cached activations: the largest group goes first, to the
    /// share that has least. All runs of the plan count, done or not, so that workers that start at different times agree.
    fn shares(&self, of: usize) -> BTreeMap<Vec<String>, usize> {
        let mut groups: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        for run in self.runs.iter().filter(|run| !run.spec.runs_in_parallel()) {
            *groups.entry(run.spec.affinity()).or_default() += 1;
        }
        let mut by_size: Vec<(Vec<String>, usize)> = groups.into_iter().collect();
        by_size.sort_by_key(|(_, size)| Reverse(*size));
        let mut loads = vec![0; of];
        let mut place = |(group, size)| {
            let share = (0..of).min_by_key(|share| loads[*share]).unwrap_or(0);
            loads[share] += size;
            (group, share)
        };
        by_size.into_iter().map(&mut place).collect()
    }

    /// Number of workers worth starting for the runs to do, at most `most`: one for each `share` of time, by what runs of
    /// their kind have taken so far; where none has ended, one for each run. Runs that share the machine fit into one.
    ///
    /// The second number counts those for runs that wait for a search; 0 where none does.
    pub fn workers(&self, most: usize, share: Duration) -> (usize, usize) {
        let alone = |run: &&PlannedRun| !run.spec.runs_in_parallel();
        let count = |is_open: &dyn Fn(&PlannedRun) -> bool| {
            self.runs
                .iter()
                .filter(alone)
                .filter(|run| is_open(run))
                .count()
        };
        let due = count(&|run| run.will_run);
        let waiting = count(&|run| run.state == State::Waiting);
        let of = |runs: usize| {
            let time = Forecast::of(self)
                .left()
                .map(|left| left.mul_f64(runs as f64 / (due + waiting).max(1) as f64));
            let wanted = time.map_or(runs, |time| {
                (time.as_secs_f64() / share.as_secs_f64()).ceil() as usize
            });
            wanted.min(runs).clamp(1, most.max(1))
        };
        let is_there = |state: bool, workers: usize| if state { workers } else { 0 };
        (
            is_there(!self.to_run().is_empty(), of(due)),
            is_there(self.count(State::Waiting) > 0, of(waiting)),
        )
    }
}

/// Of several workers each begins at another place of the same list, since side by side they would meet at every run, and
/// all but one of them for nothing.
fn from_place_of<T>(worker: Option<Shard>, mut runs: Vec<T>) -> Vec<T> {
    if let Some(Shard { index, of }) = worker {
        let place = runs.len() * (index - 1) / of;
        runs.rotate_left(place);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_begin_at_places_of_their_own_and_each_goes_through_all() {
        let of_worker = |index| from_place_of(Some(Shard { index, of: 3 }), vec![1, 2, 3, 4, 5]);
        assert_eq!(of_worker(1), [1, 2, 3, 4, 5]);
        assert_eq!(of_worker(2), [2, 3, 4, 5, 1]);
        assert_eq!(of_worker(3), [4, 5, 1, 2, 3]);
        assert_eq!(from_place_of(None, vec![1, 2]), [1, 2]);
        assert_eq!(
            from_place_of(Some(Shard { index: 2, of: 2 }), vec![0; 0]),
            [0; 0]
        );
    }
}
