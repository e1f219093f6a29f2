//! Scores over tasks, each by its own metric: a number for each task and seed, averaged within the task, then over
//! tasks.

use super::prelude::*;

/// Each side's score on the tasks.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct TaskScore {
    over: Over,
}

/// Aggregation over several tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Over {
    /// Their mean.
    #[default]
    Mean,
    /// Every task by itself.
    Each,
}

impl Quantity for TaskScore {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(match self.over {
            Over::Mean => DIFFERENCES,
            Over::Each => &["greater"],
        })
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        sized(terms, 1)
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(match (terms.relation, self.over) {
            (Relation::NonInferior, _) => {
                format!("at most {} lower", Scale::Points.amount(terms.margin))
            }
            (Relation::Equivalent, _) => {
                format!("at most {} apart", Scale::Points.amount(terms.margin))
            }
            (_, Over::Mean) => direction_or_points(terms)?,
            (_, Over::Each) => format!("{} on each task", terms.first_above_second()?),
        })
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let tasks = terms.tasks()?;
        let paired = terms.paired(&tasks, runs)?;
        let found = match self.over {
            Over::Mean => paired
                .numbers(scores_of_both)
                .and_then(|numbers| mean_over_tasks(&paired, numbers, terms.unit)),
            Over::Each => paired
                .numbers_however_few(scores_of_both)
                .and_then(|numbers| {
                    let label = format!("{} \u{2212} {}", paired.title_a, paired.title_b);
                    each(numbers, Scale::Points, &label, |a, b| {
                        unpaired(&[(1.0, a, b)])
                    })
                }),
        };
        Ok(found.into())
    }
}

fn mean_over_tasks(
    paired: &PairedComparison,
    numbers: Numbers,
    unit: Unit,
) -> Result<Finding, String> {
    let (title_a, title_b) = (&paired.title_a, &paired.title_b);
    let comparison = numbers.compare_by(unit)?;
    let scale = Scale::Points;
    let label = format!("{title_a} \u{2212} {title_b} ({})", numbers.of());
    let mut evidence = Evidence::of(label, comparison, scale);
    let (a, b) = numbers.means();
    evidence.notes.push(format!(
        "mean score at the stop: {title_a} {}, {title_b} {}",
        fixed(a, 4),
        fixed(b, 4)
    ));
    evidence
        .notes
        .extend(numbers.by_task(&numbers.differences(), scale));
    evidence.notes.extend(numbers.notes);
    Ok(Finding::Compared(evidence))
}

/// One comparison per task, where at least one can be made; `label` names the quantity compared.
pub(super) fn each(
    numbers: Numbers,
    scale: Scale,
    label: &str,
    compare: impl Fn(&[f64], &[f64]) -> Result<Comparison, String>,
) -> Result<Finding, String> {
    let mut evidence = Evidence::new(scale);
    let mut ours = Vec::new();
    for on in &numbers.tasks {
        let title = &on.task.title;
        let compared = on
            .enough()
            .and_then(|()| compare(&on.a, &on.b).map_err(|why| format!("{title}: {why}")));
        let comparison = match compared {
            Ok(comparison) => comparison,
            Err(why) => {
                evidence.untested.push(why);
                continue;
            }
        };
        ours.push(format!("{title} {}", scale.signed(comparison.difference)));
        let label = format!("{title}: {label} ({})", pairs_text(on.a.len()));
        evidence.comparisons.push((label, comparison));
    }
    if ours.is_empty() {
        let why = evidence.untested.into_iter().chain(numbers.notes);
        return Err(why.collect::<Vec<_>>().join("; "));
    }
    evidence.ours = format!("{}{}", ours.join(", "), scale.unit());
    evidence.notes = numbers.notes;
    Ok(Finding::Compared(evidence))
}

/// The paper's statement about a difference of scores: `+0.66, +0.39 points`, or that the first side is above.
pub(super) fn direction_or_points(terms: &Terms) -> Result<String> {
    let papers = terms.relation.papers();
    if papers.is_empty() {
        return terms.first_above_second();
    }
    let scale = Scale::Points;
    let each: Vec<String> = papers.iter().map(|&paper| scale.printed(paper)).collect();
    Ok(format!("{}{}", each.join(", "), scale.unit()))
}
