//! The parts of a claim that a quantity refers to.

use anyhow::Result;

use super::relation::Relation;
use crate::compare::paired::{ComparedSide, PairedComparison};
use crate::plan::{Measure, Plan, Side, Task, Tasks, Unit, Where};
use crate::select::panel::TaskRuns;
use crate::select::runs::Runs;
use crate::select::sample::Sample;
use crate::select::scope::Scope;

/// The sides, tasks and relation of a claim.
pub(crate) struct Terms<'a> {
    pub(crate) plan: &'a Plan,
    /// The claim and its file, for errors.
    pub(crate) from: String,
    pub(crate) sides: &'a [Side],
    /// Tasks as the claim names them.
    pub(crate) named: Tasks<'a>,
    pub(crate) relation: &'a Relation,
    /// The smallest difference that matters.
    pub(crate) margin: f64,
    /// Sampling unit of the values.
    pub(crate) unit: Unit,
}

impl<'a> Terms<'a> {
    /// The tasks, in the order given or in that of the plan.
    pub(crate) fn tasks(&self) -> Result<Vec<&'a Task>> {
        self.named.of(self.plan, &self.from)
    }

    pub(crate) fn title(&self, side: &Side) -> Result<String> {
        side.title(self.plan, &self.from)
    }

    /// Titles of the two sides of a quantity that takes two.
    pub(crate) fn titles(&self) -> Result<(String, String)> {
        Ok((self.title(&self.sides[0])?, self.title(&self.sides[1])?))
    }

    /// `A above B`.
    pub(crate) fn first_above_second(&self) -> Result<String> {
        let (a, b) = self.titles()?;
        Ok(format!("{a} above {b}"))
    }

    /// A number of each run of a side.
    pub(crate) fn sample(
        &self,
        side: &Side,
        (measure, conditions): (&Measure, &Where),
        runs: &Runs,
    ) -> Result<Sample> {
        let samples = side.names().iter().map(|name| {
            let all = self.plan.group(name, &self.from)?.narrowed([conditions]);
            runs.sample(&all, measure, &self.from)
        });
        Ok(Sample::pooled(samples.collect::<Result<Vec<_>>>()?))
    }

    /// The plan with `runs`; errors name the claim.
    pub(crate) fn scope<'r>(&self, runs: &'r Runs) -> Scope<'r>
    where
        'a: 'r,
    {
        Scope::new(self.plan, runs, &self.from)
    }

    /// The runs of a side on one task.
    pub(crate) fn task_runs<'r>(
        &self,
        side: &Side,
        task: &Task,
        runs: &'r Runs,
    ) -> Result<TaskRuns<'r>>
    where
        'a: 'r,
    {
        TaskRuns::of(side, task, &Where::new(), &self.scope(runs))
    }

    /// The first two sides, paired by seed on each of `tasks`.
    pub(crate) fn paired<'r>(
        &self,
        tasks: &[&'r Task],
        runs: &'r Runs,
    ) -> Result<PairedComparison<'r>>
    where
        'a: 'r,
    {
        let (title_a, title_b) = self.titles()?;
        let none = Where::new();
        let side_of = |side, title| ComparedSide {
            title,
            side,
            conditions: &none,
        };
        let sides = [
            side_of(&self.sides[0], &title_a),
            side_of(&self.sides[1], &title_b),
        ];
        PairedComparison::new(sides, tasks, &self.scope(runs))
    }
}
