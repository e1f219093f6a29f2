//! BitFit: fine-tuning of biases (Ben Zaken, Ravfogel and Goldberg 2022).

use anyhow::Result;
use serde::{Deserialize, Serialize};
use totune_model::Architecture;

use super::{Adaptation, Planner, Trainable};
use crate::phase::{Defaults, Plan};

/// Trains the biases of the encoder and the whole head.
///
/// The authors' code takes every parameter with `bias` in its name, including the shifts of layer norms and the pooler;
/// the paper's subset (section 4.2: biases of queries and of the intermediate layer) is
/// `biases = ["attention.query", "feed_forward.intermediate"]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BitFit {
    /// Peak learning rate of the biases.
    pub lr: f64,
    /// Peak learning rate of the head; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// Biases to train in a layer.
    pub biases: Biases,
    /// Number of layers whose biases are trained, counted from the top; all layers by default.
    #[serde(default)]
    pub k: Option<usize>,
    /// The bias of the tanh layer over `[CLS]`.
    pub pooler: Trainable,
    /// The shift of the embeddings' layer norm, or the biases in its place. When it is trained, gradients pass through
    /// all layers.
    pub embeddings: Trainable,
}

/// Biases of a layer that are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected `biases = \"all\"` or a list of modules of a layer, such as [\"attention.query\"]"
)]
pub enum Biases {
    /// Biases of all its modules.
    All(All),
    /// Biases of the modules with these paths, or ends of paths: `attention.query`, `query`.
    Of(Vec<String>),
}

/// The word `all` in settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum All {
    /// Biases of all modules.
    All,
}

impl BitFit {
    /// Creates the settings of the authors' code: every bias.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            head_lr: None,
            biases: Biases::All(All::All),
            k: None,
            pooler: Trainable::Yes,
            embeddings: Trainable::Yes,
        }
    }

    /// Patterns of the trained biases of layer `layer_idx`: one for each module, since each must exist.
    fn of_layer(&self, layer_idx: usize) -> Vec<String> {
        let layer = format!(r"^encoder\.layers\.{layer_idx}\.");
        match &self.biases {
            Biases::All(All::All) => vec![format!(r"{layer}(.*\.)?bias$")],
            Biases::Of(modules) => {
                let pattern = |module: &String| {
                    let module = module.replace('.', r"\.");
                    format!(r"{layer}(.*\.)?{module}\.bias$")
                };
                modules.iter().map(pattern).collect()
            }
        }
    }
}

impl Planner for BitFit {
    fn label(&self) -> String {
        let mut label = "bitfit".to_string();
        if let Biases::Of(modules) = &self.biases {
            label += &format!(" of {}", modules.join(" and "));
        }
        super::of_top(label, self.k)
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn head_lr(&self) -> Option<f64> {
        self.head_lr
    }

    fn in_one_phase(&self) -> Adaptation {
        Adaptation::BitFit(self.clone())
    }

    fn missing_in(&self, architecture: &Architecture) -> Option<&'static str> {
        (!architecture.has_biases()).then_some("biases")
    }

