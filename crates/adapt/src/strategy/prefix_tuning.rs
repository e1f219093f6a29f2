//! Prefix tuning (Li and Liang 2021), as P-tuning v2 (Liu et al. 2022) has it for classification.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_model::{Architecture, PrefixSpec};

use super::{Adaptation, Planner, Trainable};
use crate::phase::{Defaults, Plan};
use crate::setup::ModuleEdit;

/// Trains new keys and values in front of those of the attention layers, and the head; the pretrained weights stay
/// frozen.
///
/// Arithmetic and initialisation are PEFT's; see [`totune_model::Prefix`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrefixTuning {
    /// Peak learning rate of the prefixes.
    pub lr: f64,
    /// Peak learning rate of the head; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// Positions of a prefix.
    pub length: usize,
    /// Number of layers of the encoder that get prefixes, counted from the top; all layers by default.
    #[serde(default)]
    pub k: Option<usize>,
    /// The tanh layer over `[CLS]`, all of it.
    pub pooler: Trainable,
}

impl PrefixTuning {
    /// Creates prefixes of `length` positions in all layers.
    pub fn new(length: usize, lr: f64) -> Self {
        Self {
            lr,
            head_lr: None,
            length,
            k: None,
            pooler: Trainable::No,
        }
    }
}

impl Planner for PrefixTuning {
    fn label(&self) -> String {
        super::of_top(format!("prefix-{}", self.length), self.k)
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn head_lr(&self) -> Option<f64> {
        self.head_lr
    }

    fn in_one_phase(&self) -> Adaptation {
        Adaptation::PrefixTuning(self.clone())
    }

    fn missing_in(&self, architecture: &Architecture) -> Option<&'static str> {
        match architecture {
            // Its scores depend on the distance of two tokens, and a prefix has none.
            Architecture::DebertaV2(_) => Some("attention without relative positions"),
            _ if !architecture.is_transformer() => Some("layers of a transformer"),
            _ => super::lacks_layers(architecture),
        }
    }

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let layers = super::top_layers(self.k, n_layers)?;
        let mut patterns = super::pooler(self.pooler, defaults);
        let of_layer = |i| format!(r"^encoder\.layers\.{i}\..*\.prefix\.");
        patterns.extend(layers.clone().rev().map(of_layer));
        let rates = super::rates(self.lr, self.head_lr, patterns);
        Ok(Plan {
            setup: vec![ModuleEdit::Prefixes(PrefixSpec {
                length: self.length,
                layers,
            })],
            ..Plan::new(vec![super::phase(defaults, rates)])
        })
    }

    fn validate(&self) -> Result<()> {
        ensure!(
            self.length >= 1,
            "adaptation.length: found 0, expected at least 1"
        );
        super::check_optional_k(self.k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::training;

    fn patterns(settings: PrefixTuning, n_layers: usize) -> (PrefixSpec, Vec<String>) {
        let plan = training(Adaptation::PrefixTuning(settings)).plan(n_layers);
        let plan = plan.expect("valid settings");
        let [ModuleEdit::Prefixes(spec)] = &plan.setup[..] else {
            panic!("expected one edit, found {:?}", plan.setup);
        };
        let [phase] = &plan.phases[..] else {
            panic!("expected one phase, found {}", plan.phases.len());
        };
        let patterns = phase.groups.iter().map(|group| group.pattern.clone());
        (spec.clone(), patterns.collect())
    }

    #[test]
    fn prefixes_of_the_named_layers_are_added_and_trained_with_the_head() {
        let top = PrefixTuning {
            k: Some(2),
            pooler: Trainable::Yes,
            ..PrefixTuning::new(20, 1e-2)
        };
        let (spec, trained) = patterns(top, 12);
        assert_eq!((spec.length, spec.layers), (20, 10..12));
        assert_eq!(
            trained,
            [
                r"^head\.",
                r"^encoder\.pooler\.",
                r"^encoder\.layers\.11\..*\.prefix\.",
                r"^encoder\.layers\.10\..*\.prefix\.",
            ]
        );
        let (all, trained) = patterns(PrefixTuning::new(20, 1e-2), 1);
        assert_eq!(all.layers, 0..1);
        assert_eq!(trained, [r"^head\.", r"^encoder\.layers\.0\..*\.prefix\."]);
    }

    #[test]
    fn settings_read_as_they_are_written_and_values_out_of_range_name_their_key() {
        let text = "kind = 'prefix-tuning'\nlr = 1e-2\nlength = 20\npooler = 'frozen'\nk = 2";
        let read = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            toml::from_str::<Adaptation>(&text.replace(from, to))
        };
        let whole = read("\nk = 2", "").expect("settings");
        assert_eq!(whole, Adaptation::PrefixTuning(PrefixTuning::new(20, 1e-2)));
        assert_eq!(whole.label(), "prefix-20");
        assert_eq!(
            read("k = 2", "k = 3").expect("settings").label(),
            "prefix-20, last 3"
        );
        let error = read("length", "width").expect_err("refused").to_string();
        assert!(error.contains("unknown field `width`"), "{error}");
        for (from, to, expected) in [
            (
                "length = 20",
                "length = 0",
                "adaptation.length: found 0, expected at least 1",
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
