//! The share of the second side's training time that the first saves, over tasks.

use super::prelude::*;
use super::task_score::{Over, each};

/// Time saved as a fraction of the second side's; a run that diverged has no time.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct TimeSaving {
    per: TimePer,
    over: Over,
}

impl Quantity for TimeSaving {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(match self.over {
            Over::Mean => &["near", "equivalent", "greater"],
            Over::Each => &["greater"],
        })
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        ensure!(
            terms.relation.papers().iter().all(|&paper| paper < 1.0),
            "{}: found paper = {:?}, expected a share below 1 of the time of the second side",
            terms.from,
            terms.relation.papers()
        );
        sized(terms, 1)
    }

    fn margin(&self) -> f64 {
        TIME
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(match (terms.relation.papers(), terms.relation.name()) {
            ([paper, ..], _) => format!("{} %", Scale::Percent.printed(*paper)),
            (_, "equivalent") => {
                format!(
                    "at most {} of the time apart",
                    Scale::Percent.text(terms.margin).trim_start_matches('+')
                )
            }
            _ => {
                let (a, b) = terms.titles()?;
                format!("{a} takes less time than {b}")
            }
        })
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let paired = terms.paired(&terms.tasks()?, runs)?;
        let seconds = seconds_of_both(self.per);
        let found = match self.over {
            Over::Mean => paired
                .numbers(seconds)
                .and_then(|numbers| self.mean_over_tasks(&paired, numbers)),
            Over::Each => paired.numbers_however_few(seconds).and_then(|numbers| {
                each(numbers, Scale::Percent, &self.label(&paired), |a, b| {
                    Ok(relative(&[Ratio::of(a, b)])?.turned())
                })
            }),
        };
        Ok(found.into())
    }
}

impl TimeSaving {
    /// The comparison in words.
    fn label(&self, paired: &PairedComparison) -> String {
        let (a, b) = (&paired.title_a, &paired.title_b);
        let until = match self.per {
            TimePer::Run => "to the stop",
            TimePer::Epoch => "in an epoch",
        };
        format!("time that {a} saves {until}, as a share of that of {b}")
    }

    fn mean_over_tasks(
        &self,
        paired: &PairedComparison,
        numbers: Numbers,
    ) -> Result<Finding, String> {
        let ratios = numbers.tasks.iter().map(|on| Ratio::of(&on.a, &on.b));
        let saved = relative(&ratios.collect::<Vec<_>>())?.turned();
        let by_task = numbers.by_task(&saved.parts, Scale::Percent);
        let label = format!("{} ({})", self.label(paired), numbers.of());
        let mut evidence = Evidence::of(label, saved, Scale::Percent);
        evidence.notes.extend(by_task);
        let seconds: Vec<String> = numbers
            .tasks
            .iter()
            .map(|on| {
                format!(
                    "{} {} against {}",
                    on.task.title,
                    fixed(mean(&on.a), 1),
                    fixed(mean(&on.b), 1)
                )
            })
            .collect();
        evidence
            .notes
            .push(format!("seconds: {}", seconds.join(", ")));
        evidence.notes.extend(numbers.notes);
        Ok(Finding::Compared(evidence))
    }
}
