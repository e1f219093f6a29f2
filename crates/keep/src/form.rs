//! The form in which a trained model is saved: as a class of transformers that computes the same, or as our own.

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::TensorData;
use totune_adapt::Values;
use totune_data::Pairs;
use totune_model::{
    Activation, Architecture, FullyConnectedSpec, HeadSpec, Layers, LinearSpec, PoolerKind,
    Pooling, SubwordPooling, TagOutput, TaggerSpec,
};

use crate::SavedAs;
use crate::facts::TaskFacts;
use crate::names::added;

/// A model in the form in which it is saved.
#[derive(Debug)]
pub(crate) struct Form {
    pub saved_as: SavedAs,
    /// Architecture of the saved encoder, with a pooler where the class of transformers has one.
    pub architecture: Architecture,
    pub head: HeadSpec,
    /// Values by the parameter paths of a classifier of this architecture with this head.
    pub values: Values,
    /// Values of layers that only the class of transformers has, by their names there. They pass their input on.
    pub passing: Values,
}

/// Scale of the first token for a linear head on it: multiplied below the tanh of BERT's pooler, and divided out above
/// it. So near zero tanh is linear: an activation of 10 comes through to within 2e-6 of itself. Division by a power of
/// two is exact. ModernBERT's classes have a layer norm there, whose epsilon exceeds the variance of shrunk numbers.
const SHRUNK: f32 = 1.0 / 4096.0;

/// Smallest weight of a layer norm that is divided out again.
const SMALLEST: f32 = 1e-6;

/// The layers of ModernBERT's classes that pass their input on, by their names in transformers.
pub(crate) const PASSING: [&str; 2] = ["head.dense.weight", "head.norm.weight"];

/// The reason why no class of transformers computes an ordinal model.
pub(crate) const NO_ORDINAL: &str = "transformers has no ordinal classification: the head has an output for each step between \
                                     two neighbouring labels, and the labels follow from the product of their probabilities";

/// Prefix of transformers' class names for an architecture.
fn family(architecture: &Architecture) -> Option<&'static str> {
    match architecture {
        Architecture::Bert(_) => Some("Bert"),
        Architecture::Distilbert(_) => Some("DistilBert"),
        Architecture::Roberta(_) => Some("Roberta"),
        Architecture::Modernbert(_) => Some("ModernBert"),
        Architecture::XlmRoberta(_) => Some("XLMRoberta"),
        Architecture::Electra(_) => Some("Electra"),
        Architecture::DebertaV2(_) => Some("DebertaV2"),
        Architecture::Albert(_) => Some("Albert"),
        Architecture::Elmo(_) => None,
    }
}

/// Name of the encoder class in transformers, without a head.
pub(crate) fn encoder_class(architecture: &Architecture) -> Option<String> {
    Some(format!("{}Model", family(architecture)?))
}

/// Activation between the two layers of the classes that have a hidden layer in place of a pooler.
fn activation(architecture: &Architecture) -> Option<Activation> {
    match architecture {
        Architecture::Distilbert(_) => Some(Activation::Relu),
        Architecture::Electra(_) | Architecture::DebertaV2(_) => Some(Activation::Gelu),
        _ => None,
    }
}

/// Conversion of a model into a class of transformers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bridge {
    /// No conversion.
    None,
    /// Adds a pooler that passes the first token on.
    Pooler,
    /// Adds a hidden layer that passes the first token on.
    HiddenLayer,
    /// Removes the pooler.
    Tokens,
    /// Adds the layers that ModernBERT's classes have below the output, which pass each token on.
    Normalised,
}

