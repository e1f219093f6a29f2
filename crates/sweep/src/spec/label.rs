//! Display labels that distinguish a run from its neighbours.

use serde_json::Value;
use totune_data::Split;
use totune_record::OF_TRIALS;

use super::{RunSpec, Work, kebab};

/// Suffix of the path of the learning rate, a setting that labels have anyway.
const LR: &str = ".adaptation.lr";

impl RunSpec {
    /// Display label that distinguishes this run from its neighbours in the same experiment.
    pub fn label(&self) -> String {
        let mut parts = vec![self.experiment.clone(), self.dataset.clone()];
        parts.extend(self.encoder().map(str::to_string));
        parts.extend(self.arm_label());
        match &self.work {
            Work::Sparse(work) => parts.push(kebab(&work.features)),
            Work::Tune(work) => {
                let adaptation = &work.training.adaptation;
                parts.push(adaptation.label());
                parts.push(format!("lr {:e}", adaptation.lr()));
                let key = adaptation.head_lr_key();
                // A searched learning rate comes with the other searched values.
                let is_searched = self.searches(&format!(".adaptation.{key}"));
                if let Some(lr) = adaptation.head_lr().filter(|_| !is_searched) {
                    parts.push(format!("{key} {lr:e}"));
                }
            }
            Work::Probe(work) => {
                let (input, states) = (kebab(&work.input), kebab(&work.states));
                parts.push(format!("probe of {input}, {states}"));
            }
            Work::Divergence(work) => {
                parts.push(format!("from {}", work.texts.join(" and ")));
            }
            Work::Floor(work) => parts.push(work.floor.label()),
        }
        parts.extend(self.searched());
        parts.extend(split_label(&self.split));
        if self.split.n_folds() > 1 {
            parts.push(format!("fold {}", self.fold));
        }
        if matches!(self.work, Work::Tune(_) | Work::Probe(_)) {
            parts.push(format!("seed {}", self.seed));
        }
        parts.retain(|part| !part.is_empty());
        parts.join(" · ")
    }

    /// The arm, where neither the experiment nor the rest of the label names it.
    fn arm_label(&self) -> Option<String> {
        let experiment = self.experiment.strip_suffix(OF_TRIALS);
        let says_it = match &self.work {
            Work::Sparse(work) => kebab(&work.features),
            Work::Tune(work) => {
                let label = work.training.adaptation.label();
                label.split(", ").next().unwrap_or_default().to_string()
            }
            // What it is says which one it is.
            Work::Floor(_) => return None,
            Work::Probe(_) | Work::Divergence(_) => String::new(),
        };
        let known = [experiment.unwrap_or(&self.experiment), &says_it];
        (!known.contains(&self.arm.as_str())).then(|| self.arm.clone())
    }

    /// Like [`RunSpec::label`], without the values that a search has yet to choose.
    pub(crate) fn label_before_its_search(&self) -> String {
        let (label, mut searched) = (self.label(), self.searched());
        if let Work::Tune(work) = &self.work
            && self.searches(LR)
        {
            searched.push(format!("lr {:e}", work.training.adaptation.lr()));
        }
        let open = |part: &&str| !searched.iter().any(|searched| searched == part);
        label
            .split(" · ")
            .filter(open)
            .collect::<Vec<_>>()
            .join(" · ")
    }

    fn searches(&self, end: &str) -> bool {
        self.search.iter().any(|path| path.ends_with(end))
    }

    /// Values of the searched settings, except for the learning rate that labels have anyway: `dropout 0.3`.
    fn searched(&self) -> Vec<String> {
        let mut searched = Vec::new();
        if !self.search.is_empty() {
            let json = serde_json::to_value(self).expect("a spec has string keys");
            let paths = self.search.iter();
            for path in paths.filter(|path| !path.ends_with(LR)) {
                let value = json.pointer(&format!("/{}", path.replace('.', "/")));
                let name = path.rsplit('.').next().unwrap_or(path);
                searched.push(format!("{name} {}", value.unwrap_or(&Value::Null)));
            }
        }
        searched
    }
}

/// Description of the split; `None` for the dataset's usual files.
fn split_label(split: &Split) -> Option<String> {
    let (kind, duplicates) = match split {
        Split::Files(files) if files.test == "test" => return None,
        Split::Files(files) => return Some(format!("scored on {}", files.test)),
        Split::HoldOut(split) => ("hold-out".to_string(), kebab(&split.duplicates)),
        Split::KFold(split) => (
            format!("{} folds by {}", split.folds, kebab(&split.by)),
            kebab(&split.duplicates),
        ),
    };
    Some(match duplicates.as_str() {
        "keep" => kind,
        _ => format!("{kind}, duplicates together"),
    })
}
