//! Members of each ensemble, and the run that represents it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use totune_record::RunRow;

use super::joint::joint_scores;
use crate::plan::{DEV, ENSEMBLE, EnsemblePlan, Measure, Plan, RULE, Rule, TEST};
use crate::select::panel::first_difference;
use crate::select::runs::{Formed, Run, Runs, facts};

/// Status of a run that ended well.
const OK: &str = "ok";

/// Key of a run within its group: dataset and split as text, fold, seed.
type Place = (String, u64, u64);

impl Runs {
    /// Forms the ensembles of `plan` from the predictions of its runs; `shown` names `report.toml`.
    pub fn form(&mut self, plan: &Plan, shown: &str) -> Result<()> {
        if plan.ensembles.is_empty() {
            return Ok(());
        }
        let mut formed = Formed::default();
        for ensemble in &plan.ensembles {
            let from = format!("{shown}: ensemble `{}`", ensemble.id);
            let teams = ensemble.teams(plan, self, &from)?;
            if let Err(why) = &teams {
                formed.notes.insert(ensemble.id.clone(), why.clone());
            }
            for team in teams.unwrap_or_default() {
                let run = ensemble.run(&team, self).with_context(|| from.clone())?;
                formed.runs.push(run);
            }
        }
        self.set_ensembles(formed);
        Ok(())
    }
}

impl EnsemblePlan {
    /// The members of each ensemble, or the reason why there is none.
    fn teams<'a>(
        &self,
        plan: &Plan,
        runs: &'a Runs,
        from: &str,
    ) -> Result<Result<Vec<Vec<&'a Run>>, String>> {
        let mut sides = Vec::new();
        for name in self.groups() {
            let group = plan.group(name, from)?;
            let from = format!("{from}: group `{name}`");
            let selection = runs.select(&group.conditions, &from)?;
            if let Some(note) = selection.note {
                return Ok(Err(format!("{}: {note}", group.title)));
            }
            sides.push(by_place(selection.runs, &from)?);
        }
        let teams: Vec<Vec<&Run>> = match self.size {
            None => {
                let (first, others) = sides.split_first().context("an ensemble has members")?;
                let team = |(place, run): (&Place, &&'a Run)| {
                    let others = others.iter().map(|side| side.get(place).copied());
                    let team: Option<Vec<&Run>> = [Some(*run)].into_iter().chain(others).collect();
                    team
                };
                first.iter().filter_map(team).collect()
            }
            Some(size) => {
                // Runs that ended well, in order of seed, on each dataset and fold.
                let mut parts: BTreeMap<(&String, u64), Vec<&Run>> = BTreeMap::new();
                for ((data, fold, _), run) in sides.iter().flatten() {
                    if run.row.status == OK {
                        parts.entry((data, *fold)).or_default().push(run);
                    }
                }
                parts
                    .values()
                    .flat_map(|runs| {
                        // The first seeds are first members, so that an ensemble shares one with another of that seed.
                        let n = runs.len() / size;
                        (0..n)
                            .map(move |at| (0..size).map(|member| runs[at + member * n]).collect())
                    })
                    .collect()
            }
        };
        Ok(match (teams.is_empty(), self.size) {
            (false, _) => Ok(teams),
            (true, None) => Err("no seed has a run of each member".to_owned()),
            (true, Some(size)) => Err(format!(
                "group `{}` has fewer than {size} seeds that ended well",
                self.groups()[0]
            )),
        })
    }

    /// The run that represents `team`.
    fn run(&self, team: &[&Run], runs: &Runs) -> Result<Run> {
        let mut run = together(team)?;
        run.row.run_id = format!("{}-{}", self.id, run.row.seed);
        let members: Vec<Value> = team
            .iter()
            .map(|member| Value::from(member.row.run_id.as_str()))
            .collect();
        for (path, value) in [
            ("run_id", Value::from(run.row.run_id.as_str())),
            (ENSEMBLE, Value::from(self.id.as_str())),
            (RULE, Value::from(self.rule.name())),
            ("members", Value::from(members)),
        ] {
            run.set_fact(path, value);
        }
        if run.row.status == OK {
            let weights = match &self.rule {
                Rule::Weighted { metric } => Some(weights(team, metric)?),
                Rule::Mean | Rule::Majority => None,
            };
            let scores = joint_scores(team, runs, &self.rule, weights.as_deref())?;
            for (metric, value) in scores {
                run.set_final(TEST, &metric, value);
            }
        }
        Ok(run)
    }
}

