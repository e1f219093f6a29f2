//! LoRA: fine-tuning of low-rank updates (Hu et al. 2021).

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_model::{Architecture, LowRankSpec};

use super::{Adaptation, Planner, Trainable};
use crate::phase::{Defaults, Plan};
use crate::setup::ModuleEdit;

/// Trains new low-rank updates of some linear layers, and the head; the pretrained weights stay frozen.
///
/// Arithmetic and initialisation are PEFT's; see [`totune_model::LowRank`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Lora {
    /// Peak learning rate of the updates.
    pub lr: f64,
    /// Peak learning rate of the head; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// Rank of an update.
    pub rank: usize,
    /// Scaling of an update, which is multiplied by `alpha / rank`.
    pub alpha: f64,
    /// Linear layers that get an update: paths within a layer of the encoder, or ends of paths, such as
    /// `attention.query` or `query`.
    pub targets: Vec<String>,
    /// Dropout on the input of an update.
    pub dropout: f64,
    /// Number of layers of the encoder that get updates, counted from the top; all layers by default.
    #[serde(default)]
    pub k: Option<usize>,
    /// The tanh layer over `[CLS]`, all of it.
    pub pooler: Trainable,
}

impl Lora {
    /// Creates updates of queries and values in all layers, as in Hu et al. 2021 (section 4.2), with `alpha = rank`.
    pub fn new(rank: usize, lr: f64) -> Self {
        Self {
            lr,
            head_lr: None,
            rank,
            alpha: rank as f64,
            targets: ["attention.query", "attention.value"]
                .map(String::from)
                .to_vec(),
            dropout: 0.0,
            k: None,
            pooler: Trainable::No,
        }
    }
}

impl Planner for Lora {
    fn label(&self) -> String {
        let label = format!("lora-{} of {}", self.rank, self.targets.join(" and "));
        super::of_top(label, self.k)
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn head_lr(&self) -> Option<f64> {
        self.head_lr
    }

    fn in_one_phase(&self) -> Adaptation {
        Adaptation::Lora(self.clone())
    }

    fn missing_in(&self, architecture: &Architecture) -> Option<&'static str> {
        (!architecture.is_transformer()).then_some("layers of a transformer")
    }

    fn check_modules(&self, architecture: &Architecture) -> Result<()> {
        let known = (architecture.linears(), "linear layers");
        super::check_known("adaptation.targets", &self.targets, known, architecture)
    }

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let layers = super::top_layers(self.k, n_layers)?;
        let mut patterns = super::pooler(self.pooler, defaults);
        let of_layer = |i| format!(r"^encoder\.layers\.{i}\..*\.lora\.");
        patterns.extend(layers.clone().rev().map(of_layer));
        let rates = super::rates(self.lr, self.head_lr, patterns);
        Ok(Plan {
            setup: vec![ModuleEdit::LowRank(LowRankSpec {
                rank: self.rank,
                alpha: self.alpha,
                dropout: self.dropout,
                targets: self.targets.clone(),
                layers,
            })],
            ..Plan::new(vec![super::phase(defaults, rates)])
        })
    }

    fn validate(&self) -> Result<()> {
        ensure!(
            self.rank >= 1,
            "adaptation.rank: found 0, expected at least 1"
        );
        ensure!(
            self.alpha.is_finite() && self.alpha > 0.0,
            "adaptation.alpha: found {}, expected more than 0",
            self.alpha
        );
        ensure!(
            (0.0..1.0).contains(&self.dropout),
            "adaptation.dropout: found {}, expected from 0 to less than 1",
            self.dropout
        );
        super::check_optional_k(self.k)?;
        super::check_modules("adaptation.targets", &self.targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{architecture, training};

    #[test]
    fn updates_of_the_named_layers_are_added_and_trained_with_the_head() {
        let settings = Lora {
            alpha: 16.0,
            k: Some(2),
            pooler: Trainable::Yes,
            ..Lora::new(8, 1e-3)
        };
        let plan = training(Adaptation::Lora(settings)).plan(12);
        let plan = plan.expect("valid settings");
        let [ModuleEdit::LowRank(spec)] = &plan.setup[..] else {
            panic!("expected one edit, found {:?}", plan.setup);
        };
        assert_eq!((spec.rank, spec.alpha, spec.dropout), (8, 16.0, 0.0));
        assert_eq!(spec.layers, 10..12);
        assert_eq!(spec.targets, ["attention.query", "attention.value"]);
        let [phase] = &plan.phases[..] else {
            panic!("expected one phase, found {}", plan.phases.len());
        };
        let patterns: Vec<&str> = phase.groups.iter().map(|g| g.pattern.as_str()).collect();
        assert_eq!(
            patterns,
            [
                r"^head\.",
                r"^encoder\.pooler\.",
                r"^encoder\.layers\.11\..*\.lora\.",
                r"^encoder\.layers\.10\..*\.lora\.",
            ]
        );
    }

    #[test]
    fn targets_are_linear_layers_of_the_architecture() {
        let check = |targets: &[&str], encoder: &str| {
            let settings = Adaptation::Lora(Lora {
                targets: targets.iter().map(ToString::to_string).collect(),
                ..Lora::new(8, 1e-3)
            });
            let checked = settings.check_modules(&architecture(encoder));
            checked.map_err(|error| error.to_string())
        };
        for (encoder, targets) in [
            ("fixture-bert", &["attention.query", "value"][..]),
            ("deberta-tiny", &["attention.query", "output"]),
            ("modernbert-tiny", &["query_key_value", "output"]),
        ] {
            assert_eq!(check(targets, encoder), Ok(()), "{encoder}");
        }
        assert_eq!(
            check(&["output", "attention.query"], "modernbert-tiny").expect_err("refused"),
            "adaptation.targets: found `attention.query`, expected one of attention.query_key_value, attention.output, \
             feed_forward.intermediate, feed_forward.output, the linear layers of `modernbert`"
        );
    }

    #[test]
    fn settings_read_as_they_are_written_and_values_out_of_range_name_their_key() {
        let text = "kind = 'lora'\nlr = 1e-3\nrank = 8\nalpha = 8.0\ntargets = ['attention.query', 'attention.value']\n\
                    dropout = 0.0\npooler = 'frozen'\nk = 2";
        let read = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            toml::from_str::<Adaptation>(&text.replace(from, to))
        };
        let whole = read("\nk = 2", "").expect("settings");
        assert_eq!(whole, Adaptation::Lora(Lora::new(8, 1e-3)));
        assert_eq!(
            whole.label(),
            "lora-8 of attention.query and attention.value"
        );
        let error = read("rank", "r").expect_err("refused").to_string();
        assert!(error.contains("unknown field `r`"), "{error}");
        for (from, to, expected) in [
            (
                "rank = 8",
                "rank = 0",
                "adaptation.rank: found 0, expected at least 1",
            ),
            (
                "alpha = 8.0",
                "alpha = 0.0",
                "adaptation.alpha: found 0, expected more than 0",
            ),
            (
                "dropout = 0.0",
                "dropout = 1.0",
                "adaptation.dropout: found 1, expected from 0 to less than 1",
            ),
            (
                "k = 2",
                "k = 0",
                "adaptation.k: found 0, expected at least 1 (the strategy without trainable layers is `frozen`)",
            ),
            (
                "['attention.query', 'attention.value']",
                "[]",
                "adaptation.targets: the list is empty, expected modules of a layer such as `attention.query`",
            ),
        ] {
            let settings = read(from, to).expect("settings");
            assert_eq!(settings.validate().expect_err(to).to_string(), expected);
        }
    }
}
