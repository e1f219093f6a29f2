//! Every claim against the runs and against the paper's own numbers.
//!
//! Two passes: first each claim is measured, then p-values are corrected over all comparisons of the page
//! and each claim gets its verdict ([`crate::verdict`]).

use anyhow::Result;
use totune_stats::{holm, mean, quartiles};

use crate::claims::{Check, Claim, Claims, Side};
use crate::compare::{Comparison, POWER, against_fixed, compare};
use crate::own::{self, Decided};
use crate::plan::{Measure, Plan, Where};
use crate::runs::Runs;
use crate::sample::Sample;
use crate::text::{decimals, fixed, p_equals, p_value, signed};
use crate::verdict::{self, Tested, Verdict};

/// A claim with what was found.
#[derive(Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) claim: &'a Claim,
    /// What the paper gives.
    pub(crate) paper: String,
    /// What we found.
    pub(crate) ours: String,
    /// Cohen's d, where there is a comparison.
    pub(crate) effect: String,
    /// The corrected p-value, where there is a comparison.
    pub(crate) p: String,
    pub(crate) verdict: Verdict,
    /// Whether the paper's own numbers decide, without any run.
    pub(crate) own: bool,
    /// How the verdict came about, one sentence each.
    pub(crate) reasons: Vec<String>,
}

/// Digits of scores in claims.
const DIGITS: usize = 3;

/// Judges every claim.
pub(crate) fn judge<'a>(
    claims: &'a Claims,
    plan: &Plan,
    runs: &Runs,
    shown: &str,
) -> Result<Vec<Judged<'a>>> {
    let court = Court { plan, runs };
    let measured = claims
        .claims
        .iter()
        .map(|claim| court.measure(claim, &format!("{shown}: claim `{}`", claim.id)))
        .collect::<Result<Vec<_>>>()?;
    let raw: Vec<f64> = measured
        .iter()
        .flat_map(|measured| measured.comparisons())
        .map(|each| each.p)
        .collect();
    let mut corrected = holm(&raw).into_iter();
    let judged = claims.claims.iter().zip(measured).map(|(claim, measured)| {
        let tested = measured
            .comparisons()
            .iter()
            .map(|comparison| Tested {
                comparison: comparison.clone(),
                corrected: corrected
                    .next()
                    .expect("one corrected p-value per comparison"),
            })
            .collect();
        conclude(claim, measured, tested)
    });
    Ok(judged.collect())
}

/// What the first pass finds out about a claim.
enum Measured {
    /// The paper's own numbers decide.
    Own(Decided),
    /// Nothing can be said, and why.
    Untestable { paper: String, why: String },
    /// Runs were compared.
    Compared(Evidence),
}

/// Comparisons of runs, and how to show them.
struct Evidence {
    paper: String,
    /// The paper's number as the verdict needs it.
    paper_value: Option<f64>,
    ours: String,
    comparisons: Vec<Comparison>,
    /// What each comparison is of.
    labels: Vec<String>,
    notes: Vec<String>,
}

impl Measured {
    fn comparisons(&self) -> &[Comparison] {
        match self {
            Self::Compared(evidence) => &evidence.comparisons,
            Self::Own(_) | Self::Untestable { .. } => &[],
        }
    }
}

struct Court<'a> {
    plan: &'a Plan,
    runs: &'a Runs,
}