/// The class of transformers that computes the same as this encoder with this head, with the conversion into it; or the
/// reason why there is none.
pub(crate) fn bridge(
    architecture: &Architecture,
    head: &HeadSpec,
    pairs: Pairs,
) -> Result<(String, Bridge), String> {
    let Some(family) = family(architecture) else {
        return Err(format!("transformers has no {architecture}"));
    };
    if !pairs.is_joint() {
        return Err("the texts of a pair are read separately".into());
    }
    let sequence = format!("{family}ForSequenceClassification");
    match head {
        HeadSpec::Linear(spec) if !spec.layers.is_top() => {
            Err("the head reads a mix of layers".into())
        }
        HeadSpec::Linear(spec) => match (architecture, spec.pooling) {
            (
                Architecture::Bert(_)
                | Architecture::Roberta(_)
                | Architecture::XlmRoberta(_)
                | Architecture::Albert(_),
                Pooling::Pooler,
            ) => Ok((sequence, Bridge::None)),
            (
                Architecture::Bert(_)
                | Architecture::Roberta(_)
                | Architecture::XlmRoberta(_)
                | Architecture::Albert(_),
                Pooling::First,
            ) => Ok((sequence, Bridge::Pooler)),
            (
                Architecture::Distilbert(_) | Architecture::Electra(_) | Architecture::DebertaV2(_),
                Pooling::First,
            ) => Ok((sequence, Bridge::HiddenLayer)),
            (Architecture::Modernbert(_), Pooling::First) => Ok((sequence, Bridge::Normalised)),
            (_, pooling) => Err(format!(
                "the head reads pooling = {} of the top layer, and {sequence} the first token",
                serde_json::to_value(pooling).unwrap_or_default()
            )),
        },
        HeadSpec::FullyConnected(spec)
            if spec.layers.is_top()
                && spec.mlp_hidden == architecture.hidden()
                && Some(spec.activation) == activation(architecture) =>
        {
            Ok((sequence, Bridge::None))
        }
        HeadSpec::FullyConnected(_) => Err(format!(
            "{sequence} has no such layers as `fully-connected`"
        )),
        HeadSpec::Tagger(spec) if is_plain(spec) => {
            let tokens = format!("{family}ForTokenClassification");
            let bridge = match architecture {
                Architecture::Modernbert(_) => Bridge::Normalised,
                _ => Bridge::Tokens,
            };
            Ok((tokens, bridge))
        }
        other => Err(format!("transformers has no head `{}`", described(other))),
    }
}

impl Form {
    /// The form for `values`, the parameters of a classifier of this architecture with this head.
    ///
    /// # Errors
    /// When the values do not belong to such a classifier.
    pub fn of(
        architecture: &Architecture,
        (head, task): (&HeadSpec, &TaskFacts),
        pairs: Pairs,
        values: Values,
    ) -> Result<Self> {
        let plain = Self {
            saved_as: SavedAs::Totune {
                reason: String::new(),
            },
            architecture: architecture.clone(),
            head: head.clone(),
            values,
            passing: Values::new(),
        };
        if let Some(modules) = plain.values.keys().find_map(|path| added(path)) {
            return Ok(plain.own(format!("transformers has no {modules}")));
        }
        if let TaskFacts::Ordinal { .. } = task {
            return Ok(plain.own(NO_ORDINAL.into()));
        }
        let (class, bridge) = match bridge(architecture, head, pairs) {
            Ok(found) => found,
            Err(reason) => return Ok(plain.own(reason)),
        };
        match bridge {
            Bridge::None => Ok(plain.into_class(class)),
            Bridge::Pooler => plain.through_a_pooler(class),
            Bridge::HiddenLayer => plain.through_a_hidden_layer(class),
            Bridge::Tokens => Ok(plain.into_token_class(class)),
            Bridge::Normalised => plain.through_a_norm(class),
        }
    }

    fn own(self, reason: String) -> Self {
        let saved_as = SavedAs::Totune { reason };
        Self { saved_as, ..self }
    }

    fn into_class(self, class: String) -> Self {
        let saved_as = SavedAs::Transformers { class };
        Self { saved_as, ..self }
    }

    /// Converts into a class for token classification, which has no pooler.
    fn into_token_class(mut self, class: String) -> Self {
        self.values
            .retain(|path, _| !path.starts_with("encoder.pooler."));
        set_pooler(&mut self.architecture, PoolerKind::None);
        self.into_class(class)
    }

