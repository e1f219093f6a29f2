//! Fine-tuning of bottleneck adapters (Houlsby et al. 2019).

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_model::{AdapterSpec, Architecture, Sublayer};

use super::{Adaptation, Planner, Trainable};
use crate::phase::{Defaults, Plan};
use crate::setup::ModuleEdit;

/// Trains new bottleneck adapters, and the head; the pretrained weights stay frozen, but for normalisations where that
/// is set. See [`totune_model::Adapter`] for the arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Adapters {
    /// Peak learning rate of the adapters.
    pub lr: f64,
    /// Peak learning rate of the head; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// Width of the bottleneck.
    pub width: usize,
    /// Sublayers with an adapter at their end: both in Houlsby et al. 2019. With `feed-forward` alone it is the same
    /// adapter in the place of that of Pfeiffer et al. 2021, whose own has another input and activation.
    pub after: Vec<Sublayer>,
    /// Number of layers of the encoder that get adapters, counted from the top; all layers by default.
    #[serde(default)]
    pub k: Option<usize>,
    /// Normalisations of the layers that get adapters: trained in Houlsby et al. 2019 (section 2.1).
    pub norms: Trainable,
    /// The tanh layer over `[CLS]`, all of it.
    pub pooler: Trainable,
}

impl Adapters {
    /// Creates adapters in both sublayers of all layers, with the normalisations, as in Houlsby et al. 2019.
    pub fn new(width: usize, lr: f64) -> Self {
        Self {
            lr,
            head_lr: None,
            width,
            after: vec![Sublayer::Attention, Sublayer::FeedForward],
            k: None,
            norms: Trainable::Yes,
            pooler: Trainable::No,
        }
    }
}

impl Planner for Adapters {
    fn label(&self) -> String {
        let after: Vec<String> = self.after.iter().map(ToString::to_string).collect();
        let label = format!("adapters-{} after {}", self.width, after.join(" and "));
        super::of_top(label, self.k)
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn head_lr(&self) -> Option<f64> {
        self.head_lr
    }

    fn in_one_phase(&self) -> Adaptation {
        Adaptation::Adapters(self.clone())
    }

    fn missing_in(&self, architecture: &Architecture) -> Option<&'static str> {
        (!architecture.is_transformer()).then_some("layers of a transformer")
    }

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let layers = super::top_layers(self.k, n_layers)?;
        let mut patterns = super::pooler(self.pooler, defaults);
        for i in layers.clone().rev() {
            patterns.push(format!(r"^encoder\.layers\.{i}\..*\.adapter\."));
            if self.norms == Trainable::Yes {
                patterns.push(format!(r"^encoder\.layers\.{i}\..*norm\."));
            }
        }
        let rates = super::rates(self.lr, self.head_lr, patterns);
        Ok(Plan {
            setup: vec![ModuleEdit::Adapters(AdapterSpec {
                width: self.width,
                after: self.after.clone(),
                layers,
            })],
            ..Plan::new(vec![super::phase(defaults, rates)])
        })
    }

    fn validate(&self) -> Result<()> {
        ensure!(
            self.width >= 1,
            "adaptation.width: found 0, expected at least 1"
        );
        ensure!(
            !self.after.is_empty(),
            "adaptation.after: the list is empty, expected `attention`, `feed-forward` or both"
        );
        super::check_optional_k(self.k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::training;

    fn patterns(settings: Adapters) -> (AdapterSpec, Vec<String>) {
        let plan = training(Adaptation::Adapters(settings)).plan(12);
        let plan = plan.expect("valid settings");
        let [ModuleEdit::Adapters(spec)] = &plan.setup[..] else {
            panic!("expected one edit, found {:?}", plan.setup);
        };
        let [phase] = &plan.phases[..] else {
            panic!("expected one phase, found {}", plan.phases.len());
        };
        let patterns = phase.groups.iter().map(|group| group.pattern.clone());
        (spec.clone(), patterns.collect())
    }

    #[test]
    fn adapters_of_the_named_layers_are_added_and_trained_with_head_and_normalisations() {
        let top = Adapters {
            k: Some(2),
            pooler: Trainable::Yes,
            ..Adapters::new(16, 1e-3)
        };
        let (spec, trained) = patterns(top.clone());
        assert_eq!((spec.width, spec.layers), (16, 10..12));
        assert_eq!(spec.after, [Sublayer::Attention, Sublayer::FeedForward]);
        assert_eq!(
            trained,
            [
                r"^head\.",
                r"^encoder\.pooler\.",
                r"^encoder\.layers\.11\..*\.adapter\.",
                r"^encoder\.layers\.11\..*norm\.",
                r"^encoder\.layers\.10\..*\.adapter\.",
                r"^encoder\.layers\.10\..*norm\.",
            ]
        );
        let (_, alone) = patterns(Adapters {
            norms: Trainable::No,
            ..top
        });
        assert!(!alone.iter().any(|pattern| pattern.contains("norm")));
        let (all, _) = patterns(Adapters::new(16, 1e-3));
        assert_eq!(all.layers, 0..12);
    }

    #[test]
    fn settings_read_as_they_are_written_and_values_out_of_range_name_their_key() {
        let text = "kind = 'adapters'\nlr = 1e-3\nwidth = 16\nafter = ['attention', 'feed-forward']\n\
                    norms = 'trainable'\npooler = 'frozen'\nk = 2";
        let read = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            toml::from_str::<Adaptation>(&text.replace(from, to))
        };
        let whole = read("\nk = 2", "").expect("settings");
        assert_eq!(whole, Adaptation::Adapters(Adapters::new(16, 1e-3)));
        assert_eq!(
            whole.label(),
            "adapters-16 after attention and feed-forward"
        );
        let error = read("'attention'", "'output'").expect_err("refused");
        let error = error.to_string();
        assert!(
            error.contains("unknown variant `output`") && error.contains("`feed-forward`"),
            "{error}"
        );
        for (from, to, expected) in [
            (
                "width = 16",
                "width = 0",
                "adaptation.width: found 0, expected at least 1",
            ),
            (
                "['attention', 'feed-forward']",
                "[]",
                "adaptation.after: the list is empty, expected `attention`, `feed-forward` or both",
            ),
            (
                "k = 2",
                "k = 0",
                "adaptation.k: found 0, expected at least 1 (the strategy without trainable layers is `frozen`)",
            ),
        ] {
            let settings = read(from, to).expect("settings");
            assert_eq!(settings.validate().expect_err(to).to_string(), expected);
        }
    }
}