impl Court<'_> {
    fn measure(&self, claim: &Claim, from: &str) -> Result<Measured> {
        match &claim.check {
            Check::Value(check) => {
                let measure = Measure::score(&check.metric, &check.split);
                let side = Side::One(check.group.clone());
                let sample = self.sample(&side, &measure, &check.conditions, from)?;
                let Some(paper) = check
                    .paper
                    .or_else(|| self.plan.paper_value(&check.group, &measure))
                else {
                    return Ok(untestable(
                        "not recovered",
                        "the paper's value could not be recovered",
                    ));
                };
                let digits = decimals(paper).max(DIGITS);
                let Some(ours) = sample.mean() else {
                    return Ok(untestable(&fixed(paper, digits), &nothing(&sample)));
                };
                let comparison =
                    against_fixed(&sample.values, paper, "the paper's value is taken as fixed");
                let fallback = format!("{} ({})", fixed(ours, digits), sample.unit());
                let shown = sample.interval().map_or(fallback, |interval| {
                    let (low, high) = (fixed(interval.low, digits), fixed(interval.high, digits));
                    format!(
                        "{} [{low}, {high}] ({})",
                        fixed(ours, digits),
                        sample.unit()
                    )
                });
                let off = signed(ours - paper, digits);
                let notes = vec![format!(
                    "ours minus the paper's: {off}; tolerance {}",
                    fixed(check.tolerance, digits)
                )];
                let comparisons: Vec<Comparison> = comparison.into_iter().collect();
                let labels = comparisons
                    .iter()
                    .map(|_| "ours - paper's".to_owned())
                    .collect();
                let paper_value = Some(ours - paper);
                Ok(Measured::Compared(Evidence {
                    paper: fixed(paper, digits),
                    paper_value,
                    ours: shown,
                    comparisons,
                    labels,
                    notes,
                }))
            }
            Check::Order(check) => {
                let measure = Measure::score(&check.metric, &check.split);
                let titles = check
                    .groups
                    .iter()
                    .map(|side| self.title(side, from))
                    .collect::<Result<Vec<_>>>()?;
                let samples = check
                    .groups
                    .iter()
                    .map(|side| self.sample(side, &measure, &check.conditions, from))
                    .collect::<Result<Vec<_>>>()?;
                let paper = titles.join(" > ");
                let mut evidence = Evidence::new(paper, order_text(&titles, &samples));
                for at in 1..samples.len() {
                    let (a, b) = (&samples[at - 1], &samples[at]);
                    match compare(a, b) {
                        Ok(comparison) => {
                            evidence.add(comparison, &titles[at - 1], &titles[at], a, b)
                        }
                        Err(why) => {
                            let why = format!(
                                "{} against {}: {}",
                                titles[at - 1],
                                titles[at],
                                because(why, a, b)
                            );
                            return Ok(untestable(&evidence.paper, &why));
                        }
                    }
                }
                Ok(Measured::Compared(evidence))
            }
            Check::Difference(check) => {
                let measure = Measure::score(&check.metric, &check.split);
                let paper = signed(check.paper, decimals(check.paper).max(2));
                let measured =
                    self.compared(&check.a, &check.b, &measure, &check.conditions, paper, from)?;
                let cells = self
                    .paper_mean(&check.a, &measure)
                    .zip(self.paper_mean(&check.b, &measure));
                Ok(match measured {
                    Measured::Compared(mut evidence) => {
                        evidence.paper_value = Some(check.paper);
                        if let Some((a, b)) = cells {
                            evidence.notes.push(format!(
                                "the paper's own cells give {}",
                                signed(a - b, DIGITS)
                            ));
                        }
                        Measured::Compared(evidence)
                    }
                    other => other,
                })
            }
            Check::NoDifference(check) => {
                let measure = Measure::score(&check.metric, &check.split);
                let paper = "no difference".to_owned();
                let mut measured =
                    self.compared(&check.a, &check.b, &measure, &check.conditions, paper, from)?;
                if let Measured::Compared(evidence) = &mut measured {
                    evidence.notes.extend(
                        evidence
                            .comparisons
                            .iter()
                            .filter_map(detectable_note)
                            .collect::<Vec<_>>(),
                    );
                }
                Ok(measured)
            }
            Check::Spread(check) => self.spread(check, from),
            Check::Arithmetic(check) => Ok(Measured::Own(own::arithmetic(check))),
            Check::PValue(check) => Ok(Measured::Own(own::p_value(check))),
            Check::Statement(check) => Ok(Measured::Own(own::statement(check))),
            Check::F1Bound(check) => {
                let value = |metric: &str| {
                    self.plan
                        .paper_value(&check.group, &Measure::score(metric, &check.split))
                };
                Ok(match (value(&check.accuracy), value(&check.f1)) {
                    (Some(accuracy), Some(f1)) => Measured::Own(own::f1_bound(check, accuracy, f1)),
                    _ => untestable("not recovered", "no table gives both numbers of the paper"),
                })
            }
            Check::Power(check) => {
                let value = |group: &str| {
                    self.plan
                        .paper_value(group, &Measure::score(&check.metric, &check.split))
                };
                Ok(match (value(&check.a), value(&check.b)) {
                    (Some(a), Some(b)) => Measured::Own(own::power(check, a - b)),
                    _ => untestable("not recovered", "no table gives both means of the paper"),
                })
            }
        }
    }

    /// Compares the distances from each side's median: the test of Brown and Forsythe (1974), with Welch's
    /// degrees of freedom since the distances need not vary alike.
    fn spread(&self, check: &crate::claims::Pair, from: &str) -> Result<Measured> {
        let measure = Measure::score(&check.metric, &check.split);
        let a = self.sample(&check.a, &measure, &check.conditions, from)?;
        let b = self.sample(&check.b, &measure, &check.conditions, from)?;
        let (title_a, title_b) = (self.title(&check.a, from)?, self.title(&check.b, from)?);
        let paper = format!("{title_a} varies more than {title_b}");
        let (Some(sd_a), Some(sd_b)) = (a.sd(), b.sd()) else {
            let why = because("each side needs two runs".to_owned(), &a, &b);
            return Ok(untestable(&paper, &why));
        };
        let distances = |sample: &Sample| {
            let [_, _, median, _, _] = quartiles(&sample.values);
            sample.map(|value| (value - median).abs())
        };
        let mut comparison = match compare(&distances(&a), &distances(&b)) {
            Ok(comparison) => comparison,
            Err(why) => return Ok(untestable(&paper, &why)),
        };
        comparison.test = format!(
            "on distances from the median (Brown and Forsythe): {}",
            comparison.test
        );
        comparison.detectable = None;
        comparison.beside = None;
        let ours = format!("sd {} against {}", fixed(sd_a, 4), fixed(sd_b, 4));
        let mut evidence = Evidence::new(paper, ours);
        if sd_b > 0.0 {
            evidence.notes.push(format!(
                "ratio of variances {}",
                fixed((sd_a / sd_b).powi(2), 2)
            ));
        }
        evidence.add(comparison, &title_a, &title_b, &a, &b);
        Ok(Measured::Compared(evidence))
    }

    fn compared(
        &self,
        a: &Side,
        b: &Side,
        measure: &Measure,
        conditions: &Where,
        paper: String,
        from: &str,
    ) -> Result<Measured> {
        let (title_a, title_b) = (self.title(a, from)?, self.title(b, from)?);
        let a = self.sample(a, measure, conditions, from)?;
        let b = self.sample(b, measure, conditions, from)?;
        Ok(match compare(&a, &b) {
            Ok(comparison) => {
                let mut evidence = Evidence::new(paper, comparison.difference_text(DIGITS));
                evidence.add(comparison, &title_a, &title_b, &a, &b);
                Measured::Compared(evidence)
            }
            Err(why) => untestable(&paper, &because(why, &a, &b)),
        })
    }

    fn sample(
        &self,
        side: &Side,
        measure: &Measure,
        conditions: &Where,
        from: &str,
    ) -> Result<Sample> {
        let samples = side.names().iter().map(|name| {
            let mut all = self.plan.group(name, from)?.conditions.clone();
            all.extend(conditions.clone());
            self.runs.sample(&all, measure, from)
        });
        Ok(Sample::pooled(samples.collect::<Result<Vec<_>>>()?))
    }

    fn title(&self, side: &Side, from: &str) -> Result<String> {
        let titles = side
            .names()
            .iter()
            .map(|name| Ok(self.plan.group(name, from)?.title.clone()))
            .collect::<Result<Vec<_>>>()?;
        Ok(titles.join(" + "))
    }

    /// The mean of the paper's cells for the groups of a side, if it has them all.
    fn paper_mean(&self, side: &Side, measure: &Measure) -> Option<f64> {
        let cells = side
            .names()
            .iter()
            .map(|name| self.plan.paper_value(name, measure))
            .collect::<Option<Vec<_>>>()?;
        Some(mean(&cells))
    }
}