/// The runs of a group by their places, one each.
fn by_place<'a>(runs: Vec<&'a Run>, from: &str) -> Result<BTreeMap<Place, &'a Run>> {
    let mut places = BTreeMap::new();
    for run in runs {
        let key = run.key();
        let place = (run.facts_under("split"), key.fold, key.seed);
        if let Some(other) = places.insert(place, run) {
            let path = first_difference(other, run).unwrap_or_else(|| "experiment".to_owned());
            bail!(
                "{from}: at seed {} found two runs that differ in `{path}`, expected one; name it in the group's `where`",
                run.row.seed
            );
        }
    }
    Ok(places)
}

/// Dev scores of the members, each at the run's selected epoch.
fn weights(team: &[&Run], metric: &str) -> Result<Vec<f64>> {
    let of = |run: &&Run| {
        run.number(&Measure::score(metric, DEV))
            .filter(|score| score.is_finite() && *score >= 0.0)
            .with_context(|| {
                format!(
                    "run `{}` has no final score `{metric}` on `{DEV}` of 0 or more to weigh it by",
                    run.row.run_id
                )
            })
    };
    let weights = team.iter().map(of).collect::<Result<Vec<f64>>>()?;
    // Where all dev scores are 0, members have equal weights.
    let silent = weights.iter().all(|&weight| weight == 0.0);
    Ok(if silent {
        vec![1.0; team.len()]
    } else {
        weights
    })
}

/// A run with the common facts and the total cost of its members; it has no scores yet.
fn together(team: &[&Run]) -> Result<Run> {
    let (first, others) = team.split_first().context("an ensemble has members")?;
    let rows = || team.iter().map(|run| &run.row);
    let same = |field: fn(&RunRow) -> &String| {
        let value = field(&first.row);
        if rows().all(|row| field(row) == value) {
            value.clone()
        } else {
            String::new()
        }
    };
    let failed = rows().find(|row| row.status != OK);
    let row = RunRow {
        experiment: same(|row| &row.experiment),
        encoder: same(|row| &row.encoder),
        stop_reason: same(|row| &row.stop_reason),
        spec: "{}".to_owned(),
        status: failed.map_or(OK.to_owned(), |row| row.status.clone()),
        params_total: rows().map(|row| row.params_total).sum(),
        params_trainable: rows().map(|row| row.params_trainable).sum(),
        epochs: rows().map(|row| row.epochs).sum(),
        steps: rows().map(|row| row.steps).sum(),
        train_seconds: rows().map(|row| row.train_seconds).sum(),
        eval_seconds: rows().map(|row| row.eval_seconds).sum(),
        cache_seconds: rows().map(|row| row.cache_seconds).sum(),
        cpu_seconds: rows().map(|row| row.cpu_seconds).sum(),
        peak_memory: rows().map(|row| row.peak_memory).max().unwrap_or(0),
        ..first.row.clone()
    };
    let labels: BTreeSet<String> = team.iter().flat_map(|run| run.labels().clone()).collect();
    let mut run = first.standing_for(row, labels);
    run.keep_facts(|path, value| others.iter().all(|other| other.fact(path) == Some(value)));
    // Numbers and status are those of the ensemble.
    let (of_row, _) = facts(&run.row)?;
    for (path, value) in of_row {
        if value.is_number() || path == "status" {
            run.set_fact(&path, value);
        }
    }
    Ok(run)
}
