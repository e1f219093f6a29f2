//! Two sides layer by layer: one above the other at every layer, or both alike in the mean over layers.

use super::layers::{OnTask, means};
use super::prelude::*;

/// The scores of both sides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerScore {
    /// Left out, it is each task's own.
    metric: Option<String>,
}

impl Quantity for LayerScore {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["greater", "equivalent"])
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(match terms.relation {
            Relation::Equivalent(limit) => format!("at most {limit} apart in the mean over layers"),
            _ => format!("{} at every layer", terms.first_above_second()?),
        })
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let side = |at: usize| means(&terms.sides[at], self.metric.as_ref(), terms, runs);
        let differences = match (side(0)?, side(1)?) {
            (Ok(a), Ok(b)) => a
                .iter()
                .zip(&b)
                .map(|(a, b)| Differences::of(a, b))
                .collect(),
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        let (title_a, title_b) = terms.titles()?;
        let found = differences.map(|found: Vec<Differences>| match terms.relation {
            Relation::Equivalent(_) => alike(&found, terms.relation),
            _ => above(&found, &title_a, &title_b),
        });
        Ok(found.into())
    }
}

/// `a` less `b` at the layers that both have; at least one.
struct Differences<'a> {
    title: &'a str,
    layers: Vec<(u32, f64)>,
}

impl<'a> Differences<'a> {
    fn of(a: &OnTask<'a>, b: &OnTask) -> Result<Self, String> {
        let layers: Vec<(u32, f64)> = a
            .means
            .iter()
            .filter_map(|(layer, score)| {
                let (_, other) = b.means.iter().find(|(other, _)| other == layer)?;
                Some((*layer, score - other))
            })
            .collect();
        let title = &a.task.title;
        match layers.is_empty() {
            true => Err(format!("{title}: no layer has both")),
            false => Ok(Self { title, layers }),
        }
    }

    fn values(&self) -> Vec<f64> {
        self.layers.iter().map(|(_, value)| *value).collect()
    }
}

/// One side above the other at every layer.
fn above(found: &[Differences], title_a: &str, title_b: &str) -> Finding {
    let (mut above, mut all, mut reasons, mut rises) = (0, 0, Vec::new(), Vec::new());
    for each in found {
        let below: Vec<String> = each
            .layers
            .iter()
            .filter(|(_, difference)| *difference <= 0.0)
            .map(|(layer, _)| layer.to_string())
            .collect();
        let (n, rise) = (each.layers.len(), mean(&each.values()));
        rises.push(rise);
        above += n - below.len();
        all += n;
        let not = match below.is_empty() {
            true => String::new(),
            false => format!(", not at {}", below.join(", ")),
        };
        reasons.push(format!(
            "{}: {} of {n} layers{not}; {title_a} minus {title_b} is {} on average",
            each.title,
            n - below.len(),
            fixed(rise, 3),
        ));
    }
    let verdict = verdict::of_layers(above, all, &rises);
    Finding::settled(format!("{above} of {all} layers"), verdict, reasons)
}

/// Two sides that score alike: the mean over layers of how far apart they are, on each task.
fn alike(found: &[Differences], relation: &Relation) -> Finding {
    let (mut kept, mut ours, mut reasons) = (true, Vec::new(), Vec::new());
    for each in found {
        let apart: Vec<f64> = each.values().iter().map(|apart| apart.abs()).collect();
        let apart = mean(&apart);
        kept &= relation.keeps(apart);
        ours.push(format!("{} {}", each.title, fixed(apart, 3)));
        let (layer, most) = each.layers.iter().fold((0, 0.0_f64), |most, &found| {
            if found.1.abs() > most.1.abs() {
                found
            } else {
                most
            }
        });
        reasons.push(format!(
            "{}: {} apart on average, most at layer {layer} with {}",
            each.title,
            fixed(apart, 3),
            fixed(most, 3)
        ));
    }
    Finding::settled(ours.join(", "), verdict::of_limits(kept), reasons)
}