impl Evidence {
    fn new(paper: String, ours: String) -> Self {
        Self {
            paper,
            paper_value: None,
            ours,
            comparisons: vec![],
            labels: vec![],
            notes: vec![],
        }
    }

    fn add(
        &mut self,
        comparison: Comparison,
        title_a: &str,
        title_b: &str,
        a: &Sample,
        b: &Sample,
    ) {
        self.comparisons.push(comparison);
        self.labels.push(format!(
            "{title_a} - {title_b} ({} against {})",
            a.unit(),
            b.unit()
        ));
        let lost: Vec<String> = [(title_a, a), (title_b, b)]
            .iter()
            .filter(|(_, sample)| !sample.lost.is_empty())
            .map(|(title, sample)| format!("{title}: {} left out", sample.lost_text()))
            .collect();
        self.notes.extend(lost);
    }
}

/// Gives a measured claim its verdict.
fn conclude(claim: &Claim, measured: Measured, tested: Vec<Tested>) -> Judged<'_> {
    let evidence = match measured {
        Measured::Own(Decided {
            paper,
            recomputed,
            verdict,
            reasons,
        }) => {
            return Judged {
                claim,
                paper,
                ours: recomputed,
                effect: String::new(),
                p: String::new(),
                verdict,
                own: true,
                reasons,
            };
        }
        Measured::Untestable { paper, why } => {
            return Judged {
                claim,
                paper,
                ours: String::new(),
                effect: String::new(),
                p: String::new(),
                verdict: Verdict::NotTestable,
                own: false,
                reasons: vec![why],
            };
        }
        Measured::Compared(evidence) => evidence,
    };
    let verdict = match &claim.check {
        Check::Value(check) => {
            let off = evidence.paper_value.expect("a value was measured");
            verdict::of_value(off, check.tolerance, tested.first())
        }
        Check::Order(_) => verdict::of_order(&tested),
        Check::Difference(check) => {
            verdict::of_difference(&tested[0], check.paper, check.tolerance)
        }
        Check::NoDifference(_) => verdict::of_no_difference(&tested[0]),
        Check::Spread(_) => verdict::of_spread(&tested[0]),
        Check::Arithmetic(_)
        | Check::F1Bound(_)
        | Check::PValue(_)
        | Check::Power(_)
        | Check::Statement(_) => {
            unreachable!("the paper's own numbers decide these")
        }
    };
    let sentences = evidence
        .labels
        .iter()
        .zip(&tested)
        .map(|(label, tested)| sentence(label, tested));
    let reasons = sentences.chain(evidence.notes).collect();
    // For an order, every neighbour has to hold, so the weakest speaks for all.
    let weakest = tested
        .iter()
        .max_by(|a, b| a.corrected.total_cmp(&b.corrected));
    Judged {
        claim,
        paper: evidence.paper,
        ours: evidence.ours,
        effect: weakest
            .and_then(|tested| tested.comparison.effect)
            .map_or(String::new(), |effect| fixed(effect, 2)),
        p: weakest.map_or(String::new(), |tested| p_value(tested.corrected)),
        verdict,
        own: false,
        reasons,
    }
}

