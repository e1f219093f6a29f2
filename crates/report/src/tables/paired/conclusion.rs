//! What a table of pairs comes to, in sentences that are right for any numbers.

use totune_stats::{holm, mean};

use crate::compare::ALPHA;
use crate::compare::strata::over_tasks;
use crate::text::{Scale, fixed, p_equals};

/// The numbers of a row that the conclusion needs.
pub(super) struct Found {
    /// `Last layer on RTE`.
    pub(super) title: String,
    pub(super) difference: f64,
    /// Between seeds of `a`.
    pub(super) sd: Option<f64>,
    pub(super) p: Option<f64>,
    pub(super) ratio: Option<f64>,
    /// Differences, pair by pair.
    pub(super) values: Vec<f64>,
}

/// What the rows come to: how many differences count, whether the largest is below what seeds do, what it costs.
pub(super) fn conclusion(found: &[Found], a: &str, b: &str) -> Vec<String> {
    let Some(largest) = found
        .iter()
        .max_by(|one, other| one.difference.abs().total_cmp(&other.difference.abs()))
    else {
        return vec!["No seed has both sides yet.".to_owned()];
    };
    let mut sentences = Vec::new();
    let tests: Vec<f64> = found.iter().filter_map(|found| found.p).collect();
    let corrected = holm(&tests);
    let count = corrected.iter().filter(|&&p| p < ALPHA).count();
    sentences.push(match (count, tests.len()) {
        (_, 0) => {
            "No row has two seeds that differ, so none of the differences can be tested.".to_owned()
        }
        (0, 1) => "The difference does not count at 0.05.".to_owned(),
        (_, 1) => "The difference counts at 0.05.".to_owned(),
        (0, n) => format!("None of the {n} differences counts at 0.05 (paired t-tests, Holm)."),
        (count, n) => format!(
            "{count} of {} at 0.05 (paired t-tests, Holm).",
            match count {
                1 => format!("{n} differences counts"),
                _ => format!("{n} differences count"),
            }
        ),
    });
    if found.len() > 1 {
        let tasks: Vec<Vec<f64>> = found.iter().map(|found| found.values.clone()).collect();
        if let Ok(all) = over_tasks(&tasks) {
            sentences.push(format!(
                "Over all rows “{b}” differs from “{a}” by {} ({}).",
                all.difference_in(Scale::Points),
                p_equals(all.p)
            ));
        }
    }
    let points = |value: f64| format!("{} points", Scale::Points.number(value.abs()));
    let with_sd: Vec<&Found> = found.iter().filter(|found| found.sd.is_some()).collect();
    let below = |found: &&&Found| found.sd.is_some_and(|sd| found.difference.abs() < sd);
    let n_below = with_sd.iter().filter(below).count();
    let of = match largest.sd {
        None => "a single seed, whose noise is unknown".to_owned(),
        Some(sd) if largest.difference.abs() < sd => {
            format!(
                "below the standard deviation between seeds there (“{a}”), {}",
                points(sd)
            )
        }
        Some(sd) => format!(
            "not below the standard deviation between seeds there (“{a}”), {}",
            points(sd)
        ),
    };
    let rest = match (n_below, with_sd.len()) {
        (_, 0 | 1) => String::new(),
        (below, all) if below == all => "; that holds of every row".to_owned(),
        (1, all) => format!("; 1 of {all} rows has a difference below it"),
        (below, all) => format!("; {below} of {all} rows have a difference below it"),
    };
    let place = if found.len() > 1 {
        format!(
            "The largest difference, {} ({}), is",
            points(largest.difference),
            largest.title
        )
    } else {
        format!("The difference, {}, is", points(largest.difference))
    };
    sentences.push(format!("{place} {of}{rest}."));
    let ratios: Vec<f64> = found
        .iter()
        .filter_map(|found| found.ratio)
        .map(f64::ln)
        .collect();
    if !ratios.is_empty() {
        let ratio = mean(&ratios).exp();
        let share = fixed((ratio - 1.0).abs() * 100.0, 0);
        sentences.push(match ratio {
            _ if share == "0" => "An epoch takes the same time either way.".to_owned(),
            r if r < 1.0 => {
                format!("An epoch with “{b}” takes {share} % less time (geometric mean).")
            }
            _ => format!("An epoch with “{b}” takes {share} % more time (geometric mean)."),
        });
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conclusions_are_right_for_any_numbers() {
        let row = |difference: f64, sd: f64, p: f64, ratio: f64| Found {
            title: "Last layer on RTE".to_owned(),
            difference,
            sd: Some(sd),
            p: Some(p),
            ratio: Some(ratio),
            values: vec![difference; 2],
        };
        let (small, large) = (row(0.001, 0.01, 0.5, 0.5), row(-0.05, 0.01, 0.001, 2.0));
        for (found, expected) in [
            (
                vec![&small],
                vec![
                    "The difference does not count at 0.05.",
                    "The difference, 0.10 points, is below the standard deviation between seeds there (“on”), 1.00 points.",
                    "An epoch with “off” takes 50 % less time (geometric mean).",
                ],
            ),
            (
                vec![&small, &large],
                vec![
                    "1 of 2 differences counts at 0.05 (paired t-tests, Holm).",
                    "The largest difference, 5.00 points (Last layer on RTE), is not below the standard deviation between seeds there (“on”), 1.00 points; 1 of 2 rows has a difference below it.",
                    "An epoch takes the same time either way.",
                ],
            ),
        ] {
            let found: Vec<Found> = found
                .into_iter()
                .map(|found| Found {
                    title: found.title.clone(),
                    values: found.values.clone(),
                    ..*found
                })
                .collect();
            assert_eq!(conclusion(&found, "on", "off"), expected);
        }
        assert_eq!(
            conclusion(&[], "on", "off"),
            ["No seed has both sides yet."]
        );
    }
}