    fn check_modules(&self, architecture: &Architecture) -> Result<()> {
        match &self.biases {
            Biases::All(All::All) => Ok(()),
            Biases::Of(modules) => {
                let known = (architecture.biases(), "modules with a bias");
                super::check_known("adaptation.biases", modules, known, architecture)
            }
        }
    }

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let layers = super::top_layers(self.k, n_layers)?.rev();
        let mut patterns = Vec::new();
        if self.pooler == Trainable::Yes && defaults.reads_pooler {
            patterns.push(r"^encoder\.pooler\.(.*\.)?bias$".into());
        }
        patterns.extend(layers.flat_map(|layer_idx| self.of_layer(layer_idx)));
        if self.embeddings == Trainable::Yes {
            patterns.push(r"^encoder\.embeddings\.(.*\.)?bias$".into());
        }
        let rates = super::rates(self.lr, self.head_lr, patterns);
        Ok(Plan::new(vec![super::phase(defaults, rates)]))
    }

    fn validate(&self) -> Result<()> {
        super::check_optional_k(self.k)?;
        if let Biases::Of(modules) = &self.biases {
            super::check_modules("adaptation.biases", modules)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{architecture, assigned, check_plan, paths, training};

    #[test]
    fn every_bias_is_trained_and_the_whole_head() {
        check_plan(
            Adaptation::BitFit(BitFit::new(1e-3)),
            2,
            0,
            &[
                r"^head\.",
                r"^encoder\.pooler\.(.*\.)?bias$",
                r"^encoder\.layers\.1\.(.*\.)?bias$",
                r"^encoder\.layers\.0\.(.*\.)?bias$",
                r"^encoder\.embeddings\.(.*\.)?bias$",
            ],
        );
        let settings = training(Adaptation::BitFit(BitFit::new(1e-3)));
        let found = assigned(&settings, 2).parameters.into_keys();
        let mut expected = paths(2);
        expected.retain(|path| path.ends_with(".bias") || path.starts_with("head."));
        expected.sort();
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_subset_of_the_top_layers_leaves_what_lies_below_frozen() {
        let settings = BitFit {
            biases: Biases::Of(vec!["attention.query".into()]),
            k: Some(1),
            pooler: Trainable::No,
            embeddings: Trainable::No,
            ..BitFit::new(1e-3)
        };
        check_plan(
            Adaptation::BitFit(settings),
            12,
            12,
            &[
                r"^head\.",
                r"^encoder\.layers\.11\.(.*\.)?attention\.query\.bias$",
            ],
        );
    }

    #[test]
    fn a_module_without_a_bias_is_answered_with_those_that_have_parameters() {
        let mut settings = BitFit::new(1e-3);
        settings.biases = Biases::Of(vec!["query".into(), "querry".into()]);
        let settings = training(Adaptation::BitFit(settings));
        let plan = settings.plan(2).expect("in range");
        let error = plan.assign(&paths(2), 2).expect_err("there is no `querry`");
        let message = format!("{error:#}");
        assert!(
            message.contains(r"querry\.bias$`; expected one of these modules: "),
            "{message}"
        );
        assert!(
            message.contains("encoder.layers.<i>.attention.query"),
            "{message}"
        );
    }

    #[test]
    fn modules_are_those_of_the_architecture_with_a_bias() {
        let check = |module: &str, encoder: &str| {
            let settings = Adaptation::BitFit(BitFit {
                biases: Biases::Of(vec![module.into()]),
                ..BitFit::new(1e-3)
            });
            let checked = settings.check_modules(&architecture(encoder));
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(check("query", "fixture-bert"), Ok(()));
        assert_eq!(check("feed_forward.norm", "deberta-tiny"), Ok(()));
        assert_eq!(check("input", "fixture-elmo"), Ok(()));
        assert_eq!(
            check("attention.query", "fixture-elmo").expect_err("refused"),
            "adaptation.biases: found `attention.query`, expected one of forward.input, backward.input, the modules with \
             a bias of `elmo`"
        );
    }

    #[test]
    fn settings_read_as_they_are_written_and_values_out_of_range_name_their_key() {
        let read = |text: &str| {
            let text = format!(
                "kind = 'bitfit'\nlr = 1e-3\npooler = 'trainable'\nembeddings = 'trainable'\n{text}"
            );
            toml::from_str::<Adaptation>(&text)
        };
        let all = read("biases = 'all'").expect("every bias");
        assert_eq!(all, Adaptation::BitFit(BitFit::new(1e-3)));
        assert_eq!(all.label(), "bitfit");
        let some = read("biases = ['query', 'feed_forward.intermediate']\nk = 2")
            .expect("two of the top two");
        assert_eq!(
            some.label(),
            "bitfit of query and feed_forward.intermediate, last 2"
        );
        let error = read("biases = 'some'").expect_err("refused").to_string();
        assert!(
            error.contains("expected `biases = \"all\"` or a list"),
            "{error}"
        );
        for (text, expected) in [
            (
                "biases = 'all'\nk = 0",
                "adaptation.k: found 0, expected at least 1 (the strategy without trainable layers is `frozen`)",
            ),
            (
                "biases = []",
                "adaptation.biases: the list is empty, expected modules of a layer such as `attention.query`",
            ),
            (
                "biases = ['a+']",
                "adaptation.biases: found `a+`, expected a module of a layer such as `attention.query`",
            ),
        ] {
            let error = read(text).expect("a strategy").validate().expect_err(text);
            assert_eq!(error.to_string(), expected);
        }
    }
}
