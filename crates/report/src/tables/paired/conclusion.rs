//! Conclusions of a table of pairs, in sentences that are right for any numbers.

use totune_evidence::compare::ALPHA;
use totune_evidence::text::{Scale, fixed};
use totune_stats::{holm, mean};

/// The numbers of a row that the conclusion needs.
pub(super) struct Found {
    /// `Last layer on RTE`.
    pub(super) title: String,
    pub(super) difference: f64,
    /// Standard deviation between seeds of `a`.
    pub(super) sd: Option<f64>,
    pub(super) p: Option<f64>,
    pub(super) ratio: Option<f64>,
}

/// Conclusion of the rows: the number of significant differences, the largest one compared with the variation between
/// seeds, and the cost.
pub(super) fn conclusion(found: &[Found], [a, b]: [&str; 2], test: &str) -> Vec<String> {
    let size = |found: &&Found| found.difference.abs();
    let Some(largest) = found.iter().max_by(|x, y| size(x).total_cmp(&size(y))) else {
        return vec!["No seed has both sides yet.".to_owned()];
    };
    let tests: Vec<f64> = found.iter().filter_map(|found| found.p).collect();
    let mut sentences = vec![significant(&tests, test), beside_seeds(found, largest, a)];
    let ratios = found.iter().filter_map(|found| found.ratio).map(f64::ln);
    let ratios: Vec<f64> = ratios.collect();
    if !ratios.is_empty() {
        let ratio = mean(&ratios).exp();
        let share = fixed((ratio - 1.0).abs() * 100.0, 0);
        let more = if ratio < 1.0 { "less" } else { "more" };
        sentences.push(match share.as_str() {
            "0" => "An epoch takes the same time either way.".to_owned(),
            _ => format!("An epoch with “{b}” takes {share} % {more} time (geometric mean)."),
        });
    }
    sentences
}

/// A sentence on the number of differences that are significant after Holm's correction.
fn significant(p: &[f64], test: &str) -> String {
    let count = holm(p).iter().filter(|&&p| p < ALPHA).count();
    match (count, p.len()) {
        (_, 0) => {
            "No row has two seeds that differ, so none of the differences can be tested.".to_owned()
        }
        (0, 1) => "The difference is not significant at 0.05.".to_owned(),
        (_, 1) => "The difference is significant at 0.05.".to_owned(),
        (0, n) => {
            format!("None of the {n} differences is significant at 0.05 ({test}, Holm).")
        }
        (1, n) => format!("1 of {n} differences is significant at 0.05 ({test}, Holm)."),
        (count, n) => {
            format!("{count} of {n} differences are significant at 0.05 ({test}, Holm).")
        }
    }
}

/// A sentence that compares the largest difference with the standard deviation between seeds of `a`, and counts those
/// below it.
fn beside_seeds(found: &[Found], largest: &Found, a: &str) -> String {
    let points = |value: f64| Scale::Points.amount(value.abs());
    let with_sd = found
        .iter()
        .filter_map(|found| Some((found.difference.abs(), found.sd?)));
    let (below, all) = with_sd.fold((0, 0), |(below, all), (difference, sd)| {
        (below + usize::from(difference < sd), all + 1)
    });
    let noise = match largest.sd {
        None => format!("“{a}” has a single seed there, so its noise is unknown"),
        Some(sd) => format!(
            "the standard deviation between seeds of “{a}” is {} there",
            points(sd)
        ),
    };
    let rest = match (below, all) {
        (_, 0 | 1) => String::new(),
        (0, _) => " No row has a difference below it.".to_owned(),
        (below, all) if below == all => " Every row has a difference below it.".to_owned(),
        (1, all) => format!(" 1 of {all} rows has a difference below it."),
        (below, all) => format!(" {below} of {all} rows have a difference below it."),
    };
    let size = points(largest.difference);
    match found {
        [_] => format!("The difference is {size}; {noise}.{rest}"),
        _ => format!(
            "The largest difference is {size} ({}); {noise}.{rest}",
            largest.title
        ),
    }
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
        };
        let (small, large) = (row(0.001, 0.01, 0.5, 0.5), row(-0.05, 0.01, 0.001, 2.0));
        for (found, expected) in [
            (
                vec![&small],
                vec![
                    "The difference is not significant at 0.05.",
                    "The difference is 0.10 points; the standard deviation between seeds of “on” is 1.00 points there.",
                    "An epoch with “off” takes 50 % less time (geometric mean).",
                ],
            ),
            (
                vec![&small, &large],
                vec![
                    "1 of 2 differences is significant at 0.05 (paired t-test, Holm).",
                    "The largest difference is 5.00 points (Last layer on RTE); the standard deviation between seeds of “on” is 1.00 points there. 1 of 2 rows has a difference below it.",
                    "An epoch takes the same time either way.",
                ],
            ),
        ] {
            let found: Vec<Found> = found
                .into_iter()
                .map(|found| Found {
                    title: found.title.clone(),
                    ..*found
                })
                .collect();
            assert_eq!(conclusion(&found, ["on", "off"], "paired t-test"), expected);
        }
        assert_eq!(
            conclusion(&[], ["on", "off"], "paired t-test"),
            ["No seed has both sides yet."]
        );
    }
}