    /// Converts a linear head on the first token into one behind a pooler, whose layer passes its input on.
    fn through_a_pooler(mut self, class: String) -> Result<Self> {
        let weight = self.path("output.weight")?;
        let [_, hidden] = shape(&self.values[&weight])?;
        set_pooler(&mut self.architecture, PoolerKind::Tanh);
        self.values.insert(
            "encoder.pooler.dense.weight".into(),
            diagonal(hidden, SHRUNK),
        );
        self.values.insert(
            "encoder.pooler.dense.bias".into(),
            TensorData::new(vec![0f32; hidden], [hidden]),
        );
        let grown = floats(&self.values[&weight])?;
        let grown = grown.into_iter().map(|value| value / SHRUNK).collect();
        let shape = self.values[&weight].shape().to_vec();
        self.values.insert(weight, TensorData::new(grown, shape));
        if let HeadSpec::Linear(spec) = &mut self.head {
            spec.pooling = Pooling::Pooler;
        }
        Ok(self.into_class(class))
    }

    /// Adds the layers below the output of ModernBERT's classes: a linear one, an activation and a layer norm, all without
    /// biases. A token comes from the encoder's last layer norm, as the weight `w` of that norm times numbers whose mean
    /// is zero and whose variance is at most one. The linear layer divides by `w` and shrinks, and the activation is the
    /// identity; what reaches the norm has a variance far below its epsilon, so that it divides all tokens by the same.
    fn through_a_norm(mut self, class: String) -> Result<Self> {
        let Architecture::Modernbert(config) = &self.architecture else {
            bail!("{}: has no norm above its top layer", self.architecture);
        };
        let top = self.architecture.n_layers() - 1;
        let path = format!("encoder.layers.{top}.final_norm.weight");
        let norm = self.values.get(&path);
        let norm = floats(norm.with_context(|| format!("found no `{path}`, expected one"))?)?;
        if norm.iter().any(|w| w.abs() < SMALLEST) {
            return Ok(self.own(format!(
                "{class} has one more layer norm, which would need what the encoder's last one multiplies by zero"
            )));
        }
        let n = norm.len();
        let mut divided = vec![0f32; n * n];
        for (i, w) in norm.iter().enumerate() {
            divided[i * (n + 1)] = SHRUNK / w;
        }
        let shrunk = f64::from(SHRUNK);
        let rescale = ((shrunk * shrunk + config.norm_eps).sqrt() / shrunk) as f32;
        let norm = norm.iter().map(|w| w * rescale).collect();
        let [dense, scale] = PASSING.map(String::from);
        self.passing.insert(dense, TensorData::new(divided, [n, n]));
        self.passing
            .insert(scale, TensorData::new::<f32, _>(norm, [n]));
        Ok(self.into_class(class))
    }

    /// Converts a linear head on the first token into the two layers of DistilBERT, ELECTRA and DeBERTa: the first one
    /// shifts each number of the activation so that the ReLU or GELU passes all on; the bias of the second subtracts the shift again.
    /// The outputs of a layer norm over `n` numbers are at most `sqrt(n - 1)` times its scale.
    fn through_a_hidden_layer(mut self, class: String) -> Result<Self> {
        let activation = activation(&self.architecture).context("a class with a hidden layer")?;
        let linear_from = match activation {
            Activation::Relu => 1e-3,
            Activation::Gelu => 6.0, // x less than a billionth of x
        };
        let (hidden, top) = (self.architecture.hidden(), self.architecture.n_layers() - 1);
        let dropout = match &self.head {
            HeadSpec::Linear(LinearSpec { dropout, .. }) => *dropout,
            _ => 0.0,
        };
        let norm = |kind: &str| {
            let path = format!("encoder.layers.{top}.feed_forward.norm.{kind}");
            floats(self.values.get(&path).context("the top layer has a norm")?)
        };
        let widest = ((hidden - 1) as f32).sqrt();
        let bounds = norm("weight")?.into_iter().zip(norm("bias")?);
        let added: Vec<f32> = bounds
            .map(|(scale, shift)| (scale.abs() * widest + shift.abs() + linear_from).ceil())
            .collect();
        let (weight, bias) = (self.path("output.weight")?, self.path("output.bias")?);
        let of_weight = floats(&self.values[&weight])?;
        let biases: Vec<f32> = floats(&self.values[&bias])?
            .into_iter()
            .zip(of_weight.chunks(hidden))
            .map(|(bias, row)| {
                let products = row.iter().zip(&added);
                let taken: f64 = products.map(|(w, a)| f64::from(*w) * f64::from(*a)).sum();
                (f64::from(bias) - taken) as f32
            })
            .collect();
        let outputs = biases.len();
        let renamed = |path: &str| path.replace(".Linear.", ".FullyConnected.");
        let hidden_of =
            |kind: &str| renamed(&weight).replace("output.weight", &format!("hidden.{kind}"));
        let moved = self.values.remove(&weight).context("it was just there")?;
        self.values.remove(&bias);
        self.values.insert(renamed(&weight), moved);
        self.values
            .insert(renamed(&bias), TensorData::new(biases, [outputs]));
        self.values
            .insert(hidden_of("weight"), diagonal(hidden, 1.0));
        self.values
            .insert(hidden_of("bias"), TensorData::new(added, [hidden]));
        self.head = HeadSpec::FullyConnected(FullyConnectedSpec {
            layers: Layers::Top,
            mlp_hidden: hidden,
            dropout,
            activation,
        });
        Ok(self.into_class(class))
    }