fn sentence(
    label: &str,
    Tested {
        comparison,
        corrected,
    }: &Tested,
) -> String {
    let beside = comparison
        .beside
        .as_ref()
        .map_or(String::new(), |beside| format!("; {beside}"));
    format!(
        "{label}: {}; {}, {}, corrected {}{beside}",
        comparison.difference_text(DIGITS),
        comparison.test,
        p_equals(comparison.p),
        p_equals(*corrected),
    )
}

fn detectable_note(comparison: &Comparison) -> Option<String> {
    let detectable = comparison.detectable?;
    let share = fixed(POWER * 100.0, 0);
    Some(format!(
        "to be found in {share} % of such comparisons, a true difference has to be {}; smaller ones may be there unseen",
        fixed(detectable, DIGITS)
    ))
}

fn order_text(titles: &[String], samples: &[Sample]) -> String {
    let mut pairs: Vec<(&String, f64)> = titles
        .iter()
        .zip(samples)
        .filter_map(|(title, sample)| Some((title, sample.mean()?)))
        .collect();
    pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> = pairs
        .iter()
        .map(|(title, mean)| format!("{title} {}", fixed(*mean, DIGITS)))
        .collect();
    parts.join(" > ")
}

fn untestable(paper: &str, why: &str) -> Measured {
    Measured::Untestable {
        paper: paper.to_owned(),
        why: why.to_owned(),
    }
}

/// Why a sample has no number.
fn nothing(sample: &Sample) -> String {
    match (&sample.note, sample.lost.is_empty()) {
        (Some(note), _) => note.clone(),
        (None, false) => format!("no run gave a number: {}", sample.lost_text()),
        (None, true) => "no run".to_owned(),
    }
}

/// A reason with what is known about the side that lacks runs.
fn because(why: String, a: &Sample, b: &Sample) -> String {
    let missing: Vec<String> = [a, b]
        .iter()
        .filter(|sample| sample.n() == 0)
        .map(|sample| nothing(sample))
        .collect();
    if missing.is_empty() {
        why
    } else {
        format!("{why}: {}", missing.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn fixture_runs_decide_each_kind_of_claim() {
        // The made-up scores are chosen so that each verdict occurs; see `fixture`.
        check(
            "order",
            "groups = [\"full\", \"frozen\"]",
            Verdict::Reproduced,
        );
        check(
            "order",
            "groups = [\"frozen\", \"full\"]",
            Verdict::Contradicted,
        );
        check(
            "order",
            "groups = [\"full\", \"last-two\", \"frozen\"]",
            Verdict::DirectionOnly,
        );
        check(
            "no-difference",
            "a = \"full\"\nb = \"last-two\"",
            Verdict::Reproduced,
        );
        check(
            "no-difference",
            "a = \"full\"\nb = \"frozen\"",
            Verdict::Contradicted,
        );
        check(
            "difference",
            "a = \"full\"\nb = \"frozen\"\npaper = 0.05\ntolerance = 0.01",
            Verdict::Reproduced,
        );
        check(
            "difference",
            "a = \"full\"\nb = \"frozen\"\npaper = 0.2\ntolerance = 0.01",
            Verdict::DirectionOnly,
        );
        check(
            "value",
            "group = \"frozen\"\ntolerance = 0.01",
            Verdict::Reproduced,
        );
        check(
            "value",
            "group = \"frozen\"\npaper = 0.5\ntolerance = 0.01",
            Verdict::Contradicted,
        );
        check(
            "spread",
            "a = \"full\"\nb = \"frozen\"",
            Verdict::Reproduced,
        );
        check(
            "spread",
            "a = \"frozen\"\nb = \"full\"",
            Verdict::Contradicted,
        );
        check(
            "no-difference",
            "a = \"full\"\nb = \"absent\"",
            Verdict::NotTestable,
        );
    }

    #[test]
    fn one_claim_more_makes_every_other_harder() {
        let plan = fixture::plan();
        let runs = Runs::new(&fixture::tables()).unwrap();
        let one = "[[claim]]\nid = \"a\"\ntitle = \"\"\nsays = \"\"\nsource = \"\"\nby = \"authors\"\n[claim.check]\n\
                   kind = \"no-difference\"\nmetric = \"accuracy\"\nsplit = \"test\"\na = \"full\"\nb = \"last-two\"\n";
        let p = |text: &str| {
            let claims: Claims = toml::from_str(text).unwrap();
            judge(&claims, &plan, &runs, "claims.toml").unwrap()[0]
                .p
                .parse::<f64>()
                .unwrap()
        };
        let two = format!("{one}{}", one.replace("id = \"a\"", "id = \"b\""));
        assert!(p(&two) > p(one), "{} against {}", p(&two), p(one));
    }

    #[track_caller]
    fn check(kind: &str, rest: &str, expected: Verdict) {
        let text = format!(
            "[[claim]]\nid = \"x\"\ntitle = \"\"\nsays = \"\"\nsource = \"\"\nby = \"authors\"\n[claim.check]\n\
             kind = \"{kind}\"\nmetric = \"accuracy\"\nsplit = \"test\"\n{rest}\n"
        );
        let claims: Claims = toml::from_str(&text).unwrap();
        let plan = fixture::plan();
        claims.check(&plan, "claims.toml").unwrap();
        let runs = Runs::new(&fixture::tables()).unwrap();
        let judged = judge(&claims, &plan, &runs, "claims.toml").unwrap();
        assert_eq!(judged[0].verdict, expected, "{:?}", judged[0]);
    }
}