    /// The path of the head's parameter with this suffix.
    fn path(&self, end: &str) -> Result<String> {
        let mut found = self.values.keys();
        let found = found.find(|path| path.starts_with("head.") && path.ends_with(end));
        found
            .cloned()
            .with_context(|| format!("head: found no parameter `{end}`, expected one"))
    }
}

/// Whether each word is scored by one linear layer on its first subword.
fn is_plain(spec: &TaggerSpec) -> bool {
    spec.layers.is_top()
        && spec.recurrent_layers == 0
        && spec.mlp_hidden == 0
        && spec.subwords == SubwordPooling::First
        && spec.output == TagOutput::Softmax
}

/// Description of a head in a reason.
fn described(head: &HeadSpec) -> String {
    let HeadSpec::Tagger(spec) = head else {
        return head.label().to_string();
    };
    let mut parts = vec!["tagger".to_string()];
    if !spec.layers.is_top() {
        parts.push("a mix of layers".into());
    }
    if spec.recurrent_layers > 0 {
        parts.push("a BiLSTM".into());
    }
    if spec.mlp_hidden > 0 {
        parts.push("a hidden layer".into());
    }
    if spec.subwords != SubwordPooling::First {
        parts.push("words by other subwords than the first".into());
    }
    if spec.output == TagOutput::Crf {
        parts.push("a CRF".into());
    }
    parts.join(" with ")
}

fn set_pooler(architecture: &mut Architecture, kind: PoolerKind) {
    match architecture {
        Architecture::Bert(config) => config.pooler = kind,
        Architecture::Roberta(config) => config.pooler = kind,
        Architecture::XlmRoberta(config) => config.0.pooler = kind,
        Architecture::Albert(config) => config.pooler = kind,
        Architecture::Distilbert(_)
        | Architecture::Electra(_)
        | Architecture::Modernbert(_)
        | Architecture::DebertaV2(_)
        | Architecture::Elmo(_) => {}
    }
}

/// `value` times the identity matrix, `[n, n]`.
fn diagonal(n: usize, value: f32) -> TensorData {
    let mut values = vec![0f32; n * n];
    values
        .iter_mut()
        .step_by(n + 1)
        .for_each(|cell| *cell = value);
    TensorData::new(values, [n, n])
}

fn shape(data: &TensorData) -> Result<[usize; 2]> {
    let shape = data.shape().to_vec();
    ensure!(
        shape.len() == 2,
        "a weight has the shape {shape:?}, expected two extents"
    );
    Ok([shape[0], shape[1]])
}

/// The numbers of a tensor.
pub(crate) fn floats(data: &TensorData) -> Result<Vec<f32>> {
    let data = data.clone().convert::<f32>();
    data.try_to_vec()
        .ok()
        .context("a weight is not of 32-bit floats")
}
